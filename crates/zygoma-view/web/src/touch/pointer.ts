// The pointer on the face: press, pull, shake, paint, or leave it to the camera.

import * as THREE from "three";
import type { Connection } from "../connection";
import type { Vec3 } from "../protocol";
import type { Hit, Surface } from "../scene/surface";
import type { Stage } from "../scene/stage";
import type { State, Tool } from "../state";
import type { Brushwork } from "./brushwork";
import type { Latency } from "./latency";
import { TouchPinch } from "./pinch";

/** Depths that the wheel reaches, in metres. */
const DEPTHS = { least: 0, most: 0.02, perNotch: 0.0015 };

/** A fingertip aims no deeper than this fraction of its radius, nor than so many metres beyond where the skin can go: its
 * middle must stay above skin that cannot yield. */
const DEEPEST = 0.85;
const BEYOND_BONE = 0.004;

/** Skin is taken hold of within this fraction of the fingertip's radius. */
const GRIP = 0.6;

/** Spots of a stroke of the brush are this fraction of its radius apart. */
const SPACING = 0.4;

/** Radians that the head turns per pixel. */
const TURN = 0.006;

interface Drag {
  id: number;
  isTouch: boolean;
  tool: Tool;
  x: number;
  y: number;
  /** Where it began, in the frame of the head. */
  start: Hit;
  /** Pulled skin moves in this plane, which faces the camera. */
  plane: THREE.Plane;
  /** Seconds since it began, for a soft start. */
  began: number;
  /** How much farther out or in the wheel has moved it. */
  lift: number;
  outward: THREE.Vector3;
  /** Where the brush has painted last; null before it has. */
  painted: THREE.Vector3 | null;
  erases: boolean;
}

export interface Touched {
  region: string;
  tool: Tool;
}

