//! Faces that perform and are touched, from rig to file.

use std::path::Path;

use serde_json::Value;
use zygoma_rig::formats::{Limits, caches, read_rig};

use crate::support::{fail, listing, report, small_rig, small_take, succeed, zygoma_with_cache};

/// A folder with the small rig, its take and a face built from it.
fn built() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    small_rig(folder.path());
    small_take(folder.path());
    succeed(folder.path(), &["build", "small", "-o", "face.safetensors", "--triangles", "300"]);
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}

const SIMULATE: [&str; 4] = ["simulate", "face.safetensors", "--take", "take.csv"];

#[test]
fn a_face_is_the_same_bytes_again_and_performs_in_every_format() {
    let folder = built();
    let path = folder.path();
    succeed(path, &["build", "small", "-o", "again.safetensors", "--triangles", "300"]);
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert_eq!(bytes("face.safetensors"), bytes("again.safetensors"), "the same input gives the same bytes");
    for out in ["out.pc2", "out.mdd", "out.usda", "out.glb", "frames"] {
        let summary = report(path, &[&SIMULATE[..], &["--fps", "10", "-o", out]].concat());
        assert_eq!((summary["frames"].as_u64(), summary["touches"].as_u64()), (Some(11), Some(0)), "{out}");
        assert_eq!(summary["unmatched"], serde_json::json!(["TongueOut"]));
        let untouched = &summary["untouched_deviation"];
        assert!(untouched["worst_percent"].as_f64().unwrap() < 3.0, "{summary}");
        for field in ["worst_mm", "mean_percent", "mean_mm", "seconds", "vertex"] {
            assert!(untouched[field].is_number(), "{field}: {summary}");
        }
        for stage in ["rig", "gradient", "solve", "contact", "warp"] {
            assert!(summary["stages_ms"][stage].as_f64().unwrap() >= 0.0, "{stage}: {summary}");
        }
        assert!(summary["milliseconds_per_frame"].as_f64().unwrap() > 0.0);
        assert_eq!(summary["penetration_mm"], 0.0);
    }
    assert_eq!(bytes("out.pc2").len(), 32 + 11 * 441 * 12);
    assert_eq!(listing(&path.join("frames")).len(), 11);
    let info = report(path, &["info", "out.glb"]);
    assert_eq!(info["meshes"][0]["vertices"], 441);
    let usda = std::fs::read_to_string(path.join("out.usda")).unwrap();
    assert!(usda.contains("faceVertexCounts = [4, 4, 4"), "quads stay quads");
}

#[test]
fn a_touched_face_is_dented_where_it_is_pressed_and_comes_back() {
    let folder = built();
    let path = folder.path();
    write(path, "still.csv", "time,jawOpen\n0,0\n3,0\n");
    write(
        path,
        "poke.toml",
        "[[push]]\nat = [0, 40, 48]\nfrom = 0.2\nto = 1.0\ndepth = 6\nradius = 12\n\n[[pull]]\nat = \"chin\"\nfrom = 0.2\nto = 1.0\nby = [0, 0, 6]\n",
    );
    let args = [
        "simulate",
        "face.safetensors",
        "--take",
        "still.csv",
        "--touch",
        "poke.toml",
        "-o",
        "out.pc2",
        "--fps",
        "30",
    ];
    let summary = report(path, &args);
    assert_eq!(summary["touches"], 2);
    assert!(summary["deviation"]["worst_mm"].as_f64().unwrap() > 4.0, "{summary}");
    assert!(summary["untouched_deviation"]["worst_mm"].as_f64().unwrap() < 0.5, "{summary}");
    assert!(summary["penetration_percent"].as_f64().unwrap() < 1.0, "{summary}");
    let cache = caches::read_pc2(&path.join("out.pc2"), &Limits::default()).unwrap();
    let rig = read_rig(&path.join("small"), &Limits::default()).unwrap();
    let neutral = &rig.skin().positions;
    let moved = |frame: usize| -> Vec<f32> {
        let positions = &cache.positions[frame * 441..][..441];
        positions.iter().zip(neutral).map(|(a, b)| a.distance(*b)).collect()
    };
    // Vertex 10 + 14 · 21 is at (0, 0.04).
    let pressed = moved(18);
    assert!(pressed[10 + 14 * 21] > 0.004, "{}", pressed[10 + 14 * 21]);
    assert!(pressed[0] < 1e-4 && pressed[20] < 1e-4, "corners stay");
    assert!(moved(90).iter().all(|distance| *distance < 2e-4), "it comes back");
}

