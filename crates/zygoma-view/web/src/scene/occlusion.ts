// Ambient occlusion: creases, the corners of eyes and what lies behind lips get less of the room's light.
//
// Depth is drawn once more into a texture; for every pixel, points around it that rise above its surface take light away
// (M. McGuire et al., Scalable Ambient Obscurance, HPG 2012). The result is smoothed without crossing edges, and
// darkens the picture that is there.

import * as THREE from "three";
import { FullScreenQuad } from "three/addons/postprocessing/Pass.js";

/** Layers: hair is full of holes that depth does not know of, and fingers are made of glass. */
export const LAYER = { solid: 0, thin: 1 } as const;

/** How far things darken each other, as a fraction of the head's size. Ours: about 2.5 cm. */
const RADIUS = 0.09;

const VERTEX = `
  varying vec2 vUv;
  void main() {
    vUv = uv;
    gl_Position = vec4( position.xy, 0.0, 1.0 );
  }`;

/** Reading of depths: the distance from the camera's plane. */
const DEPTHS = `
  uniform highp sampler2D depths;
  uniform vec2 range;
  float distanceAt( vec2 at ) {
    float depth = texture2D( depths, at ).x;
    return range.x * range.y / ( range.y - depth * ( range.y - range.x ) );
  }`;

const FRAGMENT = `
  ${DEPTHS}
  uniform vec2 size;
  uniform vec2 slope;
  uniform float radius;
  varying vec2 vUv;
  const int SAMPLES = 16;
  const float TURNS = 7.0;
  vec3 placeAt( vec2 at ) {
    float far = distanceAt( at );
    return vec3( ( 2.0 * at - 1.0 ) * slope * far, - far );
  }
  // Across an edge, the slope comes from the neighbour on the same side.
  vec3 step2( vec3 before, vec3 here, vec3 after ) {
    vec3 a = here - before;
    vec3 b = after - here;
    return abs( a.z ) < abs( b.z ) ? a : b;
  }
  void main() {
    vec2 pixel = 1.0 / size;
    vec3 here = placeAt( vUv );
    if ( - here.z > 0.98 * range.y ) {
      gl_FragColor = vec4( 1.0 );
      return;
    }
    vec3 across = step2( placeAt( vUv - vec2( pixel.x, 0.0 ) ), here, placeAt( vUv + vec2( pixel.x, 0.0 ) ) );
    vec3 upwards = step2( placeAt( vUv - vec2( 0.0, pixel.y ) ), here, placeAt( vUv + vec2( 0.0, pixel.y ) ) );
    vec3 normal = normalize( cross( across, upwards ) );
    float turned = 6.2832 * fract( 52.9829189 * fract( dot( gl_FragCoord.xy, vec2( 0.06711056, 0.00583715 ) ) ) );
    vec2 reach = radius / ( 2.0 * slope * - here.z );
    float sum = 0.0;
    for ( int i = 0; i < SAMPLES; i++ ) {
      float share = ( float( i ) + 0.5 ) / float( SAMPLES );
      float angle = turned + share * TURNS * 6.2832;
      // Closer together near the middle, where creases are.
      vec3 away = placeAt( vUv + share * share * reach * vec2( cos( angle ), sin( angle ) ) ) - here;
      float squared = dot( away, away ) / ( radius * radius );
      float above = dot( away, normal ) / radius - 0.025;
      float falloff = max( 1.0 - squared, 0.0 );
      sum += falloff * falloff * max( above, 0.0 ) / ( squared + 0.003 ) * share;
    }
    gl_FragColor = vec4( vec3( clamp( 1.0 - 1.25 * sum / float( SAMPLES ), 0.0, 1.0 ) ), 1.0 );
  }`;

const SMOOTHED = `
  ${DEPTHS}
  uniform sampler2D shade;
  uniform vec2 along;
  uniform float radius;
  varying vec2 vUv;
  void main() {
    float here = distanceAt( vUv );
    float sum = 0.0;
    float weights = 0.0;
    for ( int i = -5; i <= 5; i++ ) {
      vec2 at = vUv + float( i ) * along;
      float near = exp( - abs( distanceAt( at ) - here ) / ( 0.15 * radius ) ) * exp( - float( i * i ) / 16.0 );
      sum += near * texture2D( shade, at ).x;
      weights += near;
    }
    gl_FragColor = vec4( vec3( sum / weights ), 1.0 );
  }`;

