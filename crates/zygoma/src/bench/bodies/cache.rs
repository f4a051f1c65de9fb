//! A folder that caches built faces and measured cells.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildInput, BuildParams};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, Take};

use super::cell::{BodyKind, Cell};
use super::rigs::NamedRig;
use crate::commands::build::build_with_progress;

/// Largest size of a cell's file, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A folder of cached faces and cells.
pub(super) struct Cache {
    folder: PathBuf,
    /// Identifies this build of the program: cells measured by another build are measured again.
    program: u64,
}

/// The properties that name a cell's cache file.
pub(super) struct Key<'a> {
    pub(super) rig: &'a NamedRig,
    pub(super) mesh: u64,
    pub(super) body: BodyKind,
    pub(super) take: &'a Take,
    pub(super) params: &'a BuildParams,
}

impl Cache {
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        zygoma_files::create_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), program: program() })
    }

    fn cell_file(&self, key: &Key) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.program, key.mesh, format!("{:?}", key.params)).hash(&mut hasher);
        for track in &key.take.weights {
            track.shape.hash(&mut hasher);
            track.curve.values.iter().for_each(|value| value.to_bits().hash(&mut hasher));
        }
        let name = format!("{}-{}-{}-{:016x}", key.rig.name, key.body.name(), key.take.name, hasher.finish());
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        self.folder.join(name.chars().map(plain).collect::<String>() + ".json")
    }

    /// The cached cell, if it has been measured already.
    pub(super) fn cell(&self, key: &Key) -> Option<Cell> {
        let bytes = zygoma_files::read_own(&self.cell_file(key), MOST_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Stores a cell in the cache.
    pub(super) fn keep(&self, key: &Key, cell: &Cell) -> anyhow::Result<()> {
        zygoma_files::write(&self.cell_file(key), &serde_json::to_vec_pretty(cell)?)?;
        Ok(())
    }

    /// A rig's face with a fitted shell: from the cache, or newly built.
    pub(super) fn face(
        &self,
        named: &NamedRig,
        rig: &Rig,
        params: &BuildParams,
    ) -> anyhow::Result<FaceModel> {
        let mut hasher = DefaultHasher::new();
        (rig.skin().fingerprint(), format!("{params:?}"), env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        let file = self.folder.join(format!("{}-{:016x}.safetensors", named.name, hasher.finish()));
        if let Ok(face) = FaceModel::read(&file, &Limits::default()) {
            return Ok(face);
        }
        let what = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &[] };
        let (face, _) = build_with_progress(&what, params)?;
        face.write(&file)?;
        Ok(face)
    }
}

/// A number that changes whenever the program is recompiled.
fn program() -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = std::env::current_exe().and_then(std::fs::metadata);
    if let Ok(metadata) = metadata {
        (metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    }
    hasher.finish()
}
