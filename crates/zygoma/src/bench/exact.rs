//! How exactly an enriched face gives back the artist's own surface: while its head is still, and after it was shaken.

use std::sync::Arc;

use glam::{DQuat, DVec3, Vec3};
use serde::Serialize;
use zygoma_face::body::{Body, Drive, RigBody};
use zygoma_face::enriched::{Enriched, EnrichedBody, EnrichedParams};
use zygoma_face::model::{Continue, FaceModel};
use zygoma_face::tissue::{TissueInput, TissueVolume};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::binding::Binding;
use zygoma_rig::{Rig, Take};

use super::enriched::face_with_anatomy;

/// Frames per second.
const FPS: f64 = 60.0;
/// Goal: the largest distance from the artist's surface, mm.
const GOAL_MM: f64 = 1e-3;
/// Time for which the head is shaken, s.
const SHAKEN: f64 = 1.0;
/// How far the materials of the shaken face are ahead of its shapes, s.
const MATERIAL_LEAD: f64 = 0.2;
/// Longest wait for the face to come back, s.
const PATIENCE: f64 = 5.0;

/// An enriched face beside the artist's own surface. Lengths in millimetres.
#[derive(Serialize)]
pub(crate) struct ExactReport {
    pub(crate) rig: String,
    pub(crate) nodes: usize,
    pub(crate) goal_mm: f64,
    /// Largest distance in a speech with a still head, and in the same without rebalancing.
    pub(crate) still_mm: f64,
    pub(crate) naive_mm: f64,
    /// Largest distance with a head that is turned and held still, without gravity.
    pub(crate) turned_mm: f64,
    /// Largest distance while the head is shaken in the same speech, and the materials follow one of their own.
    pub(crate) shaken_mm: f64,
    /// Time from the last motion until the distance is within the goal, s; `None` if it never is.
    pub(crate) back_after_seconds: Option<f64>,
    /// Distance in the last frame.
    pub(crate) left_mm: f64,
    /// Frames with repaired elements, with a still and with a shaken head, and how many elements stayed inverted.
    pub(crate) repaired_still: usize,
    pub(crate) repaired_shaken: usize,
    pub(crate) inverted_left: usize,
}

impl ExactReport {
    pub(crate) fn line(&self) -> String {
        let back = match self.back_after_seconds {
            Some(seconds) => format!("back within {} mm after {seconds:.2} s", self.goal_mm),
            None => format!("{:.4} mm off {PATIENCE:.0} s later", self.left_mm),
        };
        format!(
            "{}: {} nodes; still head {:.6} mm (naive {:.2}), turned without gravity {:.6} mm; shaken {:.2} mm, {back}; {} frames with repaired elements while still and {} while shaken, {} left inverted",
            self.rig,
            self.nodes,
            self.still_mm,
            self.naive_mm,
            self.turned_mm,
            self.shaken_mm,
            self.repaired_still,
            self.repaired_shaken,
            self.inverted_left
        )
    }
}

/// Performs the first seconds of a take with a still and with a shaken head.
pub(crate) fn run(rig: &Rig, take: &Take, seconds: f64) -> anyhow::Result<ExactReport> {
    let mut face = face_with_anatomy(rig)?;
    let enriched = build(&face, &EnrichedParams::default())?;
    // Solved once.
    face.add_section(&enriched.solved());
    let start = || Speaker::new(&enriched, rig, take, &face);
    let mut still = start()?;
    let still_mm = still.speak(0.0, seconds)?;
    let still = still.body.rest_report();
    let mut naive = start()?;
    naive.body.set_param("rebalance", 0.0)?;
    let naive_mm = naive.speak(0.0, seconds)?;
    let weightless = build(&face, &EnrichedParams { gravity: [0.0; 3], ..EnrichedParams::default() })?;
    let mut turned = Speaker::new(&weightless, rig, take, &face)?;
    turned.pose = DQuat::from_rotation_z(0.5) * DQuat::from_rotation_x(0.4);
    let turned_mm = turned.speak(0.0, seconds)?;
    let mut shaken = start()?;
    shaken.material_lead = Some(MATERIAL_LEAD);
    let shaken_mm = shaken.speak(0.3, SHAKEN)?;
    let (mut back_after_seconds, mut left_mm) = (None, shaken_mm);
    for frame in 1..=(PATIENCE * FPS) as u32 {
        left_mm = shaken.frame(SHAKEN, 0.0)?;
        if left_mm <= GOAL_MM {
            back_after_seconds = Some(f64::from(frame) / FPS);
            break;
        }
    }
    let rest = shaken.body.rest_report();
    Ok(ExactReport {
        rig: rig.name.clone(),
        nodes: enriched.node_count(),
        goal_mm: GOAL_MM,
        still_mm,
        naive_mm,
        turned_mm,
        shaken_mm,
        back_after_seconds,
        left_mm,
        repaired_still: still.inverted_frames,
        repaired_shaken: rest.inverted_frames,
        inverted_left: rest.inverted_left.max(still.inverted_left),
    })
}

