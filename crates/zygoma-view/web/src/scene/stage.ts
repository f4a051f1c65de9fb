// The picture: camera, light, one or two views of the head.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { type AnatomyHeader, Container, type CutPlane, type FaceHeader, type Frame, type StiffnessHeader } from "../protocol";
import type { State } from "../state";
import { AnatomyView, layersAt } from "./anatomy";
import { Fingers } from "./fingers";
import { HandView } from "./hands";
import { cutThrough, planeOf, TissueView } from "./tissue";
import { Head } from "./head";
import { Light } from "./light";
import { Occlusion } from "./occlusion";
import { type Legend, Overlays, VOLUME_LEGEND } from "./overlay";
import { Governor, isFixed, isSoftware, type Quality } from "./quality";
import { Shell } from "./shell";
import type { Hit } from "./surface";
import { Signal } from "../signal";

/** Vertical field of view, in degrees: a portrait lens. */
const LENS = 24;

/** Hairs are drawn with at least this many pixels per pixel of the display. */
const FINE = 0.7;

/** A new cut is seen at this angle at least, in radians: on edge it would show nothing. */
const SLANT = 0.6;

export class Stage {
  readonly canvas = document.createElement("canvas");
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(LENS, 1, 0.02, 20);
  readonly controls: OrbitControls;
  readonly fingers = new Fingers();
  readonly hands = new HandView();
  readonly governor: Governor;
  readonly legend = new Signal<Legend | null>(null);
  /** The legend of a cut, where that of the skin does not cover it. */
  readonly cutLegend = new Signal<Legend | null>(null);
  readonly tissue = new TissueView();
  anatomy: AnatomyView | null = null;
  head: Head | null = null;
  private readonly scene = new THREE.Scene();
  private readonly light: Light;
  private overlays: Overlays | null = null;
  private shell: Shell | null = null;
  private readonly occlusion = new Occlusion();
  private occludes = false;
  /** Whether the camera is where `frame` put it. */
  private isFramed = false;
  private pixels = 1;
  private rich = true;

