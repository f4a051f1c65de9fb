// The brush: paints the stiffness of single expressions, which the enriched face has at once.

import { h, icon, section, Slider, spaced, toggle } from "../dom";
import { type Brush, RELAXED, type State } from "../state";
import type { Brushwork } from "../touch/brushwork";

/** Stiffness that a brush can paint, in kPa. */
const STIFFNESS = { least: 1, most: 50, lambda: 2.5 };

/** The panel of the brush, while a face is shown that can be painted. */
export function paintSection(state: State, brushwork: Brushwork): HTMLElement {
  const change = (part: Partial<Brush>) => state.brush.set({ ...state.brush.value, ...part });
  const figures = h("dl", { class: "facts paint-figures", role: "status", "aria-live": "off" });
  const showFigures = () => {
    const { milliseconds, speed } = state.pace.value ?? { milliseconds: 0, speed: 1 };
    const rows = [
      ["Frame", `${milliseconds.toFixed(1)} ms, ${speed.toFixed(2)} × real time`],
      ["Painted", `${state.spots.value} spots`],
    ] as const;
    figures.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  };
  const target = h("select", { "aria-label": "Painted expression", change: () => change({ control: Number(target.value) }) });
  state.scene.watch((scene) => {
    const entry = (control: number, name: string) => h("option", { value: control }, name);
    const controls = scene?.controls.map(({ name }, control) => entry(control, spaced(name))) ?? [];
    target.replaceChildren(entry(RELAXED, "Relaxed face"), ...controls);
    if (!scene?.same) change({ control: RELAXED });
  });
  const sliders = brushSliders(state, change);
  const erase = toggle("Take paint away", state.brush.value.erases, (erases) => change({ erases }), "Shift");
  const brush = h("button", { type: "button", class: "button small", click: () => state.tool.set("paint") }, icon("brush"), "Brush");
  const clear = h("button", { type: "button", class: "button small", click: () => brushwork.clear(state.brush.value.control) }, "Clear expression");
  const undo = h("button", { type: "button", class: "button small", title: "Take the last stroke back (Ctrl Z)", click: () => brushwork.undo() }, "Undo");
  brushwork.count.watch((count) => (undo.disabled = count === 0));
  const save = h("a", { class: "button small", download: "materials.toml", title: "For “zygoma simulate --materials FOLDER”" }, icon("download"), "materials.toml");
  state.brush.watch(({ control, erases }) => {
    target.value = String(control);
    erase.input.checked = erases;
  });
  state.spots.watch((spots) => {
    save.hidden = spots === 0;
    save.href = `download/${state.session.value}/materials.toml`;
    showFigures();
  });
  state.pace.watch(showFigures);
  // The brush shows what it paints on.
  state.tool.watch((tool) => {
    if (tool === "paint") state.overlay.set("stiffness");
    else if (state.overlay.value === "stiffness") state.overlay.set("none");
  });
  const note = h("p", { class: "hint" });
  const hint = h("p", { class: "hint" }, "Drag on the face with the brush. Paint of an expression acts as far as its slider is up; shake the head to see it.");
  const panel = section("Paint stiffness", true, figures, h("div", { class: "row" }, brush, undo, clear, save), target, ...sliders, erase, hint, note);
  state.body.watch((body) => {
    panel.hidden = !state.isPaintable;
    note.textContent = body.note;
    if (panel.hidden && state.tool.value === "paint") state.tool.set("press");
  });
  return panel;
}

function brushSliders(state: State, change: (part: Partial<Brush>) => void): HTMLElement[] {
  // Stiffness is felt by its ratio, so its sliders run over the logarithm.
  const stiffness = (label: string, value: number, set: (value: number) => void) =>
    new Slider({
      label,
      min: Math.log2(STIFFNESS.least),
      max: Math.log2(STIFFNESS.most),
      step: 0.01,
      value: Math.log2(value),
      format: (value) => `${(2 ** value).toPrecision(2)} kPa`,
      input: (value) => set(2 ** value),
    });
  const mu = stiffness("Stiffness of shape", state.brush.value.mu, (mu) => change({ mu }));
  const lambda = stiffness("Stiffness of volume", STIFFNESS.lambda, (lambda) => change({ lambda }));
  const paintsLambda = toggle("Paint stiffness of volume", false, (on) => change({ lambda: on ? 2 ** lambda.input.valueAsNumber : null }));
  const radius = new Slider({
    label: "Radius of the brush",
    min: 0.003,
    max: 0.04,
    step: 0.0005,
    value: state.brush.value.radius,
    format: (value) => `${(1000 * value).toFixed(1)} mm`,
    input: (radius) => change({ radius }),
  });
  state.brush.watch((brush) => {
    mu.show(Math.log2(brush.mu));
    radius.show(brush.radius);
    paintsLambda.input.checked = brush.lambda !== null;
    if (brush.lambda !== null) lambda.show(Math.log2(brush.lambda));
  });
  return [mu.element, radius.element, paintsLambda, lambda.element];
}
