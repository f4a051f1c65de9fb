//! The built command, used as its users would.

use zygoma_face::model::{BoneSource, FaceModel};
use zygoma_face::tissue::TissueVolume;
use zygoma_rig::formats::Limits;
use zygoma_testing::real_data;

use crate::support::{SMALL_SHAPES, fail, listing, report, small_rig, small_take, succeed, zygoma};

#[test]
fn info_tells_what_is_in_a_rig() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    let report = report(folder.path(), &["info", "small"]);
    let mesh = &report["meshes"][0];
    assert_eq!((mesh["vertices"].as_u64(), mesh["triangles"].as_u64()), (Some(441), Some(800)));
    assert_eq!(mesh["shapes"], serde_json::json!(SMALL_SHAPES));
    assert_eq!(report["skin"], mesh["name"]);
    assert_eq!(report["arkit"]["count"], 4);
    assert_eq!(report["jaw_driven"], serde_json::json!(["jawOpen"]));
    assert_eq!(report["problems"], serde_json::json!([]));
    let text = succeed(folder.path(), &["info", "small", "-v"]);
    assert!(text.contains("441 vertices") && text.contains("cheekPuff"), "{text}");
}

#[test]
fn info_draws_every_shape() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    succeed(folder.path(), &["info", "small", "--sheet", "sheet.png"]);
    let sheet = zygoma_picture::Image::open(&folder.path().join("sheet.png")).unwrap();
    assert!(sheet.width() > 5 * 240 && sheet.height() > 240);
}

#[test]
fn info_tells_what_is_in_a_take() {
    let folder = tempfile::tempdir().unwrap();
    small_take(folder.path());
    let report = report(folder.path(), &["info", "take.csv"]);
    assert_eq!((report["duration"].as_f64(), report["shapes"].as_u64()), (Some(1.0), Some(4)));
}

