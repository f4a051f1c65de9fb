//! Outputs of zygoma, opened in other people's programs: Blender's `bpy` and Pixar's `usd-core`.
//!
//! `scripts/python-env` installs both; without them these tests are skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::avatar;
use crate::support::{SMALL_SHAPES, fail, report, small_rig, small_take, succeed};
use serde_json::Value;
use zygoma_testing::real_data;

/// Runs a check script, which must succeed, and gives the JSON on its last line; `None` without its programs.
fn check(script: &str, folder: &Path, args: &[&str]) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join(".venv/bin/python");
    if !python.exists() {
        zygoma_testing::skipped("run scripts/python-env to open files in Blender and USD");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let output =
        Command::new(python).arg(script).args(args).current_dir(folder).output().expect("Python starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {out}\n{err}");
    let last = out.lines().rev().find(|line| line.starts_with('{')).expect("a line of JSON");
    Some(serde_json::from_str(last).expect("a line of JSON"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn blender_sees_the_shapes_of_a_new_glb() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    succeed(folder.path(), &["convert", "small", "small.glb"]);
    let Some(seen) = check("check_blender.py", folder.path(), &["info", "small.glb"]) else { return };
    let mesh = &seen["meshes"][0];
    assert_eq!((mesh["vertices"].as_u64(), mesh["faces"].as_u64()), (Some(441), Some(800)));
    assert_eq!(names(&mesh["shape_keys"])[1..], SMALL_SHAPES);
}

#[test]
fn blender_sees_an_animated_glb_play() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    succeed(folder.path(), &["convert", "small", "played.glb", "--take", "take.csv"]);
    let Some(seen) = check("check_blender.py", folder.path(), &["info", "played.glb"]) else { return };
    let keys = seen["meshes"][0]["shape_keys"].as_array().unwrap().len();
    assert!((2..=4).contains(&keys), "{keys}");
    assert_eq!(seen["actions"].as_array().unwrap().len(), 1);
}

/// Blender keeps weights between 0 and 1, so what counts is where vertices are when it plays.
#[test]
fn blender_plays_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    avatar(path);
    small_take(path);
    let convert = |out: &str, more: &[&str]| {
        succeed(
            path,
            &[&["convert", "avatar.gltf", out, "--take", "take.csv", "--fps", "30"], more].concat(),
        );
    };
    convert("frames", &["--head-motion"]);
    convert("baked.glb", &[]);
    convert("kept.glb", &["--keep-shapes"]);
    let unit = report(path, &["info", "avatar.gltf"])["units"]["metres_per_unit"].to_string();
    for (file, keys) in [("baked.glb", 2), ("kept.glb", 2)] {
        let expected = ["0=frames/frame_0001.obj", "9=frames/frame_0010.obj", "21=frames/frame_0022.obj"];
        let args = [&["played", file, "30", &unit, "FaceMesh"], &expected[..]].concat();
        let Some(seen) = check("check_blender.py", path, &args) else { return };
        assert!(seen["max_deviation"].as_f64().unwrap() < 1e-5, "{file}: {seen}");
        assert_eq!(seen["shape_keys"], keys, "{file}");
    }
}

/// A face that is touched, with the rig's own shapes and correctives, which rest at weights above 0.
#[test]
fn blender_plays_kept_shapes_with_correctives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    small_take(path);
    std::fs::write(
        path.join("poke.toml"),
        "[[push]]\nat = [0, 40, 48]\nfrom = 0.1\nto = 0.9\ndepth = 6\nradius = 12\n",
    )
    .unwrap();
    succeed(path, &["build", "small", "-o", "face.safetensors", "--quick", "--triangles", "300"]);
    let simulate =
        ["simulate", "face.safetensors", "--take", "take.csv", "--touch", "poke.toml", "--fps", "10"];
    succeed(path, &[&simulate[..], &["-o", "frames"]].concat());
    let summary = report(path, &[&simulate[..], &["-o", "made/here/kept.glb", "--keep-shapes"]].concat());
    let correctives = summary["compression"]["morph_targets"].as_u64().unwrap();
    assert!(correctives > 0, "{summary}");
    assert_eq!(summary["compression"]["kept_shapes"], 4);
    std::fs::write(path.join("neutral.obj"), std::fs::read(path.join("small/neutral.obj")).unwrap()).unwrap();
    let args = [
        "played",
        "made/here/kept.glb",
        "10",
        "1",
        "small",
        "0=frames/frame_0001.obj",
        "5=frames/frame_0006.obj",
        "rest=neutral.obj",
    ];
    let Some(seen) = check("check_blender.py", path, &args) else { return };
    // The allowed error of compression is 0.05 mm.
    assert!(seen["max_deviation"].as_f64().unwrap() < 6e-5, "{seen}");
    assert_eq!(seen["shape_keys"].as_u64(), Some(4 + correctives));
}

