//! NePHIM's own simulation of hands (Thesis ch. 6), for comparison only: it is no faster than published and knows neither inertia nor friction.
//!
//! In fixed ticks of 50 ms, skin is dragged along with the hands that meet it (Algorithm 2), pinched skin is held in ridges (Algorithms 3
//! and 4), and projective dynamics find the tissue between these targets, the tracked skin and the bones (eq. 6 to 9). A second solve corrects what
//! is still inside a hand (eq. 10 and 11). Where the publication cannot be meant as printed, this deviates:
//!
//! - Skin sticks to the nearest point of the hand's surface, not to its nearest vertex, and is tested at full resolution.
//! - Eq. 10 is squared. Held skin is not pushed as well. κ of Algorithm 4 is at most 1.
//! - Weights of Table 7 are per element: they are converted to our elements by volume and area, with lengths in centimetres. In metres, strain
//!   would outweigh the targets ten-thousandfold.
//! - The expression (eq. 2 to 5) is the equilibrium that the tissue has for it anyway.
//! - Bones have no tetrahedra here. Tissue on bone is held at its place by w_J and w_C, or by a fraction of them (Fig. 9).

mod interactions;

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_hand::HandPose;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_physics::projective::{
    Attachments, Elements, GlobalStep, Handle, Prefactored, Row, ShapedTets, Stencil, System, Target, row,
};

use self::interactions::{Interactions, Pin};
use super::build::{Tissue, factor};
use super::contraction::ContractedShape;
use super::elements::shaped_parameters;
use super::params::Actuation;
use crate::body::{BadDrive, Body, Drive, Frame};
use crate::contact::{Colliders, HandId, HeadWay};
use crate::volume::Tie;
use crate::volume::contact::{carried, handling, stencil};

/// s of Table 8, a tick, s; and α, with which the skin's velocity is kept (Thesis ch. 6 eq. 6), s.
const TICK: f64 = 0.05;
const KEPT: f32 = 0.01;
/// Iterations of projective dynamics (Table 8).
const ITERATIONS: usize = 10;
/// w_tar, w_S, w_J = w_C, and w_push = w_pull = w_corr (Table 7).
const TRACKED: f64 = 1e2;
const STRAIN: f64 = 1e1;
const BONE: f64 = 1e4;
const TOUCHED: f64 = 1e2;
/// Mean area of skin per vertex and mean volume of a tetrahedron of the published template, m² and m³: 6,688 vertices and 31,456 tetrahedra
/// (Table 6) of a head with 0.15 m² of skin and two litres of soft tissue. Both sizes are ours.
const AREA: f64 = 0.15 / 6688.0;
const VOLUME: f64 = 2e-3 / 31_456.0;
/// Square centimetres in a square metre, for targets.
const PER_METRE: f64 = 1e4;
/// Stiffness s_t of tissue far from bone; at bone it is 1. Ours, as the percentile of distances at which it is reached.
const SOFTEST: f64 = 0.2;
const FAR: f64 = 0.9;
/// Smallest singular value of a target shape.
const SOUND: f64 = 0.1;
/// Iterations of conjugate gradients in a global step: targets of hands add at most twice the weight that the skin has anyway.
const CONJUGATE: usize = 6;

/// Targets of points on the skin, each carried by up to nine rows.
type Pins = Elements<f32, Target, 9, 1, 4>;

/// The parts of the method that can be left out, to show what each of them is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedOptions {
    /// The fraction of w_J and w_C, from 0 to 1 (Fig. 9).
    pub bones: f64,
    /// Whether skin is dragged from where a hand met it (Fig. 8), or pushed to the nearest surface.
    pub paths: bool,
    /// Whether remaining collisions are corrected (Fig. 7).
    pub correction: bool,
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
    /// Targets of skin, and of tissue on bone, with their rows.
    tracked: Handle<Attachments<f32>>,
    skin: Vec<u32>,
    bones: Handle<Attachments<f32>>,
    on_bone: Vec<u32>,
    pins: Handle<Pins>,
    global: Prefactored<f32>,
    colliders: Colliders,
    weights: Vec<f32>,
    head: HeadWay,
    /// Hands at the last tick, in the head's frame.
    hands: BTreeMap<u64, HandPose>,
    interactions: Interactions,
    rest: Vec<Row<f32>>,
    /// Rows at the last two ticks.
    rows: [Vec<Row<f32>>; 2],
    /// Surfaces at the last two ticks, and between them.
    surfaces: [Vec<Vec3>; 2],
    shown: Vec<Vec3>,
}

