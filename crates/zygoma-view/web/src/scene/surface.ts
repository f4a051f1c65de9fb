// A mesh whose points move every frame.

import * as THREE from "three";
import { MeshBVH } from "three-mesh-bvh";
import type { Container, Scene, SceneMesh, SceneRange, Section } from "../protocol";

export interface Hit {
  /** In the frame of the head. */
  point: THREE.Vector3;
  /** Smooth normal. */
  normal: THREE.Vector3;
  /** The nearest corner of the triangle that was hit. */
  nearest: number;
  /** Whether the ray met the surface from within. */
  isInside: boolean;
}

/** Triangles of a mesh that are drawn, in runs of one material each. */
interface Triangles {
  index: THREE.BufferAttribute;
  ranges: SceneRange[];
}

/** Where points are, and the normals there. */
class Points {
  readonly positions: Float32Array<ArrayBuffer>;
  readonly normals: Float32Array<ArrayBuffer>;

  constructor(neutral: Float32Array) {
    this.positions = new Float32Array(neutral);
    this.normals = new Float32Array(neutral.length);
  }
}

export class Surface {
  readonly geometry = new THREE.BufferGeometry();
  readonly count: number;
  readonly neutral: Float32Array;
  /** Point of each vertex. */
  readonly pointOfVertex: Uint32Array;
  /** Triangles over points. */
  readonly corners: Uint32Array<ArrayBuffer>;
  private readonly points: Points;
  private readonly whole: Triangles;
  private coarse: Triangles | null = null;
  private tree: MeshBVH | null = null;
  private treeIsOld = true;

  constructor(mesh: SceneMesh, container: Container<Scene>) {
    this.neutral = container.floats(mesh.neutral);
    this.count = this.neutral.length / 3;
    this.pointOfVertex = container.whole(mesh.points);
    const triangles = container.whole(mesh.triangles);
    this.corners = triangles.map((vertex) => this.pointOfVertex[vertex] ?? 0);
    this.points = new Points(this.neutral);
    const vertices = this.pointOfVertex.length;
    const dynamic = () => new THREE.BufferAttribute(new Float32Array(3 * vertices), 3).setUsage(THREE.DynamicDrawUsage);
    this.geometry.setAttribute("position", dynamic());
    this.geometry.setAttribute("normal", dynamic());
    if (mesh.uvs) this.geometry.setAttribute("uv", new THREE.BufferAttribute(container.floats(mesh.uvs), 2));
    this.whole = { index: new THREE.BufferAttribute(triangles, 1), ranges: mesh.ranges };
    if (mesh.coarse) {
      const index = new THREE.BufferAttribute(container.whole(mesh.coarse.triangles), 1);
      this.coarse = { index, ranges: mesh.coarse.ranges };
    }
    this.simplify(false);
    this.refresh();
  }

  /** Draws fewer triangles, if there are such. */
  simplify(on: boolean): void {
    const { index, ranges } = on && this.coarse ? this.coarse : this.whole;
    this.geometry.setIndex(index);
    this.geometry.clearGroups();
    if (ranges.length > 1) ranges.forEach(({ start, count }, group) => this.geometry.addGroup(3 * start, 3 * count, group));
  }

  /** Another version of the same mesh has the same triangles. */
  takeOver(before: Surface | undefined): void {
    if (before?.pointOfVertex.length === this.pointOfVertex.length) this.coarse ??= before.coarse;
  }

  /** Where the points were at the start. */
  box(): THREE.Box3 {
    return new THREE.Box3().setFromArray(this.neutral);
  }

  /** How much of each point is seen, 0 to 1. */
  setFade(fade: Float32Array): void {
    const ofVertex = Float32Array.from(this.pointOfVertex, (point) => fade[point] ?? 1);
    this.geometry.setAttribute("fade", new THREE.BufferAttribute(ofVertex, 1));
  }

  get positions(): Float32Array {
    return this.points.positions;
  }

  get normals(): Float32Array {
    return this.points.normals;
  }

  /** Moves the points as a section says. */
  move(section: Section): void {
    const { positions } = this.points;
    const { numbers: displacements, scale } = section;
    if (displacements.length !== positions.length) return;
    for (let i = 0; i < positions.length; i++) {
      positions[i] = (this.neutral[i] as number) + scale * (displacements[i] as number);
    }
    this.refresh();
  }