#[test]
fn facecap_has_all_arkit_shapes_and_its_take() {
    let Some(facecap) = real_data("rigs/facecap.glb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = report(folder.path(), &["info", facecap.to_str().unwrap()]);
    let skin =
        report["meshes"].as_array().unwrap().iter().find(|mesh| mesh["name"] == report["skin"]).unwrap();
    assert_eq!(skin["shapes"].as_array().unwrap().len(), 52);
    assert_eq!((report["arkit"]["count"].as_u64(), report["arkit"]["of"].as_u64()), (Some(52), Some(52)));
    assert_eq!(report["takes"].as_array().unwrap().len(), 1);
    let mut jaw: Vec<&str> =
        report["jaw_driven"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    jaw.sort_unstable();
    assert_eq!(jaw, ["jawForward", "jawLeft", "jawOpen", "jawRight", "mouthClose"]);
}

#[test]
fn ict_is_read_whole_and_takes_identities() {
    let Some(ict) = real_data("ict/FaceXModel") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = report(folder.path(), &["info", ict.to_str().unwrap()]);
    assert_eq!(plain["meshes"][0]["vertices"], 26_719);
    assert_eq!(plain["meshes"][0]["shapes"].as_array().unwrap().len(), 57);
    assert_eq!(plain["arkit"]["missing"], serde_json::json!(["tongueOut"]));
    let mut jaw: Vec<&str> =
        plain["jaw_driven"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    jaw.sort_unstable();
    assert_eq!(jaw, ["jawForward", "jawLeft", "jawOpen", "jawRight", "mouthClose"]);
    let other = report(folder.path(), &["info", ict.to_str().unwrap(), "--identity", "0=1.2,3=-0.5"]);
    assert_ne!(plain["meshes"][0]["size"], other["meshes"][0]["size"]);
    let error = fail(folder.path(), &["info", ict.to_str().unwrap(), "--identity", "99999=1"]);
    assert!(error.contains("99999"), "{error}");
}

#[test]
fn every_sample_file_opens() {
    let samples = [
        ("gltf-samples/MorphStressTest.glb", 8, 3),
        ("gltf-samples/SimpleMorph_embedded.gltf", 2, 1),
        ("gltf-samples/AnimatedMorphCube-Quantized/AnimatedMorphCube.gltf", 2, 1),
        ("rigs/lee_perry_smith.glb", 0, 0),
        ("hands/generic_hand_left.glb", 0, 0),
        ("hands/generic_hand_right.glb", 0, 0),
        ("landmarks/mediapipe_canonical_face_model.obj", 0, 0),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, shapes, takes) in samples {
        let Some(file) = real_data(path) else { continue };
        let report = report(folder.path(), &["info", file.to_str().unwrap()]);
        assert_eq!(report["meshes"][0]["shapes"].as_array().unwrap().len(), shapes, "{path}");
        assert_eq!(report["takes"].as_array().unwrap().len(), takes, "{path}");
    }
}

#[test]
fn a_rig_survives_the_way_to_glb_and_back_to_objs() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    succeed(folder.path(), &["convert", "small", "small.glb"]);
    succeed(folder.path(), &["convert", "small.glb", "again"]);
    let limits = zygoma_rig::formats::Limits::default();
    let read = |name: &str| zygoma_rig::formats::read_rig(&folder.path().join(name), &limits).unwrap();
    let first = read("small");
    for other in [read("small.glb"), read("again")] {
        assert_eq!(other.skin().positions.len(), first.skin().positions.len());
        for (p, q) in first.skin().positions.iter().zip(&other.skin().positions) {
            assert!(p.distance(*q) < 1e-6);
        }
        for (shape, twin) in first.skin().shapes.iter().zip(&other.skin().shapes) {
            assert_eq!(shape.name, twin.name);
            let (p, q) = (shape.deltas.to_dense(441), twin.deltas.to_dense(441));
            assert!(p.iter().zip(&q).all(|(p, q)| p.distance(*q) < 1e-6), "{}", shape.name);
        }
    }
}

#[test]
fn an_animated_glb_keeps_its_word_on_the_error() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    let args = ["convert", "small", "out.glb", "--take", "take.csv"];
    let summary = report(folder.path(), &args);
    let animation = &summary["animation"];
    assert_eq!(animation["frames"], 61);
    assert_eq!(animation["unmatched"], serde_json::json!(["TongueOut"]));
    assert!(animation["compression"]["max_error_mm"].as_f64().unwrap() <= 0.05);
    assert!(animation["compression"]["morph_targets"].as_u64().unwrap() <= 3);
    let one = report(folder.path(), &[&args[..], &["--max-targets", "1"]].concat());
    assert_eq!(one["animation"]["compression"]["morph_targets"], 1);
    assert!(one["animation"]["compression"]["max_error_mm"].as_f64().unwrap() > 0.05);
    let info = report(folder.path(), &["info", "out.glb"]);
    assert_eq!(info["takes"][0]["duration"].as_f64().map(f64::round), Some(1.0));
}

#[test]
fn kept_shapes_are_animated_exactly() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    succeed(folder.path(), &["convert", "small", "kept.glb", "--take", "take.csv", "--keep-shapes"]);
    let info = report(folder.path(), &["info", "kept.glb"]);
    assert_eq!(info["meshes"][0]["shapes"], serde_json::json!(SMALL_SHAPES));
    assert_eq!(info["takes"].as_array().unwrap().len(), 1);
}

