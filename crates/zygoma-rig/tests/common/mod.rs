//! Small rigs and real files for the tests of formats.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::Path;

use glam::{DAffine3, DVec3, Vec2, Vec3};
use proptest::prelude::*;
use zygoma_geometry::Faces;
use zygoma_rig::{Rig, RigMesh, Shape, Source, SparseDeltas, Units, UvMap};

/// A quad and a triangle over five vertices, with awkward numbers.
pub(crate) fn small_mesh(name: &str) -> RigMesh {
    let mut faces = Faces::default();
    faces.push(&[0, 1, 2, 3]);
    faces.push(&[3, 2, 4]);
    let positions = vec![
        Vec3::new(0.1, -0.2, 1.0 / 3.0),
        Vec3::new(0.3, 1e-9, 0.07),
        Vec3::new(-0.0, 0.123_456_79, -0.5),
        Vec3::new(0.2, 0.25, 1e-20),
        Vec3::new(-0.07, 0.01, 0.011),
    ];
    let shape = |name: &str, offsets: &[(u32, Vec3)]| Shape {
        name: name.to_owned(),
        deltas: SparseDeltas {
            vertices: offsets.iter().map(|(vertex, _)| *vertex).collect(),
            offsets: offsets.iter().map(|(_, offset)| *offset).collect(),
        },
    };
    let shapes = vec![
        shape("Smile", &[(1, Vec3::new(1e-3, 2.0f32.powi(-20), 0.0)), (4, Vec3::new(1e-9, 0.3, -0.1))]),
        shape("empty", &[]),
        shape("Neutral", &[(0, Vec3::splat(-0.012_345_678))]),
        shape("a/b: 50% \"wide\"", &[(2, Vec3::X)]),
        shape("smile", &[(3, Vec3::new(0.1, 0.1, 0.1))]),
    ];
    let coordinates = vec![
        Vec2::new(0.1, 0.2),
        Vec2::new(1.0 / 3.0, 0.7),
        Vec2::new(1.0, 0.0),
        Vec2::new(0.0, 1.0),
        Vec2::new(0.9, 1e-7),
        Vec2::new(0.5, 0.3),
    ];
    RigMesh {
        name: name.to_owned(),
        positions,
        faces,
        uvs: Some(UvMap { coordinates, corners: Some(vec![0, 1, 2, 3, 5, 4, 0]) }),
        shapes,
        regions: Vec::new(),
        to_rig: DAffine3::from_scale(DVec3::splat(0.01)),
        quantum: 1e-8,
    }
}

/// A rig of meshes made by code, the first of them the skin.
pub(crate) fn rig(meshes: Vec<RigMesh>) -> Rig {
    Rig {
        name: "small".to_owned(),
        meshes,
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units: Units { metres_per_unit: 1.0, reason: "it is made in metres".to_owned() },
        notes: Vec::new(),
        source: Source::Generated { texture: None },
    }
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Damage as files suffer it: bytes changed, pieces cut out, doubled or put in, the end cut off.
pub(crate) fn damaged(seed: &'static [u8]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(vec![
            "-1",
            "0",
            "nan",
            "1e999",
            "99999999999999999999",
            "/",
            "\\\n",
            ",",
            "\"",
            "\n",
            "#"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let change = (any::<prop::sample::Index>(), 0..40usize, piece);
    (prop::collection::vec(change, 0..6), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        move |(changes, end, cut)| {
            let mut bytes = seed.to_vec();
            for (at, length, piece) in changes {
                let start = at.index(bytes.len() + 1);
                let end = (start + length).min(bytes.len());
                bytes.splice(start..end, piece);
            }
            if cut {
                bytes.truncate(end.index(bytes.len() + 1));
            }
            bytes
        },
    )
}
