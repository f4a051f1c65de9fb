//! Faces with tissue, from rig to file.

use std::fmt::Write;
use std::path::Path;

use glam::Vec3;
use zygoma_geometry::Faces;
use zygoma_geometry::normals::vertex_normals;
use zygoma_rig::RigMesh;
use zygoma_rig::evaluate::Performance;
use zygoma_rig::formats::{Limits, gltf, read_rig};
use zygoma_rig::frames::Frames;

use crate::support::{SMALL_SHAPES, fail, report, small_folder, small_take, succeed};

#[test]
fn tissue_of_a_rig_without_bones_performs_with_painted_thickness_and_free_parts() {
    let folder = small_folder();
    let path = folder.path();
    let perform =
        ["simulate", "small", "--take", "take.csv", "--triangles", "300", "--fps", "10", "-o", "out.pc2"];
    let plain = report(path, &perform);
    assert_eq!(plain["bones"], "none", "{plain}");
    assert_eq!(plain["free_parts"], serde_json::json!([]));
    assert!(plain["volume"]["total"][0].as_f64().unwrap() > 0.9, "{plain}");

    let painted: String = (0..441).fold(String::new(), |mut text, _| {
        writeln!(text, "3.0").expect("a line");
        text
    });
    std::fs::write(path.join("thin.txt"), painted).expect("a file");
    let thin = report(path, &[&perform[..], &["--thickness", "thin.txt"]].concat());
    assert_ne!(thin["volume"], plain["volume"]);
    std::fs::write(path.join("short.txt"), "3\n4 5\n").expect("a file");
    let error = fail(path, &[&perform[..], &["--thickness", "short.txt"]].concat());
    assert!(error.contains("441") && error.contains("has 3"), "{error}");
    std::fs::write(path.join("bad.txt"), "3\n4 x\n").expect("a file");
    let error = fail(path, &[&perform[..], &["--thickness", "bad.txt"]].concat());
    assert!(error.contains("line 2: 'x'"), "{error}");
    std::fs::write(path.join("huge.txt"), "3\n1e12\n").expect("a file");
    let error = fail(path, &[&perform[..], &["--thickness", "huge.txt"]].concat());
    assert!(error.contains("line 2: '1e12'") && error.contains("from 0.1 to 100"), "{error}");

    let free = report(path, &[&perform[..], &["--free", "chin"]].concat());
    assert_eq!(free["free_parts"], serde_json::json!(["the chin"]));
    let error = fail(path, &[&perform[..], &["--free", "trunk"]].concat());
    assert!(error.contains("--free trunk") && error.contains("chin"), "{error}");
}

#[test]
fn the_built_in_head_is_known_and_other_heads_bring_their_bones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    small_take(path);
    succeed(path, &["head", "-o", "head.glb", "--level", "3.5k"]);
    succeed(path, &["head", "-o", "other.glb", "--level", "3.5k", "--seed", "3", "--with-anatomy"]);
    succeed(path, &["head", "-o", "boneless.glb", "--level", "3.5k", "--seed", "3"]);
    // Other lips in a head of the same extent.
    succeed(path, &["head", "-o", "lips.glb", "--level", "3.5k", "--dial", "lip_fullness=1"]);
    let known =
        [("head.glb", "built-in"), ("other.glb", "rig"), ("boneless.glb", "none"), ("lips.glb", "none")];
    for (rig, bones) in known {
        let message = report(
            path,
            &["simulate", rig, "--take", "take.csv", "--triangles", "500", "--fps", "4", "-o", "out.pc2"],
        );
        assert_eq!(message["bones"], bones, "{message}");
        assert_eq!(message["free_parts"], serde_json::json!([]), "human ears are not that long");
    }
}

