//! Space warps by triharmonic radial basis functions: smooth maps of all space that carry given centres to given places.
//!
//! x ↦ A x + b + Σ_i w_i ‖x − c_i‖³ with Σ w_i = 0 and Σ w_i c_iᵀ = 0 bends least, in the sense of its third
//! derivatives, among all maps through the centres \[Botsch and Kobbelt 2005\]. Affine maps are reproduced.

use glam::{DMat3, DVec3};
use zygoma_numerics::LuFactor;

/// Why no warp could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RbfError {
    /// Source and target lists differ in length.
    #[error("a warp needs as many targets as centres; got {centres} centres and {targets} targets")]
    Lengths {
        /// Number of centres.
        centres: usize,
        /// Number of targets.
        targets: usize,
    },
    /// The centres do not span space, or two of them coincide.
    #[error("a warp needs at least four centres that do not lie in one plane, no two of them in one place")]
    Centres,
}

/// A warp that is made once and applied to many points.
#[derive(Clone, Debug, PartialEq)]
pub struct RbfWarp {
    centres: Vec<DVec3>,
    /// One weight vector for each centre.
    weights: Vec<DVec3>,
    linear: DMat3,
    offset: DVec3,
}

impl RbfWarp {
    /// The warp that carries `centres` to `targets`.
    pub fn new(centres: &[DVec3], targets: &[DVec3]) -> Result<Self, RbfError> {
        if centres.len() != targets.len() {
            return Err(RbfError::Lengths { centres: centres.len(), targets: targets.len() });
        }
        let count = centres.len();
        if count < 4 {
            return Err(RbfError::Centres);
        }
        // The system is solved for centres about the origin with unit radius, where its entries are of one size.
        let middle = centres.iter().sum::<DVec3>() / count as f64;
        let radius = centres.iter().map(|c| c.distance(middle)).fold(0.0, f64::max);
        let unit: Vec<DVec3> = centres.iter().map(|c| (*c - middle) / radius).collect();
        let monomial = |i: usize, k: usize| if k == 0 { 1.0 } else { unit[i][k - 1] };
        let size = count + 4;
        let factor = LuFactor::new(size, |row, column| match (row < count, column < count) {
            (true, true) => unit[row].distance(unit[column]).powi(3),
            (true, false) => monomial(row, column - count),
            (false, true) => monomial(column, row - count),
            (false, false) => 0.0,
        })
        .map_err(|_| RbfError::Centres)?;
        let mut solution = vec![0.0; 3 * size];
        for (axis, column) in solution.chunks_exact_mut(size).enumerate() {
            column.iter_mut().zip(targets).for_each(|(value, target)| *value = target[axis]);
        }
        factor.solve_in_place(&mut solution);
        if !solution.iter().all(|value| value.is_finite()) {
            return Err(RbfError::Centres);
        }
        let row = |i: usize| DVec3::new(solution[i], solution[size + i], solution[2 * size + i]);
        let linear = DMat3::from_cols(row(count + 1), row(count + 2), row(count + 3)) * (1.0 / radius);
        Ok(Self {
            centres: centres.to_vec(),
            weights: (0..count).map(|i| row(i) / radius.powi(3)).collect(),
            linear,
            offset: row(count) - linear * middle,
        })
    }

    /// The warp through at most `most` pairs, chosen by farthest-point sampling of the sources.
    pub fn sampled(sources: &[DVec3], targets: &[DVec3], most: usize) -> Result<Self, RbfError> {
        if sources.len() != targets.len() {
            return Err(RbfError::Lengths { centres: sources.len(), targets: targets.len() });
        }
        let chosen = farthest_points(sources, most);
        let pick = |points: &[DVec3]| chosen.iter().map(|i| points[*i as usize]).collect::<Vec<_>>();
        Self::new(&pick(sources), &pick(targets))
    }

    /// Where a point goes.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        let mut sum = self.linear * point + self.offset;
        for (centre, weight) in self.centres.iter().zip(&self.weights) {
            let squared = point.distance_squared(*centre);
            sum += squared * squared.sqrt() * *weight;
        }
        sum
    }

    /// The Jacobian of [`apply`](Self::apply): column k is the derivative by coordinate k.
    pub fn derivative(&self, point: DVec3) -> DMat3 {
        let mut sum = self.linear;
        for (centre, weight) in self.centres.iter().zip(&self.weights) {
            let away = point - *centre;
            let slope = 3.0 * away.length() * away;
            sum += DMat3::from_cols(slope.x * *weight, slope.y * *weight, slope.z * *weight);
        }
        sum
    }
}

