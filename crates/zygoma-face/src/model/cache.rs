//! A disk cache of built faces, so that the same rig need not be built twice.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, RigMesh};

use super::FaceModel;

/// Limits of the cache: number of faces, and total bytes.
const MOST_FACES: usize = 24;
const MOST_BYTES: u64 = 2 << 30;

/// A folder of built faces. The oldest are evicted when there are too many.
#[derive(Clone, Debug)]
pub struct FaceCache {
    folder: PathBuf,
}

impl FaceCache {
    /// A cache in a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// This user's cache; `None` if the system names no cache folder. `ZYGOMA_CACHE` names another folder.
    pub fn of_user() -> Option<Self> {
        user_folder().map(Self::new)
    }

    /// A hash of everything that a face depends on: the rig, the parameters and the executable that builds it.
    pub fn key(rig: &Rig, params: &impl Serialize) -> u64 {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        if let Some(program) = std::env::current_exe().ok().and_then(|path| path.metadata().ok()) {
            (program.len(), program.modified().ok()).hash(&mut hasher);
        }
        serde_json::to_string(params).unwrap_or_default().hash(&mut hasher);
        rig.skin.hash(&mut hasher);
        rig.meshes.iter().for_each(|mesh| hash_mesh(mesh, &mut hasher));
        hasher.finish()
    }

    /// The cached face of a mesh. An unreadable file, such as an older version's, counts as a miss.
    pub fn find(&self, key: u64, mesh: &RigMesh) -> Option<FaceModel> {
        let face = FaceModel::read(&self.file(key), &Limits::default()).ok()?;
        let fits = face.vertex_count() == mesh.positions.len() && face.shapes.len() == mesh.shapes.len();
        fits.then_some(face)
    }

    /// Stores a face. If that fails, the face is built again the next time.
    pub fn keep(&self, key: u64, face: &FaceModel) {
        if zygoma_files::create_folder(&self.folder).is_ok() && face.write(&self.file(key)).is_ok() {
            remove_oldest(&self.folder);
        }
    }

    fn file(&self, key: u64) -> PathBuf {
        self.folder.join(format!("{key:016x}.safetensors"))
    }
}

fn hash_mesh(mesh: &RigMesh, hasher: &mut impl Hasher) {
    mesh.name.hash(hasher);
    bytemuck::cast_slice::<_, u8>(&mesh.positions).hash(hasher);
    mesh.faces.corners().hash(hasher);
    for region in &mesh.regions {
        (&region.name, &region.vertices).hash(hasher);
    }
    for shape in &mesh.shapes {
        shape.name.hash(hasher);
        shape.deltas.vertices.hash(hasher);
        bytemuck::cast_slice::<_, u8>(&shape.deltas.offsets).hash(hasher);
    }
}

fn remove_oldest(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_face = entry.path().extension().is_some_and(|extension| extension == "safetensors");
            let metadata = entry.metadata().ok().filter(|_| is_face)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut bytes = 0;
    for (index, (_, size, file)) in files.iter().rev().enumerate() {
        bytes += size;
        if index > 0 && (index >= MOST_FACES || bytes > MOST_BYTES) {
            // Another process may have removed it already.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The system's cache folder of this user.
fn user_folder() -> Option<PathBuf> {
    let variables: HashMap<&str, PathBuf> = ["ZYGOMA_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"]
        .into_iter()
        .filter_map(|name| Some((name, PathBuf::from(std::env::var_os(name).filter(|v| !v.is_empty())?))))
        .collect();
    if let Some(folder) = variables.get("ZYGOMA_CACHE") {
        return Some(folder.join("faces"));
    }
    let base = match std::env::consts::OS {
        "windows" => variables.get("LOCALAPPDATA").cloned(),
        "macos" => variables.get("HOME").map(|home| home.join("Library/Caches")),
        _ => variables
            .get("XDG_CACHE_HOME")
            .cloned()
            .or_else(|| variables.get("HOME").map(|home| home.join(".cache"))),
    };
    base.map(|base| base.join("zygoma").join("faces"))
}
