//! Promises of the command about files: no input is replaced, nothing that is not a file is read or written, nothing endless is read.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{fail, listing, small_folder, succeed, zygoma};

/// A folder with the small rig as folder, GLB and face, its take, and a glTF with its buffer and texture beside it.
fn folder() -> tempfile::TempDir {
    let folder = small_folder();
    succeed(folder.path(), &["convert", "small", "rig.glb"]);
    succeed(folder.path(), &["build", "rig.glb", "-o", "face.safetensors", "--triangles", "300"]);
    folder
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

#[test]
fn no_output_replaces_an_input() {
    let folder = folder();
    let path = folder.path();
    std::fs::hard_link(path.join("rig.glb"), path.join("hard.glb")).unwrap();
    std::fs::copy(path.join("take.csv"), path.join("take.glb")).unwrap();
    std::fs::write(path.join("params.glb"), "").unwrap();
    // The folder was written by zygoma, so that nothing but its being read protects it.
    succeed(path, &["convert", "small", "objs"]);
    let before: Vec<Vec<u8>> = ["rig.glb", "face.safetensors", "take.csv", "objs/neutral.obj"]
        .iter()
        .map(|name| bytes(&path.join(name)))
        .collect();
    let names = listing(path);
    let face = ["simulate", "face.safetensors", "--take", "take.csv"];
    let tissue = ["simulate", "rig.glb", "--take", "take.csv"];
    let cases: [Vec<&str>; 14] = [
        vec!["info", "rig.glb", "--sheet", "rig.glb"],
        vec!["info", "rig.glb", "--sheet", "./small/../rig.glb"],
        vec!["info", "rig.glb", "--sheet", "hard.glb"],
        vec!["info", "small", "--sheet", "small/neutral.obj"],
        vec!["build", "rig.glb", "-o", "rig.glb"],
        vec!["build", "rig.glb", "-o", "params.glb", "--params", "params.glb"],
        vec!["build", "rig.glb", "-o", "take.csv", "--take", "take.csv"],
        vec!["convert", "rig.glb", "rig.glb"],
        vec!["convert", "objs", "objs"],
        vec!["convert", "rig.glb", "take.glb", "--take", "take.glb"],
        // The face remembers its rig.
        [&face[..], &["-o", "rig.glb"]].concat(),
        [&face[..], &["-o", "out.glb", "--rig", "rig.glb", "--report", "rig.glb"]].concat(),
        [&tissue[..], &["-o", "rig.glb"]].concat(),
        [&tissue[..], &["-o", "params.glb", "--thickness", "params.glb"]].concat(),
    ];
    for args in &cases {
        let message = fail(path, args);
        assert!(
            message.contains("would replace") || message.contains("where a folder"),
            "{args:?}: {message}"
        );
    }
    let after = ["rig.glb", "face.safetensors", "take.csv", "objs/neutral.obj"];
    assert!(after.iter().zip(&before).all(|(name, before)| bytes(&path.join(name)) == *before));
    assert_eq!(listing(path), names);
    let message = fail(path, &[&face[..], &["-o", "out", "--report", "out"]].concat());
    assert!(message.contains("two outputs go there"), "{message}");
}

#[test]
fn files_that_a_rig_refers_to_are_inputs_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("avatar.gltf"), crate::avatar::gltf()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes(&path.join("avatar.gltf"))).unwrap();
    let uri = json["buffers"][0]["uri"].as_str().unwrap();
    let data = uri.split_once("base64,").unwrap().1;
    let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap();
    std::fs::write(path.join("avatar.bin"), decoded).unwrap();
    let mut apart = json.clone();
    apart["buffers"][0]["uri"] = "avatar.bin".into();
    std::fs::write(path.join("apart.gltf"), apart.to_string()).unwrap();
    succeed(path, &["info", "apart.gltf"]);
    let before = bytes(&path.join("avatar.bin"));
    let message = fail(path, &["info", "apart.gltf", "--sheet", "avatar.bin"]);
    assert!(message.contains("would replace"), "{message}");
    assert_eq!(bytes(&path.join("avatar.bin")), before);
}

