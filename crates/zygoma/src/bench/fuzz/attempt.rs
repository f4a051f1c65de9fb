//! Runs one damaged rig through every stage.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::Continue;
use zygoma_face::model::FreePart;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::fit::FitParams;
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_face::tissue::{Tissue, TissueBody, TissueInput, TissueParams};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::report::Report;
use zygoma_rig::{Rig, RigMesh};

use super::damage::{Dice, SMALL_INPUTS, damaged_rig};

/// Seconds that a build may take, and after which a tissue build is cancelled.
const MOST_SECONDS: f64 = 20.0;

/// Frames that each body performs.
const FRAMES: usize = 12;

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Succeeded.
    Made,
    /// Refused with an error message.
    Refused(String),
    /// Produced an impossible result, such as a vertex at infinity.
    Broken(String),
}

/// How all stages of one input ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tried {
    pub(crate) input: u64,
    /// The damage done to the rig.
    pub(crate) damages: Vec<String>,
    pub(crate) stages: BTreeMap<String, Outcome>,
    pub(crate) seconds: f64,
}

impl Tried {
    /// Runs an input in this process. Panics are not caught.
    pub(crate) fn new(input: u64) -> Self {
        let began = Instant::now();
        let damaged = damaged_rig(input);
        let mut stages = BTreeMap::new();
        let most_triangles = if input < SMALL_INPUTS { 200 } else { 600 };
        drive(&damaged.rig, most_triangles, &mut Dice::new(!input), &mut |stage, outcome| {
            stages.insert(stage.to_owned(), outcome);
        });
        Self {
            input,
            damages: damaged.damages.into_iter().map(str::to_owned).collect(),
            stages,
            seconds: began.elapsed().as_secs_f64(),
        }
    }
}

fn drive(rig: &Rig, most_triangles: usize, dice: &mut Dice, tell: &mut dyn FnMut(&str, Outcome)) {
    let mesh = rig.skin();
    // Only checks that it terminates.
    let _ = Report::new(rig);
    tell("report", Outcome::Made);
    let face = match build(&rig.name, mesh, &build_params(most_triangles, dice), &mut |_| Continue::Yes) {
        Ok(face) => face,
        Err(error) => return tell("build", Outcome::Refused(error.to_string())),
    };
    tell("build", Outcome::Made);
    tell("file", reopened(&face));
    tell("shell", shell(&face, dice));
    tell("tissue", tissue(&face, mesh));
}

/// Parameters of a short fit, or of uniform stiffness; short, since there are many rigs.
fn build_params(most_triangles: usize, dice: &mut Dice) -> BuildParams {
    let fitted = dice.below(3) == 0;
    BuildParams {
        triangles: 100 + dice.below(most_triangles - 100),
        combinations: 3,
        uniform_stiffness: (!fitted).then_some(2.0),
        corrected: dice.below(2) == 0,
        fit: FitParams { max_iterations: 4, ..FitParams::default() },
        seconds: Some(MOST_SECONDS),
        ..BuildParams::default()
    }
}

/// Checks that the built face can be saved and opened again.
fn reopened(face: &FaceModel) -> Outcome {
    match FaceModel::from_bytes(&face.to_bytes()) {
        Ok(read) if read == *face => Outcome::Made,
        Ok(_) => Outcome::Broken("the face changed in its file".into()),
        Err(problem) => Outcome::Broken(format!("the face cannot be opened again: {problem}")),
    }
}

fn shell(face: &FaceModel, dice: &mut Dice) -> Outcome {
    let mut running = match ShellBody::new(face, RunParams::default()) {
        Ok(running) => running,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let places = Landmarks::new(face);
    let vertex = places.iter().next().map_or(face.skin[0], |place| place.vertex);
    let height = face.height as f32;
    let at = face.neutral[vertex as usize];
    let finger = ColliderShape::Sphere { radius: 0.05 * height };
    running.colliders_mut().add(finger, Pose::at(at), ColliderMotion::Kinematic);
    for _ in 0..FRAMES {
        let weights = weights(face.shapes.len(), dice);
        running.set_weights(&weights);
        if let Some(broken) = not_finite(running.advance(1.0 / 60.0).positions) {
            return broken;
        }
    }
    Outcome::Made
}

fn tissue(face: &FaceModel, mesh: &RigMesh) -> Outcome {
    let began = Instant::now();
    let jaw = jaw_driven_shapes(mesh);
    let free = FreePart::flags(&FreePart::find(face), face.vertex_count());
    let input = TissueInput { free: &free, ..TissueInput::new(face, &jaw) };
    let mut in_time = |_| {
        if began.elapsed().as_secs_f64() > MOST_SECONDS { Continue::Abandon } else { Continue::Yes }
    };
    let tissue = match Tissue::build(&input, &TissueParams::default(), &mut in_time) {
        Ok(tissue) => tissue,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let mut performing = match TissueBody::new(Arc::new(tissue)) {
        Ok(performing) => performing,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let mut dice = Dice::new(0);
    for _ in 0..FRAMES {
        performing.set_weights(&weights(face.shapes.len(), &mut dice));
        if let Some(broken) = not_finite(performing.advance(1.0 / 60.0)) {
            return broken;
        }
    }
    Outcome::Made
}

fn weights(count: usize, dice: &mut Dice) -> Vec<f32> {
    (0..count).map(|_| dice.below(3) as f32 * 0.5).collect()
}

fn not_finite(positions: &[Vec3]) -> Option<Outcome> {
    let vertex = positions.iter().position(|p| !p.is_finite())?;
    Some(Outcome::Broken(format!("vertex {vertex} is at infinity")))
}
