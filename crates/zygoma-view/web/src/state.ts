// The state of the page and the choices of the user, in one place. Panels watch it; nothing else is shared.

import type { AnatomyState, BodyEntry, BuildState, DialEntry, FaceHeader, Pace, ParamEntry, RecordingState, Report, Scene, TakeEntry, TissueReport } from "./protocol";
import { Signal } from "./signal";

/** Tools for dragging on the face. */
export type Tool = "press" | "pull" | "shake" | "orbit" | "paint";

/** Quantities that colour the skin. */
export type Overlay = "none" | "strain" | "bending" | "depth" | "deviation" | "force" | "volume" | "stiffness";

/** "foreign": another launch of zygoma is at this address, which does not know this page. */
export type Link = "connecting" | "open" | "lost" | "foreign";

export interface Build {
  state: BuildState;
  stage: string;
  fraction: number | null;
  seconds: number;
  worst: number | null;
}

/** The body that is shown, the one that was asked for, and the progress of its build. */
export interface ShownBody {
  shown: string;
  /** Empty until the server or the user has chosen one. */
  wanted: string;
  isTouchable: boolean;
  params: ParamEntry[];
  buildStage: string;
  fraction: number | null;
  seconds: number;
  note: string;
}

const NO_BODY = { shown: "", isTouchable: false, params: [], buildStage: "", fraction: null, seconds: 0, note: "" };

export type Axis = "x" | "y" | "z";

/** A cut through the tissue, across an axis of the head. */
export interface Cut {
  on: boolean;
  axis: Axis;
  /** Its position along the axis: 0 at one end of the head, 1 at the other. */
  position: number;
}

/** Parameters of bodies that the user has set, by name, and gravity. */
export interface Materials {
  values: Record<string, number>;
  /** m/s². */
  gravity: number;
  /** Where gravity points: degrees from straight down, towards the character's left and towards the front. */
  side: number;
  front: number;
}

export const MATERIALS: Materials = { values: {}, gravity: 9.81, side: 0, front: 0 };

/** The control of the relaxed face. */
export const RELAXED = -1;

/** The brush that paints stiffness. */
export interface Brush {
  /** The control whose material is painted. */
  control: number;
  /** In kPa. */
  mu: number;
  /** In kPa; null to leave it as it is. */
  lambda: number | null;
  /** Distance along the skin at which half of the paint is left, in metres. */
  radius: number;
  erases: boolean;
}

/** The anatomy under the skin: "none" until it is asked for. */
export interface Anatomy {
  state: AnatomyState | "none";
  note: string;
}

export const NO_ANATOMY: Anatomy = { state: "none", note: "" };

export interface Recording {
  state: RecordingState | "none";
  bytes: number | null;
}

export class State {
  readonly link = new Signal<Link>("connecting");
  readonly version = new Signal("");
  /** Part of the addresses of uploads and downloads. */
  readonly session = new Signal("");
  /** The name of the file that is being read. */
  readonly loading = new Signal<string | null>(null);
  /** Progress of sending many files. */
  readonly loadingNote = new Signal("");
  readonly error = new Signal<string | null>(null);

  readonly scene = new Signal<Scene | null>(null);
  readonly face = new Signal<FaceHeader | null>(null);
  readonly report = new Signal<Report | null>(null);
  readonly dials = new Signal<DialEntry[]>([]);
  readonly build = new Signal<Build>({ state: "none", stage: "", fraction: null, seconds: 0, worst: null });
  readonly certificate = new Signal<{ holds: boolean; reason: string } | null>(null);
  readonly recording = new Signal<Recording>({ state: "none", bytes: null });

  /** Bodies to choose from, and the one that is shown unless another is asked for. */
  readonly bodies = new Signal<BodyEntry[]>([]);
  readonly defaultBody = new Signal("");
  readonly body = new Signal<ShownBody>({ ...NO_BODY, wanted: new URLSearchParams(location.search).get("body") ?? "" });
  /** Names of the stages of each body's frames, by its name. */
  readonly stages = new Map<string, string[]>();
  readonly pace = new Signal<Pace | null>(null);
  readonly tissue = new Signal<TissueReport | null>(null);
  /** Whether lips stick, and how strongly compared with the usual. */
  readonly sticky = new Signal({ on: false, strength: 1 });
  readonly cut = new Signal<Cut>({ on: false, axis: "x", position: 0.5 });
  /** Whether sticky springs and contacts of the lips are drawn. */
  readonly lips = new Signal(false);

  /** Gestures that hands can play, and places of the face for them. */
  readonly gestures = new Signal<{ gestures: string[]; places: string[] }>({ gestures: [], places: [] });

  readonly takes = new Signal<TakeEntry[]>([]);
  readonly take = new Signal(-1);
  readonly playing = new Signal(true);
  readonly looped = new Signal(true);
  readonly speed = new Signal(1);
  readonly headMotion = new Signal(true);

  readonly tool = new Signal<Tool>("press");
  /** Of the fingertip, in metres. */
  readonly radius = new Signal(0.01);
  /** Largest force of the fingertip, N. */
  readonly force = new Signal(1.5);
  /** Depth of the fingertip in the skin, in metres. */
  readonly depth = new Signal(0.008);

  readonly brush = new Signal<Brush>({ control: RELAXED, mu: 20, lambda: null, radius: 0.01, erases: false });
  /** Spots that are painted. */
  readonly spots = new Signal(0);

  readonly anatomy = new Signal<Anatomy>(NO_ANATOMY);
  /** How deep the picture looks: 0 shows the skin, 0.5 the muscles, 1 the skull. */
  readonly layer = new Signal(0);

  readonly overlay = new Signal<Overlay>("none");
  readonly wireframe = new Signal(false);
  readonly split = new Signal(false);
  /** Position of the divider of the split view, 0 to 1. */
  readonly divider = new Signal(0.5);
  readonly texture = new Signal(true);
  readonly graph = new Signal(true);
  readonly materials = new Signal<Materials>(MATERIALS);

  /** Whether the body that is shown has a volume that can be cut open. */
  get hasVolume(): boolean {
    return this.bodies.value.some(({ name, hasVolume }) => hasVolume && name === this.body.value.shown);
  }

  /** Whether the stiffness of the body that is shown can be painted. */
  get isPaintable(): boolean {
    return this.bodies.value.some(({ name, isPaintable }) => isPaintable && name === this.body.value.shown);
  }
}

/** Keeps the chosen body in the address, so that it survives a reload and can be passed on. */
export function keepInAddress(body: string, defaultBody: string): void {
  const address = new URL(location.href);
  if (body === defaultBody) address.searchParams.delete("body");
  else address.searchParams.set("body", body);
  history.replaceState(null, "", address);
}
