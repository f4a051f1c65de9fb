//! Kinds of bodies that a page can choose from. A new kind is one more entry of [`KINDS`].

use std::sync::Arc;

use zygoma_face::body::{Body, RigBody};
use zygoma_face::model::{Continue, FaceModel, FreePart, Teeth};
use zygoma_face::shell::{RunParams, ShellBody};
use zygoma_face::tissue::{Tissue, TissueBody, TissueError, TissueInput, TissueParams, TissueProgress};
use zygoma_rig::jaw::jaw_driven_shapes;

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
    pub(crate) make: Make,
}

/// Reports a stage of the work and the fraction that is done, and tells whether to go on.
pub(crate) type Report<'a> = dyn FnMut(&'static str, f64) -> Continue + 'a;

/// How a body is made.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// At once, from the rig.
    FromRig(fn(&Model) -> Box<dyn Body>),
    /// At once, from a built face.
    FromFace(fn(&FaceModel) -> Result<Box<dyn Body>, String>),
    /// In the background, from a built face.
    InBackground(fn(&Model, &FaceModel, &mut Report<'_>) -> Outcome<Box<dyn Body>>),
}

/// The plain rig, which is always there.
pub(crate) const RIG: usize = 0;

/// The body of a page that asks for none.
pub(crate) const DEFAULT: usize = 1;

/// All kinds. Until a body has been made, the one before it is shown.
pub(crate) static KINDS: [Kind; 3] = [
    Kind {
        name: "rig",
        label: "Rig",
        about: "The plain rig, without physics.",
        has_volume: false,
        make: Make::FromRig(|model| Box::new(RigBody::of_mesh(model.rig.skin()))),
    },
    Kind {
        name: "shell",
        label: "Shell",
        about: "A thin elastic shell that can be touched and pulled.",
        has_volume: false,
        make: Make::FromFace(make_shell),
    },
    Kind {
        name: "tissue",
        label: "Tissue",
        about: "A layer of soft tissue with weight, and lips that touch and stick.",
        has_volume: true,
        make: Make::InBackground(make_tissue),
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

fn make_tissue(model: &Model, face: &FaceModel, report: &mut Report<'_>) -> Outcome<Box<dyn Body>> {
    let (jaw, bones) = (jaw_driven_shapes(model.rig.skin()), model.bones());
    let free = FreePart::flags(&FreePart::find(face), face.vertex_count());
    let input = TissueInput { bones: bones.as_ref(), free: &free, ..TissueInput::new(face, &jaw) };
    let mut progress = |now: TissueProgress| {
        let stage =
            if now.round == 0 { "solving every expression" } else { "solving every expression again" };
        report(stage, now.done())
    };
    let body = Tissue::build(&input, &TissueParams::default(), &mut progress)
        .and_then(|tissue| Ok(TissueBody::new(Arc::new(tissue))?));
    match body {
        Ok(mut body) => {
            if let Some(teeth) = Teeth::of_rig(&model.rig) {
                body.set_teeth(teeth);
            }
            Outcome::Done(Box::new(body))
        }
        Err(TissueError::Abandoned) => Outcome::Cancelled,
        Err(error) => Outcome::Failed(error.to_string()),
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