#[test]
fn caches_are_in_metres_with_or_without_the_rig() {
    let folder = built();
    let path = folder.path();
    // The same rig in centimetres.
    std::fs::create_dir(path.join("centimetres")).unwrap();
    for name in listing(&path.join("small")) {
        let text = std::fs::read_to_string(path.join("small").join(&name)).unwrap();
        let scaled = text.lines().map(|line| match line.strip_prefix("v ") {
            None => line.to_owned(),
            Some(numbers) => {
                let numbers = numbers.split(' ').map(|n| format!("{}", 100.0 * n.parse::<f64>().unwrap()));
                format!("v {}", numbers.collect::<Vec<_>>().join(" "))
            }
        });
        write(&path.join("centimetres"), &name, &scaled.collect::<Vec<_>>().join("\n"));
    }
    succeed(path, &["build", "centimetres", "-o", "cm.safetensors", "--triangles", "300"]);
    let args = ["simulate", "cm.safetensors", "--take", "take.csv", "--fps", "10", "-o"];
    succeed(path, &[&args[..], &["with.pc2"]].concat());
    succeed(path, &["convert", "centimetres", "plain.pc2", "--take", "take.csv", "--fps", "10"]);
    std::fs::rename(path.join("centimetres"), path.join("moved")).unwrap();
    succeed(path, &[&args[..], &["without.pc2"]].concat());
    let read = |name: &str| caches::read_pc2(&path.join(name), &Limits::default()).unwrap().positions;
    let (with, without, plain) = (read("with.pc2"), read("without.pc2"), read("plain.pc2"));
    for (a, b) in with.iter().zip(&without) {
        assert!(a.distance(*b) < 1e-6, "the face knows its vertices: {a}, {b}");
    }
    for (a, b) in with.iter().zip(&plain) {
        assert!(a.distance(*b) < 0.006, "near the plain rig: {a}, {b}");
    }
    assert!(with.iter().all(|p| p.length() < 0.3), "a file in centimetres gives a cache in metres");
    let error = fail(path, &[&args[..], &["out.glb"]].concat());
    assert!(error.contains("centimetres") && error.contains("--rig"), "{error}");
    succeed(path, &[&args[..], &["out.glb", "--rig", "moved"]].concat());
}

#[test]
fn the_heads_motion_is_written_as_convert_writes_it() {
    let folder = built();
    let path = folder.path();
    let args = ["--take", "shake", "--fps", "20", "--head-motion"];
    succeed(path, &[&["simulate", "face.safetensors", "-o", "simulated.pc2"], &args[..]].concat());
    succeed(path, &[&["convert", "small", "plain.pc2"], &args[..]].concat());
    let read = |name: &str| caches::read_pc2(&path.join(name), &Limits::default()).unwrap().positions;
    let (simulated, plain) = (read("simulated.pc2"), read("plain.pc2"));
    let most = |pairs: &mut dyn Iterator<Item = f32>| pairs.fold(0.0, f32::max);
    let off = most(&mut simulated.iter().zip(&plain).map(|(a, b)| a.distance(*b)));
    let turned =
        most(&mut plain.iter().zip(plain.iter().cycle().skip(441 * 20)).map(|(a, b)| a.distance(*b)));
    assert!(turned > 0.02 && off < 0.02, "turned by {turned}, off by {off}");
}

