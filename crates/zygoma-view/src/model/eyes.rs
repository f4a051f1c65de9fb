//! Eyeballs that are turned by joints: they look where the take or the expression has them look.

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::{Joint, JointRole, Rig, arkit};

use super::{Controls, Part};

/// How far an eye turns at weight 1, radians: sideways and up or down. Ours: about what ARKit's shapes are made for.
const SIDEWAYS: f64 = 0.55;
const UPWARDS: f64 = 0.4;

/// A mesh belongs to a joint that lies this close to its middle, in metres. Ours: an eyeball's radius.
const NEAR: f64 = 0.015;

/// A mesh that an eye joint carries.
#[derive(Clone, Debug)]
pub(crate) struct Eye {
    pub(crate) mesh: usize,
    pub(crate) role: JointRole,
    centre: DVec3,
    /// Controls for looking towards the character's left, right, up and down.
    looks: [Option<usize>; 4],
}

impl Eye {
    /// The eyeballs of a rig that no shape moves.
    pub(super) fn find(rig: &Rig, parts: &[Part], controls: &Controls) -> Vec<Self> {
        let of_joint = |joint: &Joint| {
            let names = match joint.role {
                JointRole::LeftEye => ["eyeLookOutLeft", "eyeLookInLeft", "eyeLookUpLeft", "eyeLookDownLeft"],
                JointRole::RightEye => {
                    ["eyeLookInRight", "eyeLookOutRight", "eyeLookUpRight", "eyeLookDownRight"]
                }
                _ => return None,
            };
            let mesh = (0..parts.len()).find(|mesh| {
                *mesh != rig.skin
                    && !parts[*mesh].moves()
                    && middle(&parts[*mesh]).distance(joint.position) < NEAR
            })?;
            let control = |name: &str| {
                controls.entries.iter().position(|control| {
                    arkit::recognise(&control.name).is_some_and(|found| found.shape == name)
                })
            };
            Some(Self { mesh, role: joint.role, centre: joint.position, looks: names.map(control) })
        };
        rig.joints.iter().filter_map(of_joint).collect()
    }

    /// How the expressions turn it.
    pub(crate) fn gaze(&self, controls: &[f32]) -> RigidMotion {
        let weight = |index: usize| self.looks[index].map_or(0.0, |control| f64::from(controls[control]));
        let yaw = SIDEWAYS * (weight(0) - weight(1));
        let pitch = UPWARDS * (weight(3) - weight(2));
        let rotation = DQuat::from_rotation_y(yaw) * DQuat::from_rotation_x(pitch);
        RigidMotion { rotation, translation: self.centre - rotation * self.centre }
    }
}

fn middle(part: &Part) -> DVec3 {
    let points = || part.neutral.iter().copied();
    let corners = points().reduce(glam::Vec3::min).zip(points().reduce(glam::Vec3::max));
    corners.map_or(DVec3::INFINITY, |(low, high)| 0.5 * (low + high).as_dvec3())
}