#[cfg(unix)]
mod special {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::time::Duration;

    use super::*;

    fn pipe(path: &Path) {
        let made = Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    }

    /// Runs the command, which must refuse by itself: it is ended after a while, and with it a hang.
    fn refuse(folder: &Path, args: &[&str]) -> String {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zygoma"))
            .current_dir(folder)
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        for _ in 0..600 {
            if child.try_wait().expect("a status").is_some() {
                let output = child.wait_with_output().expect("its words");
                assert_eq!(output.status.code(), Some(1), "{args:?}");
                return String::from_utf8_lossy(&output.stderr).into_owned();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().expect("it can be ended");
        panic!("{args:?} hangs");
    }

    #[test]
    fn pipes_devices_and_endless_files_are_not_read() {
        let folder = small_folder();
        let path = folder.path();
        for name in ["pipe.glb", "pipe.csv", "pipe.toml", "pipe.safetensors"] {
            pipe(&path.join(name));
        }
        for name in ["endless.glb", "endless.toml", "endless.safetensors", "endless.txt"] {
            symlink("/dev/zero", path.join(name)).unwrap();
        }
        // A file larger than its limit, without a byte on the disk.
        std::fs::File::create(path.join("large.toml")).unwrap().set_len(1 << 40).unwrap();
        std::fs::File::create(path.join("large.safetensors")).unwrap().set_len(1 << 40).unwrap();
        let perform = ["simulate", "small", "--take", "take.csv", "-o", "out.pc2", "--triangles", "300"];
        let cases: [(Vec<&str>, &str); 11] = [
            (vec!["info", "pipe.glb"], "this is a pipe"),
            (vec!["info", "pipe.csv"], "this is a pipe"),
            (vec!["info", "pipe.safetensors"], "this is a pipe"),
            (vec!["info", "endless.glb"], "this is a device"),
            (vec!["info", "endless.safetensors"], "this is a device"),
            (vec!["info", "large.safetensors"], "larger than the 2 GiB"),
            (vec!["build", "small", "-o", "face.safetensors", "--params", "pipe.toml"], "this is a pipe"),
            (
                vec!["build", "small", "-o", "face.safetensors", "--params", "large.toml"],
                "larger than the 4 MiB",
            ),
            ([&perform[..], &["--params", "endless.toml"]].concat(), "this is a device"),
            ([&perform[..], &["--touch", "endless.toml"]].concat(), "this is a device"),
            ([&perform[..], &["--thickness", "endless.txt"]].concat(), "this is a device"),
        ];
        for (args, wanted) in &cases {
            let message = refuse(path, args);
            assert!(message.contains(wanted), "{args:?}: {message}");
        }
    }

    #[test]
    fn a_link_beside_a_gltf_is_not_followed_out_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::write(path.join("secret.png"), "secret words").unwrap();
        let rig = path.join("rig");
        std::fs::create_dir(&rig).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&crate::avatar::gltf()).unwrap();
        json["images"] = serde_json::json!([{ "uri": "skin.png" }]);
        std::fs::write(rig.join("avatar.gltf"), json.to_string()).unwrap();
        symlink("../secret.png", rig.join("skin.png")).unwrap();
        succeed(path, &["convert", "rig/avatar.gltf", "out.glb"]);
        let written = bytes(&path.join("out.glb"));
        assert!(!written.windows(12).any(|window| window == b"secret words"), "the file was embedded");
        let notes = succeed(path, &["info", "rig/avatar.gltf"]);
        assert!(notes.contains("it is a link that leaves its folder"), "{notes}");
    }

