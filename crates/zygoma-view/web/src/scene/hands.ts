// Whole hands on the face, drawn as rounded bones of glass.

import * as THREE from "three";
import { type Frame, SECTION } from "../protocol";
import { LAYER } from "./occlusion";

const FINGERS = [5, 10, 15, 20];

/** Bones as pairs of joints, in the order of WebXR: three of the thumb, four of each finger, two in the heel of the hand. */
const BONES: [number, number][] = [
  [1, 2],
  [2, 3],
  [3, 4],
  ...FINGERS.flatMap((first) => [0, 1, 2, 3].map((k): [number, number] => [first + k, first + k + 1])),
  [0, 10],
  [5, 20],
];

/** Hands that are drawn at most. */
const HANDS = 2;

const VERTEX = `
  varying vec3 vNormal;
  varying vec3 vView;
  void main() {
    mat4 placed = modelViewMatrix * instanceMatrix;
    vec4 at = placed * vec4( position, 1.0 );
    vNormal = normalize( mat3( placed ) * normal );
    vView = normalize( - at.xyz );
    gl_Position = projectionMatrix * at;
  }`;

/** Glass: clear where it is seen from above, bright at the rim. */
const FRAGMENT = `
  uniform vec3 color;
  varying vec3 vNormal;
  varying vec3 vView;
  void main() {
    float facing = abs( dot( normalize( vNormal ), normalize( vView ) ) );
    float shine = pow( max( dot( normalize( vNormal ), vec3( 0.36, 0.57, 0.74 ) ), 0.0 ), 40.0 );
    gl_FragColor = vec4( mix( color * ( 0.55 + 0.45 * facing ), vec3( 1.0 ), shine ), 0.35 + 0.5 * pow( 1.0 - facing, 1.5 ) );
    #include <colorspace_fragment>
  }`;

const COLOR = 0x9cc8f0;

export class HandView {
  /** Goes into the head's group. */
  readonly group = new THREE.Group();
  private readonly rods: THREE.InstancedMesh[];
  private readonly balls: THREE.InstancedMesh[];

  constructor() {
    const rod = new THREE.CylinderGeometry(1, 1, 1, 24, 1, true);
    const ball = new THREE.SphereGeometry(1, 24, 16);
    // Only the nearest surface of all bones together is seen: their depth is drawn first.
    const depth = new THREE.ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: uniforms(), colorWrite: false });
    const glass = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      uniforms: uniforms(),
      transparent: true,
      depthWrite: false,
      depthFunc: THREE.LessEqualDepth,
    });
    const drawn = (shape: THREE.BufferGeometry, most: number) =>
      [depth, glass].map((material, pass) => {
        const mesh = new THREE.InstancedMesh(shape, material, most);
        mesh.count = 0;
        mesh.frustumCulled = false;
        mesh.renderOrder = 4 + pass;
        mesh.layers.set(LAYER.thin);
        this.group.add(mesh);
        return mesh;
      });
    this.rods = drawn(rod, HANDS * BONES.length);
    this.balls = drawn(ball, 2 * HANDS * BONES.length);
  }

  /** Number of hands that are drawn. */
  get count(): number {
    return (this.rods[0]?.count ?? 0) / BONES.length;
  }

  /** Puts the hands where a frame has them. */
  follow(frame: Frame): void {
    const hands = frame.sections.filter(({ kind }) => kind === SECTION.hand).slice(0, HANDS);
    let [rods, balls] = [0, 0];
    const matrix = new THREE.Matrix4();
    const up = new THREE.Vector3(0, 1, 0);
    for (const { numbers, scale } of hands) {
      const number = (index: number) => scale * (numbers[index] ?? 0);
      const place = (joint: number) => new THREE.Vector3(number(4 * joint), number(4 * joint + 1), number(4 * joint + 2));
      for (const [from, to] of BONES) {
        const [a, b] = [place(from), place(to)];
        const radius = 0.5 * (number(4 * from + 3) + number(4 * to + 3));
        const length = Math.max(a.distanceTo(b), 1e-6);
        const turned = new THREE.Quaternion().setFromUnitVectors(up, b.clone().sub(a).divideScalar(length));
        matrix.compose(a.clone().lerp(b, 0.5), turned, new THREE.Vector3(radius, length, radius));
        for (const mesh of this.rods) mesh.setMatrixAt(rods, matrix);
        rods++;
        for (const end of [a, b]) {
          matrix.makeScale(radius, radius, radius).setPosition(end);
          for (const mesh of this.balls) mesh.setMatrixAt(balls, matrix);
          balls++;
        }
      }
    }
    for (const [meshes, count] of [
      [this.rods, rods],
      [this.balls, balls],
    ] as const) {
      for (const mesh of meshes) {
        mesh.count = count;
        mesh.instanceMatrix.needsUpdate = true;
      }
    }
  }
}

function uniforms() {
  return { color: { value: new THREE.Color(COLOR) } };
}
