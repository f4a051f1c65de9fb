//! The jaw of a fitted head: its hinge, and how far a shape of the mesh opens it.

use glam::{DAffine3, DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::rigid::fit_rigid_motion;

use super::FittedHead;
use crate::Level;
use crate::anatomy::template_mandible;
use crate::template::Template;

/// Centre of the left condyle, in template space.
const CONDYLE: DVec3 = DVec3::new(49.0, -3.0, 10.0);
/// Points of the mandible nearer than this to a condyle's centre belong to it, in millimetres.
const CONDYLE_RADIUS: f64 = 8.0;
/// Teeth lie nearer than this to their ridge, in metres of a life-size head. Ours: a crown is a centimetre high.
const ON_RIDGE: f64 = 0.012;
/// Points nearer than this to the skin are lips rather than teeth, in metres of a life-size head.
const OFF_SKIN: f64 = 0.0025;
/// Fewer points do not determine a rigid motion well.
const LEAST_TEETH: usize = 20;
/// Teeth move rigidly within this, in metres of a life-size head.
const RIGID: f64 = 5e-4;
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

    /// Which points lie where lower teeth are: next to the mandible's ridge rather than the cranium's, and off the skin.
    pub fn lower_teeth(&self, points: &[DVec3]) -> Vec<bool> {
        let [upper, lower] = [&self.anatomy.cranium, &self.anatomy.mandible].map(|bone| {
            let on_ridge = |t: &&[u32; 3]| t.iter().all(|v| bone.ridge[*v as usize]);
            let ridge: Vec<[u32; 3]> = bone.surface.triangles.iter().filter(on_ridge).copied().collect();
            IcpTarget::new(&bone.surface.positions, &ridge)
        });
        let skin = IcpTarget::new(&self.skin, &self.triangles);
        let (Some(upper), Some(lower), Some(skin)) = (upper, lower, skin) else {
            return vec![false; points.len()];
        };
        let scale = self.to_mesh.scale;
        let distance =
            |to: &IcpTarget, p: DVec3| to.closest(p).map_or(f64::MAX, |hit| hit.point.distance(p)) / scale;
        let is_tooth = |p: &DVec3| {
            let low = distance(&lower, *p);
            low < ON_RIDGE && low < distance(&upper, *p) && distance(&skin, *p) > OFF_SKIN
        };
        points.par_iter().map(is_tooth).collect()
    }

    /// The rigid motion of lower teeth from rest to a pose; `None` if there are too few of them, or if they do not move as one.
    pub fn teeth_motion(&self, rest: &[DVec3], posed: &[DVec3]) -> Option<DAffine3> {
        const ROUNDS: usize = 6;
        /// Share of the points that count in the end: gums and a tongue may be among them.
        const KEPT: f64 = 0.6;
        let mut chosen: Vec<usize> = (0..rest.len()).collect();
        let wanted = (KEPT * rest.len() as f64) as usize;
        for round in 0..ROUNDS {
            if chosen.len() < LEAST_TEETH {
                return None;
            }
            let pick = |points: &[DVec3]| chosen.iter().map(|i| points[*i]).collect::<Vec<DVec3>>();
            let motion = fit_rigid_motion(&pick(rest), &pick(posed));
            let off = |i: usize| motion.apply(rest[i]).distance(posed[i]);
            if round + 1 == ROUNDS {
                let mean = chosen.iter().map(|i| off(*i)).sum::<f64>() / chosen.len() as f64;
                return (mean < RIGID * self.to_mesh.scale).then(|| motion.to_affine());
            }
            chosen = (0..rest.len()).collect();
            chosen.sort_by(|a, b| off(*a).total_cmp(&off(*b)).then(a.cmp(b)));
            chosen.truncate(wanted.max(LEAST_TEETH));
        }
        None
    }

    /// Distances of both condyles from the axis that a motion turns about, in metres of a life-size head; `None` for a motion that
    /// turns by less than ten degrees, as jaws do to the side.
    pub fn condyles_off_axis(&self, motion: &DAffine3) -> Option<[f64; 2]> {
        const LEAST_TURN: f64 = 0.17;
        let (axis, angle) = DQuat::from_mat3(&motion.matrix3).to_axis_angle();
        if angle.abs() < LEAST_TURN {
            return None;
        }
        // The point of the axis nearest to the origin: (1 − R) c = t, across the axis.
        let across = motion.translation - axis * motion.translation.dot(axis);
        let on_axis = 0.5 * (across + axis.cross(across) / (0.5 * angle).tan());
        Some(self.condyles().map(|p| {
            let away = p - on_axis;
            (away - axis * away.dot(axis)).length() / self.to_mesh.scale
        }))
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
        let (axis, joint) = hinge(self.condyles());
        let turn = DQuat::from_axis_angle(axis, hinge_angle(rest, posed, axis, joint));
        DAffine3::from_translation(joint) * DAffine3::from_quat(turn) * DAffine3::from_translation(-joint)
    }
}

/// The axis through both condyles, and the middle between them.
pub(super) fn hinge([left, right]: [DVec3; 2]) -> (DVec3, DVec3) {
    ((left - right).normalize_or_zero(), 0.5 * (left + right))
}

/// The angle about an axis that best maps points from rest to a pose.
pub(super) fn hinge_angle(rest: &[DVec3], posed: &[DVec3], axis: DVec3, joint: DVec3) -> f64 {
    let across = |p: DVec3| (p - joint) - axis * (p - joint).dot(axis);
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (p, q) in rest.iter().zip(posed) {
        let (p, q) = (across(*p), across(*q));
        sine += p.cross(q).dot(axis);
        cosine += p.dot(q);
    }
    sine.atan2(cosine)
}
