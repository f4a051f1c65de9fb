// How skin takes light: it scatters a little under the surface, has pores, and fades out where the head was cut off.

import * as THREE from "three";

/** Light that comes out of skin beside where it went in: red goes farthest. The light wraps around by these fractions. */
const WRAP = "vec3( 0.32, 0.13, 0.08 )";

/** Softens the edge between light and shadow and reddens it, as scattering under the skin does. */
const SCATTERED = `vec3 irradiance = dotNL * directLight.color;
  vec3 wrapNL = saturate( ( vec3( dot( geometryNormal, directLight.direction ) ) + ${WRAP} ) / ( 1.0 + ${WRAP} ) );
  vec3 wrapLight = max( vec3( 0.0 ), wrapNL - vec3( dotNL ) ) * directLight.color;
  reflectedLight.directDiffuse += wrapLight * BRDF_Lambert( material.diffuseContribution );`;

const LIT = "vec3 irradiance = dotNL * directLight.color;";

/** Makes a material fade where its geometry's attribute `fade` says so. The canvas is transparent where nothing is drawn, and what
 * fades becomes as transparent, without any sorting: the nearest surface has the say. */
export function fading<M extends THREE.Material>(material: M, also?: (shader: THREE.WebGLProgramParametersWithUniforms) => void): M {
  const faded = material.transparent ? "gl_FragColor.a *= vFade;" : "gl_FragColor *= vFade;";
  material.userData["fades"] = true;
  material.onBeforeCompile = (shader) => {
    shader.vertexShader = `attribute float fade;\nvarying float vFade;\n${shader.vertexShader}`.replace(
      "#include <begin_vertex>",
      "#include <begin_vertex>\nvFade = fade;",
    );
    shader.fragmentShader = `varying float vFade;\n${shader.fragmentShader}`.replace(
      "#include <dithering_fragment>",
      `#include <dithering_fragment>\n${faded}`,
    );
    also?.(shader);
  };
  material.customProgramCacheKey = () => `${faded}${also?.toString() ?? ""}`;
  return material;
}

/** Makes a material skin. */
export function asSkin(material: THREE.MeshPhysicalMaterial): void {
  material.sheen = 0.15;
  material.sheenRoughness = 0.5;
  material.sheenColor = new THREE.Color(0.9, 0.55, 0.45);
  material.specularIntensity = 0.7;
  fading(material, (shader) => {
    shader.fragmentShader = shader.fragmentShader.replace(
      "#include <lights_physical_pars_fragment>",
      THREE.ShaderChunk.lights_physical_pars_fragment.replace(LIT, SCATTERED),
    );
  });
}
