// The right panel: touch, overlays, materials.

import type { Connection } from "../connection";
import { h, section, Slider, toggle } from "../dom";
import type { ParamEntry, Vec3 } from "../protocol";
import { MATERIALS, type Materials, type Overlay, type State } from "../state";

const OVERLAYS: [Overlay, string][] = [
  ["none", "Skin"],
  ["strain", "Stretching stiffness"],
  ["bending", "Bending stiffness"],
  ["depth", "Largest depth"],
  ["deviation", "Deviation from the rig"],
  ["force", "Contact force"],
  ["volume", "Volume change"],
  ["stiffness", "Painted stiffness"],
];

const millimetres = (value: number) => `${(1000 * value).toFixed(1)} mm`;

export function touchSection(state: State): HTMLElement {
  const radius = new Slider({
    label: "Fingertip radius",
    min: 0.003,
    max: 0.03,
    step: 0.0005,
    value: state.radius.value,
    format: millimetres,
    input: (value) => state.radius.set(value),
  });
  const force = new Slider({
    label: "Largest force",
    min: 0.1,
    max: 10,
    step: 0.1,
    value: state.force.value,
    format: (value) => `${value.toFixed(2)} N`,
    input: (value) => state.force.set(value),
  });
  const depth = new Slider({
    label: "Depth",
    min: 0,
    max: 0.02,
    step: 0.0005,
    value: state.depth.value,
    format: millimetres,
    title: "Depth of the fingertip in the skin; the wheel changes it while you press",
    input: (value) => state.depth.set(value),
  });
  state.radius.watch((value) => radius.show(value));
  state.force.watch((value) => force.show(value));
  state.depth.watch((value) => depth.show(value));
  const fingers = h("p", { class: "hint" }, "Press and hold; the tools beside the face pull, shake and turn. A drag beside the face turns it, two fingers zoom.");
  const mouse = h("p", { class: "hint" }, "Press and hold. ", h("kbd", {}, "Shift"), " pulls, ", h("kbd", {}, "Alt"), " shakes the head, the wheel sets the depth.");
  const hint = matchMedia("(pointer: coarse)").matches ? fingers : mouse;
  return section("Touch", true, radius.element, force.element, depth.element, hint);
}

export function viewSection(state: State): HTMLElement {
  const radios = OVERLAYS.map(([value, label]) => {
    const input = h("input", {
      type: "radio",
      name: "overlay",
      value,
      checked: state.overlay.value === value,
      change: () => state.overlay.set(value),
    });
    state.overlay.watch((overlay) => {
      input.checked = overlay === value;
    });
    return h("label", { class: "radio" }, input, h("span", {}, label));
  });
  const wireframe = toggle("Simulation mesh", state.wireframe.value, (on) => state.wireframe.set(on), "W");
  const split = toggle("Split: rig | simulated", state.split.value, (on) => state.split.set(on), "S");
  const texture = toggle("Texture", state.texture.value, (on) => state.texture.set(on), "T");
  const graph = toggle("Time per frame", state.graph.value, (on) => state.graph.set(on), "G");
  for (const [signal, element] of [
    [state.wireframe, wireframe],
    [state.split, split],
    [state.texture, texture],
    [state.graph, graph],
  ] as const) {
    signal.watch((on) => {
      element.input.checked = on;
    });
  }
  const group = h("div", { class: "radios", role: "radiogroup", "aria-label": "Colour the skin by" }, ...radios);
  const shell = h("p", { class: "hint" });
  const allow = () => {
    const { hasVolume, isPaintable } = state;
    const has: Partial<Record<Overlay, boolean>> = { none: true, volume: hasVolume, stiffness: isPaintable };
    radios.forEach((radio, i) => {
      const overlay = OVERLAYS[i]?.[0] ?? "none";
      const allowed = has[overlay] ?? state.face.value !== null;
      (radio.firstElementChild as HTMLInputElement).disabled = !allowed;
    });
    if (has[state.overlay.value] === false) state.overlay.set("none");
  };
  state.body.watch(allow);
  state.face.watch((face) => {
    shell.textContent = face
      ? `${face.shellTriangles.toLocaleString("en")} triangles are simulated; the face is ${(100 * face.height).toFixed(1)} cm high.`
      : "";
    allow();
  });
  return section("View", true, group, wireframe, split, texture, graph, shell);
}

/** Gravity as a vector in the world. */
export function gravityOf({ gravity, side, front }: Materials): Vec3 {
  const [a, b] = [(side * Math.PI) / 180, (front * Math.PI) / 180];
  const [x, z] = [Math.sin(a), Math.sin(b)];
  const down = Math.cos(a) * Math.cos(b);
  const length = Math.hypot(x, down, z) || 1;
  return [(gravity * x) / length, (-gravity * down) / length, (gravity * z) / length];
}

