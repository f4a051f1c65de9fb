// Skin for machines without a graphics card: light is computed at the vertices, pixels only look up the texture.

import * as THREE from "three";

const VERTEX = `
  #include <clipping_planes_pars_vertex>
  #ifdef SHINES
    varying vec3 vNormal;
    varying vec3 vView;
  #endif
  #ifdef FADES
    attribute float fade;
    varying float vFade;
  #endif
  varying vec3 vLight;
  varying vec2 vUv;
  void main() {
    vec3 n = normalize( mat3( modelMatrix ) * normal );
    // A warm key that wraps around a little, as under skin, and the room.
    vec3 key = vec3( 0.8, 0.72, 0.64 ) * clamp( ( dot( n, vec3( 0.43, 0.545, 0.72 ) ) + 0.15 ) / 1.15, 0.0, 1.0 );
    vec3 room = mix( vec3( 0.17, 0.14, 0.13 ), vec3( 0.34, 0.35, 0.37 ), 0.5 + 0.5 * n.y );
    vLight = key + room;
    vUv = uv;
    #ifdef FADES
      vFade = fade;
    #endif
    #ifdef SHINES
      vNormal = n;
      vView = cameraPosition - ( modelMatrix * vec4( position, 1.0 ) ).xyz;
    #endif
    vec4 mvPosition = modelViewMatrix * vec4( position, 1.0 );
    #include <clipping_planes_vertex>
    gl_Position = projectionMatrix * mvPosition;
  }`;

const FRAGMENT = `
  #include <clipping_planes_pars_fragment>
  uniform vec3 color;
  uniform float cutoff;
  uniform float opacity;
  #ifdef USE_PICTURE
    uniform sampler2D picture;
  #endif
  #ifdef SHINES
    varying vec3 vNormal;
    varying vec3 vView;
  #endif
  #ifdef FADES
    varying float vFade;
  #endif
  varying vec3 vLight;
  varying vec2 vUv;
  void main() {
    #include <clipping_planes_fragment>
    vec4 base = vec4( color, 1.0 );
    #ifdef USE_PICTURE
      base *= texture2D( picture, vUv );
      if ( base.a < cutoff ) discard;
    #endif
    gl_FragColor = vec4( base.rgb * vLight, 1.0 );
    #ifdef SHINES
      // Wet surfaces mirror the window.
      vec3 halfway = normalize( normalize( vView ) + vec3( 0.43, 0.545, 0.72 ) );
      gl_FragColor.rgb += 0.9 * smoothstep( 0.975, 0.99, dot( normalize( vNormal ), halfway ) );
    #endif
    #include <colorspace_fragment>
    #ifdef FADES
      gl_FragColor *= vFade;
    #endif
    gl_FragColor *= opacity;
  }`;

/** The same colours at a fraction of the cost. */
export function plainMaterial(material: THREE.Material): THREE.Material {
  if (!(material instanceof THREE.MeshStandardMaterial)) return material;
  const { color, map, side, alphaTest, transparent, userData } = material;
  return new THREE.ShaderMaterial({
    uniforms: { color: { value: color }, picture: { value: map }, cutoff: { value: transparent ? 0.5 : alphaTest }, opacity: { value: 1 } },
    defines: {
      ...(map ? { USE_PICTURE: "" } : {}),
      ...(userData["fades"] ? { FADES: "" } : {}),
      ...(userData["shines"] ? { SHINES: "" } : {}),
    },
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    clipping: true,
    premultipliedAlpha: true,
    side,
  });
}
