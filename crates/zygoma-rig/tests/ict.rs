//! ICT-FaceKit, on the real kit when it lies beside the checkout.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zygoma_rig::formats::ict::{self, IctOptions};
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_rig::{Rig, Source};
use zygoma_testing::real_data;

fn kit() -> Option<PathBuf> {
    real_data("ict/FaceXModel")
}

/// The generic head, read once for all tests.
fn generic() -> Option<&'static Rig> {
    static RIG: OnceLock<Option<Rig>> = OnceLock::new();
    let read = || {
        let start = std::time::Instant::now();
        let rig = read_rig(&kit()?, &Limits::default()).expect("the kit is readable");
        println!("read in {:.0} ms", 1e3 * start.elapsed().as_secs_f64());
        Some(rig)
    };
    RIG.get_or_init(read).as_ref()
}

fn read(folder: &Path, identity: &str) -> Rig {
    let options = IctOptions { identity: ict::parse_identity(identity).expect("the kit is readable") };
    ict::read_rig_with(folder, &options, &Limits::default()).expect("the kit is readable")
}

#[test]
fn the_kit_is_recognised_and_whole() {
    let Some(rig) = generic() else { return };
    assert!(matches!(rig.source, Source::Ict(_)));
    let mesh = rig.skin();
    assert_eq!(mesh.positions.len(), 26_719);
    assert_eq!(mesh.shapes.len(), 57);
    assert_eq!(mesh.shapes[0].name, "browDown_L");
    let last: Vec<&str> = mesh.shapes[53..].iter().map(|shape| shape.name.as_str()).collect();
    assert_eq!(last, ["PupilDilate_L", "PupilDilate_R", "cheekRaiser_L", "cheekRaiser_R"]);
    assert!(mesh.faces.iter().filter(|face| face.len() == 4).count() > 20_000, "quads are kept");
    assert!(mesh.uvs.as_ref().is_some_and(|uvs| uvs.corners.is_some()));
    let height = mesh.positions.iter().map(|p| p.y).fold(f32::MIN, f32::max)
        - mesh.positions.iter().map(|p| p.y).fold(f32::MAX, f32::min);
    assert!((0.3..0.4).contains(&height), "head and neck in metres, not {height}");
    assert!((mesh.quantum - 1e-6).abs() < 1e-7, "six digits of centimetres, not {}", mesh.quantum);
    assert_eq!(mesh.regions.first().unwrap().vertices, 0..9_409);
    assert_eq!(mesh.regions.last().unwrap().vertices.end, 26_719);
    assert!(mesh.regions.windows(2).all(|pair| pair[0].vertices.end == pair[1].vertices.start));
}

/// No polygon joins two regions other than the skin's own parts: so the ranges are where they should be.
#[test]
fn regions_agree_with_the_polygons() {
    let Some(rig) = generic() else { return };
    let mesh = rig.skin();
    let region =
        |vertex: u32| mesh.regions.iter().position(|region| region.vertices.contains(&(vertex as usize)));
    let skin = 4;
    for face in mesh.faces.iter() {
        let regions: Vec<usize> = face.iter().map(|vertex| region(*vertex).unwrap()).collect();
        assert!(regions.iter().all(|r| *r < skin) || regions.iter().all(|r| *r == regions[0]));
    }
}

#[test]
fn shapes_are_sparse_and_say_what_their_names_say() {
    let Some(rig) = generic() else { return };
    let mesh = rig.skin();
    let smile = &mesh.shape("mouthSmile_L").unwrap().deltas;
    assert!(smile.vertices.len() < 12_000, "{} vertices move", smile.vertices.len());
    let left = smile.iter().filter(|(vertex, _)| mesh.positions[*vertex as usize].x > 0.0);
    let pull =
        |deltas: &mut dyn Iterator<Item = (u32, glam::Vec3)>| deltas.map(|(_, d)| d.length()).sum::<f32>();
    let total = pull(&mut smile.iter());
    assert!(pull(&mut left.into_iter()) > 0.9 * total, "the character's left is +X");
    let jaw = mesh.shape("jawOpen").unwrap();
    let lowest = jaw.deltas.offsets.iter().map(|offset| offset.y).fold(f32::MAX, f32::min);
    assert!((-0.06..-0.01).contains(&lowest), "the jaw drops by centimetres, not {lowest} m");
    for shape in &mesh.shapes {
        assert!(!shape.deltas.is_empty(), "{} moves something", shape.name);
        let noise = 0.49 * mesh.quantum;
        assert!(shape.deltas.offsets.iter().all(|offset| offset.abs().max_element() >= noise));
    }
}

