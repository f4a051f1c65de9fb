//! A head whose dials are set: first its new neutral with the skin free, then its expressions, carried there.
//!
//! In one solve, as published, the pull of the skin to the old expression would suppress all growth.

use std::sync::Arc;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::deformation::{Transfer, deformation_gradients};
use zygoma_geometry::tets::volume;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::{Checked, NotPositiveDefinite};

use super::build::{Anatomical, AnatomicalError};
use super::dials::{Dials, EARTH};
use super::inverse::{Inverse, Setup, mean_at};
use super::local::DialFields;

/// Growth is solved for in steps of at most this fraction. Ours, as those below.
const GROWTH_STEP: f64 = 0.1;
/// Tissue has grown as wanted within this fraction of what dials change, after at most some corrections.
const GROWN: f64 = 2e-3;
const CORRECTIONS: usize = 4;
/// Iterations of a solve with free skin, and the motion that ends it, m.
pub(super) const FREE_ITERATIONS: usize = 300;
pub(super) const FREE_MOTION: f64 = 2e-6;
/// Held skin whose nerves are weaker than this is no longer held.
const LET_GO: f64 = 0.01;
/// Skin that no shape moves farther than this stays where the new neutral has it, m.
const STILL: f64 = 1e-5;

impl Anatomical {
    /// The same head with its dials set.
    pub fn with_dials(&self, dials: &Dials) -> Result<Self, AnatomicalError> {
        dials.check()?;
        let mut head = self.clone();
        head.dials = dials.clone();
        let fields = self.fields(dials)?;
        head.skin_stiffness = fields.skin_stiffness[..self.skin_count()].to_vec();
        if dials.changes_head() {
            let rest = self.grown(dials, &fields)?;
            head.carry_expressions(&rest)?;
            head.rest = rest;
            let on_bone = |p: DVec3, on_jaw: bool| self.on_bone(dials, p, f64::from(u8::from(on_jaw)));
            head.teeth = self.teeth.as_ref().map(|teeth| teeth.reshaped(on_bone));
            head.solid_bones = self.solid_bones.iter().map(|bone| bone.reshaped(on_bone)).collect();
        }
        head.weaken(&fields.weakness);
        if dials.has_load() {
            head.add_load(dials)?;
        }
        head.swings = head.swings(dials, &fields.paces)?.map(Arc::new);
        Ok(head)
    }

    /// Volume of soft tissue and of muscles at rest, m³.
    pub fn tissue_volumes(&self) -> [f64; 2] {
        self.volumes_at(&self.rest)
    }

    fn volumes_at(&self, positions: &[DVec3]) -> [f64; 2] {
        let mut volumes = [0.0; 2];
        for (tet, is_muscle) in self.tets.iter().zip(&self.is_muscle) {
            volumes[usize::from(*is_muscle)] += volume(tet.map(|v| positions[v as usize]));
        }
        volumes
    }

