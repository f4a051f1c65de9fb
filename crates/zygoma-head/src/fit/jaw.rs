//! The jaw of a fitted head: its hinge, and how far a shape of the mesh opens it.

use glam::{DAffine3, DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;

use super::FittedHead;
use crate::Level;
use crate::anatomy::template_mandible;
use crate::template::Template;

/// Centre of the left condyle, in template space.
const CONDYLE: DVec3 = DVec3::new(49.0, -3.0, 10.0);
/// Points of the mandible nearer than this to a condyle's centre belong to it, in millimetres.
const CONDYLE_RADIUS: f64 = 8.0;
/// Mesh vertices nearer than this to the fitted chin belong to it, in metres of a life-size head.
const ON_CHIN: f64 = 0.002;

impl FittedHead {
    /// Centres of the left and the right condyle, in the mesh's frame.
    pub fn condyles(&self) -> [DVec3; 2] {
        let template = template_mandible();
        [1.0, -1.0].map(|side| {
            let middle = CONDYLE * DVec3::new(side, 1.0, 1.0);
            let near = template.iter().zip(&self.anatomy.mandible.surface.positions);
            let near = near.filter(|(p, _)| p.distance(middle) < CONDYLE_RADIUS).map(|(_, p)| *p);
            let (sum, count) = near.fold((DVec3::ZERO, 0.0), |(sum, count), p| (sum + p, count + 1.0));
            sum / f64::max(count, 1.0)
        })
    }

    /// Vertices of the mesh's skin over the chin, which moves with the mandible.
    pub fn chin(&self, positions: &[DVec3]) -> Vec<u32> {
        let regions = &Template::of(Level::High).places.regions;
        let region = regions.iter().find(|region| region.name == "jaw_rigid");
        let mut is_chin = vec![false; self.skin.len()];
        region.into_iter().flat_map(|region| &region.vertices).for_each(|v| is_chin[*v as usize] = true);
        let inside = |t: &&[u32; 3]| t.iter().all(|v| is_chin[*v as usize]);
        let triangles: Vec<[u32; 3]> = self.triangles.iter().filter(inside).copied().collect();
        let Some(search) = IcpTarget::new(&self.skin, &triangles) else { return Vec::new() };
        let near = |v: &u32| {
            let p = positions[*v as usize];
            search.closest(p).is_some_and(|hit| hit.point.distance(p) < ON_CHIN * self.to_mesh.scale)
        };
        (0..positions.len() as u32).into_par_iter().filter(near).collect()
    }

    /// The rotation about the condyles' axis that best maps chin points from rest to a pose. The axis is fixed: a free rigid fit to
    /// skin would drag the condyles out of their joints.
    pub fn hinge_motion(&self, rest: &[DVec3], posed: &[DVec3]) -> DAffine3 {
        let [left, right] = self.condyles();
        let (axis, joint) = ((left - right).normalize_or_zero(), 0.5 * (left + right));
        let across = |p: DVec3| (p - joint) - axis * (p - joint).dot(axis);
        let (mut sine, mut cosine) = (0.0, 0.0);
        for (p, q) in rest.iter().zip(posed) {
            let (p, q) = (across(*p), across(*q));
            sine += p.cross(q).dot(axis);
            cosine += p.dot(q);
        }
        let turn = DQuat::from_axis_angle(axis, sine.atan2(cosine));
        DAffine3::from_translation(joint) * DAffine3::from_quat(turn) * DAffine3::from_translation(-joint)
    }
}
