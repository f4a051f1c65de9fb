//! OBJ files and folders: what is read, what is refused, and that rigs come back as they were.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{damaged, names, rig, small_mesh};
use glam::{Vec2, Vec3};
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};
use zygoma_rig::formats::{self, Limits, obj};
use zygoma_rig::frames::StoredFrames;
use zygoma_rig::{Rig, RigMesh};
use zygoma_testing::real_data;

const TRIANGLE: &str =
    "# This file uses meters as units for non-parametric coordinates.\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempdir().expect("temporary folders can be made");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("temporary files can be written");
    }
    folder
}

fn read(path: &Path) -> Rig {
    formats::read_rig(path, &Limits::default()).expect("a readable rig")
}

fn refusal(path: &Path) -> String {
    formats::read_rig(path, &Limits::default()).expect_err("a rig that cannot be read").to_string()
}

fn read_text(text: &str) -> Rig {
    let folder = folder(&[("one.obj", text)]);
    read(&folder.path().join("one.obj"))
}

fn refusal_of_text(text: &[u8]) -> String {
    let folder = tempdir().expect("temporary folders can be made");
    let path = folder.path().join("one.obj");
    fs::write(&path, text).expect("temporary files can be written");
    refusal(&path)
}

#[test]
fn all_that_obj_allows_is_read() {
    let text = "\u{feff}# a comment\r\nmtllib x.mtl\r\no head\r\nv 0 0 0 1.0\r\nv 1 0 0 0.5 0.5 0.5\r\n\
                v 1 1 0\r\nv 0 1 0 # trailing\r\nv 0 \\\r\n 2 \\\r\n0\r\n\tvt 0.25 0.75\r\nvt 1 0 0\r\nvn 0 0 1\r\n\
                g a b\r\ns off\r\nusemtl skin\r\nf 1/1/1 2/2/1 3/1 4/2\r\nf -3/-1 -2/-2 -1/1\r\nl 1 2\r\np 1\r\nf 1/1 2/1 3/2 4/1 5/2";
    let rig = read_text(text);
    let mesh = rig.skin();
    assert_eq!(mesh.name, "head");
    assert_eq!(mesh.positions.len(), 5);
    assert_eq!(mesh.positions[4], Vec3::new(0.0, 2.0, 0.0) * rig.units.metres_per_unit as f32);
    let faces: Vec<&[u32]> = mesh.faces.iter().collect();
    assert_eq!(faces, [&[0, 1, 2, 3][..], &[2, 3, 4], &[0, 1, 2, 3, 4]]);
    let uvs = mesh.uvs.as_ref().unwrap();
    assert_eq!(uvs.coordinates, [Vec2::new(0.25, 0.25), Vec2::new(1.0, 1.0)], "v is counted from the top");
    assert_eq!(uvs.corners.as_deref().unwrap(), [0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1]);
}

#[test]
fn faces_may_come_before_their_vertices() {
    assert_eq!(read_text("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n").skin().faces.len(), 1);
}