/// A whole person whose file is quantised and compressed, and whose names only a map can tell.
#[test]
fn a_quantised_avatar_plays_its_caches_and_its_glb() {
    let Some(rig) = real_data("rigs/valid_black_m.glb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, rig) = (folder.path(), rig.to_str().unwrap());
    small_take(path);
    let error = fail(path, &["convert", rig, "out.pc2", "--take", "take.csv"]);
    assert!(error.contains("--write-map") && error.contains("--map"), "{error}");
    succeed(path, &["info", rig, "--take", "take.csv", "--write-map", "names.toml"]);
    let take = ["--take", "take.csv", "--map", "names.toml", "--fps", "10"];
    let summary = report(path, &[&["convert", rig, "out.pc2"], &take[..]].concat());
    let meshes: Vec<&str> = summary["animation"]["caches"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|cache| cache["mesh"].as_str())
        .collect();
    assert_eq!(meshes, ["H_DDS_HighRes", "h_TeethDown"]);
    succeed(path, &[&["convert", rig, "frames"], &take[..]].concat());
    succeed(path, &["convert", rig, "plain.glb", "--plain"]);
    let args = [
        "cache",
        "plain.glb",
        "H_DDS_HighRes",
        "out.pc2",
        "0=frames/frame_0001.obj",
        "5=frames/frame_0006.obj",
    ];
    let Some(seen) = check("check_blender.py", path, &args) else { return };
    assert!(seen["max_deviation"].as_f64().unwrap() < 1e-6, "{seen}");
    succeed(path, &[&["convert", rig, "played.glb"], &take[..]].concat());
    let args = ["played", "played.glb", "10", "1", "H_DDS_HighRes", "5=frames/frame_0006.obj"];
    let seen = check("check_blender.py", path, &args).unwrap();
    // Blender binds a skin anew, in single precision.
    assert!(seen["max_deviation"].as_f64().unwrap() < 5e-5, "{seen}");
    let size = |name: &str| std::fs::metadata(path.join(name)).unwrap().len();
    assert!(size("played.glb") < 3 * std::fs::metadata(rig).unwrap().len(), "{}", size("played.glb"));
}

/// A body as avatars come: a skinned mesh with shapes, bones, a material and things zygoma knows nothing of.
fn avatar(folder: &Path) -> PathBuf {
    let path = folder.join("avatar.gltf");
    std::fs::write(&path, avatar::gltf()).expect("an avatar");
    path
}

#[test]
fn a_skinned_avatar_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    avatar(folder.path());
    succeed(folder.path(), &["convert", "avatar.gltf", "again.glb"]);
    let Some(before) = check("check_blender.py", folder.path(), &["info", "avatar.gltf"]) else { return };
    let after = check("check_blender.py", folder.path(), &["info", "again.glb"]).unwrap();
    assert_eq!(before, after);
    assert_eq!(before["armatures"][0]["bones"].as_array().unwrap().len(), 2);
    let mesh = &before["meshes"][0];
    assert_eq!(names(&mesh["shape_keys"]), ["Basis", "jawOpen", "mouthSmileLeft"]);
    assert!(mesh["weights"].as_u64().unwrap() > 0);
}

#[test]
fn an_animated_avatar_keeps_its_skeleton_and_skin() {
    let folder = tempfile::tempdir().unwrap();
    avatar(folder.path());
    small_take(folder.path());
    succeed(folder.path(), &["convert", "avatar.gltf", "played.glb", "--take", "take.csv"]);
    let Some(before) = check("check_blender.py", folder.path(), &["info", "avatar.gltf"]) else { return };
    let after = check("check_blender.py", folder.path(), &["info", "played.glb"]).unwrap();
    assert_eq!(before["armatures"], after["armatures"]);
    assert_eq!(before["materials"], after["materials"]);
    for field in ["vertices", "faces", "vertex_groups", "weights", "weight_sum", "armature"] {
        assert_eq!(before["meshes"][0][field], after["meshes"][0][field], "{field}");
    }
    assert_ne!(before["meshes"][0]["shape_keys"], after["meshes"][0]["shape_keys"]);
}

