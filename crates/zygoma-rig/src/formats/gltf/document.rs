//! A glTF document as it was read: its JSON and its buffers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glam::DAffine3;
use serde_json::Value;

use super::uri::{Target, resolve};
use super::{decompress, glb, pack};
use crate::formats::Limits;
use crate::formats::input::{read_bytes, without_mark};
use crate::{Error, Result};

/// JSON path at which an export stores the length of the document's unit in metres.
pub(super) const UNIT_PLACE: &str = "/asset/extras/zygoma/metresPerUnit";

/// A glTF document as it was read, so that everything that zygoma does not touch is written back unchanged.
#[derive(Clone)]
pub struct Document {
    /// The whole JSON part, unknown extensions included.
    pub json: Value,
    /// The bytes of each buffer, in the order of `buffers`; empty for one that holds no data of its own, as
    /// the fallback buffer of meshopt compression.
    pub buffers: Vec<Vec<u8>>,
    /// Image files beside the document, by their index in `images`.
    pub(super) images: BTreeMap<usize, Vec<u8>>,
    /// Notes on everything that was left out when reading, as sentences.
    pub(super) notes: Vec<String>,
    /// The rotation that turned the scene upright when it became a rig.
    pub(crate) turn: DAffine3,
    /// The file that it was read from, for messages.
    path: PathBuf,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Document {
    /// Reads a `.glb`, `.vrm` or `.gltf` file with all files that it refers to.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self> {
        Self::from_slice(&read_bytes(path, limits)?, path, limits)
    }

    /// Reads a document from memory. `path` names it in messages, and its folder holds the files that the
    /// document refers to.
    pub fn from_slice(bytes: &[u8], path: &Path, limits: &Limits) -> Result<Self> {
        let (json, binary) = if glb::is_glb(bytes) {
            let chunks = glb::split(bytes, path)?;
            (chunks.json, chunks.binary)
        } else {
            (without_mark(bytes), None)
        };
        let json: Value = serde_json::from_slice(json).map_err(|error| {
            let problem = format!("the file is neither a GLB nor glTF JSON that can be read: {error}");
            Error::malformed(path, problem)
        })?;
        let mut document = Self {
            json,
            buffers: Vec::new(),
            images: BTreeMap::new(),
            notes: Vec::new(),
            turn: DAffine3::IDENTITY,
            path: path.to_owned(),
        };
        document.check_asset()?;
        let mut files =
            Files { folder: path.parent().unwrap_or(Path::new("")), left: limits.decoded_bytes, limits };
        document.load_buffers(binary, &mut files)?;
        document.load_images(&mut files)?;
        Ok(document)
    }

    /// An empty document that will be written to `path`.
    pub(super) fn empty(path: &Path) -> Self {
        let json = serde_json::json!({ "asset": { "version": "2.0", "generator": "zygoma" } });
        Self {
            json,
            buffers: Vec::new(),
            images: BTreeMap::new(),
            notes: Vec::new(),
            turn: DAffine3::IDENTITY,
            path: path.to_owned(),
        }
    }

    /// The same document without meshopt compression, for programs that lack it.
    pub fn decompressed(&self, limits: &Limits) -> Result<Self> {
        decompress::decompressed(self, limits)
    }

    /// The file that the document came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The document as one self-contained GLB: external files are embedded, buffers that hold data become one,
    /// everything else is unchanged.
    pub fn to_glb(&self) -> Result<Vec<u8>> {
        let whole = pack::self_contained(self)?;
        let json = whole.json.to_string();
        let binary = whole.buffers.first().map_or(&[][..], Vec::as_slice);
        glb::join(json.as_bytes(), binary).ok_or_else(|| {
            self.malformed("the document would be larger than the 4 GB that a GLB can hold; use fewer shapes")
        })
    }

    /// Writes [`to_glb`](Self::to_glb), under a temporary name first.
    pub fn write_glb(&self, path: &Path) -> Result<()> {
        Ok(zygoma_files::write(path, &self.to_glb()?)?)
    }

