//! Flesh that performs for a tab: its pace, its report, and what is shown of its inside.

use std::time::{Duration, Instant};

use glam::{DVec3, Vec3};
use zygoma_face::body::Body as Simulated;
use zygoma_face::tissue::{LiveParams, STICKY, TissueBody};
use zygoma_geometry::cut::{Plane, section as cut_through};
use zygoma_geometry::rigid::RigidMotion;

use super::LONGEST_FRAME;
use crate::builder::background_pool;
use crate::frame::FrameWriter;
use crate::model::Model;
use crate::protocol::{CutPlane, FleshReport, section, stage};

/// What a frame may take to compute, s: a page that gets ten frames a second still feels alive. Slower flesh lives more slowly.
const BUDGET: f64 = 0.08;

/// The shortest time that a frame advances, s: a step of the physics.
const SHORTEST_FRAME: f64 = 1.0 / 60.0;

/// How much a new frame counts in what is told.
const FRESH: f64 = 0.1;

/// How often the page is told how flesh is doing.
const NEWS: Duration = Duration::from_millis(200);

/// Most triangles of a cut: a plane through flesh ten times as fine meets fewer.
const MOST_CUT: usize = 20_000;

/// What the lips of flesh may be, over the usual stickiness.
const STICKINESS: std::ops::RangeInclusive<f64> = 0.0..=10.0;

/// What of the flesh a page wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    pub(crate) volume: bool,
    pub(crate) lips: bool,
    pub(crate) cut: Option<CutPlane>,
}

/// Running flesh.
pub(crate) struct Flesh {
    performing: TissueBody,
    /// Where it runs. A step is made of many short parts; with a thread for each core, all of them would wait for the one whose
    /// core draws the page.
    pool: Option<rayon::ThreadPool>,
    /// Seconds of work for each second of its time, and for a frame, smoothed.
    cost: f64,
    frame: f64,
    /// How fast its time passes.
    speed: f64,
    last: Instant,
    told: Instant,
    surface: Vec<Vec3>,
}

impl Flesh {
    pub(crate) fn new(performing: TissueBody) -> Self {
        let now = Instant::now();
        Self {
            performing,
            pool: background_pool(),
            cost: 0.0,
            frame: 0.0,
            speed: 1.0,
            last: now,
            told: now,
            surface: Vec::new(),
        }
    }

    /// What of it can be touched.
    pub(crate) fn touchable(&self) -> &dyn Simulated {
        &self.performing
    }

    /// What of it can be touched, to be touched.
    pub(crate) fn touchable_mut(&mut self) -> &mut dyn Simulated {
        &mut self.performing
    }

    /// What to know about it, as a sentence.
    pub(crate) fn note(&self) -> String {
        let count = self.performing.tissue().tet_count();
        format!("{count} tetrahedra under the mesh of the shell; a finer mesh makes finer, slower flesh.")
    }

    /// Sets what may change at any time; stickiness is over the usual one.
    pub(crate) fn set(&mut self, stickiness: f64, gravity: DVec3) {
        let stickiness = stickiness.clamp(*STICKINESS.start(), *STICKINESS.end()) * STICKY;
        self.performing.set_live(LiveParams { stickiness, gravity: gravity.to_array() });
    }

    /// Comes to rest in an expression and a pose, with no finger on it.
    pub(crate) fn settle(&mut self, weights: &[f32], pose: &RigidMotion) {
        self.performing.colliders_mut().clear();
        self.performing.set_weights(weights);
        self.performing.set_head_pose(pose);
        self.on_pool(|performing| performing.settle());
        self.last = Instant::now();
    }

    /// The longest time that a frame may advance for it, s.
    pub(crate) fn longest_frame(&self) -> f64 {
        longest_frame(self.cost)
    }

    /// Moves on by a frame.
    pub(crate) fn advance(&mut self, seconds: f64, weights: &[f32], pose: &RigidMotion) -> &[Vec3] {
        let began = Instant::now();
        let smooth = |value: &mut f64, new: f64| *value += FRESH * (new - *value);
        smooth(&mut self.speed, (seconds / (began - self.last).as_secs_f64().max(1e-6)).min(1.0));
        self.last = began;
        self.performing.set_weights(weights);
        self.performing.set_head_pose(pose);
        self.on_pool(|performing| performing.advance(seconds));
        let spent = began.elapsed().as_secs_f64();
        smooth(&mut self.frame, spent);
        smooth(&mut self.cost, spent / seconds.max(1e-6));
        &self.surface
    }