/** Sends the materials as parameters; every body takes those that it has. */
export function sendMaterials(state: State, connection: Connection): void {
  const [x, y, z] = gravityOf(state.materials.value);
  const values: [string, number][] = [
    ...Object.entries(state.materials.value.values),
    ["gravity.x", x],
    ["gravity.y", y],
    ["gravity.z", z],
  ];
  connection.send({ type: "params", values });
}

/** Parameters with controls of their own. */
const isSpecial = (name: string) => name.startsWith("gravity.") || name === "stickiness";

/** The name of a parameter in words: `skin_area` is "Skin area", `palsy.left` is "Palsy left". */
const labelOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replace(/[._]/g, " ");

/** A slider for a parameter of a body. Factors are felt by their ratio, so their sliders run over the logarithm. */
function paramSlider({ name, value, least, most, isFactor }: ParamEntry, input: (value: number) => void): { slider: Slider; show: (value: number) => void } {
  const to = isFactor ? Math.log2 : (value: number) => value;
  const from = isFactor ? (value: number) => 2 ** value : (value: number) => value;
  const slider = new Slider({
    label: labelOf(name),
    min: to(least),
    max: to(most),
    step: isFactor ? 0.05 : (most - least) / 100,
    value: to(value),
    format: (value) => (isFactor ? `${from(value).toPrecision(2)} ×` : value.toPrecision(2)),
    input: (value) => input(from(value)),
  });
  return { slider, show: (value) => slider.show(to(value)) };
}

/** Sliders for the parameters of the body that is shown. */
function paramSliders(state: State, set: (name: string, value: number) => void) {
  const place = h("div", { class: "params" });
  /** The values that parameters had before anybody changed them. */
  const initial: Record<string, number> = {};
  let names = "";
  let rows: { name: string; show: (value: number) => void }[] = [];
  const show = () => {
    const { values } = state.materials.value;
    for (const row of rows) row.show(values[row.name] ?? initial[row.name] ?? 0);
  };
  state.body.watch(({ params }) => {
    const shown = params.filter(({ name }) => !isSpecial(name));
    for (const { name, value } of shown) initial[name] ??= value;
    const wanted = shown.map(({ name }) => name).join();
    if (wanted === names) return;
    names = wanted;
    const made = shown.map((param) => ({ name: param.name, ...paramSlider(param, (value) => set(param.name, value)) }));
    place.replaceChildren(...made.map(({ slider }) => slider.element));
    rows = made;
    show();
  });
  state.materials.watch(show);
  return { place, initial };
}

export function materialsSection(state: State, connection: Connection): HTMLElement {
  const change = (part: Partial<Materials>) => {
    state.materials.set({ ...state.materials.value, ...part });
    sendMaterials(state, connection);
  };
  const params = paramSliders(state, (name, value) => change({ values: { ...state.materials.value.values, [name]: value } }));
  const angle = (label: string, key: "side" | "front", title: string) =>
    ({
      slider: new Slider({
        label,
        min: -180,
        max: 180,
        step: 5,
        value: 0,
        title,
        format: (value) => `${value}°`,
        input: (value) => change({ [key]: value }),
      }),
      show: (materials: Materials) => materials[key],
    }) as const;
  const rows = [
    {
      slider: new Slider({
        label: "Gravity",
        min: 0,
        max: 30,
        step: 0.1,
        value: MATERIALS.gravity,
        format: (value) => `${value.toFixed(1)} m/s²`,
        input: (value) => change({ gravity: value }),
      }),
      show: (materials: Materials) => materials.gravity,
    },
    angle("Gravity sideways", "side", "Turns gravity towards the character's left"),
    angle("Gravity forwards", "front", "Turns gravity towards the front"),
  ];
  state.materials.watch((materials) => rows.forEach((row) => row.slider.show(row.show(materials))));
  state.body.watch(({ params }) => {
    const hasGravity = params.some(({ name }) => name === "gravity.y");
    for (const row of rows) row.slider.input.disabled = !hasGravity;
  });
  const badge = h("p", { class: "badge", role: "status" });
  state.certificate.watch((certificate) => {
    badge.hidden = !certificate;
    if (!certificate) return;
    badge.classList.toggle("good", certificate.holds);
    badge.textContent = `${certificate.holds ? "Certified" : "Not certified"}: ${certificate.reason}.`;
  });
  const reset = h("button", { type: "button", class: "button small", click: () => change({ ...MATERIALS, values: { ...params.initial } }) }, "Reset materials");
  return section("Materials", false, badge, params.place, ...rows.map((row) => row.slider.element), reset);
}