    /// Notes the length of the document's unit, so that reading it again does not depend on its shapes.
    pub(super) fn note_unit(&mut self, metres: f64) {
        let mut place = &mut self.json;
        for key in UNIT_PLACE.split('/').skip(1) {
            // Indexing turns null into an object; extras of any other kind belong to someone else.
            if !(place.is_object() || place.is_null()) {
                return;
            }
            place = &mut place[key];
        }
        *place = serde_json::json!(metres);
    }

    /// An error about this document.
    pub(super) fn malformed(&self, problem: impl Into<String>) -> Error {
        Error::malformed(&self.path, problem)
    }

    /// An error about a feature that the document needs and zygoma does not support.
    pub(super) fn unsupported(&self, what: impl Into<String>, way_out: impl Into<String>) -> Error {
        Error::unsupported(&self.path, what, way_out)
    }

    /// The entries of a top-level list; none if it is absent.
    pub(super) fn list(&self, key: &str) -> &[Value] {
        self.json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn check_asset(&self) -> Result<()> {
        let version = self.json.pointer("/asset/version").and_then(Value::as_str);
        match version {
            Some(version) if version.starts_with("2.") => Ok(()),
            Some(version) => Err(self.unsupported(
                format!("this is glTF version {version}, and only version 2 is read"),
                "export it as glTF 2.0",
            )),
            None => Err(self.malformed("the JSON has no asset.version, so it is no glTF document")),
        }
    }

    fn load_buffers(&mut self, binary: Option<&[u8]>, files: &mut Files) -> Result<()> {
        let mut buffers = Vec::new();
        for (index, buffer) in self.list("buffers").iter().enumerate() {
            let mut bytes = match buffer.get("uri").and_then(Value::as_str) {
                Some(uri) => files
                    .follow(uri)
                    .map_err(|problem| self.malformed(format!("buffer {index} refers to {problem}")))?,
                None if index == 0 => binary.unwrap_or_default().to_vec(),
                None => Vec::new(),
            };
            let promised = buffer.get("byteLength").and_then(Value::as_u64).unwrap_or(0);
            if !bytes.is_empty() && (bytes.len() as u64) < promised {
                let problem = format!("buffer {index} declares {promised} bytes but has {}", bytes.len());
                return Err(self.malformed(problem + "; get the file again"));
            }
            // Any bytes beyond this are the padding of a GLB chunk.
            bytes.truncate(usize::try_from(promised).unwrap_or(usize::MAX));
            buffers.push(bytes);
        }
        self.buffers = buffers;
        Ok(())
    }

    /// Loads image files, so that an export can embed them. A missing image does not affect the geometry.
    fn load_images(&mut self, files: &mut Files) -> Result<()> {
        let mut images = BTreeMap::new();
        let mut notes = Vec::new();
        for (index, image) in self.list("images").iter().enumerate() {
            let Some(uri) = image.get("uri").and_then(Value::as_str) else { continue };
            let target = resolve(uri)
                .map_err(|problem| self.malformed(format!("image {index} refers to {problem}")))?;
            let Target::File(file) = target else { continue };
            match files.read(&file) {
                Ok(bytes) => drop(images.insert(index, bytes)),
                Err(problem) => notes.push(format!("image {index} was left out: it refers to {problem}")),
            }
        }
        self.images = images;
        self.notes = notes;
        Ok(())
    }
}

/// Reads the files that a document refers to, within its limits.
struct Files<'a> {
    folder: &'a Path,
    left: u64,
    limits: &'a Limits,
}

impl Files<'_> {
    /// The bytes that a URI refers to. The error says what the URI refers to and why it cannot be read.
    fn follow(&mut self, uri: &str) -> Result<Vec<u8>, String> {
        match resolve(uri)? {
            Target::Data(bytes) => Ok(bytes),
            Target::File(file) => self.read(&file),
        }
    }

    fn read(&mut self, file: &Path) -> Result<Vec<u8>, String> {
        let most = self.limits.file_bytes.min(self.left);
        let bytes = zygoma_files::read_beside(self.folder, file, most)
            .map_err(|error| format!("\"{}\", which cannot be read: {}", file.display(), error.problem()))?;
        self.left -= bytes.len() as u64;
        Ok(bytes)
    }
}
