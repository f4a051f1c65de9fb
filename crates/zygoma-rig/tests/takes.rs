//! Tables of weights: Live Link Face and plain CSV.

mod common;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use common::{damaged, names};
use glam::DVec3;
use proptest::prelude::*;
use tempfile::tempdir;
use zygoma_rig::formats::{self, Limits, live_link, plain_csv};
use zygoma_rig::{Interpolation, WeightCurve, WeightTrack};
use zygoma_rig::{JointRole, Result, Take};
use zygoma_testing::real_data;

const HEADER: &str = "Timecode,BlendShapeCount,EyeBlinkLeft,EyeLookDownLeft,EyeLookInLeft,EyeLookOutLeft,\
EyeLookUpLeft,EyeSquintLeft,EyeWideLeft,EyeBlinkRight,EyeLookDownRight,EyeLookInRight,EyeLookOutRight,\
EyeLookUpRight,EyeSquintRight,EyeWideRight,JawForward,JawRight,JawLeft,JawOpen,MouthClose,MouthFunnel,\
MouthPucker,MouthRight,MouthLeft,MouthSmileLeft,MouthSmileRight,MouthFrownLeft,MouthFrownRight,\
MouthDimpleLeft,MouthDimpleRight,MouthStretchLeft,MouthStretchRight,MouthRollLower,MouthRollUpper,\
MouthShrugLower,MouthShrugUpper,MouthPressLeft,MouthPressRight,MouthLowerDownLeft,MouthLowerDownRight,\
MouthUpperUpLeft,MouthUpperUpRight,BrowDownLeft,BrowDownRight,BrowInnerUp,BrowOuterUpLeft,BrowOuterUpRight,\
CheekPuff,CheekSquintLeft,CheekSquintRight,NoseSneerLeft,NoseSneerRight,TongueOut,HeadYaw,HeadPitch,HeadRoll,\
LeftEyeYaw,LeftEyePitch,LeftEyeRoll,RightEyeYaw,RightEyePitch,RightEyeRoll";

/// A take in the app's form: per row a timecode, the weight of every shape, and the head's yaw.
fn live_link_text(rows: &[(&str, f32, f32)]) -> String {
    let mut text = format!("{HEADER}\r\n");
    for (timecode, weight, yaw) in rows {
        write!(text, "{timecode},61").expect("writing to a string");
        (0..52).for_each(|_| write!(text, ",{weight:.10}").expect("writing to a string"));
        writeln!(text, ",{yaw}{}\r", ",0.0".repeat(8)).expect("writing to a string");
    }
    text
}

fn read_text(text: &[u8]) -> Result<Take> {
    let folder = tempdir().expect("temporary folders can be made");
    let path = folder.path().join("take_cal.csv");
    fs::write(&path, text).expect("temporary files can be written");
    formats::read_take(&path, &Limits::default())
}

fn refusal(text: &str) -> String {
    let error = read_text(text.as_bytes()).expect_err("a take that cannot be read").to_string();
    assert!(error.contains("take_cal.csv: "), "{error}");
    error
}

#[test]
fn a_real_take_is_read() {
    let Some(path) = real_data("takes/live_link_face_rom.csv") else { return };
    let take = formats::read_take(&path, &Limits::default()).unwrap();
    assert_eq!(take.name, "live_link_face_rom");
    assert_eq!(take.weights.len(), 52);
    for track in &take.weights {
        assert_eq!(track.curve.values.len(), 4030);
        let active = track.curve.values.iter().any(|value| *value > 0.01);
        assert!(active, "{} is active", track.shape);
    }
    assert_eq!(take.start(), 0.0);
    // 13:13:04 and 31.652 frames to 13:15:18 and 54.561 frames, at 60.
    assert!((take.end() - (134.0 + (54.561 - 31.652) / 60.0)).abs() < 1e-9, "{}", take.end());
    let roles: Vec<JointRole> = take.motions.iter().map(|track| track.role).collect();
    assert_eq!(roles, [JointRole::LeftEye, JointRole::RightEye], "the head's columns are all 0");
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let product = |a: &[f64], ma: f64, b: &[f64], mb: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum()
    };
    let scale = product(a, mean_a, a, mean_a) * product(b, mean_b, b, mean_b);
    product(a, mean_a, b, mean_b) / scale.sqrt()
}

