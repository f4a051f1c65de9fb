//! Hands that touch a face, from a recorded take and from a script.

use std::fmt::Write;
use std::path::Path;

use zygoma_hand::{Extent, Gesture, HandFrame, HandTake, Side, Spot};
use zygoma_rig::formats::caches;
use zygoma_rig::frames::StoredFrames;

use crate::support::{fail, report, small_rig, succeed};

const RATE: f64 = 30.0;

/// A folder with a face, a still take, and a hand that pokes and one that pulls, as a take and as a script.
fn built(folder: &Path) {
    small_rig(folder);
    succeed(
        folder,
        &["build", "small", "-o", "face.safetensors", "--triangles", "300", "--for", "shell,tissue"],
    );
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("still.csv", "time,jawOpen\n0,0\n3,0\n");
    let spot = Spot::new(glam::Vec3::new(0.0, 0.04, 0.048), glam::Vec3::Z, 0.0);
    let frame = |gesture: Gesture, k: usize| {
        let extent = Extent { depth: 6e-3, by: 0.01 * spot.out, fingers: 1 };
        HandFrame { time: k as f64 / RATE, pose: gesture.pose(Side::Right, &spot, &extent, k as f32 / 45.0) }
    };
    let take = |gesture| HandTake { left: Vec::new(), right: (0..=45).map(|k| frame(gesture, k)).collect() };
    write("poke.csv", &take(Gesture::Poke).to_csv());
    write(
        "script.toml",
        "[[hand]]\ngesture = \"pull\"\nat = [0, 40, 48]\nfrom = 0\nto = 1.5\nby = [10, 0, 8]\n",
    );
    write("typo.toml", "[[hand]]\ngesture = \"tickle\"\nat = \"chin\"\nfrom = 0\nto = 1\n");
    write("broken.csv", "time,hand,joint\n0,left,wrist\n");
}

#[test]
fn hands_of_a_take_and_of_a_script_touch_a_face() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    built(path);
    let simulate = ["simulate", "face.safetensors", "--take", "still.csv", "--fps", "30", "-o", "out.glb"];
    for body in ["shell", "tissue"] {
        let with = |more: &[&'static str]| [&simulate[..], &["--body", body], more].concat();
        let poked = report(path, &with(&["--hands", "poke.csv"]));
        let hands = &poked["hands"];
        assert_eq!(hands["count"], 1, "{body}: {poked}");
        // Physics runs a step ahead of what is shown, and the hand leaves with it.
        assert!((44..=46).contains(&hands["frames"].as_u64().unwrap()), "{body}: {poked}");
        assert!(hands["touching"].as_u64().unwrap() > 10, "{body}: {hands}");
        assert!(hands["tracked"]["deepest_mm"].as_f64().unwrap() > 4.0, "{body}: {hands}");
        assert!(hands["simulated"]["deepest_mm"].as_f64().unwrap() < 1.0, "{body}: {hands}");
        assert!(poked["untouched_deviation"]["worst_mm"].as_f64().unwrap() < 0.5, "{body}: {poked}");
        let pulled = report(path, &with(&["--touch", "script.toml", "--report", "page"]));
        assert!(pulled["hands"]["holding"].as_u64().unwrap() > 5, "{body}: {pulled}");
        assert!(pulled["deviation"]["worst_mm"].as_f64().unwrap() > 8.0, "{body}: {pulled}");
        let page = std::fs::read_to_string(path.join("page/report.html")).unwrap();
        assert!(page.contains("hand 1") || page.contains("Colliders"), "{body}: the hand is shown");
    }
    let published =
        [&simulate[..], &["--body", "tissue", "--hands", "poke.csv"], &["--hands-method", "published"]];
    let published = report(path, &published.concat());
    let [tracked, left] = ["tracked", "simulated"].map(|row| published["hands"][row]["deepest_mm"].as_f64());
    assert!(left.unwrap() < 0.95 * tracked.unwrap(), "{published}");
    assert!(
        fail(path, &[&simulate[..], &["--body", "shell", "--hands-method", "published"]].concat())
            .contains("--hands-method")
    );
    // The capsules of a hand come along in a GLB.
    let info = report(path, &["info", "out.glb"]);
    let names: Vec<&str> =
        info["meshes"].as_array().unwrap().iter().filter_map(|mesh| mesh["name"].as_str()).collect();
    assert!(names.iter().any(|name| name.contains("thumb")), "{names:?}");
}