#[test]
fn identities_add_up() {
    let (Some(folder), Some(generic)) = (kit(), generic()) else { return };
    let (one, two) = (read(&folder, "0=1"), read(&folder, "3=-0.5"));
    let both = read(&folder, "0=1,3=-0.5");
    let at = |rig: &Rig| rig.skin().positions.clone();
    assert_eq!(both.skin().shapes, generic.skin().shapes, "expressions stay");
    let (generic, one, two, sum) = (at(generic), at(&one), at(&two), at(&both));
    let mut moved = 0f32;
    for v in 0..generic.len() {
        let expected = one[v] + two[v] - generic[v];
        assert!(sum[v].distance(expected) < 1e-6);
        moved = moved.max(one[v].distance(generic[v]));
    }
    assert!((0.002..0.05).contains(&moved), "an identity mode moves millimetres, not {moved} m");
}

#[test]
fn a_missing_mode_names_those_that_exist() {
    let Some(folder) = kit() else { return };
    let options = IctOptions { identity: vec![(77, 1.0)] };
    let error = ict::read_rig_with(&folder, &options, &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("identity077.obj") && error.contains("10 modes from 0 to 9"), "{error}");
}

#[test]
fn landmarks_lie_on_the_face() {
    let Some(folder) = kit() else { return };
    let landmarks = ict::read_landmarks(&folder, &Limits::default()).unwrap();
    assert_eq!(landmarks.len(), 68);
    assert!(landmarks.iter().all(|vertex| *vertex < 9_409));
}

#[test]
fn coefficients_are_parsed_or_explained() {
    assert_eq!(ict::parse_identity("0=1.2, 3=-0.5").unwrap(), [(0, 1.2), (3, -0.5)]);
    for wrong in ["", "1", "a=1", "1=b", "1=nan", "-1=2", "0=1,0=2", "0=1,,2=3"] {
        let error = ict::parse_identity(wrong).unwrap_err().to_string();
        assert!(error.contains("0=1.2,3=-0.5") || error.contains("twice"), "{wrong}: {error}");
    }
}

fn small_kit(json: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary files can be written");
    let obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    for name in ["generic_neutral_mesh", "jawOpen", "identity000"] {
        std::fs::write(folder.path().join(format!("{name}.obj")), obj)
            .expect("temporary files can be written");
    }
    std::fs::write(folder.path().join("vertex_indices.json"), json).expect("temporary files can be written");
    folder
}

#[test]
fn broken_kits_get_a_sentence() {
    let cases = [
        ("{\"expressions\": [\"smile\"]}", "no smile.obj"),
        ("{\"expressions\": [\"../jawOpen\"]}", "../jawOpen"),
        ("{\"expressions\": ", "line 1"),
        ("[]", "vertex_indices.json"),
        ("{\"expressions\": [1]}", "vertex_indices.json"),
    ];
    for (json, expected) in cases {
        let folder = small_kit(json);
        let error = read_rig(folder.path(), &Limits::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{json}: {error}");
    }
    let folder = small_kit("{\"expressions\": [\"jawOpen\"], \"idx_to_landmark_verts\": [7]}");
    let rig = read_rig(folder.path(), &Limits::default()).unwrap();
    assert_eq!(rig.skin().shapes.len(), 1, "identities are no shapes");
    assert!(rig.notes.iter().any(|note| note.contains("3 vertices instead of 26719")));
    let error = ict::read_landmarks(folder.path(), &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("landmark vertex 7"), "{error}");
}
