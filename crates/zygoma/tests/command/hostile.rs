//! Damaged rigs end the command with a face or with a sentence; each of these once hung or crashed it.

use std::path::Path;

use zygoma_testing::real_data;

use crate::dome::{bump, dome};
use crate::support::{fail, report, small_folder, zygoma};

/// Builds a face, which must end by itself, with a face or with one sentence, and without a panic; says whether with a face.
fn builds(folder: &Path, rig: &str) -> bool {
    let args = ["build", rig, "-o", "face.safetensors", "--triangles", "200", "--fit-seconds", "2"];
    let output = zygoma(folder, &args);
    let message = String::from_utf8_lossy(&output.stderr);
    let is_sentence =
        output.status.code() == Some(1) && message.lines().any(|line| line.starts_with("error: "));
    assert!(output.status.success() || is_sentence, "{rig}: {message}");
    output.status.success()
}

/// A folder of OBJs of the dome whose faces are changed, with a jaw.
fn changed_dome(folder: &Path, name: &str, change: impl Fn(&[String]) -> Vec<String>) {
    let rig = folder.join(name);
    std::fs::create_dir_all(&rig).expect("a folder for the rig");
    let jaw = |p: [f64; 3]| [0.0, -0.02 * bump(0.0, -0.06, p), 0.0];
    for (file, obj) in [("neutral.obj", dome(|_| [0.0; 3])), ("jawOpen.obj", dome(jaw))] {
        let (faces, others): (Vec<String>, Vec<String>) =
            obj.lines().map(str::to_owned).partition(|line| line.starts_with("f "));
        let text = [others, change(&faces)].concat().join("\n") + "\n";
        std::fs::write(rig.join(file), text).expect("an OBJ file");
    }
}

#[test]
fn damaged_domes_are_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let doubled = |faces: &[String]| [faces, &faces[..50]].concat();
    let backs = |faces: &[String]| -> Vec<String> {
        let turned = |face: &String| {
            let corners: Vec<&str> = face.trim_start_matches("f ").rsplit(' ').collect();
            format!("f {}", corners.join(" "))
        };
        faces.iter().cloned().chain(faces.iter().map(turned)).collect()
    };
    let eaten = |faces: &[String]| -> Vec<String> {
        faces.iter().enumerate().filter(|(i, _)| i % 7 != 0).map(|(_, face)| face.clone()).collect()
    };
    changed_dome(folder.path(), "doubled", doubled);
    changed_dome(folder.path(), "both-sides", backs);
    changed_dome(folder.path(), "eaten", eaten);
    for rig in ["doubled", "both-sides", "eaten"] {
        assert!(builds(folder.path(), rig), "{rig} gives no face");
    }
}

#[test]
fn rigs_that_hung_or_crashed_end() {
    let Some(rigs) = real_data("hostile") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(&rigs).expect("a folder").flatten() {
        if entry.path().is_dir() {
            builds(folder.path(), &entry.path().display().to_string());
        }
    }
    let empty = rigs.join("panic_empty_face.safetensors").display().to_string();
    assert!(fail(folder.path(), &["info", &empty]).contains("build it again with `zygoma build"));
    let heap = rigs.join("quadratic_weld_397bytes.gltf").display().to_string();
    report(folder.path(), &["info", &heap]);
}

#[test]
fn a_build_ends_when_its_time_is_over() {
    let folder = small_folder();
    let message = fail(folder.path(), &["build", "small", "-o", "face.safetensors", "--seconds", "0.000001"]);
    assert!(message.contains("the time allowed is over"), "{message}");
    assert!(!folder.path().join("face.safetensors").exists());
}
