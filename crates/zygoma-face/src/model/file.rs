//! A face as one safetensors file: named arrays behind a JSON header, with all other data in its metadata. The same face gives the same
//! bytes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_rig::formats::Limits;
use zygoma_rig::{Error, Result, SparseDeltas};

use super::Inside;
use super::container::{self, pack};
use super::face::{CoarseSkin, FaceModel, FaceShape};
use super::origin::Origin;
use super::section::{Section, Sections};
use super::validate;

/// The version that this code reads and writes. Versions 2 and 3 stored lengths in face heights, and only a shell; 4 had no
/// inside.
const VERSION: u64 = 5;

/// The kind of file.
const KIND: &str = "zygoma_face";

/// Arrays of the model itself have names without a section prefix.
const MODEL: &str = "model";

#[derive(Serialize, Deserialize)]
struct Metadata {
    version: u64,
    name: String,
    mesh: String,
    height: f64,
    shapes: Vec<String>,
    origin: Origin,
    /// Descriptions of the sections.
    sections: BTreeMap<String, serde_json::Value>,
}

impl FaceModel {
    /// Writes the face atomically: the file appears complete or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(zygoma_files::write(path, &self.to_bytes())?)
    }

    /// Reads a face from a file whose size is within the limits.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let bytes = zygoma_files::read(path, limits.file_bytes)?;
        let face = Self::from_bytes(&bytes).map_err(|problem| Error::malformed(path, problem))?;
        let counts = [
            ("vertices", face.vertex_count(), limits.vertices),
            ("shapes", face.shapes.len(), limits.shapes),
        ];
        for (what, count, most) in counts {
            if count > most {
                let problem = format!("the face has {count} {what}, and {most} are allowed");
                return Err(Error::malformed(path, problem));
            }
        }
        Ok(face)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let inside = self.inside.write();
        let own = self.sections.iter().map(|(name, section)| (name.as_str(), section));
        let sections = || own.clone().chain([(Inside::NAME, &inside)]);
        let metadata = Metadata {
            version: VERSION,
            name: self.name.clone(),
            mesh: self.mesh.clone(),
            height: self.height,
            shapes: self.shapes.iter().map(|shape| shape.name.clone()).collect(),
            origin: self.origin.clone(),
            sections: sections().map(|(name, s)| (name.to_owned(), s.description.clone())).collect(),
        };
        let model = self.arrays();
        pack(KIND, &metadata, [(MODEL, &model)].into_iter().chain(sections()))
    }

    /// The model's own arrays.
    fn arrays(&self) -> Section {
        let mut arrays = Section::default();
        arrays.add_vectors("neutral", &self.neutral);
        arrays.add("triangles", 3, self.triangles.as_flattened());
        arrays.add("skin", 1, &self.skin);
        arrays.add("embedding.vertices", 3, self.embedding.vertices.as_flattened());
        arrays.add("embedding.weights", 3, self.embedding.weights.as_flattened());
        let coarse = &self.coarse;
        arrays.add_vectors64("coarse.positions", &coarse.positions);
        arrays.add("coarse.triangles", 3, coarse.triangles.as_flattened());
        arrays.add_flags("coarse.held", &coarse.is_held);
        let on_mesh: Vec<u32> = coarse.on_mesh.iter().map(|point| point.triangle).collect();
        arrays.add("coarse.on_mesh.triangles", 1, &on_mesh);
        let barycentric: Vec<[f64; 3]> = coarse.on_mesh.iter().map(|point| point.barycentric).collect();
        arrays.add("coarse.on_mesh.barycentric", 3, barycentric.as_flattened());
        for (index, shape) in self.shapes.iter().enumerate() {
            arrays.add_deltas(&format!("shape.{index:04}.deltas"), &shape.deltas);
            arrays.add_deltas(&format!("shape.{index:04}.coarse"), &shape.coarse);
        }
        arrays
    }

    /// Reads the bytes of a file; an error is a sentence about what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let (metadata, mut sections) = read_sections(bytes)?;
        let arrays = sections.remove(MODEL).unwrap_or_default();
        let neutral = arrays.vectors("neutral")?;
        let count = neutral.len();
        let positions = arrays.vectors64("coarse.positions")?;
        let coarse = positions.len();
        let on_mesh: Vec<u32> = arrays.exactly("coarse.on_mesh.triangles", coarse)?;
        let barycentric: Vec<f64> = arrays.exactly("coarse.on_mesh.barycentric", 3 * coarse)?;
        let on_mesh = on_mesh
            .iter()
            .zip(barycentric.as_chunks::<3>().0)
            .map(|(triangle, barycentric)| SurfacePoint { triangle: *triangle, barycentric: *barycentric })
            .collect();
        let deltas = |index: usize, part: &str, limit: usize| -> std::result::Result<SparseDeltas, String> {
            arrays.deltas(&format!("shape.{index:04}.{part}"), limit)
        };
        let inside = sections.remove(Inside::NAME).unwrap_or_default();
        let shapes = (0usize..).zip(metadata.shapes).map(|(index, name)| {
            Ok(FaceShape {
                name,
                deltas: deltas(index, "deltas", count)?,
                coarse: deltas(index, "coarse", coarse)?,
            })
        });
        let weights: Vec<f32> = arrays.numbers("embedding.weights")?;
        let mut face = Self {
            shapes: shapes.collect::<std::result::Result<_, String>>()?,
            name: metadata.name,
            mesh: metadata.mesh,
            height: metadata.height,
            embedding: Embedding {
                vertices: arrays.indices("embedding.vertices", coarse)?,
                weights: weights.as_chunks::<3>().0.to_vec(),
            },
            coarse: CoarseSkin {
                triangles: arrays.indices("coarse.triangles", coarse)?,
                is_held: arrays.flags("coarse.held", coarse)?,
                positions,
                on_mesh,
            },
            triangles: arrays.indices("triangles", count)?,
            skin: arrays.numbers("skin")?,
            neutral,
            inside: Inside::default(),
            origin: metadata.origin,
            sections,
        };
        let again = |problem: String| format!("{problem}; build the face again");
        validate::check(&face).map_err(again)?;
        face.inside = Inside::read(&inside, face.shapes.len(), count)
            .map_err(|problem| again(format!("section {}: {problem}", Inside::NAME)))?;
        Ok(face)
    }
}

/// The metadata and the sections of a file of the present version.
fn read_sections(bytes: &[u8]) -> std::result::Result<(Metadata, Sections), String> {
    let not_a_face = || "this is not a face file of zygoma; make one with `zygoma build`".to_owned();
    let mut container = container::open(KIND, bytes)?.ok_or_else(not_a_face)?;
    let plain = std::mem::take(&mut container.metadata);
    let version = plain.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if version != VERSION {
        let age = if version < VERSION { "an older" } else { "a newer" };
        return Err(format!(
            "it was written by {age} zygoma (version {version} of the format, where this one reads {VERSION}); \
             build it again with `zygoma build RIG -o FACE`"
        ));
    }
    let metadata: Metadata =
        serde_json::from_value(plain).map_err(|error| format!("its description cannot be read: {error}"))?;
    let mut sections = container.sections()?;
    for (name, description) in &metadata.sections {
        sections.entry(name.clone()).or_default().description = description.clone();
    }
    Ok((metadata, sections))
}
