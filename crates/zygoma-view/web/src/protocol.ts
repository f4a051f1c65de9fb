// Messages between server and page. The source is `src/protocol/`; a test checks that this says the same.

/** Raised whenever a message changes. */
export const VERSION = 7;

/** Kinds of binary messages. */
export const KIND = { frame: 1, scene: 2, face: 3, stiffness: 4, anatomy: 5 } as const;

/** Bits of a frame's flags. */
export const FLAG = { simulated: 1, asleep: 2, playing: 4, recording: 8 } as const;

/** Kinds of sections of a frame. */
export const SECTION = { shown: 0, rig: 1, volume: 2, cut: 3, sticky: 4, lips: 5, hand: 6 } as const;

/** Numbers per point of each kind of section. */
const WIDTHS = [3, 3, 1, 4, 3, 3, 4];

/** The unit of volume changes, and the number that means that there is no tissue. */
export const VOLUME = { step: 1e-4, none: -32768 } as const;

export type Vec3 = [number, number, number];

export type HandSide = "left" | "right";

/** A joint of a hand: position x y z, rotation x y z w. */
export type Joint = [number, number, number, number, number, number, number];

/** Messages of the page. */
export type ClientMessage =
  | { type: "rate"; hertz: number }
  | { type: "ack"; frame: number }
  | { type: "show"; rig: boolean; contacts: boolean; volume: boolean; lips: boolean; cut: CutPlane | null; stiffness: number | null }
  | { type: "body"; body: string }
  | { type: "params"; values: [string, number][] }
  | { type: "hold"; values: [number, number][] }
  | { type: "letGo"; controls: number[] | null }
  | {
      type: "transport";
      take?: number | null;
      playing?: boolean | null;
      time?: number | null;
      speed?: number | null;
      looped?: boolean | null;
      headMotion?: boolean | null;
    }
  | { type: "press"; id: number; input: number; at: Vec3; radius: number; force: number }
  | { type: "pull"; id: number; input: number; at: Vec3; to: Vec3; radius: number }
  | { type: "release"; id: number; input: number }
  | { type: "paint"; control: number; point: number; radius: number; mu: number | null; lambda: number | null; erase: boolean }
  | { type: "clearPaint"; control: number }
  | { type: "hand"; side: HandSide; input: number; space: "head" | "world"; joints: Joint[]; radii: number[] }
  | { type: "pinch"; input: number; thumb: Vec3; finger: Vec3; outward: Vec3 }
  | { type: "gesture"; gesture: string; at: string; toward: string | null; input: number }
  | { type: "handAway"; side: HandSide | null; input: number }
  | { type: "dragHead"; held: boolean; yaw: number; pitch: number; input: number }
  | { type: "dials"; seed: number; values: [string, number][]; settled: boolean }
  | { type: "open"; upload: string | null }
  | { type: "addTake"; upload: string }
  | { type: "build"; triangles: number }
  | { type: "cancelBuild" }
  | { type: "anatomy" }
  | { type: "record"; on: boolean };

/** A body that can be chosen. Frames name it by its index in the list of them. */
export interface BodyEntry {
  name: string;
  label: string;
  about: string;
  /** Whether it has a volume that can be cut open. */
  hasVolume: boolean;
  /** Whether its stiffness can be painted. */
  isPaintable: boolean;
}

/** A plane in the frame of the head. */
export interface CutPlane {
  normal: Vec3;
  height: number;
}

/** How fast a body runs. */
export interface Pace {
  /** Time to compute a frame. */
  milliseconds: number;
  /** Speed of its time; 1 is real time. */
  speed: number;
}

/** Figures of tissue. */
export interface TissueReport {
  tetrahedra: number;
  contacts: number;
  sticky: number;
  /** Deepest penetration of the lips, in metres. */
  penetration: number;
  /** Total volume over that at rest. */
  volume: number;
  /** 95th percentile of |det F − 1| over the elements. */
  change: number;
  inverted: number;
}

export type BuildState = "none" | "preview" | "running" | "ready" | "cancelled" | "failed";
export type AnatomyState = "running" | "ready" | "failed";
export type RecordingState = "running" | "writing" | "ready" | "failed";

