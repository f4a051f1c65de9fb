// Materials. Colours come from the rig's own materials or texture; how skin takes light is ours.

import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { KTX2Loader } from "three/addons/loaders/KTX2Loader.js";
import type { Container, Look, Scene, SceneRange } from "../protocol";
import { plainMaterial } from "./plain";
import { asSkin } from "./skin";

/** How things look where the file does not say. */
const PLAIN: Record<Look, { color: number; roughness: number }> = {
  skin: { color: 0xd9a58c, roughness: 0.5 },
  eye: { color: 0xf2efea, roughness: 0.08 },
  teeth: { color: 0xeee6d6, roughness: 0.25 },
  gums: { color: 0xb5605c, roughness: 0.35 },
  hair: { color: 0x2a211c, roughness: 0.7 },
  other: { color: 0xb9b4ae, roughness: 0.6 },
};

function ours(look: Look, map: THREE.Texture | null): THREE.MeshPhysicalMaterial {
  const { color, roughness } = PLAIN[look];
  const material = new THREE.MeshPhysicalMaterial({ color: map ? 0xffffff : color, map, roughness });
  dress(material, look);
  return material;
}

/** Adds to a material what makes skin look like skin and eyes look wet. */
function dress(material: THREE.MeshPhysicalMaterial, look: Look): void {
  if (look === "skin") {
    asSkin(material);
  } else if (look === "eye") {
    material.userData["shines"] = true;
    material.clearcoat = 1;
    material.clearcoatRoughness = 0.03;
  } else if (look === "gums" || look === "teeth") {
    material.clearcoat = 0.5;
    material.clearcoatRoughness = 0.2;
  } else if (look === "hair") {
    material.side = THREE.DoubleSide;
  }
}

/** Pictures that take longer than this are shown when they come, in milliseconds. */
const PATIENCE = 1500;

/** Materials of a scene. */
export class Materials {
  private readonly cheapOnes = new Map<THREE.Material, THREE.Material>();
  /** The file's own, and as they are used for a look: one material may serve skin and teeth. */
  private readonly ofFile = new Map<number, THREE.Material>();
  private readonly dressed = new Map<string, THREE.Material>();
  private texture: THREE.Texture | null = null;
  /** How opaque things of a look are. */
  opacity: (look: Look) => number = () => 1;
  /** Called when pictures have come late. */
  changed: () => void = () => {};
  private readonly plain = new Map<Look, THREE.MeshPhysicalMaterial>();
  private readonly textured = new Map<Look, THREE.MeshPhysicalMaterial>();

  /** Materials for a mesh: one for each of its ranges, or one for all. */
  of(look: Look, ranges: SceneRange[], withTexture: boolean, rich: boolean): THREE.Material | THREE.Material[] {
    const materials = this.richOf(look, ranges, withTexture).map(([material, look]) => {
      const made = rich ? material : this.cheapOf(material);
      setOpacity(made, this.opacity(look));
      return made;
    });
    return materials.length === 1 ? (materials[0] as THREE.Material) : materials;
  }

  private cheapOf(material: THREE.Material): THREE.Material {
    const made = this.cheapOnes.get(material) ?? plainMaterial(material);
    this.cheapOnes.set(material, made);
    return made;
  }

  private richOf(look: Look, ranges: SceneRange[], withTexture: boolean): [THREE.Material, Look][] {
    const ours = (look: Look) => (withTexture ? this.cached(this.textured, look, this.texture) : this.cached(this.plain, look, null));
    if (ranges.length === 0) return [[ours(look), look]];
    return ranges.map(({ material, look }) => [(withTexture && this.fileOf(material, look)) || ours(look), look]);
  }

  private fileOf(index: number, look: Look): THREE.Material | null {
    const own = this.ofFile.get(index);
    if (!own) return null;
    const key = `${look} ${index}`;
    const made = this.dressed.get(key) ?? dressed(own, look);
    this.dressed.set(key, made);
    return made;
  }

