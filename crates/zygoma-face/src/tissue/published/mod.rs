//! NePHIM's own simulation of hands (Thesis ch. 6), for comparison only: it knows neither inertia nor friction, and does not keep volume.
//!
//! In fixed ticks of 50 ms, skin is dragged along with the hands that meet it (NePHIM Algorithm 2), pinched skin is held in ridges
//! (NePHIM Algorithms 3 and 4), and projective dynamics find the tissue between these targets, the tracked skin and the bones (Thesis ch. 6 eq. 6 to 9). A
//! second solve corrects what is still inside a hand (Thesis ch. 6 eq. 10 and 11). Where the publication cannot be meant as printed, or
//! does not say, this deviates:
//!
//! - A point of the skin has one target: where it is pushed or pulled, that target takes the place of the tracked one. All three weigh the same
//!   (NePHIM Table 7); if both pulled at it, as Thesis ch. 6 eq. 8 has it, skin would stay half inside the hand.
//! - Skin sticks to the nearest point of the hand's surface, not to its nearest vertex, and is tested at full resolution, where it was simulated
//!   last.
//! - Thesis ch. 6 eq. 10 is squared. Held skin is not pushed as well. κ of NePHIM Algorithm 4 is at most 1.
//! - Weights of NePHIM Table 7 are per element: they are converted to our elements by volume and area, with lengths in centimetres.
//! - The expression (Thesis ch. 6 eq. 2 to 5) is the equilibrium that the tissue has for it anyway.
//! - Bones have no tetrahedra here. Tissue on bone is held at its place by w_J and w_C, or by a fraction of them (NePHIM Fig. 9).

mod elements;
mod interactions;

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_hand::HandPose;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_numerics::{Checked, Ranged};
use zygoma_physics::projective::{Attachments, Handle, Prefactored, Row, ShapedTets, System, Target, row};

use self::elements::{
    AddedRow, CORRECTED, Pins, added, bone_targets, conjugate, skin_targets, strain, weight,
};
use self::interactions::{Interactions, Pin};
use super::build::{Tissue, factor};
use super::params::Actuation;
use super::progress::TissueError;
use crate::body::{BadDrive, Body, Drive, Frame, Touchable};
use crate::contact::{Colliders, HandId, HeadWay};
use crate::volume::contact::{carried, contact_scale, stencil};

/// s of NePHIM Table 8, a tick, s; and α, with which the skin's velocity is kept (Thesis ch. 6 eq. 6), s.
const TICK: f64 = 0.05;
const KEPT: f32 = 0.01;
/// Iterations of projective dynamics (NePHIM Table 8).
const ITERATIONS: usize = 10;
/// Smallest singular value of a target shape. Ours.
const SOUND: f64 = 0.1;

/// The parts of the method that can be left out, to show what each of them is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedOptions {
    /// The fraction of w_J and w_C, from 0 to 1 (NePHIM Fig. 9).
    pub bones: f64,
    /// Whether skin is dragged from where a hand met it, or pushed to the nearest surface (NePHIM Fig. 8).
    pub paths: bool,
    /// Whether remaining collisions are corrected (NePHIM Fig. 7).
    pub correction: bool,
}

impl Checked for PublishedOptions {
    fn ranges(&self) -> Vec<Ranged> {
        vec![Ranged::new("bones", self.bones, 0.0..=1.0)]
    }
}

impl Default for PublishedOptions {
    fn default() -> Self {
        Self { bones: 1.0, paths: true, correction: true }
    }
}

/// A face under hands, simulated as published.
#[derive(Clone)]
pub struct PublishedBody {
    tissue: Arc<Tissue>,
    options: PublishedOptions,
    system: System<f32>,
    shaped: Handle<ShapedTets<f32>>,
    /// Targets of all points of the skin, in their order.
    skin: Handle<Pins>,
    /// Targets of tissue on bone, and its rows.
    bones: Handle<Attachments<f32>>,
    on_bone: Vec<u32>,
    corrections: Handle<Pins>,
    global: Prefactored<f32>,
    colliders: Colliders,
    weights: Vec<f32>,
    head: HeadWay,
    /// Hands at the last tick, in the head's frame.
    hands: BTreeMap<u64, HandPose>,
    interactions: Interactions,
    rest: Vec<Row<f32>>,
    /// Points of the skin at the last two ticks.
    places: [Vec<Vec3>; 2],
    /// Surfaces at the last two ticks, and between them.
    surfaces: [Vec<Vec3>; 2],
    shown: Vec<Vec3>,
}

/// The tracked face of a tick.
struct Tracked {
    /// The whole mesh without the motion of the rows.
    base: Vec<Vec3>,
    rows: Vec<Row<f32>>,
    displaced: Vec<Row<f32>>,
    /// The part of each skin point's position that does not come from the rows.
    offsets: Vec<Vec3>,
}

