// Where a head was cut off: an open edge is faded out, so that a bust ends as a drawing does and not like a mask.

import * as THREE from "three";

/** An opening is an end of the head, not an eye or the back of a mouth, if it spans this fraction of the skin's shorter side and lies
 * within these fractions of the skin's extent from one of its outermost ends: its nearest point, its farthest. Ours. */
const WIDE = 0.4;
const OUTERMOST = [0.04, 0.35] as const;

/** Width of the fade, as fractions of the opening's span and of the skin's height, whichever is shorter. Ours. */
const REACH = { span: 0.2, height: 0.085 };

/** Something that goes on this far beyond an opening covers it, as a body does with a neck: share of the span. */
const COVERED = 0.15;

/** How much of each point is seen, 0 at a wide open edge and 1 away from it. */
export function fadeAtOpenEnds(positions: Float32Array, corners: Uint32Array, others: THREE.Box3): Float32Array<ArrayBuffer> {
  const fade = new Float32Array(positions.length / 3).fill(1);
  const skin = new THREE.Box3().setFromArray(positions);
  const size = skin.getSize(new THREE.Vector3());
  const middle = skin.getCenter(new THREE.Vector3());
  for (const opening of openings(corners)) {
    const box = new THREE.Box3();
    const at = (point: number) => new THREE.Vector3().fromArray(positions, 3 * point);
    for (const point of opening) box.expandByPoint(at(point));
    const span = box.getSize(new THREE.Vector3()).length();
    if (span < WIDE * Math.min(size.x, size.y) || !isOutermost(box, skin, size)) continue;
    const centre = box.getCenter(new THREE.Vector3());
    if (reaches(others, centre.clone().sub(middle).normalize(), centre) > COVERED * span) continue;
    const reach = Math.min(REACH.span * span, REACH.height * size.y);
    const edge = opening.map(at);
    const near = box.expandByScalar(reach);
    for (let point = 0; point < fade.length; point++) {
      const place = at(point);
      if (!near.containsPoint(place)) continue;
      const distance = Math.sqrt(edge.reduce((least, other) => Math.min(least, place.distanceToSquared(other)), Infinity));
      fade[point] = Math.min(fade[point] as number, THREE.MathUtils.smoothstep(distance, 0.03 * reach, reach));
    }
  }
  return fade;
}

/** Whether an opening lies at one of the six ends of the skin. */
function isOutermost(opening: THREE.Box3, skin: THREE.Box3, size: THREE.Vector3): boolean {
  return (["x", "y", "z"] as const).some((axis) => {
    const lies = (nearest: number, farthest: number) => nearest <= OUTERMOST[0] * size[axis] && farthest <= OUTERMOST[1] * size[axis];
    const [low, high] = [opening.min[axis], opening.max[axis]];
    return lies(low - skin.min[axis], high - skin.min[axis]) || lies(skin.max[axis] - high, skin.max[axis] - low);
  });
}

/** How far a box goes in a direction, counted from a place. */
function reaches(box: THREE.Box3, direction: THREE.Vector3, from: THREE.Vector3): number {
  if (box.isEmpty()) return -Infinity;
  const farthest = new THREE.Vector3(
    direction.x > 0 ? box.max.x : box.min.x,
    direction.y > 0 ? box.max.y : box.min.y,
    direction.z > 0 ? box.max.z : box.min.z,
  );
  return farthest.sub(from).dot(direction);
}

/** The points of each opening: connected edges that belong to one triangle only. */
function openings(corners: Uint32Array): number[][] {
  const edges = new Map<number, { from: number; to: number; uses: number }>();
  const most = corners.reduce((most, point) => Math.max(most, point), 0) + 1;
  for (let i = 0; i < corners.length; i++) {
    const [from, to] = [corners[i] as number, corners[i % 3 === 2 ? i - 2 : i + 1] as number];
    const key = Math.min(from, to) * most + Math.max(from, to);
    const edge = edges.get(key);
    if (edge) edge.uses++;
    else edges.set(key, { from, to, uses: 1 });
  }
  const neighbours = new Map<number, number[]>();
  const join = (from: number, to: number) => neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
  for (const { from, to, uses } of edges.values()) {
    if (uses !== 1 || from === to) continue;
    join(from, to);
    join(to, from);
  }
  const found: number[][] = [];
  const seen = new Set<number>();
  for (const start of neighbours.keys()) {
    if (seen.has(start)) continue;
    const [opening, next] = [[] as number[], [start]];
    seen.add(start);
    for (let point = next.pop(); point !== undefined; point = next.pop()) {
      opening.push(point);
      for (const other of neighbours.get(point) ?? []) {
        if (seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    }
    found.push(opening);
  }
  return found;
}
