//! Animated surfaces out: point caches and USD.

mod common;

use std::fs;
use std::path::Path;

use common::{damaged, names, small_mesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};
use proptest::prelude::*;
use tempfile::tempdir;
use zygoma_rig::formats::usda::UsdMesh;
use zygoma_rig::formats::{Limits, caches, usda};
use zygoma_rig::frames::StoredFrames;
use zygoma_rig::{Result, RigMesh};

fn frames(mesh: &RigMesh, count: usize) -> StoredFrames {
    let mut frames = StoredFrames::new(24.0, mesh.positions.len());
    for frame in 0..count {
        let shift = Vec3::new(0.0, 0.01 * frame as f32, 0.0);
        frames.push(&mesh.positions.iter().map(|p| *p + shift).collect::<Vec<_>>());
    }
    frames
}

#[test]
fn caches_hold_metres_whatever_the_file_is_in() {
    let folder = tempdir().unwrap();
    let mut mesh = small_mesh("face");
    let turn = DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2);
    mesh.to_rig =
        DAffine3::from_scale_rotation_translation(DVec3::splat(0.01), turn, DVec3::new(0.0, 1.6, 0.0));
    let mut frames = frames(&mesh, 7);
    let (pc2, mdd) = (folder.path().join("a.pc2"), folder.path().join("a.mdd"));
    caches::write_pc2(&mut frames, &pc2).unwrap();
    caches::write_mdd(&mut frames, &mdd).unwrap();
    assert_eq!(fs::metadata(&pc2).unwrap().len(), 32 + 7 * 5 * 12);
    assert_eq!(fs::metadata(&mdd).unwrap().len(), 8 + 7 * 4 + 7 * 5 * 12);
    assert_eq!(names(folder.path()), ["a.mdd", "a.pc2"]);
    let from_pc2 = caches::read_pc2(&pc2, &Limits::default()).unwrap();
    let from_mdd = caches::read_mdd(&mdd, &Limits::default()).unwrap();
    assert_eq!(from_pc2.positions, from_mdd.positions);
    assert_eq!(from_pc2.times, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(from_mdd.times[6], 0.25);
    for frame in 0..7 {
        assert_eq!(from_pc2.positions[5 * frame..][..5], *frames.frame(frame));
    }
}

/// The layout byte by byte, as the formats' other readers expect it.
#[test]
fn headers_are_as_documented() {
    let folder = tempdir().unwrap();
    let mut mesh = small_mesh("face");
    mesh.to_rig = DAffine3::IDENTITY;
    let mut frames = frames(&mesh, 2);
    let (pc2, mdd) = (folder.path().join("a.pc2"), folder.path().join("a.mdd"));
    caches::write_pc2(&mut frames, &pc2).unwrap();
    caches::write_mdd(&mut frames, &mdd).unwrap();
    let pc2 = fs::read(&pc2).unwrap();
    assert_eq!(&pc2[..20], b"POINTCACHE2\0\x01\0\0\0\x05\0\0\0");
    assert_eq!(&pc2[20..32], b"\0\0\0\0\0\0\x80\x3f\x02\0\0\0");
    assert_eq!(pc2[32..36], mesh.positions[0].x.to_le_bytes());
    let mdd = fs::read(&mdd).unwrap();
    assert_eq!(&mdd[..8], b"\0\0\0\x02\0\0\0\x05");
    assert_eq!(mdd[12..16], (1.0f32 / 24.0).to_be_bytes());
    assert_eq!(mdd[16..20], mesh.positions[0].x.to_be_bytes());
}

type Writer = fn(&RigMesh, &mut StoredFrames, &Path) -> Result<()>;
const WRITERS: [Writer; 3] = [
    |_, frames, path| caches::write_pc2(frames, path),
    |_, frames, path| caches::write_mdd(frames, path),
    |mesh, frames, path| write_usda(mesh, frames, path),
];

fn write_usda(mesh: &RigMesh, frames: &mut StoredFrames, path: &Path) -> Result<()> {
    usda::write_usda("head", &mut [UsdMesh { mesh, frames: Some(Box::new(frames)) }], path)
}

