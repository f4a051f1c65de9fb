//! Tools shared by the command-line tests.
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::dome::{bump, dome};

/// A cache for all tests, apart from the user's.
static CACHE: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Runs the built command in a folder.
pub(crate) fn zygoma(folder: &Path, args: &[&str]) -> Output {
    zygoma_with_cache(folder, args, CACHE.path())
}

/// Runs the built command in a folder, with a cache of its own.
pub(crate) fn zygoma_with_cache(folder: &Path, args: &[&str], cache: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zygoma"));
    command.env("ZYGOMA_CACHE", cache).current_dir(folder).args(args).output().expect("the command starts")
}

/// Runs the command, which must succeed, and gives what it printed.
pub(crate) fn succeed(folder: &Path, args: &[&str]) -> String {
    let output = zygoma(folder, args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "zygoma {args:?} failed:\n{out}\n{err}");
    out
}

/// Runs the command with `--json`, which must succeed, and gives what it reported.
pub(crate) fn report(folder: &Path, args: &[&str]) -> Value {
    let out = succeed(folder, &[args, &["--json"]].concat());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("zygoma {args:?}: {error}: {out}"))
}

/// Runs the command, which must end with exit code 1 and one sentence, and gives the sentence.
pub(crate) fn fail(folder: &Path, args: &[&str]) -> String {
    let output = zygoma(folder, args);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "zygoma {args:?}: {err}");
    assert!(err.starts_with("error: "), "{err}");
    assert_eq!(err.lines().count(), 1, "one sentence: {err}");
    err
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Names of the shapes of [`small_rig`].
pub(crate) const SMALL_SHAPES: [&str; 4] = ["browInnerUp", "cheekPuff", "jawOpen", "mouthSmile_L"];

/// Writes a folder of OBJs: the dome with four shapes.
pub(crate) fn small_rig(folder: &Path) -> PathBuf {
    let rig = folder.join("small");
    std::fs::create_dir_all(&rig).expect("a folder for the rig");
    let write = |name: &str, obj: String| std::fs::write(rig.join(name), obj).expect("an OBJ file");
    write("neutral.obj", dome(|_| [0.0; 3]));
    write("browInnerUp.obj", dome(|p| [0.0, 0.01 * bump(0.0, 0.06, p), 0.0]));
    write("cheekPuff.obj", dome(|p| [0.0, 0.0, 0.01 * (bump(0.05, -0.02, p) + bump(-0.05, -0.02, p))]));
    write("jawOpen.obj", dome(|p| [0.0, if p[1] < -0.045 { -0.02 } else { 0.0 }, 0.0]));
    let smile = |p| [0.004 * bump(0.03, -0.04, p), 0.006 * bump(0.03, -0.04, p), 0.0];
    write("mouthSmile_L.obj", dome(smile));
    rig
}

/// Writes a take of one second for [`small_rig`], with one track that it has no shape for.
pub(crate) fn small_take(folder: &Path) -> PathBuf {
    let mut csv = String::from("time,JawOpen,MouthSmileLeft,BrowInnerUp,TongueOut\n");
    for row in 0..=30 {
        let time = f64::from(row) / 30.0;
        let wave = |phase: f64| 0.5 - 0.5 * (std::f64::consts::TAU * time + phase).cos();
        writeln!(csv, "{time:.6},{:.6},{:.6},{:.6},0.5", wave(0.0), wave(1.0), wave(2.0)).expect("text");
    }
    let path = folder.join("take.csv");
    std::fs::write(&path, csv).expect("a take");
    path
}

/// A folder with [`small_rig`] and [`small_take`].
pub(crate) fn small_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    small_rig(folder.path());
    small_take(folder.path());
    folder
}

/// The file names in a folder, sorted.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