/// A ball as a mesh, and its vertices over time as PC2 and MDD: it comes at 30 frames a second, swells while it is 5 mm in the face, and goes.
fn write_ball(folder: &Path) {
    let (ball, triangles) = zygoma_geometry::shapes::sphere(12, 16);
    let mut obj = String::new();
    ball.iter()
        .for_each(|p| writeln!(obj, "v {} {} {}", 0.012 * p.x, 0.012 * p.y, 0.012 * p.z).expect("text"));
    triangles.iter().for_each(|[a, b, c]| writeln!(obj, "f {} {} {}", a + 1, b + 1, c + 1).expect("text"));
    std::fs::write(folder.join("ball.obj"), obj).expect("a file");
    let frame = |k: usize| {
        let time = k as f32 / 45.0;
        let depth = (0.04 * (time.min(1.0 - time)) - 0.012).min(0.005);
        let radius = 0.012 * (1.0 + 0.3 * (std::f32::consts::PI * time).sin());
        let middle = glam::Vec3::new(0.0, 0.04, 0.048 + radius - depth);
        ball.iter().map(|p| middle + radius * *p).collect::<Vec<_>>()
    };
    let mut frames = StoredFrames::new(RATE, ball.len());
    (0..=45).for_each(|k| frames.push(&frame(k)));
    caches::write_pc2(&mut frames, &folder.join("ball.pc2")).expect("a cache");
    caches::write_mdd(&mut frames, &folder.join("ball.mdd")).expect("a cache");
}

#[test]
fn a_mesh_with_a_point_cache_presses_every_body_and_both_formats_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    built(path);
    write_ball(path);
    let simulate = ["simulate", "face.safetensors", "--take", "still.csv", "--fps", "30", "-o", "out.pc2"];
    for body in ["shell", "tissue"] {
        let pressed = |cache: &'static str| {
            let hands = ["--body", body, "--hands", "ball.obj", "--hand-cache", cache];
            report(path, &[&simulate[..], &hands].concat())["hands"].clone()
        };
        let hands = pressed("ball.pc2");
        assert!((44..=47).contains(&hands["frames"].as_u64().unwrap()), "{body}: {hands}");
        assert!(hands["touching"].as_u64().unwrap() > 10, "{body}: {hands}");
        assert!(hands["tracked"]["deepest_mm"].as_f64().unwrap() > 3.0, "{body}: {hands}");
        assert!(hands["simulated"]["deepest_mm"].as_f64().unwrap() < 0.5, "{body}: {hands}");
        let other = pressed("ball.mdd");
        assert_eq!((&hands["frames"], &hands["touching"]), (&other["frames"], &other["touching"]), "{body}");
    }
    let alone = [&simulate[..], &["--body", "shell", "--hands", "ball.obj"]].concat();
    assert!(fail(path, &alone).contains("--hand-cache"));
}

#[test]
fn hands_that_cannot_touch_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    built(path);
    let simulate = ["simulate", "face.safetensors", "--take", "still.csv", "--fps", "10", "-o", "out.pc2"];
    let refused = |more: &[&'static str]| fail(path, &[&simulate[..], more].concat());
    assert!(refused(&["--body", "rig", "--hands", "poke.csv"]).contains("the plain rig cannot be touched"));
    let message = refused(&["--body", "shell", "--hands", "broken.csv"]);
    assert!(message.contains("broken.csv") && message.contains("there is no column x"), "{message}");
    let message = refused(&["--body", "shell", "--touch", "typo.toml"]);
    assert!(message.contains("line 2: there is no gesture 'tickle'; there are poke, pinch"), "{message}");
}