#[test]
fn frames_that_do_not_fit_are_refused_and_nothing_is_written() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("out");
    let mesh = small_mesh("face");
    for write in WRITERS {
        let refusal = |frames: &mut StoredFrames| write(&mesh, frames, &path).unwrap_err().to_string();
        assert!(refusal(&mut StoredFrames::new(24.0, 5)).contains("no frames"));
        let mut timeless = StoredFrames::new(0.0, 5);
        timeless.push(&mesh.positions);
        assert!(refusal(&mut timeless).contains("0 frames per second"));
        let mut broken = frames(&mesh, 3);
        broken.push(&[Vec3::INFINITY; 5]);
        assert!(refusal(&mut broken).contains("vertex 0 of frame 3"));
        assert!(names(folder.path()).is_empty());
    }
    let error = write_usda(&mesh, &mut StoredFrames::new(24.0, 4), &path).unwrap_err().to_string();
    assert!(error.contains("4 vertices"), "{error}");
    let nowhere = folder.path().join("no/such/folder/a.pc2");
    let error = caches::write_pc2(&mut frames(&mesh, 1), &nowhere).unwrap_err().to_string();
    assert!(error.contains("a.pc2"), "{error}");
}

#[test]
fn usd_text_says_what_the_mesh_is() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.usda");
    let mesh = small_mesh("2 faces");
    let teeth = small_mesh("2 faces");
    let mut meshes = [
        UsdMesh { mesh: &mesh, frames: Some(Box::new(frames(&mesh, 3))) },
        UsdMesh { mesh: &teeth, frames: None },
    ];
    usda::write_usda("my head", &mut meshes, &path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for expected in [
        "#usda 1.0\n",
        "defaultPrim = \"my_head\"",
        "def Xform \"my_head\"",
        "def Mesh \"_2_faces\"",
        "def Mesh \"_2_faces_2\"",
        "metersPerUnit = 1\n",
        "upAxis = \"Y\"",
        "timeCodesPerSecond = 24\n",
        "endTimeCode = 2\n",
        "subdivisionScheme = \"none\"",
        "faceVertexCounts = [4, 3]\n",
        "faceVertexIndices = [0, 1, 2, 3, 3, 2, 4]\n",
        "primvars:st:indices = [0, 1, 2, 3, 5, 4, 0]\n",
        "interpolation = \"faceVarying\"",
        "        2: [(0.1, -0.18, 0.33333334), ",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert_eq!(text.matches("points.timeSamples").count(), 1, "what stays still has one sample");
    assert!(
        text.contains("extent.timeSamples = {\n        0: [(-0.07, -0.2, -0.5), (0.3, 0.25, 0.33333334)],")
    );
}

#[test]
fn broken_caches_get_a_sentence() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("cache");
    let mut pc2 = b"POINTCACHE2\0\x01\0\0\0\x05\0\0\0\0\0\0\0\0\0\x80\x3f\x02\0\0\0".to_vec();
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let refused = |outcome: Result<caches::PointCache>| outcome.unwrap_err().to_string();
        let limits = Limits::default();
        [refused(caches::read_pc2(&path, &limits)), refused(caches::read_mdd(&path, &limits))]
    };
    assert!(read(b"")[0].contains("not a PC2") && read(b"")[1].contains("not an MDD"));
    assert!(read(&pc2)[0].contains("2 frames of 5 vertices, which takes 152 bytes, but the file has 32"));
    pc2[16..20].copy_from_slice(&[0xff; 4]);
    assert!(read(&pc2)[0].contains("2 frames of -1 vertices"));
    pc2[16..20].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(read(&pc2)[0].contains("but the file has 32"));
    pc2[16..20].copy_from_slice(&[0; 4]);
    pc2[28..32].copy_from_slice(&i32::MAX.to_le_bytes());
    assert!(read(&pc2)[0].contains("frames of no vertices"));
    assert!(read(b"\x7f\xff\xff\xff\x7f\xff\xff\xff")[1].contains("but the file has 8"));
}

const PC2: &[u8] = b"POINTCACHE2\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\x80\x3f\x01\0\0\0AAAABBBBCCCC";
const MDD: &[u8] = b"\0\0\0\x01\0\0\0\x01\0\0\0\0AAAABBBBCCCC";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_caches_never_panic(pc2 in damaged(PC2), mdd in damaged(MDD)) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("cache");
        fs::write(&path, pc2).unwrap();
        let from_pc2 = caches::read_pc2(&path, &Limits::default());
        fs::write(&path, mdd).unwrap();
        for outcome in [from_pc2, caches::read_mdd(&path, &Limits::default())] {
            match outcome {
                Ok(cache) => prop_assert_eq!(cache.positions.len(), cache.vertex_count * cache.times.len()),
                Err(error) => prop_assert!(error.to_string().contains("cache: ")),
            }
        }
    }
}
