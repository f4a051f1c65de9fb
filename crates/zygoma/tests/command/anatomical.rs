//! Anatomical faces: corrected takes, dials, and faces from tracked points.

use crate::support::{fail, report, succeed, zygoma};

/// The built-in head with its anatomy, at two frames a second: a corrected take, and the same from points of it.
#[test]
fn a_take_is_corrected_and_followed_from_points() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeed(path, &["head", "-o", "head.glb", "--level", "3.5k"]);
    let args = ["simulate", "head.glb", "--body", "anatomical", "--fps", "2", "-o", "out.pc2"];
    let message = report(path, &[&args[..], &["--take", "speech"]].concat());
    assert_eq!(message["body"], "anatomical");
    let volume = &message["volume"];
    let [changed, plain] = ["mean_change", "plain"].map(|name| volume[name].as_f64().expect("a figure"));
    assert!(changed > 0.0 && changed < 0.5 * plain, "{volume}");
    assert_eq!(message["lip_crossings"], 0);
    assert!(message["deviation"]["mean_mm"].as_f64().expect("a figure") < 1.0, "{}", message["deviation"]);
    assert!(message["jaw"]["degrees"].as_f64().expect("a figure") > 2.0, "{}", message["jaw"]);
    assert!(message["miss_mm"].is_null() && message["tissue_ml"]["soft"].as_f64().expect("a figure") > 50.0);

    let points = ["landmarks", "head.glb", "--take", "speech", "--fps", "2", "-o", "points.csv"];
    assert_eq!(report(path, &points)["points"], 150);
    let followed = report(path, &[&args[..], &["--markers", "points.csv"]].concat());
    assert!(followed["miss_mm"]["mean"].as_f64().expect("a figure") < 1.0, "{}", followed["miss_mm"]);
    assert_eq!(followed["regulariser"], "the rig's own shapes");

    // Points of another person, whose head moves.
    succeed(path, &["head", "-o", "other.glb", "--seed", "7", "--level", "3.5k"]);
    let points =
        ["landmarks", "other.glb", "--take", "speech", "--fps", "2", "--set", "ict68", "-o", "other.csv"];
    assert_eq!(report(path, &points)["points"], 68);
    let tracked = ["--markers", "other.csv", "--set", "ict68", "--take-out", "weights.csv"];
    let followed = report(path, &[&args[..], &tracked].concat());
    assert_eq!(followed["landmarks"]["used"], 68, "{}", followed["landmarks"]);
    assert!(followed["miss_mm"]["mean"].as_f64().expect("a figure") < 1.5, "{}", followed["miss_mm"]);
    assert!(followed["jaw"]["degrees"].as_f64().expect("a figure") > 2.0, "{}", followed["jaw"]);
    let weights = std::fs::read_to_string(path.join("weights.csv")).expect("the weights");
    assert!(weights.starts_with("time,") && weights.contains("jawOpen"), "{weights}");
    let message = fail(path, &[&args[..], &["--markers", "points.csv", "--set", "ict68"]].concat());
    assert!(message.contains("points.csv") && message.contains("p0 to p67"), "{message}");
}

#[test]
fn dials_and_flags_that_do_not_fit_are_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeed(path, &["head", "-o", "head.glb", "--level", "3.5k"]);
    let correct = |dial: &str| fail(path, &["correct", "head.glb", "-o", "out.glb", "--dial", dial]);
    assert!(correct("fat").contains("NAME=VALUE"));
    assert!(correct("fatness=1").contains("there is no dial 'fatness'"));
    assert!(correct("fat=3").contains("fat is 3"));
    assert!(correct("palsy=0.8").contains("left:0.8"));
    assert!(correct("fat=0.4@cheek-left").contains("cheek-left:20"));
    assert!(correct("jaw.y=1.1@chin:10").contains("one value for the whole face"));
    let mask = ["correct", "head.glb", "-o", "out.glb", "--mask", "fat=cheeks.png"];
    assert!(fail(path, &mask).contains("add --dial fat=VALUE"));
    let message = fail(path, &["correct", "head.glb", "-o", "out.pc2"]);
    assert!(message.contains(".glb"), "{message}");
    let simulate = ["simulate", "head.glb", "--take", "speech", "-o", "out.pc2", "--dial", "fat=0.1"];
    assert!(fail(path, &simulate).contains("add --body anatomical"));
    assert!(!path.join("out.glb").exists());
}

