// The bar below the picture: takes, time, speed, recording.

import type { Connection } from "../connection";
import { h, icon, iconButton } from "../dom";
import { FLAG, type Frame } from "../protocol";
import type { State } from "../state";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

export class Transport {
  readonly element: HTMLElement;
  private readonly play: HTMLButtonElement;
  private readonly record: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = h("output", { class: "clock", "aria-label": "Time" });
  private scrubbing = false;
  private duration = 0;
  private wasPlaying: boolean | null = null;

  constructor(
    private readonly state: State,
    private readonly connection: Connection,
  ) {
    this.play = iconButton("pause", "Play or pause", () => this.toggle(), "Space");
    this.play.classList.add("primary");
    const takes = h("select", { "aria-label": "Take", change: () => this.choose(Number(takes.value)) });
    this.scrub = h("input", {
      type: "range",
      class: "scrub",
      min: 0,
      max: 1,
      step: 0.001,
      value: 0,
      "aria-label": "Time in the take",
      input: () => this.seek(this.scrub.valueAsNumber),
      pointerdown: () => {
        this.scrubbing = true;
      },
      change: () => {
        this.scrubbing = false;
      },
    });
    const loop = iconButton("loop", "Loop", () => this.set({ looped: !state.looped.value }), "L");
    const motion = iconButton("head", "Head motion", () => this.set({ headMotion: !state.headMotion.value }), "H");
    const speed = h(
      "select",
      { "aria-label": "Speed", change: () => this.set({ speed: Number(speed.value) }) },
      ...SPEEDS.map((value) => h("option", { value, selected: value === 1 }, `${value}×`)),
    );
    this.record = iconButton("record", "Record what happens, up to 30 s", () => this.toggleRecording());
    this.record.classList.add("record");
    const saved = h("a", { class: "button small", hidden: true, download: "recording.glb" }, icon("download"), "GLB");
    this.element = h(
      "footer",
      { class: "transport", "aria-label": "Playback" },
      this.play,
      takes,
      this.scrub,
      this.clock,
      speed,
      loop,
      motion,
      h("span", { class: "separator" }),
      this.record,
      saved,
    );
    state.takes.watch((entries) => {
      const options = entries.map((take, index) => {
        const missing = take.unmatched > 0 ? ` (${take.unmatched} tracks without a shape)` : "";
        return h("option", { value: index, title: `${take.duration.toFixed(1)} s${missing}` }, take.name);
      });
      takes.replaceChildren(h("option", { value: -1 }, "No take"), ...options);
      takes.value = String(state.take.value);
      this.measure();
    });
    state.take.watch((take) => {
      takes.value = String(take);
      this.measure();
    });
    state.playing.watch((playing) => {
      this.play.replaceChildren(icon(playing ? "pause" : "play"));
      this.play.setAttribute("aria-pressed", String(playing));
    });
    state.looped.watch((on) => loop.setAttribute("aria-pressed", String(on)));
    state.headMotion.watch((on) => motion.setAttribute("aria-pressed", String(on)));
    state.recording.watch(({ state: recording, bytes }) => {
      this.record.replaceChildren(icon(recording === "running" ? "stop" : "record"));
      this.record.classList.toggle("running", recording === "running");
      this.record.setAttribute("aria-pressed", String(recording === "running"));
      this.record.disabled = recording === "writing";
      this.record.title = recording === "writing" ? "The recording is being written…" : "Record what happens, up to 30 s";
      saved.hidden = recording !== "ready";
      saved.href = `download/${state.session.value}/recording.glb`;
      saved.title = `Download the recording (${((bytes ?? 0) / 1e6).toFixed(1)} MB)`;
    });
  }

  private measure(): void {
    this.duration = this.state.takes.value[this.state.take.value]?.duration ?? 0;
    this.scrub.max = String(Math.max(this.duration, 0.001));
    this.scrub.disabled = this.duration === 0;
    this.play.disabled = this.duration === 0;
  }

  private choose(take: number): void {
    this.state.take.set(take);
    this.connection.send({ type: "transport", take, playing: true });
  }

  toggle(): void {
    const playing = !this.state.playing.value;
    this.state.playing.set(playing);
    this.wasPlaying = playing;
    this.connection.send({ type: "transport", playing });
  }

  seek(time: number): void {
    this.state.playing.set(false);
    this.wasPlaying = false;
    this.showTime(time);
    this.connection.send({ type: "transport", playing: false, time });
  }

  set(change: { looped?: boolean; headMotion?: boolean; speed?: number }): void {
    if (change.looped !== undefined) this.state.looped.set(change.looped);
    if (change.headMotion !== undefined) this.state.headMotion.set(change.headMotion);
    if (change.speed !== undefined) this.state.speed.set(change.speed);
    this.connection.send({ type: "transport", ...change });
  }

  private toggleRecording(): void {
    this.connection.send({ type: "record", on: this.state.recording.value.state !== "running" });
  }

  private showTime(time: number): void {
    this.clock.textContent = `${time.toFixed(1)} / ${this.duration.toFixed(1)} s`;
    this.scrub.style.setProperty("--share", `${(100 * time) / Math.max(this.duration, 0.001)}%`);
  }

  follow(frame: Frame): void {
    const playing = (frame.flags & FLAG.playing) !== 0;
    // A take that ended by itself; what the user did is known already.
    if (this.wasPlaying === playing) this.state.playing.set(playing);
    this.wasPlaying = playing;
    if (this.scrubbing) return;
    this.scrub.value = String(frame.takeTime);
    this.showTime(frame.takeTime);
  }

  /** Sends the present state to a new connection. */
  resend(): void {
    const { looped, headMotion, speed, playing } = this.state;
    this.connection.send({
      type: "transport",
      playing: playing.value,
      looped: looped.value,
      headMotion: headMotion.value,
      speed: speed.value,
    });
  }
}
