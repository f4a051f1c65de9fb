//! Bodies: rig, shell and tissue.

use serde_json::{Value, json};
use zygoma_view::protocol::{flag, section};

use crate::client::{Running, Tab};

/// Asks for a body and gives the first message about it. Earlier messages are about others: faces may be built meanwhile.
async fn ask_for(tab: &mut Tab, body: &str) -> Value {
    tab.send(json!({ "type": "body", "body": body })).await;
    loop {
        let received = tab.text("body").await;
        if received["wanted"] == body {
            return received;
        }
    }
}

/// Waits until a body is shown that was asked for.
async fn is_shown(tab: &mut Tab, body: &str) -> Value {
    loop {
        let received = tab.text("body").await;
        if received["shown"] == body && received["wanted"] == body {
            return received;
        }
    }
}

/// The index by which frames name a body.
fn index_of(tab: &Tab, body: &str) -> u32 {
    tab.bodies.iter().position(|name| name == body).unwrap() as u32
}

/// A tab whose face is held in an expression, and can be touched.
async fn open(running: &Running) -> Tab {
    let mut tab = Tab::open(running).await;
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    tab.send(json!({ "type": "hold", "values": [[0, 0.5]] })).await;
    tab.frame(|frame| frame.flags & flag::SIMULATED != 0).await;
    tab
}

#[tokio::test]
async fn a_face_becomes_tissue_and_rig_and_keeps_its_expression() {
    let running = Running::start();
    let mut tab = open(&running).await;
    let shell = tab.frame(|frame| frame.farthest() > 0.004).await;
    tab.send(json!({ "type": "body", "body": "tissue" })).await;
    let received = is_shown(&mut tab, "tissue").await;
    assert!(received["note"].as_str().unwrap().contains("tetrahedra"), "{received}");
    let index = index_of(&tab, "tissue");
    let tissue = tab.frame(|frame| frame.body == index).await;
    assert_eq!(tissue.stages.len(), received["stages"].as_array().unwrap().len(), "a name for each time");
    assert!(tissue.stages.len() > 3, "{received}");
    assert_eq!(tissue.weights, shell.weights);
    assert!(tissue.farthest() > 0.004, "it starts in the expression, {} m", tissue.farthest());
    let pace = tab.text("pace").await;
    assert!(pace["milliseconds"].as_f64().unwrap() > 0.0, "{pace}");
    let report = tab.text("tissue").await;
    assert!(report["tetrahedra"].as_u64().unwrap() > 100, "{report}");
    assert!((report["volume"].as_f64().unwrap() - 1.0).abs() < 0.1, "{report}");
    tab.send(json!({ "type": "body", "body": "rig" })).await;
    is_shown(&mut tab, "rig").await;
    let rig = tab.frame(|frame| frame.flags & flag::SIMULATED == 0 && frame.farthest() > 0.004).await;
    assert_eq!(rig.weights, shell.weights);
    // Tissue that was built is still there.
    let received = ask_for(&mut tab, "tissue").await;
    assert_eq!((received["shown"].as_str(), received["buildStage"].as_str()), (Some("tissue"), Some("")));
    tab.send(json!({ "type": "body", "body": "shell" })).await;
    is_shown(&mut tab, "shell").await;
    let index = index_of(&tab, "shell");
    let is_shell = |body: u32, flags: u32| body == index && flags & flag::SIMULATED != 0;
    tab.frame(|frame| is_shell(frame.body, frame.flags) && frame.farthest() > 0.004).await;
}

#[tokio::test]
async fn the_inside_of_tissue_is_sent_while_it_is_asked_for() {
    let running = Running::start();
    let mut tab = open(&running).await;
    let show = |volume: bool, lips: bool, cut: Value| json!({ "type": "show", "rig": false, "contacts": false, "volume": volume, "lips": lips, "cut": cut });
    let middle = json!({ "normal": [1.0, 0.0, 0.0], "height": 0.002 });
    tab.send(show(true, true, middle)).await;
    let inside = [section::VOLUME, section::CUT, section::STICKY, section::LIPS];
    let shell = tab.frame(|_| true).await;
    assert!(inside.iter().all(|kind| shell.section(*kind).is_none()), "a shell has no inside");
    tab.send(json!({ "type": "body", "body": "tissue" })).await;
    let frame = tab.frame(|frame| frame.section(section::CUT).is_some()).await;
    let corners = frame.section(section::CUT).unwrap().as_chunks::<4>().0;
    assert!(corners.len() >= 30 && corners.len() % 3 == 0, "{} corners", corners.len());
    assert!(corners.iter().all(|corner| (corner[0] - 0.002).abs() < 2e-5), "all of them lie in the plane");
    let volume = frame.section(section::VOLUME).unwrap();
    assert_eq!(volume.len(), frame.moved.len(), "a number for each point");
    assert!(volume.iter().any(|change| change.abs() > 0.01 && *change > -3.2), "a puffed cheek changes");
    assert!(frame.section(section::STICKY).is_some() && frame.section(section::LIPS).is_some());
    // Beside the head there is nothing to cut; a plane without a normal cuts nothing.
    tab.send(show(false, false, json!({ "normal": [1.0, 0.0, 0.0], "height": 3.0 }))).await;
    tab.frame(|frame| frame.section(section::CUT).is_some_and(<[f32]>::is_empty)).await;
    tab.send(show(false, false, json!({ "normal": [0.0, 0.0, 0.0], "height": 0.0 }))).await;
    tab.frame(|frame| inside.iter().all(|kind| frame.section(*kind).is_none())).await;
}