#[test]
fn corners_without_texture_coordinates_are_kept_apart() {
    let rig = read_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.5 0.5\nf 1/1 2/1 3\nf 1//1 2//1 3//1\n");
    let uvs = rig.skin().uvs.clone().unwrap();
    assert_eq!(uvs.coordinates.len(), 2);
    assert_eq!(uvs.corners.unwrap(), [0, 0, 1, 1, 1, 1]);
    assert!(rig.notes[0].contains("one.obj"), "{:?}", rig.notes);
    assert!(read_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0.5 0.5\nf 1 2 3\n").skin().uvs.is_none());
}

#[test]
fn units_are_read_from_the_comment() {
    let text = "# This file uses centimeters as units for non-parametric coordinates.\n";
    let rig = read_text(&format!("{text}v 1 2 3\n"));
    assert_eq!(rig.units.metres_per_unit, 0.01);
    assert!(rig.units.reason.contains("centimeters"));
    assert_eq!(rig.skin().positions, [Vec3::new(0.01, 0.02, 0.03)]);
}

#[test]
fn units_are_found_from_the_region_that_moves() {
    // A head of 24 units on a body of 170.
    let neutral = "v 0 0 0\nv 0 146 5\nv 8 146 5\nv 0 170 5\nf 2 3 4\n";
    let smile = "v 0 0 0\nv 0 146 6\nv 8 146 6\nv 0 170 6\nf 2 3 4\n";
    let rig = read(folder(&[("neutral.obj", neutral), ("smile.obj", smile)]).path());
    assert_eq!(rig.units.metres_per_unit, 0.01, "{}", rig.units.reason);
    assert_eq!(rig.skin().positions[3], Vec3::new(0.0, 1.7, 0.05));
    assert_eq!(rig.skin().shapes[0].deltas.offsets, [Vec3::new(0.0, 0.0, 0.01); 3]);
    assert_eq!(rig.skin().to_rig.transform_vector3(glam::DVec3::X).x, 0.01);
}

#[test]
fn broken_files_get_a_sentence_with_the_line() {
    let cases: [(&str, &str); 20] = [
        ("", "no vertices"),
        ("hello world\n", "no vertices"),
        ("v 1 2\n", "line 1: a vertex needs three"),
        ("v 1 2 3\nv 1 x 3\n", "line 2: \"x\" is not a finite number"),
        ("v 1 2 nan\n", "line 1: \"nan\" is not a finite number"),
        ("v 1 inf 3\n", "line 1: \"inf\" is not a finite number"),
        ("v 1 1e999 3\n", "line 1: \"1e999\" is not a finite number"),
        ("v 1 1e30 3\n", "line 1: the coordinate \"1e30\" is too large"),
        ("v 0 0 0\nf 1 1\n", "line 2: a face needs at least 3 corners but has 2"),
        ("v 0 0 0\nf\n", "line 2: a face needs at least 3 corners but has 0"),
        ("v 0 0 0\nf 0 1 1\n", "line 2: the corner \"0\" of a face has the index 0"),
        ("v 0 0 0\nf 1 1 2\n", "line 2: a face uses vertex 2, but the file has 1 vertices"),
        ("v 0 0 0\nf 1 1 -2\n", "line 2: the corner \"-2\" of a face counts back 2, but only 1"),
        ("v 0 0 0\nf 1/1 1/1 1/1\n", "line 2: a face uses texture coordinate 1, but the file has 0"),
        ("v 0 0 0\nvt 0 0\nf 1/0 1/1 1/1\n", "line 3: the corner \"1/0\" of a face has the index 0"),
        ("v 0 0 0\nf 1 /1 1\n", "line 2: the corner \"/1\" of a face has no valid index"),
        ("v 0 0 0\nf 1 a 1\n", "line 2: the corner \"a\" of a face has no valid index"),
        ("v 0 0 0\nf 1 1.5 1\n", "line 2: the corner \"1.5\""),
        ("v 0 0 0\nf 1 1 99999999999999999999\n", "line 2: the corner \"99999999999999999999\""),
        ("v 0 0 0\nvt\n", "line 2: a texture coordinate needs"),
    ];
    for (text, expected) in cases {
        let error = refusal_of_text(text.as_bytes());
        assert!(error.contains("one.obj: ") && error.contains(expected), "{text:?}: {error}");
    }
    assert!(refusal_of_text(b"v \xff\xfe\x01 0 0\n").contains("line 1: "));
}

#[test]
fn limits_are_kept() {
    let folder = folder(&[("neutral.obj", TRIANGLE), ("a.obj", TRIANGLE), ("b.obj", TRIANGLE)]);
    let refused = |limits: Limits| formats::read_rig(folder.path(), &limits).unwrap_err().to_string();
    let limits = Limits::default();
    assert!(refused(Limits { vertices: 2, ..limits }).contains("line 4: there are more than the 2 vertices"));
    assert!(refused(Limits { shapes: 1, ..limits }).contains("2 shape files"));
    assert!(refused(Limits { file_bytes: 20, ..limits }).contains("larger than the 20 bytes"));
    assert!(refused(Limits { decoded_bytes: 50, ..limits }).contains("50 bytes of memory"));
}

#[test]
fn the_neutral_is_found_by_name() {
    let shapes = |files: &[&str]| {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, TRIANGLE)).collect();
        let folder = folder(&files);
        let rig = read(folder.path());
        rig.skin().shapes.iter().map(|shape| shape.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shapes(&["Neutral.OBJ", "b.obj", "a.obj"]), ["a", "b"]);
    assert_eq!(shapes(&["my_neutral_face.obj", "base.obj"]), ["base"]);
    assert_eq!(shapes(&["neutral.obj", "neutral_blink.obj"]), ["neutral_blink"]);
    assert_eq!(shapes(&["Basis.obj", "x.obj"]), ["x"]);
    assert_eq!(shapes(&["rest.obj", "x.obj"]), ["x"]);
    assert_eq!(shapes(&["Head_default.obj", "Head_smile_L.obj", "Head_smile_R.obj"]), ["smile_L", "smile_R"]);
    assert_eq!(shapes(&["base.obj", "Head_a.obj", "Head_b.obj"]), ["Head_a", "Head_b"]);
    assert_eq!(shapes(&["neutral.obj", "100%25.obj", "._junk.obj", "notes.txt"]), ["100%"]);
    assert!(shapes(&["only.obj"]).is_empty());
}