  private cached(
    kept: Map<Look, THREE.MeshPhysicalMaterial>,
    look: Look,
    map: THREE.Texture | null,
  ): THREE.MeshPhysicalMaterial {
    let material = kept.get(look);
    if (!material) {
      material = ours(look, map);
      kept.set(look, material);
    }
    return material;
  }

  dispose(): void {
    const kept = [this.plain, this.textured, this.cheapOnes, this.dressed, this.ofFile];
    for (const material of kept.flatMap((materials) => [...materials.values()])) material.dispose();
    this.texture?.dispose();
  }

  /** Reads the materials of a scene. Our own replace those that cannot be read. */
  static async read(container: Container<Scene>, renderer: THREE.WebGLRenderer): Promise<Materials> {
    const materials = new Materials();
    const { texture, materials: glb, meshes } = container.header;
    if (texture) materials.texture = await picture(container.bytes(texture));
    if (glb) {
      const used = new Set(meshes.flatMap((mesh) => mesh.ranges.map((range) => range.material)));
      const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
      const read = materials.readFile(container.bytes(glb), used, renderer);
      void read.then(() => materials.changed());
      await Promise.race([read, late]);
    }
    return materials;
  }

  private async readFile(
    glb: Uint8Array<ArrayBuffer>,
    used: Set<number>,
    renderer: THREE.WebGLRenderer,
  ): Promise<void> {
    const compressed = new KTX2Loader().detectSupport(renderer);
    const loader = new GLTFLoader().setKTX2Loader(compressed);
    try {
      const { parser } = await loader.parseAsync(glb.slice().buffer, "");
      for (const index of used) {
        if (index < 0) continue;
        const material = (await parser.getDependency("material", index).catch(() => null)) as THREE.Material | null;
        if (material) this.ofFile.set(index, material);
      }
    } catch {
      // The pictures are a bonus: without them the face is shown in plain colours.
      this.ofFile.clear();
    } finally {
      compressed.dispose();
    }
  }
}

/** Makes a material as opaque as wanted; one that the file made transparent stays so. */
function setOpacity(material: THREE.Material, opacity: number): void {
  const own = (material.userData["own"] ??= { opacity: material.opacity, transparent: material.transparent }) as { opacity: number; transparent: boolean };
  const transparent = own.transparent || opacity < 1;
  if (material.transparent !== transparent) material.needsUpdate = true;
  material.transparent = transparent;
  material.opacity = own.opacity * opacity;
  material.visible = opacity > 0;
  if (material instanceof THREE.ShaderMaterial && material.uniforms["opacity"]) material.uniforms["opacity"].value = opacity;
}

/** A file's material with the light of ours. */
function dressed(material: THREE.Material, look: Look): THREE.Material {
  if (!(material instanceof THREE.MeshStandardMaterial)) return material;
  const better = new THREE.MeshPhysicalMaterial();
  if (material instanceof THREE.MeshPhysicalMaterial) better.copy(material);
  else THREE.MeshStandardMaterial.prototype.copy.call(better, material);
  better.defines = { STANDARD: "", PHYSICAL: "" };
  // A face that is all matt or all mirror comes from exporters' defaults more often than from artists.
  if (look === "skin" && !material.roughnessMap) better.roughness = Math.min(Math.max(material.roughness, 0.4), 0.6);
  if (!material.metalnessMap && look !== "other") better.metalness = 0;
  dress(better, look);
  return better;
}

async function picture(bytes: Uint8Array<ArrayBuffer>): Promise<THREE.Texture | null> {
  try {
    const image = await createImageBitmap(new Blob([bytes]), { imageOrientation: "none" });
    const texture = new THREE.Texture(image);
    // Rig space has v downwards, as glTF.
    texture.flipY = false;
    texture.colorSpace = THREE.SRGBColorSpace;
    texture.anisotropy = 4;
    texture.needsUpdate = true;
    return texture;
  } catch {
    return null;
  }
}
