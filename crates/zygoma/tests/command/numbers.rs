//! Errors name the numbers that make no sense, and instruction sets agree.

use std::process::Command;

use glam::Vec3;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zygoma_face::anatomical::AnatomicalParams;
use zygoma_face::enriched::EnrichedParams;
use zygoma_face::retarget::RetargetParams;
use zygoma_face::shell::fit::FitParams;
use zygoma_face::shell::{BuildParams, RunParams};
use zygoma_face::tissue::TissueParams;
use zygoma_numerics::{Checked, simd};
use zygoma_physics::shell::ShellParams;
use zygoma_rig::formats::{Limits, caches};

use crate::support::{fail, report, small_folder, succeed, zygoma};

/// A way to a number in nested tables and lists.
type Way = Vec<String>;

fn numbers(value: &toml::Value, way: &Way, found: &mut Vec<Way>) {
    let deeper = |key: String| [way.clone(), vec![key]].concat();
    match value {
        toml::Value::Float(_) | toml::Value::Integer(_) => found.push(way.clone()),
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, v)| numbers(v, &deeper(key.clone()), found));
        }
        toml::Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, v)| numbers(v, &deeper(i.to_string()), found));
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut toml::Value, way: &[String]) -> &'a mut toml::Value {
    way.iter().fold(value, |value, key| match value {
        toml::Value::Array(list) => &mut list[key.parse::<usize>().expect("an index")],
        table => &mut table[key.as_str()],
    })
}

/// Damages every number of a set in turn; each must be refused by its name.
fn every_number_has_a_range<T: Checked + Serialize + DeserializeOwned>(params: &T) {
    assert_eq!(params.check(), Ok(()));
    let value = toml::Value::try_from(params).expect("parameters are TOML");
    let mut found = Vec::new();
    numbers(&value, &Way::new(), &mut found);
    found.retain(|way| way.last().is_some_and(|name| name != "seed"));
    assert!(found.len() > 5, "{found:?}");
    for way in found {
        let bad = match at(&mut value.clone(), &way) {
            toml::Value::Integer(_) => vec![toml::Value::Integer(1 << 60)],
            _ => [f64::NAN, f64::INFINITY, -1e30].map(toml::Value::Float).to_vec(),
        };
        for bad in bad {
            let mut damaged = value.clone();
            *at(&mut damaged, &way) = bad.clone();
            let damaged: T = damaged.try_into().expect("parameters of the right kinds");
            let message = damaged.check().expect_err(&format!("{way:?} = {bad}")).to_string();
            let name = way.iter().rfind(|key| key.parse::<usize>().is_err()).expect("a name");
            assert!(message.contains(name.as_str()), "{way:?}: {message}");
        }
    }
}

#[test]
fn every_number_of_every_parameter_set_is_checked() {
    let fit = FitParams { seconds: Some(1.0), ..FitParams::default() };
    every_number_has_a_range(&BuildParams { fit, uniform_stiffness: Some(1.0), ..BuildParams::default() });
    every_number_has_a_range(&RunParams { shell: Some(ShellParams::default()), ..RunParams::default() });
    every_number_has_a_range(&TissueParams::default());
    every_number_has_a_range(&EnrichedParams::default());
    every_number_has_a_range(&AnatomicalParams::default());
    every_number_has_a_range(&RetargetParams::default());
}

#[test]
fn parameters_out_of_range_are_reported_by_name() {
    let folder = small_folder();
    let path = folder.path();
    succeed(path, &["build", "small", "-o", "face.safetensors", "--triangles", "300"]);
    let simulate =
        ["simulate", "face.safetensors", "--take", "take.csv", "-o", "out.pc2", "--params", "p.toml"];
    let build = ["build", "small", "-o", "out.safetensors", "--params", "p.toml"];
    let cases: [(&[&str], &str, &str); 5] = [
        (&simulate, "gravity = [nan, 0, 0]", "p.toml: gravity[0] is NaN; it must be from -1000 to 1000"),
        (&simulate, "stiffness_scale = -1", "p.toml: stiffness_scale is -1; it must be"),
        (&simulate, "[shell]\nstep_time = 0", "p.toml: shell.step_time is 0; it must be"),
        (&build, "[fit]\nbarrier = nan", "p.toml: fit.barrier is NaN; it must be"),
        (&build, "[fit.shell]\ndensity = inf", "p.toml: fit.shell.density is inf; it must be"),
    ];
    for (args, params, wanted) in cases {
        std::fs::write(path.join("p.toml"), params).unwrap();
        let message = fail(path, args);
        assert!(message.contains(wanted), "{params}: {message}");
    }
}

