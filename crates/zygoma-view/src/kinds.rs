//! Kinds of bodies that a page can choose from. A new kind is one more entry of [`KINDS`].

use std::sync::Arc;

use zygoma_face::anatomical::{Anatomical, AnatomicalBody, AnatomicalError, AnatomicalParams};
use zygoma_face::body::{Body, RigBody};
use zygoma_face::enriched::{
    Enriched, EnrichedBody, EnrichedError, EnrichedParams, EnrichedProgress, SolvedVolumes,
};
use zygoma_face::model::{Continue, FaceCache, FaceModel};
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_face::tissue::{
    SolvedTissue, Tissue, TissueBody, TissueError, TissueInput, TissueParams, TissueProgress,
};

use crate::builder::Outcome;
use crate::model::Model;
use crate::protocol::BodyEntry;

/// A kind of body.
pub(crate) struct Kind {
    /// Its name, as in `--body`.
    pub(crate) name: &'static str,
    label: &'static str,
    about: &'static str,
    has_volume: bool,
    is_paintable: bool,
    pub(crate) make: Make,
}

/// Reports a stage of the work and the fraction that is done, and returns whether to go on.
pub(crate) type Report<'a> = dyn FnMut(&'static str, f64) -> Continue + 'a;

/// The input of a body that is made in the background.
pub(crate) struct BodySource<'a> {
    pub(crate) model: &'a Model,
    pub(crate) face: &'a FaceModel,
    /// Keeps solved tissue, so that the same rig need not wait again.
    pub(crate) cache: Option<&'a FaceCache>,
}

/// How a body is made.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// At once, from the rig.
    FromRig(fn(&Model) -> Box<dyn Body>),
    /// At once, from a built face.
    FromFace(fn(&FaceModel) -> Result<Box<dyn Body>, String>),
    /// In the background, from a built face.
    InBackground(fn(&BodySource<'_>, &mut Report<'_>) -> Outcome<Box<dyn Body>>),
}

/// The plain rig, which is always there.
pub(crate) const RIG: usize = 0;

/// The body of a page that asks for none.
pub(crate) const DEFAULT: usize = 1;

/// All kinds. Until a body has been made, the one before it is shown.
pub(crate) static KINDS: [Kind; 5] = [
    Kind {
        name: "rig",
        label: "Rig",
        about: "The plain rig, without physics.",
        has_volume: false,
        is_paintable: false,
        make: Make::FromRig(|model| Box::new(RigBody::of_mesh(model.rig.skin()))),
    },
    Kind {
        name: "shell",
        label: "Shell",
        about: "A thin elastic shell that can be touched and pulled.",
        has_volume: false,
        is_paintable: false,
        make: Make::FromFace(make_shell),
    },
    Kind {
        name: "tissue",
        label: "Tissue",
        about: "A layer of soft tissue with weight, and lips that touch and stick.",
        has_volume: true,
        is_paintable: false,
        make: Make::InBackground(make_tissue),
    },
    Kind {
        name: "enriched",
        label: "Enriched",
        about: "The artist's face, exactly, with tissue that swings when the head moves.",
        has_volume: false,
        is_paintable: true,
        make: Make::InBackground(make_enriched),
    },
    Kind {
        name: "anatomical",
        label: "Anatomical",
        about: "Expressions that tissue, muscles and rigid bones allow, with dials for the head.",
        has_volume: false,
        is_paintable: false,
        make: Make::InBackground(make_anatomical),
    },
];

/// Finds a kind by name.
pub(crate) fn find(name: &str) -> Option<usize> {
    KINDS.iter().position(|kind| kind.name == name)
}

/// Describes all kinds to a page.
pub(crate) fn entries() -> Vec<BodyEntry> {
    let entry = |kind: &Kind| BodyEntry {
        name: kind.name.into(),
        label: kind.label.into(),
        about: kind.about.into(),
        has_volume: kind.has_volume,
        is_paintable: kind.is_paintable,
    };
    KINDS.iter().map(entry).collect()
}

fn make_shell(face: &FaceModel) -> Result<Box<dyn Body>, String> {
    // The page computes its own normals.
    let params = RunParams { normals: false, ..RunParams::default() };
    match ShellBody::new(face, params) {
        Ok(body) => Ok(Box::new(body)),
        Err(error) => Err(format!("the face cannot be simulated as a shell: {error}")),
    }
}