/// The small rig as a program with +Z up saves it.
#[test]
fn a_rig_with_z_up_is_turned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    std::fs::create_dir(path.join("lying")).unwrap();
    for name in listing(&path.join("small")) {
        let text = std::fs::read_to_string(path.join("small").join(&name)).unwrap();
        let turned = text.lines().map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            ["v", x, y, z] => format!("v {x} {} {y}", -z.parse::<f64>().unwrap()),
            _ => line.to_owned(),
        });
        std::fs::write(path.join("lying").join(name), turned.collect::<Vec<_>>().join("\n")).unwrap();
    }
    let (standing, lying) = (report(path, &["info", "small"]), report(path, &["info", "lying"]));
    let size = |report: &serde_json::Value| -> Vec<f64> {
        let size = report["meshes"][0]["size"].as_array().unwrap();
        size.iter().map(|metres| metres.as_f64().unwrap()).collect()
    };
    for (a, b) in size(&standing).iter().zip(size(&lying)) {
        assert!((a - b).abs() < 1e-6, "{standing} {lying}");
    }
    assert!(lying["notes"].to_string().contains("+Z up"), "{lying}");
    let message = report(path, &["info", "lying", "--up", "y"]);
    assert_ne!(size(&standing), size(&message));
    // A face built from it finds its rig again, whichever way that was read.
    succeed(path, &["build", "lying", "-o", "face.safetensors", "--quick", "--triangles", "300"]);
    small_take(path);
    let simulate = ["simulate", "face.safetensors", "--take", "take.csv", "-o", "out.glb", "--fps", "10"];
    let summary = report(path, &simulate);
    assert_eq!(summary["frames"], 11);
}

#[test]
fn info_tells_how_a_take_fits_and_unknown_names_need_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    std::fs::write(path.join("wag.csv"), "time,jawOpen,chinWag\n0,0,0\n0.5,0.8,0.2\n1,0,0\n").unwrap();
    let fits = report(path, &["info", "small", "--take", "wag.csv"]);
    assert_eq!((fits["matched"].as_u64(), &fits["unmatched"]), (Some(1), &serde_json::json!(["chinWag"])));
    assert_eq!((fits["take"]["fps"].as_f64(), fits["take"]["frames"].as_u64()), (Some(2.0), Some(3)));
    assert!((fits["take"]["peaks"][0]["peak"].as_f64().unwrap() - 0.8).abs() < 1e-6, "{fits}");

    std::fs::write(path.join("own.csv"), "time,Öffnen,Grinsen\n0,0,0\n1,1,1\n").unwrap();
    let error = fail(path, &["convert", "small", "out.pc2", "--take", "own.csv"]);
    assert!(error.contains("'own.csv'") && error.contains("--map"), "{error}");
    std::fs::write(path.join("names.toml"), "'Öffnen' = 'jawOpen'\nGrinsen = { mouthSmile_L = 0.5 }\n")
        .unwrap();
    let args = ["convert", "small", "not/there/yet/out.pc2", "--take", "own.csv", "--map", "names.toml"];
    let summary = report(path, &args);
    assert_eq!(summary["animation"]["unmatched"], serde_json::json!([]));
    assert_eq!(listing(&path.join("not/there/yet")), ["out.pc2"]);
    std::fs::write(path.join("names.toml"), "'Öffnen' = 'jawOpne'\n").unwrap();
    let error = fail(path, &args);
    assert!(error.contains("names.toml") && error.contains("'jawOpne'"), "{error}");
}

#[test]
fn every_animated_format_is_written() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    for out in ["out.pc2", "out.mdd", "out.usda", "frames"] {
        succeed(folder.path(), &["convert", "small", out, "--take", "take.csv", "--fps", "10"]);
    }
    assert_eq!(listing(&folder.path().join("frames")).len(), 11);
    let pc2 = std::fs::metadata(folder.path().join("out.pc2")).unwrap().len();
    assert_eq!(pc2, 32 + 11 * 441 * 12);
}