  /** Computes normals and hands both over to the renderer. */
  private refresh(): void {
    this.computeNormals();
    const { positions, normals } = this.points;
    const position = this.geometry.getAttribute("position") as THREE.BufferAttribute;
    const normal = this.geometry.getAttribute("normal") as THREE.BufferAttribute;
    const [p, n] = [position.array, normal.array];
    for (let vertex = 0, to = 0; vertex < this.pointOfVertex.length; vertex++, to += 3) {
      const from = 3 * (this.pointOfVertex[vertex] as number);
      p[to] = positions[from] as number;
      p[to + 1] = positions[from + 1] as number;
      p[to + 2] = positions[from + 2] as number;
      n[to] = normals[from] as number;
      n[to + 1] = normals[from + 1] as number;
      n[to + 2] = normals[from + 2] as number;
    }
    position.needsUpdate = true;
    normal.needsUpdate = true;
    this.treeIsOld = true;
  }

  /** Smooth normals of points, so that seams of the texture do not show. */
  private computeNormals(): void {
    const { positions: p, normals: n } = this.points;
    const t = this.corners;
    n.fill(0);
    for (let i = 0; i < t.length; i += 3) {
      const [a, b, c] = [3 * (t[i] as number), 3 * (t[i + 1] as number), 3 * (t[i + 2] as number)];
      const [ax, ay, az] = [p[a] as number, p[a + 1] as number, p[a + 2] as number];
      const ux = (p[b] as number) - ax;
      const uy = (p[b + 1] as number) - ay;
      const uz = (p[b + 2] as number) - az;
      const vx = (p[c] as number) - ax;
      const vy = (p[c + 1] as number) - ay;
      const vz = (p[c + 2] as number) - az;
      const x = uy * vz - uz * vy;
      const y = uz * vx - ux * vz;
      const z = ux * vy - uy * vx;
      n[a] = (n[a] as number) + x;
      n[a + 1] = (n[a + 1] as number) + y;
      n[a + 2] = (n[a + 2] as number) + z;
      n[b] = (n[b] as number) + x;
      n[b + 1] = (n[b + 1] as number) + y;
      n[b + 2] = (n[b + 2] as number) + z;
      n[c] = (n[c] as number) + x;
      n[c + 1] = (n[c + 1] as number) + y;
      n[c + 2] = (n[c + 2] as number) + z;
    }
    for (let i = 0; i < n.length; i += 3) {
      const [x, y, z] = [n[i] as number, n[i + 1] as number, n[i + 2] as number];
      const scale = 1 / Math.max(Math.sqrt(x * x + y * y + z * z), 1e-20);
      n[i] = x * scale;
      n[i + 1] = y * scale;
      n[i + 2] = z * scale;
    }
  }

  /** The first place that a ray of the head's frame meets. */
  cast(ray: THREE.Ray): Hit | null {
    const tree = this.upToDateTree();
    const hit = tree.raycastFirst(ray, THREE.DoubleSide);
    if (!hit || hit.faceIndex == null) return null;
    const index = tree.geometry.index as THREE.BufferAttribute;
    const corners = [0, 1, 2].map((i) => index.getX(3 * (hit.faceIndex as number) + i));
    const at = (array: Float32Array, point: number) => new THREE.Vector3().fromArray(array, 3 * point);
    const triangle = new THREE.Triangle(
      ...(corners.map((point) => at(this.positions, point)) as [THREE.Vector3, THREE.Vector3, THREE.Vector3]),
    );
    const shares = triangle.getBarycoord(hit.point, new THREE.Vector3()) ?? new THREE.Vector3(1, 0, 0);
    const normal = new THREE.Vector3();
    corners.forEach((point, i) => normal.addScaledVector(at(this.normals, point), shares.getComponent(i)));
    const largest = shares.x >= shares.y && shares.x >= shares.z ? 0 : shares.y >= shares.z ? 1 : 2;
    const isInside = triangle.getNormal(new THREE.Vector3()).dot(ray.direction) > 0;
    return { point: hit.point.clone(), normal: normal.normalize(), nearest: corners[largest] ?? 0, isInside };
  }

  /** The tree over the triangles, refitted to where the points are now: only when someone asks. */
  private upToDateTree(): MeshBVH {
    if (!this.tree) {
      const picked = new THREE.BufferGeometry();
      picked.setAttribute("position", new THREE.BufferAttribute(this.points.positions, 3));
      // The tree sorts the triangles that it is given.
      picked.setIndex(new THREE.BufferAttribute(this.corners.slice(), 1));
      this.tree = new MeshBVH(picked);
    } else if (this.treeIsOld) {
      this.tree.refit();
    }
    this.treeIsOld = false;
    return this.tree;
  }

  dispose(): void {
    this.geometry.dispose();
  }
}
