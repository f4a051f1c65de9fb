// Two fingers of a touch screen: a hand whose thumb and index finger are under them.

import * as THREE from "three";
import type { Connection } from "../connection";
import type { Vec3 } from "../protocol";
import type { Stage } from "../scene/stage";
import type { Latency } from "./latency";

/** A finger on the screen, which moves in a plane through the place of the face that it touched. */
export interface ScreenFinger {
  pointer: number;
  x: number;
  y: number;
  plane: THREE.Plane;
}

export class TouchPinch {
  private fingers: [ScreenFinger, ScreenFinger] | null = null;
  private readonly outward = new THREE.Vector3();

  constructor(
    private readonly stage: Stage,
    private readonly connection: Connection,
    private readonly latency: Latency,
  ) {}

  get isOn(): boolean {
    return this.fingers !== null;
  }

  /** Begins with two fingers; the lower one is the thumb. */
  begin(a: ScreenFinger, b: ScreenFinger, outward: THREE.Vector3): void {
    this.fingers = a.y >= b.y ? [a, b] : [b, a];
    this.outward.copy(outward);
    this.send();
  }

  /** Moves a finger; false if it is none of the two. */
  move(pointer: number, x: number, y: number): boolean {
    const finger = this.fingers?.find((own) => own.pointer === pointer);
    if (!finger) return false;
    [finger.x, finger.y] = [x, y];
    this.send();
    return true;
  }

  /** Ends with either finger; false if it is none of the two. */
  end(pointer: number): boolean {
    if (!this.fingers?.some((own) => own.pointer === pointer)) return false;
    this.cancel();
    return true;
  }

  /** Lets go. */
  cancel(): void {
    if (!this.fingers) return;
    this.fingers = null;
    this.connection.send({ type: "handAway", side: null, input: this.latency.stamp() });
  }

  /** Follows the head, which moves under still fingers. */
  send(): void {
    if (!this.fingers) return;
    const [thumb, finger] = this.fingers.map(({ x, y, plane }) => this.stage.rayAt(x, y).intersectPlane(plane, new THREE.Vector3()));
    if (!thumb || !finger) return;
    const vector = (v: THREE.Vector3): Vec3 => [v.x, v.y, v.z];
    this.connection.send({
      type: "pinch",
      input: this.latency.stamp(),
      thumb: vector(thumb),
      finger: vector(finger),
      outward: vector(this.outward),
    });
  }
}
