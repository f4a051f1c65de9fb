//! The rigid motion of the lower jaw.

use glam::{DMat3, DQuat, DVec3};
use zygoma_geometry::rigid::{RigidMotion, closest_rotation};
use zygoma_rig::RigMesh;

/// The rigid motion of a lower jaw for any weights of a rig's shapes.
///
/// Rigs move a jaw along straight lines, shape by shape, and add the displacements; this is the rigid motion closest to theirs in least
/// squares over points of the jaw. Its inputs are linear in the weights, so that a pose costs only a few small matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct JawMotion {
    /// Mean of the points.
    pub(super) centre: DVec3,
    /// Σ p pᵀ of the points about their mean.
    pub(super) spread: DMat3,
    /// The contribution of each shape of the skin that moves the jaw.
    pub(super) shapes: Vec<JawShape>,
}

/// A shape's displacements of the jaw's points, reduced to their mean and their correlation with the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct JawShape {
    pub(super) shape: usize,
    /// Mean displacement.
    pub(super) shift: DVec3,
    /// Σ d pᵀ, with p about its mean.
    pub(super) turn: DMat3,
}

impl JawMotion {
    /// A jaw that never moves.
    pub fn still() -> Self {
        Self { centre: DVec3::ZERO, spread: DMat3::ZERO, shapes: Vec::new() }
    }

    /// The motion of some points of a jaw displaced by shapes; each shape is given by its index among the skin's shapes.
    pub fn new(points: &[DVec3], shapes: impl IntoIterator<Item = (usize, Vec<DVec3>)>) -> Self {
        if points.is_empty() {
            return Self::still();
        }
        let count = points.len() as f64;
        let centre = points.iter().sum::<DVec3>() / count;
        let outer = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
        let sum = |of: &dyn Fn(usize) -> DVec3| {
            (0..points.len()).fold(DMat3::ZERO, |sum, i| sum + outer(of(i), points[i] - centre))
        };
        let shape = |(shape, moves): (usize, Vec<DVec3>)| JawShape {
            shape,
            shift: moves.iter().sum::<DVec3>() / count,
            turn: sum(&|i| moves.get(i).copied().unwrap_or_default()),
        };
        Self { centre, spread: sum(&|i| points[i] - centre), shapes: shapes.into_iter().map(shape).collect() }
    }

    /// The motion of a jaw that is a separate mesh with shapes of the same names as the skin's.
    pub fn of_mesh(jaw: &RigMesh, skin: &RigMesh) -> Self {
        let points: Vec<DVec3> = jaw.positions.iter().map(|p| p.as_dvec3()).collect();
        let place = |name: &str| skin.shapes.iter().position(|shape| shape.name == name);
        let moves = jaw.shapes.iter().filter_map(|shape| {
            let dense = shape.deltas.to_dense(points.len());
            Some((place(&shape.name)?, dense.iter().map(|d| d.as_dvec3()).collect()))
        });
        Self::new(&points, moves)
    }

    /// The jaw's pose for some weights of the skin's shapes.
    pub fn pose(&self, weights: &[f32]) -> RigidMotion {
        let (mut shift, mut matrix, mut rests) = (DVec3::ZERO, self.spread, true);
        for moved in &self.shapes {
            let weight = f64::from(weights.get(moved.shape).copied().unwrap_or(0.0));
            shift += weight * moved.shift;
            matrix += weight * moved.turn;
            rests &= weight == 0.0;
        }
        let rotation = if rests { DQuat::IDENTITY } else { closest_rotation(matrix) };
        RigidMotion { rotation, translation: self.centre + shift - rotation * self.centre }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jaw() -> Vec<DVec3> {
        (0..60).map(f64::from).map(|t| 0.04 * DVec3::new(t.sin(), (0.7 * t).cos(), (1.3 * t).sin())).collect()
    }

    #[test]
    fn a_rigid_shape_gives_its_own_motion_and_none_gives_none() {
        let points = jaw();
        let hinge = DVec3::new(0.0, 0.02, -0.08);
        let open = RigidMotion {
            rotation: DQuat::from_rotation_x(0.35),
            translation: hinge - DQuat::from_rotation_x(0.35) * hinge + DVec3::new(0.0, -0.002, 0.004),
        };
        let moves = |motion: &RigidMotion| points.iter().map(|p| motion.apply(*p) - *p).collect::<Vec<_>>();
        let slide = vec![DVec3::X * 0.005; points.len()];
        let motion = JawMotion::new(&points, [(3, moves(&open)), (1, slide)]);
        let off = |weights: &[f32], wanted: &dyn Fn(DVec3) -> DVec3| {
            let pose = motion.pose(weights);
            points.iter().map(|p| pose.apply(*p).distance(wanted(*p))).fold(0.0, f64::max)
        };
        assert!(off(&[0.0, 0.0, 0.0, 1.0], &|p| open.apply(p)) < 1e-9);
        assert!(off(&[0.0, 1.0, 0.0, 1.0], &|p| open.apply(p) + DVec3::X * 0.005) < 1e-9);
        assert_eq!(off(&[1.0, 0.0, 1.0, 0.0], &|p| p), 0.0);
        // Half open, a rigid body cannot follow straight lines, but it stays near.
        assert!(off(&[0.0, 0.0, 0.0, 0.5], &|p| p + 0.5 * (open.apply(p) - p)) < 1e-3);
        assert_eq!(JawMotion::still().pose(&[1.0]).apply(DVec3::ONE), DVec3::ONE);
    }
}
