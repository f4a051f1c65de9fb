// The keyboard.

import type { Expressions } from "./panels/expressions";
import type { Transport } from "./panels/transport";
import type { Stage } from "./scene/stage";
import type { Overlay, State } from "./state";
import type { Brushwork } from "./touch/brushwork";

const ORDER: Overlay[] = ["none", "strain", "bending", "depth", "deviation", "force"];

interface Parts {
  state: State;
  stage: Stage;
  transport: Transport;
  expressions: Expressions;
  brushwork: Brushwork;
  help: HTMLDialogElement;
  /** Chooses a body. */
  choose: (body: string) => void;
  fold: (side: "left" | "right") => void;
  /** The time in the take. */
  time: () => number;
}

/** Whether a key belongs to the element that has the focus. */
function isTaken(target: EventTarget | null, key: string): boolean {
  if (target instanceof HTMLSelectElement) return true;
  if (target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement) return key === " " || key === "Enter";
  if (!(target instanceof HTMLInputElement)) return target instanceof HTMLElement && target.tagName === "SUMMARY" && key === " ";
  if (target.type === "range" || target.type === "radio") return key.startsWith("Arrow") || key === "Home" || key === "End";
  if (target.type === "checkbox") return key === " ";
  return true;
}

export function listenToKeys({ state, stage, transport, expressions, brushwork, help, choose, fold, time }: Parts): void {
  const flip = (signal: { value: boolean; set(on: boolean): void }) => signal.set(!signal.value);
  const step = (seconds: number) => transport.seek(Math.max(0, time() + seconds));
  const actions: Record<string, (event: KeyboardEvent) => void> = {
    " ": () => transport.toggle(),
    ArrowLeft: (event) => step(event.shiftKey ? -1 : -1 / 30),
    ArrowRight: (event) => step(event.shiftKey ? 1 : 1 / 30),
    "1": () => state.tool.set("press"),
    "2": () => state.tool.set("pull"),
    "3": () => state.tool.set("shake"),
    "4": () => state.tool.set("orbit"),
    "5": () => state.isPaintable && state.tool.set("paint"),
    f: () => stage.frame(),
    w: () => flip(state.wireframe),
    s: () => flip(state.split),
    t: () => flip(state.texture),
    g: () => flip(state.graph),
    o: () => {
      const order: Overlay[] = [...ORDER, ...(state.hasVolume ? (["volume"] as const) : []), ...(state.isPaintable ? (["stiffness"] as const) : [])];
      state.overlay.set(order[(order.indexOf(state.overlay.value) + 1) % order.length] ?? "none");
    },
    b: () => {
      const names = state.bodies.value.map(({ name }) => name);
      const next = names[(names.indexOf(state.body.value.wanted) + 1) % names.length];
      if (next) choose(next);
    },
    c: () => state.cut.set({ ...state.cut.value, on: !state.cut.value.on }),
    r: () => expressions.random(),
    "0": () => expressions.reset(),
    l: () => transport.set({ looped: !state.looped.value }),
    h: () => transport.set({ headMotion: !state.headMotion.value }),
    "/": () => expressions.search.focus(),
    "?": () => help.showModal(),
    "[": () => fold("left"),
    "]": () => fold("right"),
  };
  addEventListener("keydown", (event) => {
    const undoes = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (undoes && state.tool.value === "paint" && !help.open) {
      event.preventDefault();
      brushwork.undo();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target, event.key)) return;
    if (help.open) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}
