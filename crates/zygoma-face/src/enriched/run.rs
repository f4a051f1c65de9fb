//! An enriched face in motion.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::Row;
use zygoma_physics::rebalanced::{Accuracy, Lame, Method, Solid, SolidInput, StepRule};

use super::blend_materials::BlendMaterials;
use super::build::Enriched;
use super::contact::{RestSurface, StepContact};
use super::forces::Felt;
use super::paint::MaterialPaint;
use super::repair::Repaired;
use crate::body::head_path::HeadPath;
use crate::volume::contact::{ContactMode, LipContact, VolumeContact};

/// The longest frame, s: the same as for a shell.
const LONGEST_FRAME: f64 = 1.0;
/// A step that ends within this fraction of its length after the known time counts as ending with it. Ours.
const ROUNDING: f64 = 1e-6;
/// Displacements and velocities below these count as rest, m and m/s: they halve for ever, but never vanish. Ours: a thousandth of what can be seen.
const REST: f32 = 1e-8;
const REST_SPEED: f32 = 1e-6;

/// Elements of the rest shape that the blend crushed, over all steps since the body was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestReport {
    /// Frames in a step of which the blend of sound shapes had inverted elements.
    pub inverted_frames: usize,
    /// Largest number of elements that were crushed in one step, all of which were repaired as far as possible.
    pub repaired: usize,
    /// Largest number of elements that stayed inverted in one step, and had no stiffness in it.
    pub inverted_left: usize,
}

/// Where contact has changed the artist's own surface, since the body was made: with [`ContactMode::Absolute`](super::ContactMode) only.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InputChanges {
    /// Frames in which lips of the rig pass through each other and were parted.
    pub frames: usize,
    /// The largest correction that was asked of two lips together, m.
    pub largest: f32,
    /// A vertex of the whole mesh there.
    pub vertex: u32,
}

/// Time spent in the last frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) rest: Duration,
    pub(super) dynamic: Duration,
    pub(super) statics: Duration,
    pub(super) contact: Duration,
    pub(super) output: Duration,
}

/// Arrays that a step works in, so that it need not make them.
#[derive(Clone, Default)]
struct Room {
    weights: Vec<f32>,
    material_weights: Vec<f32>,
    materials: Vec<Lame>,
    moved: Vec<Row<f32>>,
}

/// An enriched face: weights and a head pose go in, surfaces come out.
#[derive(Clone)]
pub struct EnrichedBody {
    pub(super) enriched: Arc<Enriched>,
    pub(super) solid: Solid,
    pub(super) contact: VolumeContact,
    pub(super) surface: RestSurface,
    /// Weights at the end of the last and of the present frame.
    pub(super) weights: [Vec<f32>; 2],
    /// Weights of the present rest shape.
    pub(super) rest_weights: Vec<f32>,
    rest: Vec<DVec3>,
    /// Whether the surface that contact sees is that of an earlier rest shape.
    pub(super) surface_is_stale: bool,
    pub(super) materials: Vec<Lame>,
    /// Room for the work of a step.
    room: Room,
    blend_materials: Arc<BlendMaterials>,
    /// Weights of the materials at the end of the last and of the present frame, where they are not those of the shapes.
    pub(super) material_weights: Option<[Vec<f32>; 2]>,
    pub(super) head: RigidMotion,
    pub(super) path: HeadPath,
    /// Time from the end of the last step to the last known frame, s.
    pub(super) behind: f64,
    pub(super) gravity: DVec3,
    pub(super) rebalance: f64,
    external: Vec<Row<f32>>,
    displacements: Vec<Vec3>,
    pub(super) positions: Vec<Vec3>,
    pub(super) times: Times,
    pub(super) report: RestReport,
    /// Whether a step of this frame had inverted elements before their repair.
    is_inverted_in_frame: bool,
    changes: InputChanges,
    is_changed_in_frame: bool,
    /// Iterations of the two solves of the last step.
    pub(super) iterations: [usize; 2],
}

