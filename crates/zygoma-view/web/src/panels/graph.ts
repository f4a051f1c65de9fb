// A small graph of the milliseconds of the last frames, by stage.

import { h } from "../dom";
import type { Frame } from "../protocol";
import { isSoftware } from "../scene/quality";
import type { State } from "../state";

const COLORS = ["#c9a44a", "#8b94a3", "#5aa7f0", "#7d7cf0", "#f0a07a", "#5fc08a", "#d07ab8", "#b9c46a", "#6ac4c0"];
const COLUMNS = 90;

/** Drawn this often, in milliseconds. */
const PACE = isSoftware() ? 400 : 120;
const [WIDTH, HEIGHT] = [180, 44];

export class Graph {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { width: 2 * WIDTH, height: 2 * HEIGHT, "aria-hidden": "true" });
  private readonly label = h("div", { class: "graph-label" });
  private readonly figures: HTMLElement;
  private readonly keys = h("div", { class: "graph-keys" });
  private columns: Float32Array[] = [];
  private stages: string[] = [];
  private drawn = 0;

  constructor(private readonly state: State) {
    this.figures = h("div", { class: "figures", role: "status", "aria-live": "off" });
    this.element = h(
      "div",
      { class: "graph" },
      this.figures,
      h("div", { class: "graph-body" }, this.canvas, this.label, this.keys),
    );
    state.graph.watch((on) => this.element.classList.toggle("folded", !on));
  }

  follow(frame: Frame): void {
    const stages = this.stagesOf(frame);
    if (stages.join() !== this.stages.join()) this.begin(stages);
    this.columns.push(Float32Array.of(frame.encoding, ...frame.stages));
    if (this.columns.length > COLUMNS) this.columns.shift();
  }

  /** Names for the times of a frame. Its body may be newer than what is known about it. */
  private stagesOf(frame: Frame): string[] {
    const names = this.state.stages.get(this.state.bodies.value[frame.body]?.name ?? "") ?? [];
    return ["encoding", ...Array.from(frame.stages, (_, i) => names[i] ?? `stage ${i + 1}`)];
  }

  /** Another body has other stages, and starts a new graph. */
  private begin(stages: string[]): void {
    this.stages = stages;
    this.columns = [];
    const keys = stages.map((stage, i) => {
      const swatch = h("i", {});
      swatch.style.background = COLORS[i % COLORS.length] ?? "";
      return h("span", {}, swatch, stage);
    });
    this.keys.replaceChildren(...keys);
  }

  draw(now: number, fps: number, served: number, latency: number | null): void {
    if (now - this.drawn < PACE) return;
    this.drawn = now;
    const figures: [string, string, string][] = [
      [`${fps.toFixed(0)} /s`, "drawn", "Pictures drawn in a second"],
      [`${served.toFixed(0)} /s`, "received", "Frames of the simulation that arrived in a second"],
      [latency === null ? "–" : `${latency.toFixed(0)} ms`, "latency", "From an input to the picture that shows it"],
    ];
    const speed = this.state.pace.value?.speed ?? 1;
    if (speed < 0.9) figures.push([`${speed.toFixed(1)} ×`, "speed", "Speed of the body's time: it is too slow for real time here"]);
    this.figures.replaceChildren(
      ...figures.map(([figure, name, title]) => h("span", { class: "figure", title }, h("b", {}, figure), " ", name)),
    );
    if (!this.state.graph.value) return;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const totals = this.columns.map((column) => column.reduce((sum, ms) => sum + ms, 0));
    const sorted = [...totals].sort((a, b) => a - b);
    const typical = sorted[sorted.length >> 1] ?? 0;
    const top = Math.max(1, 2 ** Math.ceil(Math.log2(1.2 * (sorted[Math.floor(0.95 * sorted.length)] ?? 1))));
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const width = this.canvas.width / COLUMNS;
    this.columns.forEach((column, x) => {
      let y = this.canvas.height;
      for (let stage = 0; stage < column.length; stage++) {
        const height = ((column[stage] ?? 0) / top) * this.canvas.height;
        context.fillStyle = COLORS[stage % COLORS.length] ?? "#888";
        context.fillRect(x * width, y - height, width - 0.6, height);
        y -= height;
      }
    });
    this.label.textContent = `${typical.toFixed(2)} ms a frame, top ${top} ms`;
  }
}