fn make_tissue(source: &BodySource<'_>, report: &mut Report<'_>) -> Outcome<Box<dyn Body>> {
    let BodySource { model, face, cache } = source;
    let key = FaceCache::key(&model.rig, &("tissue", face.coarse.triangles.len()));
    let mut face = (*face).clone();
    if let Some(kept) = cache.and_then(|cache| cache.find(key, model.rig.skin())) {
        // The build checks whether this was solved for this very face.
        face.take_section::<SolvedTissue>(kept);
    }
    let mut progress = |now: TissueProgress| {
        let stage =
            if now.round == 0 { "solving every expression" } else { "solving every expression again" };
        report(stage, now.done())
    };
    let built = Tissue::build(&TissueInput::new(&face), &TissueParams::default(), &mut progress);
    if let (Ok(tissue), Some(cache)) = (&built, cache) {
        tissue.keep_in(cache, key, &face);
    }
    match built.and_then(|tissue| Ok(TissueBody::new(Arc::new(tissue))?)) {
        Ok(body) => Outcome::Done(Box::new(body)),
        Err(TissueError::Abandoned) => Outcome::Cancelled,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// A live enriched face is one layer of tissue under the simulation mesh, about 2,000 nodes, with few and long steps: `simulate` goes down to the
/// bones at the published step, which a page cannot wait for.
fn make_enriched(source: &BodySource<'_>, report: &mut Report<'_>) -> Outcome<Box<dyn Body>> {
    let BodySource { model, face, cache } = source;
    let key = FaceCache::key(&model.rig, &("live enriched", face.coarse.triangles.len()));
    let mut face = (*face).clone();
    if let Some(kept) = cache.and_then(|cache| cache.find(key, model.rig.skin())) {
        // The build checks whether these were solved for this very face.
        face.take_section::<SolvedVolumes>(kept);
    }
    let (input, params) = (TissueInput::new(&face), EnrichedParams::live());
    let mut progress = |now: EnrichedProgress| {
        report("solving the volume of every shape", now.shape as f64 / now.shapes.max(1) as f64)
    };
    let built = Enriched::build(&input, &params, &mut progress);
    if let (Ok(enriched), Some(cache)) = (&built, cache) {
        enriched.keep_in(cache, key, &face);
    }
    match built.and_then(|enriched| Ok(EnrichedBody::new(Arc::new(enriched))?)) {
        Ok(body) => Outcome::Done(Box::new(body)),
        Err(EnrichedError::Cancelled) => Outcome::Cancelled,
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

fn make_anatomical(source: &BodySource<'_>, report: &mut Report<'_>) -> Outcome<Box<dyn Body>> {
    let BodySource { model, face, cache } = source;
    let key = FaceCache::key(&model.rig, &("live anatomical", face.coarse.triangles.len()));
    let mut face = (*face).clone();
    let kept = cache.and_then(|cache| cache.find(key, model.rig.skin()));
    if !kept.is_some_and(|kept| face.take_anatomy(&kept)) {
        if report("fitting bones and tissue", 0.0) == Continue::Abandon {
            return Outcome::Cancelled;
        }
        if let Err(problem) = face.add_anatomy(&model.rig) {
            return Outcome::Failed(problem.to_string());
        }
        if let Some(cache) = cache {
            cache.keep(key, &face);
        }
    }
    if report("setting up tissue and bones", 0.8) == Continue::Abandon {
        return Outcome::Cancelled;
    }
    let body = Anatomical::build(&face, &AnatomicalParams::live())
        .and_then(|head| AnatomicalBody::new(Arc::new(head)).map_err(AnatomicalError::from));
    match body {
        Ok(body) => Outcome::Done(Box::new(body)),
        Err(problem) => Outcome::Failed(problem.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_different_names_and_the_rig_is_first() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert_eq!(find(kind.name), Some(index));
        }
        assert_eq!(find("glass"), None);
        assert_eq!(KINDS[RIG].name, "rig");
        assert!(matches!(KINDS[RIG].make, Make::FromRig(_)), "it is always there");
    }
}
