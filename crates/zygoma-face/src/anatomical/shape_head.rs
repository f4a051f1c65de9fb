//! A head whose dials are set: first its new neutral with the skin free, then its expressions, carried there.
//!
//! In one solve, as published, the pull of the skin to the old expression would suppress all growth.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::deformation::{Transfer, deformation_gradients};
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::tets::volume;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_numerics::{Checked, NotPositiveDefinite};

use super::build::{Anatomical, AnatomicalError};
use super::dials::{Dials, EARTH};
use super::dynamics::{Compliance, Oscillator};
use super::inverse::{Inverse, Setup};

/// Density of air, kg/m³.
const AIR: f64 = 1.2;
/// Half the width of the transition between the sides of a face, m. Ours, as those below.
const MIDLINE: f64 = 3e-3;
/// Growth is solved for in steps of at most this fraction.
const GROWTH_STEP: f64 = 0.1;
/// Tissue has grown as wanted within this fraction, after at most some corrections.
const GROWN: f64 = 2e-3;
const CORRECTIONS: usize = 4;
/// Iterations of a solve with free skin, and the motion that ends it, m.
const FREE_ITERATIONS: usize = 300;
const FREE_MOTION: f64 = 2e-6;
/// Skin that no shape moves farther than this stays where the new neutral has it, m.
const STILL: f64 = 1e-5;

impl Anatomical {
    /// The same head with its dials set.
    pub fn with_dials(&self, dials: &Dials) -> Result<Self, AnatomicalError> {
        dials.check()?;
        let oscillator = Oscillator::of(dials)?;
        let mut head = self.clone();
        head.dials = dials.clone();
        head.skin_stiffness = dials.skin_stiffness;
        if dials.changes_head() {
            let rest = self.grown(dials)?;
            head.carry_expressions(&rest)?;
            head.rest = rest;
        }
        head.weaken(dials.palsy);
        if dials.has_load() {
            head.add_load(dials)?;
        }
        head.swings = match oscillator {
            Some(oscillator) => Some((oscillator, head.compliance()?)),
            None => None,
        };
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
    fn grown(&self, dials: &Dials) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let wanted = [1.0 + dials.fat, 1.0 + dials.muscle];
        let largest = [dials.fat, dials.muscle, dials.skin_area].map(f64::abs).into_iter();
        let largest = largest.chain(dials.jaw.iter().chain(&dials.cranium).map(|scale| (scale - 1.0).abs()));
        let steps = (largest.fold(0.0, f64::max) / GROWTH_STEP).ceil().max(1.0) as usize;
        let before = self.tissue_volumes();
        let mut rest = self.rest.clone();
        for step in 1..=steps {
            let fraction = step as f64 / steps as f64;
            rest = self.grow_to(dials, fraction, wanted, &rest)?;
        }
        // Skin resists: what it takes away is given again.
        let mut given = wanted;
        for _ in 0..CORRECTIONS {
            let now = self.volumes_at(&rest);
            let off = |k: usize| now[k] / before[k] / wanted[k];
            if (0..2).all(|k| (off(k) - 1.0).abs() < GROWN) {
                break;
            }
            given = [given[0] / off(0), given[1] / off(1)];
            rest = self.grow_to(dials, 1.0, given, &rest)?;
        }
        Ok(rest)
    }

