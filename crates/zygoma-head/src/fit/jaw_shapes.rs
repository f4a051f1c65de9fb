//! The jaw as a rigid body: its motion in a rig's shapes, and the same motion in another head.

use glam::{DAffine3, DQuat, DVec3, Vec3};
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::{Rig, RigMesh, arkit};

use super::FittedHead;
use super::jaw::{hinge, hinge_angle};

/// Teeth that move less than this in every jaw shape are not part of the rig's motion, m.
const MOVED: f32 = 1e-4;

/// A pose of the jaw, in the fitted head's frame: a turn about the middle between the condyles, and where that point glides to. A pose does not
/// depend on the origin, as a translation would.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JawPose {
    /// The turn, as an axis times an angle.
    pub turn: DVec3,
    /// The glide of the point between the condyles, m.
    pub glide: DVec3,
}

impl JawPose {
    /// The pose that a motion brings a jaw into whose joint is given.
    pub fn of(motion: &DAffine3, joint: DVec3) -> Self {
        let turn = DQuat::from_mat3(&motion.matrix3).to_scaled_axis();
        Self { turn, glide: motion.transform_point3(joint) - joint }
    }

    /// The motion of a jaw whose joint is given.
    pub fn motion(&self, joint: DVec3) -> DAffine3 {
        DAffine3::from_translation(joint + self.glide)
            * DAffine3::from_quat(DQuat::from_scaled_axis(self.turn))
            * DAffine3::from_translation(-joint)
    }

    /// The pose that the skin of the chin gives by itself, for surfaces without shapes; everything is in the fitted head's frame.
    pub fn of_chin(rest: &[DVec3], posed: &[DVec3], condyles: [DVec3; 2]) -> Self {
        let (axis, joint) = hinge(condyles);
        Self { turn: axis * hinge_angle(rest, posed, axis, joint), glide: DVec3::ZERO }
    }

    /// The same pose in a head of another size: turns stay, glides grow with the head.
    pub fn scaled(&self, ratio: f64) -> Self {
        Self { glide: ratio * self.glide, ..*self }
    }

    /// This pose and a fraction of another.
    pub fn plus(&self, fraction: f64, other: &Self) -> Self {
        Self { turn: self.turn + fraction * other.turn, glide: self.glide + fraction * other.glide }
    }
}

/// A shape of a rig that moves the jaw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JawShape {
    /// The shape of the skin.
    pub shape: usize,
    /// The pose at full weight.
    pub pose: JawPose,
    /// Whether the rig's lower teeth say so; otherwise its chin does.
    pub from_teeth: bool,
}

/// The poses of the jaw in the shapes of a rig.
#[derive(Clone, Debug, Default)]
pub struct JawShapes {
    /// The shapes that move it.
    pub shapes: Vec<JawShape>,
}

impl JawShapes {
    /// Finds the pose in every shape that moves the jaw, from the rig's lower teeth or else from its chin.
    pub fn of(rig: &Rig, fitted: &FittedHead) -> Self {
        let skin = rig.skin();
        let mut jaw_shapes = jaw_driven_shapes(skin);
        jaw_shapes.retain(|shape| !arkit::is(&skin.shapes[*shape].name, "mouthClose"));
        let teeth = Teeth::of(rig, fitted);
        let (joint, back) = (fitted.joint(), fitted.to_mesh.inverse());
        let at_home = |motion: &DAffine3| back.to_affine() * *motion * fitted.to_mesh.to_affine();
        let of_shape = |shape: usize| {
            let by_teeth = teeth.motion(rig, fitted, &skin.shapes[shape].name);
            let motion = by_teeth.unwrap_or_else(|| chin_motion(skin, fitted, shape));
            let pose = JawPose::of(&at_home(&motion), joint);
            JawShape { shape, pose, from_teeth: by_teeth.is_some() }
        };
        Self { shapes: jaw_shapes.into_iter().map(of_shape).collect() }
    }

