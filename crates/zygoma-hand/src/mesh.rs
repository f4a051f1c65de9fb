//! The skin of the built-in hand.
//!
//! One implicit surface around the capsules of all bones, smoothly joined, is extracted once from the open hand and skinned to its joints
//! by distance. It is closed, and close to the capsules in every posture.

use std::sync::LazyLock;

use glam::{DVec3, Vec3};
use zygoma_geometry::TriMesh;
use zygoma_geometry::implicit::{Lattice, zero_surface};
use zygoma_geometry::remesh::{FeatureMesh, Target};

use crate::bones::{Bone, Capsule};
use crate::joints::{Joint, Side};
use crate::pose::HandPose;
use crate::posture::Posture;

/// Cells of the extraction, m. Ours, as all below.
const CELL: f64 = 2.5e-3;
/// Edge length of the skin, m.
const EDGE: f64 = 4.5e-3;
/// Width over which capsules are joined, m. A join adds a quarter of it where two capsules meet, and the skin is thinner by as much, so that
/// what touches the skin touches a capsule.
const JOIN: f64 = 2e-3;
/// Distance over which the influence of a bone falls to a third, m.
const FALLOFF: f32 = 2.5e-3;
/// Number of joints that a vertex follows.
pub(crate) const INFLUENCES: usize = 4;
/// Passes of the remeshing.
const PASSES: usize = 4;

/// A closed mesh that is skinned to the joints of a hand.
#[derive(Clone, Debug)]
pub struct HandMesh {
    /// The skin in its bind pose, in metres, facing outwards.
    pub rest: TriMesh<Vec3>,
    /// The hand in its bind pose.
    pub bind: HandPose,
    /// Joints that each vertex follows, with weights whose sum is 1.
    pub weights: Vec<[(Joint, f32); INFLUENCES]>,
}

static RIGHT: LazyLock<HandMesh> = LazyLock::new(HandMesh::sculpt);
static LEFT: LazyLock<HandMesh> = LazyLock::new(|| RIGHT.mirrored());

impl HandMesh {
    /// The skin of the built-in hand; made at the first call.
    pub fn built_in(side: Side) -> &'static Self {
        match side {
            Side::Left => &LEFT,
            Side::Right => &RIGHT,
        }
    }

    /// The vertices in a pose of the hand.
    pub fn posed(&self, hand: &HandPose) -> Vec<Vec3> {
        let mut positions = Vec::with_capacity(self.rest.positions.len());
        self.pose_into(hand, &mut positions);
        positions
    }

    /// The vertices in a pose of the hand, in a list that is reused.
    pub fn pose_into(&self, hand: &HandPose, positions: &mut Vec<Vec3>) {
        let follow = |(at, weights): (&Vec3, &[(Joint, f32); INFLUENCES])| -> Vec3 {
            let moved = |joint: Joint| hand[joint].apply(self.bind[joint].apply_inverse(*at));
            weights.iter().filter(|(_, w)| *w > 0.0).map(|(joint, w)| *w * moved(*joint)).sum()
        };
        positions.clear();
        positions.extend(self.rest.positions.iter().zip(&self.weights).map(follow));
    }

    fn sculpt() -> Self {
        let bind = Posture::open().pose(Side::Right);
        let skin = Skin { capsules: Bone::ALL.map(|bone| bone.capsule(&bind)) };
        let ends = |capsule: &Capsule| {
            let radius = Vec3::splat(capsule.radius + capsule.half_length);
            [capsule.pose.translation - radius, capsule.pose.translation + radius]
        };
        let (low, high) = skin
            .capsules
            .iter()
            .map(ends)
            .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(l, h), [a, b]| (l.min(a), h.max(b)));
        let (low, high) = (low.as_dvec3() - CELL, high.as_dvec3() + CELL);
        let (positions, triangles) =
            zero_surface(&Lattice::covering(low, high - low, CELL), |p| skin.distance(p));
        let mesh = FeatureMesh { positions, triangles, features: Vec::new() }.remeshed(&skin, PASSES);
        let positions: Vec<Vec3> = mesh.positions.iter().map(|p| p.as_vec3()).collect();
        let weights = positions.iter().map(|p| skin.weights(*p)).collect();
        Self { rest: TriMesh { positions, triangles: mesh.triangles }, bind, weights }
    }

    /// The skin of the other hand: its mirror image in the plane x = 0.
    pub fn mirrored(&self) -> Self {
        let positions = self.rest.positions.iter().map(|p| Vec3::new(-p.x, p.y, p.z)).collect();
        let triangles = self.rest.triangles.iter().map(|t| [t[0], t[2], t[1]]).collect();
        Self {
            rest: TriMesh { positions, triangles },
            bind: self.bind.mirrored(),
            weights: self.weights.clone(),
        }
    }
}

