// The socket to the server, which comes back by itself.

import { type ClientMessage, KIND, type ServerMessage, VERSION } from "./protocol";
import type { State } from "./state";

export interface Listener {
  message(message: ServerMessage): void;
  /** A scene; resolves when it is shown. */
  scene(buffer: ArrayBuffer): Promise<void>;
  face(buffer: ArrayBuffer): void;
  stiffness(buffer: ArrayBuffer): void;
  anatomy(buffer: ArrayBuffer): void;
  /** A frame that a newer one overtook before it was drawn. */
  overtaken(frame: ArrayBuffer): void;
}

/** Waits between attempts, in milliseconds: quick at first, since a restart takes a second. */
const WAITS = [300, 600, 1000, 2000];

export class Connection {
  private socket: WebSocket | null = null;
  private attempt = 0;
  /** The newest frame; older ones that were not shown are not worth reading. */
  private newest: ArrayBuffer | null = null;
  /** Scenes that are being read, and the frames of the last of them: they wait for it, and are acknowledged then, so they are few. */
  private opening = 0;
  private early: ArrayBuffer[] = [];
  /** Frames that arrived, for the figures. */
  received = 0;

  constructor(
    private readonly state: State,
    private readonly listener: Listener,
  ) {
    this.connect();
  }

  /** Sends a message; while there is no connection, nothing happens. */
  send(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Takes the frame that arrived last. */
  takeFrame(): ArrayBuffer | null {
    const frame = this.newest;
    this.newest = null;
    return frame;
  }

  private connect(): void {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.attempt = 0;
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (typeof event.data === "string") this.text(JSON.parse(event.data) as ServerMessage);
      else this.binary(event.data);
    };
    socket.onclose = () => {
      this.forgetFrames();
      if (this.state.link.value !== "foreign") this.state.link.set("lost");
      void this.askWho();
      const wait = WAITS[Math.min(this.attempt++, WAITS.length - 1)];
      setTimeout(() => this.connect(), wait);
    };
  }

  /** A refused socket does not say why: whoever answers to the page's address but refuses it is another launch. */
  private async askWho(): Promise<void> {
    try {
      const answer = await fetch(location.href, { method: "HEAD", cache: "no-store" });
      if (answer.status === 403) this.state.link.set("foreign");
    } catch {
      this.state.link.set("lost");
    }
  }

  private text(message: ServerMessage): void {
    if (message.type === "welcome") {
      // A newer zygoma serves a newer page.
      if (message.protocol !== VERSION) {
        location.reload();
        return;
      }
      this.state.link.set("open");
    }
    this.listener.message(message);
  }

  private binary(buffer: ArrayBuffer): void {
    switch (new Uint32Array(buffer, 0, 1)[0]) {
      case KIND.frame:
        this.received++;
        if (this.opening > 0) this.early.push(buffer);
        else this.frame(buffer);
        break;
      case KIND.scene:
        this.forgetFrames();
        this.opening++;
        void this.listener.scene(buffer).finally(() => {
          this.opening--;
          if (this.opening === 0) this.early.splice(0).forEach((frame) => this.frame(frame));
        });
        break;
      case KIND.face:
        this.listener.face(buffer);
        break;
      case KIND.stiffness:
        this.listener.stiffness(buffer);
        break;
      case KIND.anatomy:
        this.listener.anatomy(buffer);
        break;
    }
  }

  private frame(buffer: ArrayBuffer): void {
    if (this.newest) this.listener.overtaken(this.newest);
    this.newest = buffer;
    // Acknowledged at once: the server never has more than a few frames under way, so a slow page gets fewer, newer ones.
    this.send({ type: "ack", frame: new Uint32Array(buffer, 0, 2)[1] ?? 0 });
  }

  /** Frames of another scene, or of another session, are worth nothing. */
  private forgetFrames(): void {
    this.newest = null;
    this.early = [];
  }
}
