//! Faces made of flesh, from rig to file.

use std::fmt::Write;

use crate::support::{fail, report, small_rig, small_take, succeed};

#[test]
fn flesh_of_a_rig_without_bones_performs_with_painted_thickness_and_free_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    small_rig(path);
    small_take(path);
    let perform =
        ["perform", "small", "--take", "take.csv", "--triangles", "300", "--fps", "10", "-o", "out.pc2"];
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
    for (rig, bones) in [("head.glb", "built-in"), ("other.glb", "rig"), ("boneless.glb", "none")] {
        let told = report(
            path,
            &["perform", rig, "--take", "take.csv", "--triangles", "500", "--fps", "4", "-o", "out.pc2"],
        );
        assert_eq!(told["bones"], bones, "{told}");
        assert_eq!(told["free_parts"], serde_json::json!([]), "human ears are not that long");
    }
}