export class Pointer {
  private readonly drags = new Map<number, Drag>();
  private readonly pinch: TouchPinch;
  private hover: { x: number; y: number } | null = null;
  /** The region under the cursor or finger. */
  touched: Touched | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly state: State,
    private readonly connection: Connection,
    private readonly latency: Latency,
    private readonly brushwork: Brushwork,
  ) {
    this.pinch = new TouchPinch(stage, connection, latency);
    const { canvas } = stage;
    canvas.style.touchAction = "none";
    // Before the camera's controls hear of it.
    canvas.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event.pointerId));
    canvas.addEventListener("pointercancel", (event) => this.up(event.pointerId));
    canvas.addEventListener("lostpointercapture", (event) => this.up(event.pointerId));
    canvas.addEventListener("pointerleave", () => {
      this.hover = null;
    });
    canvas.addEventListener("dblclick", (event) => {
      const place = stage.pick(event.clientX, event.clientY);
      if (place) stage.cutAt(place);
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { capture: true, passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  /** Whether the face is being touched; a brush does not touch it. */
  get isTouching(): boolean {
    return this.pinch.isOn || [...this.drags.values()].some(({ tool }) => tool !== "paint");
  }

  /** The tool that a drag would use now. */
  private toolOf(event: PointerEvent): Tool {
    if (event.button !== 0) return "orbit";
    if (event.shiftKey && this.state.tool.value !== "paint") return "pull";
    if (event.altKey || event.ctrlKey || event.metaKey) return "shake";
    return this.state.tool.value;
  }

  private down(event: PointerEvent): void {
    const tool = this.toolOf(event);
    const head = this.stage.head;
    if (!head || tool === "orbit") return;
    const start = this.stage.pick(event.clientX, event.clientY);
    if (!start) return;
    event.stopImmediatePropagation();
    // A finger that has left already cannot be captured.
    try {
      this.stage.canvas.setPointerCapture(event.pointerId);
    } catch {
      return;
    }
    this.stage.controls.enabled = false;
    this.stage.canvas.focus({ preventScroll: true });
    if (this.pinch.isOn) return;
    const toCamera = this.stage.camera.getWorldDirection(new THREE.Vector3()).negate();
    const facing = toCamera.applyQuaternion(head.group.quaternion.clone().invert());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(facing, start.point);
    if (this.startPinch(event, tool, plane, start)) return;
    if (tool === "paint") this.brushwork.begin();
    this.drags.set(event.pointerId, {
      id: event.pointerId >>> 0,
      isTouch: event.pointerType === "touch",
      tool,
      x: event.clientX,
      y: event.clientY,
      start,
      plane,
      began: performance.now(),
      lift: 0,
      outward: start.normal.clone(),
      painted: null,
      erases: event.shiftKey || this.state.brush.value.erases,
    });
    this.apply();
  }

  /** A second finger of a touch screen makes a pinch of the first one's press or pull. */
  private startPinch(event: PointerEvent, tool: Tool, plane: THREE.Plane, start: Hit): boolean {
    const [first] = this.drags;
    if (!first || this.drags.size > 1 || event.pointerType !== "touch" || tool === "shake") return false;
    const [pointer, drag] = first;
    if (!drag.isTouch || drag.tool === "shake") return false;
    this.up(pointer);
    this.stage.controls.enabled = false;
    const outward = drag.start.normal.clone().add(start.normal);
    const second = { pointer: event.pointerId, x: event.clientX, y: event.clientY, plane };
    this.pinch.begin({ pointer, x: drag.x, y: drag.y, plane: drag.plane }, second, outward);
    return true;
  }

  private move(event: PointerEvent): void {
    if (this.pinch.move(event.pointerId, event.clientX, event.clientY)) return;
    this.hover = event.pointerType === "mouse" ? { x: event.clientX, y: event.clientY } : null;
    const drag = this.drags.get(event.pointerId);
    if (!drag) return;
    if (drag.tool === "shake") this.shake(drag, event);
    drag.x = event.clientX;
    drag.y = event.clientY;
    this.send(drag);
  }

  private shake(drag: Drag, event: PointerEvent): void {
    drag.outward.x += TURN * (event.clientX - drag.x);
    drag.outward.y += TURN * (event.clientY - drag.y);
  }

  private up(id: number): void {
    if (this.pinch.end(id)) this.stage.controls.enabled = this.drags.size === 0;
    const drag = this.drags.get(id);
    if (!drag) return;
    this.drags.delete(id);
    this.stage.fingers.letGo(drag.id);
    if (this.drags.size === 0) this.stage.controls.enabled = true;
    if (drag.tool === "paint") return;
    const input = this.latency.stamp();
    if (drag.tool === "shake") this.connection.send({ type: "dragHead", held: false, yaw: 0, pitch: 0, input });
    else this.connection.send({ type: "release", id: drag.id, input });
  }

  /** Lets go of everything. */
  releaseAll(): void {
    for (const id of [...this.drags.keys()]) this.up(id);
    this.pinch.cancel();
  }

  private wheel(event: WheelEvent): void {
    const drag = [...this.drags.values()].at(-1);
    if (!drag || drag.tool === "paint") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const notches = -Math.sign(event.deltaY);
    if (drag.tool === "pull") drag.lift -= notches * DEPTHS.perNotch;
    else {
      const depth = this.state.depth.value + notches * DEPTHS.perNotch;
      this.state.depth.set(Math.min(Math.max(depth, DEPTHS.least), DEPTHS.most));
    }
    this.send(drag);
  }

  /** Follows the head, which moves under a still pointer. To be called for every frame. */
  update(): void {
    const head = this.stage.head;
    this.touched = null;
    if (!head) return;
    this.pinch.send();
    if (this.drags.size > 0) {
      this.apply();
      const drag = [...this.drags.values()].at(-1);
      if (drag?.tool !== "paint") this.stage.fingers.aim(null, null, 0);
      if (drag) this.touched = { region: head.regionOf(drag.start.nearest), tool: drag.tool };
      return;
    }
    const tool = this.state.tool.value;
    const hit = this.hover && tool !== "orbit" ? this.stage.pick(this.hover.x, this.hover.y) : null;
    const shown = hit && tool !== "shake" ? hit : null;
    const radius = tool === "paint" ? this.state.brush.value.radius : this.state.radius.value;
    this.stage.fingers.aim(shown?.point ?? null, shown?.normal ?? null, radius);
    this.stage.canvas.style.cursor = hit ? (tool === "press" ? "pointer" : tool === "paint" ? "crosshair" : "grab") : "";
    if (hit) this.touched = { region: head.regionOf(hit.nearest), tool };
  }

  private apply(): void {
    for (const drag of this.drags.values()) this.send(drag);
  }

  private send(drag: Drag): void {
    const head = this.stage.head;
    if (!head) return;
    if (drag.tool === "paint") {
      this.paint(drag);
      return;
    }
    const radius = this.state.radius.value;
    if (drag.tool === "shake") {
      const [yaw, pitch] = [drag.outward.x - drag.start.normal.x, drag.outward.y - drag.start.normal.y];
      this.connection.send({ type: "dragHead", held: true, yaw, pitch, input: this.latency.stamp() });
      return;
    }
    const ray = this.stage.rayAt(drag.x, drag.y);
    if (drag.tool === "pull") {
      const at = ray.intersectPlane(drag.plane, new THREE.Vector3());
      if (!at) return;
      const to = at.addScaledVector(drag.plane.normal, drag.lift);
      this.stage.fingers.hold(drag.id, drag.plane.normal, radius, true);
      this.connection.send({
        type: "pull",
        id: drag.id,
        input: this.latency.stamp(),
        at: vector(drag.start.point),
        to: vector(to),
        radius: GRIP * radius,
      });
      return;
    }
    // Aiming at the plain rig's surface: the pressed one would yield for ever.
    const surface: Surface = head.hasRig ? head.rig : head.skin;
    const hit = surface.cast(ray) ?? this.beside(drag, ray);
    drag.start = { ...drag.start, nearest: hit.nearest };
    drag.outward.copy(hit.normal);
    const eased = Math.min(1, (performance.now() - drag.began) / 180);
    const bone = this.stage.depthAt(hit.nearest) + BEYOND_BONE;
    const depth = eased * Math.min(this.state.depth.value, DEEPEST * radius, bone);
    const at = hit.point.clone().addScaledVector(hit.normal, radius - depth);
    this.stage.fingers.hold(drag.id, hit.normal, radius, false);
    this.connection.send({
      type: "press",
      id: drag.id,
      input: this.latency.stamp(),
      at: vector(at),
      radius,
      force: this.state.force.value,
    });
  }

  /** Paints under the pointer, if that is far enough from the last spot of the stroke. */
  private paint(drag: Drag): void {
    const hit = this.stage.pick(drag.x, drag.y);
    const { control, mu, lambda, radius } = this.state.brush.value;
    if (!hit) return;
    this.stage.fingers.aim(hit.point, hit.normal, radius);
    drag.start = { ...drag.start, nearest: hit.nearest };
    if (drag.painted && drag.painted.distanceTo(hit.point) < SPACING * radius) return;
    drag.painted = hit.point.clone();
    this.brushwork.paint({ control, point: hit.nearest, radius, mu: drag.erases ? null : mu, lambda: drag.erases ? null : lambda, erase: drag.erases });
  }

  /** A finger that slid off the face goes on beside it. */
  private beside(drag: Drag, ray: THREE.Ray): Hit {
    const point = ray.intersectPlane(drag.plane, new THREE.Vector3()) ?? drag.start.point;
    return { point, normal: drag.outward.clone(), nearest: drag.start.nearest, isInside: false };
  }
}

function vector(v: THREE.Vector3): Vec3 {
  return [v.x, v.y, v.z];
}
