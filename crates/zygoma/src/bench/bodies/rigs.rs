//! The rigs to measure.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::Rig;
use zygoma_rig::formats::{self, Limits, ict};

/// A rig and its name in the table.
pub(super) struct NamedRig {
    pub(super) name: String,
    pub(super) path: Option<PathBuf>,
}

/// Finds the named rigs: files, ICT folders, and every GLB in a folder; the built-in head if none is named.
pub(super) fn find(named: &[PathBuf]) -> anyhow::Result<Vec<NamedRig>> {
    if named.is_empty() {
        return Ok(vec![NamedRig { name: "built-in".to_owned(), path: None }]);
    }
    let mut rigs = Vec::new();
    for path in named {
        let files = if path.is_dir() && !ict::is_ict(path) { glbs(path)? } else { Vec::new() };
        match files.is_empty() {
            true => rigs.push(NamedRig::at(path.clone())),
            false => rigs.extend(files.into_iter().map(NamedRig::at)),
        }
    }
    Ok(rigs)
}

/// The GLB and VRM files of a folder, sorted by name.
fn glbs(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let named = || format!("{}: reading the folder failed", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(named)? {
        let path = entry.with_context(named)?.path();
        let extension = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        if extension.is_some_and(|e| ["glb", "gltf", "vrm"].iter().any(|known| e == *known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl NamedRig {
    fn at(path: PathBuf) -> Self {
        let name =
            path.file_stem().map_or_else(|| "rig".to_owned(), |stem| stem.to_string_lossy().into_owned());
        Self { name, path: Some(path) }
    }

    pub(super) fn read(&self) -> anyhow::Result<Rig> {
        let Some(path) = &self.path else { return Ok(Head::new(&HeadOptions::default()).rig()) };
        let rig = formats::read_rig(path, &Limits::default())?;
        if rig.skin().shapes.is_empty() {
            bail!("{}: it has no blendshapes, so there is nothing to perform", path.display());
        }
        Ok(rig)
    }
}
