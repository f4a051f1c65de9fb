//! The anatomy as additional meshes of the head's rig.

use glam::{DAffine3, DVec3};
use zygoma_geometry::Faces;
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

use super::{Anatomy, Surface};
use crate::parts::jaw_shapes;
use crate::{Head, JawWeights};

impl Anatomy {
    /// Bones and wraps as meshes of the head's rig; the mandible has the shapes that move the jaw.
    pub fn rig_meshes(&self, head: &Head) -> Vec<RigMesh> {
        let [cranium, mandible] = jaw_meshes(self, |weights| Self::mandible_motion(head, weights));
        vec![
            cranium,
            mandible,
            self.skin_wrap.rig_mesh("skin_wrap"),
            self.muscle_wrap.rig_mesh("muscle_wrap"),
            self.skull_wrap.rig_mesh("skull_wrap"),
        ]
    }
}

/// Cranium and mandible; the mandible has the shapes that move the jaw.
pub(crate) fn jaw_meshes(anatomy: &Anatomy, motion: impl Fn(&JawWeights) -> DAffine3) -> [RigMesh; 2] {
    let mut mandible = anatomy.mandible.surface.rig_mesh("mandible");
    mandible.shapes = jaw_shapes()
        .into_iter()
        .map(|(name, weights)| moved(name, &anatomy.mandible.surface, motion(&weights)))
        .collect();
    [anatomy.cranium.surface.rig_mesh("cranium"), mandible]
}

impl Surface {
    /// A static mesh of a rig, in the rig's own space.
    pub fn rig_mesh(&self, name: &str) -> RigMesh {
        RigMesh {
            name: name.to_owned(),
            positions: self.positions.iter().map(|p| p.as_vec3()).collect(),
            faces: Faces::from_triangles(&self.triangles),
            uvs: None,
            shapes: Vec::new(),
            regions: Vec::new(),
            to_rig: DAffine3::IDENTITY,
            quantum: 1e-7,
        }
    }
}

fn moved(name: &str, surface: &Surface, motion: DAffine3) -> Shape {
    let offset = |p: &DVec3| (motion.transform_point3(*p) - *p).as_vec3();
    let offsets: Vec<_> = surface.positions.iter().map(offset).collect();
    Shape { name: name.to_owned(), deltas: SparseDeltas::from_dense(&offsets) }
}
