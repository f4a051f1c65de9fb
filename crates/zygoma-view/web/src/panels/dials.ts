// Dials that shape the built-in head.

import type { Connection } from "../connection";
import { h, icon, section, Slider, spaced } from "../dom";
import type { State } from "../state";

/** While a dial is being turned, a new head is asked for at most this often, in milliseconds. */
const PACE = 120;

export function dialsSection(state: State, connection: Connection): HTMLElement {
  let seed = 0;
  const set = new Map<string, number>();
  const sliders = new Map<string, Slider>();
  let last = 0;
  const ask = (settled: boolean) => {
    const now = performance.now();
    if (!settled && now - last < PACE) return;
    last = now;
    connection.send({ type: "dials", seed, values: [...set], settled });
  };
  const seedInput = h("input", {
    type: "number",
    min: 0,
    max: 999999,
    step: 1,
    value: 0,
    "aria-label": "Seed",
    change: () => {
      seed = Math.max(0, Math.round(seedInput.valueAsNumber || 0));
      set.clear();
      ask(true);
    },
  });
  const random = h(
    "button",
    {
      type: "button",
      class: "button small",
      click: () => {
        seed = 1 + Math.floor(999 * Math.random());
        seedInput.value = String(seed);
        set.clear();
        ask(true);
      },
    },
    icon("dice"),
    "Someone else",
  );
  const reset = h(
    "button",
    {
      type: "button",
      class: "button small",
      click: () => {
        seed = 0;
        seedInput.value = "0";
        set.clear();
        ask(true);
      },
    },
    icon("reset"),
    "Reset",
  );
  const list = h("div", { class: "dials" });
  const element = section(
    "Built-in head",
    false,
    h("div", { class: "row" }, h("label", { class: "seed" }, "Seed", seedInput), random, reset),
    list,
  );
  state.dials.watch((dials) => {
    element.hidden = dials.length === 0;
    if (sliders.size !== dials.length) {
      sliders.clear();
      for (const dial of dials) {
        const slider = new Slider({
          label: spaced(dial.name),
          min: -1,
          max: 1,
          step: 0.05,
          value: dial.value,
          title: `Up: ${dial.about}`,
          format: (value) => value.toFixed(2),
          input: (value, settled) => {
            set.set(dial.name, value);
            ask(settled);
          },
        });
        sliders.set(dial.name, slider);
      }
      list.replaceChildren(...[...sliders.values()].map((slider) => slider.element));
    }
    for (const dial of dials) {
      const slider = sliders.get(dial.name);
      // The one under the hand knows better.
      if (slider && document.activeElement !== slider.input) slider.show(dial.value);
    }
  });
  state.link.watch((link) => {
    // A new session starts with the head as it was sculpted.
    if (link === "open" && (seed !== 0 || set.size > 0)) {
      seed = 0;
      seedInput.value = "0";
      set.clear();
    }
  });
  return element;
}
