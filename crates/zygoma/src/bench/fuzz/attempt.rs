//! Runs one damaged rig through every stage.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_face::body::{Body, Drive};
use zygoma_face::contact::ColliderMotion;
use zygoma_face::enriched::{Enriched, EnrichedBody, EnrichedParams};
use zygoma_face::model::Continue;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::fit::FitParams;
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_face::tissue::{Tissue, TissueBody, TissueInput, TissueParams};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::Rig;
use zygoma_rig::report::Report;

use super::damage::{Dice, SMALL_INPUTS, damaged_rig};

/// Seconds that a build may take, and after which a tissue build is cancelled.
const MOST_SECONDS: f64 = 20.0;

/// Frames that each body performs.
const FRAMES: usize = 12;

/// Makes a body from a face, or says why it cannot.
type Make = fn(&FaceModel) -> Result<Box<dyn Body>, String>;

/// The bodies that every rig is tried with.
const BODIES: [(&str, Make); 3] =
    [("shell", make_shell), ("tissue", make_tissue), ("enriched", make_enriched)];

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

fn drive(rig: &Rig, most_triangles: usize, dice: &mut Dice, record: &mut dyn FnMut(&str, Outcome)) {
    let mesh = rig.skin();
    // Only checks that it terminates.
    let _ = Report::new(rig);
    record("report", Outcome::Made);
    let face = match build(&rig.name, mesh, &build_params(most_triangles, dice), &mut |_| Continue::Yes) {
        Ok(mut face) => {
            face.look_inside(rig);
            face
        }
        Err(error) => return record("build", Outcome::Refused(error.to_string())),
    };
    record("build", Outcome::Made);
    record("file", reopened(&face));
    for (name, make) in BODIES {
        record(name, perform(make(&face), &face, dice));
    }
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

fn make_shell(face: &FaceModel) -> Result<Box<dyn Body>, String> {
    match ShellBody::new(face, RunParams::default()) {
        Ok(body) => Ok(Box::new(body)),
        Err(error) => Err(error.to_string()),
    }
}

fn make_tissue(face: &FaceModel) -> Result<Box<dyn Body>, String> {
    let began = Instant::now();
    let input = TissueInput::new(face);
    let mut in_time = |_| {
        if began.elapsed().as_secs_f64() > MOST_SECONDS { Continue::Abandon } else { Continue::Yes }
    };
    let tissue =
        Tissue::build(&input, &TissueParams::default(), &mut in_time).map_err(|error| error.to_string())?;
    match TissueBody::new(Arc::new(tissue)) {
        Ok(body) => Ok(Box::new(body)),
        Err(error) => Err(error.to_string()),
    }
}

fn make_enriched(face: &FaceModel) -> Result<Box<dyn Body>, String> {
    let began = Instant::now();
    let mut in_time = |_| {
        if began.elapsed().as_secs_f64() > MOST_SECONDS { Continue::Abandon } else { Continue::Yes }
    };
    // A step for each frame: short, since there are many rigs.
    let params = EnrichedParams { step_time: 1.0 / 60.0, ..EnrichedParams::default() };
    let enriched = Enriched::build(&TissueInput::new(face), &params, &mut in_time);
    match EnrichedBody::new(Arc::new(enriched.map_err(|error| error.to_string())?)) {
        Ok(body) => Ok(Box::new(body)),
        Err(error) => Err(error.to_string()),
    }
}

/// Lets a body perform random weights while a ball is in its way.
fn perform(made: Result<Box<dyn Body>, String>, face: &FaceModel, dice: &mut Dice) -> Outcome {
    let mut body = match made {
        Ok(body) => body,
        Err(sentence) => return Outcome::Refused(sentence),
    };
    if let Some(colliders) = body.colliders_mut() {
        let places = Landmarks::new(face);
        let vertex = places.iter().next().map_or(face.skin[0], |place| place.vertex);
        let finger = ColliderShape::Sphere { radius: 0.05 * face.height as f32 };
        colliders.add(finger, Pose::at(face.neutral[vertex as usize]), ColliderMotion::Kinematic);
    }
    for _ in 0..FRAMES {
        if let Err(error) = body.drive(Drive::Weights(&weights(face.shapes.len(), dice))) {
            return Outcome::Broken(error.to_string());
        }
        if let Some(broken) = not_finite(body.advance(1.0 / 60.0).positions) {
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