#[test]
fn bad_input_gets_one_sentence_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    std::fs::create_dir(path.join("empty")).unwrap();
    std::fs::write(path.join("short.glb"), b"glTF\x02\0\0\0\xff\xff\xff\xff").unwrap();
    std::fs::write(path.join("magic.glb"), b"PK\x03\x04 this is a zip archive").unwrap();
    std::fs::write(path.join("broken.csv"), "time,jawOpen\n0,0\n0.1,oops\n").unwrap();
    std::fs::write(path.join("notes.txt"), "hello").unwrap();
    let before = listing(path);
    let cases: [(&[&str], &str); 10] = [
        (&["info", "missing.glb"], "missing.glb"),
        (&["info", "empty"], "empty"),
        (&["info", "short.glb"], "short.glb"),
        (&["info", "magic.glb"], "magic.glb"),
        (&["info", "notes.txt"], "notes.txt"),
        (&["info", "small", "--mesh", "nose"], "'nose'"),
        (&["info", "small", "--identity", "0=1"], "--identity"),
        (&["convert", "small", "out.glb", "--take", "broken.csv"], "broken.csv"),
        (&["convert", "small", "out.fbx"], ".fbx"),
        (&["convert", "small", "out.pc2"], "--take"),
    ];
    for (args, wanted) in cases {
        let error = fail(path, args);
        assert!(error.contains(wanted), "{args:?}: {error}");
    }
    assert_eq!(listing(path), before);
}

#[test]
fn heads_differ_by_seed_and_dial_and_are_the_same_bytes_again() {
    let folder = tempfile::tempdir().unwrap();
    let head = |name: &str, more: &[&str]| {
        succeed(folder.path(), &[&["head", "-o", name, "--level", "3.5k"], more].concat());
        std::fs::read(folder.path().join(name)).unwrap()
    };
    let first = head("a.glb", &["--seed", "7"]);
    assert_eq!(first, head("b.glb", &["--seed", "7"]));
    assert_ne!(first, head("c.glb", &["--seed", "8"]));
    assert_ne!(first, head("d.glb", &["--seed", "7", "--dial", "jaw_width=0.9"]));
    let info = report(folder.path(), &["info", "a.glb"]);
    assert_eq!(info["arkit"]["count"], 52);
    assert_eq!(info["problems"], serde_json::json!([]));
    head("bones.glb", &["--with-anatomy"]);
    let bones = report(folder.path(), &["info", "bones.glb"]);
    let names: Vec<&str> =
        bones["meshes"].as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
    assert!(names.contains(&"mandible") && names.contains(&"skull_wrap"), "{names:?}");
    assert_eq!(bones["skin"], "skin");
    let dials = succeed(folder.path(), &["head", "--list-dials"]);
    assert!(dials.lines().count() >= 24, "{dials}");
    let error = fail(folder.path(), &["head", "-o", "e.glb", "--dial", "horns=1"]);
    assert!(error.contains("horns"), "{error}");
}

#[test]
fn bones_are_fitted_into_a_rig_and_written_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["head", "-o", "someone.glb", "--seed", "9", "--level", "3.5k"]);
    let message = [
        "anatomy",
        "someone.glb",
        "--glb",
        "bones.glb",
        "--fat",
        "-0.3",
        "--report",
        "page",
        "-o",
        "head.safetensors",
    ];
    let fitted = report(folder.path(), &message);
    assert!(fitted["registration_mm"]["mean"].as_f64().unwrap() < 0.3, "{fitted}");
    assert_eq!(fitted["inverted"]["fill"], 0);
    assert_eq!(fitted["penetrating"], 0);
    assert!((fitted["fat"].as_f64().unwrap() + 0.3).abs() < 1e-3, "{fitted}");
    let motions = fitted["jaw"].as_array().unwrap();
    let open = motions.iter().find(|motion| motion["shape"] == "jawOpen").unwrap();
    // The dials of this head bend the motion of its teeth by more than a bone would allow, so that the chin shows it.
    assert_eq!(open["source"], "chin");
    assert!((10.0..30.0).contains(&open["degrees"].as_f64().unwrap()), "{fitted}");
    assert!(std::fs::read_to_string(folder.path().join("page/report.html")).unwrap().contains("image/png"));
    let face = FaceModel::read(&folder.path().join("head.safetensors"), &Limits::default()).unwrap();
    assert_eq!(face.inside.bone_source, BoneSource::Fitted);
    assert!(TissueVolume::of_face(&face).is_some_and(|volume| volume.mesh.tets.len() > 30_000));
    // The rig's own texture is still there.
    let written = std::fs::read(folder.path().join("bones.glb")).unwrap();
    assert!(written.windows(9).any(|bytes| bytes == b"image/png"));
    let bones = report(folder.path(), &["info", "bones.glb"]);
    let names: Vec<&str> =
        bones["meshes"].as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
    assert!(names.contains(&"cranium") && names.contains(&"mandible"), "{names:?}");
    assert_eq!(bones["arkit"]["count"], 52);
    std::fs::write(folder.path().join("marks.txt"), "36 99999999\n").unwrap();
    let error = fail(folder.path(), &["anatomy", "someone.glb", "--landmarks", "marks.txt"]);
    assert!(error.contains("marks.txt") && error.contains("vertex 99999999"), "{error}");
    let output = zygoma(folder.path(), &["anatomy", "someone.glb", "--mesh", "eye_left"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("no head was found"), "{error}");
}