#[test]
fn tissue_is_touched_and_follows_markers() {
    let folder = small_folder();
    let path = folder.path();
    let press = "[[push]]\nat = \"cheek-left\"\nfrom = 0.1\nto = 0.9\ndepth = 4\nradius = 12\n";
    std::fs::write(path.join("press.toml"), press).expect("a file");
    let rest = ["simulate", "small", "--triangles", "300", "--fps", "20", "-o", "out.pc2"];
    let with = |more: &[&'static str]| [&rest[..], more].concat();
    let pressed = report(path, &with(&["--take", "take.csv", "--touch", "press.toml"]));
    assert_eq!(pressed["touches"], 1, "{pressed}");
    assert!(pressed["penetration_percent"].as_f64().unwrap() < 0.6, "{pressed}");
    assert!(pressed["force_n"].as_f64().unwrap() > 0.01, "{pressed}");

    // The middle of the square and a corner of its inner part; the first is not seen in between.
    let header = "time,middle.x,middle.y,middle.z,side.x,side.y,side.z\nrest,#220,,,#110,,\n";
    let message = report(path, &with(&["--take", "take.csv"]));
    assert!(message.get("markers").is_none());
    let plain = |vertex: usize| small_position(path, vertex);
    let [a, b] = [plain(220), plain(110)].map(|p| format!("{},{},{}", p[0], p[1], p[2]));
    std::fs::write(path.join("m.csv"), format!("{header}0,{a},{b}\n0.2,,,,{b}\n0.4,{a},{b}\n"))
        .expect("a file");
    let followed = report(path, &with(&["--markers", "m.csv"]));
    assert_eq!(followed["markers"]["markers"], 2, "{followed}");
    assert!(followed["markers"]["worst_miss_mm"].as_f64().unwrap() < 0.5, "{followed}");
    assert_eq!(followed["frames"], 9);

    let beyond = header.replace("#110", "#441");
    std::fs::write(path.join("beyond.csv"), format!("{beyond}0,{a},{b}\n")).expect("a file");
    let error = fail(path, &with(&["--markers", "beyond.csv"]));
    assert!(error.contains("beyond.csv") && error.contains("'side'") && error.contains("441"), "{error}");
    std::fs::write(path.join("bad.csv"), "time,a.x,a.y\n").expect("a file");
    assert!(fail(path, &with(&["--markers", "bad.csv"])).contains("row 1"));
}

/// A vertex of the small rig's neutral.
fn small_position(folder: &std::path::Path, vertex: usize) -> [f32; 3] {
    let text = std::fs::read_to_string(folder.join("small/neutral.obj")).expect("a neutral");
    let line = text.lines().filter(|line| line.starts_with("v ")).nth(vertex).expect("a vertex");
    let numbers: Vec<f32> = line[2..].split_whitespace().map(|n| n.parse().expect("a number")).collect();
    [numbers[0], numbers[1], numbers[2]]
}

#[test]
fn input_that_gives_no_tissue_is_refused_in_a_sentence() {
    let folder = small_folder();
    let path = folder.path();
    let with = |more: &[&'static str]| {
        [&["simulate", "small", "--take", "take.csv", "-o", "out.pc2"][..], more].concat()
    };
    for (params, message) in [
        ("poisson = 0.6", "poisson is 0.6"),
        ("young = nan", "young is NaN"),
        ("step_time = 0", "step_time is 0"),
        ("thickness_range = [0.02, 0.01]", "thickness_range[1] is 0.01"),
    ] {
        std::fs::write(path.join("bad.toml"), params).expect("a file");
        let error = fail(path, &with(&["--params", "bad.toml"]));
        assert!(error.contains(&format!("bad.toml: {message}; it must be")), "{error}");
    }
    let error = fail(path, &with(&["--triangles", "3"]));
    assert!(
        error.contains("small: 3 triangles are out of range") && error.contains("100 to 200000"),
        "{error}"
    );
    let error = fail(path, &with(&["--fps", "1e12"]));
    assert!(error.contains("'take'") && error.contains("--fps"), "{error}");
    let error = fail(path, &["simulate", "small", "--markers", "none.csv", "-o", "out.pc2"]);
    assert_eq!(error.matches("os error").count(), 1, "{error}");
    let flat = "v 0 0 0\nv 0.1 0 0\nv 0.2 0 0\nf 1 2 3\n";
    std::fs::write(path.join("flat.obj"), flat).expect("a file");
    let error = fail(path, &["simulate", "flat.obj", "--take", "take.csv", "-o", "out.pc2"]);
    assert!(error.contains("flat.obj: the mesh has no part"), "{error}");
}

#[test]
fn a_rig_without_the_shapes_of_a_take_says_so() {
    let folder = small_folder();
    let path = folder.path();
    for shape in SMALL_SHAPES {
        std::fs::remove_file(path.join(format!("small/{shape}.obj"))).expect("a shape");
    }
    let message = succeed(
        path,
        &["simulate", "small", "--take", "take.csv", "--triangles", "300", "--fps", "5", "-o", "out.pc2"],
    );
    assert!(message.contains("none of the take's 4 tracks matches a shape of the rig"), "{message}");
    assert!(
        message.contains("no lips were found") && message.contains("neither bones nor a shape"),
        "{message}"
    );
}

/// A take is performed alike at any frame rate: at the times that 25, 30 and 60 frames a second have in common, the surfaces are the same.
#[test]
fn a_shaken_head_is_the_same_at_any_frame_rate() {
    let folder = small_folder();
    let path = folder.path();
    let surfaces = |fps: &str| -> Vec<Vec<f32>> {
        succeed(
            path,
            &["simulate", "small", "--take", "shake", "--triangles", "300", "--fps", fps, "-o", "out.pc2"],
        );
        let bytes = std::fs::read(path.join("out.pc2")).expect("a file");
        let word = |at: usize| *bytes[at..].first_chunk::<4>().expect("a number");
        let points = u32::from_le_bytes(word(16)) as usize;
        let numbers: Vec<f32> = bytes[32..]
            .chunks_exact(4)
            .map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        // Every 0.2 s.
        let every = fps.parse::<usize>().expect("a number") / 5;
        numbers.chunks_exact(3 * points).step_by(every).map(<[f32]>::to_vec).collect()
    };
    let usual = surfaces("60");
    assert!(usual.len() > 10);
    let apart = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let moved = usual.iter().map(|surface| apart(surface, &usual[0])).fold(0.0, f32::max);
    assert!(moved > 1e-4, "the tissue swings: {moved} m");
    for fps in ["25", "30"] {
        let found = surfaces(fps);
        assert_eq!(found.len(), usual.len());
        let worst = usual.iter().zip(&found).map(|(a, b)| apart(a, b)).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{fps} frames a second: {worst} m");
    }
}

/// The small rig with a beard that has no shapes: a copy of its lower left, a millimetre above it. Gives the skin's vertex below each of the
/// beard's.
fn bearded_rig(folder: &Path) -> Vec<u32> {
    let limits = Limits::default();
    let mut rig = read_rig(&folder.join("small"), &limits).expect("the small rig");
    let skin = rig.skin();
    let is_cheek = |v: &u32| {
        let p = skin.positions[*v as usize];
        p.x > 0.01 && p.x < 0.08 && p.y < 0.02 && p.y > -0.07
    };
    let triangles: Vec<[u32; 3]> =
        skin.faces.triangles().into_iter().filter(|t| t.iter().all(is_cheek)).collect();
    let mut below: Vec<u32> = triangles.iter().flatten().copied().collect();
    below.sort_unstable();
    below.dedup();
    let own = |v: u32| below.binary_search(&v).expect("a vertex of the beard") as u32;
    let own_triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(own)).collect();
    let normals = vertex_normals(&skin.positions, &skin.faces.triangles());
    let above = |v: &u32| skin.positions[*v as usize] + 1e-3 * normals[*v as usize];
    let beard = RigMesh {
        name: "beard".into(),
        positions: below.iter().map(above).collect(),
        faces: Faces::from_triangles(&own_triangles),
        uvs: None,
        shapes: Vec::new(),
        ..skin.clone()
    };
    rig.meshes.push(beard);
    gltf::write_rig(&rig, &folder.join("bearded.glb")).expect("a GLB");
    below
}

