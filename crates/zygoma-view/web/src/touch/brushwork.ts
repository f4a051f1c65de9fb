// The strokes of the brush: the last one can be taken back, and a new session gets them all.

import type { Connection } from "../connection";
import type { ClientMessage } from "../protocol";
import { Signal } from "../signal";
import type { State } from "../state";

/** A spot of paint. */
export type Dab = Omit<Extract<ClientMessage, { type: "paint" }>, "type">;

export class Brushwork {
  /** Strokes, oldest first; all spots of one are of one expression. */
  private strokes: Dab[][] = [];
  /** Number of strokes. */
  readonly count = new Signal(0);
  /** The rig that a new session has to show before it gets the strokes; null if it has them. */
  private waitsFor: string | null = null;
  /** Whether it shows that rig. */
  private isBack = false;

  constructor(
    private readonly state: State,
    private readonly connection: Connection,
  ) {
    state.scene.watch((scene) => {
      this.isBack = this.waitsFor !== null && scene?.name === this.waitsFor;
      if (scene?.same || this.isBack) return;
      this.waitsFor = null;
      this.set([]);
    });
    state.body.watch(() => {
      if (!this.isBack || !state.isPaintable) return;
      this.isBack = false;
      this.waitsFor = null;
      this.strokes.flat().forEach((dab) => this.send(dab));
    });
  }

  /** Begins a stroke. */
  begin(): void {
    this.set([...this.strokes.filter((stroke) => stroke.length > 0), []]);
  }

  /** Paints a spot of the stroke. */
  paint(dab: Dab): void {
    this.strokes.at(-1)?.push(dab);
    this.send(dab);
  }

  /** Takes the last stroke back: all others of its expression are painted again. */
  undo(): void {
    const strokes = this.strokes.filter((stroke) => stroke.length > 0);
    const control = strokes.pop()?.[0]?.control;
    this.set(strokes);
    if (control === undefined) return;
    this.connection.send({ type: "clearPaint", control });
    strokes.flat().forEach((dab) => dab.control === control && this.send(dab));
  }

  /** Removes all paint of an expression. */
  clear(control: number): void {
    this.set(this.strokes.filter((stroke) => stroke[0]?.control !== control));
    this.connection.send({ type: "clearPaint", control });
  }

  /** Keeps the strokes for a new session, once it shows the same rig as a body that can be painted. */
  keep(): void {
    this.isBack = false;
    if (this.strokes.length > 0) this.waitsFor = this.state.scene.value?.name ?? null;
  }

  private send(dab: Dab): void {
    this.connection.send({ type: "paint", ...dab });
  }

  private set(strokes: Dab[][]): void {
    this.strokes = strokes;
    this.count.set(strokes.length);
  }
}
