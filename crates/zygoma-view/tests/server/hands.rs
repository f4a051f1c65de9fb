//! Hands of other programs, and gestures.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use zygoma_hand::{Extent, Gesture, HandPose, Joint, Side, Spot};
use zygoma_view::protocol::{flag, section};

use crate::client::{Running, Tab};

/// A finger that pokes the middle of the dome by a depth.
fn poke(depth: f32) -> HandPose {
    let spot = Spot::new(glam::Vec3::new(0.0, 0.0, 0.05), glam::Vec3::Z, 0.0);
    let extent = Extent { depth, by: glam::Vec3::ZERO, fingers: 1 };
    Gesture::Poke.pose(Side::Right, &spot, &extent, 0.5)
}

fn message(hand: &HandPose) -> Value {
    let joint = |joint: &Joint| {
        let (t, r) = (hand[*joint].translation, hand[*joint].rotation);
        [t.x, t.y, t.z, r.x, r.y, r.z, r.w]
    };
    let joints: Vec<[f32; 7]> = Joint::ALL.iter().map(joint).collect();
    json!({ "type": "hand", "side": "right", "input": 3, "space": "world", "joints": joints, "radii": [] })
}

async fn open(running: &Running) -> Tab {
    let mut tab = Tab::open(running).await;
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    tab.frame(|frame| frame.flags & flag::SIMULATED != 0).await;
    tab
}

#[tokio::test]
async fn a_hand_of_another_program_touches_and_is_gone_when_it_falls_silent() {
    let running = Running::start();
    let mut tab = open(&running).await;
    let address = format!("ws://{}/{}/hands", running.address, running.token);
    let (mut program, _) = tokio_tungstenite::connect_async(address).await.unwrap();
    let mut send = async |message: Value| program.send(Message::text(message.to_string())).await.unwrap();
    // A finger comes in over some frames.
    let mut pressed = None;
    for step in 0..600 {
        send(message(&poke((0.0005 * step as f32 - 0.004).min(0.004)))).await;
        let frame = tab.frame(|_| true).await;
        if frame.section(section::HAND).is_some() && frame.farthest() > 0.002 {
            pressed = Some(frame);
            break;
        }
    }
    let frame = pressed.expect("the finger presses the skin in");
    let joints = frame.section(section::HAND).unwrap().as_chunks::<4>().0;
    assert_eq!(joints.len(), Joint::COUNT);
    let [x, y, z, radius] = joints[Joint::IndexTip as usize];
    assert!(x.abs() < 0.01 && y.abs() < 0.01 && (0.04..0.07).contains(&z), "{x} {y} {z}");
    assert!((0.004..0.012).contains(&radius), "{radius}");
    assert_eq!(frame.input, 0, "inputs are the page's own");
    // Nothing is heard of it any more.
    tab.frame(|frame| frame.section(section::HAND).is_none()).await;
    tab.frame(|frame| frame.farthest() < 5e-4).await;
    // Mistakes are answered, and the page is not bothered with them.
    send(json!({ "type": "record", "on": true })).await;
    send(json!({ "type": "hand", "side": "left", "input": 0, "space": "head", "joints": [], "radii": [] }))
        .await;
    for wanted in ["programs send", "25 joints"] {
        let answer = program.next().await.unwrap().unwrap().into_text().unwrap();
        assert!(answer.contains(wanted), "{answer}");
    }
}

#[tokio::test]
async fn gestures_are_played_at_places_and_mistakes_are_reported() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    let received = tab.text("gestures").await;
    let names = |key: &str| -> Vec<String> {
        received[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    assert!(
        names("gestures").contains(&"pinch".to_owned()) && names("places").contains(&"cheek-left".to_owned())
    );
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    tab.frame(|frame| frame.flags & flag::SIMULATED != 0).await;
    let gesture = |gesture: &str, at: &str| json!({ "type": "gesture", "gesture": gesture, "at": at, "toward": null, "input": 5 });
    tab.send(gesture("tickle", "cheek-left")).await;
    assert!(tab.text("error").await["message"].as_str().unwrap().contains("no gesture 'tickle'"));
    tab.send(gesture("poke", "knee\"\nname = \"x")).await;
    assert!(tab.text("error").await["message"].as_str().unwrap().contains("knee"));
    tab.send(gesture("poke", "cheek-left")).await;
    tab.frame(|frame| frame.section(section::HAND).is_some()).await;
    tab.frame(|frame| frame.farthest() > 0.002).await;
    tab.send(json!({ "type": "handAway", "side": null, "input": 6 })).await;
    tab.frame(|frame| frame.section(section::HAND).is_none() && frame.farthest() < 5e-4).await;
}