export interface TakeEntry {
  name: string;
  duration: number;
  headMotion: boolean;
  unmatched: number;
}

/** A parameter of a body, for a slider. */
export interface ParamEntry {
  name: string;
  value: number;
  /** Its sensible values. */
  least: number;
  most: number;
  /** Whether its effect goes with its logarithm. */
  isFactor: boolean;
}

/** Messages of the server. */
export type ServerMessage =
  | { type: "welcome"; protocol: number; version: string; session: string; bodies: BodyEntry[]; defaultBody: string }
  | { type: "loading"; name: string }
  | { type: "report"; report: Report }
  | {
      type: "build";
      state: BuildState;
      stage: string;
      fraction: number | null;
      seconds: number;
      worst: number | null;
    }
  | {
      type: "body";
      shown: string;
      wanted: string;
      isTouchable: boolean;
      stages: string[];
      params: ParamEntry[];
      buildStage: string;
      fraction: number | null;
      seconds: number;
      note: string;
    }
  | ({ type: "pace" } & Pace)
  | ({ type: "tissue" } & TissueReport)
  | { type: "certificate"; holds: boolean; reason: string }
  | { type: "gestures"; gestures: string[]; places: string[] }
  | { type: "takes"; takes: TakeEntry[]; current: number }
  | { type: "recording"; state: RecordingState; seconds: number; bytes: number | null }
  | { type: "anatomy"; state: AnatomyState; note: string }
  | { type: "error"; message: string };

/** The report of `zygoma info --json`, as far as the page shows it. */
export interface Report {
  name: string;
  skin: string;
  meshes: { name: string; vertices: number; triangles: number; shapes: string[]; size: Vec3 }[];
  arkit: { count: number; of: number; missing: string[] };
  units: { metres_per_unit: number; reason: string };
  notes: string[];
  problems: string[];
}

/** Where an array lies behind a header, in bytes. */
export interface ArrayPlace {
  start: number;
  bytes: number;
}

export type Look = "skin" | "eye" | "teeth" | "gums" | "hair" | "other";

/** Consecutive triangles with one material. */
export interface SceneRange {
  start: number;
  count: number;
  material: number;
  look: Look;
}

export interface SceneMesh {
  name: string;
  look: Look;
  neutral: ArrayPlace;
  points: ArrayPlace;
  uvs: ArrayPlace | null;
  triangles: ArrayPlace;
  /** Fewer triangles over the same vertices, for slow machines. */
  coarse: { triangles: ArrayPlace; ranges: SceneRange[] } | null;
  ranges: SceneRange[];
  regions: ArrayPlace | null;
}

export interface Control {
  name: string;
  group: string;
}

export interface DialEntry {
  name: string;
  about: string;
  value: number;
}

export interface Scene {
  name: string;
  origin: "builtIn" | "rig" | "face";
  meshes: SceneMesh[];
  skin: number;
  controls: Control[];
  dials: DialEntry[];
  texture: ArrayPlace | null;
  materials: ArrayPlace | null;
  regions: string[];
  bounds: [Vec3, Vec3];
  pivot: Vec3;
  same: boolean;
}

export interface FaceHeader {
  height: number;
  shellTriangles: number;
  fitted: boolean;
  edges: ArrayPlace;
  corners: ArrayPlace;
  shares: ArrayPlace;
  strain: ArrayPlace;
  bending: ArrayPlace;
  depth: ArrayPlace;
}

/** Header of the stiffness of an expression. */
export interface StiffnessHeader {
  /** The control; −1 for the relaxed face. */
  control: number;
  /** Spots that are painted, on all expressions together. */
  spots: number;
  /** Per point of the skin, in Pa; 0 where nothing is simulated. */
  mu: ArrayPlace;
}

/** A surface of an anatomy, at rest. */
export interface AnatomyMesh {
  positions: ArrayPlace;
  triangles: ArrayPlace;
}