#[test]
fn blender_plays_point_caches_on_the_rigs_own_mesh() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    for out in ["out.pc2", "out.mdd", "frames"] {
        succeed(folder.path(), &["convert", "small", out, "--take", "take.csv", "--fps", "10"]);
    }
    for cache in ["out.pc2", "out.mdd"] {
        let args = [
            "cache",
            "small/neutral.obj",
            "face",
            cache,
            "0=frames/frame_0001.obj",
            "7=frames/frame_0008.obj",
        ];
        let Some(seen) = check("check_blender.py", folder.path(), &args) else { return };
        assert!(seen["max_deviation"].as_f64().unwrap() < 1e-6, "{cache}: {seen}");
    }
}

#[test]
fn blender_opens_the_built_in_head() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["head", "-o", "head.glb", "--level", "3.5k"]);
    let Some(seen) = check("check_blender.py", folder.path(), &["info", "head.glb"]) else { return };
    let keys = seen["meshes"].as_array().unwrap().iter().map(|mesh| names(&mesh["shape_keys"]).len()).max();
    assert_eq!(keys, Some(53), "the basis and 52 shapes");
    assert_eq!(seen["images"].as_array().unwrap().len(), 1);
}

#[test]
fn usd_opens_with_every_sample() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    succeed(folder.path(), &["convert", "small", "out.usda", "--take", "take.csv", "--fps", "24"]);
    let Some(seen) = check("check_usd.py", folder.path(), &["out.usda", "25", "441"]) else { return };
    assert_eq!(
        (seen["faces"].as_u64(), seen["corners"].as_u64()),
        (Some(400), Some(1600)),
        "quads stay quads"
    );
    assert_eq!(seen["fps"], 24.0);
}

/// The small rig, built, performing while it is touched; `None` without Blender and USD.
#[test]
fn other_programs_open_a_touched_face() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    small_take(path);
    std::fs::write(
        path.join("poke.toml"),
        "[[push]]\nname = \"finger\"\nat = [0, 40, 48]\nfrom = 0.1\nto = 0.9\ndepth = 6\nradius = 12\nlength = 60\n",
    )
    .unwrap();
    succeed(path, &["build", "small", "-o", "face.safetensors", "--triangles", "300"]);
    let simulate =
        ["simulate", "face.safetensors", "--take", "take.csv", "--touch", "poke.toml", "--fps", "10"];
    for out in ["touched.glb", "touched.pc2", "touched.mdd", "touched.usda", "frames"] {
        succeed(path, &[&simulate[..], &["-o", out]].concat());
    }
    let Some(seen) = check("check_blender.py", path, &["info", "touched.glb"]) else { return };
    let meshes = seen["meshes"].as_array().unwrap();
    let face = meshes.iter().find(|mesh| !names(&mesh["shape_keys"]).is_empty()).unwrap();
    assert_eq!(face["vertices"], 441);
    assert!(meshes.iter().any(|mesh| mesh["name"] == "finger"), "{seen}");
    for cache in ["touched.pc2", "touched.mdd"] {
        let args = [
            "cache",
            "small/neutral.obj",
            "face",
            cache,
            "0=frames/frame_0001.obj",
            "5=frames/frame_0006.obj",
        ];
        let seen = check("check_blender.py", path, &args).unwrap();
        assert!(seen["max_deviation"].as_f64().unwrap() < 1e-6, "{cache}: {seen}");
    }
    let seen = check("check_usd.py", path, &["touched.usda", "11", "441"]).unwrap();
    assert_eq!(seen["faces"].as_u64(), Some(400), "quads stay quads");
}

#[test]
fn a_simulated_avatar_keeps_its_skeleton_and_skin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    avatar(path);
    small_take(path);
    succeed(path, &["build", "avatar.gltf", "-o", "face.safetensors", "--triangles", "300"]);
    succeed(path, &["simulate", "face.safetensors", "--take", "take.csv", "-o", "played.glb", "--fps", "10"]);
    let Some(before) = check("check_blender.py", path, &["info", "avatar.gltf"]) else { return };
    let after = check("check_blender.py", path, &["info", "played.glb"]).unwrap();
    assert_eq!(before["armatures"], after["armatures"]);
    assert_eq!(before["materials"], after["materials"]);
    for field in ["vertices", "faces", "vertex_groups", "weights", "weight_sum", "armature"] {
        assert_eq!(before["meshes"][0][field], after["meshes"][0][field], "{field}");
    }
}