fn build(face: &FaceModel, params: &EnrichedParams) -> anyhow::Result<Arc<Enriched>> {
    let fill = TissueVolume::of_face(face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(face) };
    Ok(Arc::new(Enriched::build(&input, params, &mut |_| Continue::Yes)?))
}

/// An enriched face that performs a take, beside its rig.
struct Speaker<'a> {
    body: EnrichedBody,
    plain: RigBody,
    binding: Binding,
    take: &'a Take,
    mesh: usize,
    weights: Vec<f32>,
    /// The head's pose, before it turns to and fro.
    pose: DQuat,
    /// How far materials are ahead of the shapes in the take, s, if they have weights of their own.
    material_lead: Option<f64>,
}

impl<'a> Speaker<'a> {
    fn new(enriched: &Arc<Enriched>, rig: &Rig, take: &'a Take, face: &FaceModel) -> anyhow::Result<Self> {
        Ok(Self {
            body: EnrichedBody::new(enriched.clone())?,
            plain: RigBody::new(face),
            binding: Binding::new(rig, take),
            take,
            mesh: rig.skin,
            weights: vec![0.0; face.shapes.len()],
            pose: DQuat::IDENTITY,
            material_lead: None,
        })
    }

    /// Performs some seconds with a head that turns to and fro by an angle; returns the largest distance from the rig, mm.
    fn speak(&mut self, angle: f64, seconds: f64) -> anyhow::Result<f64> {
        self.drive(0.0)?;
        self.body.set_head_pose(&RigidMotion { rotation: self.pose, translation: DVec3::ZERO });
        self.body.settle();
        let mut worst = 0.0_f64;
        for frame in 1..=(seconds * FPS).round() as u32 {
            let time = f64::from(frame) / FPS;
            worst = worst.max(self.frame(time, angle * (25.0 * time).sin())?);
        }
        Ok(worst)
    }

    /// Shows the take at a time with the head turned by an angle; returns the distance from the rig, mm.
    fn frame(&mut self, time: f64, angle: f64) -> anyhow::Result<f64> {
        self.drive(time)?;
        let rotation = DQuat::from_rotation_y(angle) * self.pose;
        self.body.set_head_pose(&RigidMotion { rotation, translation: DVec3::ZERO });
        let plain: Vec<Vec3> = self.plain.advance(1.0 / FPS).positions.to_vec();
        let shown = self.body.advance(1.0 / FPS).positions;
        let worst = plain.iter().zip(shown).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        Ok(1e3 * f64::from(worst))
    }

    fn drive(&mut self, time: f64) -> anyhow::Result<()> {
        self.binding.weights_at(self.take, self.mesh, time, &mut self.weights);
        self.body.drive(Drive::Weights(&self.weights))?;
        self.plain.drive(Drive::Weights(&self.weights))?;
        if let Some(lead) = self.material_lead {
            self.binding.weights_at(self.take, self.mesh, time + lead, &mut self.weights);
            self.body.drive(Drive::Materials(&self.weights))?;
        }
        Ok(())
    }
}
