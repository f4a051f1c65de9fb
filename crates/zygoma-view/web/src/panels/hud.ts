// Controls over the picture: tools, touch readout, legend, divider.

import { h, iconButton, type IconName } from "../dom";
import type { Frame } from "../protocol";
import { CHANGE_GRADIENT, GRADIENT } from "../scene/colors";
import type { Legend } from "../scene/overlay";
import type { Signal } from "../signal";
import type { State, Tool } from "../state";
import type { Touched } from "../touch/pointer";

const TOOLS: [Tool, IconName, string, string][] = [
  ["press", "press", "Press the skin", "1"],
  ["pull", "pull", "Pull the skin", "2"],
  ["shake", "shake", "Shake the head", "3"],
  ["orbit", "orbit", "Turn the camera", "4"],
  ["paint", "brush", "Paint the stiffness of the skin", "5"],
];

export function toolbar(state: State, frame: () => void): HTMLElement {
  const buttons = TOOLS.map(([tool, name, label, key]) => {
    const button = iconButton(name, label, () => state.tool.set(tool), key);
    state.tool.watch((chosen) => button.setAttribute("aria-pressed", String(chosen === tool)));
    if (tool === "paint") state.body.watch(() => (button.hidden = !state.isPaintable));
    return button;
  });
  const fit = iconButton("frame", "Show the whole face", frame, "F");
  return h("div", { class: "tools", role: "toolbar", "aria-label": "Tools" }, ...buttons, h("span", { class: "separator" }), fit);
}

/** The region under the cursor, and the force on it. */
export class TouchReadout {
  readonly element = h("div", { class: "readout", "aria-hidden": "true" });
  private shown = "";

  update(touched: Touched | null, frame: Frame | null): void {
    const parts: string[] = [];
    const touch = frame?.touches.at(-1);
    if (touched) parts.push(touched.region);
    if (touch) {
      const force = Math.hypot(...touch.force);
      if (force > 0.005) parts.push(`${force.toFixed(2)} N`);
    }
    const text = parts.join("  ·  ");
    if (text === this.shown) return;
    this.shown = text;
    this.element.textContent = text;
    this.element.classList.toggle("on", text !== "");
  }
}

export function legendBox(...legends: Signal<Legend | null>[]): HTMLElement {
  const box = h("div", { class: "legend" }, ...legends.map(legendRow));
  for (const legend of legends) {
    legend.watch(() => {
      box.hidden = legends.every(({ value }) => value === null);
    });
  }
  return box;
}

function legendRow(legend: Signal<Legend | null>): HTMLElement {
  const title = h("strong", {});
  const bar = h("div", { class: "legend-bar" });
  const [low, high, note] = [h("span", {}), h("span", {}), h("span", { class: "legend-note" })];
  const row = h(
    "div",
    { class: "legend-row", role: "img" },
    h("div", { class: "legend-title" }, title, note),
    bar,
    h("div", { class: "legend-ends" }, low, high),
  );
  legend.watch((shown) => {
    row.hidden = !shown;
    if (!shown) return;
    bar.style.background = shown.signed ? CHANGE_GRADIENT : GRADIENT;
    title.textContent = shown.title;
    low.textContent = shown.low;
    high.textContent = shown.high;
    note.textContent = shown.note;
    row.setAttribute("aria-label", `${shown.title}: from ${shown.low} to ${shown.high}, ${shown.note}`);
  });
  return row;
}

/** The line between rig and simulation, which can be dragged. */
export function divider(state: State): HTMLElement {
  const handle = h(
    "div",
    {
      class: "divider",
      role: "slider",
      tabindex: 0,
      "aria-label": "Divider between the rig and the simulation",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    h("span", { class: "divider-label left" }, "rig"),
    h("span", { class: "divider-grip" }),
    h("span", { class: "divider-label right" }, "simulated"),
  );
  const set = (share: number) => state.divider.set(Math.min(Math.max(share, 0.02), 0.98));
  handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
  handle.addEventListener("pointermove", (event) => {
    const around = handle.parentElement?.getBoundingClientRect();
    if (around && handle.hasPointerCapture(event.pointerId)) set((event.clientX - around.left) / around.width);
  });
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
    if (step) set(state.divider.value + step);
  });
  state.divider.watch((share) => {
    handle.style.left = `${100 * share}%`;
    handle.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  });
  state.split.watch((on) => {
    handle.hidden = !on;
  });
  return handle;
}