impl PublishedBody {
    /// Prepares the tissue of a face.
    pub fn new(tissue: Arc<Tissue>, options: PublishedOptions) -> Result<Self, TissueError> {
        options.check()?;
        let positions = &tissue.tissue_mesh.mesh.positions;
        let at: Vec<DVec3> = tissue.layout.vertices.iter().map(|v| positions[*v as usize]).collect();
        let rest: Vec<Row<f32>> = at.iter().map(|p| row(*p)).collect();
        let mut system = System::new(at.len(), at.len());
        let fits = "the layout has a row for every vertex";
        let shaped = system.add(strain(&tissue, &at)).expect(fits);
        let skin = system.add(skin_targets(&tissue.skin_points.samples, &rest)).expect(fits);
        let (targets, on_bone) = bone_targets(&tissue, &at, options.bones);
        let bones = system.add(targets).expect(fits);
        let corrections = system.add_transient(Pins::new()).expect(fits);
        let global = factor(&system, &vec![0.0; at.len()], &[])?;
        let mut body = Self {
            colliders: Colliders::new(
                contact_scale(TICK, tissue.skin_points.height),
                0,
                tissue.skin_points.triangles.clone(),
            ),
            weights: vec![0.0; tissue.surface.moves.len()],
            head: HeadWay { before: RigidMotion::IDENTITY, now: RigidMotion::IDENTITY },
            hands: BTreeMap::new(),
            interactions: Interactions::default(),
            places: [Vec::new(), Vec::new()],
            surfaces: [Vec::new(), Vec::new()],
            shown: Vec::new(),
            tissue,
            options,
            system,
            shaped,
            skin,
            bones,
            on_bone,
            corrections,
            global,
            rest,
        };
        body.start();
        Ok(body)
    }

    /// Starts from the tracked face, at rest.
    fn start(&mut self) {
        self.hands.clear();
        self.interactions.let_go();
        let tracked = self.tracked();
        let (places, surface) = (self.places(&tracked, &tracked.rows), self.surface(&tracked, &tracked.rows));
        self.places = [places.clone(), places];
        self.surfaces = [surface.clone(), surface.clone()];
        self.shown = surface;
    }