#[tokio::test]
async fn tissue_that_is_not_wanted_any_more_is_cancelled() {
    let running = Running::start();
    let mut tab = open(&running).await;
    let received = ask_for(&mut tab, "tissue").await;
    assert_ne!(received["buildStage"], "", "it is under way");
    tab.send(json!({ "type": "cancelBuild" })).await;
    is_shown(&mut tab, "shell").await;
    // Changing one's mind many times leaves one tissue in the end.
    for body in ["tissue", "rig", "tissue", "shell", "tissue"] {
        tab.send(json!({ "type": "body", "body": body })).await;
    }
    is_shown(&mut tab, "tissue").await;
    let index = index_of(&tab, "tissue");
    tab.frame(|frame| frame.body == index).await;
}

#[tokio::test]
async fn a_body_that_cannot_be_touched_says_so_once() {
    let running = Running::start();
    let mut tab = open(&running).await;
    tab.send(json!({ "type": "body", "body": "rig" })).await;
    is_shown(&mut tab, "rig").await;
    let press = |input: u32| json!({ "type": "press", "id": 7, "input": input, "at": [0.0, 0.0, 0.05], "radius": 0.01, "force": 1.0 });
    for input in 1..4 {
        tab.send(press(input)).await;
    }
    let received = tab.text("error").await;
    assert!(received["message"].as_str().unwrap().contains("the rig cannot be touched"), "{received}");
    tab.send(json!({ "type": "release", "id": 7, "input": 4 })).await;
    tab.frame(|frame| frame.input == 4).await;
    tab.send(press(5)).await;
    tab.text("error").await;
}

/// The fit of the shell may end while tissue is touched; the finger stays on the tissue, and leaves it when it is lifted.
#[tokio::test]
async fn a_finger_on_tissue_outlasts_the_build_of_a_face() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    while tab.text("build").await["state"] != "ready" {}
    tab.send(json!({ "type": "body", "body": "tissue" })).await;
    is_shown(&mut tab, "tissue").await;
    let press = |input: u32, height: f32| json!({ "type": "press", "id": 7, "input": input, "at": [0.05, -0.02, height], "radius": 0.01, "force": 5.0 });
    tab.send(press(1, 0.056)).await;
    tab.frame(|frame| frame.input == 1).await;
    tab.send(press(2, 0.049)).await;
    tab.frame(|frame| frame.farthest() > 1e-3).await;
    tab.send(json!({ "type": "build", "triangles": 2000 })).await;
    while tab.text("build").await["state"] != "ready" {}
    tab.send(press(3, 0.049)).await;
    tab.frame(|frame| frame.input == 3).await;
    tab.send(json!({ "type": "release", "id": 7, "input": 4 })).await;
    tab.frame(|frame| frame.input == 4 && frame.farthest() < 3e-4).await;
}

/// Every body gets the parameters that it has, and the page hears whether the certificate still holds.
#[tokio::test]
async fn parameters_reach_the_bodies_that_have_them() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    while tab.text("build").await["state"] != "ready" {}
    let received = ask_for(&mut tab, "shell").await;
    assert_eq!(received["params"].as_array().unwrap().len(), 6, "{received}");
    let stiff = json!([["stiffness", 4.0], ["stickiness", 1.0], ["nothing has this", 1.0]]);
    tab.send(json!({ "type": "params", "values": stiff })).await;
    let received = tab.text("certificate").await;
    assert!(received["reason"].as_str().unwrap().contains("stiffer"), "{received}");
    // A body that is entered anew has them still.
    for body in ["rig", "shell"] {
        tab.send(json!({ "type": "body", "body": body })).await;
        is_shown(&mut tab, body).await;
    }
    tab.send(json!({ "type": "params", "values": [] })).await;
    let received = tab.text("certificate").await;
    assert!(received["reason"].as_str().unwrap().contains("stiffer"), "{received}");
}

#[tokio::test]
async fn an_unknown_body_is_refused_by_name() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.send(json!({ "type": "body", "body": "glass" })).await;
    let received = tab.text("error").await;
    let message = received["message"].as_str().unwrap();
    assert!(message.contains("'glass'") && message.contains("rig, shell, tissue"), "{received}");
}
