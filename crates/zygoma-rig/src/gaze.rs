//! Makes eyes turn by shapes or by joints, never by both.

use crate::binding::{Binding, Drive};
use crate::{Carried, JointRole, Rig, RigMesh, Shape, Take, arkit};

/// A look shape turns an eye only if it moves a vertex of it by more than this, in metres. Ours: an eye of 12 mm that turns by 5°
/// moves its pupil by 1 mm.
const TURNED: f32 = 1e-3;

/// Drops the motion of eye joints from a take that also turns the same eyes by look shapes, and returns a note.
///
/// Recordings come with both: angles of the eyes, and the weights of the look shapes that mean the same. Look shapes that move only the
/// lids are kept beside the joints.
pub fn settle(rig: &Rig, take: &mut Take) -> Option<String> {
    let binding = Binding::new(rig, take);
    let turned = |role: JointRole| {
        let joint = rig.joints.iter().find(|joint| joint.role == role);
        joint.is_some_and(|joint| joint.carries.iter().any(|eye| is_turned(rig, take, &binding, eye)))
    };
    let eyes = [JointRole::LeftEye, JointRole::RightEye];
    let dropped: Vec<JointRole> =
        eyes.into_iter().filter(|role| take.motion(*role).is_some() && turned(*role)).collect();
    take.motions.retain(|track| !dropped.contains(&track.role));
    (!dropped.is_empty()).then(|| {
        "the eyes turn by the rig's look shapes; the take's eye rotations would turn them twice and were left out"
            .to_owned()
    })
}

/// Whether the take raises a look shape that turns an eye.
fn is_turned(rig: &Rig, take: &Take, binding: &Binding, eye: &Carried) -> bool {
    let mesh = &rig.meshes[eye.mesh];
    let raised = |drive: &Drive| take.weights[drive.track].curve.values.iter().any(|weight| *weight != 0.0);
    let shapes = mesh.shapes.iter().zip(&binding.meshes[eye.mesh]);
    shapes
        .filter(|(shape, drives)| looks(shape) && drives.iter().any(raised))
        .any(|(shape, _)| turns(mesh, shape, eye))
}

fn looks(shape: &Shape) -> bool {
    arkit::recognise(&shape.name).is_some_and(|found| found.shape.starts_with("eyeLook"))
}

fn turns(mesh: &RigMesh, shape: &Shape, eye: &Carried) -> bool {
    let by = shape.deltas.to_dense(mesh.positions.len());
    eye.vertices.iter().any(|(vertex, fraction)| *fraction > 0.5 && by[*vertex as usize].length() > TURNED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::take::{MotionTrack, WeightCurve, WeightTrack};
    use crate::test_rigs::rig_with_shapes;
    use crate::{Joint, SparseDeltas};
    use glam::{DVec3, Vec3};
    use zygoma_geometry::rigid::RigidMotion;

    /// A rig whose first vertex follows the left eye's joint, and a take that looks up by a shape and by the joint.
    fn looking(moved: u32) -> (Rig, Take) {
        let mut rig = rig_with_shapes(&["eyeLookUpLeft"]);
        rig.meshes[0].shapes[0].deltas =
            SparseDeltas { vertices: vec![moved], offsets: vec![Vec3::Y * 0.005] };
        rig.joints.push(Joint {
            role: JointRole::LeftEye,
            name: "eye".into(),
            node: 0,
            position: DVec3::ZERO,
            carries: vec![Carried { mesh: 0, vertices: vec![(0, 1.0)] }],
        });
        let still = RigidMotion { rotation: glam::DQuat::from_rotation_x(-0.2), translation: DVec3::ZERO };
        let curve = WeightCurve::linear([0.0].into(), vec![0.5]);
        let take = Take {
            weights: vec![WeightTrack { shape: "EyeLookUpLeft".into(), curve }],
            motions: vec![MotionTrack {
                role: JointRole::LeftEye,
                times: [0.0].into(),
                motions: vec![still],
            }],
            ..Take::default()
        };
        (rig, take)
    }

    #[test]
    fn eyes_turn_once() {
        let (rig, mut take) = looking(0);
        assert!(settle(&rig, &mut take).is_some());
        assert!(take.motions.is_empty());
        let (rig, mut lids) = looking(1);
        assert_eq!(settle(&rig, &mut lids), None);
        assert_eq!(lids.motions.len(), 1, "shapes that move only lids leave the eyes to the bones");
    }
}
