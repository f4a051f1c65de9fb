//! Expressions carried from one face to another.

use crate::support::{fail, report, succeed};

/// The built-in head at two levels of detail: its shapes go over by the skin, a take through the anatomy.
#[test]
fn shapes_and_takes_are_carried_to_another_mesh() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeed(path, &["head", "-o", "fine.glb", "--level", "7k"]);
    succeed(path, &["head", "-o", "coarse.glb", "--level", "3.5k"]);
    let shapes = ["retarget", "fine.glb", "coarse.glb", "-o", "out.glb", "--method", "dt"];
    let message = report(path, &shapes);
    assert_eq!((&message["method"], &message["expressions"]), (&"dt".into(), &52.into()));
    assert!(message["registration_mm"]["target"]["mean"].as_f64().expect("a figure") < 0.5, "{message}");
    let (before, after) = (report(path, &["info", "coarse.glb"]), report(path, &["info", "out.glb"]));
    assert_eq!(before["meshes"].as_array().map(Vec::len), after["meshes"].as_array().map(Vec::len));

    let take = ["retarget", "fine.glb", "coarse.glb", "-o", "out.pc2", "--take", "speech", "--fps", "0.5"];
    let message = report(path, &take);
    assert_eq!((&message["method"], &message["lip_crossings"]["after"]), (&"adt".into(), &0.into()));
    // A few tetrahedra behind the lips may invert (docs/retarget.md); they must be counted.
    assert!(message["inverted"].is_u64(), "{message}");
    assert!(path.join("out.pc2").exists());
}

#[test]
fn what_cannot_be_carried_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    crate::support::small_rig(path);
    let message = fail(path, &["retarget", "small", "small", "-o", "out.glb"]);
    assert!(message.contains("small"), "{message}");
    let message = fail(path, &["retarget", "small", "small", "-o", "out.pc2"]);
    assert!(message.contains("--take"), "{message}");
    assert!(!path.join("out.glb").exists() && !path.join("out.pc2").exists());
}

/// Examples of the target, here its own shapes in a file, go through patches and anatomy; those of another mesh are refused.
#[test]
fn examples_of_the_target_are_learnt_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    succeed(path, &["head", "-o", "face.glb", "--level", "7k"]);
    succeed(path, &["head", "-o", "coarse.glb", "--level", "3.5k"]);
    let take = ["retarget", "face.glb", "coarse.glb", "-o", "out.pc2", "--take", "speech", "--fps", "0.5"];
    let message = report(path, &[&take[..], &["--examples", "coarse.glb"]].concat());
    assert_eq!((&message["method"], &message["patches"]), (&"anacondar".into(), &80.into()));
    assert_eq!(message["examples"], 52);
    let missing = message["missing_mm"]["worst"].as_f64().expect("a figure");
    assert!(missing > 0.0 && missing < 20.0, "{message}");
    let message = fail(path, &[&take[..], &["--examples", "face.glb"]].concat());
    assert!(message.contains("face.glb") && message.contains("vertices"), "{message}");
    let message = fail(path, &[&take[..], &["--method", "patches"]].concat());
    assert!(message.contains("needs examples"), "{message}");
}
