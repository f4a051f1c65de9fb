// What the page knows and what the user has chosen, in one place. Panels watch it; nothing else is shared.

import type { Body, BuildState, DialEntry, FaceHeader, FleshReport, RecordingState, Report, Scene, TakeEntry } from "./protocol";
import { Signal } from "./signal";

/** What a drag on the face does. */
export type Tool = "press" | "pull" | "shake" | "orbit";

/** What the skin is coloured by. */
export type Overlay = "none" | "strain" | "bending" | "depth" | "deviation" | "force" | "volume";

/** "foreign": another launch of zygoma is at this address, which does not know this page. */
export type Link = "connecting" | "open" | "lost" | "foreign";

export interface Build {
  state: BuildState;
  stage: string;
  share: number | null;
  seconds: number;
  worst: number | null;
}

/** What the face is made of, and what is being made. */
export interface Made {
  shown: Body;
  wanted: Body;
  stage: string;
  share: number | null;
  seconds: number;
  note: string;
}

export type Axis = "x" | "y" | "z";

/** A cut through the flesh, across an axis of the head. */
export interface Cut {
  on: boolean;
  axis: Axis;
  /** Where it is, as a share of the head's extent. */
  share: number;
}

export interface Materials {
  stiffness: number;
  density: number;
  damping: number;
  /** m/s². */
  gravity: number;
  /** Where gravity points: degrees from straight down, towards the character's left and towards the front. */
  side: number;
  front: number;
}

export const MATERIALS: Materials = { stiffness: 1, density: 1, damping: 1, gravity: 9.81, side: 0, front: 0 };

export interface Recording {
  state: RecordingState | "none";
  bytes: number | null;
}

export class State {
  readonly link = new Signal<Link>("connecting");
  readonly version = new Signal("");
  /** Part of the addresses of uploads and downloads. */
  readonly session = new Signal("");
  /** What is being read, while it is. */
  readonly loading = new Signal<string | null>(null);
  /** How far the sending of many files has come. */
  readonly loadingNote = new Signal("");
  readonly error = new Signal<string | null>(null);

  readonly scene = new Signal<Scene | null>(null);
  readonly face = new Signal<FaceHeader | null>(null);
  readonly report = new Signal<Report | null>(null);
  readonly dials = new Signal<DialEntry[]>([]);
  readonly build = new Signal<Build>({ state: "none", stage: "", share: null, seconds: 0, worst: null });
  readonly certificate = new Signal<{ holds: boolean; reason: string } | null>(null);
  readonly recording = new Signal<Recording>({ state: "none", bytes: null });

  readonly body = new Signal<Made>({ shown: "rig", wanted: bodyOfAddress(), stage: "", share: null, seconds: 0, note: "" });
  readonly flesh = new Signal<FleshReport | null>(null);
  /** Whether lips stick, and how strongly over the usual. */
  readonly sticky = new Signal({ on: false, strength: 1 });
  readonly cut = new Signal<Cut>({ on: false, axis: "x", share: 0.5 });
  /** Whether sticky springs and contacts of the lips are drawn. */
  readonly lips = new Signal(false);

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
  /** How deep the fingertip goes, in metres. */
  readonly depth = new Signal(0.008);

  readonly overlay = new Signal<Overlay>("none");
  readonly wireframe = new Signal(false);
  readonly split = new Signal(false);
  /** Where the divider of the split view is, 0 to 1. */
  readonly divider = new Signal(0.5);
  readonly texture = new Signal(true);
  readonly graph = new Signal(true);
  readonly materials = new Signal<Materials>(MATERIALS);
}

/** What the address asks for: `?body=tissue`. */
function bodyOfAddress(): Body {
  const asked = new URLSearchParams(location.search).get("body");
  return asked === "rig" || asked === "tissue" ? asked : "shell";
}

/** Lets the address ask for what was chosen, so that it can be kept and passed on. */
export function keepInAddress(body: Body): void {
  const address = new URL(location.href);
  if (body === "shell") address.searchParams.delete("body");
  else address.searchParams.set("body", body);
  history.replaceState(null, "", address);
}