  constructor(private readonly state: State) {
    const software = isSoftware();
    document.documentElement.classList.toggle("software", software);
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: !software || isFixed(), alpha: true });
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.toneMappingExposure = 1;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.autoClear = false;
    this.light = new Light(this.renderer, this.scene);
    this.camera.position.set(0.25, 0.05, 1);
    this.camera.layers.enableAll();
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.addEventListener("start", () => {
      this.isFramed = false;
    });
    this.scene.add(this.light.group);
    this.governor = new Governor(software, (quality) => this.setQuality(quality));
    state.overlay.watch(() => this.recolor());
    state.texture.watch(() => this.recolor());
    state.layer.watch(() => this.recolor());
    state.anatomy.watch(() => this.recolor());
    state.cut.watch(() => this.explainCut());
    state.body.watch(() => this.explainCut());
  }

  private setQuality(quality: Quality): void {
    this.pixels = quality.pixels;
    this.light.shadows(quality.shadows);
    this.light.rich(quality.rich);
    this.rich = quality.rich;
    this.occludes = quality.occlusion;
    this.recolor();
    this.resize();
  }

  /** Fits the picture to its place on the page. */
  resize(): void {
    // A headset has a size of its own.
    if (this.renderer.xr.isPresenting) return;
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement ?? this.canvas;
    if (width === 0 || height === 0) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, this.pixels));
    this.renderer.setSize(width, height, false);
    this.occlusion.resize(width, height);
    const isOther = Math.abs(this.camera.aspect - width / height) > 1e-3;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (isOther && this.isFramed) this.frame();
  }

  /** Shows another scene. */
  async open(buffer: ArrayBuffer): Promise<Head> {
    const head = await Head.read(buffer, this.renderer);
    const shown = this.head;
    this.shell?.lines.removeFromParent();
    this.shell?.dispose();
    this.shell = null;
    this.overlays?.dispose();
    this.setAnatomy(null);
    this.fingers.clear();
    this.fingers.group.removeFromParent();
    if (shown) {
      this.scene.remove(shown.group);
      head.group.quaternion.copy(shown.group.quaternion);
      head.group.position.copy(shown.group.position);
      if (head.scene.same) head.takeOver(shown);
      shown.dispose();
    }
    this.head = head;
    head.materials.changed = () => this.recolor();
    this.overlays = new Overlays(head);
    this.tissue.enter(head);
    head.group.add(this.fingers.group, this.hands.group);
    this.scene.add(head.group);
    if (!head.scene.same) this.frame();
    this.recolor();
    this.governor.pause();
    return head;
  }

  /** Takes another simulation mesh. */
  setFace(buffer: ArrayBuffer): FaceHeader {
    const container = new Container<FaceHeader>(buffer);
    this.shell?.lines.removeFromParent();
    this.shell?.dispose();
    this.shell = new Shell(container);
    this.head?.group.add(this.shell.lines);
    this.overlays?.setFace(container);
    this.recolor();
    return container.header;
  }

  /** Takes the anatomy under the skin, or forgets it. */
  setAnatomy(buffer: ArrayBuffer | null): void {
    this.anatomy?.group.removeFromParent();
    this.anatomy?.dispose();
    this.anatomy = buffer && new AnatomyView(new Container<AnatomyHeader>(buffer));
    if (this.anatomy) this.head?.group.add(this.anatomy.group);
    this.recolor();
  }

  /** Takes the stiffness of an expression. */
  setStiffness(buffer: ArrayBuffer): StiffnessHeader {
    const container = new Container<StiffnessHeader>(buffer);
    this.overlays?.setStiffness(container);
    return container.header;
  }

  private recolor(): void {
    const layers = layersAt(this.anatomy ? this.state.layer.value : 0);
    this.anatomy?.fade(layers);
    this.head?.dress(this.state.texture.value, this.rich, this.pixels >= FINE, layers);
    this.legend.set(this.overlays?.choose(this.state.overlay.value) ?? null);
    this.explainCut();
  }

  private explainCut(): void {
    const isExplained = this.state.overlay.value === "volume";
    this.cutLegend.set(this.cutPlane && !isExplained ? VOLUME_LEGEND : null);
  }

  /** The cut that the page wants to show. */
  get cutPlane(): CutPlane | null {
    const { head, state } = this;
    if (!head || !state.cut.value.on || !state.hasVolume) return null;
    const { normal, height } = planeOf(head, state.cut.value);
    return { normal: [normal.x, normal.y, normal.z], height };
  }

  /** Cuts the tissue through a place of the skin, and turns the camera if it would look along the cut. */
  cutAt(place: Hit): void {
    const { head, state, camera, controls } = this;
    if (!head || !state.hasVolume) return;
    state.cut.set(cutThrough(head, place, state.cut.value));
    const normal = planeOf(head, state.cut.value).normal.clone().applyQuaternion(head.group.quaternion);
    const eye = camera.position.clone().sub(controls.target);
    const distance = eye.length();
    const above = eye.dot(normal);
    if (Math.abs(above) >= distance * Math.sin(SLANT)) return;
    this.isFramed = false;
    const along = eye.addScaledVector(normal, -above).setLength(distance * Math.cos(SLANT));
    camera.position.copy(controls.target).add(along).addScaledVector(normal, Math.sign(above || 1) * distance * Math.sin(SLANT));
    controls.update();
  }

  /** Puts the camera where the whole face is seen. */
  frame(): void {
    const head = this.head;
    if (!head) return;
    const box = new THREE.Box3();
    const point = new THREE.Vector3();
    const { positions, count } = head.skin;
    for (let i = 0; i < count; i++) box.expandByPoint(point.fromArray(positions, 3 * i));
    const middle = box.getCenter(new THREE.Vector3());
    const size = box.getSize(new THREE.Vector3());
    // The whole head, or the head of a whole body.
    const height = Math.min(size.y, 1.6 * size.x);
    middle.y = box.max.y - 0.5 * height;
    // A swing that is still dying away must not carry the camera off again.
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = true;
    this.light.aim(middle, Math.max(height, size.x));
    this.occlusion.fit(height);
    const distance = (0.58 * Math.max(height, (1.1 * size.x) / this.camera.aspect)) / Math.tan((LENS * Math.PI) / 360);
    this.controls.target.copy(middle).add(new THREE.Vector3(0, 0.02 * height, 0));
    this.camera.position.copy(this.controls.target).add(new THREE.Vector3(0.3, 0.06, 1).normalize().multiplyScalar(distance + 0.5 * size.z));
    // A file may be in any unit.
    this.controls.minDistance = 0.1 * distance;
    this.controls.maxDistance = 8 * distance;
    this.isFramed = true;
    this.camera.near = 0.02 * distance;
    this.camera.far = 20 * distance;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    // Whoever aims before the next picture aims with this camera.
    this.camera.updateMatrixWorld();
  }

  /** Looks at the head from a side: turn and height in degrees. */
  look(turn: number, height: number): void {
    this.isFramed = false;
    const spherical = new THREE.Spherical(
      this.camera.position.distanceTo(this.controls.target),
      ((90 - height) * Math.PI) / 180,
      (turn * Math.PI) / 180,
    );
    this.camera.position.setFromSpherical(spherical).add(this.controls.target);
    this.controls.update();
  }

  /** Takes over a frame. */
  show(frame: Frame): void {
    this.head?.show(frame);
    this.overlays?.update(frame);
    this.tissue.show(frame);
    if (this.head && this.state.layer.value > 0) this.anatomy?.follow(frame, this.head.skin);
    this.fingers.follow(frame.touches);
    this.hands.follow(frame);
  }

  /** Draws. */
  render(): void {
    const { renderer, head } = this;
    const isInHeadset = renderer.xr.isPresenting;
    if (!isInHeadset) this.controls.update();
    renderer.setScissorTest(false);
    renderer.clear();
    if (!head) return;
    if (this.shell) {
      this.shell.lines.visible = this.state.wireframe.value;
      if (this.shell.lines.visible) this.shell.follow(head.skin);
    }
    head.group.updateMatrixWorld();
    this.tissue.clip(head, this.state.cut.value, this.camera);
    const split = this.state.split.value && head.hasRig;
    if (!split || isInHeadset) {
      this.draw(head, false);
      return;
    }
    const size = renderer.getSize(new THREE.Vector2());
    const divider = Math.round(size.x * this.state.divider.value);
    renderer.setScissorTest(true);
    renderer.setScissor(0, 0, divider, size.y);
    this.draw(head, true);
    renderer.setScissor(divider, 0, size.x - divider, size.y);
    this.draw(head, false);
    renderer.setScissorTest(false);
  }

  private draw(head: Head, plainRig: boolean): void {
    head.rigMesh.visible = plainRig;
    head.skinMesh.visible = !plainRig;
    this.fingers.group.visible = !plainRig;
    this.hands.group.visible = !plainRig;
    this.tissue.group.visible = !plainRig;
    this.renderer.clippingPlanes = plainRig ? [] : this.tissue.clipping;
    if (this.shell) this.shell.lines.visible = this.state.wireframe.value && !plainRig;
    this.renderer.render(this.scene, this.camera);
    if (this.occludes && !this.renderer.xr.isPresenting) this.occlusion.darken(this.renderer, this.scene, this.camera);
  }

  /** How far a point of the skin can be pushed in, in metres. */
  depthAt(point: number): number {
    return this.overlays?.depthAt(point) ?? 0;
  }

  /** The stiffness of the expression that is painted, at a point of the skin, in Pa. */
  stiffnessAt(point: number): number {
    return this.overlays?.stiffnessAt(point) ?? 0;
  }

  /** The place of the skin that is seen at a place of the page. */
  pick(clientX: number, clientY: number): Hit | null {
    const hit = this.head?.skin.cast(this.rayAt(clientX, clientY)) ?? null;
    // Behind a cut there is the inside of the skin, too.
    return hit?.isInside && this.tissue.kept ? null : hit;
  }

  /** The ray under a place of the page, in the frame of the head; what is cut away does not stop it. */
  rayAt(clientX: number, clientY: number): THREE.Ray {
    const rectangle = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2(
      (2 * (clientX - rectangle.left)) / rectangle.width - 1,
      1 - (2 * (clientY - rectangle.top)) / rectangle.height,
    );
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    const inverse = this.head ? this.head.group.matrixWorld.clone().invert() : new THREE.Matrix4();
    const ray = caster.ray.clone().applyMatrix4(inverse);
    const kept = this.tissue.kept;
    if (kept && kept.distanceToPoint(ray.origin) < 0) {
      const entry = new THREE.Vector3();
      ray.origin.copy(ray.intersectPlane(kept, entry) ?? ray.at(this.camera.far, entry));
    }
    return ray;
  }

  /** Where on the page a place of the head's frame is. */
  project(place: THREE.Vector3): { x: number; y: number } {
    const rectangle = this.canvas.getBoundingClientRect();
    const at = place.clone();
    if (this.head) at.applyMatrix4(this.head.group.matrixWorld);
    at.project(this.camera);
    return {
      x: rectangle.left + (0.5 + 0.5 * at.x) * rectangle.width,
      y: rectangle.top + (0.5 - 0.5 * at.y) * rectangle.height,
    };
  }
}