impl EnrichedBody {
    /// Creates the body at rest.
    pub fn new(enriched: Arc<Enriched>) -> Result<Self, NotPositiveDefinite> {
        let params = &enriched.params;
        let materials = enriched.materials.relaxed().to_vec();
        let input = SolidInput {
            rest: &enriched.rest,
            free: enriched.layout.free,
            tets: &enriched.tets,
            materials: &materials,
            springs: &enriched.springs,
            density: params.density,
        };
        let mut solid = Solid::new(&input, StepRule::new(params.step_time))?;
        solid.accuracy = Accuracy { iterations: params.iterations, ..Accuracy::default() };
        let mut contact = VolumeContact::new(
            &enriched.skin_points,
            (enriched.lips.clone(), &enriched.skin.neutral),
            (&enriched.skin.embedding, &enriched.skin_rows),
            (params.contact_mode, params.contact, params.step_time),
            &mut solid.system,
        );
        if let Some(teeth) = enriched.teeth.clone() {
            contact.set_teeth(teeth);
        }
        contact.set_bones(&enriched.solid_bones);
        solid.expect_constraints(&contact.lip_rows(enriched.layout.free));
        let none = vec![0.0; enriched.volumes.shapes.len()];
        let surface = RestSurface::new(&enriched.skin.neutral, enriched.rest.len());
        let mut body = Self {
            weights: [none.clone(), none.clone()],
            rest_weights: none,
            rest: enriched.rest.clone(),
            surface_is_stale: true,
            room: Room { materials: materials.clone(), ..Room::default() },
            head: RigidMotion::IDENTITY,
            path: HeadPath::still(),
            behind: 0.0,
            gravity: DVec3::from_array(params.gravity),
            rebalance: params.rebalance,
            external: vec![[0.0; 4]; enriched.layout.free],
            displacements: vec![Vec3::ZERO; enriched.skin_rows.len()],
            positions: enriched.skin.neutral.clone(),
            times: Times::default(),
            report: RestReport::default(),
            is_inverted_in_frame: false,
            changes: InputChanges::default(),
            is_changed_in_frame: false,
            iterations: [0; 2],
            blend_materials: Arc::new(enriched.materials.clone()),
            material_weights: None,
            enriched,
            surface,
            contact,
            materials,
            solid,
        };
        body.output();
        Ok(body)
    }

    /// The volume that it simulates.
    pub fn enriched(&self) -> &Enriched {
        &self.enriched
    }

    /// Time step of the physics, s.
    pub fn step_time(&self) -> f64 {
        self.solid.rule().seconds
    }

    /// Solves every step by Newton's method until its residual has fallen to a fraction: a reference for the usual solver.
    pub fn solve_by_newton(&mut self, tolerance: f64) {
        self.solid.accuracy =
            Accuracy { iterations: 100, least_motion: 0.0, tolerance, method: Method::Newton };
    }

    /// Leaves contact between lips and with teeth out from now on: a reference for its cost.
    pub fn leave_contact_out(&mut self) {
        self.contact.clear(&mut self.solid.system);
        self.contact.leave_inner_contact_out();
    }

    /// The crushed elements that its rest shapes had so far.
    pub fn rest_report(&self) -> RestReport {
        self.report
    }

    /// Where contact has changed the artist's own surface so far.
    pub fn input_changes(&self) -> InputChanges {
        self.changes
    }

    /// Iterations of the dynamic and of the static solve of the last step.
    pub fn iterations(&self) -> [usize; 2] {
        self.iterations
    }

    /// The largest displacement of the volume from its rest shape, m.
    pub fn largest_displacement(&self) -> f64 {
        let length = |row: &Row<f32>| f64::from(Vec3::from_slice(row).length());
        self.solid.displacements.iter().map(length).fold(0.0, f64::max)
    }

    /// Sets the weights at the end of the next frame.
    pub(super) fn set_weights(&mut self, weights: &[f32]) {
        for (place, own) in self.weights[1].iter_mut().enumerate() {
            *own = weights.get(place).copied().filter(|weight| weight.is_finite()).unwrap_or(0.0);
        }
    }

    /// Sets the weights of the blend materials at the end of the next frame, which otherwise are those of the shapes (*Blendvolumes* eq. 3).
    pub(super) fn set_material_weights(&mut self, weights: &[f32]) {
        let count = self.enriched.volumes.shapes.len();
        let [_, now] = self.material_weights.get_or_insert_with(|| [vec![0.0; count], vec![0.0; count]]);
        for (place, own) in now.iter_mut().enumerate() {
            *own = weights.get(place).copied().filter(|weight| weight.is_finite()).unwrap_or(0.0);
        }
    }

    /// Replaces the materials by painted ones, from the next step on.
    pub fn paint(&mut self, paints: &[MaterialPaint]) {
        self.blend_materials = Arc::new(self.enriched.painted(paints));
    }

