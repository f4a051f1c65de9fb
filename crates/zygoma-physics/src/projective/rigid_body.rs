//! Vertices that move as one rigid body.

use std::any::Any;

use glam::{DMat3, DVec3};
use zygoma_geometry::rigid::{RigidMotion, closest_rotation};

use super::elements::{Group, Part, Precision, Row, VisitBlock, VisitRow};
use super::system::position;

/// Vertices that keep the shape of a rigid body, W(x) = ½ w Σ ‖xᵢ − (R pᵢ + t)‖² with the best rotation R and translation t, in closed form.
///
/// With q and y for p and x about their means, R is the rotation closest to M = Σ y qᵀ \[Horn 1987\] and t carries the one mean to the other. Gradient:
/// w (yᵢ − R qᵢ), for R and t drop out at their best. Differential: w (dyᵢ − dR qᵢ), where dR = R \[ω\]ₓ and
/// (tr S · I − S) ω is the axial vector of Rᵀ dM − dMᵀ R, with S = Rᵀ M.
#[derive(Clone, Debug)]
pub struct RigidBody {
    vertices: Vec<u32>,
    /// q.
    arms: Vec<DVec3>,
    /// Mean of p.
    centre: DVec3,
    weight: f64,
}

impl RigidBody {
    /// Some vertices with their places in the body at rest, and the weight of each.
    pub fn new(vertices: &[u32], rest: &[DVec3], weight: f64) -> Self {
        let centre = rest.iter().sum::<DVec3>() / rest.len().max(1) as f64;
        let arms = rest.iter().map(|p| *p - centre).collect();
        Self { vertices: vertices.to_vec(), arms, centre, weight }
    }

    /// The rigid motion from rest that comes closest to the vertices.
    pub fn motion<T: Precision>(&self, x: &[Row<T>]) -> RigidMotion {
        let (mean, arms) = self.moved_arms(x);
        let rotation = closest_rotation(self.correlation(&arms));
        RigidMotion { rotation, translation: mean - rotation * self.centre }
    }

    /// The mean of the vertices, and y.
    fn moved_arms<T: Precision>(&self, x: &[Row<T>]) -> (DVec3, Vec<DVec3>) {
        about_mean(self.vertices.iter().map(|v| position(&x[*v as usize])).collect())
    }

    /// M for some y.
    fn correlation(&self, arms: &[DVec3]) -> DMat3 {
        let outer = |(y, q): (&DVec3, &DVec3)| DMat3::from_cols(*y * q.x, *y * q.y, *y * q.z);
        arms.iter().zip(&self.arms).map(outer).fold(DMat3::ZERO, |sum, part| sum + part)
    }
}

fn about_mean(mut points: Vec<DVec3>) -> (DVec3, Vec<DVec3>) {
    let mean = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    points.iter_mut().for_each(|p| *p -= mean);
    (mean, points)
}

impl<T: Precision> Group<T> for RigidBody {
    fn accumulate(&self, part: Part, x: &[Row<T>], gradient: &mut [Row<T>]) -> f64 {
        if part.index > 0 || self.vertices.is_empty() {
            return 0.0;
        }
        let (_, arms) = self.moved_arms(x);
        let rotation = closest_rotation(self.correlation(&arms));
        let mut energy = 0.0;
        for ((vertex, y), q) in self.vertices.iter().zip(&arms).zip(&self.arms) {
            let off = *y - rotation * *q;
            energy += 0.5 * self.weight * off.length_squared();
            let row = &mut gradient[*vertex as usize];
            (0..3).for_each(|k| row[k] = row[k] + T::of(self.weight * off[k]));
        }
        energy
    }

    fn batch_count(&self) -> usize {
        1
    }

    /// The rows are those of y: a translation of the whole body costs nothing in the global step either.
    fn each_row(&self, visit: &mut VisitRow<'_>) {
        let fraction = 1.0 / self.vertices.len().max(1) as f64;
        for own in &self.vertices {
            let entry = |v: &u32| (*v, if v == own { 1.0 - fraction } else { -fraction });
            visit(self.weight, &self.vertices.iter().map(entry).collect::<Vec<_>>());
        }
    }

    fn add_hessian_product(&self, x: &[Row<T>], direction: &[[f64; 3]], out: &mut [[f64; 3]]) {
        let (_, arms) = self.moved_arms(x);
        let matrix = self.correlation(&arms);
        let rotation = DMat3::from_quat(closest_rotation(matrix));
        let along = self.vertices.iter().map(|v| DVec3::from_array(direction[*v as usize]));
        let (_, changes) = about_mean(along.collect());
        let (stretch, turn) =
            (rotation.transpose() * matrix, rotation.transpose() * self.correlation(&changes));
        let skew = turn - turn.transpose();
        let axial = DVec3::new(skew.y_axis.z, skew.z_axis.x, skew.x_axis.y);
        let trace = stretch.x_axis.x + stretch.y_axis.y + stretch.z_axis.z;
        let spin = (trace * DMat3::IDENTITY - stretch).inverse() * axial;
        for ((vertex, change), q) in self.vertices.iter().zip(&changes).zip(&self.arms) {
            let part = self.weight * (*change - rotation * spin.cross(*q));
            let row = &mut out[*vertex as usize];
            (0..3).for_each(|k| row[k] += part[k]);
        }
    }

