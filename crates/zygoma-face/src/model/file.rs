//! A prepared face as one safetensors file: named arrays behind a JSON header, with everything that is not an array in
//! its metadata. The same face gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_physics::shell::{Shell, ShellParams, Stiffness};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Error, Result, SparseDeltas};

use super::face::{CertifiedFace, Face, FacePair, FaceShape};
use super::origin::Origin;
use super::validate;

/// The version that this code writes, and the newest that it reads. Version 2 had no corrections at half weight and of
/// pairs of shapes.
const VERSION: u32 = 3;
const OLDEST: u32 = 2;

/// Headers longer than this are refused before they are read.
const LONGEST_HEADER: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
struct Metadata {
    version: u32,
    name: String,
    mesh: String,
    height: f64,
    shapes: Vec<String>,
    #[serde(default)]
    pairs: Vec<[u32; 2]>,
    params: ShellParams,
    certified: Option<CertifiedFace>,
    #[serde(default)]
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Face {
    /// Writes the face; a file appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(zygoma_files::write(path, &self.to_bytes())?)
    }

    /// Reads a face from a file that is not larger than the limits allow.
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
        let mut arrays = Arrays::default();
        arrays.add("neutral", "F32", 3, &flat(&self.neutral));
        arrays.add("triangles", "U32", 3, self.triangles.as_flattened());
        arrays.add("embedding.vertices", "U32", 3, self.embedding.vertices.as_flattened());
        arrays.add("embedding.weights", "F32", 3, self.embedding.weights.as_flattened());
        arrays.add("skin", "U32", 1, &self.skin);
        arrays.add("shell.rest", "F64", 3, &flat64(&self.shell.rest));
        arrays.add("shell.triangles", "U32", 3, self.shell.triangles.as_flattened());
        arrays.add("shell.strain", "F64", 1, &self.stiffness.strain);
        arrays.add("shell.bending", "F64", 1, &self.stiffness.bending);
        arrays.add("shell.depth", "F32", 1, &self.depth);
        arrays.add("shell.held", "U8", 1, &self.held.iter().map(|h| u8::from(*h)).collect::<Vec<u8>>());
        arrays.add("shell.residual", "F64", 3, &flat64(&self.neutral_residual));
        arrays.add(
            "places.triangles",
            "U32",
            1,
            &self.places.iter().map(|p| p.triangle).collect::<Vec<u32>>(),
        );
        let barycentric: Vec<[f64; 3]> = self.places.iter().map(|p| p.barycentric).collect();
        arrays.add("places.barycentric", "F64", 3, barycentric.as_flattened());
        for (index, shape) in self.shapes.iter().enumerate() {
            let parts = [
                ("coarse", &shape.coarse),
                ("residual", &shape.residual),
                ("half", &shape.half),
                ("detail", &shape.detail),
            ];
            for (part, deltas) in parts {
                arrays.add_deltas(&format!("shape.{index:04}.{part}"), deltas);
            }
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            arrays.add_deltas(&format!("pair.{index:04}"), &pair.residual);
        }
        let metadata = Metadata {
            version: VERSION,
            name: self.name.clone(),
            mesh: self.mesh.clone(),
            height: self.height,
            shapes: self.shapes.iter().map(|shape| shape.name.clone()).collect(),
            pairs: self.pairs.iter().map(|pair| pair.shapes).collect(),
            params: self.params.clone(),
            certified: self.certified.clone(),
            origin: self.origin.clone(),
        };
        arrays.finish(&metadata)
    }

    /// Reads the bytes of a file; an error is a sentence about what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let (metadata, file) = File::open(bytes)?;
        let neutral = vectors(&file.numbers("neutral")?);
        let count = neutral.len();
        let rest: Vec<DVec3> = vectors64(&file.numbers("shell.rest")?);
        let coarse = rest.len();
        let shell = Shell::new(rest, file.indices("shell.triangles", coarse)?)
            .map_err(|problem| format!("the shell cannot be simulated: {problem}"))?;
        let triangles: Vec<[u32; 3]> = file.indices("triangles", count)?;
        let place_triangles: Vec<u32> = file.numbers("places.triangles")?;
        let barycentric: Vec<f64> = file.numbers("places.barycentric")?;
        let weights: Vec<f32> = file.numbers("embedding.weights")?;
        let vertices = file.indices("embedding.vertices", coarse)?;
        let skin: Vec<u32> = file.numbers("skin")?;
        let depth: Vec<f32> = file.numbers("shell.depth")?;
        let held: Vec<u8> = file.numbers("shell.held")?;
        let residual = vectors64(&file.numbers("shell.residual")?);
        if place_triangles.len() != barycentric.len() / 3 {
            return Err("arrays places.triangles and places.barycentric differ in length".into());
        }
        let pairs = metadata.pairs.iter().enumerate().map(|(index, shapes)| {
            let residual = file.deltas(&format!("pair.{index:04}"), coarse)?;
            Ok(FacePair { shapes: *shapes, residual })
        });
        let pairs = pairs.collect::<std::result::Result<_, String>>()?;
        let has_half = metadata.version > 2;
        let shapes = (0usize..).zip(metadata.shapes).map(|(index, name)| {
            let part = |part: &str, limit: usize| file.deltas(&format!("shape.{index:04}.{part}"), limit);
            Ok(FaceShape {
                name,
                coarse: part("coarse", coarse)?,
                residual: part("residual", coarse)?,
                half: if has_half { part("half", coarse)? } else { SparseDeltas::default() },
                detail: part("detail", count)?,
            })
        });
        let face = Self {
            shapes: shapes.collect::<std::result::Result<_, String>>()?,
            pairs,
            name: metadata.name,
            mesh: metadata.mesh,
            height: metadata.height,
            embedding: Embedding { vertices, weights: weights.as_chunks::<3>().0.to_vec() },
            places: place_triangles
                .iter()
                .zip(barycentric.as_chunks::<3>().0)
                .map(|(triangle, barycentric)| SurfacePoint {
                    triangle: *triangle,
                    barycentric: *barycentric,
                })
                .collect(),
            stiffness: Stiffness {
                strain: file.numbers("shell.strain")?,
                bending: file.numbers("shell.bending")?,
            },
            held: held.iter().map(|h| *h != 0).collect(),
            params: metadata.params,
            certified: metadata.certified,
            origin: metadata.origin,
            neutral_residual: residual,
            neutral,
            triangles,
            skin,
            shell,
            depth,
        };
        validate::check(&face).map_err(|problem| format!("{problem}; build the face again"))?;
        Ok(face)
    }
}

