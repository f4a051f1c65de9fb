//! Contact of a volume in a step: between the lips, of skin with colliders, and of tissue with teeth.
//!
//! Constraints act on the rows of a projective system, whose unknowns may be positions or displacements: a [`Surface`] says which.

mod colliders;
mod held;
mod lips;
mod search;
mod skin_points;
mod skull;
mod teeth;

use std::time::{Duration, Instant};

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::projective::{Prefactored, Row, System};

use colliders::{ColliderContact, Lifts};
pub(crate) use colliders::{carried, stencil};
use held::HeldSkin;
pub(crate) use lips::{LipContact, Stiffness};
use skin_points::nearest_corners;
pub(crate) use skin_points::{SkinPoints, contact_scale};
use skull::Skull;
use teeth::Mouth;
pub use teeth::TeethReport;

use crate::contact::{Colliders, GrabId, HeadWay};
use crate::model::{Lips, SolidBone, Teeth};

/// A vertex moves by no more than this multiple of the deepest penetration when penetrations are resolved. Ours: a point between
/// its vertices moves less than they do.
const OVERSHOOT: f32 = 3.0;

/// Maximum number of vertices per step that become contact candidates of the matrix factor, each at the cost of a third of a
/// solve; constraints on the others converge more slowly for the moment. Skin near a collider becomes a candidate before they touch.
/// Ours: a palm that comes down at once would otherwise stall the simulation.
pub(crate) const MOST_NEW: usize = 32;

/// Contacts are searched for in the way of skin that moves up to this far in a step, m. Ours: faster skin is thrown about.
const FARTHEST_SKIN: f32 = 0.03;

/// Penetrations of the rig itself, where its lips pass through each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContactMode {
    /// The artist's own depth is allowed; only penetration that the simulation adds is resolved.
    #[default]
    Relative,
    /// They are resolved too, unless they are so deep that the artist cannot have meant the lips to touch.
    Absolute,
}

/// A state of a volume and of the whole mesh that is embedded in it.
#[derive(Clone, Copy)]
pub(crate) struct Surface<'a> {
    /// The whole mesh at `rest`.
    pub(crate) base: &'a [Vec3],
    /// The unknowns of each row in which the whole mesh is at `base`.
    pub(crate) rest: &'a [Row<f32>],
    /// The unknowns of each row.
    pub(crate) x: &'a [Row<f32>],
    /// The position of each row where its unknowns are 0; empty if the unknowns are positions.
    pub(crate) origins: &'a [Row<f32>],
}

impl Surface<'_> {
    /// The position of a row where its unknowns are 0.
    fn origin(&self, row: usize) -> Vec3 {
        self.origins.get(row).map_or(Vec3::ZERO, |origin| Vec3::from_slice(origin))
    }

    /// The position of a row.
    pub(crate) fn place(&self, row: usize) -> Vec3 {
        self.origin(row) + Vec3::from_slice(&self.x[row])
    }
}

/// A step of the simulation, as contact sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContactStep {
    /// The head's motion in the frame.
    pub(crate) way: HeadWay,
    /// The fraction of the frame at which the step ends.
    pub(crate) fraction: f32,
    /// Length of the step, s.
    pub(crate) seconds: f32,
    pub(crate) stiffness: Stiffness,
}

/// Time spent since it was last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ContactTimes {
    /// Detection of contacts.
    pub(crate) detect: Duration,
    /// Update of the global step for contact constraints.
    pub(crate) constrain: Duration,
    /// Resolution of remaining penetrations.
    pub(crate) part: Duration,
}

impl ContactTimes {
    /// All of it.
    pub(crate) fn total(&self) -> Duration {
        self.detect + self.constrain + self.part
    }
}

/// All contact of a volume.
#[derive(Clone)]
pub(crate) struct VolumeContact {
    /// The colliders and grabs.
    pub(crate) colliders: Colliders,
    press: ColliderContact,
    held: HeldSkin,
    /// The teeth among the colliders, if any.
    mouth: Option<Mouth>,
    skull: Option<Skull>,
    /// `None` if the face has no lips.
    pub(crate) lips: Option<LipContact>,
    pub(crate) times: ContactTimes,
}

impl VolumeContact {
    /// Adds empty groups for contact to a system. `embedding` carries the whole mesh, which is at `neutral`, and `rows` hold the vertices
    /// that it is embedded in. `stiffness` is in N/m per m² of skin.
    pub(crate) fn new(
        skin: &SkinPoints,
        (lips, neutral): (Lips, &[Vec3]),
        carriers: (&Embedding, &[u32]),
        (mode, stiffness, step_time): (ContactMode, f64, f64),
        system: &mut System<f32>,
    ) -> Self {
        let lips = LipContact::new((lips, neutral), carriers, mode, system);
        Self {
            colliders: Colliders::new(
                skin_points::contact_scale(step_time, skin.height),
                skin.samples.len(),
                skin.triangles.clone(),
            ),
            press: ColliderContact::new(stiffness, system),
            held: HeldSkin::new(skin),
            mouth: None,
            skull: None,
            lips,
            times: ContactTimes::default(),
        }
    }

