// Puts the page together: state, connection, picture, panels.

import "./style/base.css";
import "./style/controls.css";
import "./style/panels.css";
import "./style/picture.css";
import "./style/states.css";
import { Connection } from "./connection";
import { h, icon, iconButton } from "./dom";
import { Files } from "./files";
import { listenToKeys } from "./keys";
import { anatomySection, askForAnatomy } from "./panels/anatomy";
import { bodySwitch, chooser, bodyBuildCard, sendStickiness, tissueSection } from "./panels/body";
import { dialsSection } from "./panels/dials";
import { Expressions } from "./panels/expressions";
import { Graph } from "./panels/graph";
import { handsSection } from "./panels/hands";
import { helpDialog } from "./panels/help";
import { divider, legendBox, toolbar, TouchReadout } from "./panels/hud";
import { paintSection } from "./panels/paint";
import { materialsSection, sendMaterials, touchSection, viewSection } from "./panels/physics";
import { rigSection } from "./panels/rig";
import { buildCard, curtain, errorBar, statusChip, welcomeCard } from "./panels/states";
import { Transport } from "./panels/transport";
import { type CutPlane, type Frame, readFrame, type ServerMessage } from "./protocol";
import { Stage } from "./scene/stage";
import { MATERIALS, NO_ANATOMY, State } from "./state";
import { chooseTheme } from "./theme";
import { Brushwork } from "./touch/brushwork";
import { Latency } from "./touch/latency";
import { Pointer } from "./touch/pointer";
import { Headset } from "./xr/headset";

const state = new State();
const stage = new Stage(state);
const latency = new Latency();
let frame: Frame | null = null;
/** Scenes take a moment to read, and are read one after the other. */
let opening: Promise<void> = Promise.resolve();

