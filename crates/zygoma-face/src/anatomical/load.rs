//! Gravity and wind on a passive face, and the place at which it comes to rest under them.

use std::sync::Arc;

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::random::Keyed;

use super::aim::Aim;
use super::build::Anatomical;
use super::dials::{Dials, EARTH};
use super::dynamics::Compliance;
use super::inverse::{Inverse, Setup};
use super::run::AnatomicalBody;
use super::shape_head::{FREE_ITERATIONS, FREE_MOTION};

/// Density of air, kg/m³.
const AIR: f64 = 1.2;
/// Skin is not its own shelter within this distance along the wind, m. Ours, as those below.
const SHELTER: f64 = 5e-4;
/// A load is put on in so many steps, so that the teeth behind the lips are met and not passed.
const STEPS: usize = 8;
/// Solves under the whole load.
const RESTS: usize = 4;
/// The farthest that skin moves in such a step, m.
const STEP_WAY: f64 = 4e-3;
/// Length of such a step, s.
const STEP_TIME: f64 = 0.1;
/// Time from one random speed of a gust to the next, s.
const GUST: f64 = 0.3;

/// Gusts of wind, around its mean speed.
#[derive(Clone)]
pub(super) struct Gusts {
    /// Standard deviation of the speed as a fraction of its mean.
    strength: f64,
    seed: u64,
    /// Displacement of the passive skin, and force on each vertex, by the mean wind.
    way: Vec<DVec3>,
    forces: Vec<DVec3>,
}

impl Gusts {
    /// The change of pressure at a time, as a fraction of that of the mean wind.
    fn change(&self, time: f64) -> f64 {
        let random = Keyed::new(self.seed, 0);
        let (tick, part) = ((time / GUST).floor(), (time / GUST).fract());
        let speed = |tick: f64| 1.0 + self.strength * random.normal(tick as u64).clamp(-2.0, 2.0);
        let smooth = part * part * (3.0 - 2.0 * part);
        let speed = speed(tick) + smooth * (speed(tick + 1.0) - speed(tick));
        speed.max(0.0).powi(2) - 1.0
    }
}

impl Anatomical {
    /// Mass around each vertex, kg.
    pub(super) fn masses(&self) -> Vec<f64> {
        let mut masses = vec![0.0; self.rest.len()];
        for tet in &self.tets {
            let own = self.params.density * volume(tet.map(|v| self.rest[v as usize])) / 4.0;
            tet.iter().for_each(|v| masses[*v as usize] += own);
        }
        masses
    }

    /// Adds gravity and wind, and moves the targets to where the passive face comes to rest under them.
    pub(super) fn add_load(&mut self, dials: &Dials) -> Result<(), NotPositiveDefinite> {
        let gravity = EARTH * DVec3::from_array(dials.gravity);
        let mut load: Vec<DVec3> = self.masses().iter().map(|mass| *mass * gravity).collect();
        let wind = DVec3::from_array(dials.wind);
        if wind != DVec3::ZERO {
            let blown = self.wind_forces(wind);
            if dials.gusts > 0.0 {
                let way = self.at_rest_under(&blown)?;
                let forces = self.unbalanced(&blown);
                self.gusts = Some(Gusts { strength: dials.gusts, seed: dials.seed, way, forces });
            }
            load.iter_mut().zip(&blown).for_each(|(load, blown)| *load += *blown);
        }
        self.sag = self.at_rest_under(&load)?;
        let sag: Vec<Vec3> = self.sag.iter().map(|way| way.as_vec3()).collect();
        for (v, p) in self.output.neutral.iter_mut().enumerate() {
            *p += self.output.embedding.displacement(v, &sag);
        }
        let more = self.unbalanced(&load);
        self.forces.iter_mut().zip(more).for_each(|(force, more)| *force += more);
        Ok(())
    }

    /// The fraction of a load that passive tissue bears: expressions are aimed at where it comes to rest under all of it.
    fn unbalanced(&self, load: &[DVec3]) -> Vec<DVec3> {
        load.iter().zip(&self.passive).map(|(load, passive)| *passive * *load).collect()
    }

    /// Pressure of wind on each vertex of the skin that it meets, N: ½ρv² cos θ on what faces it and nothing shelters.
    pub(super) fn wind_forces(&self, wind: DVec3) -> Vec<DVec3> {
        let mut forces = vec![DVec3::ZERO; self.rest.len()];
        let pressure = 0.5 * AIR * wind.length_squared();
        let (from, triangles) = (-wind.normalize(), &self.surface.triangles);
        let skin = &self.rest[..self.skin_count()];
        let tree = TriangleTree::new(skin, triangles);
        for t in triangles {
            let [a, b, c] = t.map(|v| skin[v as usize]);
            let vector = area_vector(a, b, c);
            let facing = vector.normalize_or_zero().dot(from);
            let middle = (a + b + c) / 3.0;
            let is_met =
                facing > 0.0 && tree.first_hit(skin, triangles, middle, from, SHELTER, |_| true).is_none();
            if is_met {
                t.iter().for_each(|v| forces[*v as usize] -= pressure * facing * vector / 3.0);
            }
        }
        forces
    }

    /// Displacement of the passive skin where forces on all vertices, N, and contact of its lips and teeth hold each other.
    fn at_rest_under(&self, load: &[DVec3]) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let none = vec![DVec3::ZERO; self.rest.len()];
        let still = Self { forces: none, sag: vec![DVec3::ZERO; self.skin_count()], ..self.clone() };
        let setup = Setup { closed: self.surface.closed.clone(), ..Setup::relaxed(self) };
        let mut body = AnatomicalBody::with_setup(Arc::new(still), &setup)?;
        let aim = Aim::new(&body.model, &[]);
        for step in 1..=STEPS + RESTS {
            let fraction = (step as f64 / STEPS as f64).min(1.0);
            body.inverse.set_forces(load.iter().map(|force| fraction * *force));
            body.solve_in_contact(&aim, STEP_WAY, 1.0, STEP_TIME);
        }
        Ok((0..self.skin_count()).map(|v| body.inverse.at(v) - self.rest[v]).collect())
    }

    /// Displacement of the passive skin by accelerations along x, y and z.
    pub(super) fn compliance(&self) -> Result<Compliance, NotPositiveDefinite> {
        let masses = self.masses();
        let setup = Setup { closed: self.surface.closed.clone(), ..Setup::relaxed(self) };
        let along = |axis: DVec3| -> Result<Vec<DVec3>, NotPositiveDefinite> {
            let mut inverse = Inverse::new(self, &setup)?;
            inverse.set_forces(masses.iter().map(|mass| *mass * EARTH * axis));
            inverse.solve_to(FREE_ITERATIONS, FREE_MOTION);
            Ok((0..self.skin_count()).map(|v| (inverse.at(v) - self.rest[v]) / EARTH).collect())
        };
        Ok([along(DVec3::X)?, along(DVec3::Y)?, along(DVec3::Z)?])
    }
}

impl AnatomicalBody {
    /// Displaces an expression by the gusts of this moment, and sets their forces.
    pub(super) fn blow(&mut self, aim: &mut Aim) {
        let Some(gusts) = &self.model.gusts else { return };
        let change = gusts.change(self.time);
        aim.displace(&self.model, gusts.way.iter().map(|way| change * *way));
        let total = self.model.forces.iter().zip(&gusts.forces).map(|(own, gust)| *own + change * *gust);
        self.inverse.set_forces(total);
    }
}
