// The bodies: their chooser, the progress of building one, and the panel of tissue.

import type { Connection } from "../connection";
import { h, section, Slider, toggle } from "../dom";
import { type Axis, keepInAddress, type State } from "../state";

const AXES: Choice<Axis>[] = [
  ["x", "Side", "from the right to the left"],
  ["y", "Level", "from below to above"],
  ["z", "Depth", "from the back to the front"],
];

/** A value, its label, and a sentence about it. */
type Choice<T> = [T, string, string];

/** Chooses a body. */
export function chooser(state: State, connection: Connection): (body: string) => void {
  return (body) => {
    keepInAddress(body, state.defaultBody.value);
    state.body.set({ ...state.body.value, wanted: body });
    connection.send({ type: "body", body });
  };
}

/** A row of choices, one of which is taken. */
function choices<T extends string>(name: string, label: string, all: Choice<T>[], choose: (value: T) => void) {
  const inputs = all.map(([value, text, title]) => {
    const input = h("input", { type: "radio", name, value, change: () => choose(value) });
    return { value, input, label: h("label", { title }, input, h("span", {}, text)) };
  });
  const element = h("div", { class: "choices", role: "radiogroup", "aria-label": label }, ...inputs.map(({ label }) => label));
  const show = (chosen: T) => inputs.forEach(({ value, input }) => (input.checked = value === chosen));
  return { element, show, inputs };
}

/** The bodies that the server has, over the picture. */
export function bodySwitch(state: State, choose: (body: string) => void): HTMLElement {
  const place = h("div", { class: "bodies" });
  let show = () => {};
  state.bodies.watch((bodies) => {
    const entries = bodies.map(({ name, label, about }): Choice<string> => [name, label, about]);
    const row = choices("body", "Body of the face (B)", entries, choose);
    place.replaceChildren(row.element);
    show = () => {
      const { shown, wanted } = state.body.value;
      row.show(wanted);
      for (const { value, label } of row.inputs) label.classList.toggle("busy", value === wanted && shown !== wanted);
    };
    show();
  });
  state.body.watch(() => show());
  return place;
}

/** Progress of building a body. */
export function bodyBuildCard(state: State, connection: Connection): HTMLElement {
  const stage = h("span", { class: "build-stage" });
  const cancelBuild = () => {
    connection.send({ type: "cancelBuild" });
    keepInAddress(state.body.value.shown, state.defaultBody.value);
  };
  const title = h("strong", {});
  const cancel = h("button", { type: "button", class: "button small", click: cancelBuild }, "Cancel");
  const bar = h("progress", { max: 1, "aria-label": "Progress of the body" });
  const card = h("div", { class: "build body-build", role: "status", hidden: true }, h("div", { class: "build-head" }, title, cancel), bar, stage);
  state.body.watch((body) => {
    card.hidden = body.buildStage === "";
    title.textContent = `Building ${body.wanted}`;
    stage.textContent = body.seconds >= 1 ? `${body.buildStage}, ${body.seconds.toFixed(0)} s` : body.buildStage;
    if (body.fraction === null) bar.removeAttribute("value");
    else bar.value = body.fraction;
  });
  return card;
}

/** The panel of tissue, while it is shown. */
export function tissueSection(state: State, connection: Connection): HTMLElement {
  const figures = h("dl", { class: "facts tissue-figures", role: "status", "aria-live": "off" });
  state.tissue.watch((tissue) => {
    if (!tissue) return;
    const { milliseconds, speed } = state.pace.value ?? { milliseconds: 0, speed: 1 };
    const slow = speed < 0.9 ? `, ${speed.toFixed(1)} × real time` : "";
    const rows: [string, string][] = [
      ["Frame", `${milliseconds.toFixed(1)} ms${slow}`],
      ["Volume", `${(100 * tissue.volume).toFixed(1)} %`],
      ["Elements", `95 % within ±${(100 * tissue.change).toFixed(0)} %`],
      ["Lips", `${tissue.contacts} contacts, ${tissue.sticky} springs`],
      ["Penetration", `${(1000 * tissue.penetration).toFixed(3)} mm`],
    ];
    if (tissue.inverted > 0) rows.push(["Inverted", `${tissue.inverted} of ${tissue.tetrahedra} tetrahedra`]);
    figures.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  });
  const note = h("p", { class: "hint" });
  const panel = section("Tissue", true, figures, ...cutControls(state), ...stickyControls(state, connection), note);
  state.body.watch((body) => {
    panel.hidden = !state.hasVolume;
    note.textContent = body.note;
  });
  return panel;
}

function cutControls(state: State): HTMLElement[] {
  const on = toggle("Cut", state.cut.value.on, (on) => state.cut.set({ ...state.cut.value, on }), "C");
  const axes = choices("axis", "Direction of the cut", AXES, (axis) => state.cut.set({ ...state.cut.value, axis, on: true }));
  const place = new Slider({
    label: "Position of the cut",
    short: "Position",
    min: 0,
    max: 1,
    step: 0.005,
    value: state.cut.value.position,
    format: (position) => `${(100 * position).toFixed(0)} %`,
    input: (position) => state.cut.set({ ...state.cut.value, position, on: true }),
  });
  state.cut.watch((cut) => {
    on.input.checked = cut.on;
    axes.show(cut.axis);
    place.show(cut.position);
  });
  const hint = h("p", { class: "hint" }, "Double-click the face to cut it open there.");
  return [on, axes.element, place.element, hint];
}

function stickyControls(state: State, connection: Connection): HTMLElement[] {
  const set = (part: Partial<{ on: boolean; strength: number }>) => state.sticky.set({ ...state.sticky.value, ...part });
  const lips = toggle("Show lip contacts and springs", state.lips.value, (on) => state.lips.set(on));
  const sticky = toggle("Sticky lips", state.sticky.value.on, (on) => set({ on }));
  const strength = new Slider({
    label: "Stickiness",
    min: 0.1,
    max: 5,
    step: 0.1,
    value: state.sticky.value.strength,
    format: (value) => `${value.toFixed(1)} ×`,
    title: "Strength of the springs between lips that touched",
    input: (value) => set({ strength: value, on: true }),
  });
  state.lips.watch((on) => {
    lips.input.checked = on;
  });
  state.sticky.watch(({ on, strength: value }) => {
    sticky.input.checked = on;
    strength.show(value);
    sendStickiness(state, connection);
  });
  return [sticky, strength.element, lips];
}

/** Sends the stickiness of the lips. */
export function sendStickiness(state: State, connection: Connection): void {
  const { on, strength } = state.sticky.value;
  connection.send({ type: "params", values: [["stickiness", on ? strength : 0]] });
}