fn flat(vectors: &[Vec3]) -> Vec<f32> {
    vectors.iter().flat_map(Vec3::to_array).collect()
}

fn flat64(vectors: &[DVec3]) -> Vec<f64> {
    vectors.iter().flat_map(DVec3::to_array).collect()
}

fn vectors(numbers: &[f32]) -> Vec<Vec3> {
    numbers.as_chunks::<3>().0.iter().map(|v| Vec3::from_array(*v)).collect()
}

fn vectors64(numbers: &[f64]) -> Vec<DVec3> {
    numbers.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect()
}

/// Arrays to be written.
#[derive(Default)]
struct Arrays {
    entries: BTreeMap<String, Entry>,
    data: Vec<u8>,
}

impl Arrays {
    fn add<T: bytemuck::Pod>(&mut self, name: &str, dtype: &str, columns: usize, values: &[T]) {
        let start = self.data.len();
        self.data.extend_from_slice(bytemuck::cast_slice(values));
        let rows = values.len() / columns;
        let shape = if columns == 1 { vec![rows] } else { vec![rows, columns] };
        let entry = Entry { dtype: dtype.into(), shape, data_offsets: [start, self.data.len()] };
        self.entries.insert(name.into(), entry);
        // Every array starts at a multiple of eight, so that readers may map it.
        while !self.data.len().is_multiple_of(8) {
            self.data.push(0);
        }
    }

    fn add_deltas(&mut self, name: &str, deltas: &SparseDeltas) {
        self.add(&format!("{name}.vertices"), "U32", 1, &deltas.vertices);
        self.add(&format!("{name}.offsets"), "F32", 3, &flat(&deltas.offsets));
    }

