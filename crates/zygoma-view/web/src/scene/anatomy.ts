// Muscles and bones under the skin, which fades to show them.

import * as THREE from "three";
import type { AnatomyHeader, AnatomyMesh, Container, Frame, Look } from "../protocol";
import type { Surface } from "./surface";

/** How opaque skin and muscles are; the skull always is. */
export interface Layers {
  skin: number;
  muscle: number;
}

export const ALL_SKIN: Layers = { skin: 1, muscle: 1 };

/** The layers at a depth: 0 is the skin, 0.5 the muscles, 1 the skull. */
export function layersAt(depth: number): Layers {
  const between = (value: number) => Math.min(Math.max(value, 0), 1);
  return { skin: between(1 - 2 * depth), muscle: between(2 - 2 * depth) };
}

/** How opaque things of a look are: hair goes with the skin, gums and tongue with the muscles, eyes and teeth stay. */
export function opacityOf(look: Look, { skin, muscle }: Layers): number {
  switch (look) {
    case "eye":
    case "teeth":
      return 1;
    case "gums":
      return muscle;
    default:
      return skin;
  }
}

const MUSCLE = { color: 0x9c3b36, roughness: 0.42, clearcoat: 0.35, clearcoatRoughness: 0.4 };
const BONE = { color: 0xe6dcc4, roughness: 0.6 };

export class AnatomyView {
  /** Goes into the head's group. */
  readonly group = new THREE.Group();
  readonly mandible: THREE.Mesh;
  readonly muscle: THREE.Mesh;
  private readonly material = new THREE.MeshPhysicalMaterial(MUSCLE);
  private readonly bone = new THREE.MeshPhysicalMaterial(BONE);
  private readonly header: AnatomyHeader;
  private readonly rest: Float32Array;
  private readonly corners: Uint32Array;
  private readonly shares: Float32Array;

  constructor(container: Container<AnatomyHeader>) {
    const { header } = container;
    this.header = header;
    const mesh = (own: AnatomyMesh, material: THREE.Material) => {
      const geometry = new THREE.BufferGeometry();
      // The muscles move; the message stays as it is.
      geometry.setAttribute("position", new THREE.BufferAttribute(container.floats(own.positions).slice(), 3));
      geometry.setIndex(new THREE.BufferAttribute(container.whole(own.triangles), 1));
      geometry.computeVertexNormals();
      const made = new THREE.Mesh(geometry, material);
      made.frustumCulled = false;
      made.receiveShadow = true;
      return made;
    };
    this.muscle = mesh(header.muscle, this.material);
    this.mandible = mesh(header.mandible, this.bone);
    this.group.add(mesh(header.cranium, this.bone), this.mandible, this.muscle);
    this.rest = container.floats(header.muscle.positions);
    this.corners = container.whole(header.corners);
    this.shares = container.floats(header.shares);
    this.fade(ALL_SKIN);
  }

  /** Shows as much of the layers as can be seen. */
  fade({ skin, muscle }: Layers): void {
    this.group.visible = skin < 1;
    this.muscle.visible = muscle > 0;
    if (this.material.transparent !== muscle < 1) this.material.needsUpdate = true;
    this.material.transparent = muscle < 1;
    this.material.opacity = muscle;
  }

  /** Moves the muscles with the skin, and the jaw as the controls of a frame say. */
  follow(frame: Frame, skin: Surface): void {
    this.followSkin(skin);
    const turn = new THREE.Vector3();
    const glide = new THREE.Vector3();
    for (const { control, turn: own, glide: way } of this.header.jaw) {
      const weight = frame.weights[control] ?? 0;
      turn.addScaledVector(new THREE.Vector3(...own), weight);
      glide.addScaledVector(new THREE.Vector3(...way), weight);
    }
    const joint = new THREE.Vector3(...this.header.joint);
    const angle = turn.length();
    this.mandible.quaternion.setFromAxisAngle(angle > 0 ? turn.divideScalar(angle) : new THREE.Vector3(1, 0, 0), angle);
    this.mandible.position.copy(joint).add(glide).sub(joint.applyQuaternion(this.mandible.quaternion));
  }

  private followSkin(skin: Surface): void {
    const position = this.muscle.geometry.getAttribute("position") as THREE.BufferAttribute;
    const out = position.array;
    const { positions, neutral } = skin;
    for (let i = 0; i < this.corners.length; i += 3) {
      for (let axis = 0; axis < 3; axis++) {
        let moved = 0;
        for (let k = 0; k < 3; k++) {
          const from = 3 * (this.corners[i + k] as number) + axis;
          moved += (this.shares[i + k] as number) * ((positions[from] as number) - (neutral[from] as number));
        }
        out[i + axis] = (this.rest[i + axis] as number) + moved;
      }
    }
    position.needsUpdate = true;
    this.muscle.geometry.computeVertexNormals();
  }

  dispose(): void {
    this.group.traverse((object) => {
      if (object instanceof THREE.Mesh) (object.geometry as THREE.BufferGeometry).dispose();
    });
    this.material.dispose();
    this.bone.dispose();
  }
}