    /// Renews the material of a shape, or of the neutral, after its paint has changed: faster than painting everything.
    pub fn repaint(&mut self, shape: Option<usize>, paints: &[MaterialPaint]) {
        let enriched = self.enriched.clone();
        enriched.repaint(shape, paints, Arc::make_mut(&mut self.blend_materials));
    }

    /// μ at each vertex of the whole mesh, Pa, with the material of one shape alone, or the neutral's.
    pub fn skin_stiffness(&self, shape: Option<usize>) -> Vec<f32> {
        self.enriched.skin_stiffness(&self.blend_materials, shape)
    }

    /// Finds the weights of shapes and materials at a fraction of the frame.
    fn weights_at(&self, fraction: f64, room: &mut Room) {
        let between = |[from, to]: &[Vec<f32>; 2], out: &mut Vec<f32>| {
            out.clear();
            out.extend(from.iter().zip(to).map(|(a, b)| a + fraction as f32 * (b - a)));
        };
        between(&self.weights, &mut room.weights);
        between(self.material_weights.as_ref().unwrap_or(&self.weights), &mut room.material_weights);
    }

    /// Comes to rest at the inputs set last.
    pub(super) fn settle(&mut self) {
        self.end_weights();
        self.path.rest_at(&self.head);
        self.behind = 0.0;
        let mut room = std::mem::take(&mut self.room);
        self.weights_at(1.0, &mut room);
        self.blend_materials.blend_at_once(&room.material_weights, &mut self.materials);
        self.room = room;
        self.take_rest(&self.weights[1].clone());
        let felt = Felt::of_gravity(&self.head, self.gravity, self.made_under());
        self.find_forces(&felt);
        if self.external.iter().any(|force| force[..3] != [0.0; 3]) {
            let accuracy = self.solid.accuracy;
            self.solid.accuracy = Accuracy { iterations: 300, ..accuracy };
            let forces = self.external.clone();
            self.solid.settle(&forces);
            self.solid.accuracy = accuracy;
        }
        self.output();
    }

    /// Comes to rest in the rest shape of some weights.
    pub(super) fn take_rest(&mut self, weights: &[f32]) {
        self.solid.come_to_rest();
        self.blend_rest(weights, &mut Vec::new());
        let none = vec![[0.0; 4]; self.enriched.layout.free];
        self.solid.change_rest((&self.rest, &self.materials), 1.0, &none, &mut ());
        self.contact.clear(&mut self.solid.system);
        self.contact.forget(&self.head_way());
        self.follow_rest();
    }

    /// Advances by a frame.
    pub(super) fn run(&mut self, seconds: f64) {
        if seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        let seconds = seconds.min(LONGEST_FRAME);
        self.path.go_to(&self.head, seconds);
        rayon::scope(|_| self.make_steps(seconds));
    }

    /// Advances by a frame as if the head had always moved as in it.
    pub(super) fn begin_moving(&mut self, seconds: f64) {
        if seconds.is_nan() || seconds <= 0.0 {
            return;
        }
        let seconds = seconds.min(LONGEST_FRAME);
        let from = self.path.ends()[1];
        self.path.move_steadily(&from, &self.head, seconds);
        rayon::scope(|_| self.make_steps(seconds));
    }

    fn make_steps(&mut self, seconds: f64) {
        self.times = Times::default();
        self.contact.colliders.begin_frame();
        let h = self.solid.rule().seconds;
        let mut next = h - self.behind;
        while next <= seconds + ROUNDING * h {
            self.step((next / seconds).min(1.0));
            next += h;
        }
        self.behind = (seconds - (next - h)).max(0.0);
        self.report.inverted_frames += usize::from(std::mem::take(&mut self.is_inverted_in_frame));
        self.changes.frames += usize::from(std::mem::take(&mut self.is_changed_in_frame));
        self.end_weights();
        self.output();
    }

    /// The next frame begins with the weights at the end of this one.
    fn end_weights(&mut self) {
        for [from, to] in std::iter::once(&mut self.weights).chain(&mut self.material_weights) {
            from.copy_from_slice(to);
        }
    }

