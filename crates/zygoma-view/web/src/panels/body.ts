// What the face is made of: the switch, and the panel of the flesh.

import type { Connection } from "../connection";
import { h, section, Slider, toggle } from "../dom";
import type { Body } from "../protocol";
import { type Axis, keepInAddress, type State } from "../state";

const BODIES: [Body, string, string][] = [
  ["rig", "Rig", "The plain rig, without physics"],
  ["shell", "Shell", "A thin elastic shell that can be touched"],
  ["tissue", "Tissue", "A layer of flesh with weight, whose lips meet and stick"],
];

const AXES: [Axis, string, string][] = [
  ["x", "Side", "from the right to the left"],
  ["y", "Level", "from below to above"],
  ["z", "Depth", "from the back to the front"],
];

/** Chooses what the face is made of. */
export function chooser(state: State, connection: Connection): (body: Body) => void {
  return (body) => {
    keepInAddress(body);
    state.body.set({ ...state.body.value, wanted: body });
    connection.send({ type: "body", body });
  };
}

/** A row of choices, one of which is taken. */
function choices<T extends string>(name: string, label: string, all: [T, string, string][], choose: (value: T) => void) {
  const inputs = all.map(([value, text, title]) => {
    const input = h("input", { type: "radio", name, value, change: () => choose(value) });
    return { value, input, label: h("label", { title }, input, h("span", {}, text)) };
  });
  const element = h("div", { class: "choices", role: "radiogroup", "aria-label": label }, ...inputs.map(({ label }) => label));
  const show = (chosen: T) => inputs.forEach(({ value, input }) => (input.checked = value === chosen));
  return { element, show, inputs };
}

/** Rig, shell or tissue, over the picture. */
export function bodySwitch(state: State, choose: (body: Body) => void): HTMLElement {
  const row = choices("body", "What the face is made of (B)", BODIES, choose);
  row.element.classList.add("bodies");
  state.body.watch(({ shown, wanted }) => {
    row.show(wanted);
    for (const { value, label } of row.inputs) label.classList.toggle("busy", value === wanted && shown !== wanted);
  });
  return row.element;
}

/** How the making of flesh is coming along. */
export function growthCard(state: State, connection: Connection): HTMLElement {
  const stage = h("span", { class: "build-stage" });
  const giveUp = () => {
    connection.send({ type: "cancelBuild" });
    keepInAddress(state.body.value.shown);
  };
  const cancel = h("button", { type: "button", class: "button small", click: giveUp }, "Cancel");
  const bar = h("progress", { max: 1, "aria-label": "Making tissue" });
  const card = h(
    "div",
    { class: "build growth", role: "status", hidden: true },
    h("div", { class: "build-head" }, h("strong", {}, "Making tissue"), cancel),
    bar,
    stage,
  );
  state.body.watch((body) => {
    card.hidden = body.stage === "";
    stage.textContent = body.seconds >= 1 ? `${body.stage}, ${body.seconds.toFixed(0)} s` : body.stage;
    if (body.share === null) bar.removeAttribute("value");
    else bar.value = body.share;
  });
  return card;
}

/** The panel of the flesh, while it is shown. */
export function fleshSection(state: State, connection: Connection): HTMLElement {
  const figures = h("dl", { class: "facts flesh-figures", role: "status", "aria-live": "off" });
  state.flesh.watch((flesh) => {
    if (!flesh) return;
    const slow = flesh.speed < 0.9 ? `, ${flesh.speed.toFixed(1)} × real time` : "";
    const rows: [string, string][] = [
      ["Frame", `${flesh.milliseconds.toFixed(1)} ms${slow}`],
      ["Volume", `${(100 * flesh.volume).toFixed(1)} %`],
      ["Elements", `95 % within ±${(100 * flesh.change).toFixed(0)} %`],
      ["Lips", `${flesh.contacts} contacts, ${flesh.sticky} springs`],
      ["Penetration", `${(1000 * flesh.penetration).toFixed(3)} mm`],
    ];
    if (flesh.inverted > 0) rows.push(["Inside out", `${flesh.inverted} of ${flesh.tetrahedra} tetrahedra`]);
    figures.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  });
  const note = h("p", { class: "hint" });
  const panel = section(
    "Tissue",
    true,
    figures,
    ...cutControls(state),
    ...stickyControls(state, connection),
    note,
  );
  state.body.watch((body) => {
    panel.hidden = body.shown !== "tissue";
    note.textContent = body.note;
  });
  return panel;
}

function cutControls(state: State): HTMLElement[] {
  const on = toggle("Cut", state.cut.value.on, (on) => state.cut.set({ ...state.cut.value, on }), "C");
  const axes = choices("axis", "Direction of the cut", AXES, (axis) => state.cut.set({ ...state.cut.value, axis, on: true }));
  const place = new Slider({
    label: "Place of the cut",
    short: "Place",
    min: 0,
    max: 1,
    step: 0.005,
    value: state.cut.value.share,
    format: (share) => `${(100 * share).toFixed(0)} %`,
    input: (share) => state.cut.set({ ...state.cut.value, share, on: true }),
  });
  state.cut.watch((cut) => {
    on.input.checked = cut.on;
    axes.show(cut.axis);
    place.show(cut.share);
  });
  const hint = h("p", { class: "hint" }, "Double-click the face to cut it open there.");
  return [on, axes.element, place.element, hint];
}

function stickyControls(state: State, connection: Connection): HTMLElement[] {
  const set = (part: Partial<{ on: boolean; strength: number }>) => state.sticky.set({ ...state.sticky.value, ...part });
  const lips = toggle("Springs and contacts of the lips", state.lips.value, (on) => state.lips.set(on));
  const sticky = toggle("Sticky lips", state.sticky.value.on, (on) => set({ on }));
  const strength = new Slider({
    label: "Stickiness",
    min: 0.1,
    max: 5,
    step: 0.1,
    value: state.sticky.value.strength,
    format: (value) => `${value.toFixed(1)} ×`,
    title: "How strongly lips that met hold each other",
    input: (value) => set({ strength: value, on: true }),
  });
  state.lips.watch((on) => {
    lips.input.checked = on;
  });
  state.sticky.watch(({ on, strength: value }) => {
    sticky.input.checked = on;
    strength.show(value);
    tellSticky(state, connection);
  });
  return [sticky, strength.element, lips];
}

/** Tells the server how sticky lips are. */
export function tellSticky(state: State, connection: Connection): void {
  const { on, strength } = state.sticky.value;
  connection.send({ type: "flesh", stickiness: on ? strength : 0 });
}
