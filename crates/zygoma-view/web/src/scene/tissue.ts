// The inside of tissue: sections by a plane, and springs and contacts between the lips.

import * as THREE from "three";
import { type Frame, type Section, SECTION, VOLUME } from "../protocol";
import type { Axis, Cut } from "../state";
import { writeChange } from "./colors";
import type { Head } from "./head";
import { LAYER } from "./occlusion";
import { LARGEST_CHANGE } from "./overlay";
import type { Hit } from "./surface";

/** The head is clipped this far in front of the cut, in metres, so that it does not flicker through. */
const IN_FRONT = 0.0002;

/** The inside of skin, where there is no tissue. */
const INSIDE = 0x4a2724;

/** Springs and contacts. */
const [SPRING, CONTACT] = [0xffd23f, 0x35e0c8];

const AXES: Record<Axis, THREE.Vector3> = {
  x: new THREE.Vector3(1, 0, 0),
  y: new THREE.Vector3(0, 1, 0),
  z: new THREE.Vector3(0, 0, 1),
};

/** A buffer whose length changes from frame to frame. */
class GrowingBuffer {
  private array = new Float32Array(0);

  constructor(
    private readonly geometry: THREE.BufferGeometry,
    private readonly name: string,
  ) {}

  /** Makes room for some points, and draws no others. */
  room(points: number): Float32Array {
    if (this.array.length < 3 * points || !this.geometry.getAttribute(this.name)) {
      this.array = new Float32Array(3 * Math.max(64, 2 * points));
      // The renderer frees the buffers of the old one when the geometry is disposed of.
      this.geometry.dispose();
      this.geometry.setAttribute(this.name, new THREE.BufferAttribute(this.array, 3).setUsage(THREE.DynamicDrawUsage));
    }
    this.geometry.setDrawRange(0, points);
    (this.geometry.getAttribute(this.name) as THREE.BufferAttribute).needsUpdate = true;
    return this.array;
  }
}

/** Points or lines at places that frames bring. */
class Places<Shape extends THREE.Points | THREE.LineSegments> {
  private readonly positions: GrowingBuffer;

  constructor(readonly shape: Shape) {
    this.positions = new GrowingBuffer(shape.geometry, "position");
    shape.frustumCulled = false;
    shape.visible = false;
    shape.layers.set(LAYER.thin);
    // Over everything: closed lips would hide it.
    shape.renderOrder = 10;
  }

  show(section: Section | undefined): void {
    const { numbers, scale } = section ?? { numbers: [], scale: 0 };
    const out = this.positions.room(numbers.length / 3);
    for (let i = 0; i < numbers.length; i++) out[i] = scale * (numbers[i] as number);
    this.shape.visible = numbers.length > 0;
  }
}

export class TissueView {
  /** Goes into the head's group. */
  readonly group = new THREE.Group();
  /** Clipping planes in the world, while the head is cut. */
  readonly clipping: THREE.Plane[] = [];
  /** The same in the frame of the head; its normal points to the side that is kept. */
  kept: THREE.Plane | null = null;
  /** Triangles of the cut that is shown. */
  triangles = 0;
  private readonly geometry = new THREE.BufferGeometry();
  private readonly corners = new GrowingBuffer(this.geometry, "position");
  private readonly colors = new GrowingBuffer(this.geometry, "color");
  private readonly face: THREE.Mesh;
  private readonly inside = new THREE.MeshLambertMaterial({ color: INSIDE, side: THREE.BackSide });
  private readonly springs: Places<THREE.LineSegments>;
  private readonly contacts: Places<THREE.Points>;
  private lining: THREE.Mesh | null = null;

  constructor() {
    const material = new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide, toneMapped: false });
    this.face = new THREE.Mesh(this.geometry, material);
    this.face.frustumCulled = false;
    this.face.visible = false;
    const over = { depthTest: false, transparent: true, toneMapped: false };
    this.springs = new Places(new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: SPRING, ...over })));
    this.contacts = new Places(
      new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ color: CONTACT, size: 3, sizeAttenuation: false, ...over })),
    );
    this.group.add(this.face, this.springs.shape, this.contacts.shape);
  }

  /** Belongs to another head from now on. */
  enter(head: Head): void {
    this.lining?.removeFromParent();
    this.lining = new THREE.Mesh(head.skin.geometry, this.inside);
    this.lining.frustumCulled = false;
    this.lining.visible = false;
    head.group.add(this.group, this.lining);
    this.show(null);
  }

  /** Shows the sections of a frame. */
  show(frame: Frame | null): void {
    const find = (wanted: number) => frame?.sections.find(({ kind }) => kind === wanted);
    this.springs.show(find(SECTION.sticky));
    this.contacts.show(find(SECTION.lips));
    const cut = find(SECTION.cut);
    const { numbers, scale } = cut ?? { numbers: [], scale: 0 };
    const points = numbers.length / 4;
    const [places, colors] = [this.corners.room(points), this.colors.room(points)];
    for (let point = 0; point < points; point++) {
      for (let k = 0; k < 3; k++) places[3 * point + k] = scale * (numbers[4 * point + k] as number);
      writeChange((VOLUME.step * (numbers[4 * point + 3] as number)) / LARGEST_CHANGE, colors, 3 * point);
    }
    this.triangles = points / 3;
    this.face.visible = cut !== undefined;
    if (this.lining) this.lining.visible = cut !== undefined;
  }

  /** Cuts the head away on the side of the camera, as long as there is a cut to look at. */
  clip(head: Head, cut: Cut, camera: THREE.Camera): void {
    this.clipping.length = 0;
    this.kept = null;
    if (!this.face.visible) return;
    const { normal, height } = planeOf(head, cut);
    const eye = head.group.worldToLocal(camera.position.clone());
    const towards = eye.dot(normal) >= height ? 1 : -1;
    this.kept = new THREE.Plane(normal.clone().multiplyScalar(-towards), towards * height);
    const drawn = new THREE.Plane(this.kept.normal, this.kept.constant + IN_FRONT);
    this.clipping.push(drawn.applyMatrix4(head.group.matrixWorld));
  }
}

/** The plane of a cut in the frame of a head. */
export function planeOf(head: Head, cut: Cut): { normal: THREE.Vector3; height: number } {
  const normal = AXES[cut.axis];
  const [low, high] = extent(head, normal);
  return { normal, height: low + cut.position * (high - low) };
}

/** A cut through a place of the skin. A new one goes across the axis for which it meets the skin most squarely: it shows how thick the
 * tissue is there. */
export function cutThrough(head: Head, place: Hit, cut: Cut): Cut {
  const slant = (axis: Axis) => Math.abs(AXES[axis].dot(place.normal));
  const squarest = (["x", "y", "z"] as const).reduce((best, axis) => (slant(axis) < slant(best) ? axis : best));
  const axis = cut.on ? cut.axis : squarest;
  const [low, high] = extent(head, AXES[axis]);
  const position = (place.point.dot(AXES[axis]) - low) / (high - low);
  return { on: true, axis, position: Math.min(Math.max(position, 0), 1) };
}

function extent(head: Head, axis: THREE.Vector3): [number, number] {
  return head.scene.bounds.map((corner) => axis.dot(new THREE.Vector3(...corner))) as [number, number];
}
