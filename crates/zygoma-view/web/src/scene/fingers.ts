// Fingertips on the skin, the place under the cursor, and held skin.

import * as THREE from "three";
import type { TouchReport } from "../protocol";
import { LAYER } from "./occlusion";

const VERTEX = `
  varying vec3 vNormal;
  varying vec3 vView;
  varying float vAlong;
  void main() {
    vec4 at = modelViewMatrix * vec4( position, 1.0 );
    vNormal = normalize( normalMatrix * normal );
    vView = normalize( - at.xyz );
    vAlong = position.y;
    gl_Position = projectionMatrix * at;
  }`;

/** Glass: clear in the middle, bright at the rim, fainter along the finger. */
const FRAGMENT = `
  uniform vec3 color;
  uniform float strength;
  varying vec3 vNormal;
  varying vec3 vView;
  varying float vAlong;
  void main() {
    float rim = pow( 1.0 - abs( dot( normalize( vNormal ), normalize( vView ) ) ), 1.8 );
    float fade = 1.0 - 0.75 * smoothstep( 0.2, 3.0, vAlong );
    float shine = pow( max( dot( normalize( vNormal ), vec3( 0.36, 0.57, 0.74 ) ), 0.0 ), 40.0 );
    gl_FragColor = vec4( mix( color, vec3( 1.0 ), shine ), min( 0.2 + 0.75 * rim + 0.6 * shine, 1.0 ) * fade * strength );
    #include <colorspace_fragment>
  }`;

const ACCENT = 0x6cb6ff;

interface Finger {
  mesh: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  outward: THREE.Vector3;
}

/** A fingertip of radius 1: the tip at the origin, the finger along +Y. */
function fingertip(): THREE.BufferGeometry {
  return new THREE.CapsuleGeometry(1, 3.2, 12, 32).translate(0, 1.6, 0);
}

export class Fingers {
  /** Goes into the head's group. */
  readonly group = new THREE.Group();
  private readonly shape = fingertip();
  private readonly ball = new THREE.SphereGeometry(1, 24, 16);
  private readonly ring: THREE.Mesh;
  private readonly fingers = new Map<number, Finger>();

  constructor() {
    const material = new THREE.MeshBasicMaterial({
      color: ACCENT,
      transparent: true,
      opacity: 0.75,
      depthTest: false,
      side: THREE.DoubleSide,
    });
    this.ring = new THREE.Mesh(new THREE.RingGeometry(0.9, 1, 48), material);
    this.ring.visible = false;
    this.ring.renderOrder = 3;
    this.ring.layers.set(LAYER.thin);
    this.group.add(this.ring);
  }

  /** Shows where a finger would touch. */
  aim(point: THREE.Vector3 | null, normal: THREE.Vector3 | null, radius: number): void {
    this.ring.visible = point !== null;
    if (!point || !normal) return;
    this.ring.position.copy(point).addScaledVector(normal, 0.0005);
    this.ring.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal);
    this.ring.scale.setScalar(radius);
  }

  /** Says which way a finger points away from the skin. */
  hold(id: number, outward: THREE.Vector3, radius: number, pulls: boolean): void {
    let finger = this.fingers.get(id);
    if (!finger) {
      const uniforms = { color: { value: new THREE.Color(ACCENT) }, strength: { value: 0 } };
      const material = new THREE.ShaderMaterial({
        uniforms,
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        transparent: true,
        depthWrite: false,
      });
      const mesh = new THREE.Mesh(pulls ? this.ball : this.shape, material);
      mesh.renderOrder = 2;
      mesh.layers.set(LAYER.thin);
      mesh.visible = false;
      finger = { mesh, outward: outward.clone() };
      this.fingers.set(id, finger);
      this.group.add(mesh);
    }
    // A finger turns slowly.
    finger.outward.lerp(outward, 0.25).normalize();
    finger.mesh.scale.setScalar(pulls ? 0.55 * radius : radius);
    finger.mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), finger.outward);
  }

  /** Puts the fingers where they really are. */
  follow(reports: TouchReport[]): void {
    for (const [id, finger] of this.fingers) {
      const report = reports.find((touch) => touch.id === id);
      if (!report) continue;
      finger.mesh.visible = true;
      finger.mesh.position.fromArray(report.place);
      const strength = finger.mesh.material.uniforms["strength"];
      if (strength) strength.value = Math.min(1, strength.value + 0.2);
    }
  }

  letGo(id: number): void {
    const finger = this.fingers.get(id);
    if (!finger) return;
    this.group.remove(finger.mesh);
    finger.mesh.material.dispose();
    this.fingers.delete(id);
  }

  clear(): void {
    for (const id of [...this.fingers.keys()]) this.letGo(id);
    this.ring.visible = false;
  }
}
