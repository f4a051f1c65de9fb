//! Props beside a face, such as a finger that pokes it: meshes that move rigidly and appear and disappear.

use glam::{DAffine3, DVec3, Vec3};
use serde_json::json;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::rigid::RigidMotion;

use super::animate::{AnimationWriter, MotionFrame};
use super::builder;
use super::pack::push;
use super::scene::{place_in_scene, rotation_of};
use super::stage::Stage;
use crate::{Error, Result};

/// A prop that moves beside a face.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimatedProp {
    /// Its name.
    pub name: String,
    /// Vertices around its own origin, in metres.
    pub positions: Vec<Vec3>,
    /// Its triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Its colour, linear red, green and blue.
    pub color: [f32; 3],
    /// Its pose in each frame, in rig space; `None` while it is absent.
    pub motions: Vec<Option<RigidMotion>>,
}

impl AnimatedProp {
    pub(super) fn check(&self) -> Result<()> {
        let count = self.positions.len();
        let whole = self.triangles.iter().flatten().all(|v| (*v as usize) < count);
        let moves = self.motions.iter().flatten();
        let finite = self.positions.iter().all(|p| p.is_finite())
            && moves.clone().all(|m| m.translation.is_finite() && m.rotation.is_finite());
        if whole && finite && count > 0 {
            return Ok(());
        }
        Err(Error::Request(format!(
            "the prop \"{}\" is not a valid mesh: it is empty, names a vertex that does not exist, or has a number that is not finite",
            self.name
        )))
    }

    /// Adds the prop to the scene and its motion to the animation, whose first frame is at `start`.
    pub(super) fn add(&self, stage: &mut Stage, start: f64, fps: f64, writer: &mut AnimationWriter) {
        // The motion is given in metres around the origin of rig space; the node brings it to the scene's own unit.
        let from_rig = stage.to_rig.inverse();
        let size = from_rig.matrix3.determinant().abs().cbrt();
        let turn = rotation_of(from_rig.matrix3);
        let node = self.add_node(stage, from_rig.translation, turn, size);
        let time = |frame: usize| start + frame as f64 / fps;
        let mut keys: Vec<(f64, RigidMotion)> = Vec::new();
        let mut shown: Vec<(f64, bool)> = Vec::new();
        for (frame, motion) in self.motions.iter().enumerate() {
            keys.extend(motion.map(|motion| (time(frame), motion)));
            if shown.last().is_none_or(|(_, was)| *was != motion.is_some()) {
                shown.push((time(frame), motion.is_some()));
            }
        }
        let frame = MotionFrame { to_rig: stage.to_rig, parent: DAffine3::IDENTITY, rest: from_rig };
        writer.motion(&mut stage.document, node, &keys, &frame);
        writer.presence(&mut stage.document, node, &shown, size);
    }

    fn add_node(&self, stage: &mut Stage, translation: DVec3, turn: glam::DQuat, size: f64) -> usize {
        let document = &mut stage.document;
        let normals = vertex_normals(&self.positions, &self.triangles);
        let position = builder::positions(document, &self.positions);
        let normal = builder::directions(document, &normals);
        let indices = builder::indices(document, &self.triangles, self.positions.len());
        let [r, g, b] = self.color;
        let surface =
            json!({ "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6 });
        let material =
            push(document, "materials", json!({ "name": self.name, "pbrMetallicRoughness": surface }));
        let primitive = json!({
            "attributes": { "POSITION": position, "NORMAL": normal },
            "indices": indices,
            "material": material,
        });
        let mesh = push(document, "meshes", json!({ "name": self.name, "primitives": [primitive] }));
        let entry = json!({
            "name": self.name,
            "mesh": mesh,
            "translation": translation.to_array(),
            "rotation": turn.to_array(),
            "scale": [size, size, size],
        });
        place_in_scene(document, entry)
    }
}
