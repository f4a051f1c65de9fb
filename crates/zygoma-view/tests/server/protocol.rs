//! `src/protocol.rs` and `web/src/protocol.ts` say the same.
//!
//! One message of every kind is written down in `web/src/protocol.samples.ts`, where the type checker compares it with the page's
//! types; here it is compared with ours.

use std::path::Path;

use serde_json::Value;
use zygoma_view::protocol::{
    AnatomyHeader, ClientMessage, FaceHeader, Scene, ServerMessage, StiffnessHeader, VERSION, flag, kind,
    section,
};

fn page_source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The JSON between two marks of the samples.
fn samples(mark: &str) -> Vec<Value> {
    let text = page_source("protocol.samples.ts");
    let (_, rest) = text.split_once(&format!("export const {mark} = ")).expect("the samples");
    let (json, _) = rest.split_once(" satisfies").expect("the end of the samples");
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{mark}: {error}"))
}

/// Names of an enum's variants, listed in the error that an unknown one gets.
fn variants<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_str::<T>(r#"{"type":"?"}"#).err().expect("no such variant").to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// Checks that every sample is read, comes back unchanged, and that none is missing.
fn agree<T: serde::Serialize + serde::de::DeserializeOwned>(mark: &str) {
    let samples = samples(mark);
    for sample in &samples {
        let message: T = serde_json::from_value(sample.clone()).unwrap_or_else(|e| panic!("{sample}: {e}"));
        assert_eq!(serde_json::to_value(&message).unwrap(), *sample);
    }
    let found: Vec<&str> = samples.iter().map(|sample| sample["type"].as_str().unwrap()).collect();
    let missing: Vec<String> =
        variants::<T>().into_iter().filter(|name| !found.contains(&name.as_str())).collect();
    assert!(!variants::<T>().is_empty() && missing.is_empty(), "no samples of {missing:?}");
}

#[test]
fn messages_agree() {
    agree::<ClientMessage>("clientSamples");
    agree::<ServerMessage>("serverSamples");
}

#[test]
fn headers_agree() {
    for sample in samples("sceneSamples") {
        let scene: Scene = serde_json::from_value(sample.clone()).unwrap();
        assert_eq!(serde_json::to_value(scene).unwrap(), sample);
    }
    for sample in samples("faceSamples") {
        let face: FaceHeader = serde_json::from_value(sample.clone()).unwrap();
        assert_eq!(serde_json::to_value(face).unwrap(), sample);
    }
    for sample in samples("anatomySamples") {
        let anatomy: AnatomyHeader = serde_json::from_value(sample.clone()).unwrap();
        assert_eq!(serde_json::to_value(anatomy).unwrap(), sample);
    }
    for sample in samples("stiffnessSamples") {
        let stiffness: StiffnessHeader = serde_json::from_value(sample.clone()).unwrap();
        assert_eq!(serde_json::to_value(stiffness).unwrap(), sample);
    }
}

#[test]
fn numbers_agree() {
    let page = page_source("protocol.ts");
    let wanted = [
        format!("VERSION = {VERSION};"),
        format!(
            "KIND = {{ frame: {}, scene: {}, face: {}, stiffness: {}, anatomy: {} }}",
            kind::FRAME,
            kind::SCENE,
            kind::FACE,
            kind::STIFFNESS,
            kind::ANATOMY
        ),
        format!(
            "FLAG = {{ simulated: {}, asleep: {}, playing: {}, recording: {} }}",
            flag::SIMULATED,
            flag::ASLEEP,
            flag::PLAYING,
            flag::RECORDING
        ),
        format!(
            "SECTION = {{ shown: {}, rig: {}, volume: {}, cut: {}, sticky: {}, lips: {}, hand: {} }}",
            section::SHOWN,
            section::RIG,
            section::VOLUME,
            section::CUT,
            section::STICKY,
            section::LIPS,
            section::HAND
        ),
        "VOLUME = { step: 1e-4, none: -32768 }".to_owned(),
    ];
    for line in wanted {
        assert!(page.contains(&line), "the page lacks: {line}");
    }
}