    /// The pose at the weights of all shapes of the skin.
    pub fn pose(&self, weights: &[f32]) -> JawPose {
        let add = |sum: JawPose, own: &JawShape| match weights.get(own.shape) {
            Some(weight) => sum.plus(f64::from(*weight), &own.pose),
            None => sum,
        };
        self.shapes.iter().fold(JawPose::default(), add)
    }
}

impl FittedHead {
    /// The middle between the condyles, in the fitted head's frame.
    pub fn joint(&self) -> DVec3 {
        let [left, right] = self.condyles();
        self.to_mesh.inverse().apply(0.5 * (left + right))
    }
}

/// Vertices of a rig where lower teeth are, by mesh.
struct Teeth {
    vertices: Vec<(usize, Vec<u32>)>,
}

impl Teeth {
    fn of(rig: &Rig, fitted: &FittedHead) -> Self {
        let found = |(index, mesh): (usize, &RigMesh)| {
            let positions: Vec<DVec3> = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
            let flags = fitted.lower_teeth(&positions);
            (index, (0..).zip(&flags).filter(|(_, flag)| **flag).map(|(v, _)| v).collect())
        };
        Self { vertices: rig.meshes.iter().enumerate().map(found).collect() }
    }

    /// The rigid motion of the teeth in a shape; `None` if they do not move, or not as one.
    fn motion(&self, rig: &Rig, fitted: &FittedHead, shape: &str) -> Option<DAffine3> {
        let (mut rest, mut posed) = (Vec::new(), Vec::new());
        let same = |name: &str| arkit::bare_key(name) == arkit::bare_key(shape);
        for (mesh, vertices) in &self.vertices {
            let mesh = &rig.meshes[*mesh];
            let Some(own) = mesh.shapes.iter().find(|own| same(&own.name)) else { continue };
            let moved = own.deltas.to_dense(mesh.positions.len());
            if vertices.iter().all(|v| moved[*v as usize].length() < MOVED) {
                continue;
            }
            for v in vertices {
                let (p, by) = (mesh.positions[*v as usize], moved[*v as usize]);
                rest.push(p.as_dvec3());
                posed.push((p + by).as_dvec3());
            }
        }
        fitted.teeth_motion(&rest, &posed)
    }
}

/// The motion that the chin's skin shows: about the condyles for an opening, with the rest as a slide otherwise.
fn chin_motion(skin: &RigMesh, fitted: &FittedHead, shape: usize) -> DAffine3 {
    let rest: Vec<DVec3> = skin.positions.iter().map(|p| p.as_dvec3()).collect();
    let chin = fitted.chin(&rest);
    let moved: Vec<Vec3> = skin.shapes[shape].deltas.to_dense(rest.len());
    let from: Vec<DVec3> = chin.iter().map(|v| rest[*v as usize]).collect();
    let to: Vec<DVec3> = chin.iter().map(|v| rest[*v as usize] + moved[*v as usize].as_dvec3()).collect();
    let hinge = fitted.hinge_motion(&from, &to);
    if arkit::is(&skin.shapes[shape].name, "jawOpen") || from.is_empty() {
        return hinge;
    }
    let left: DVec3 = from.iter().zip(&to).map(|(p, q)| *q - hinge.transform_point3(*p)).sum();
    DAffine3::from_translation(left / from.len() as f64) * hinge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pose_does_not_depend_on_the_origin() {
        let pose = JawPose { turn: DVec3::new(0.3, 0.02, -0.01), glide: DVec3::new(0.001, -0.004, 0.006) };
        let (here, there) = (DVec3::new(0.0, -0.01, 0.02), DVec3::new(3.0, 2.0, -7.0));
        let again = JawPose::of(&pose.motion(here), here);
        assert!(again.turn.distance(pose.turn) < 1e-12 && again.glide.distance(pose.glide) < 1e-12);
        let shift = DAffine3::from_translation(there - here);
        let moved = JawPose::of(&(shift * pose.motion(here) * shift.inverse()), there);
        assert!(moved.turn.distance(pose.turn) < 1e-9 && moved.glide.distance(pose.glide) < 1e-9);
        assert_eq!(pose.scaled(2.0).glide, 2.0 * pose.glide);
        assert_eq!(pose.scaled(2.0).turn, pose.turn);
    }
}
