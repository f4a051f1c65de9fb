// A headset: the face before the viewer's eyes, and the hands that it tracks.

import type { Connection } from "../connection";
import type { HandSide, Joint } from "../protocol";
import type { Stage } from "../scene/stage";
import type { Latency } from "../touch/latency";

/** Distance of the face from the eyes, in metres: within reach of both hands. */
const BEFORE = 0.5;

export class Headset {
  private session: XRSession | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly connection: Connection,
    private readonly latency: Latency,
    /** Draws the next picture. */
    private readonly draw: (now: number) => void,
  ) {}

  /** Whether the page is seen in a headset now. */
  get isOn(): boolean {
    return this.session !== null;
  }

  /** Whether there is a headset. */
  async isThere(): Promise<boolean> {
    try {
      return (await navigator.xr?.isSessionSupported("immersive-vr")) ?? false;
    } catch {
      return false;
    }
  }

  /** Enters the headset, with its hands where it tracks them. */
  async enter(): Promise<void> {
    const { stage } = this;
    if (this.session || !navigator.xr) return;
    const session = await navigator.xr.requestSession("immersive-vr", { optionalFeatures: ["hand-tracking"] });
    const { xr } = stage.renderer;
    this.session = session;
    session.addEventListener("end", () => this.leave());
    xr.enabled = true;
    xr.setReferenceSpaceType("local");
    await xr.setSession(session);
    this.placeFace();
    stage.renderer.setAnimationLoop((now, frame) => {
      if (frame) this.follow(frame);
      this.draw(now);
    });
  }

  /** Takes the viewer's origin to a place before the face: eyes are at the origin of the local space and look along −Z. */
  private placeFace(): void {
    const { xr } = this.stage.renderer;
    const space = xr.getReferenceSpace();
    const middle = this.stage.controls.target;
    const origin = new XRRigidTransform({ x: -middle.x, y: -middle.y, z: -middle.z - BEFORE });
    if (space) xr.setReferenceSpace(space.getOffsetReferenceSpace(origin));
  }

  /** Sends the tracked hands, in the world. */
  private follow(frame: XRFrame): void {
    const space = this.stage.renderer.xr.getReferenceSpace();
    if (!space) return;
    for (const { hand, handedness } of frame.session.inputSources) {
      if (hand && handedness !== "none") this.send(frame, space, hand, handedness);
    }
  }

  private send(frame: XRFrame, space: XRReferenceSpace, hand: XRHand, side: HandSide): void {
    const [joints, radii]: [Joint[], number[]] = [[], []];
    for (const joint of hand.values()) {
      const pose = frame.getJointPose?.(joint, space);
      if (!pose) return;
      const { position: p, orientation: q } = pose.transform;
      joints.push([p.x, p.y, p.z, q.x, q.y, q.z, q.w]);
      radii.push(pose.radius ?? 0);
    }
    // A headset that does not know how thick fingers are has those of the built-in hand.
    const known = radii.every((radius) => radius > 0) ? radii : [];
    this.connection.send({ type: "hand", side, input: this.latency.stamp(), space: "world", joints, radii: known });
  }

  private leave(): void {
    const { renderer } = this.stage;
    this.session = null;
    renderer.setAnimationLoop(null);
    renderer.xr.enabled = false;
    this.connection.send({ type: "handAway", side: null, input: this.latency.stamp() });
    this.stage.resize();
  }
}
