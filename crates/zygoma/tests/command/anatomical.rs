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