    /// The rest shape with grown tissue and changed bones.
    fn grown(&self, dials: &Dials, fields: &DialFields) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let bones = dials.jaw.iter().chain(&dials.cranium).map(|scale| (scale - 1.0).abs());
        let steps = (bones.fold(fields.largest(), f64::max) / GROWTH_STEP).ceil().max(1.0) as usize;
        let [wanted, dialled] = self.wanted_volumes(fields);
        let mut rest = self.rest.clone();
        for step in 1..=steps {
            let fraction = step as f64 / steps as f64;
            rest = self.grow_to(dials, fields, (fraction, [1.0; 2]), &rest)?;
        }
        // Skin resists: what it takes away is given again.
        let mut given = [1.0; 2];
        for _ in 0..CORRECTIONS {
            let now = self.volumes_at(&rest);
            let missing = |k: usize| wanted[k] - now[k];
            if (0..2).all(|k| missing(k).abs() <= GROWN * dialled[k]) {
                break;
            }
            for k in (0..2).filter(|k| dialled[*k] > 0.0) {
                given[k] += missing(k) / dialled[k];
            }
            rest = self.grow_to(dials, fields, (1.0, given), &rest)?;
        }
        Ok(rest)
    }

    /// The volumes of soft tissue and of muscles that dials ask for, m³: of all of it, and of what they change.
    pub(super) fn wanted_volumes(&self, fields: &DialFields) -> [[f64; 2]; 2] {
        let (mut wanted, mut dialled) = ([0.0; 2], [0.0; 2]);
        for (tet, is_muscle) in self.tets.iter().zip(&self.is_muscle) {
            let kind = usize::from(*is_muscle);
            let own = volume(tet.map(|v| self.rest[v as usize]));
            let grown = own * (1.0 + mean_at(&fields.growth[kind], tet));
            wanted[kind] += grown;
            dialled[kind] += grown * mean_at(&fields.changed, tet);
        }
        [wanted, dialled]
    }

    /// The equilibrium for a fraction of the dials, from a start, with the skin free. Where dials change the head, soft tissue and muscles grow by a
    /// further factor.
    fn grow_to(
        &self,
        dials: &Dials,
        fields: &DialFields,
        (fraction, given): (f64, [f64; 2]),
        start: &[DVec3],
    ) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let part = |whole: f64| 1.0 + fraction * (whole - 1.0);
        let scaled = |scale: [f64; 3], p: DVec3| {
            let joint = self.joint();
            joint + DVec3::from_array(scale.map(part)) * (p - joint)
        };
        let growth = |(tet, is_muscle): (&[u32; 4], &bool)| {
            let kind = usize::from(*is_muscle);
            let further = 1.0 + mean_at(&fields.changed, tet) * (given[kind] - 1.0);
            part(1.0 + mean_at(&fields.growth[kind], tet)) * further
        };
        let foot = |tie: &super::build::BoneTie| {
            let scale = if tie.on_jaw { dials.jaw } else { dials.cranium };
            scaled(scale, self.rest[tie.vertex as usize])
        };
        let skin = &fields.skin_area[..self.skin_count()];
        let setup = Setup {
            growth: self.tets.iter().zip(&self.is_muscle).map(growth).collect(),
            skin_growth: skin.iter().map(|area| part(1.0 + area).sqrt()).collect(),
            skin_stiffness: fields.skin_stiffness[..self.skin_count()].to_vec(),
            feet: self.ties.iter().map(foot).collect(),
            closed: self.surface.closed.clone(),
            ..Setup::relaxed(self)
        };
        let mut inverse = Inverse::new(self, &setup)?;
        for (vertex, at) in start.iter().enumerate() {
            let held = setup.is_held.get(vertex).copied().unwrap_or(false);
            inverse.place(vertex, if held { scaled(dials.cranium, self.rest[vertex]) } else { *at });
        }
        inverse.solve_to(FREE_ITERATIONS, FREE_MOTION);
        let mut rest = inverse.positions(self.rest.len());
        // The points that stand for the jaw are no tissue.
        let jaw = self.node_count();
        rest[jaw..].copy_from_slice(&self.rest[jaw..]);
        Ok(rest)
    }

    /// The place to which dials of the bones move a point at rest that is on a bone; to some fraction it is on the jaw, else on the cranium.
    pub fn on_bone(&self, dials: &Dials, at: DVec3, on_jaw: f64) -> DVec3 {
        let joint = self.joint();
        let scaled = |scale: [f64; 3]| joint + DVec3::from_array(scale) * (at - joint);
        scaled(dials.cranium).lerp(scaled(dials.jaw), on_jaw)
    }

    /// The place of the jaw's joint: the upper back end of the bone, on the middle.
    fn joint(&self) -> DVec3 {
        let jaw = self.ties.iter().filter(|tie| tie.on_jaw).map(|tie| self.rest[tie.vertex as usize]);
        let (low, high) = jaw.fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(p), high.max(p)));
        if low.x > high.x { DVec3::ZERO } else { DVec3::new(0.5 * (low.x + high.x), high.y, low.z) }
    }

    /// Carries all expressions from this head's surface to a new one, by the gradients of its triangles.
    fn carry_expressions(&mut self, rest: &[DVec3]) -> Result<(), NotPositiveDefinite> {
        let count = self.skin_count();
        let (old, new) = (&self.rest[..count], &rest[..count]);
        let triangles = &self.surface.triangles;
        let is_still = |v: usize| self.surface.moves.iter().all(|moves| moves[v].length() < STILL);
        let still: Vec<u32> = (0..count).filter(|v| is_still(*v)).map(|v| v as u32).collect();
        let mut moves = Vec::with_capacity(self.surface.moves.len());
        // A surface whose triangles have no area anywhere keeps its displacements.
        let mut transfer = Transfer::new(new, triangles, &still).map_err(|_| NotPositiveDefinite)?;
        for own in &self.surface.moves {
            let shown: Vec<DVec3> = old.iter().zip(own).map(|(p, way)| *p + *way).collect();
            let carried = transfer.apply(&deformation_gradients(old, &shown, triangles), new);
            moves.push(carried.iter().zip(new).map(|(to, from)| *to - *from).collect::<Vec<_>>());
        }
        let shift = |from: &[DVec3], to: &[DVec3]| -> Vec<Vec3> {
            from.iter().zip(to).map(|(from, to)| (*to - *from).as_vec3()).collect()
        };
        let embedding = &self.output.embedding;
        let whole = |shift: &[Vec3]| -> Vec<Vec3> {
            (0..embedding.len()).map(|v| embedding.displacement(v, shift)).collect()
        };
        let changed = |shape: usize| {
            let mut dense = whole(&shift(&self.surface.moves[shape], &moves[shape]));
            let one: Vec<f32> = (0..moves.len()).map(|k| f32::from(u8::from(k == shape))).collect();
            let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut dense), &one, &self.output.shapes);
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
            Runs::from_dense(bytemuck::cast_slice(&dense), 8)
        };
        let shapes = (0..moves.len()).into_par_iter().map(changed).collect();
        let neutral = whole(&shift(old, new));
        self.output.neutral.iter_mut().zip(&neutral).for_each(|(p, way)| *p += *way);
        self.output.shapes = shapes;
        self.surface.moves = moves;
        Ok(())
    }

    /// Weakens nerves: the skin follows its targets less, and the tissue hangs from the rest of the face.
    fn weaken(&mut self, weakness: &[f64]) {
        if weakness.iter().all(|weakness| *weakness == 0.0) {
            return;
        }
        let pull = |(weakness, is_held): (&f64, &bool)| match is_held {
            // Held skin, such as that of lids, is held less and less firmly.
            true => (1.0 - weakness) / weakness.max(LET_GO),
            false => 1.0 - weakness,
        };
        self.pull = weakness.iter().zip(&self.surface.is_held).map(pull).collect();
        self.let_go(|v| weakness[v] > LET_GO);
        let active = self.params.active_strain;
        self.passive = weakness.iter().map(|weakness| active + weakness * (1.0 - active)).collect();
        let masses = self.masses();
        for ((force, mass), weakness) in self.forces.iter_mut().zip(masses).zip(weakness) {
            *force += mass * weakness * EARTH * DVec3::NEG_Y;
        }
    }
}