/// The angles and the look shapes describe the same eyes, so they must turn the same way. And the
/// eye's horizontal axis stays horizontal, which a wrong order or sign of roll would not give.
#[test]
fn eyes_turn_as_the_shapes_say() {
    let Some(path) = real_data("takes/live_link_face_rom.csv") else { return };
    let take = formats::read_take(&path, &Limits::default()).unwrap();
    let weight = |name: String| &take.weights.iter().find(|track| track.shape == name).unwrap().curve.values;
    let difference = |more: String, less: String| -> Vec<f64> {
        weight(more).iter().zip(weight(less)).map(|(more, less)| f64::from(more - less)).collect()
    };
    // Outwards is the character's left, +X, for the left eye only.
    for (track, side, outwards) in [(0, "Left", 1.0), (1, "Right", -1.0)] {
        let sideways = difference(format!("EyeLookOut{side}"), format!("EyeLookIn{side}"));
        let upwards = difference(format!("EyeLookUp{side}"), format!("EyeLookDown{side}"));
        let rotations: Vec<_> = take.motions[track].motions.iter().map(|motion| motion.rotation).collect();
        let gaze: Vec<DVec3> = rotations.iter().map(|rotation| *rotation * DVec3::Z).collect();
        let x: Vec<f64> = gaze.iter().map(|gaze| outwards * gaze.x).collect();
        let y: Vec<f64> = gaze.iter().map(|gaze| gaze.y).collect();
        assert!(correlation(&sideways, &x) > 0.99, "{side}: {}", correlation(&sideways, &x));
        assert!(correlation(&upwards, &y) > 0.99, "{side}: {}", correlation(&upwards, &y));
        assert!(rotations.iter().all(|rotation| (*rotation * DVec3::X).y.abs() < 1e-6));
    }
}

#[test]
fn both_spellings_marks_and_line_ends_are_fine() {
    let text = live_link_text(&[("10:00:00:00.000", 0.25, 0.5), ("10:00:00:02.000", 0.5, 0.0)]);
    let spelled = text.replace("BlendShapeCount", "BlendshapeCount").replace("\r\n", "\n");
    for text in [text.clone(), format!("\u{feff}{text}"), spelled, text.replace("JawOpen", "jawopen")] {
        let take = read_text(text.as_bytes()).unwrap();
        assert_eq!(take.name, "take_cal");
        assert_eq!(take.weights.len(), 52);
        assert_eq!(take.weights[0].curve.values, [0.25, 0.5]);
        assert!((take.end() - 1.0 / 30.0).abs() < 1e-9);
        assert_eq!(take.motions.len(), 1);
        assert_eq!(take.motions[0].role, JointRole::Head);
        let gaze = take.motions[0].motions[0].rotation * DVec3::Z;
        assert!(gaze.distance(DVec3::new(-0.5f64.sin(), 0.0, 0.5f64.cos())) < 1e-9);
    }
}