    /// Simulates a step that ends at a fraction of the frame (*Blendvolumes*, Algorithm 1).
    fn step(&mut self, fraction: f64) {
        let began = Instant::now();
        let felt = Felt::at(&self.path, fraction, self.gravity, self.made_under());
        self.find_forces(&felt);
        let forces = std::mem::take(&mut self.external);
        self.follow_rest();
        let step = self.contact_step(fraction);
        let (enriched, surface) = (&*self.enriched, &self.surface);
        let mut contact = StepContact { contact: &mut self.contact, enriched, surface, step };
        let report = self.solid.step(&forces, &mut contact);
        self.iterations = [report.iterations(), 0];
        self.note_changes();
        let contact = std::mem::take(&mut self.contact.times).total();
        self.times.contact += contact;
        self.times.dynamic += began.elapsed().saturating_sub(contact);
        let began = Instant::now();
        let mut room = std::mem::take(&mut self.room);
        self.weights_at(fraction, &mut room);
        let seconds = self.solid.rule().seconds;
        let materials = (&mut room.materials[..], &mut self.materials[..]);
        let has_other_material =
            self.blend_materials.blend(&room.material_weights, seconds, materials.0, materials.1);
        let has_other_shape = room.weights != self.rest_weights;
        if has_other_shape {
            self.blend_rest(&room.weights, &mut room.moved);
        }
        self.room = room;
        if has_other_shape || has_other_material {
            self.times.rest += began.elapsed();
            let began = Instant::now();
            let (enriched, surface) = (&*self.enriched, &self.surface);
            let mut contact = StepContact { contact: &mut self.contact, enriched, surface, step };
            let changed = (&self.rest[..], &self.materials[..]);
            let report = self.solid.change_rest(changed, self.rebalance, &forces, &mut contact);
            self.iterations[1] = report.iterations();
            self.times.statics += began.elapsed();
        }
        self.external = forces;
        self.fall_asleep();
    }

    /// Notes where the contact of a step has parted lips that the artist has in each other.
    fn note_changes(&mut self) {
        if self.enriched.params.contact_mode != ContactMode::Absolute {
            return;
        }
        if let Some((correction, vertex)) = self.contact.lips.as_ref().and_then(LipContact::correction_of_rig)
        {
            self.is_changed_in_frame = true;
            if correction > self.changes.largest {
                (self.changes.largest, self.changes.vertex) = (correction, vertex);
            }
        }
    }

    fn made_under(&self) -> DVec3 {
        DVec3::from_array(self.enriched.params.gravity)
    }

    fn find_forces(&mut self, felt: &Felt) {
        let solid = &self.solid;
        felt.forces(
            solid.masses(),
            solid.rest().positions(),
            &solid.displacements,
            &solid.velocities,
            &mut self.external,
        );
    }

    /// Blends the rest shape, and repairs it where the blend crushes elements.
    fn blend_rest(&mut self, weights: &[f32], moved: &mut Vec<Row<f32>>) {
        self.enriched.volumes.blend(weights, &self.enriched.rest, moved, &mut self.rest);
        self.surface_is_stale = true;
        let Repaired { crushed, inverted, left } = self.enriched.repair(&mut self.rest);
        self.is_inverted_in_frame |= inverted > 0;
        self.report.repaired = self.report.repaired.max(crushed);
        self.report.inverted_left = self.report.inverted_left.max(left);
        self.rest_weights.copy_from_slice(weights);
    }

    /// Ends motion that nobody can see.
    fn fall_asleep(&mut self) {
        let is_below = |rows: &[Row<f32>], limit: f32| {
            rows.iter().all(|row| row[..3].iter().all(|value| value.abs() < limit))
        };
        let pushed = self.external.iter().any(|force| force[..3] != [0.0; 3]);
        if !pushed
            && is_below(&self.solid.displacements, REST)
            && is_below(&self.solid.velocities, REST_SPEED)
        {
            self.solid.come_to_rest();
        }
    }

    /// Finds the surface: the rig's own, displaced by the volume's skin as far as that has moved since the last step.
    fn output(&mut self) {
        let began = Instant::now();
        self.contact.colliders.end_frame(0.0);
        let enriched = &self.enriched;
        let late = self.behind as f32;
        for (v, displacement) in self.displacements.iter_mut().enumerate() {
            let row = enriched.skin_rows[v] as usize;
            let at = Vec3::from_slice(&self.solid.displacements[row]);
            let velocity = self.solid.velocities.get(row).map_or(Vec3::ZERO, |v| Vec3::from_slice(v));
            *displacement = at + late * velocity;
        }
        self.positions.copy_from_slice(&enriched.skin.neutral);
        enriched.skin.add_shapes(&self.weights[1], &mut self.positions);
        for (v, position) in self.positions.iter_mut().enumerate() {
            *position += enriched.skin.embedding.displacement(v, &self.displacements);
        }
        self.times.output += began.elapsed();
    }
}
