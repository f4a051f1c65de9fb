//! Files of a tab: uploads in a temporary folder, downloads in memory.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;
use zygoma_face::enriched::MaterialSpots;
use zygoma_face::model::FaceModel;

/// Bytes and files that a tab may upload, all together.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
const MOST_FILES: usize = 2000;

/// Folders within folders that an upload may have.
const DEEPEST: usize = 8;

/// The files of one tab. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct SessionFiles {
    secret: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Made when the first file arrives.
    folder: Option<TempDir>,
    bytes: u64,
    files: usize,
    face: Option<Arc<FaceModel>>,
    recording: Option<Arc<Vec<u8>>>,
    materials: Option<MaterialSpots>,
}

impl SessionFiles {
    /// No files yet. The error is the system's, which must give randomness.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { secret: super::guard::secret()?, state: Mutex::default() })
    }

    /// The secret that a request must name to use these files.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for an upload: the file to be written. An error is a sentence.
    pub(crate) fn place(&self, name: &str) -> Result<PathBuf, String> {
        let relative = plain_path(name).ok_or_else(|| format!("{name} is not a plain file name"))?;
        let mut state = self.state();
        if state.files >= MOST_FILES {
            return Err(format!(
                "more than {MOST_FILES} files were uploaded; reload the page to start again"
            ));
        }
        if state.folder.is_none() {
            let folder = tempfile::Builder::new().prefix("zygoma-view-").tempdir();
            state.folder = Some(folder.map_err(|error| format!("no temporary folder: {error}"))?);
        }
        let Some(folder) = &state.folder else { return Err("no temporary folder".into()) };
        let path = folder.path().join(relative);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| format!("{name}: {error}"))?;
        }
        state.files += 1;
        Ok(path)
    }

    /// Counts bytes that arrive; false when there are too many.
    pub(crate) fn charge(&self, bytes: u64) -> bool {
        let mut state = self.state();
        state.bytes += bytes;
        state.bytes <= MOST_BYTES
    }

    /// Where an upload lies.
    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.state().folder.as_ref()?.path().join(plain_path(name)?);
        path.exists().then_some(path)
    }

    /// A message without the temporary folder, of which the user knows nothing.
    pub(crate) fn tidy(&self, message: &str) -> String {
        let state = self.state();
        let Some(folder) = &state.folder else { return message.to_owned() };
        let folder = format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR);
        message.replace(&folder, "")
    }

    pub(crate) fn offer_face(&self, face: Arc<FaceModel>) {
        self.state().face = Some(face);
    }

    pub(crate) fn face(&self) -> Option<Arc<FaceModel>> {
        self.state().face.clone()
    }

    pub(crate) fn offer_materials(&self, materials: MaterialSpots) {
        self.state().materials = Some(materials);
    }

    /// The painted materials, as a `materials.toml`.
    pub(crate) fn materials(&self) -> Option<String> {
        let materials = self.state().materials.clone()?;
        toml::to_string(&materials).ok()
    }

    pub(crate) fn offer_recording(&self, bytes: Vec<u8>) {
        self.state().recording = Some(Arc::new(bytes));
    }

    pub(crate) fn recording(&self) -> Option<Arc<Vec<u8>>> {
        self.state().recording.clone()
    }
}

/// A path of plain names only: it leads nowhere but down.
fn plain_path(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let components: Vec<Component> = path.components().collect();
    let plain = |component: &Component| match component {
        Component::Normal(name) => {
            let text = name.to_string_lossy();
            // Names that are more than a name on some system.
            text.len() < 200 && !text.contains(['\\', ':', '\0'])
        }
        _ => false,
    };
    let fits = (1..=DEEPEST).contains(&components.len()) && components.iter().all(plain);
    fits.then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_stay_in_their_folder() {
        for bad in ["", "/etc/passwd", "../x", "a/../../x", "c:\\x", "a\\..\\x", "a/b/c/d/e/f/g/h/i", "."] {
            assert_eq!(plain_path(bad), None, "{bad}");
        }
        assert!(plain_path("rig/neutral.obj").is_some());
    }

    #[test]
    fn files_go_with_the_tab_and_errors_do_not_name_the_folder() {
        let files = SessionFiles::new().unwrap();
        let place = files.place("rig/neutral.obj").unwrap();
        std::fs::write(&place, "v").unwrap();
        assert_eq!(files.path("rig/neutral.obj"), Some(place.clone()));
        assert_eq!(files.tidy(&format!("{}: broken", place.display())), "rig/neutral.obj: broken");
        drop(files);
        assert!(!place.exists());
    }
}