    /// Keeps lips and cheeks out of the given teeth from now on, which replace earlier ones.
    pub(crate) fn set_teeth(&mut self, teeth: Teeth) {
        self.remove_teeth();
        self.mouth = Some(Mouth::new(teeth, &mut self.colliders));
    }

    /// Lets nothing press skin into the given bones from now on. To be called once.
    pub(crate) fn set_bones(&mut self, bones: &[SolidBone]) {
        self.skull = Some(Skull::new(bones, &mut self.colliders));
    }

    fn remove_teeth(&mut self) {
        if let Some(mouth) = self.mouth.take() {
            mouth.remove(&mut self.colliders);
        }
    }

    /// Exchanges colliders, grabs, teeth and bones with another contact of the same skin.
    pub(crate) fn swap_touches(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.colliders, &mut other.colliders);
        std::mem::swap(&mut self.mouth, &mut other.mouth);
        std::mem::swap(&mut self.skull, &mut other.skull);
    }

    /// State of the contact with teeth.
    pub(crate) fn teeth(&self) -> TeethReport {
        self.mouth.as_ref().map_or_else(TeethReport::default, |mouth| mouth.report(&self.colliders))
    }

    /// Free rows that contact between the lips may act on.
    pub(crate) fn lip_rows(&self, free: usize) -> Vec<u32> {
        self.lips.as_ref().map_or_else(Vec::new, |lips| lips.candidates(free))
    }

    /// Grabs the skin nearest to a position in the shown surface and the skin connected to it within a radius. `carriers` are the embedding of
    /// that surface and the rows of the vertices that it is embedded in.
    pub(crate) fn grab(
        &mut self,
        skin: &SkinPoints,
        (at, radius): (Vec3, f32),
        shown: &[Vec3],
        (embedding, rows): (&Embedding, &[u32]),
        state: &Surface<'_>,
    ) -> GrabId {
        let seeds = nearest_corners(at, shown, embedding).map(|corner| rows[corner as usize]);
        self.colliders.add_grab(skin.grab(at, radius, &seeds, state))
    }

    /// Whether a collider or a grab may act on the skin, or has acted on held skin.
    pub(crate) fn is_touched(&self) -> bool {
        !self.colliders.is_empty() || self.held.is_moved()
    }

    /// Sum of the friction of all sliding points on the free rows, N.
    #[cfg(test)]
    pub(crate) fn friction(&self) -> Vec3 {
        self.press.friction()
    }

    /// Removes all contact constraints from the system.
    pub(crate) fn clear(&self, system: &mut System<f32>) {
        if let Some(lips) = &self.lips {
            lips.clear(system);
        }
        self.press.clear(system);
    }

    /// Forgets all contacts after the face was teleported.
    pub(crate) fn forget(&mut self, way: &HeadWay) {
        if let Some(lips) = &mut self.lips {
            lips.forget();
        }
        self.press.forget(&mut self.colliders);
        self.held.forget();
        self.colliders.teleport(way);
    }

    /// Moves teeth and bones to their poses for the given weights and pose of the jaw.
    pub(crate) fn place_teeth(&mut self, weights: &[f32], jaw: &RigidMotion) {
        if let Some(mouth) = &self.mouth {
            mouth.place(weights, jaw, &mut self.colliders);
        }
        if let Some(skull) = &self.skull {
            skull.place(jaw, &mut self.colliders);
        }
    }

    /// Leaves contact between the lips and with teeth out from now on. Their constraints must have been cleared.
    pub(crate) fn leave_inner_contact_out(&mut self) {
        self.lips = None;
        self.remove_teeth();
    }

    /// Follows the lips of the rig itself, before each step in which it has moved.
    pub(crate) fn follow_rig(&mut self, rig: &Surface<'_>) {
        if let Some(lips) = &mut self.lips {
            lips.begin(rig);
        }
    }

    /// Places held skin that had to make way, before each step: the rig has the rows at `goal`.
    pub(crate) fn place_held(&mut self, skin: &SkinPoints, goal: &[Row<f32>], x: &mut [Row<f32>]) {
        self.held.place(skin, goal, x);
    }

    /// Begins a step, after [`follow_rig`](Self::follow_rig): moves colliders, and detects contacts. `goal` holds the rig's own unknowns, `fastest` is the largest speed of a row.
    pub(crate) fn begin(
        &mut self,
        skin: &SkinPoints,
        step: &ContactStep,
        (state, goal): (&Surface<'_>, &[Row<f32>]),
        fastest: f32,
        (system, factor): (&mut System<f32>, &mut Prefactored<f32>),
    ) {
        let began = Instant::now();
        let ContactStep { way, fraction, seconds, .. } = step;
        let rig = Surface { x: goal, ..*state };
        self.colliders.iter_mut().for_each(|touch| touch.pass(way, *fraction, |at| skin.below(at, &rig)));
        let skin_travel = (seconds * fastest).min(FARTHEST_SKIN);
        let steps = (way, *fraction, *seconds);
        self.press.begin(skin, &mut self.colliders, (state, goal), steps, skin_travel);
        self.times.detect += began.elapsed();
        self.prepare(skin, step, (state, Some(goal)), (system, factor));
    }

    /// Re-detects contacts in mid-solve.
    pub(crate) fn renew(
        &mut self,
        skin: &SkinPoints,
        step: &ContactStep,
        state: &Surface<'_>,
        parts: (&mut System<f32>, &mut Prefactored<f32>),
    ) {
        self.press.find_forces(skin, &self.colliders, state.x);
        self.prepare(skin, step, (state, None), parts);
    }

    /// Ends the solve: colliders feel the skin, and remaining penetrations are resolved by motion of `x`. The state's own `x` is not used.
    pub(crate) fn end(
        &mut self,
        skin: &SkinPoints,
        step: &ContactStep,
        state: &Surface<'_>,
        factor: &mut Prefactored<f32>,
        x: &mut [Row<f32>],
    ) {
        const ROUNDS: usize = 3;
        let began = Instant::now();
        let ContactStep { fraction, seconds, .. } = *step;
        let now = Surface { x, ..*state };
        self.press.react(skin, &mut self.colliders, &now, (fraction, seconds));
        self.held.give_back(skin, seconds, x);
        self.held.make_way(skin, &self.colliders, x);
        self.part(skin, ROUNDS, state, factor, x);
        self.held.make_way(skin, &self.colliders, x);
        self.press.end(skin, &mut self.colliders, x);
        self.times.part += began.elapsed();
    }

    /// Adds constraints between the lips and on touched skin: at present contacts and, for the lips at the start of a step, at those of
    /// the goal.
    fn prepare(
        &mut self,
        skin: &SkinPoints,
        step: &ContactStep,
        (state, goal): (&Surface<'_>, Option<&[Row<f32>]>),
        (system, factor): (&mut System<f32>, &mut Prefactored<f32>),
    ) {
        let began = Instant::now();
        if let Some(lips) = &mut self.lips {
            let states = [*state, Surface { x: goal.unwrap_or(state.x), ..*state }];
            lips.prepare(&states[..if goal.is_some() { 2 } else { 1 }], step.stiffness, system);
        }
        self.press.prepare(skin, &self.colliders, state, step.fraction, system);
        let mut touched = self.press.rows(skin, &self.colliders);
        if goal.is_some() {
            touched.extend(self.press.rows_ahead(skin, &self.colliders, state.x));
        }
        self.times.detect += began.elapsed();
        let began = Instant::now();
        factor.add_candidates(&touched, if goal.is_some() { MOST_NEW } else { 0 });
        // Without its constraints in the matrix a step still sees their forces and converges, only slower.
        let mut rows = system.transient_rows();
        rows.retain(|row| factor.knows(row));
        if factor.set_transient(&rows).is_err() {
            debug_assert!(false, "constraints only act on candidates");
        }
        self.times.constrain += began.elapsed();
    }

    /// Resolves the remaining penetrations of lips, of skin into colliders and of tissue into teeth: by the smallest motion of `x`, in a
    /// limited number of rounds. The state's own `x` is not used.
    pub(crate) fn part(
        &mut self,
        skin: &SkinPoints,
        rounds: usize,
        state: &Surface<'_>,
        factor: &mut Prefactored<f32>,
        x: &mut [Row<f32>],
    ) {
        for round in 0..rounds {
            let mut lifts = Lifts::default();
            if let Some(lips) = &mut self.lips {
                lips.missing(&Surface { x, ..*state }, skin.free, &mut lifts);
            }
            let first = lifts.rows.len();
            self.press.missing(skin, &self.colliders, x, &mut lifts);
            if lifts.rows.is_empty() {
                break;
            }
            let touched: Vec<u32> =
                lifts.rows[first..].iter().flat_map(|row| row.entries.iter().map(|entry| entry.0)).collect();
            factor.add_candidates(&touched, if round == 0 { MOST_NEW / 2 } else { 0 });
            lifts.retain(|row| factor.knows(row));
            let Ok(pushed) = factor.push(&lifts.rows, &lifts.directions, &lifts.amounts) else {
                break;
            };
            // Contradictory constraints must not throw anything far.
            let farthest = OVERSHOOT * lifts.amounts.iter().copied().fold(0.0, f64::max) as f32;
            for (x, way) in x.iter_mut().zip(pushed) {
                let way = Vec3::from_slice(way).clamp_length_max(farthest);
                (0..3).for_each(|k| x[k] += way[k]);
            }
            if let Some(lips) = &mut self.lips {
                lips.leave();
            }
        }
    }
}