/// Up to `count` points, each as far as possible from those before it, starting with the one farthest from the mean.
/// Stops early when only copies of chosen points are left.
pub fn farthest_points(points: &[DVec3], count: usize) -> Vec<u32> {
    let mean = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let farthest = |distances: &[f64]| {
        (0..distances.len()).max_by(|a, b| distances[*a].total_cmp(&distances[*b]).then(b.cmp(a)))
    };
    let from_mean: Vec<f64> = points.iter().map(|p| p.distance_squared(mean)).collect();
    let mut nearest = vec![f64::MAX; points.len()];
    let mut chosen = Vec::new();
    let mut next = farthest(&from_mean);
    while let Some(index) = next.filter(|i| chosen.len() < count && nearest[*i] > 0.0) {
        chosen.push(index as u32);
        for (near, p) in nearest.iter_mut().zip(points) {
            *near = near.min(p.distance_squared(points[index]));
        }
        next = farthest(&nearest);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_numerics::random::Keyed;

    fn cloud(seed: u64, count: u64, size: f64) -> Vec<DVec3> {
        let random = Keyed::new(seed, 0);
        let at = |i| size * (random.uniform(i) - 0.5);
        (0..count).map(|i| DVec3::new(at(3 * i), at(3 * i + 1), at(3 * i + 2))).collect()
    }

    #[test]
    fn affine_maps_are_reproduced_everywhere() {
        let matrix = DMat3::from_cols_array(&[1.1, 0.2, -0.3, 0.1, 0.8, 0.05, -0.2, 0.3, 1.4]);
        let affine = |p: DVec3| matrix * p + DVec3::new(0.3, -2.0, 7.0);
        let centres: Vec<DVec3> = cloud(1, 200, 0.3).iter().map(|p| *p + DVec3::new(5.0, 1.0, 0.0)).collect();
        let targets: Vec<DVec3> = centres.iter().map(|p| affine(*p)).collect();
        let warp = RbfWarp::new(&centres, &targets).unwrap();
        for p in cloud(2, 50, 1.0).iter().map(|p| *p + DVec3::new(5.0, 1.0, 0.0)) {
            assert!(warp.apply(p).distance(affine(p)) < 1e-9);
            assert!((warp.derivative(p) - matrix).to_cols_array().iter().all(|e| e.abs() < 1e-8));
        }
    }

    #[test]
    fn centres_go_to_their_targets_and_samples_lie_apart() {
        let sources = cloud(3, 500, 0.2);
        let targets: Vec<DVec3> =
            sources.iter().map(|p| *p + 0.01 * DVec3::new((30.0 * p.y).sin(), p.x, 0.0)).collect();
        let warp = RbfWarp::sampled(&sources, &targets, 300).unwrap();
        for i in farthest_points(&sources, 300) {
            assert!(warp.apply(sources[i as usize]).distance(targets[i as usize]) < 1e-10);
        }
        // Also between the centres: the displacement is smooth.
        let worst = (0..500).map(|i| warp.apply(sources[i]).distance(targets[i])).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{worst}");
    }

    #[test]
    fn the_derivative_is_the_limit_of_differences() {
        let (centres, targets) = (cloud(5, 60, 2.0), cloud(6, 60, 2.0));
        let warp = RbfWarp::new(&centres, &targets).unwrap();
        const STEP: f64 = 1e-5;
        for p in cloud(7, 10, 2.0) {
            for axis in DVec3::AXES {
                let difference = (warp.apply(p + STEP * axis) - warp.apply(p - STEP * axis)) / (2.0 * STEP);
                assert!(
                    (warp.derivative(p) * axis - difference).length() < 1e-6 * (1.0 + difference.length())
                );
            }
        }
    }

    #[test]
    fn copies_of_a_point_are_sampled_once_and_refused_as_centres() {
        let mut points = cloud(8, 10, 1.0);
        points.extend(points.clone());
        assert_eq!(farthest_points(&points, 50).len(), 10);
        assert_eq!(RbfWarp::new(&points, &points), Err(RbfError::Centres));
        let flat: Vec<DVec3> = cloud(9, 10, 1.0).iter().map(|p| DVec3::new(p.x, p.y, 0.0)).collect();
        assert_eq!(RbfWarp::new(&flat, &flat), Err(RbfError::Centres));
    }
}