#[test]
fn the_demo_leaves_an_animated_head_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    succeed(folder.path(), &["demo", "-o", "out"]);
    let info = report(folder.path(), &["info", "out/head.glb"]);
    assert!(info["takes"][0]["duration"].as_f64().unwrap() > 5.0);
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("data:image/png;base64,"));
}

#[test]
fn wrong_usage_exits_with_two() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["frobnicate"][..], &["convert", "a"], &["convert", "a", "b.glb", "--fps", "0"]] {
        assert_eq!(zygoma(folder.path(), args).status.code(), Some(2), "{args:?}");
    }
}

/// A long export is stopped half-way, as by Ctrl-C.
#[cfg(unix)]
#[test]
fn an_interrupted_export_leaves_nothing_behind() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    small_take(folder.path());
    let before = listing(folder.path());
    let args = ["convert", "small", "out.usda", "--take", "take.csv", "--fps", "100000"];
    let mut export = Command::new(env!("CARGO_BIN_EXE_zygoma"))
        .args(args)
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while listing(folder.path()) == before && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_ne!(listing(folder.path()), before, "the export has begun");
    Command::new("kill").args(["-INT", &export.id().to_string()]).status().unwrap();
    assert_eq!(export.wait().unwrap().code(), Some(130));
    assert_eq!(listing(folder.path()), before);
}

#[test]
fn help_has_examples_and_completions_exist() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["info", "convert", "head", "build", "simulate", "demo", "bench", "completions"] {
        let help = succeed(folder.path(), &[command, "--help"]);
        assert!(help.contains("Example"), "{command} --help shows no example");
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(succeed(folder.path(), &["completions", shell]).contains("zygoma"));
    }
}

#[test]
fn bench_reports_machine_build_and_references() {
    let folder = tempfile::tempdir().unwrap();
    small_rig(folder.path());
    let report = report(folder.path(), &["bench", "rig", "--rig", "small"]);
    assert!(report["machine"]["threads"].as_u64().unwrap() >= 1);
    for result in report["results"].as_array().unwrap() {
        assert!(result["median_ms"].as_f64().unwrap() > 0.0);
        assert!(result["reference"]["ratio"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_table_of_a_page_is_replaced_and_its_words_stay() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bodies.json"), r#"{ "results": [] }"#).unwrap();
    std::fs::write(folder.path().join("rigs.md"), "# Rigs\n\nWords.\n").unwrap();
    let page = || std::fs::read_to_string(folder.path().join("rigs.md")).unwrap();
    let write =
        || succeed(folder.path(), &["bench", "bodies", "--from", "bodies.json", "--table", "rigs.md"]);
    write();
    let once = page();
    assert!(once.starts_with("# Rigs\n\nWords.\n") && once.contains("| rig | body |"), "{once}");
    write();
    assert_eq!(page(), once);
}
