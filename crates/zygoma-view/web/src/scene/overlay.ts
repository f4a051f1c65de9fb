// The skin coloured by a quantity.

import * as THREE from "three";
import type { Container, FaceHeader, Frame, StiffnessHeader } from "../protocol";
import { FLAG, SECTION, VOLUME } from "../protocol";
import type { Overlay } from "../state";
import { NOTHING, writeChange, writeColor } from "./colors";
import type { Head } from "./head";
import { fading } from "./skin";

export interface Legend {
  title: string;
  low: string;
  high: string;
  note: string;
  /** Whether the middle of the scale is no change. */
  signed?: boolean;
}

/** Fields of a face, one number per point; negative where nothing is simulated. */
interface Fields {
  strain: Float32Array;
  bending: Float32Array;
  depth: Float32Array;
}

/** Deviations above this are shown as this, in metres. */
const LARGEST_DEVIATION = 0.006;

/** Volume changes beyond this are shown as this: |det F − 1|. */
export const LARGEST_CHANGE = 0.2;

/** The legend of volume changes. */
export const VOLUME_LEGEND: Legend = {
  title: "Volume change",
  low: `−${100 * LARGEST_CHANGE} %`,
  high: `+${100 * LARGEST_CHANGE} %`,
  note: "shrinks | grows",
  signed: true,
};

/** The softest and the stiffest material, in Pa. */
const MATERIALS: [number, number] = [1e3, 5e4];

/** Forces above this are shown as this, in newtons per point. */
const LARGEST_FORCE = 0.15;

export class Overlays {
  private fields: Fields | null = null;
  private which: Overlay = "none";
  private range: [number, number] = [0, 1];
  private readonly colors: THREE.BufferAttribute;
  private readonly material = fading(new THREE.MeshLambertMaterial({ vertexColors: true }));
  private values: Float32Array<ArrayBuffer>;
  private stiffness: Float32Array | null = null;

  constructor(private readonly head: Head) {
    const { pointOfVertex, geometry, count } = head.skin;
    this.colors = new THREE.BufferAttribute(new Float32Array(3 * pointOfVertex.length), 3);
    this.colors.setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute("color", this.colors);
    this.values = new Float32Array(count);
  }

  setFace(container: Container<FaceHeader>): void {
    const { strain, bending, depth } = container.header;
    this.fields = {
      strain: container.floats(strain),
      bending: container.floats(bending),
      depth: container.floats(depth),
    };
    this.choose(this.which);
  }

  setStiffness(container: Container<StiffnessHeader>): void {
    // Nothing is simulated where it is 0.
    this.stiffness = container.floats(container.header.mu).map((mu) => (mu > 0 ? mu : -1));
    if (this.which === "stiffness") this.paint();
  }

  /** The stiffness at a point, in Pa. */
  stiffnessAt(point: number): number {
    return Math.max(0, this.stiffness?.[point] ?? 0);
  }

  /** How far a point can be pushed in. */
  depthAt(point: number): number {
    return Math.max(0, this.fields?.depth[point] ?? 0);
  }

  /** Colours by a quantity and shows a legend. */
  choose(which: Overlay): Legend | null {
    this.which = which;
    if (which === "none") return null;
    this.head.skinMesh.material = this.material;
    const legend = this.legend();
    this.paint();
    return legend;
  }

  private legend(): Legend | null {
    switch (this.which) {
      case "strain":
      case "bending": {
        const [low, high] = this.span(this.fields?.[this.which]);
        // Stiffness spans orders of magnitude.
        this.range = [Math.log(Math.max(low, 1e-6)), Math.log(Math.max(high, 2e-6))];
        const title = this.which === "strain" ? "Stretching stiffness" : "Bending stiffness";
        return { title, low: newtons(low), high: newtons(high), note: "logarithmic" };
      }
      case "depth": {
        const [, high] = this.span(this.fields?.depth);
        this.range = [0, high];
        return { title: "Largest depth", low: "0 mm", high: millimetres(high), note: "pressed in" };
      }
      case "deviation":
        this.range = [0, LARGEST_DEVIATION];
        return { title: "Deviation from the rig", low: "0 mm", high: `${millimetres(LARGEST_DEVIATION)} +`, note: "live" };
      case "force":
        this.range = [0, LARGEST_FORCE];
        return { title: "Contact force", low: "0 N", high: `${LARGEST_FORCE} N +`, note: "per point, live" };
      case "volume":
        return VOLUME_LEGEND;
      case "stiffness": {
        const [low, high] = MATERIALS;
        this.range = [Math.log(low), Math.log(high)];
        return { title: "Stiffness μ", low: "1 kPa", high: "50 kPa", note: "logarithmic" };
      }
      default:
        return null;
    }
  }