    /// The face in the present expression (Thesis ch. 6 eq. 5).
    fn tracked(&self) -> Tracked {
        let tissue = &self.tissue;
        let displaced = self.displaced();
        let mut base = tissue.skin.neutral.clone();
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut base), &self.weights, &tissue.skin.detail);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        let samples = &tissue.skin_points.samples;
        let offset = |sample| samples.on_mesh(sample, &base) - carried(samples, sample, &self.rest);
        Tracked {
            rows: self.rest.iter().zip(&displaced).map(|(a, b)| added(a, b, 1.0)).collect(),
            offsets: (0..samples.len() as u32).map(offset).collect(),
            base,
            displaced,
        }
    }

    /// Displacement of every row by the expression.
    fn displaced(&self) -> Vec<Row<f32>> {
        let mut displaced = vec![[0.0; 4]; self.rest.len()];
        if self.tissue.params.actuation == Actuation::Shapes {
            self.tissue.shape_targets.blend(&self.weights, &mut displaced);
            self.tissue.move_bones(&self.weights, &mut displaced);
            return displaced;
        }
        let moved = self.tissue.moved(&self.weights);
        for (own, vertex) in displaced.iter_mut().zip(&self.tissue.layout.vertices) {
            *own = row(moved[self.tissue.tissue_mesh.above[*vertex as usize] as usize]);
        }
        displaced
    }

    /// The whole mesh for rows.
    fn surface(&self, tracked: &Tracked, rows: &[Row<f32>]) -> Vec<Vec3> {
        let skin = 0..self.tissue.surface.positions.len();
        let motion = |vertex: usize| {
            let row = self.tissue.layout.rows[vertex] as usize;
            Vec3::from_slice(&rows[row]) - Vec3::from_slice(&self.rest[row])
        };
        let moved: Vec<Vec3> = skin.map(motion).collect();
        let embedding = &self.tissue.skin.embedding;
        let base = tracked.base.iter().enumerate();
        base.map(|(vertex, at)| *at + embedding.displacement(vertex, &moved)).collect()
    }

    /// The points of the skin for rows.
    fn places(&self, tracked: &Tracked, rows: &[Row<f32>]) -> Vec<Vec3> {
        let samples = &self.tissue.skin_points.samples;
        let points = (0u32..).zip(&tracked.offsets);
        points.map(|(sample, offset)| *offset + carried(samples, sample, rows)).collect()
    }

    /// NePHIM Algorithm 1: one tick.
    fn tick(&mut self) {
        let tracked = self.tracked();
        let now = self.places(&tracked, &tracked.rows);
        let hands = self.moved_hands();
        let pins = self.interactions.find(&hands, [&self.places[0], &now], self.options.paths);
        self.aim(&tracked, &now, &pins);
        let mut rows = tracked.rows.clone();
        self.solve(&[], &tracked, &mut rows);
        if self.options.correction {
            let left = self.interactions.remaining(&hands, &self.places(&tracked, &rows));
            self.solve(&left, &tracked, &mut rows);
        }
        let (places, surface) = (self.places(&tracked, &rows), self.surface(&tracked, &rows));
        self.places.swap(0, 1);
        self.places[0] = places;
        self.surfaces.swap(0, 1);
        self.surfaces[0] = surface;
    }

    /// Sets the targets of skin (Thesis ch. 6 eq. 6 and 7) and bone, and shapes that are free of strain in the expression.
    fn aim(&mut self, tracked: &Tracked, now: &[Vec3], pins: &[Pin]) {
        self.system.group_mut(self.shaped).take_shapes(&tracked.displaced, SOUND);
        let kept = KEPT / TICK as f32;
        let [last, before] = &self.places;
        let mut goals: Vec<Vec3> =
            now.iter().zip(last.iter().zip(before)).map(|(now, (a, b))| *now + kept * (*a - *b)).collect();
        pins.iter().for_each(|pin| goals[pin.sample as usize] = pin.target);
        let targets = self.system.group_mut(self.skin);
        for (index, (goal, offset)) in goals.iter().zip(&tracked.offsets).enumerate() {
            let target = (*goal - *offset).to_array().map(f64::from);
            targets.set_parameters(index, Target { target, ..targets.parameters(index) });
        }
        let targets = self.system.group_mut(self.bones);
        for (index, row) in self.on_bone.iter().enumerate() {
            let [x, y, z, _] = tracked.rows[*row as usize].map(f64::from);
            targets.set_parameters(index, Target { target: [x, y, z], ..targets.parameters(index) });
        }
    }

    /// Hands at the last tick and at this one, in the head's frame.
    fn moved_hands(&mut self) -> Vec<(u64, [HandPose; 2])> {
        let now: Vec<(HandId, HandPose)> =
            self.colliders.hands().filter_map(|(id, _)| Some((id, self.colliders.hand_pose(id)?))).collect();
        let moved = |(id, pose): &(HandId, HandPose)| {
            (id.number(), [self.hands.get(&id.number()).copied().unwrap_or(*pose), *pose])
        };
        let moved: Vec<(u64, [HandPose; 2])> = now.iter().map(moved).collect();
        self.hands = now.iter().map(|(id, pose)| (id.number(), *pose)).collect();
        moved
    }

    /// Projective dynamics (Thesis ch. 6 eq. 9, and eq. 11 of Thesis ch. 6 with corrections).
    fn solve(&mut self, corrections: &[Pin], tracked: &Tracked, rows: &mut [Row<f32>]) {
        let samples = &self.tissue.skin_points.samples;
        let group = self.system.group_mut(self.corrections);
        group.clear();
        let mut added_rows: Vec<AddedRow<'_>> = Vec::with_capacity(corrections.len());
        for pin in corrections {
            let weight = CORRECTED * weight(samples, pin.sample);
            let target = (pin.target - tracked.offsets[pin.sample as usize]).to_array().map(f64::from);
            group.push(&stencil(samples, pin.sample), Target { weight, target });
            added_rows.push((weight as f32, samples.follows(pin.sample)));
        }
        let mut gradient = vec![[0.0; 4]; rows.len()];
        for _ in 0..ITERATIONS {
            self.system.energy_and_gradient(rows, &mut gradient);
            let step = conjugate(&mut self.global, &added_rows, &gradient);
            rows.iter_mut().zip(&step).for_each(|(row, step)| *row = added(row, step, -1.0));
        }
    }
}

impl Body for PublishedBody {
    fn name(&self) -> &'static str {
        "tissue"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        let Drive::Weights(weights) = drive else { return Err(drive.unsupported("the published method")) };
        self.weights.iter_mut().zip(weights).for_each(|(own, weight)| *own = *weight);
        Ok(())
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        self.head.now = *pose;
    }

    fn settle(&mut self) {
        self.head.before = self.head.now;
        self.colliders.teleport(&self.head);
        self.start();
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        self.colliders.begin_frame();
        self.colliders.move_colliders(1.0, &self.head, seconds as f32);
        self.colliders.end_frame(0.0);
        self.head.before = self.head.now;
        self.tick();
        self.frame_before(0.0)
    }

    fn touchable(&self) -> Option<&dyn Touchable> {
        Some(self)
    }

    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        Some(self)
    }

    /// Input is needed tick by tick, whatever the frame rate.
    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        (known < frame - 1e-9).then(|| TICK * ((known / TICK).round() + 1.0))
    }

    fn frame_before(&mut self, seconds: f64) -> Frame<'_> {
        let earlier = (seconds / TICK).clamp(0.0, 1.0) as f32;
        self.colliders.end_frame(earlier);
        let [now, before] = &self.surfaces;
        let between = now.iter().zip(before).map(|(now, before)| now.lerp(*before, earlier));
        self.shown.clear();
        self.shown.extend(between);
        Frame { positions: &self.shown, asleep: false }
    }
}

impl Touchable for PublishedBody {
    fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    fn colliders_mut(&mut self) -> &mut Colliders {
        &mut self.colliders
    }

    fn shown(&self) -> &[Vec3] {
        &self.shown
    }
}
