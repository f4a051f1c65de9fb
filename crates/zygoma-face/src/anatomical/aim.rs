//! The expression that an inverse simulation aims at.

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::simd::accumulate_runs;

use super::build::Anatomical;
use super::dynamics::SwingingPart;

/// A wanted expression: the rig's own surface, and the jaw's pose.
#[derive(Clone)]
pub(super) struct Aim {
    /// Weights of the rig's shapes.
    pub(super) weights: Vec<f32>,
    /// Targets of the tissue's surface.
    pub(super) targets: Vec<DVec3>,
    /// The whole mesh.
    pub(super) plain: Vec<Vec3>,
    pub(super) pose: RigidMotion,
}

impl Aim {
    /// The expression of some weights; missing ones are 0.
    pub(super) fn new(model: &Anatomical, weights: &[f32]) -> Self {
        let shapes = model.output.shapes.len();
        let weights: Vec<f32> = (0..shapes).map(|shape| weights.get(shape).copied().unwrap_or(0.0)).collect();
        let mut plain = model.output.neutral.clone();
        let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut plain), &weights, &model.output.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        Self { targets: model.targets(&weights), pose: model.jaw.pose(&weights), plain, weights }
    }

    /// Displaces the surface, and the whole mesh with it.
    pub(super) fn displace(&mut self, model: &Anatomical, ways: impl Iterator<Item = DVec3>) {
        let ways: Vec<Vec3> = ways.map(DVec3::as_vec3).collect();
        self.targets.iter_mut().zip(&ways).for_each(|(target, way)| *target += way.as_dvec3());
        for (v, p) in self.plain.iter_mut().enumerate() {
            *p += model.output.embedding.displacement(v, &ways);
        }
    }

    /// The expression of a face whose parts have expressions of their own.
    pub(super) fn of_parts(model: &Anatomical, parts: &[SwingingPart], aims: &[Self]) -> Self {
        if let [aim] = aims {
            return aim.clone();
        }
        let mut whole = Self {
            weights: vec![0.0; model.output.shapes.len()],
            targets: vec![DVec3::ZERO; model.skin_count()],
            plain: vec![Vec3::ZERO; model.output.neutral.len()],
            pose: RigidMotion::IDENTITY,
        };
        for (part, aim) in parts.iter().zip(aims) {
            let jaw = part.of_jaw as f32;
            whole.weights.iter_mut().zip(&aim.weights).for_each(|(sum, own)| *sum += jaw * own);
            let skin = part.of_skin.iter().zip(&aim.targets);
            whole.targets.iter_mut().zip(skin).for_each(|(sum, (share, own))| *sum += *share * *own);
            let mesh = part.of_mesh.iter().zip(&aim.plain);
            whole.plain.iter_mut().zip(mesh).for_each(|(sum, (share, own))| *sum += *share * *own);
        }
        whole.pose = model.jaw.pose(&whole.weights);
        whole
    }

    /// The farthest way of the surface from another expression, m.
    pub(super) fn farthest(&self, other: &Self) -> f64 {
        self.targets.iter().zip(&other.targets).map(|(to, from)| to.distance(*from)).fold(0.0, f64::max)
    }

    /// An expression on the way to another.
    pub(super) fn towards(&self, to: &Self, fraction: f64) -> Self {
        let part = fraction as f32;
        Self {
            weights: self.weights.iter().zip(&to.weights).map(|(a, b)| a + part * (b - a)).collect(),
            targets: self.targets.iter().zip(&to.targets).map(|(a, b)| a.lerp(*b, fraction)).collect(),
            plain: self.plain.iter().zip(&to.plain).map(|(a, b)| a.lerp(*b, part)).collect(),
            pose: RigidMotion {
                rotation: self.pose.rotation.slerp(to.pose.rotation, fraction),
                translation: self.pose.translation.lerp(to.pose.translation, fraction),
            },
        }
    }
}
