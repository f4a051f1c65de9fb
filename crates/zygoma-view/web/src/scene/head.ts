// Everything that moves with the head: the skin as it is shown, the plain rig's skin, and what rides along.

import * as THREE from "three";
import { Container, type Frame, type Look, type Scene, type SceneRange, SECTION } from "../protocol";
import { ALL_SKIN, type Layers, opacityOf } from "./anatomy";
import { fadeAtOpenEnds } from "./border";
import { Materials } from "./materials";
import { LAYER } from "./occlusion";
import { Surface } from "./surface";

interface Part {
  surface: Surface;
  mesh: THREE.Mesh;
  look: Look;
  ranges: SceneRange[];
  /** Too fine for a coarse picture, where it would be crumbs. */
  isFine: boolean;
}

export class Head {
  readonly group = new THREE.Group();
  readonly scene: Scene;
  readonly skin: Surface;
  readonly skinMesh: THREE.Mesh;
  /** The plain rig's skin, which frames bring when it is asked for. */
  readonly rig: Surface;
  readonly rigMesh: THREE.Mesh;
  /** Whether a frame has brought the rig's skin. */
  hasRig = false;
  /** Region of each point of the skin. */
  readonly regions: Uint8Array;
  private readonly parts: Part[] = [];

  private constructor(
    container: Container<Scene>,
    readonly materials: Materials,
  ) {
    this.scene = container.header;
    const { meshes, skin } = container.header;
    meshes.forEach((mesh, index) => {
      const surface = new Surface(mesh, container);
      const object = new THREE.Mesh(surface.geometry);
      object.name = mesh.name;
      object.castShadow = mesh.look !== "hair";
      if (mesh.look === "hair") object.layers.set(LAYER.thin);
      object.receiveShadow = true;
      // Its points move: what was measured at the start says nothing about where it is.
      object.frustumCulled = false;
      if (index !== skin) this.group.add(object);
      this.parts.push({ surface, mesh: object, look: mesh.look, ranges: mesh.ranges, isFine: /lash/i.test(mesh.name) });
    });
    const own = meshes[skin];
    const part = this.parts[skin];
    if (!own || !part) throw new Error("the scene has no skin");
    this.skin = part.surface;
    this.skinMesh = part.mesh;
    this.rig = new Surface(own, container);
    const others = this.parts.filter(({ surface }) => surface !== this.skin).map(({ surface }) => surface.box());
    const fade = fadeAtOpenEnds(this.skin.neutral, this.skin.corners, others.reduce((all, box) => all.union(box), new THREE.Box3()));
    this.skin.setFade(fade);
    this.rig.setFade(fade);
    this.rigMesh = new THREE.Mesh(this.rig.geometry);
    this.rigMesh.frustumCulled = false;
    this.rigMesh.receiveShadow = true;
    this.rigMesh.visible = false;
    this.regions = own.regions ? container.bytes(own.regions) : new Uint8Array(this.skin.count);
    this.group.add(this.skinMesh, this.rigMesh);
    this.dress(true, true, true);
  }

  static async read(buffer: ArrayBuffer, renderer: THREE.WebGLRenderer): Promise<Head> {
    const container = new Container<Scene>(buffer);
    return new Head(container, await Materials.read(container, renderer));
  }

  /** With the rig's own colours or in plain ones; with all of the light or with less; with fine hairs or without; opaque or faded. */
  dress(withTexture: boolean, rich: boolean, fine: boolean, layers: Layers = ALL_SKIN): void {
    this.materials.opacity = (look) => opacityOf(look, layers);
    for (const { surface, mesh, look, ranges, isFine } of this.parts) {
      mesh.material = this.materials.of(look, ranges, withTexture, rich);
      mesh.visible = (fine || !isFine) && (look !== "hair" || layers.skin > 0.5);
      mesh.castShadow = look !== "hair" && layers.skin > 0.5;
      surface.simplify(!rich);
    }
    this.rig.simplify(!rich);
    this.rigMesh.material = this.skinMesh.material;
  }

  /** Moves everything as a frame says. */
  show(frame: Frame): void {
    const [x, y, z, w, a, b, c] = frame.pose;
    this.group.quaternion.set(x ?? 0, y ?? 0, z ?? 0, w ?? 1);
    this.group.position.set(a ?? 0, b ?? 0, c ?? 0);
    for (const section of frame.sections) {
      if (section.kind === SECTION.rig) {
        this.rig.move(section);
        this.hasRig = true;
      } else if (section.kind === SECTION.shown && section.mesh === this.scene.skin) {
        this.skin.move(section);
      }
    }
    this.showParts(frame);
  }

  /** Moves what rides along. Frames contain it only when it moves, so no frame may be missed. */
  showParts(frame: Frame): void {
    for (const section of frame.sections) {
      if (section.kind === SECTION.shown && section.mesh !== this.scene.skin) this.parts[section.mesh]?.surface.move(section);
    }
  }

  /** Another version of the same rig keeps what does not change. */
  takeOver(before: Head): void {
    this.parts.forEach(({ surface }, index) => surface.takeOver(before.parts[index]?.surface));
    this.rig.takeOver(before.rig);
  }

  regionOf(point: number): string {
    return this.scene.regions[this.regions[point] ?? 0] ?? "";
  }

  dispose(): void {
    for (const { surface } of this.parts) surface.dispose();
    this.rig.dispose();
    this.materials.dispose();
  }
}