#[test]
fn flags_out_of_range_are_refused() {
    let folder = small_folder();
    let bones = ["simulate", "small", "--take", "take.csv", "-o", "o.pc2", "--hands-method", "published"];
    let points = ["landmarks", "small", "--take", "take.csv", "-o", "o.csv"];
    let cases: [(&[&str], [&str; 2], &str); 5] = [
        (&bones, ["--hands-bones", "nan"], "from 0 to 1"),
        (&bones, ["--hands-bones", "1.5"], "from 0 to 1"),
        (&points, ["--noise", "inf"], "at least 0"),
        (&points, ["--noise", "nan"], "at least 0"),
        (&["bench", "hands"], ["--gesture", "wave"], "poke, pinch, stroke"),
    ];
    for (args, flag, wanted) in cases {
        let output = zygoma(folder.path(), &[args, &flag].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(wanted), "{flag:?}: {message}");
    }
}

#[test]
fn weights_that_look_like_percent_are_reported() {
    let folder = small_folder();
    let path = folder.path();
    std::fs::write(path.join("percent.csv"), "time,jawOpen,cheekPuff\n0,0,0\n0.1,80,-2.5\n0.2,0,2\n")
        .unwrap();
    let wanted = "the weight of jawOpen reaches 80 at 0.10 s, beyond the usual range of -2 to 2, and 1 other";
    succeed(path, &["build", "small", "-o", "face.safetensors", "--triangles", "300"]);
    let cases: [&[&str]; 3] = [
        &["info", "percent.csv"],
        &["info", "small", "--take", "percent.csv"],
        &["convert", "small", "out.pc2", "--take", "percent.csv"],
    ];
    for args in cases {
        let message = succeed(path, args);
        assert!(message.contains(wanted), "{args:?}: {message}");
    }
    // No body holds at a weight of 80, and a simulation that had to be given up says so too.
    let bodies: [&[&str]; 2] = [
        &["simulate", "face.safetensors", "--take", "percent.csv", "-o", "out.pc2"],
        &["simulate", "small", "--take", "percent.csv", "-o", "out.pc2", "--triangles", "300"],
    ];
    for args in bodies {
        let output = zygoma(path, args);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {output:?}");
        let message = String::from_utf8_lossy(&output.stdout);
        assert!(message.contains(wanted), "{args:?}: {message}");
    }
    let found = report(path, &["info", "percent.csv"]);
    assert_eq!(found["large_weights"][1]["shape"], "cheekPuff");
    assert!(!succeed(path, &["info", "take.csv"]).contains("usual range"));
}

/// Largest distance between the surfaces of two instruction sets, m. Fused products change the last bit of each sum; after a second of a
/// take with a touch that is less than a tenth of what an animated GLB may be off by default.
const TOLERANCE: f32 = 5e-6;

#[test]
fn instruction_sets_agree() {
    let folder = small_folder();
    let path = folder.path();
    succeed(path, &["build", "small", "-o", "face.safetensors", "--triangles", "300"]);
    std::fs::write(
        path.join("poke.toml"),
        "[[push]]\nat = [0, 40, 48]\nfrom = 0.2\nto = 0.8\ndepth = 6\nradius = 12\n",
    )
    .unwrap();
    let touched = ["--take", "take.csv", "--touch", "poke.toml", "-o", "out.pc2", "--fps", "30"];
    let bodies = [
        ("shell", [&["simulate", "face.safetensors"][..], &touched].concat()),
        ("tissue", [&["simulate", "small", "--triangles", "300"][..], &touched].concat()),
    ];
    for (body, args) in bodies {
        let surfaces = |set: &str| -> Vec<Vec3> {
            let mut command = Command::new(env!("CARGO_BIN_EXE_zygoma"));
            let output = command.current_dir(path).env(simd::VARIABLE, set).args(&args).output().unwrap();
            assert!(output.status.success(), "{body} {set}: {}", String::from_utf8_lossy(&output.stderr));
            caches::read_pc2(&path.join("out.pc2"), &Limits::default()).unwrap().positions
        };
        let sets = simd::available();
        let scalar = surfaces(sets[0]);
        if sets.len() == 1 {
            zygoma_testing::skipped("this machine has no instruction set but the scalar one");
        }
        for set in &sets[1..] {
            let other = surfaces(set);
            let worst = scalar.iter().zip(&other).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
            eprintln!("{body}: {set} differs from scalar by {:.2e} mm", 1e3 * worst);
            assert!(worst > 0.0, "{body}: {set} is not what runs");
            assert!(worst <= TOLERANCE, "{body}: {set} differs by {worst} m");
        }
    }
}

#[test]
fn an_instruction_set_that_there_is_not_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_zygoma"))
        .args(["head", "--list-dials"])
        .env(simd::VARIABLE, "sse9")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("ZYGOMA_SIMD is 'sse9'; it must be scalar, avx2 or avx512"), "{message}");
}
