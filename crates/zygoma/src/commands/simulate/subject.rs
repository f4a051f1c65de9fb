//! The rig or face that is simulated.

use std::path::PathBuf;

use anyhow::Context;
use zygoma_face::enriched::{Enriched, SolvedVolumes};
use zygoma_face::model::{BodySection, FaceCache, FaceModel, FreePart, Origin};
use zygoma_face::shell::{BuildInput, BuildParams, FittedShell, take_poses};
use zygoma_face::tissue::Tissue;
use zygoma_numerics::Budget;
use zygoma_rig::Rig;
use zygoma_rig::formats::Limits;

use super::{anatomical, enriched, tissue};
use crate::cli::{AnatomyArg, BodyArg, RigArgs, SimulateArgs};
use crate::commands::animated::Format;
use crate::commands::build::{build_with_progress, usual_takes};
use crate::commands::input;

/// A rig, and the face that is built from it.
pub(super) struct Subject {
    pub(super) rig: Rig,
    pub(super) rig_path: PathBuf,
    pub(super) body: BodyArg,
    /// The face, if it was read.
    read: Option<FaceModel>,
    /// The cache in which solved tissue or volumes are kept, and their key there.
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
        let has = |section: &str| face.sections.contains_key(section);
        let built_for = match () {
            () if has(FittedShell::NAME) => BodyArg::Shell,
            () if has(SolvedVolumes::NAME) => BodyArg::Enriched,
            () => BodyArg::Tissue,
        };
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
        if let Some(mut face) = self.read.take() {
            self.set_free_parts(&mut face, &args.free)?;
            if self.body == BodyArg::Enriched {
                enriched::add_anatomy(&mut face, &self.rig, &args.anatomy)?;
            }
            if self.body == BodyArg::Anatomical {
                anatomical::add_anatomy(&mut face, &self.rig, &args.anatomy)?;
            }
            if self.body == BodyArg::Tissue {
                tissue::set_bones(&mut face, &args.anatomy)?;
            }
            return Ok(face);
        }
        let triangles = args.triangles.unwrap_or(input::TRIANGLES);
        let named = || args.input.display().to_string();
        let mut face = match self.body {
            BodyArg::Shell => self.shell(triangles, args.no_cache).with_context(named)?,
            BodyArg::Tissue => self.tissue(triangles, args).with_context(named)?,
            BodyArg::Enriched => self.enriched(triangles, args).with_context(named)?,
            BodyArg::Anatomical => {
                anatomical::face_of(&self.rig, triangles, args.no_cache, &args.anatomy).with_context(named)?
            }
            BodyArg::Rig => self.bare(triangles).with_context(named)?,
        };
        face.origin = Origin::of_rig(&self.rig, &args.input, args.reading.identity.as_deref());
        Ok(face)
    }

    fn bare(&self, triangles: usize) -> anyhow::Result<FaceModel> {
        Ok(FaceModel::of_rig(&self.rig, triangles, &Budget::default())?)
    }

    /// Replaces the free parts that were found by those that the user names, if any.
    fn set_free_parts(&self, face: &mut FaceModel, names: &[String]) -> anyhow::Result<()> {
        if !names.is_empty() {
            let parts = FreePart::named(face, self.rig.skin(), names);
            face.inside.free_parts = parts.map_err(|unknown| anyhow::anyhow!("--free {unknown}"))?;
        }
        Ok(())
    }

    /// A face whose tissue may be in the cache.
    fn tissue(&mut self, triangles: usize, args: &SimulateArgs) -> anyhow::Result<FaceModel> {
        // With other bones it is other tissue.
        let is_usual = args.anatomy == AnatomyArg::Auto && !args.no_cache;
        let cache = if is_usual { FaceCache::of_user() } else { None };
        let key = FaceCache::key(&self.rig, &("tissue", triangles, &args.free));
        let found = cache.as_ref().and_then(|cache| cache.find(key, self.rig.skin()));
        self.kept = cache.map(|cache| (cache, key));
        if let Some(face) = found {
            return Ok(face);
        }
        let mut face = self.bare(triangles)?;
        self.set_free_parts(&mut face, &args.free)?;
        tissue::set_bones(&mut face, &args.anatomy)?;
        Ok(face)
    }

    /// A face whose anatomy and blend volumes may be in the cache.
    fn enriched(&mut self, triangles: usize, args: &SimulateArgs) -> anyhow::Result<FaceModel> {
        // A file may change without its name.
        let is_told = matches!(args.anatomy, AnatomyArg::Of(_));
        let cache = if args.no_cache || is_told { None } else { FaceCache::of_user() };
        let key = FaceCache::key(&self.rig, &("enriched", triangles, format!("{:?}", args.anatomy)));
        let found = cache.as_ref().and_then(|cache| cache.find(key, self.rig.skin()));
        self.kept = cache.map(|cache| (cache, key));
        if let Some(face) = found {
            return Ok(face);
        }
        let mut face = self.bare(triangles)?;
        enriched::add_anatomy(&mut face, &self.rig, &args.anatomy)?;
        Ok(face)
    }

    /// Keeps newly solved blend volumes in the cache, with the face's anatomy.
    pub(super) fn keep_volumes(&self, face: &FaceModel, enriched: &Enriched) {
        if let Some((cache, key)) = &self.kept {
            enriched.keep_in(cache, *key, face);
        }
    }

    /// Keeps newly built tissue in the cache, so that the same rig need not wait again.
    pub(super) fn keep(&self, face: &FaceModel, tissue: &Tissue) {
        if let Some((cache, key)) = &self.kept {
            tissue.keep_in(cache, *key, face);
        }
    }

    /// A face with a fitted shell, from the cache if possible.
    fn shell(&self, triangles: usize, no_cache: bool) -> anyhow::Result<FaceModel> {
        let params = BuildParams { triangles, ..BuildParams::default() };
        let takes = if self.rig.takes.is_empty() { usual_takes() } else { self.rig.takes.clone() };
        let poses = take_poses(&self.rig, &takes);
        let cache = if no_cache { None } else { FaceCache::of_user() };
        let key = FaceCache::key(&self.rig, &(&params, &poses));
        if let Some(face) = cache.as_ref().and_then(|cache| cache.find(key, self.rig.skin())) {
            eprintln!("note: the shell of this rig is taken from the cache (--no-cache rebuilds it)");
            return Ok(face);
        }
        eprintln!("note: fitting a shell to the rig first; 'zygoma build' saves the result");
        let what = BuildInput { name: &self.rig.name, mesh: self.rig.skin(), poses: &poses };
        let (mut face, _) = build_with_progress(&what, &params)?;
        face.look_inside(&self.rig);
        if let Some(cache) = cache {
            cache.keep(key, &face);
        }
        Ok(face)
    }
}