/// The field whose zero surface is the skin.
struct Skin {
    capsules: [Capsule; Bone::COUNT],
}

impl Skin {
    fn distance(&self, p: DVec3) -> f64 {
        let join = |a: f64, b: f64| {
            let h = (JOIN - (a - b).abs()).max(0.0) / JOIN;
            a.min(b) - 0.25 * JOIN * h * h
        };
        self.capsules.iter().map(|capsule| f64::from(capsule.distance(p.as_vec3()))).fold(f64::MAX, join)
            + 0.25 * JOIN
    }

    fn gradient(&self, p: DVec3) -> DVec3 {
        const STEP: f64 = 1e-4;
        let slope =
            |axis: DVec3| (self.distance(p + STEP * axis) - self.distance(p - STEP * axis)) / (2.0 * STEP);
        DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z))
    }

    /// The joints of the bones nearest to a point.
    fn weights(&self, p: Vec3) -> [(Joint, f32); INFLUENCES] {
        let mut near: Vec<(Joint, f32)> = Bone::ALL
            .iter()
            .zip(&self.capsules)
            .map(|(bone, capsule)| (carrier(*bone), capsule.distance(p)))
            .collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        let nearest = near[0].1;
        let mut weights = [(Joint::Wrist, 0.0); INFLUENCES];
        for (joint, distance) in near {
            let weight = (-(distance - nearest) / FALLOFF).exp();
            if let Some(own) = weights.iter_mut().find(|(own, w)| *w > 0.0 && *own == joint) {
                own.1 += weight;
            } else if let Some(free) = weights.iter_mut().find(|(_, w)| *w == 0.0) {
                *free = (joint, weight);
            }
        }
        let sum: f32 = weights.iter().map(|(_, weight)| weight).sum();
        weights.map(|(joint, weight)| (joint, weight / sum))
    }
}

/// The joint that skin around a bone follows. The palm is nearly rigid and follows the wrist.
fn carrier(bone: Bone) -> Joint {
    match bone.from {
        Joint::IndexMetacarpal | Joint::MiddleMetacarpal | Joint::RingMetacarpal | Joint::PinkyMetacarpal => {
            Joint::Wrist
        }
        joint => joint,
    }
}

impl Target for Skin {
    fn size(&self, _point: DVec3) -> f64 {
        EDGE
    }

    fn normal(&self, point: DVec3) -> DVec3 {
        self.gradient(point).normalize_or_zero()
    }

    fn project(&self, point: DVec3, _curves: u32) -> DVec3 {
        (0..3).fold(point, |p, _| p - self.distance(p) * self.normal(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::closest::SignedSurface;

    #[test]
    fn the_skin_is_closed_and_stays_on_the_bones() {
        for side in [Side::Left, Side::Right] {
            let skin = HandMesh::built_in(side);
            let count = skin.rest.positions.len();
            assert!((1_000..8_000).contains(&count), "{count} vertices");
            assert!(skin.weights.iter().all(|w| (w.iter().map(|(_, w)| w).sum::<f32>() - 1.0).abs() < 1e-5));
            SignedSurface::new(skin.rest.clone()).expect("closed and facing outwards");
            for posture in
                [Posture::open(), Posture::flat(), Posture::pointing(), Posture::pinch(0.02), Posture::fist()]
            {
                let hand = posture.pose(side);
                let capsules = Bone::ALL.map(|bone| bone.capsule(&hand));
                let height =
                    |p: &Vec3| capsules.iter().map(|capsule| capsule.distance(*p)).fold(f32::MAX, f32::min);
                let mut heights: Vec<f32> = skin.posed(&hand).iter().map(height).collect();
                heights.sort_by(f32::total_cmp);
                // Skin at a bent joint moves into the capsules; it must not stand out of them.
                assert!(heights[count * 99 / 100] < 5e-4, "{posture:?}: {}", heights[count * 99 / 100]);
                assert!(heights[count / 2].abs() < 1e-3, "{posture:?}: {}", heights[count / 2]);
            }
        }
    }
}
