//! Hands from glTF files, bound to the joints by their names.

use std::path::Path;

use glam::{DAffine3, Vec3};
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::SignedSurface;
use zygoma_physics::contact::Pose;
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{SkinnedMesh, read_skinned};
use zygoma_rig::weld::Weld;
use zygoma_rig::{Error, Result};

use crate::joints::{Finger, Joint, Side};
use crate::mesh::{HandMesh, INFLUENCES};
use crate::pose::HandPose;

/// From the wrist to the knuckle of the middle finger, m. Ours: a child's hand and a giant's; anything else is in another unit.
const PALM: std::ops::Range<f32> = 0.03..0.3;
/// Smallest radius of a joint, m: that of tips, which may lie on the skin. Ours.
const THINNEST: f32 = 3e-3;
/// Bones deviate from −Z of their joints by at most this, as a cosine. Ours: other conventions are off by a right angle.
const ALONG: f32 = 0.8;

impl HandMesh {
    /// Reads a hand that is skinned to joints with WebXR names from a `.glb` or `.gltf` file in metres, and finds which side it is.
    ///
    /// Vertices at seams are welded first, since only then is the mesh closed. Joints of the skin with other names, such as those of a
    /// forearm, follow the wrist.
    ///
    /// # Errors
    /// If the file cannot be read, a joint is missing, axes or size are not those of WebXR, or the mesh is open.
    pub fn read(path: &Path) -> Result<(Side, Self)> {
        let skinned = read_skinned(path, &Limits::default())?;
        Self::bound(&skinned).map_err(|problem| Error::malformed(path, problem))
    }

    fn bound(skinned: &SkinnedMesh) -> std::result::Result<(Side, Self), String> {
        let names: Vec<Option<Joint>> = skinned.joints.iter().map(|joint| joint_named(&joint.name)).collect();
        let (rest, vertices) = welded(skinned);
        let surface = SignedSurface::new(rest.clone()).map_err(|problem| problem.to_string())?;
        let mut bind = HandPose { joints: [Pose::IDENTITY; Joint::COUNT], radii: [THINNEST; Joint::COUNT] };
        for joint in Joint::ALL {
            let own = names.iter().position(|name| *name == Some(joint)).ok_or_else(|| {
                format!("it has no joint {}; name the joints of its skin as WebXR does", joint.name())
            })?;
            let pose = pose_of(&skinned.joints[own].bind)
                .ok_or_else(|| format!("the bind pose of {} is not a rotation", joint.name()))?;
            bind.joints[joint as usize] = pose;
            let depth = surface.closest(pose.translation, 0.0).map_or(0.0, |found| -found.signed_distance);
            bind.radii[joint as usize] = depth.max(THINNEST);
        }
        let side = side_of(&bind)?;
        let weights = vertices.iter().map(|vertex| influences(&skinned.weights[*vertex as usize], &names));
        let weights = weights.collect::<std::result::Result<_, _>>()?;
        Ok((side, Self { rest, bind, weights }))
    }
}

/// The joint that a node's name ends with, in any case and with any separators: `Left_Wrist` is a wrist.
fn joint_named(name: &str) -> Option<Joint> {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let name = plain(name);
    Joint::ALL.into_iter().find(|joint| name.ends_with(&plain(joint.name())))
}

/// The mesh of points, and a vertex of each.
fn welded(skinned: &SkinnedMesh) -> (TriMesh<Vec3>, Vec<u32>) {
    let weld = Weld::new(&skinned.mesh);
    let vertices: Vec<u32> = (0..weld.point_count()).map(|point| weld.vertices_of_point(point)[0]).collect();
    let positions = vertices.iter().map(|vertex| skinned.mesh.positions[*vertex as usize]).collect();
    (TriMesh { positions, triangles: weld.triangles(&skinned.mesh) }, vertices)
}