/** Light that bounces between two pieces of skin comes back red, so creases are warm. */
const APPLIED = `
  uniform sampler2D shade;
  varying vec2 vUv;
  void main() {
    float light = texture2D( shade, vUv ).x;
    gl_FragColor = vec4( pow( vec3( light ), vec3( 0.8, 1.25, 1.4 ) ), 1.0 );
  }`;

export class Occlusion {
  private readonly drawn = new THREE.WebGLRenderTarget(1, 1, { depthTexture: new THREE.DepthTexture(1, 1, THREE.UnsignedIntType) });
  private readonly shades = [0, 1].map(
    () => new THREE.WebGLRenderTarget(1, 1, { depthBuffer: false, format: THREE.RedFormat }),
  ) as [THREE.WebGLRenderTarget, THREE.WebGLRenderTarget];
  private readonly depthOnly = new THREE.MeshBasicMaterial({ colorWrite: false });
  private readonly shared = {
    depths: { value: this.drawn.depthTexture },
    range: { value: new THREE.Vector2() },
    size: { value: new THREE.Vector2() },
    slope: { value: new THREE.Vector2() },
    radius: { value: 1 },
  };
  private readonly compute = quad(FRAGMENT, this.shared);
  private readonly smooth = quad(SMOOTHED, { ...this.shared, shade: { value: null }, along: { value: new THREE.Vector2() } });
  private readonly apply = quad(APPLIED, { shade: { value: this.shades[0].texture } });

  constructor() {
    const { material } = this.apply;
    Object.assign(material, {
      blending: THREE.CustomBlending,
      blendSrc: THREE.ZeroFactor,
      blendDst: THREE.SrcColorFactor,
      blendSrcAlpha: THREE.ZeroFactor,
      blendDstAlpha: THREE.OneFactor,
      transparent: true,
    });
  }

  /** How large the head is, in metres. */
  fit(size: number): void {
    this.shared.radius.value = RADIUS * size;
  }

  /** Fits a picture of so many pixels. */
  resize(width: number, height: number): void {
    for (const target of [this.drawn, ...this.shades]) target.setSize(width, height);
    this.shared.size.value.set(width, height);
  }

  /** Darkens what was just drawn. */
  darken(renderer: THREE.WebGLRenderer, scene: THREE.Scene, camera: THREE.PerspectiveCamera): void {
    const { range, slope, size } = this.shared;
    range.value.set(camera.near, camera.far);
    const upwards = Math.tan((camera.fov * Math.PI) / 360);
    slope.value.set(upwards * camera.aspect, upwards);
    const shadows = renderer.shadowMap.autoUpdate;
    renderer.shadowMap.autoUpdate = false;
    scene.overrideMaterial = this.depthOnly;
    camera.layers.set(LAYER.solid);
    this.draw(renderer, this.drawn, () => {
      renderer.clear();
      renderer.render(scene, camera);
    });
    camera.layers.enableAll();
    scene.overrideMaterial = null;
    renderer.shadowMap.autoUpdate = shadows;
    this.draw(renderer, this.shades[0], () => this.compute.render(renderer));
    const uniforms = (this.smooth.material as THREE.ShaderMaterial).uniforms as { shade: THREE.IUniform; along: THREE.IUniform<THREE.Vector2> };
    uniforms.shade.value = this.shades[0].texture;
    uniforms.along.value.set(1 / size.value.x, 0);
    this.draw(renderer, this.shades[1], () => this.smooth.render(renderer));
    uniforms.shade.value = this.shades[1].texture;
    uniforms.along.value.set(0, 1 / size.value.y);
    this.draw(renderer, this.shades[0], () => this.smooth.render(renderer));
    this.apply.render(renderer);
  }

  private draw(renderer: THREE.WebGLRenderer, target: THREE.WebGLRenderTarget, paint: () => void): void {
    renderer.setRenderTarget(target);
    paint();
    renderer.setRenderTarget(null);
  }
}

function quad(fragmentShader: string, uniforms: Record<string, THREE.IUniform>): FullScreenQuad {
  const settings = { uniforms, vertexShader: VERTEX, fragmentShader, depthTest: false, depthWrite: false, toneMapped: false };
  return new FullScreenQuad(new THREE.ShaderMaterial(settings));
}
