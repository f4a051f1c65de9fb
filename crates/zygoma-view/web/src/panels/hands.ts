// Hands: gestures at places of the face, and the hands of a headset.

import type { Connection } from "../connection";
import { h, section, spaced } from "../dom";
import type { State } from "../state";
import type { Latency } from "../touch/latency";
import type { Headset } from "../xr/headset";

/** The gesture that needs a second place. */
const STROKE = "stroke";

export function handsSection(state: State, connection: Connection, latency: Latency, headset: Headset): HTMLElement {
  const at = h("select", { "aria-label": "Place" });
  const toward = h("select", { "aria-label": "Where a stroke goes" });
  const buttons = h("div", { class: "row gestures", role: "group", "aria-label": "Gestures" });
  const play = (gesture: string) =>
    connection.send({
      type: "gesture",
      gesture,
      at: at.value,
      toward: gesture === STROKE ? toward.value : null,
      input: latency.stamp(),
    });
  state.gestures.watch(({ gestures, places }) => {
    for (const [select, preferred] of [
      [at, "cheek-left"],
      [toward, "ear-left"],
    ] as const) {
      const chosen = places.includes(select.value) ? select.value : preferred;
      select.replaceChildren(...places.map((place) => h("option", { value: place, selected: place === chosen }, spaced(place.replace("-", " ")))));
    }
    const button = (gesture: string) => h("button", { type: "button", class: "button small", click: () => play(gesture) }, spaced(gesture));
    buttons.replaceChildren(...gestures.map(button));
  });
  const away = h(
    "button",
    { type: "button", class: "button small", click: () => connection.send({ type: "handAway", side: null, input: latency.stamp() }) },
    "Take away",
  );
  const enter = h("button", { type: "button", class: "button small", hidden: true, click: () => void headset.enter() }, "Use a headset");
  void headset.isThere().then((is) => {
    enter.hidden = !is;
  });
  const panel = section(
    "Hands",
    false,
    h("div", { class: "row" }, at, h("span", {}, "to"), toward),
    buttons,
    h("div", { class: "row" }, away, enter),
    h("p", { class: "hint" }, "A hand comes, does this, and goes. On a touch screen, two fingers on the face pinch it."),
  );
  const allow = () => {
    panel.hidden = !state.body.value.isTouchable || state.gestures.value.places.length === 0;
  };
  state.body.watch(allow);
  state.gestures.watch(allow);
  return panel;
}
