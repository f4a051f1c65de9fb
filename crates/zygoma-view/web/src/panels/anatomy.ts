// The panel that looks under the skin.

import type { Connection } from "../connection";
import { h, section, Slider } from "../dom";
import type { State } from "../state";

/** Asks for the anatomy, if it is wanted and not there. */
export function askForAnatomy(state: State, connection: Connection): void {
  if (state.layer.value > 0 && state.anatomy.value.state === "none") connection.send({ type: "anatomy" });
}

const name = (depth: number) => (depth < 0.25 ? "Skin" : depth < 0.75 ? "Muscles" : "Skull");

export function anatomySection(state: State, connection: Connection): HTMLElement {
  const depth = new Slider({
    label: "Under the skin",
    min: 0,
    max: 1,
    step: 0.01,
    value: state.layer.value,
    format: name,
    title: "Fades the skin to muscles and skull",
    input: (value) => {
      state.layer.set(value);
      askForAnatomy(state, connection);
    },
  });
  state.layer.watch((value) => depth.show(value));
  const note = h("p", { class: "hint", role: "status" });
  state.anatomy.watch((anatomy) => {
    note.textContent = anatomy.note;
    note.hidden = anatomy.note === "";
  });
  return section("Anatomy", true, depth.element, note);
}