#[test]
fn mistakes_get_one_sentence_and_leave_nothing_behind() {
    let folder = built();
    let path = folder.path();
    std::fs::create_dir(path.join("other")).unwrap();
    for name in listing(&path.join("small")) {
        let text = std::fs::read_to_string(path.join("small").join(&name)).unwrap();
        write(&path.join("other"), &name, &text.replace("v 0.100000", "v 0.110000"));
    }
    write(path, "typo.toml", "[[push]]\nat = \"chinn\"\nfrom = 0\nto = 1\ndepth = 4\n");
    write(path, "params.toml", "gravity = [0, 0, 0]\nstifness_scale = 2\n");
    std::fs::write(path.join("broken.safetensors"), b"\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
    let before = listing(path);
    let cases: [(&[&str], &[&str]); 8] = [
        (&["-o", "out.fbx"], &["out.fbx", ".fbx"]),
        (&["-o", "out.glb", "--rig", "other"], &["other", "not the rig", "face.safetensors"]),
        (&["-o", "out.glb", "--rig", "nowhere.glb"], &["nowhere.glb"]),
        (&["-o", "out.pc2", "--touch", "typo.toml"], &["typo.toml", "line 2", "'chinn'", "'chin'"]),
        (&["-o", "out.pc2", "--touch", "none.toml"], &["none.toml"]),
        (&["-o", "out.pc2", "--params", "params.toml"], &["params.toml", "line 2", "stifness_scale"]),
        (&["-o", "out.pc2", "--params", "none.toml"], &["none.toml"]),
        (&["-o", "out.pc2", "--report", "take.csv"], &["take.csv"]),
    ];
    for (more, wanted) in cases {
        let error = fail(path, &[&SIMULATE[..], more].concat());
        assert!(wanted.iter().all(|word| error.contains(word)), "{more:?}: {error}");
    }
    let error = fail(path, &["simulate", "face.safetensors", "--take", "waltz", "-o", "out.pc2"]);
    assert!(error.contains("waltz") && error.contains("'tour'"), "{error}");
    let error = fail(path, &["simulate", "broken.safetensors", "--take", "take.csv", "-o", "x.pc2"]);
    assert!(error.contains("broken.safetensors"), "{error}");
    let error = fail(path, &["simulate", "take.csv", "--take", "take.csv", "-o", "x.pc2"]);
    assert!(error.contains("take.csv"), "{error}");
    assert_eq!(listing(path), before);
}

#[test]
fn a_build_takes_parameters_and_poses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    small_take(path);
    write(path, "params.toml", "triangles = 200\n\n[fit]\nmax_iterations = 3\n");
    let build = ["build", "small", "-o", "face.safetensors", "--take", "take.csv", "--params", "params.toml"];
    let coarse = report(path, &build);
    let iterations = |summary: &Value| summary["iterations"].as_u64().unwrap();
    let free = report(path, &["build", "small", "-o", "face.safetensors", "--triangles", "200"]);
    assert!(iterations(&coarse) < iterations(&free), "{coarse} {free}");
    assert!(coarse["certificate"]["shapes"]["count"].as_u64().unwrap() == 4 && coarse["missed"].is_array());
    let fine = report(path, &[&build[..], &["--triangles", "400"]].concat());
    let triangles = |summary: &Value| summary["shell_triangles"].as_u64().unwrap();
    assert!(triangles(&coarse) < 260 && triangles(&fine) > 300, "a flag has the last word");
    write(path, "params.toml", "triangels = 200\n");
    let error = fail(path, &build);
    assert!(error.contains("params.toml: line 1") && error.contains("triangels"), "{error}");
    let error = fail(path, &["build", "small", "-o", "face.safetensors", "--take", "none.csv"]);
    assert!(error.contains("none.csv"), "{error}");
}

#[test]
fn reports_show_fields_curves_and_touches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    small_rig(path);
    small_take(path);
    succeed(path, &["build", "small", "-o", "face.safetensors", "--triangles", "300", "--report", "built"]);
    let page = std::fs::read_to_string(path.join("built/report.html")).unwrap();
    for wanted in
        ["Stiffness", "Largest depth", "Shapes", "cheekPuff", "Convergence", "Time", "<svg", "data:image/png"]
    {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    write(
        path,
        "poke.toml",
        "[[push]]\nname = \"a <poke>\"\nat = \"forehead\"\nfrom = 0.2\nto = 0.8\ndepth = 5\n",
    );
    let args =
        [&SIMULATE[..], &["-o", "out.pc2", "--touch", "poke.toml", "--fps", "20", "--report", "shown"]]
            .concat();
    succeed(path, &args);
    let page = std::fs::read_to_string(path.join("shown/report.html")).unwrap();
    for wanted in ["Colliders", "Deviation", "Key frames", "untouched, the shell deviates from the rig by"] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
}