impl PublishedBody {
    /// Prepares the tissue of a face.
    pub fn new(tissue: Arc<Tissue>, options: PublishedOptions) -> Result<Self, NotPositiveDefinite> {
        let positions = &tissue.tissue_mesh.mesh.positions;
        let layout = &tissue.layout;
        let at: Vec<DVec3> = layout.vertices.iter().map(|v| positions[*v as usize]).collect();
        let mut system = System::new(at.len(), at.len());
        let fits = "the layout has a row for every vertex";
        let shaped = system.add(strain(&tissue, &at)).expect(fits);
        let (skin_count, areas) = (tissue.surface.positions.len(), &tissue.surface.areas);
        let area = |vertex: usize| areas[tissue.tissue_mesh.above[vertex] as usize] / AREA * PER_METRE;
        let held = |rows: &[u32], weight: f64| {
            let mut held = Attachments::new();
            for row in rows {
                let target = at[*row as usize].to_array();
                let weight = weight * area(layout.vertices[*row as usize] as usize);
                held.push(&Stencil::vertex(*row), Target { weight, target });
            }
            held
        };
        let is_bone = |v: &usize| {
            matches!(tissue.tissue_mesh.ties[*v], Tie::Cranium | Tie::Jaw | Tie::Ligaments { .. })
        };
        let skin: Vec<u32> = (0..skin_count).map(|v| layout.rows[v]).collect();
        // Nothing but a target holds tissue without elements.
        let on_bone = (skin_count..at.len()).filter(|v| is_bone(v) || tissue.is_alone[*v]);
        let on_bone: Vec<u32> = on_bone.map(|v| layout.rows[v]).collect();
        let tracked = system.add(held(&skin, TRACKED)).expect(fits);
        // Without bones a trace remains, so that there is one solution.
        let bones = system.add(held(&on_bone, BONE * options.bones.max(1e-6))).expect(fits);
        let pins = system.add_transient(Pins::new()).expect(fits);
        let global = factor(&system, &vec![0.0; at.len()], &[])?;
        let rest: Vec<Row<f32>> = at.iter().map(|p| row(*p)).collect();
        let surface = tissue.skin.neutral.clone();
        Ok(Self {
            colliders: Colliders::new(handling(TICK, tissue.touchable.height), 0),
            weights: vec![0.0; tissue.surface.moves.len()],
            head: HeadWay { before: RigidMotion::IDENTITY, now: RigidMotion::IDENTITY },
            hands: BTreeMap::new(),
            interactions: Interactions::default(),
            rows: [rest.clone(), rest.clone()],
            surfaces: [surface.clone(), surface.clone()],
            shown: surface,
            tissue,
            options,
            system,
            shaped,
            tracked,
            skin,
            bones,
            on_bone,
            pins,
            global,
            rest,
        })
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

    /// The whole mesh without the motion of the rows.
    fn base(&self) -> Vec<Vec3> {
        let mut base = self.tissue.skin.neutral.clone();
        let detail = &self.tissue.skin.detail;
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut base), &self.weights, detail);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        base
    }

    /// The whole mesh for rows.
    fn surface(&self, base: &[Vec3], rows: &[Row<f32>]) -> Vec<Vec3> {
        let moved: Vec<Vec3> = self.skin.iter().map(|row| self.motion(rows, *row)).collect();
        let embedding = &self.tissue.skin.embedding;
        base.iter().enumerate().map(|(vertex, at)| *at + embedding.displacement(vertex, &moved)).collect()
    }

    fn motion(&self, rows: &[Row<f32>], row: u32) -> Vec3 {
        Vec3::from_slice(&rows[row as usize]) - Vec3::from_slice(&self.rest[row as usize])
    }

    /// Algorithm 1: one tick.
    fn tick(&mut self) {
        let base = self.base();
        let displaced = self.displaced();
        let tracked: Vec<Row<f32>> =
            self.rest.iter().zip(&displaced).map(|(a, b)| added(a, b, 1.0)).collect();
        self.aim(&tracked, &displaced);
        let tissue = Arc::clone(&self.tissue);
        let samples = &tissue.touchable.samples;
        let offset = |s: u32| samples.on_mesh(s, &base) - carried(samples, s, &self.rest);
        let offsets: Vec<Vec3> = (0..samples.len() as u32).map(offset).collect();
        let at = |rows: &[Row<f32>]| -> Vec<Vec3> {
            (0u32..).zip(&offsets).map(|(s, offset)| *offset + carried(samples, s, rows)).collect()
        };
        let hands = self.moved_hands();
        let ways = [at(&self.rows[0]), at(&tracked)];
        let mut pins = self.interactions.find(&hands, &ways, self.options.paths);
        let mut rows = tracked;
        self.solve(&pins, &offsets, &mut rows);
        if self.options.correction {
            pins.extend(self.interactions.remaining(&hands, &at(&rows)));
            self.solve(&pins, &offsets, &mut rows);
        }
        let surface = self.surface(&base, &rows);
        self.surfaces.swap(0, 1);
        self.surfaces[0] = surface;
        self.rows.swap(0, 1);
        self.rows[0] = rows;
    }

    /// Sets the targets of skin and bone (Thesis ch. 6 eq. 6), and shapes that are free of strain in the expression.
    fn aim(&mut self, tracked: &[Row<f32>], displaced: &[Row<f32>]) {
        self.system.group_mut(self.shaped).take_shapes(displaced, SOUND);
        let kept = KEPT / TICK as f32;
        let [last, before] = &self.rows;
        let targets = self.system.group_mut(self.tracked);
        for (index, row) in self.skin.iter().map(|row| *row as usize).enumerate() {
            let velocity = added(&last[row], &before[row], -1.0);
            let Target { weight, .. } = targets.parameters(index);
            targets.set_parameters(
                index,
                Target { weight, target: place(&added(&tracked[row], &velocity, kept)) },
            );
        }
        let targets = self.system.group_mut(self.bones);
        for (index, row) in self.on_bone.iter().map(|row| *row as usize).enumerate() {
            let Target { weight, .. } = targets.parameters(index);
            targets.set_parameters(index, Target { weight, target: place(&tracked[row]) });
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

    /// Projective dynamics (Thesis ch. 6 eq. 9 and 11).
    fn solve(&mut self, pins: &[Pin], offsets: &[Vec3], rows: &mut [Row<f32>]) {
        let samples = &self.tissue.touchable.samples;
        let group = self.system.group_mut(self.pins);
        group.clear();
        let mut added = Vec::with_capacity(pins.len());
        for pin in pins {
            let weight = TOUCHED * PER_METRE * f64::from(samples.area(pin.sample)) / AREA;
            let target = (pin.target - offsets[pin.sample as usize]).to_array().map(f64::from);
            group.push(&stencil(samples, pin.sample), Target { weight, target });
            added.push((weight as f32, samples.follows(pin.sample)));
        }
        let mut gradient = vec![[0.0; 4]; rows.len()];
        for _ in 0..ITERATIONS {
            self.system.energy_and_gradient(rows, &mut gradient);
            let step = conjugate(&mut self.global, &added, &gradient);
            rows.iter_mut().zip(&step).for_each(|(row, step)| *row = self::added(row, step, -1.0));
        }
    }

    fn settle_now(&mut self) {
        self.hands.clear();
        self.interactions = Interactions::default();
        let (base, displaced) = (self.base(), self.displaced());
        let tracked: Vec<Row<f32>> =
            self.rest.iter().zip(&displaced).map(|(a, b)| added(a, b, 1.0)).collect();
        let surface = self.surface(&base, &tracked);
        self.rows = [tracked.clone(), tracked];
        self.surfaces = [surface.clone(), surface.clone()];
        self.shown = surface;
    }
}

/// Strain of all tetrahedra (Thesis ch. 6 eq. 3): stiff at bone, softer away from it.
fn strain(tissue: &Tissue, at: &[DVec3]) -> ShapedTets<f32> {
    let mesh = &tissue.tissue_mesh;
    let is_bone = |tie: &Tie| matches!(tie, Tie::Cranium | Tie::Jaw | Tie::Ligaments { .. });
    let bone: Vec<DVec3> =
        mesh.ties.iter().zip(&mesh.mesh.positions).filter(|(tie, _)| is_bone(tie)).map(|(_, p)| *p).collect();
    let middle = |tet: &[u32; 4]| 0.25 * tet.iter().map(|v| mesh.mesh.positions[*v as usize]).sum::<DVec3>();
    let distance = |p: DVec3| bone.iter().map(|b| b.distance_squared(p)).fold(f64::MAX, f64::min).sqrt();
    let distances: Vec<f64> = mesh.mesh.tets.iter().map(|tet| distance(middle(tet))).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let far = sorted.get((FAR * sorted.len() as f64) as usize).copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let mut strain = ShapedTets::new();
    for (tet, distance) in mesh.mesh.tets.iter().zip(distances) {
        let corners = tet.map(|v| tissue.layout.rows[v as usize]);
        let Some(stencil) = Stencil::tetrahedron(at, corners) else { continue };
        let stiffness = 1.0 + (SOFTEST - 1.0) * (distance / far).min(1.0);
        let weight = STRAIN * stiffness * stencil.size / VOLUME;
        strain.push(&stencil, shaped_parameters([weight, 0.0], &ContractedShape::NOT));
    }
    strain
}

/// Solves (A + Σ w c cᵀ) s = q by conjugate gradients with A as preconditioner, whose products follow from the recursion itself.
fn conjugate(
    global: &mut Prefactored<f32>,
    added_rows: &[(f32, &[(u32, f32)])],
    q: &[Row<f32>],
) -> Vec<Row<f32>> {
    let mut residual = q.to_vec();
    let mut solved = vec![[0.0; 4]; q.len()];
    let mut preconditioned = vec![[0.0; 4]; q.len()];
    global.solve(&residual, &mut preconditioned);
    if added_rows.is_empty() {
        return preconditioned;
    }
    let mut direction = preconditioned.clone();
    let mut product = residual.clone();
    let mut square = dot(&residual, &preconditioned);
    for _ in 0..CONJUGATE {
        let mut whole = product.clone();
        for (weight, follows) in added_rows {
            let value: Vec3 =
                follows.iter().map(|(row, w)| *w * Vec3::from_slice(&direction[*row as usize])).sum();
            for (row, w) in *follows {
                (0..3).for_each(|k| whole[*row as usize][k] += weight * w * value[k]);
            }
        }
        let curvature = dot(&direction, &whole);
        if curvature <= 0.0 || square <= 0.0 {
            break;
        }
        let length = (square / curvature) as f32;
        solved.iter_mut().zip(&direction).for_each(|(s, p)| *s = added(s, p, length));
        residual.iter_mut().zip(&whole).for_each(|(r, w)| *r = added(r, w, -length));
        global.solve(&residual, &mut preconditioned);
        let next = dot(&residual, &preconditioned);
        let kept = (next / square) as f32;
        square = next;
        direction.iter_mut().zip(&preconditioned).for_each(|(p, z)| *p = added(z, p, kept));
        product.iter_mut().zip(&residual).for_each(|(p, r)| *p = added(r, p, kept));
    }
    solved
}

fn dot(a: &[Row<f32>], b: &[Row<f32>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (0..3).map(|k| f64::from(a[k]) * f64::from(b[k])).sum::<f64>()).sum()
}

/// a + t b.
fn added(a: &Row<f32>, b: &Row<f32>, t: f32) -> Row<f32> {
    std::array::from_fn(|k| a[k] + t * b[k])
}

fn place(row: &Row<f32>) -> [f64; 3] {
    [row[0], row[1], row[2]].map(f64::from)
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
        self.settle_now();
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        self.colliders.begin_frame();
        self.colliders.move_colliders(1.0, &self.head, seconds as f32);
        self.colliders.end_frame(0.0);
        self.head.before = self.head.now;
        self.tick();
        self.frame_before(0.0)
    }

    fn colliders(&self) -> Option<&Colliders> {
        Some(&self.colliders)
    }

    fn colliders_mut(&mut self) -> Option<&mut Colliders> {
        Some(&mut self.colliders)
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
