//! Presses a finger into a cheek and prints how far the skin moves.
//!
//! `cargo run --release --example poke [-- face.glb]`

use std::error::Error;
use std::path::Path;

use zygoma_face::body::Touchable;
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::{Continue, Landmarks};
use zygoma_face::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_head::{Head, HeadOptions};
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::formats::{Limits, read_rig};

fn main() -> Result<(), Box<dyn Error>> {
    let rig = match std::env::args().nth(1) {
        Some(path) => read_rig(Path::new(&path), &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    };
    // One stiffness everywhere is made in seconds; without it the stiffness is fitted to the rig's expressions.
    let params = BuildParams { uniform_stiffness: Some(2.0), corrected: false, ..BuildParams::default() };
    let model = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes)?;
    let landmarks = Landmarks::new(&model);
    let cheek = landmarks.find("cheek-left").ok_or("this face has no cheek")?;
    let at = model.neutral[cheek.vertex as usize];

    let mut body = ShellBody::new(&model, RunParams::default())?;
    let radius = 0.008;
    let finger = ColliderShape::Sphere { radius };
    let place = |depth: f32| Pose::at(at + glam::Vec3::Z * (radius - depth));
    let finger = body.colliders_mut().add(finger, place(-0.01), ColliderMotion::Kinematic);
    for frame in 0..60 {
        let depth = -0.01 + 0.02 * (frame as f32 / 30.0).min(1.0);
        if let Some(finger) = body.colliders_mut().get_mut(finger) {
            finger.pose = place(depth);
        }
        let moved = body.advance(1.0 / 60.0).positions[cheek.vertex as usize].distance(at);
        if frame % 10 == 9 {
            println!("the finger is {:5.1} mm in; the cheek moved by {:.1} mm", 1e3 * depth, 1e3 * moved);
        }
    }
    let force = body.colliders().get(finger).map(|finger| finger.force().length()).unwrap_or_default();
    println!("it presses with {force:.2} N");
    Ok(())
}