#[test]
fn folders_that_are_no_rig_get_a_sentence() {
    let empty = folder(&[("readme.txt", "hello")]);
    assert!(refusal(empty.path()).contains("no OBJ files"));
    let unclear = folder(&[("a.obj", TRIANGLE), ("b.obj", TRIANGLE)]);
    assert!(refusal(unclear.path()).contains("call it neutral.obj"));
    let twice = folder(&[("my_neutral.obj", TRIANGLE), ("old-neutral.obj", TRIANGLE)]);
    assert!(refusal(twice.path()).contains("both my_neutral.obj and old-neutral.obj"));
    let fewer = folder(&[("neutral.obj", TRIANGLE), ("smile.obj", "v 0 0 0\nv 1 1 1\n")]);
    let error = refusal(fewer.path());
    assert!(error.contains("smile.obj: it has 2 vertices but the neutral neutral has 3"), "{error}");
    let quads = |order: &str| format!("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n{order}\n");
    let (neutral, cut, mixed) = (quads("f 1 2 3 4"), quads("f 1 2 3\nf 1 3 4"), quads("f 1 3 2 4"));
    assert_eq!(read(folder(&[("neutral.obj", &neutral), ("cut.obj", &cut)]).path()).skin().shapes.len(), 1);
    let error = refusal(folder(&[("neutral.obj", &neutral), ("mixed.obj", &mixed)]).path());
    assert!(error.contains("mixed.obj: its polygons connect other vertices"), "{error}");
    assert!(refusal(&PathBuf::from("nowhere/at/all")).contains("no such file or folder"));
    let unknown = folder(&[("face.fbx", "")]);
    let error = refusal(&unknown.path().join("face.fbx"));
    assert!(error.contains("face.fbx") && error.contains(".glb, .gltf, .vrm or .obj"), "{error}");
}

#[test]
fn rounding_is_no_motion() {
    let neutral = "v 11.8387 0 -2.12388\nv 1 0 0\nv 0 1 0.33\nf 1 2 3\n";
    let shape = "v 11.8387 4.54747e-13 -2.12388\nv 1 0 0.001\nv 0.00001 1 0.33\nf 1 2 3\n";
    let folder = folder(&[("neutral.obj", neutral), ("s.obj", shape)]);
    let rig = read(folder.path());
    assert_eq!(rig.skin().shapes[0].deltas.vertices, [1], "six digits at 11.8 are steps of 0.0001");
}

fn assert_same(before: &RigMesh, after: &RigMesh) {
    assert_eq!(before.name, after.name);
    let bits =
        |mesh: &RigMesh| mesh.positions.iter().map(|p| p.to_array().map(f32::to_bits)).collect::<Vec<_>>();
    assert_eq!(bits(before), bits(after));
    assert_eq!(before.faces, after.faces);
    assert_eq!(before.uvs, after.uvs);
    let sorted = |mesh: &RigMesh| {
        let mut shapes = mesh.shapes.clone();
        shapes.sort_by(|a, b| a.name.cmp(&b.name));
        shapes
    };
    assert_eq!(sorted(before), sorted(after));
}

#[test]
fn a_rig_comes_back_exactly() {
    let parent = tempdir().unwrap();
    let path = parent.path().join("rig");
    let mut eyes = small_mesh("eyes");
    eyes.uvs = None;
    let mut cap = small_mesh("hat:1");
    cap.shapes.clear();
    let mut tooth = small_mesh("tooth");
    tooth.uvs.as_mut().unwrap().corners = None;
    tooth.uvs.as_mut().unwrap().coordinates.truncate(5);
    let mut before = rig(vec![eyes, small_mesh("skin of\u{e4}"), cap, tooth]);
    before.skin = 1;
    obj::write_rig(&before, &path).unwrap();
    let files = ["%4Eeutral.obj", "%73mile.obj", "Smile.obj", "a%2Fb%3A 50%25 %22wide%22.obj", "empty.obj"];
    assert_eq!(names(&path), [&files[..], &["neutral.obj", "other"]].concat());
    assert_eq!(names(&path.join("other")), ["eyes", "eyes.obj", "hat%3A1.obj", "tooth", "tooth.obj"]);

    let after = read(&path);
    assert_eq!(after.units.metres_per_unit, 1.0);
    for (mesh, index) in after.meshes.iter().zip([1, 0, 2, 3]) {
        assert_same(&before.meshes[index], mesh);
    }
    obj::write_rig(&after, &path).unwrap();
    assert_same(after.skin(), read(&path).skin());
    assert_eq!(names(parent.path()), ["rig"], "nothing temporary is left");
}

