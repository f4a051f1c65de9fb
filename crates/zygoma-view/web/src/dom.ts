// A few helpers to make elements; no framework is needed for a handful of panels.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener | ((event: never) => void) | undefined>;

/** Makes an element. Functions are listeners, booleans are present or absent, everything else is an attribute. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

/** Drawings of icons, on a grid of 24. */
const ICONS = {
  press: '<path d="M12 3v8"/><path d="m8.5 8 3.5 3.5L15.5 8"/><path d="M4 17c3.5 0 4.5-2 8-2s4.5 2 8 2"/>',
  pull: '<path d="M12 14V4"/><path d="m8.5 7.5 3.5-3.5 3.5 3.5"/><path d="M4 20c4 0 5-4 8-4s4 4 8 4"/>',
  shake: '<circle cx="12" cy="11" r="5"/><path d="M3.5 8.5 2 11l1.5 2.5M20.5 8.5 22 11l-1.5 2.5M9.5 16v4M14.5 16v4"/>',
  orbit: '<circle cx="12" cy="12" r="3"/><path d="M21 12c0 2.5-4 4.5-9 4.5S3 14.5 3 12s4-4.5 9-4.5c2 0 3.900.3 5.4.9"/><path d="m18 5.5-.4 3-3-.4"/>',
  brush: '<path d="M19.5 3.500c1 1 .6 2.100 0 2.800l-7.300 8-2.600-2.600 7.900-7.400c.6-.6 1.500-1.300 2-.8z"/><path d="M8.800 12.500c-2.400 0-3 1.600-3.300 3.200-.2 1.200-.9 2-2 2.600 3.500 1.700 8.300.7 8.100-3"/>',
  play: '<path d="M7 4.5v15l12-7.5z" fill="currentColor"/>',
  pause: '<path d="M7 5h3.5v14H7zM13.5 5H17v14h-3.5z" fill="currentColor" stroke="none"/>',
  loop: '<path d="M17 3l3 3-3 3"/><path d="M20 6H8a4 4 0 0 0-4 4v1"/><path d="m7 21-3-3 3-3"/><path d="M4 18h12a4 4 0 0 0 4-4v-1"/>',
  head: '<path d="M9 20v-2.5c-2.5-.8-4-3.3-4-6.5a6.5 6.5 0 0 1 13 0c0 .6 1.5 2.5 1.5 3.200 0 .5-1.5.8-1.5.8V17c0 1-1 1.5-3 1.5V20"/>',
  record: '<circle cx="12" cy="12" r="6" fill="currentColor" stroke="none"/>',
  stop: '<rect x="7" y="7" width="10" height="10" rx="1.5" fill="currentColor" stroke="none"/>',
  download: '<path d="M12 4v11"/><path d="m7.5 11 4.5 4.5 4.5-4.5"/><path d="M5 20h14"/>',
  open: '<path d="M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z"/>',
  theme: '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
  frame: '<path d="M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4"/>',
  help: '<circle cx="12" cy="12" r="9"/><path d="M9.5 9.5a2.5 2.5 0 1 1 3.600 2.200c-.8.4-1.100.9-1.100 1.8"/><path d="M12 16.8v.1"/>',
  dice: '<rect x="4" y="4" width="16" height="16" rx="3"/><path d="M8.5 8.5v.1M15.5 15.5v.1M12 12v.1M15.5 8.5v.1M8.5 15.5v.1"/>',
  reset: '<path d="M4 5v5h5"/><path d="M5 10a8 8 0 1 1-1 4"/>',
  split: '<rect x="3.5" y="5" width="17" height="14" rx="2"/><path d="M12 3v18"/>',
  mesh: '<path d="M12 3 3.5 19h17z"/><path d="M7.8 11h8.4L12 19z"/>',
  close: '<path d="m6 6 12 12M18 6 6 18"/>',
  chevron: '<path d="m9 6 6 6-6 6"/>',
  left: '<rect x="3.5" y="5" width="17" height="14" rx="2"/><path d="M9.5 5v14"/>',
  right: '<rect x="3.5" y="5" width="17" height="14" rx="2"/><path d="M14.5 5v14"/>',
  check: '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
  alert: '<path d="M12 4 2.8 19.5h18.4z"/><path d="M12 10v4.5M12 17v.1"/>',
} as const;

export type IconName = keyof typeof ICONS;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  svg.innerHTML = ICONS[name];
  return svg;
}

/** A button with an icon, whose name is its tooltip. */
export function iconButton(name: IconName, label: string, onClick: () => void, key = ""): HTMLButtonElement {
  const title = key ? `${label} (${key})` : label;
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title, click: onClick }, icon(name));
}

export interface SliderOptions {
  label: string;
  /** The label's short form, where its surroundings say the rest. */
  short?: string;
  min: number;
  max: number;
  step: number;
  value: number;
  format: (value: number) => string;
  input: (value: number, settled: boolean) => void;
  title?: string;
}

/** A labelled slider that shows its value. */
export class Slider {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly output: HTMLElement;

  constructor(private readonly options: SliderOptions) {
    const { min, max, step, value, label } = options;
    this.output = h("span", { class: "slider-value", "aria-hidden": "true" });
    this.input = h("input", {
      type: "range",
      min,
      max,
      step,
      value,
      "aria-label": label,
      input: () => this.changed(false),
      change: () => this.changed(true),
    });
    const title = options.title;
    this.element = h(
      "label",
      { class: "slider", ...(title ? { title } : {}) },
      h("span", { class: "slider-label" }, options.short ?? label),
      this.output,
      this.input,
    );
    this.show(value);
  }

  private changed(settled: boolean): void {
    const value = this.input.valueAsNumber;
    this.show(value);
    this.options.input(value, settled);
  }

  /** Shows a value without notifying listeners. */
  show(value: number): void {
    const { min, max, format } = this.options;
    if (this.input.valueAsNumber !== value) this.input.value = String(value);
    this.output.textContent = format(value);
    this.input.setAttribute("aria-valuetext", format(value));
    const share = (100 * (value - min)) / (max - min);
    this.input.style.setProperty("--share", `${Math.min(Math.max(share, 0), 100)}%`);
  }
}

/** A switch with a label. */
export function toggle(label: string, value: boolean, change: (on: boolean) => void, title = ""): HTMLLabelElement & { input: HTMLInputElement } {
  const input = h("input", { type: "checkbox", role: "switch", checked: value, change: () => change(input.checked) });
  const element = h("label", { class: "toggle", ...(title ? { title } : {}) }, h("span", {}, label), input);
  return Object.assign(element, { input });
}

/** A part of a panel that can be folded. */
export function section(title: string, open: boolean, ...children: Child[]): HTMLDetailsElement {
  return h(
    "details",
    { class: "section", open },
    h("summary", {}, icon("chevron"), h("span", {}, title)),
    h("div", { class: "section-body" }, ...children),
  );
}

/** "mouthSmileLeft" or "mouthSmile_L" as a person writes it: "Mouth smile left". */
export function spaced(name: string): string {
  const words = name
    .replace(/[_.]+/g, " ")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .trim()
    .toLowerCase()
    .replace(/ l$/, " left")
    .replace(/ r$/, " right");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