#[test]
fn info_tells_what_a_face_is_and_where_its_places_are() {
    let folder = built();
    let face = report(folder.path(), &["info", "face.safetensors"]);
    assert_eq!((face["vertices"].as_u64(), face["rig"].as_str()), (Some(441), Some("small")));
    let places = face["places"].as_array().unwrap();
    let place = |name: &str| {
        let place = places.iter().find(|place| place["name"] == name).unwrap();
        [0, 1, 2].map(|axis| place["position_mm"][axis].as_f64().unwrap())
    };
    assert!(place("cheek-left")[0] > 10.0 && place("cheek-right")[0] < -10.0);
    assert!(place("forehead")[1] > place("chin")[1]);
    let words = succeed(folder.path(), &["info", "face.safetensors"]);
    assert!(words.contains("certified") && words.contains("nose-tip"), "{words}");
}

#[test]
fn words_and_json_say_the_same() {
    let folder = built();
    let path = folder.path();
    let words = succeed(path, &[&SIMULATE[..], &["-o", "out.pc2", "--fps", "10"]].concat());
    let summary: Value = report(path, &[&SIMULATE[..], &["-o", "out.pc2", "--fps", "10"]].concat());
    let worst = format!("{:.3} % of the height", summary["deviation"]["worst_percent"].as_f64().unwrap());
    assert!(words.contains(&worst), "{words} should say {worst}");
}

#[test]
fn a_face_is_built_for_the_bodies_that_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    small_rig(path);
    small_take(path);
    write(path, "poke.toml", "[[push]]\nat = \"chin\"\nfrom = 0.2\nto = 0.8\ndepth = 2\n");
    let built =
        report(path, &["build", "small", "-o", "small.face", "--triangles", "300", "--for", "tissue"]);
    assert_eq!(built["bodies"], serde_json::json!(["tissue"]), "{built}");
    let simulate = ["simulate", "small.face", "--take", "take.csv", "--fps", "5", "-o", "out.pc2"];
    let with = |more: &[&'static str]| [&simulate[..], more].concat();
    assert_eq!(
        report(path, &with(&[]))["body"],
        "tissue",
        "a face has any name, and the body that it was built for"
    );
    assert!(fail(path, &with(&["--body", "shell"])).contains("zygoma build RIG --for shell"));
    let rig = report(path, &with(&["--body", "rig"]));
    assert!(rig["deviation"]["worst_mm"].as_f64().unwrap() < 1e-3, "{rig}");
    assert!(fail(path, &with(&["--body", "rig", "--touch", "poke.toml"])).contains("cannot be touched"));
    assert!(fail(path, &with(&["--body", "rig", "--sticky"])).contains("--body tissue"));
}