/// A map without shear as a pose; its scale is dropped.
fn pose_of(map: &DAffine3) -> Option<Pose> {
    if !map.is_finite() || map.matrix3.determinant() <= 0.0 {
        return None;
    }
    let (_, rotation, translation) = map.to_scale_rotation_translation();
    Some(Pose { rotation: rotation.as_quat().normalize(), translation: translation.as_vec3() })
}

/// Which hand it is, after a look at its size and its axes.
fn side_of(bind: &HandPose) -> std::result::Result<Side, String> {
    let [wrist, middle] = [Joint::Wrist, Joint::MiddleProximal].map(|joint| bind.at(joint));
    let palm = wrist.distance(middle);
    if !PALM.contains(&palm) {
        return Err(format!(
            "its palm is {palm:.3} m long, from the wrist to the knuckle of the middle finger; export it in metres"
        ));
    }
    for finger in Finger::ALL {
        let [_, knuckle, next, ..] = finger.joints();
        let along = (bind.at(next) - bind.at(knuckle)).normalize_or_zero();
        if along.dot(bind.forward(knuckle)) < ALONG {
            return Err(format!(
                "−Z of {} does not point along its bone, as WebXR has it; turn the joints of its armature",
                knuckle.name()
            ));
        }
    }
    Ok(bind.side())
}

/// The joints that a vertex follows most, with weights whose sum is 1.
fn influences(
    bound: &[(u32, f32)],
    names: &[Option<Joint>],
) -> std::result::Result<[(Joint, f32); INFLUENCES], String> {
    let mut sums: Vec<(Joint, f32)> = Vec::new();
    for (joint, weight) in bound {
        let joint = names[*joint as usize].unwrap_or(Joint::Wrist);
        match sums.iter_mut().find(|(own, _)| *own == joint) {
            Some((_, sum)) => *sum += weight,
            None => sums.push((joint, *weight)),
        }
    }
    sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sums.truncate(INFLUENCES);
    let total: f32 = sums.iter().map(|(_, weight)| weight).sum();
    if !(total.is_finite() && total > 0.0) {
        return Err("a vertex of it is bound to no joint; bind all of the mesh".to_owned());
    }
    let mut influences = [(Joint::Wrist, 0.0); INFLUENCES];
    for (own, (joint, weight)) in influences.iter_mut().zip(sums) {
        *own = (joint, weight / total);
    }
    Ok(influences)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Posture;
    use zygoma_testing::real_data;

    #[test]
    fn names_bind_whatever_is_before_them() {
        assert_eq!(joint_named("wrist"), Some(Joint::Wrist));
        assert_eq!(joint_named("Hand.L_Index_Finger_Phalanx_Distal"), Some(Joint::IndexDistal));
        assert_eq!(joint_named("forearm"), None);
    }

    #[test]
    fn both_hands_of_webxr_are_closed_and_follow_their_joints() {
        for side in [Side::Left, Side::Right] {
            let Some(path) = real_data(&format!("hands/generic_hand_{}.glb", side.name())) else { return };
            let (found, hand) = HandMesh::read(&path).unwrap();
            assert_eq!(found, side);
            assert_eq!(hand.rest.positions.len(), 1159);
            for joint in Joint::ALL {
                assert!((3e-3..0.03).contains(&hand.bind.radius(joint)), "{joint:?}");
            }
            // In its bind pose it is itself, and a fist is a hand without holes.
            let same = hand.posed(&hand.bind);
            let apart = same.iter().zip(&hand.rest.positions).map(|(a, b)| a.distance(*b));
            assert!(apart.fold(0.0, f32::max) < 1e-6);
            let fist = Posture::fist().pose(side);
            let bent = TriMesh { positions: hand.posed(&fist), triangles: hand.rest.triangles.clone() };
            let tip = fist.at(Joint::MiddleTip);
            let near = bent.positions.iter().map(|p| p.distance(tip)).fold(f32::MAX, f32::min);
            assert!(near < 0.015, "{side:?}: {near}");
            SignedSurface::new(bent).unwrap();
        }
    }
}