#[test]
fn a_beard_rides_on_a_touched_cheek() {
    let folder = small_folder();
    let path = folder.path();
    let below = bearded_rig(path);
    let press = "[[push]]\nat = [50, -20, 40]\nfrom = 0.1\nto = 0.9\ndepth = 6\nradius = 12\n";
    std::fs::write(path.join("press.toml"), press).expect("a file");
    let perform = ["simulate", "bearded.glb", "--take", "take.csv", "--touch", "press.toml"];
    let rest = ["--triangles", "300", "--fps", "10"];
    let message = report(path, &[&perform[..], &rest[..], &["-o", "out.pc2"]].concat());
    let caches: Vec<&str> =
        message["caches"].as_array().unwrap().iter().map(|c| c["mesh"].as_str().unwrap()).collect();
    assert!(caches.contains(&"beard"), "{message}");
    report(path, &[&perform[..], &rest[..], &["-o", "out.glb"]].concat());

    let rig = read_rig(&path.join("out.glb"), &Limits::default()).expect("the GLB");
    let beard = rig.meshes.iter().position(|mesh| mesh.name == "beard").expect("the beard");
    // The base of an animated mesh is not its neutral, so frames are compared with each other.
    let moved = |mesh: usize| {
        let mut frames = Performance::new(&rig, mesh, &rig.takes[0], 10.0);
        let [mut first, mut middle] = [(); 2].map(|()| rig.meshes[mesh].positions.clone());
        frames.read(0, &mut first).expect("a frame");
        frames.read(5, &mut middle).expect("a frame");
        middle.iter().zip(&first).map(|(now, first)| *now - *first).collect::<Vec<Vec3>>()
    };
    let (skin, beard) = (moved(rig.skin), moved(beard));
    let farthest = below.iter().map(|v| skin[*v as usize].length()).fold(0.0, f32::max);
    assert!(farthest > 4e-3, "the cheek is pressed and the jaw opens: {farthest}");
    for (beard, v) in beard.iter().zip(&below) {
        let skin = skin[*v as usize];
        assert!(beard.distance(skin) < 1e-3, "vertex {v}: the beard moves by {beard}, the skin by {skin}");
    }
}