/// Tissue that was solved before comes from the cache, and gives the same bytes.
#[test]
fn solved_tissue_is_kept_for_the_next_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    small_rig(path);
    small_take(path);
    let frames = |more: &[&str]| {
        let args =
            ["simulate", "small", "--take", "take.csv", "--triangles", "300", "--fps", "5", "-o", "out.pc2"];
        let output = zygoma_with_cache(path, &[&args[..], more].concat(), &path.join("cache"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(path.join("out.pc2")).unwrap()
    };
    let kept = || listing(&path.join("cache/faces")).len();
    let first = frames(&["--no-cache"]);
    assert!(!path.join("cache").exists(), "nothing is kept");
    assert_eq!(frames(&[]), first);
    assert_eq!(kept(), 1);
    assert_eq!(frames(&[]), first, "from the cache");
    assert_eq!(kept(), 1);
}

/// A rig that is no head gets one layer of tissue; with a still head it is the artist's own, and with a moving one it swings.
#[test]
fn an_enriched_rig_is_exact_while_its_head_is_still() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    small_rig(path);
    small_take(path);
    succeed(path, &["build", "small", "--for", "enriched", "-o", "face.safetensors", "--triangles", "300"]);
    let args = ["simulate", "face.safetensors", "--take", "take.csv", "--fps", "10", "-o", "out.pc2"];
    let still = report(path, &[&args[..], &["--still-head"]].concat());
    assert_eq!((&still["body"], &still["still_deviation_mm"]), (&"enriched".into(), &0.0.into()), "{still}");
    assert_eq!(still["bones"], "none");
    let shaken = ["simulate", "face.safetensors", "--take", "shake", "--fps", "10", "-o", "out.pc2"];
    let moving = report(path, &shaken);
    assert!(moving["still_deviation_mm"].is_null(), "{moving}");
    assert!(moving["displacement_mm"]["max"].as_f64().unwrap() > 0.05, "{moving}");
    assert_eq!(moving["rest"]["inverted_left"], 0);
    let number = |value: &Value| value.as_f64().expect("a number");
    for stage in ["dynamic", "static", "rest", "contact"] {
        let [quiet, busy] = [&still, &moving].map(|report| number(&report["step_ms"][stage]));
        assert!(busy >= 0.0 && (stage != "dynamic" || busy > quiet), "{stage}: {quiet} and {busy} ms");
    }
    let moved = &moving["displacement_mm"];
    let [cheek, p95, most] = [&moved["by_place"]["cheek-left"], &moved["p95"], &moved["max"]].map(number);
    assert!(cheek > 0.0 && cheek <= most && p95 <= most, "{moving}");
    let naive = report(path, &[&args[..], &["--still-head", "--rebalance", "0"]].concat());
    assert!(naive["still_deviation_mm"].as_f64().unwrap() > 1e-3, "{naive}");
    let message = fail(path, &[&args[..], &["--body", "shell", "--rebalance", "0"]].concat());
    assert!(message.contains("add --body enriched"), "{message}");
    let message = fail(path, &[&args[..], &["--rebalance", "2"]].concat());
    assert!(message.contains("rebalance is 2"), "{message}");
    write(path, "poke.toml", "[[push]]\nat = \"cheek-left\"\nfrom = 0.1\nto = 0.9\ndepth = 3\nradius = 9\n");
    paint_and_edit(path);
    let touched = report(path, &[&args[..], &["--still-head", "--touch", "poke.toml"]].concat());
    assert!(touched["displacement_mm"]["max"].as_f64().unwrap() > 1.0, "{touched}");
}

/// Materials by place make a face swing less, and an edited take is simulated only where it has changed.
fn paint_and_edit(path: &Path) {
    // Held so firmly that the layer itself has to swing.
    write(path, "layer.toml", "thickness = 0.01\nattachment = 2e6\nfirm_mu = 3000\n");
    let swing = |more: &[&str]| report(path, &shaken(more));
    let largest = |message: &serde_json::Value| message["displacement_mm"]["max"].as_f64().expect("a length");
    let plain = swing(&["--record", "old.safetensors"]);
    assert_eq!(plain["copied_frames"], 0);
    let frames = std::fs::read(path.join("out.pc2")).expect("frames");
    std::fs::create_dir(path.join("paint")).expect("a folder");
    let spot = "[[material]]\nshape = \"neutral\"\nat = \"chin\"\nradius = 2000\nmu = 50\n";
    write(path, "paint/materials.toml", spot);
    let painted = swing(&["--materials", "paint"]);
    assert!(largest(&painted) < 0.5 * largest(&plain), "{painted}");
    write(path, "paint/materials.toml", &spot.replace("chin", "tail"));
    assert!(fail(path, &shaken(&["--materials", "paint"])).contains("there is no place 'tail'"));
    write(path, "paint/materials.toml", &spot.replace("neutral", "wink"));
    assert!(fail(path, &shaken(&["--materials", "paint"])).contains("no shape 'wink'"));
    // Nothing has changed.
    let same = swing(&["--edit-of", "old.safetensors"]);
    assert_eq!(same["copied_frames"], same["frames"], "{same}");
    assert_eq!(std::fs::read(path.join("out.pc2")).expect("frames"), frames);
    let other = fail(path, &shaken(&["--edit-of", "old.safetensors", "--rebalance", "0.5"]));
    assert!(other.contains("recorded of another face, with other parameters"), "{other}");
}

fn shaken<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let args = ["simulate", "face.safetensors", "--params", "layer.toml", "--take", "shake"];
    [&args[..], &["--anatomy", "none", "--fps", "30", "-o", "out.pc2"], more].concat()
}
