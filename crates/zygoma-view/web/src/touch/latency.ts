// How long it takes from an input to the picture that shows it.

/** Inputs that are waited for at most. */
const WAITING = 256;

export class Latency {
  private input = 0;
  private readonly sent = new Map<number, number>();
  private readonly recent: number[] = [];

  /** Numbers an input. */
  stamp(): number {
    this.input++;
    this.sent.set(this.input, performance.now());
    if (this.sent.size > WAITING) this.sent.delete(this.input - WAITING);
    return this.input;
  }

  /** A picture is drawn that knows of all inputs up to this one. */
  shown(input: number, now: number): void {
    const began = this.sent.get(input);
    if (began === undefined) return;
    for (const number of this.sent.keys()) if (number <= input) this.sent.delete(number);
    this.recent.push(now - began);
    if (this.recent.length > 60) this.recent.shift();
  }

  /** The median of the last inputs, in milliseconds. */
  get median(): number | null {
    if (this.recent.length === 0) return null;
    return [...this.recent].sort((a, b) => a - b)[this.recent.length >> 1] ?? null;
  }
}