  /** The range of a field without its extremes. */
  private span(field: Float32Array | undefined): [number, number] {
    const values = Array.from(field ?? []).filter((value) => value >= 0).sort((a, b) => a - b);
    const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? 0;
    return [at(0.01), at(0.99)];
  }

  /** Follows what a frame brings. */
  update(frame: Frame): void {
    if (this.which === "deviation") {
      const [shown, rig] = [this.head.skin.positions, this.head.rig.positions];
      const measured = this.head.hasRig && (frame.flags & FLAG.simulated) !== 0;
      for (let point = 0, i = 0; point < this.values.length; point++, i += 3) {
        const x = (shown[i] as number) - (rig[i] as number);
        const y = (shown[i + 1] as number) - (rig[i + 1] as number);
        const z = (shown[i + 2] as number) - (rig[i + 2] as number);
        this.values[point] = measured ? Math.sqrt(x * x + y * y + z * z) : 0;
      }
    } else if (this.which === "force") {
      // Forces fade within a few frames, so that a short poke is seen.
      for (let point = 0; point < this.values.length; point++) this.values[point] = 0.7 * (this.values[point] as number);
      for (const { point, force } of frame.contacts) {
        if (point < this.values.length) this.values[point] = Math.max(this.values[point] as number, force);
      }
    } else if (this.which === "volume") {
      const section = frame.sections.find(({ kind }) => kind === SECTION.volume);
      for (let point = 0; point < this.values.length; point++) {
        const number = section?.numbers[point] ?? VOLUME.none;
        this.values[point] = number === VOLUME.none ? Number.NaN : VOLUME.step * number;
      }
    } else {
      return;
    }
    this.paint();
  }

  /** The numbers that colour the points. */
  private field(): Float32Array | null | undefined {
    switch (this.which) {
      case "strain":
      case "bending":
      case "depth":
        return this.fields?.[this.which];
      case "stiffness":
        return this.stiffness;
      default:
        return this.values;
    }
  }

  private paint(): void {
    if (this.which === "volume") {
      this.paintChanges();
      return;
    }
    const field = this.field();
    const logarithmic = this.which === "strain" || this.which === "bending" || this.which === "stiffness";
    const [low, high] = this.range;
    const scale = 1 / Math.max(high - low, 1e-9);
    const out = this.colors.array as Float32Array;
    const { pointOfVertex } = this.head.skin;
    for (let vertex = 0; vertex < pointOfVertex.length; vertex++) {
      const value = field?.[pointOfVertex[vertex] as number] ?? -1;
      if (value < 0) out.set(NOTHING, 3 * vertex);
      else writeColor(((logarithmic ? Math.log(Math.max(value, 1e-9)) : value) - low) * scale, out, 3 * vertex);
    }
    this.colors.needsUpdate = true;
  }

  private paintChanges(): void {
    const out = this.colors.array as Float32Array;
    const { pointOfVertex } = this.head.skin;
    for (let vertex = 0; vertex < pointOfVertex.length; vertex++) {
      const change = this.values[pointOfVertex[vertex] as number] as number;
      if (Number.isNaN(change)) out.set(NOTHING, 3 * vertex);
      else writeChange(change / LARGEST_CHANGE, out, 3 * vertex);
    }
    this.colors.needsUpdate = true;
  }

  dispose(): void {
    this.material.dispose();
  }
}

function newtons(value: number): string {
  return `${Number(value.toPrecision(2))} N/m`;
}

function millimetres(metres: number): string {
  return `${Number((1000 * metres).toPrecision(2))} mm`;
}