/// A rig without a head has no bones.
#[test]
fn a_creature_has_no_anatomy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    crate::support::small_rig(path);
    let output = zygoma(path, &["correct", "small", "-o", "out.glb"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!path.join("out.glb").exists());
}

/// In strong wind skin moves by millimetres, and no part of the face is put back to the rig.
#[test]
fn a_face_speaks_in_strong_wind() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeed(path, &["head", "-o", "head.glb", "--level", "3.5k"]);
    let args =
        ["simulate", "head.glb", "--body", "anatomical", "--fps", "2", "-o", "out.pc2", "--take", "speech"];
    let message = report(path, &[&args[..], &["--dial", "wind=0,0,-40"]].concat());
    let figure = |name: &str| message[name].as_f64().expect("a figure");
    assert!(figure("returned_percent") < 2.0, "{message}");
    assert_eq!(message["lip_crossings"], 0, "{message}");
    let mean = message["deviation"]["mean_mm"].as_f64().expect("a figure");
    assert!((0.5..6.0).contains(&mean), "{mean}");
    // Nor is palsied skin, which stays a centimetre behind in a blink.
    std::fs::write(path.join("blink.csv"), "time,eyeBlinkLeft,eyeBlinkRight\n0,0,0\n0.5,1,1\n")
        .expect("a take");
    let args = [
        "simulate",
        "head.glb",
        "--body",
        "anatomical",
        "--fps",
        "6",
        "-o",
        "out.pc2",
        "--take",
        "blink.csv",
    ];
    let message = report(path, &[&args[..], &["--dial", "palsy=left:1"]].concat());
    let returned = message["returned_percent"].as_f64().expect("a figure");
    assert!(returned < 0.5, "{message}");
    assert!(message["deviation"]["worst_mm"].as_f64().expect("a figure") > 5.0, "{}", message["deviation"]);
}

/// Columns and rows of an array of a safetensors file.
fn rows(file: &std::path::Path, name: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(file).expect("a file");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).expect("a header");
    let entry = &header[format!("samples.{name}")];
    let number = |value: &serde_json::Value| value.as_u64().expect("a number") as usize;
    let [from, to] = [0, 1].map(|k| 8 + length + number(&entry["data_offsets"][k]));
    bytes[from..to].chunks_exact(4 * number(&entry["shape"][1])).map(<[u8]>::to_vec).collect()
}

/// Samples of three people: one for each split, which have nothing in common.
#[test]
fn samples_go_on_where_they_were_and_splits_have_nothing_in_common() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let args =
        ["samples", "-o", "samples", "--level", "3.5k", "--frames", "2", "--spread", "3", "--dials", "0.1"];
    let list = report(path, &[&args[..], &["--people", "1"]].concat());
    assert_eq!(list["people"][0]["split"], "train");
    let file = |number: usize| path.join(format!("samples/person-{number:05}.safetensors"));
    let first = std::fs::metadata(file(0)).and_then(|found| found.modified()).expect("a time");
    let list = report(path, &[&args[..], &["--people", "3"]].concat());
    assert_eq!(std::fs::metadata(file(0)).and_then(|found| found.modified()).expect("a time"), first);
    let splits: Vec<&str> = (0..3).filter_map(|k| list["people"][k]["split"].as_str()).collect();
    assert_eq!(splits, ["train", "validation", "test"]);
    for name in ["weights", "parameters"] {
        let all: Vec<Vec<u8>> = (0..3).flat_map(|number| rows(&file(number), name)).collect();
        let mut own = all.clone();
        own.sort();
        own.dedup();
        assert!(own.len() == all.len() && all.len() >= 5, "{name}: {} of {}", own.len(), all.len());
    }
    let solved: u64 = list["thirds"]["fat"]["all"]
        .as_array()
        .expect("thirds")
        .iter()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert_eq!(solved, 6, "{}", list["thirds"]);
    let message = fail(path, &[&args[..], &["--people", "4", "--seed", "2"]].concat());
    assert!(message.contains("other settings"), "{message}");
}