/** Header of an anatomy. */
export interface AnatomyHeader {
  muscle: AnatomyMesh;
  /** Points of the skin that a vertex of the muscles moves with, and their shares. */
  corners: ArrayPlace;
  shares: ArrayPlace;
  cranium: AnatomyMesh;
  mandible: AnatomyMesh;
  /** The middle between the condyles. */
  joint: Vec3;
  /** Poses of the jaw at full weight: a turn about the joint, as axis times angle, and the joint's way. */
  jaw: { control: number; turn: Vec3; glide: Vec3 }[];
}

/** A header with its arrays. */
export class Container<Header> {
  readonly header: Header;
  private readonly arrays: number;

  constructor(private readonly buffer: ArrayBuffer) {
    const length = new DataView(buffer).getUint32(4, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length))) as Header;
    this.arrays = 8 + length;
  }

  floats(place: ArrayPlace): Float32Array<ArrayBuffer> {
    return new Float32Array(this.buffer, this.arrays + place.start, place.bytes / 4);
  }

  whole(place: ArrayPlace): Uint32Array<ArrayBuffer> {
    return new Uint32Array(this.buffer, this.arrays + place.start, place.bytes / 4);
  }

  bytes(place: ArrayPlace): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.buffer, this.arrays + place.start, place.bytes);
  }
}

export interface TouchReport {
  id: number;
  place: Vec3;
  force: Vec3;
  depth: number;
}

export interface Section {
  mesh: number;
  kind: number;
  scale: number;
  /** Three per point of a surface; `src/frame.rs` describes the others. */
  numbers: Int16Array<ArrayBuffer>;
}

/** One frame; its arrays are views of the message. The layout is described in `src/frame.rs`. */
export interface Frame {
  number: number;
  input: number;
  flags: number;
  /** Index of the body among those that the server has. */
  body: number;
  faceTime: number;
  takeTime: number;
  /** Rotation x y z w, translation x y z. */
  pose: Float32Array<ArrayBuffer>;
  /** Milliseconds of encoding. */
  encoding: number;
  /** Milliseconds of each stage of the body. */
  stages: Float32Array<ArrayBuffer>;
  weights: Float32Array<ArrayBuffer>;
  touches: TouchReport[];
  contacts: { point: number; force: number }[];
  sections: Section[];
}

export function readFrame(buffer: ArrayBuffer): Frame {
  const view = new DataView(buffer);
  const whole = (word: number) => view.getUint32(4 * word, true);
  const float = (word: number) => view.getFloat32(4 * word, true);
  const vector = (word: number): Vec3 => [float(word), float(word + 1), float(word + 2)];
  const counts = { stages: whole(15), weights: whole(16), touches: whole(17), contacts: whole(18), sections: whole(19) };
  let word = 20;
  const stages = new Float32Array(buffer, 4 * word, counts.stages);
  word += counts.stages;
  const weights = new Float32Array(buffer, 4 * word, counts.weights);
  word += counts.weights;
  const touches: TouchReport[] = [];
  for (let i = 0; i < counts.touches; i++, word += 8) {
    touches.push({
      id: whole(word),
      place: vector(word + 1),
      force: vector(word + 4),
      depth: float(word + 7),
    });
  }
  const contacts: Frame["contacts"] = [];
  for (let i = 0; i < counts.contacts; i++, word += 2) {
    contacts.push({ point: whole(word), force: float(word + 1) });
  }
  const sections: Section[] = [];
  for (let i = 0; i < counts.sections; i++) {
    const points = whole(word + 2);
    const kind = whole(word + 1);
    const count = (WIDTHS[kind] ?? 0) * points;
    const numbers = new Int16Array(buffer, 4 * (word + 4), count);
    sections.push({ mesh: whole(word), kind, scale: float(word + 3), numbers });
    word += 4 + Math.ceil(count / 2);
  }
  return {
    number: whole(1),
    input: whole(2),
    flags: whole(3),
    body: whole(4),
    faceTime: float(5),
    takeTime: float(6),
    pose: new Float32Array(buffer, 4 * 7, 7),
    encoding: float(14),
    stages,
    weights,
    touches,
    contacts,
    sections,
  };
}
