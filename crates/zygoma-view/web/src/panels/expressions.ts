// Sliders for every shape, by the part of the face that they move.

import type { Connection } from "../connection";
import { h, icon, iconButton, Slider, spaced } from "../dom";
import type { Scene } from "../protocol";
import { isSoftware } from "../scene/quality";
import type { State } from "../state";

/** Parts of the face from top to bottom. */
const GROUPS = ["Brows", "Eyes", "Nose", "Cheeks", "Mouth", "Jaw", "Tongue", "Other"];

/** Sliders follow the take this often, in milliseconds: drawing them is work, too. */
const FOLLOW = isSoftware() ? 300 : 100;

/** A name without what the group's title says already: "Eye blink left" among the eyes is "Blink left". */
function within(group: string, name: string): string {
  const rest = name.toLowerCase().startsWith(`${group.toLowerCase().replace(/s$/, "")} `) ? name.slice(name.indexOf(" ") + 1) : name;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

interface Row {
  control: number;
  name: string;
  slider: Slider;
  element: HTMLElement;
}

export class Expressions {
  readonly element: HTMLElement;
  readonly search: HTMLInputElement;
  private readonly list = h("div", { class: "scroll", role: "group", "aria-label": "Expressions" });
  private readonly none = h("p", { class: "hint", hidden: true }, "No expression has this name.");
  private rows: Row[] = [];
  private groups: { element: HTMLDetailsElement; rows: Row[] }[] = [];
  private readonly held = new Set<number>();
  /** Values that were held, by name, when the connection was lost. */
  private kept = new Map<string, number>();
  private followed = 0;

  constructor(
    state: State,
    private readonly connection: Connection,
  ) {
    this.search = h("input", {
      type: "search",
      placeholder: "Search expressions",
      "aria-label": "Search expressions",
      autocomplete: "off",
      spellcheck: "false",
      input: () => this.filter(),
    });
    this.element = h(
      "aside",
      { class: "panel left", "aria-label": "Expressions" },
      h(
        "header",
        { class: "panel-head" },
        h("h2", {}, "Expressions"),
        iconButton("dice", "Random expression", () => this.random(), "R"),
        iconButton("reset", "Release all expressions", () => this.reset(), "0"),
      ),
      h("div", { class: "search" }, this.search),
      this.none,
      this.list,
    );
    state.scene.watch((scene) => scene && !(scene.same && this.rows.length) && this.fill(scene));
  }

  private fill(scene: Scene): void {
    this.held.clear();
    const byGroup = new Map<string, Row[]>();
    this.rows = scene.controls.map((control, index) => {
      const slider = new Slider({
        label: spaced(control.name),
        short: within(control.group, spaced(control.name)),
        min: 0,
        max: 1,
        step: 0.01,
        value: 0,
        title: `${control.name}: double-click to release`,
        format: (value) => value.toFixed(2),
        input: (value) => this.hold(row, value),
      });
      const element = slider.element;
      element.addEventListener("dblclick", () => this.release(row));
      const row: Row = { control: index, name: `${control.name} ${spaced(control.name)}`.toLowerCase(), slider, element };
      const rows = byGroup.get(control.group) ?? [];
      rows.push(row);
      byGroup.set(control.group, rows);
      return row;
    });
    const place = (group: string) => GROUPS.indexOf(group);
    const sorted = [...byGroup].sort(([a], [b]) => place(a) - place(b));
    this.groups = sorted.map(([name, rows]) => {
      const count = h("span", { class: "count" }, String(rows.length));
      const element = h(
        "details",
        { class: "section", open: true },
        h("summary", {}, icon("chevron"), h("span", {}, name), count),
        h("div", { class: "section-body" }, ...rows.map((row) => row.element)),
      );
      return { element, rows };
    });
    this.list.replaceChildren(...this.groups.map((group) => group.element));
    if (this.rows.length === 0) this.list.append(h("p", { class: "hint" }, "This rig has no expressions."));
    this.filter();
    this.takeHoldAgain();
  }

  /** A new session may show another rig, and knows nothing of what was held. */
  private takeHoldAgain(): void {
    const values = this.rows.flatMap((row): [Row, number][] => {
      const value = this.kept.get(row.name);
      return value === undefined ? [] : [[row, value]];
    });
    this.kept.clear();
    for (const [row, value] of values) {
      row.slider.show(value);
      this.hold(row, value);
    }
  }

  private filter(): void {
    const wanted = this.search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { element, rows } of this.groups) {
      let shown = 0;
      for (const row of rows) {
        const fits = wanted.every((word) => row.name.includes(word));
        row.element.hidden = !fits;
        if (fits) shown++;
      }
      element.hidden = shown === 0;
      if (wanted.length > 0 && shown > 0) element.open = true;
      found += shown;
    }
    this.none.hidden = found > 0 || this.rows.length === 0;
  }

  private hold(row: Row, value: number): void {
    this.held.add(row.control);
    row.element.classList.add("held");
    this.connection.send({ type: "hold", values: [[row.control, value]] });
  }

  private release(row: Row): void {
    this.held.delete(row.control);
    row.element.classList.remove("held");
    this.connection.send({ type: "letGo", controls: [row.control] });
  }

  /** Lets the take drive everything again. */
  reset(): void {
    this.held.clear();
    for (const row of this.rows) row.element.classList.remove("held");
    this.connection.send({ type: "letGo", controls: null });
  }

  /** A few expressions at random; both sides alike, as faces mostly are. */
  random(): void {
    const values: [number, number][] = [];
    const names = new Map(this.rows.map((row) => [row.name, row]));
    for (const row of this.rows) {
      const other = names.get(row.name.replaceAll("right", "left"));
      const twin = other && other !== row ? values.find(([control]) => control === other.control) : undefined;
      const raised = Math.random() < 0.14 ? 0.25 + 0.75 * Math.random() : 0;
      const value = twin ? twin[1] : raised;
      values.push([row.control, Math.round(100 * value) / 100]);
    }
    for (const [control, value] of values) {
      this.held.add(control);
      const row = this.rows[control];
      row?.element.classList.toggle("held", value > 0);
      row?.slider.show(value);
    }
    this.connection.send({ type: "hold", values });
  }

  /** Shows what the take does. */
  follow(weights: Float32Array, now: number): void {
    if (now - this.followed < FOLLOW) return;
    this.followed = now;
    for (const row of this.rows) {
      if (!this.held.has(row.control)) row.slider.show(Math.round(100 * (weights[row.control] ?? 0)) / 100);
    }
  }

  /** Keeps what is held for the scene of a new session. */
  keep(): void {
    for (const { control, name, slider } of this.rows) if (this.held.has(control)) this.kept.set(name, slider.input.valueAsNumber);
  }
}
