//! Small rigs for the tests of this crate.

use glam::{DAffine3, Vec3};
use zygoma_geometry::Faces;

use crate::{Rig, RigMesh, Shape, Source, SparseDeltas, Units};

/// A mesh of triangles without shapes, in rig space.
pub(crate) fn mesh(positions: Vec<Vec3>, triangles: &[[u32; 3]]) -> RigMesh {
    RigMesh {
        name: "face".into(),
        positions,
        faces: Faces::from_triangles(triangles),
        uvs: None,
        shapes: Vec::new(),
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-6,
    }
}

/// A rig of one mesh.
pub(crate) fn rig(mesh: RigMesh) -> Rig {
    Rig {
        name: "test".into(),
        meshes: vec![mesh],
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units: Units { metres_per_unit: 1.0, reason: "made by a test".into() },
        notes: Vec::new(),
        source: Source::Generated { texture: None },
    }
}

/// One triangle with shapes of these names; shape `i` moves vertex 0 by `i + 1` along x.
pub(crate) fn rig_with_shapes(names: &[&str]) -> Rig {
    let mut mesh = mesh(vec![Vec3::ZERO, Vec3::X, Vec3::Y], &[[0, 1, 2]]);
    let shape = |(index, name): (usize, &&str)| Shape {
        name: (*name).into(),
        deltas: SparseDeltas { vertices: vec![0], offsets: vec![Vec3::X * (index + 1) as f32] },
    };
    mesh.shapes = names.iter().enumerate().map(shape).collect();
    rig(mesh)
}
