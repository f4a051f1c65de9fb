use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::RigMesh;
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_testing::real_data;

use super::*;
use crate::model::Continue;
use crate::shell::{BuildParams, build};

/// A face built quickly, with a uniform stiffness.
fn face(mesh: &RigMesh) -> FaceModel {
    let params = BuildParams { triangles: 600, uniform_stiffness: Some(1.0), ..BuildParams::default() };
    build("face", mesh, &params, &mut |_| Continue::Yes).unwrap()
}

/// Checks the distances, in millimetres, between a face's landmarks and its 68 standard landmarks.
fn check_against_landmarks(face: &FaceModel, landmarks: &[u32]) {
    let places = Landmarks::new(face);
    let millimetres = 1e3 * face.height as f32;
    let at = |vertex: u32| millimetres * face.neutral[vertex as usize];
    let mean =
        |indices: &[usize]| indices.iter().map(|i| at(landmarks[*i])).sum::<Vec3>() / indices.len() as f32;
    // A landmark on the edge of a lid or lip stands for the middle of its neighbours.
    let wanted: [(&str, &[usize], f32); 14] = [
        ("mouth-left", &[54], 5.0),
        ("mouth-right", &[48], 5.0),
        ("nose-tip", &[30], 6.0),
        ("nose-bridge", &[27, 28], 8.0),
        ("lip-upper", &[51, 62], 7.0),
        ("lip-lower", &[57, 66], 7.0),
        ("eyelid-left", &[43, 44], 8.0),
        ("eyelid-right", &[37, 38], 8.0),
        ("brow-left", &[24], 12.0),
        ("brow-right", &[19], 12.0),
        ("nose-left", &[35], 10.0),
        ("nose-right", &[31], 10.0),
        ("chin", &[8, 57], 10.0),
        ("jaw-left", &[11], 15.0),
    ];
    for (name, indices, most) in wanted {
        let found = at(places.find(name).unwrap().vertex);
        let off = found.distance(mean(indices));
        assert!(off < most, "{name}: {off} mm from its landmark, at {found}");
    }
}

#[test]
fn the_built_in_heads_places_are_where_its_landmarks_are() {
    let head = Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() });
    let face = face(&head.rig().meshes[0]);
    check_against_landmarks(&face, &head.places.landmarks);
    let places = Landmarks::new(&face);
    for (place, region) in [
        ("cheek-left", "cheek_L"),
        ("cheek-right", "cheek_R"),
        ("ear-left", "ear_L"),
        ("ear-right", "ear_R"),
        ("forehead", "forehead"),
        ("chin", "chin"),
        ("nose-tip", "nose"),
        ("jaw-left", "jaw_L"),
    ] {
        let region = head.places.regions.iter().find(|r| r.name == region).unwrap();
        let vertex = places.find(place).unwrap().vertex;
        assert!(region.vertices.contains(&vertex), "{place} is not in {}", region.name);
    }
}

#[test]
fn icts_places_are_where_its_landmarks_are() {
    let Some(folder) = real_data("ict/FaceXModel") else { return };
    let rig = read_rig(&folder, &Limits::default()).unwrap();
    let text = std::fs::read_to_string(folder.join("vertex_indices.json")).unwrap();
    let indices: serde_json::Value = serde_json::from_str(&text).unwrap();
    let landmarks = indices["idx_to_landmark_verts"].as_array().unwrap();
    let landmarks: Vec<u32> = landmarks.iter().map(|v| v.as_u64().unwrap() as u32).collect();
    check_against_landmarks(&face(rig.skin()), &landmarks);
}

#[test]
fn places_of_a_rig_that_leans_are_pairs_all_the_same() {
    let Some(file) = real_data("rigs/facecap.glb") else { return };
    let rig = read_rig(&file, &Limits::default()).unwrap();
    let face = face(rig.skin());
    let places = Landmarks::new(&face);
    let at = |name: &str| face.neutral[places.find(name).unwrap().vertex as usize];
    for name in ["mouth", "eyelid", "brow", "cheekbone", "cheek", "nose", "jaw", "temple", "ear"] {
        let [left, right] = ["left", "right"].map(|side| at(&format!("{name}-{side}")));
        assert!(left.x > 0.0 && right.x < 0.0, "{name}: {left}, {right}");
        assert!((left.x + right.x).abs() < 0.04 && (left - right).with_x(0.0).length() < 0.05, "{name}");
    }
    let down = ["crown", "forehead", "nose-bridge", "nose-tip", "lip-upper", "lip-lower", "chin"];
    assert!(down.windows(2).all(|pair| at(pair[0]).y > at(pair[1]).y));
}

#[test]
fn names_are_found_in_other_spellings_and_missed_ones_suggest_another() {
    let places = Landmarks {
        places: ["cheek-left", "cheek-right", "chin"]
            .map(|name| Landmark { name: name.into(), vertex: 0, radius: 0.01 })
            .to_vec(),
        positions: vec![Vec3::ZERO; 3],
    };
    for spelling in ["cheek-left", "cheek_L", "CheekLeft", "cheek left"] {
        assert_eq!(places.find(spelling).map(|p| p.name.as_str()), Some("cheek-left"), "{spelling}");
    }
    assert_eq!(places.find("cheekl"), None);
    let similar = |name| places.similar(name).map(|place| place.name.as_str());
    assert_eq!(similar("chek-right"), Some("cheek-right"));
    assert_eq!(similar("shin"), Some("chin"));
    assert_eq!(similar("windscreen"), None);
}

#[test]
fn edits_count_letters() {
    assert_eq!([edits("", "abc"), edits("abc", "abc"), edits("kitten", "sitting")], [3, 0, 3]);
}