    /// Finds another surface on the threads that it may use.
    fn on_pool(&mut self, act: impl FnOnce(&mut TissueBody) -> &[Vec3] + Send) {
        let Self { performing, pool, surface, .. } = self;
        let found = match pool {
            Some(pool) => pool.install(|| act(performing)),
            None => act(performing),
        };
        surface.clear();
        surface.extend_from_slice(found);
    }

    /// What its last frame took, by [`stage::TISSUE`].
    pub(crate) fn stages(&self) -> [Duration; stage::TISSUE.len()] {
        let stages = self.performing.stages();
        [
            stages.place + stages.control + stages.inertia,
            stages.solve.evaluate,
            stages.solve.solve,
            stages.solve.other,
            stages.contact + stages.constrain + stages.part,
            stages.output,
        ]
    }

    /// How it is doing, if it is time to tell.
    pub(crate) fn report(&mut self) -> Option<FleshReport> {
        if self.told.elapsed() < NEWS {
            return None;
        }
        self.told = Instant::now();
        let (lips, volume) = (self.performing.lips(), self.performing.volume());
        Some(FleshReport {
            tetrahedra: self.performing.tissue().tet_count(),
            milliseconds: 1e3 * self.frame,
            speed: self.speed,
            contacts: lips.contacts,
            sticky: lips.sticky,
            penetration: f64::from(lips.penetration),
            volume: volume.total,
            change: volume.p95,
            inverted: volume.inverted,
        })
    }

    /// Writes what the page wants to see of its inside.
    pub(crate) fn show(&self, wanted: &Inside, model: &Model, writer: &mut FrameWriter) {
        if wanted.volume {
            let changes = self.performing.skin_volume_changes();
            let part = &model.parts[model.rig.skin];
            let of_points = part.vertex_of_point.iter().map(|vertex| changes[*vertex as usize]);
            writer.volumes(model.rig.skin as u32, of_points);
        }
        if wanted.lips {
            let springs = self.performing.sticky_springs();
            writer.places(section::STICKY, springs.as_flattened());
            writer.places(section::LIPS, &self.performing.lip_contacts());
        }
        if let Some(plane) = wanted.cut.as_ref().and_then(usable) {
            let cut = cut_through(&self.performing.flesh(), self.performing.tissue().tets(), &plane);
            let changes = self.performing.volume_changes();
            let triangles = cut.piece.triangles.iter().zip(&cut.tets).take(MOST_CUT);
            let corners: Vec<(Vec3, f32)> = triangles
                .flat_map(|(t, tet)| {
                    t.map(|v| (cut.piece.positions[v as usize].as_vec3(), changes[*tet as usize]))
                })
                .collect();
            writer.cut(&corners);
        }
    }
}

/// How far flesh may advance at once that costs so many seconds of work for each of its own.
fn longest_frame(cost: f64) -> f64 {
    (BUDGET / cost.max(1e-3)).clamp(SHORTEST_FRAME, LONGEST_FRAME)
}

/// A plane that cuts something.
fn usable(plane: &CutPlane) -> Option<Plane> {
    let normal = DVec3::from_array(plane.normal.map(f64::from)).try_normalize()?;
    let height = f64::from(plane.height);
    height.is_finite().then_some(Plane { point: height * normal, normal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_flesh_lives_more_slowly_and_a_frame_stays_short() {
        assert_eq!(longest_frame(0.0), LONGEST_FRAME);
        assert_eq!(longest_frame(0.5), LONGEST_FRAME, "flesh that keeps up is as any face");
        let heavy = 50e-3 / SHORTEST_FRAME;
        assert!(heavy * longest_frame(heavy) <= BUDGET + 1e-9);
        assert_eq!(longest_frame(1e6), SHORTEST_FRAME, "it never stands still");
    }

    #[test]
    fn a_plane_without_direction_or_place_cuts_nothing() {
        let plane = |normal, height| usable(&CutPlane { normal, height });
        assert_eq!(plane([0.0; 3], 0.1), None);
        assert_eq!(plane([f32::NAN, 0.0, 1.0], 0.1), None);
        assert_eq!(plane([0.0, 0.0, 1.0], f32::INFINITY), None);
        let found = plane([0.0, 2.0, 0.0], 0.5).unwrap();
        assert_eq!((found.point, found.normal), (0.5 * DVec3::Y, DVec3::Y));
    }
}
