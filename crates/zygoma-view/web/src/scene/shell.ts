// The simulation mesh as lines on the skin.

import * as THREE from "three";
import type { Container, FaceHeader } from "../protocol";
import { LAYER } from "./occlusion";
import type { Surface } from "./surface";

/** Lines float this far above the skin, in metres, so that it does not hide them. */
const ABOVE = 0.0004;

export class Shell {
  readonly lines: THREE.LineSegments;
  private readonly corners: Uint32Array;
  private readonly shares: Float32Array;
  private readonly positions: THREE.BufferAttribute;

  constructor(container: Container<FaceHeader>) {
    const { corners, shares, edges } = container.header;
    this.corners = container.whole(corners);
    this.shares = container.floats(shares);
    const geometry = new THREE.BufferGeometry();
    this.positions = new THREE.BufferAttribute(new Float32Array(this.corners.length), 3);
    this.positions.setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute("position", this.positions);
    geometry.setIndex(new THREE.BufferAttribute(container.whole(edges), 1));
    const material = new THREE.LineBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.45 });
    this.lines = new THREE.LineSegments(geometry, material);
    this.lines.frustumCulled = false;
    this.lines.layers.set(LAYER.thin);
  }

  /** Puts the lines on a surface. */
  follow(surface: Surface): void {
    const out = this.positions.array;
    const { positions, normals } = surface;
    for (let vertex = 0; vertex < this.corners.length / 3; vertex++) {
      for (let axis = 0; axis < 3; axis++) {
        let at = 0;
        for (let i = 0; i < 3; i++) {
          const from = 3 * (this.corners[3 * vertex + i] as number) + axis;
          const share = this.shares[3 * vertex + i] as number;
          at += share * ((positions[from] as number) + ABOVE * (normals[from] as number));
        }
        out[3 * vertex + axis] = at;
      }
    }
    this.positions.needsUpdate = true;
  }

  dispose(): void {
    this.lines.geometry.dispose();
    (this.lines.material as THREE.Material).dispose();
  }
}