/** Does something after everything that was begun before it. A failure is reported, and does not hold up later work. */
function inTurn(task: () => void | Promise<void>): Promise<void> {
  opening = opening.then(task).catch((error: unknown) => {
    state.loading.set(null);
    state.error.set(`This cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
  });
  return opening;
}

const connection = new Connection(state, {
  message: (message) => {
    // A greeting is for the connection; everything else is about the scene that was announced before it.
    if (message.type === "welcome") hear(message);
    else void inTurn(() => hear(message));
  },
  scene: (buffer) =>
    inTurn(async () => {
      const head = await stage.open(buffer);
      pointer.releaseAll();
      frame = null;
      state.face.set(null);
      state.certificate.set(null);
      state.gestures.set({ gestures: [], places: [] });
      state.anatomy.set(NO_ANATOMY);
      askForAnatomy(state, connection);
      if (!head.scene.same) {
        state.recording.set({ state: "none", bytes: null });
        state.spots.set(0);
      }
      state.dials.set(head.scene.dials);
      state.loading.set(null);
      state.scene.set(head.scene);
    }),
  overtaken: (buffer) => stage.head?.showParts(readFrame(buffer)),
  face: (buffer) => void inTurn(() => state.face.set(stage.setFace(buffer))),
  anatomy: (buffer) => void inTurn(() => stage.setAnatomy(buffer)),
  stiffness: (buffer) => void inTurn(() => state.spots.set(stage.setStiffness(buffer).spots)),
});

const brushwork = new Brushwork(state, connection);
const pointer = new Pointer(stage, state, connection, latency, brushwork);
const headset = new Headset(stage, connection, latency, draw);
const expressions = new Expressions(state, connection);
const transport = new Transport(state, connection);
const graph = new Graph(state);
const choose = chooser(state, connection);
const readout = new TouchReadout();
const help = helpDialog();
const veil = h(
  "div",
  { class: "veil", "aria-hidden": "true" },
  h("div", {}, icon("open"), h("strong", {}, "Drop a rig or a take"), h("span", {}, "GLB, VRM, a folder of OBJs, a face file, or a Live Link CSV")),
);
const files = new Files(state, connection, veil);

function hear(message: ServerMessage): void {
  switch (message.type) {
    case "welcome":
      state.session.set(message.session);
      state.version.set(message.version);
      state.defaultBody.set(message.defaultBody);
      state.bodies.set(message.bodies);
      greet();
      break;
    case "loading":
      state.loading.set(message.name);
      break;
    case "report":
      state.report.set(message.report);
      break;
    case "build": {
      const { state: stateOfBuild, stage: stageOfBuild, fraction, seconds, worst } = message;
      state.build.set({ state: stateOfBuild, stage: stageOfBuild, fraction, seconds, worst });
      break;
    }
    case "body": {
      const { type: _, stages, ...body } = message;
      if (body.shown !== state.body.value.shown) {
        state.pace.set(null);
        state.tissue.set(null);
      }
      state.stages.set(body.shown, stages);
      state.body.set(body);
      break;
    }
    case "pace":
      state.pace.set(message);
      break;
    case "tissue":
      state.tissue.set(message);
      break;
    case "certificate":
      state.certificate.set({ holds: message.holds, reason: message.reason });
      break;
    case "gestures":
      state.gestures.set({ gestures: message.gestures, places: message.places });
      break;
    case "takes":
      state.takes.set(message.takes);
      state.take.set(message.current);
      state.playing.set(true);
      break;
    case "recording":
      state.recording.set({ state: message.state, bytes: message.bytes });
      break;
    case "anatomy":
      state.anatomy.set({ state: message.state, note: message.note });
      break;
    case "error":
      state.loading.set(null);
      state.error.set(message.message);
      break;
  }
}

/** Sends the choices of the user to a new session; held expressions follow when its scene is there. */
function greet(): void {
  sendRate(true);
  shown = SHOWN;
  const { wanted } = state.body.value;
  if (wanted !== "" && wanted !== state.defaultBody.value) connection.send({ type: "body", body: wanted });
  sendStickiness(state, connection);
  transport.resend();
  expressions.keep();
  brushwork.keep();
  if (state.materials.value !== MATERIALS) sendMaterials(state, connection);
}

/** Frames a second that the page shows, smoothed. */
let rate = 60;
let sentRate = 0;

function sendRate(always: boolean): void {
  const wanted = document.hidden ? 0 : Math.min(Math.max(Math.round(rate / 5) * 5, 20), 240);
  if (wanted === sentRate && !always) return;
  sentRate = wanted;
  connection.send({ type: "rate", hertz: wanted });
}

/** Extra sections of frames: none at first. */
const SHOWN = { rig: false, contacts: false, volume: false, lips: false, cut: null as CutPlane | null, stiffness: null as number | null };
let shown = SHOWN;

function tellShown(): void {
  const { hasVolume } = state;
  const wanted = {
    rig: state.split.value || state.overlay.value === "deviation" || pointer.isTouching,
    contacts: state.overlay.value === "force",
    volume: hasVolume && state.overlay.value === "volume",
    lips: hasVolume && state.lips.value,
    cut: stage.cutPlane,
    stiffness: state.isPaintable && state.overlay.value === "stiffness" ? state.brush.value.control : null,
  };
  if (JSON.stringify(wanted) === JSON.stringify(shown)) return;
  shown = wanted;
  if (!wanted.rig && stage.head) stage.head.hasRig = false;
  connection.send({ type: "show", ...wanted });
}

let last = performance.now();
let counted = { at: last, frames: 0, perSecond: 0 };

function loop(now: number): void {
  requestAnimationFrame(loop);
  // A headset has a pace of its own.
  if (!headset.isOn) draw(now);
}

function draw(now: number): void {
  const buffer = connection.takeFrame();
  if (buffer && stage.head) {
    frame = readFrame(buffer);
    stage.show(frame);
    latency.shown(frame.input, now);
    expressions.follow(frame.weights, now);
    transport.follow(frame);
    graph.follow(frame);
  }
  pointer.update();
  readout.update(pointer.touched, frame);
  tellShown();
  stage.render();
  stage.governor.tick(now);
  measure(now);
}

function measure(now: number): void {
  const seconds = Math.min((now - last) / 1000, 0.2);
  last = now;
  rate += 0.05 * (1 / Math.max(seconds, 1 / 240) - rate);
  if (now - counted.at > 1000) {
    counted = { at: now, frames: connection.received, perSecond: (1000 * (connection.received - counted.frames)) / (now - counted.at) };
    sendRate(false);
  }
  graph.draw(now, stage.governor.fps, counted.perSecond, latency.median);
}

document.addEventListener("visibilitychange", () => {
  stage.governor.pause();
  sendRate(true);
});

const name = h("span", { class: "name" });
state.scene.watch((scene) => {
  name.textContent = scene ? (scene.origin === "builtIn" ? "Built-in head" : scene.name) : "";
  document.title = scene && scene.origin !== "builtIn" ? `${scene.name} – zygoma` : "zygoma";
});

const body = document.body;
const viewport = h(
  "main",
  { class: "viewport" },
  stage.canvas,
  divider(state),
  toolbar(state, () => stage.frame()),
  bodySwitch(state, choose),
  h("div", { class: "cards" }, bodyBuildCard(state, connection), buildCard(state, connection)),
  welcomeCard(state, connection),
  legendBox(stage.legend, stage.cutLegend),
  readout.element,
  graph.element,
  errorBar(state),
  curtain(state),
);
stage.canvas.tabIndex = 0;
stage.canvas.setAttribute("role", "img");
stage.canvas.setAttribute("aria-label", "The face. Drag on it to press the skin.");

const physics = h(
  "aside",
  { class: "panel right", "aria-label": "Physics" },
  h(
    "div",
    { class: "scroll" },
    touchSection(state),
    handsSection(state, connection, latency, headset),
    viewSection(state),
    anatomySection(state, connection),
    tissueSection(state, connection),
    paintSection(state, brushwork),
    materialsSection(state, connection),
    dialsSection(state, connection),
    rigSection(state, connection, () => files.choose()),
  ),
);

type Side = "left" | "right";
const setFolded = (side: Side, folded: boolean) => {
  body.classList.toggle(`no-${side}`, folded);
  (side === "left" ? leftButton : rightButton).setAttribute("aria-pressed", String(!folded));
};
const narrow = matchMedia("(max-width: 900px)");
const fold = (side: Side) => {
  const folded = !body.classList.contains(`no-${side}`);
  // There is room for one.
  if (!folded && narrow.matches) setFolded(side === "left" ? "right" : "left", true);
  setFolded(side, folded);
};
const leftButton = iconButton("left", "Expressions panel", () => fold("left"), "[");
const rightButton = iconButton("right", "Physics panel", () => fold("right"), "]");
const fitPanels = () => {
  for (const side of ["left", "right"] as const) setFolded(side, narrow.matches);
};
narrow.addEventListener("change", fitPanels);
fitPanels();
state.graph.set(!narrow.matches);

document.getElementById("app")?.append(
  h(
    "header",
    { class: "bar" },
    leftButton,
    h("h1", {}, "zygoma"),
    name,
    statusChip(state),
    h("span", { class: "space" }),
    h("button", { type: "button", class: "button small open", "aria-label": "Open…", click: () => files.choose() }, icon("open"), h("span", {}, "Open…")),
    iconButton("help", "Touch and keys", () => help.showModal(), "?"),
    iconButton("theme", "Dark or light", chooseTheme()),
    rightButton,
  ),
  expressions.element,
  viewport,
  physics,
  transport.element,
  veil,
  help,
);

listenToKeys({ state, stage, transport, expressions, brushwork, help, choose, fold, time: () => frame?.takeTime ?? 0 });
new ResizeObserver(() => {
  stage.resize();
  stage.render();
}).observe(viewport);
stage.resize();
requestAnimationFrame(loop);

/** For tests and the curious. */
Object.assign(window, { zygoma: { state, stage, connection, latency, pointer, headset, frame: () => frame } });
