//! The rig or face that is simulated.

use std::path::PathBuf;

use anyhow::Context;
use zygoma_face::model::{BodySection, FaceCache, FaceModel, Origin, PrepareError};
use zygoma_face::shell::{BuildInput, BuildParams, FittedShell, take_poses};
use zygoma_face::tissue::{SolvedTissue, Tissue};
use zygoma_numerics::Budget;
use zygoma_rig::Rig;
use zygoma_rig::formats::Limits;

use crate::cli::{BodyArg, RigArgs, SimulateArgs};
use crate::commands::animated::Format;
use crate::commands::build::{build_with_progress, usual_takes};
use crate::commands::input;

/// Default number of triangles of the simulated skin.
const TRIANGLES: usize = 4000;

/// A rig, and the face that is built from it.
pub(super) struct Subject {
    pub(super) rig: Rig,
    pub(super) rig_path: PathBuf,
    pub(super) body: BodyArg,
    /// The face, if it was read.
    read: Option<FaceModel>,
    /// The cache in which tissue is kept, and its key there.
    kept: Option<(FaceCache, u64)>,
}

impl Subject {
    /// Reads a rig, or a face and its rig.
    pub(super) fn open(args: &SimulateArgs, format: Format) -> anyhow::Result<Self> {
        if args.input.extension().is_some_and(|extension| extension == "safetensors") {
            let face = FaceModel::read(&args.input, &Limits::default())?;
            return Self::of_face(face, args, format);
        }
        let rig_args = RigArgs { rig: args.input.clone(), reading: args.reading.clone() };
        let rig = match input::read_rig(&rig_args) {
            Ok(rig) => rig,
            // A face may have any name.
            Err(problem) => match FaceModel::read(&args.input, &Limits::default()) {
                Ok(face) => return Self::of_face(face, args, format),
                Err(_) => return Err(problem),
            },
        };
        Ok(Self {
            read: None,
            kept: None,
            rig,
            rig_path: args.input.clone(),
            body: args.body.unwrap_or(BodyArg::Tissue),
        })
    }

    fn of_face(face: FaceModel, args: &SimulateArgs, format: Format) -> anyhow::Result<Self> {
        // A point cache does not need the rig: the face knows its vertices.
        let rig = match input::read_origin(&face, &args.input, args.rig.as_deref()) {
            Err(_) if format.is_cache() && args.rig.is_none() => face.stand_in(),
            found => found?,
        };
        let built_for =
            if face.sections.contains_key(FittedShell::NAME) { BodyArg::Shell } else { BodyArg::Tissue };
        let origin = args.rig.clone().or_else(|| face.origin.path.as_ref().map(PathBuf::from));
        Ok(Self {
            rig,
            rig_path: origin.unwrap_or_else(|| args.input.clone()),
            body: args.body.unwrap_or(built_for),
            read: Some(face),
            kept: None,
        })
    }

    /// The face that was read, or one built from the rig now.
    pub(super) fn face(&mut self, args: &SimulateArgs) -> anyhow::Result<FaceModel> {
        if let Some(face) = self.read.take() {
            return Ok(face);
        }
        let triangles = args.triangles.unwrap_or(TRIANGLES);
        let named = || args.input.display().to_string();
        let mut face = match self.body {
            BodyArg::Shell => self.shell(triangles, args.no_cache).with_context(named)?,
            BodyArg::Tissue => self.tissue(triangles, args.no_cache).with_context(named)?,
            BodyArg::Rig => self.bare(triangles).with_context(named)?,
        };
        face.origin = Origin::of_rig(&self.rig, &args.input, args.reading.identity.as_deref());
        Ok(face)
    }

    fn bare(&self, triangles: usize) -> Result<FaceModel, PrepareError> {
        FaceModel::new(&self.rig.name, self.rig.skin(), triangles, &Budget::default())
    }

    /// A face whose tissue may be in the cache.
    fn tissue(&mut self, triangles: usize, no_cache: bool) -> Result<FaceModel, PrepareError> {
        let cache = if no_cache { None } else { FaceCache::of_user() };
        let key = FaceCache::key(self.rig.skin(), &("tissue", triangles));
        let found = cache.as_ref().and_then(|cache| cache.find(key, self.rig.skin()));
        self.kept = cache.map(|cache| (cache, key));
        found.map_or_else(|| self.bare(triangles), Ok)
    }

    /// Keeps newly built tissue in the cache, so that the same rig need not wait again.
    pub(super) fn keep(&self, face: &FaceModel, tissue: &Tissue) {
        let (Some((cache, key)), Some(solved)) = (&self.kept, tissue.solved()) else { return };
        if face.section::<SolvedTissue>().and_then(Result::ok).as_ref() != Some(&solved) {
            let mut face = face.clone();
            face.add_section(&solved);
            cache.keep(*key, &face);
        }
    }

    /// A face with a fitted shell, from the cache if possible.
    fn shell(&self, triangles: usize, no_cache: bool) -> anyhow::Result<FaceModel> {
        let params = BuildParams { triangles, ..BuildParams::default() };
        let takes = if self.rig.takes.is_empty() { usual_takes() } else { self.rig.takes.clone() };
        let poses = take_poses(&self.rig, &takes);
        let cache = if no_cache { None } else { FaceCache::of_user() };
        let key = FaceCache::key(self.rig.skin(), &(&params, &poses));
        if let Some(face) = cache.as_ref().and_then(|cache| cache.find(key, self.rig.skin())) {
            eprintln!(
                "note: the shell of this rig was built before and is taken from the cache (--no-cache builds it anew)"
            );
            return Ok(face);
        }
        eprintln!("note: the rig is made ready for a shell first; 'zygoma build' does that once and for all");
        let what = BuildInput { name: &self.rig.name, mesh: self.rig.skin(), poses: &poses };
        let (face, _) = build_with_progress(&what, &params)?;
        if let Some(cache) = cache {
            cache.keep(key, &face);
        }
        Ok(face)
    }
}