    #[test]
    fn pipes_devices_and_folders_are_not_written_over() {
        let folder = folder();
        let path = folder.path();
        for name in ["pipe", "pipe.glb", "pipe.png", "pipe.safetensors"] {
            pipe(&path.join(name));
        }
        symlink("/dev/null", path.join("null")).unwrap();
        symlink("/dev/null", path.join("null.glb")).unwrap();
        std::fs::create_dir(path.join("folder.glb")).unwrap();
        std::fs::create_dir(path.join("closed")).unwrap();
        let face = ["simulate", "face.safetensors", "--take", "take.csv"];
        let cases: [(Vec<&str>, &str); 11] = [
            (vec!["head", "-o", "pipe.glb"], "a pipe"),
            (vec!["head", "-o", "null.glb"], "a device"),
            (vec!["head", "-o", "/dev/null"], "a device"),
            (vec!["head", "-o", "null"], "a device"),
            (vec!["convert", "small", "folder.glb"], "a folder"),
            (vec!["convert", "small", "pipe"], "a pipe"),
            (vec!["info", "small", "--sheet", "pipe.png"], "a pipe"),
            (vec!["build", "small", "-o", "pipe.safetensors"], "a pipe"),
            ([&face[..], &["-o", "out.glb", "--report", "null"]].concat(), "a device"),
            (vec!["demo", "-o", "pipe"], "a pipe"),
            (vec!["bench", "convergence", "--plot", "pipe.png"], "a pipe"),
        ];
        for (args, wanted) in &cases {
            let message = refuse(path, args);
            assert!(message.contains(wanted), "{args:?}: {message}");
        }
        assert!(path.join("pipe").symlink_metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_place_that_cannot_be_written_to_is_found_before_the_work() {
        let folder = small_folder();
        let path = folder.path();
        std::fs::create_dir(path.join("closed")).unwrap();
        std::fs::set_permissions(path.join("closed"), std::fs::Permissions::from_mode(0o555)).unwrap();
        if std::fs::write(path.join("closed/probe"), "").is_ok() {
            zygoma_testing::skipped("this user may write anywhere");
            return;
        }
        // The rig does not exist: the output is looked at first.
        let message = refuse(path, &["build", "missing.glb", "-o", "closed/face.safetensors"]);
        assert!(message.contains("the folder closed cannot be written to"), "{message}");
    }
}

#[test]
fn a_folder_with_foreign_files_is_refused_before_the_work() {
    let folder = small_folder();
    let path = folder.path();
    std::fs::create_dir(path.join("full")).unwrap();
    std::fs::write(path.join("full/notes.txt"), "precious").unwrap();
    // The rig does not exist: the output is looked at first.
    let message = fail(path, &["convert", "missing.glb", "full"]);
    assert!(message.contains("holds files that zygoma did not write"), "{message}");
}

#[test]
fn a_killed_run_leaves_nothing_that_a_later_one_keeps() {
    let folder = small_folder();
    let path = folder.path();
    let mut child = Command::new(env!("CARGO_BIN_EXE_zygoma"))
        .current_dir(path)
        .args(["convert", "small", "frames", "--take", "take.csv", "--fps", "20000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let is_part = |name: &String| name.starts_with(".frames.") && name.ends_with(".part");
    let began = std::time::Instant::now();
    while !listing(path).iter().any(is_part) {
        assert!(
            began.elapsed().as_secs() < 60 && child.try_wait().unwrap().is_none(),
            "it never began to write"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // A second run beside it leaves its folder alone.
    succeed(path, &["convert", "small", "frames", "--take", "take.csv", "--fps", "5"]);
    assert!(listing(path).iter().any(is_part), "the living run's folder is gone");
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(listing(path).iter().any(is_part), "a killed run cannot clean up");
    succeed(path, &["convert", "small", "frames", "--take", "take.csv", "--fps", "5"]);
    assert_eq!(listing(path), ["frames", "small", "take.csv"]);
    assert_eq!(listing(&path.join("frames")).len(), 6);
    assert!(zygoma(path, &["info", "small"]).status.success());
}
