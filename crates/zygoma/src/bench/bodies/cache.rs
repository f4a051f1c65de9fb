//! Faces that were built and cells that were measured, kept in a folder.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use zygoma_face::model::FaceModel;
use zygoma_face::shell::{BuildInput, BuildParams};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, Take};

use super::cell::{BodyKind, Cell};
use super::rigs::NamedRig;
use crate::commands::build::build_with_progress;

/// The largest file of a cell.
const MOST_BYTES: u64 = 1 << 20;

/// A folder with faces and cells.
pub(super) struct Cache {
    folder: PathBuf,
    /// Tells this program from any other: a cell that another one measured is measured again.
    program: u64,
}

/// What a cell's file is named after.
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

    /// A cell that is measured already.
    pub(super) fn cell(&self, key: &Key) -> Option<Cell> {
        let bytes = zygoma_files::read_own(&self.cell_file(key), MOST_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps a cell.
    pub(super) fn keep(&self, key: &Key, cell: &Cell) -> anyhow::Result<()> {
        zygoma_files::write(&self.cell_file(key), &serde_json::to_vec_pretty(cell)?)?;
        Ok(())
    }

    /// A rig's face with a fitted shell: the one that is kept, or a new one.
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

/// A number that changes when the program is compiled again.
fn program() -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = std::env::current_exe().and_then(std::fs::metadata);
    if let Ok(metadata) = metadata {
        (metadata.len(), metadata.modified().ok()).hash(&mut hasher);
    }
    hasher.finish()
}
