//! Which way is up: rig space has +Y up, and many programs have +Z.

use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::arkit::recognise;
use crate::{Rig, RigMesh, Source, units};

/// Which axis of a file points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// +Y, with the face towards +Z, as glTF says.
    Y,
    /// +Z, with the face towards -Y, as in Blender, 3ds Max and Unreal.
    Z,
}

/// Shapes whose direction everybody knows: most of what they move goes down, or up.
const DOWN: [&str; 7] = [
    "jawOpen",
    "eyeBlinkLeft",
    "eyeBlinkRight",
    "browDownLeft",
    "browDownRight",
    "mouthLowerDownLeft",
    "mouthLowerDownRight",
];
const UP: [&str; 5] =
    ["browInnerUp", "browOuterUpLeft", "browOuterUpRight", "mouthUpperUpLeft", "mouthUpperUpRight"];

/// How many times as far along one axis than along the other shapes must go to tell that it is up. Ours: a jaw that opens also goes back,
/// by less than half as far.
const CLEARLY: f64 = 2.0;

/// What is noted about a rig that was turned.
pub const TURNED: &str =
    "the file has +Z up, and the rig was turned so that +Y is up; --up y or --up z tells it otherwise";

impl Up {
    /// Finds out which way a rig stands, by shapes that everybody knows; +Y without any.
    pub fn of_rig(rig: &Rig) -> Self {
        match downwards(rig.skin()) {
            Some(down) if -down.z > CLEARLY * down.y.abs() => Up::Z,
            _ => Up::Y,
        }
    }
}

/// The direction in which shapes go that lead downwards; `None` without any.
fn downwards(mesh: &RigMesh) -> Option<DVec3> {
    let mut sum = DVec3::ZERO;
    for shape in &mesh.shapes {
        let Some(found) = recognise(&shape.name) else { continue };
        let sign = match found.shape {
            name if DOWN.contains(&name) => 1.0,
            name if UP.contains(&name) => -1.0,
            _ => continue,
        };
        let moved: DVec3 = shape.deltas.iter().map(|(_, by)| by.as_dvec3()).sum();
        sum += sign * moved.normalize_or_zero();
    }
    (sum.length() > 0.5).then_some(sum)
}

impl Rig {
    /// Turns a rig whose file has +Z up so that +Y is up, and finds its unit anew. Its document stays as it is.
    pub fn stand_up(&mut self) {
        // (x, y, z) becomes (x, z, -y): up goes to +Y and the face, which looks towards -Y, to +Z.
        let turn = DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y);
        self.transform(&DAffine3::from_mat3(turn), 1.0);
        if let Source::Gltf(document) = &mut self.source {
            document.turn = DAffine3::from_mat3(turn) * document.turn;
        }
        let before = self.units.metres_per_unit;
        self.transform(&DAffine3::IDENTITY, 1.0 / before);
        self.units = units::of_rig(self.skin(), &self.joints);
        self.transform(&DAffine3::IDENTITY, self.units.metres_per_unit);
        self.notes.push(TURNED.to_owned());
    }

    /// Moves everything that is in rig space.
    fn transform(&mut self, turn: &DAffine3, scale: f64) {
        let turn = DAffine3::from_scale(DVec3::splat(scale)) * *turn;
        for mesh in &mut self.meshes {
            let moved = |p: &mut Vec3| *p = turn.transform_point3(p.as_dvec3()).as_vec3();
            mesh.positions.iter_mut().for_each(moved);
            mesh.shapes.iter_mut().flat_map(|shape| &mut shape.deltas.offsets).for_each(moved);
            mesh.to_rig = turn * mesh.to_rig;
            mesh.quantum = (f64::from(mesh.quantum) * scale) as f32;
        }
        self.joints.iter_mut().for_each(|joint| joint.position = turn.transform_point3(joint.position));
        let rotation = glam::DQuat::from_mat3(&(turn.matrix3 * (1.0 / scale)));
        for motion in
            self.takes.iter_mut().flat_map(|take| &mut take.motions).flat_map(|track| &mut track.motions)
        {
            motion.rotation = rotation * motion.rotation * rotation.inverse();
            motion.translation = turn.transform_vector3(motion.translation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SparseDeltas, test_rigs::rig_with_shapes};

    fn opening(by: Vec3) -> Rig {
        let mut rig = rig_with_shapes(&["jawOpen"]);
        rig.meshes[0].shapes[0].deltas = SparseDeltas { vertices: vec![0], offsets: vec![by] };
        rig
    }

    #[test]
    fn an_opening_jaw_tells_which_way_is_up() {
        assert_eq!(Up::of_rig(&opening(Vec3::new(0.0, -0.02, -0.009))), Up::Y);
        assert_eq!(Up::of_rig(&opening(Vec3::new(0.0, 0.009, -0.02))), Up::Z);
        let mut rig = opening(Vec3::new(0.0, 0.009, -0.02));
        rig.stand_up();
        assert_eq!(Up::of_rig(&rig), Up::Y);
        let by = rig.meshes[0].shapes[0].deltas.offsets[0] / rig.units.metres_per_unit as f32;
        assert!(by.distance(Vec3::new(0.0, -0.02, -0.009)) < 1e-6, "{by}");
    }
}
