// A portrait's light: a soft room around, a warm key, a cool fill, a rim from behind.

import * as THREE from "three";
import { RoomEnvironment } from "three/addons/environments/RoomEnvironment.js";

export class Light {
  readonly group = new THREE.Group();
  /** Stands in for the room where reflections cost too much. */
  private readonly sky = new THREE.HemisphereLight(0xffffff, 0x8a7468, 0);
  private readonly others: THREE.Light[];
  private readonly key = new THREE.DirectionalLight(0xfff0e0, 2.0);

  constructor(renderer: THREE.WebGLRenderer, scene: THREE.Scene) {
    const generator = new THREE.PMREMGenerator(renderer);
    const room = new RoomEnvironment();
    scene.environment = generator.fromScene(room, 0.04).texture;
    scene.environmentIntensity = 0.42;
    generator.dispose();
    this.key.castShadow = true;
    this.key.shadow.bias = -0.0004;
    this.key.shadow.normalBias = 0.002;
    this.key.shadow.radius = 6;
    const fill = new THREE.DirectionalLight(0xc8dcff, 0.35);
    fill.position.set(-1.6, 0.1, 1.2);
    const rim = new THREE.DirectionalLight(0xffffff, 0.45);
    rim.position.set(-0.9, 0.9, -1.6);
    this.others = [fill, rim];
    this.group.add(this.key, this.key.target, fill, rim, this.sky);
    scene.add(this.group);
  }

  /** Aims at a head. */
  aim(middle: THREE.Vector3, size: number): void {
    this.key.position.copy(middle).add(new THREE.Vector3(0.75, 0.95, 1.25).multiplyScalar(2 * size));
    this.key.target.position.copy(middle);
    const camera = this.key.shadow.camera;
    camera.left = camera.bottom = -0.75 * size;
    camera.right = camera.top = 0.75 * size;
    camera.near = size;
    camera.far = 6 * size;
    camera.updateProjectionMatrix();
  }

  /** All of the light, or what a slow machine can do. */
  rich(on: boolean): void {
    this.sky.intensity = on ? 0 : 1.15;
    this.sky.visible = !on;
    for (const light of this.others) light.visible = on;
  }

  /** Shadows of a resolution; 0 for none. */
  shadows(size: number): void {
    this.key.castShadow = size > 0;
    if (size > 0 && this.key.shadow.mapSize.x !== size) {
      this.key.shadow.mapSize.set(size, size);
      this.key.shadow.map?.dispose();
      this.key.shadow.map = null;
    }
  }
}