#[test]
fn foreign_folders_are_not_overwritten() {
    let foreign = folder(&[("neutral.obj", TRIANGLE)]);
    let rig = rig(vec![small_mesh("skin")]);
    let error = obj::write_rig(&rig, foreign.path()).unwrap_err().to_string();
    assert!(error.contains("holds files that zygoma did not write"), "{error}");
    assert_eq!(fs::read_to_string(foreign.path().join("neutral.obj")).unwrap(), TRIANGLE);
    let mut frames = StoredFrames::new(30.0, 5);
    frames.push(&rig.skin().positions);
    assert!(obj::write_sequence(rig.skin(), &mut frames, foreign.path()).is_err());
    assert_eq!(names(foreign.path()), ["neutral.obj"]);
}

#[test]
fn a_sequence_has_one_file_per_frame() {
    let parent = tempdir().unwrap();
    let path = parent.path().join("frames");
    let mesh = small_mesh("skin");
    let mut frames = StoredFrames::new(30.0, 5);
    for frame in 0..12 {
        frames.push(&mesh.positions.iter().map(|p| *p * (1.0 + 0.1 * frame as f32)).collect::<Vec<_>>());
    }
    obj::write_sequence(&mesh, &mut frames, &path).unwrap();
    assert_eq!(names(&path).len(), 12);
    let last = read(&path.join("frame_0012.obj"));
    assert_eq!(last.skin().positions, frames.frame(11));
    assert_eq!(last.skin().faces, mesh.faces);
}

#[test]
fn a_frame_that_is_not_finite_leaves_nothing_behind() {
    let parent = tempdir().unwrap();
    let mesh = small_mesh("skin");
    let mut frames = StoredFrames::new(30.0, 5);
    frames.push(&mesh.positions);
    frames.push(&[Vec3::splat(f32::NAN); 5]);
    let error = obj::write_sequence(&mesh, &mut frames, &parent.path().join("x")).unwrap_err().to_string();
    assert!(error.contains("vertex 0 of frame 1"), "{error}");
    assert!(names(parent.path()).is_empty());
}

#[test]
fn the_whole_kit_survives_a_round_trip() {
    let Some(kit) = real_data("ict/FaceXModel") else { return };
    let before = read(&kit);
    let parent = tempdir().unwrap();
    let path = parent.path().join("kit");
    obj::write_rig(&before, &path).unwrap();
    let after = read(&path);
    assert_eq!(after.skin().shapes.len(), 57);
    assert_same(before.skin(), after.skin());
}

#[test]
fn the_canonical_landmark_face_is_read() {
    let Some(path) = real_data("landmarks/mediapipe_canonical_face_model.obj") else { return };
    let rig = read(&path);
    assert_eq!(rig.skin().positions.len(), 468);
    assert_eq!(rig.skin().faces.len(), 898);
    assert!(rig.skin().uvs.is_some());
}

const SEED: &[u8] = b"# c\no h\nv 0 0 0 1\nv 1.5 -2e-3 .5\nv 0 1 0\nv 1 1 1\nvt 0.5 0.5\nvt 1 0\nvn 0 0 1\n\
                      f 1/1/1 2/2/1 \\\n3/1/1\nf -1//1 -2//1 -3//1 1//1\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever happens to a file, it is read or refused with its name; indices stay within bounds.
    #[test]
    fn damaged_files_never_panic(bytes in damaged(SEED)) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("one.obj");
        fs::write(&path, &bytes).unwrap();
        match obj::read_rig(&path, &Limits::default()) {
            Ok(rig) => {
                let mesh = rig.skin();
                prop_assert!(mesh.positions.iter().all(|position| position.is_finite()));
                let count = mesh.positions.len() as u32;
                prop_assert!(mesh.faces.corners().iter().all(|corner| *corner < count));
                if let Some(uvs) = &mesh.uvs {
                    let corners = uvs.corners.as_deref().unwrap_or_default();
                    prop_assert!(corners.iter().all(|corner| (*corner as usize) < uvs.coordinates.len()));
                }
            }
            Err(error) => prop_assert!(error.to_string().contains("one.obj: ")),
        }
    }
}