    /// The equilibrium for a fraction of the dials, from a start, with the skin free.
    fn grow_to(
        &self,
        dials: &Dials,
        fraction: f64,
        wanted: [f64; 2],
        start: &[DVec3],
    ) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let part = |whole: f64| 1.0 + fraction * (whole - 1.0);
        let scaled = |scale: [f64; 3], p: DVec3| {
            let joint = self.joint();
            joint + DVec3::from_array(scale.map(part)) * (p - joint)
        };
        let growth = |is_muscle: &bool| part(wanted[usize::from(*is_muscle)]);
        let foot = |tie: &super::build::BoneTie| {
            let scale = if tie.on_jaw { dials.jaw } else { dials.cranium };
            scaled(scale, self.rest[tie.vertex as usize])
        };
        let setup = Setup {
            growth: self.is_muscle.iter().map(growth).collect(),
            skin_growth: part(1.0 + dials.skin_area).sqrt(),
            skin_stiffness: dials.skin_stiffness,
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

    /// Weakens the nerves of the sides: the skin follows its targets less, and the tissue hangs from the rest of the face.
    fn weaken(&mut self, [left, right]: [f64; 2]) {
        if left == 0.0 && right == 0.0 {
            return;
        }
        let weakness = |v: usize| {
            let side = ((self.rest[v].x + MIDLINE) / (2.0 * MIDLINE)).clamp(0.0, 1.0);
            let side = side * side * (3.0 - 2.0 * side);
            // The points that stand for the jaw are moved by other nerves.
            let nerves = self.above.get(v).map_or(0.0, |above| self.surface.nerves[*above as usize]);
            nerves * (right + side * (left - right))
        };
        let weakness: Vec<f64> = (0..self.rest.len()).map(weakness).collect();
        self.pull = weakness[..self.skin_count()].iter().map(|weakness| 1.0 - weakness).collect();
        let active = self.params.active_strain;
        self.passive = weakness.iter().map(|weakness| active + weakness * (1.0 - active)).collect();
        let masses = self.masses();
        for ((force, mass), weakness) in self.forces.iter_mut().zip(masses).zip(&weakness) {
            *force += mass * weakness * EARTH * DVec3::NEG_Y;
        }
    }

    /// Mass around each vertex, kg.
    fn masses(&self) -> Vec<f64> {
        let mut masses = vec![0.0; self.rest.len()];
        for tet in &self.tets {
            let own = self.params.density * volume(tet.map(|v| self.rest[v as usize])) / 4.0;
            tet.iter().for_each(|v| masses[*v as usize] += own);
        }
        masses
    }

    /// Adds gravity and wind, and moves the targets to where the passive face comes to rest under them.
    fn add_load(&mut self, dials: &Dials) -> Result<(), NotPositiveDefinite> {
        let gravity = EARTH * DVec3::from_array(dials.gravity);
        let mut load: Vec<DVec3> = self.masses().iter().map(|mass| *mass * gravity).collect();
        let wind = DVec3::from_array(dials.wind);
        if wind != DVec3::ZERO {
            let pressure = 0.5 * AIR * wind.length_squared();
            for t in &self.surface.triangles {
                let [a, b, c] = t.map(|v| self.rest[v as usize]);
                let vector = area_vector(a, b, c);
                let facing = -vector.normalize_or_zero().dot(wind.normalize());
                let push = -pressure * facing.max(0.0).powi(2) * vector / 3.0;
                t.iter().for_each(|v| load[*v as usize] += push);
            }
        }
        self.sag = self.displaced_by(&load)?;
        let sag: Vec<Vec3> = self.sag.iter().map(|way| way.as_vec3()).collect();
        for (v, p) in self.output.neutral.iter_mut().enumerate() {
            *p += self.output.embedding.displacement(v, &sag);
        }
        self.forces.iter_mut().zip(&load).for_each(|(force, more)| *force += *more);
        Ok(())
    }

    /// Displacement of the passive skin by forces on all vertices, N.
    fn displaced_by(&self, load: &[DVec3]) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let loaded = Self { forces: load.to_vec(), ..self.clone() };
        let setup = Setup { closed: self.surface.closed.clone(), ..Setup::relaxed(self) };
        let mut inverse = Inverse::new(&loaded, &setup)?;
        inverse.solve_to(FREE_ITERATIONS, FREE_MOTION);
        Ok((0..self.skin_count()).map(|v| inverse.at(v) - self.rest[v]).collect())
    }

    /// Displacement of the passive skin by accelerations along x, y and z.
    fn compliance(&self) -> Result<Compliance, NotPositiveDefinite> {
        let masses = self.masses();
        let along = |axis: DVec3| -> Result<Vec<DVec3>, NotPositiveDefinite> {
            let load: Vec<DVec3> = masses.iter().map(|mass| *mass * EARTH * axis).collect();
            Ok(self.displaced_by(&load)?.iter().map(|way| *way / EARTH).collect())
        };
        Ok([along(DVec3::X)?, along(DVec3::Y)?, along(DVec3::Z)?])
    }
}