#[test]
fn midnight_gaps_repeats_and_lost_faces() {
    let rows = [
        ("23:59:59:58.000", 0.1, 0.0),
        ("00:00:00:00.000", 0.2, 0.0),
        ("00:00:00:00.000", 0.3, 0.0),
        ("00:00:05:00.000", 0.4, 0.0),
    ];
    let mut text = live_link_text(&rows);
    text.push_str(&format!("00:00:06:00.000,0{}\r\n", ",".repeat(61)));
    let take = read_text(text.as_bytes()).unwrap();
    let curve = &take.weights[7].curve;
    assert_eq!(curve.values, [0.1, 0.3, 0.4], "the later of two rows counts; a lost face is a gap");
    let expected = [0.0, 2.0 / 60.0, 5.0 + 2.0 / 60.0];
    assert!(curve.times.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", curve.times);
    assert!(take.motions.is_empty());
}

#[test]
fn broken_live_link_tables_get_a_sentence() {
    let good = live_link_text(&[("10:00:00:00.000", 0.25, 0.5), ("10:00:00:02.000", 0.5, 0.0)]);
    let cases = [
        (good.replace(",JawOpen", ""), "row 1 has no column JawOpen"),
        (good.replace(",HeadRoll", ""), "row 1 has no column HeadRoll"),
        (good.replace("JawOpen", "JawLeft"), "the column \"JawLeft\" appears twice"),
        (
            good.replace("10:00:00:02.000", "10:00:00"),
            "row 3: column \"Timecode\": \"10:00:00\" is not a timecode",
        ),
        (
            good.replace("10:00:00:02.000", "09:59:00:00.0"),
            "row 3: column \"Timecode\": \"09:59:00:00.0\" comes before",
        ),
        (
            good.replace("10:00:00:00.000,61,0.25", "10:00:00:00.000,61,x.25"),
            "row 2: column \"EyeBlinkLeft\": \"x.25",
        ),
        (good.replace("0.2500000000,0.5,", "0.2500000000,NaN,"), "row 2: column \"HeadYaw\": \"NaN\" is not"),
        (good.replace("0.2500000000,0.5,", "0.2500000000,45,"), "row 2: column \"HeadYaw\": 45 is too large"),
        (
            good.replace("0.5000000000,0,0.0,", "0.5000000000,0,"),
            "row 3: it has 62 fields, but row 1 names 63",
        ),
        (format!("{HEADER}\n"), "no row below the header"),
        (String::new(), "the file is empty"),
        ("a,b\n1,2\n".to_owned(), "neither a Timecode column"),
        ("time,,b\n".to_owned(), "column 2 has no name"),
    ];
    for (text, expected) in cases {
        let error = refusal(&text);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let limits = Limits { keys: 1, ..Limits::default() };
    let folder = tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, &good).unwrap();
    assert!(live_link::read_take(&path, &limits).unwrap_err().to_string().contains("more than the 1 rows"));
    assert!(read_text(b"time,a\n0,\xff\n").unwrap_err().to_string().contains("UTF-8"));
    let unknown = formats::read_take(Path::new(env!("CARGO_MANIFEST_DIR")), &limits).unwrap_err().to_string();
    assert!(unknown.contains("no take that zygoma knows"), "{unknown}");
    assert!(formats::read_take(Path::new("gone.csv"), &limits).unwrap_err().to_string().contains("gone.csv"));
}

#[test]
fn broken_plain_tables_get_a_sentence() {
    let cases = [
        ("time\n0\n", "names no shape"),
        ("time,a\n", "no rows"),
        ("time,a\n0,1\n0,1\n", "row 3: column \"time\": time 0 does not come after 0"),
        ("time,a\n\n\n0,1\n\n1\n", "row 6: it has 1 fields, but row 1 names 2"),
        ("time,a\n0,1\n1\n", "row 3: it has 1 fields, but row 1 names 2"),
        ("time,a\n0,x\n", "row 2: column \"a\": \"x\" is not a finite number"),
        ("time,a\n0,1e60\n", "row 2: column \"a\": \"1e60\" is not a finite number"),
        ("time,a\ninf,1\n", "row 2: column \"time\": \"inf\" is not a finite number"),
    ];
    for (text, expected) in cases {
        let error = refusal(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

fn take(times: &[f64], values: Vec<Vec<f32>>) -> Take {
    let weights = values.into_iter().enumerate().map(|(index, values)| WeightTrack {
        shape: format!("shape, \"{index}\""),
        curve: WeightCurve::linear(times.into(), values),
    });
    Take { name: "take".to_owned(), weights: weights.collect(), ..Take::default() }
}

#[test]
fn a_plain_table_comes_back_exactly() {
    let before =
        take(&[0.0, 1.0 / 3.0, 1e5], vec![vec![0.1, -0.0, 1.0 / 3.0], vec![1.0, 1.5, f32::MIN_POSITIVE]]);
    let folder = tempdir().unwrap();
    let path = folder.path().join("take.csv");
    plain_csv::write_take(&before, &path).unwrap();
    assert_eq!(formats::read_take(&path, &Limits::default()).unwrap(), before);
    assert_eq!(names(folder.path()), ["take.csv"]);
}

#[test]
fn tracks_with_keys_of_their_own_share_a_table() {
    let mut before = take(&[0.0, 2.0], vec![vec![0.0, 1.0]]);
    before.weights.push(WeightTrack {
        shape: "b".to_owned(),
        curve: WeightCurve { times: [1.0].into(), values: vec![0.5], interpolation: Interpolation::Step },
    });
    let folder = tempdir().unwrap();
    let path = folder.path().join("take.csv");
    plain_csv::write_take(&before, &path).unwrap();
    let after = formats::read_take(&path, &Limits::default()).unwrap();
    assert_eq!(*after.weights[0].curve.times, [0.0, 1.0, 2.0]);
    assert_eq!(after.weights[0].curve.values, [0.0, 0.5, 1.0]);
    assert_eq!(after.weights[1].curve.values, [0.5; 3]);
}

fn check(outcome: Result<Take>) -> std::result::Result<(), TestCaseError> {
    match outcome {
        Ok(take) => {
            for track in &take.weights {
                prop_assert!(track.curve.times.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert_eq!(track.curve.times.len(), track.curve.values.len());
                prop_assert!(track.curve.values.iter().all(|value| value.is_finite()));
            }
        }
        Err(error) => prop_assert!(error.to_string().contains("take_cal.csv: ")),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_live_link_tables_never_panic(bytes in damaged(live_link_seed())) {
        check(read_text(&bytes))?;
    }

    #[test]
    fn damaged_plain_tables_never_panic(bytes in damaged(b"time,a,\"b c\"\r\n0,0.5,1\n0.5,-1e-3,.5\n1,0,0\n")) {
        check(read_text(&bytes))?;
    }
}

fn live_link_seed() -> &'static [u8] {
    let rows = [("23:59:59:58.000", 0.1, 0.2), ("00:00:00:00.000", 0.2, 0.1), ("00:00:00:02.651", 0.3, 0.0)];
    live_link_text(&rows).into_bytes().leak()
}