    fn finish(self, metadata: &Metadata) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        let described = serde_json::to_string(metadata).unwrap_or_default();
        header.insert("__metadata__".into(), serde_json::json!({ "zygoma_face": described }));
        for (name, entry) in self.entries {
            header.insert(name, serde_json::to_value(entry).unwrap_or_default());
        }
        let mut header = serde_json::Value::Object(header).to_string().into_bytes();
        while !header.len().is_multiple_of(8) {
            header.push(b' ');
        }
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend(self.data);
        bytes
    }
}

/// A file that is being read.
struct File<'a> {
    entries: BTreeMap<String, Entry>,
    data: &'a [u8],
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> std::result::Result<(Metadata, Self), String> {
        let not_a_face = || "this is no face file of zygoma; make one with `zygoma build`".to_owned();
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(not_a_face)?;
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_HEADER || length > rest.len() as u64 {
            return Err("the file is cut off or no safetensors file".into());
        }
        let (header, data) = rest.split_at(length as usize);
        let mut header: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(|error| format!("its header cannot be read: {error}"))?;
        let metadata = header.remove("__metadata__").ok_or_else(not_a_face)?;
        let described = metadata.get("zygoma_face").and_then(|text| text.as_str()).ok_or_else(not_a_face)?;
        let plain: serde_json::Value = serde_json::from_str(described).map_err(|_| not_a_face())?;
        let version = plain.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if !(u64::from(OLDEST)..=u64::from(VERSION)).contains(&version) {
            return Err(format!(
                "it is of version {version}, but this zygoma reads versions {OLDEST} to {VERSION}; build the face again"
            ));
        }
        let metadata: Metadata = serde_json::from_value(plain)
            .map_err(|error| format!("its description cannot be read: {error}"))?;
        let mut entries = BTreeMap::new();
        for (name, value) in header {
            let entry: Entry =
                serde_json::from_value(value).map_err(|error| format!("array {name}: {error}"))?;
            entries.insert(name, entry);
        }
        Ok((metadata, Self { entries, data }))
    }

    fn numbers<T: bytemuck::Pod>(&self, name: &str) -> std::result::Result<Vec<T>, String> {
        let entry = self.entries.get(name).ok_or_else(|| format!("array {name} is missing"))?;
        let [start, end] = entry.data_offsets;
        let bytes = self.data.get(start..end).ok_or_else(|| format!("array {name} lies outside the file"))?;
        let size = std::mem::size_of::<T>();
        let wanted = match entry.dtype.as_str() {
            "F64" => 8,
            "F32" | "U32" => 4,
            "U8" => 1,
            other => return Err(format!("array {name} has numbers of the unknown kind {other}")),
        };
        let count = entry.shape.iter().try_fold(1usize, |product, side| product.checked_mul(*side));
        if size != wanted || count.and_then(|count| count.checked_mul(size)) != Some(bytes.len()) {
            return Err(format!("array {name} has another size or kind than its header says"));
        }
        Ok(bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned).collect())
    }

    fn indices(&self, name: &str, limit: usize) -> std::result::Result<Vec<[u32; 3]>, String> {
        let numbers: Vec<u32> = self.numbers(name)?;
        match numbers.iter().find(|index| **index as usize >= limit) {
            Some(index) => Err(format!("array {name} names element {index} of {limit}")),
            None => Ok(numbers.as_chunks::<3>().0.to_vec()),
        }
    }

    fn deltas(&self, name: &str, limit: usize) -> std::result::Result<SparseDeltas, String> {
        let vertices: Vec<u32> = self.numbers(&format!("{name}.vertices"))?;
        let offsets = vectors(&self.numbers(&format!("{name}.offsets"))?);
        let ordered = vertices.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = vertices.last().is_none_or(|last| (*last as usize) < limit);
        if !(ordered && inside && vertices.len() == offsets.len()) {
            return Err(format!("the displacements {name} do not fit the mesh"));
        }
        Ok(SparseDeltas { vertices, offsets })
    }
}