    /// The bound that the global step uses too: the curvature of the distance to a body that does not turn along.
    fn each_definite_block(&self, _x: &[Row<T>], visit: &mut VisitBlock<'_>) {
        let size = 3 * self.vertices.len();
        let mean = 1.0 / self.vertices.len().max(1) as f64;
        let entry = |k: usize| {
            let (row, column) = (k / size, k % size);
            let same = if row == column { 1.0 } else { 0.0 };
            if row % 3 == column % 3 { self.weight * (same - mean) } else { 0.0 }
        };
        visit(&self.vertices, &(0..size * size).map(entry).collect::<Vec<f64>>());
    }

    fn last_vertex(&self) -> Option<u32> {
        self.vertices.iter().copied().max()
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Group<T>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;
    use zygoma_numerics::random::Keyed;

    use super::super::system::row;
    use super::*;

    const VERTICES: [u32; 6] = [3, 0, 5, 1, 2, 4];

    fn scattered(seed: u64, size: f64) -> Vec<DVec3> {
        let stream = Keyed::new(7, seed);
        (0..6)
            .map(|i| size * DVec3::from_array(std::array::from_fn(|k| stream.normal(3 * i + k as u64))))
            .collect()
    }

    fn rows(points: &[DVec3]) -> Vec<Row<f64>> {
        let mut rows = vec![[0.0; 4]; points.len()];
        VERTICES.iter().zip(points).for_each(|(v, p)| rows[*v as usize] = row(*p));
        rows
    }

    fn evaluate(body: &RigidBody, x: &[Row<f64>]) -> (f64, Vec<Row<f64>>) {
        let mut gradient = vec![[0.0; 4]; x.len()];
        let energy = body.accumulate(Part::ALL, x, &mut gradient);
        (energy, gradient)
    }

    #[test]
    fn rigid_motions_cost_nothing_and_are_found_again() {
        let rest = scattered(1, 0.04);
        let body = RigidBody::new(&VERTICES, &rest, 3.0);
        let motion = RigidMotion {
            rotation: DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 2.3),
            translation: DVec3::new(0.3, -0.2, 0.1),
        };
        let x = rows(&rest.iter().map(|p| motion.apply(*p)).collect::<Vec<_>>());
        let (energy, gradient) = evaluate(&body, &x);
        assert!(energy < 1e-25 && gradient.iter().flatten().all(|g| g.abs() < 1e-13));
        let found = body.motion(&x);
        assert!(found.translation.distance(motion.translation) < 1e-12);
        assert!(found.rotation.angle_between(motion.rotation) < 1e-6);
    }

    #[test]
    fn the_gradient_and_the_hessian_match_finite_differences() {
        let step = 1e-5;
        for seed in 0..20 {
            let rest = scattered(seed, 1.0);
            let body = RigidBody::new(&VERTICES, &rest, 1.7);
            let noise = scattered(100 + seed, 0.2);
            let turn = DQuat::from_rotation_y(0.6);
            let at: Vec<DVec3> = rest.iter().zip(&noise).map(|(p, n)| turn * *p + *n).collect();
            let way = scattered(200 + seed, 1.0);
            let moved = |by: f64| rows(&at.iter().zip(&way).map(|(p, d)| *p + by * *d).collect::<Vec<_>>());
            let (x, along) = (moved(0.0), rows(&way));
            let (plus, minus) = (evaluate(&body, &moved(step)), evaluate(&body, &moved(-step)));
            let (_, gradient) = evaluate(&body, &x);
            let slope: f64 = gradient.iter().zip(&along).flat_map(|(g, d)| (0..3).map(|k| g[k] * d[k])).sum();
            let measured = (plus.0 - minus.0) / (2.0 * step);
            assert!((slope - measured).abs() < 1e-7 * (1.0 + slope.abs()), "{slope} {measured}");
            let direction: Vec<[f64; 3]> = along.iter().map(|d| [d[0], d[1], d[2]]).collect();
            let mut product = vec![[0.0; 3]; x.len()];
            body.add_hessian_product(&x, &direction, &mut product);
            for (v, product) in product.iter().enumerate() {
                for k in 0..3 {
                    let measured = (plus.1[v][k] - minus.1[v][k]) / (2.0 * step);
                    assert!((product[k] - measured).abs() < 1e-6, "{} {measured}", product[k]);
                }
            }
        }
    }
}
