//! Tabs and their frames.

use std::time::{Duration, Instant};

use serde_json::json;
use zygoma_view::protocol::flag;

use crate::client::{Heard, PATIENCE, Running, Tab, small_objs};

#[tokio::test]
async fn each_tab_has_a_face_of_its_own() {
    let running = Running::start();
    let (mut first, mut second) = (Tab::open(&running).await, Tab::open(&running).await);
    first.send(json!({ "type": "transport", "take": -1 })).await;
    second.send(json!({ "type": "transport", "take": -1 })).await;
    first.send(json!({ "type": "hold", "values": [[0, 0.75]] })).await;
    // The shape moves the surface by up to a centimetre; skin takes a moment to follow.
    first.frame(|frame| frame.weights.first() == Some(&0.75) && frame.farthest() > 0.004).await;
    let before = second.frame(|_| true).await;
    let other = second.frame(|frame| frame.number > before.number + 10).await;
    assert_eq!(other.weights.first(), Some(&0.0));
}

#[tokio::test]
async fn a_tab_that_does_not_acknowledge_gets_no_more_than_a_few_frames() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    let mut frames = 0;
    loop {
        // However long the first one takes, it comes; and then silence.
        let heard = match frames {
            0 => Some(tab.hear().await),
            _ => tokio::time::timeout(Duration::from_secs(2), tab.hear()).await.ok(),
        };
        match heard {
            Some(Heard::Frame(_)) => frames += 1,
            Some(Heard::Closed(code)) => panic!("closed ({code:?})"),
            Some(_) => {}
            None => break,
        }
    }
    assert!((1..=3).contains(&frames), "{frames} frames");
    tab.send(json!({ "type": "ack", "frame": frames })).await;
    tab.frame(|frame| frame.number > frames).await;
}

#[tokio::test]
async fn a_hidden_tab_costs_nothing_until_it_is_seen_again() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.frame(|frame| frame.flags & flag::SIMULATED != 0).await;
    tab.text("build").await;
    tab.send(json!({ "type": "cancelBuild" })).await;
    tab.send(json!({ "type": "rate", "hertz": 0 })).await;
    // Frames that were under way still arrive.
    while let Ok(heard) = tokio::time::timeout(Duration::from_millis(700), tab.hear()).await {
        if let Heard::Frame(frame) = heard {
            tab.ack(&frame).await;
        }
    }
    tab.send(json!({ "type": "rate", "hertz": 60 })).await;
    tab.frame(|_| true).await;
}

#[tokio::test]
async fn an_uploaded_folder_is_built_and_can_be_pressed_and_pulled() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    for (name, text) in small_objs() {
        assert_eq!(tab.upload(&running, &format!("mine/{name}"), &text), 204);
    }
    tab.send(json!({ "type": "open", "upload": "mine" })).await;
    let report = tab.text("report").await;
    // The first report is of the rig that was served; this one may be it still.
    let report = if report["report"]["name"] == "mine" { report } else { tab.text("report").await };
    assert_eq!(report["report"]["name"], "mine");
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    tab.send(json!({ "type": "build", "triangles": 500 })).await;
    loop {
        let build = tab.text("build").await;
        assert_ne!(build["state"], "failed");
        if build["state"] == "ready" {
            break;
        }
    }
    assert_eq!(running.status(&format!("GET /download/{}/face.safetensors", tab.secret), "", ""), 200);
    tab.frame(|frame| frame.flags & flag::SIMULATED != 0).await;

    // Where a shape moves the skin inwards, it can also be pushed: a finger comes from outside and goes in by 6 mm.
    for (input, height) in [(40, 0.056), (41, 0.048)] {
        let at = [0.05, -0.02, height];
        tab.send(json!({ "type": "press", "id": 7, "input": input, "at": at, "radius": 0.01, "force": 5.0 }))
            .await;
        tab.frame(|frame| frame.input == input).await;
    }
    let inwards = |moved: &[f32; 3]| moved[2] < -3e-4;
    tab.frame(|frame| frame.input == 41 && frame.moved.iter().any(inwards)).await;
    tab.send(json!({ "type": "release", "id": 7, "input": 42 })).await;
    tab.frame(|frame| frame.input == 42 && frame.farthest() < 2e-4).await;

    let pull = json!({ "type": "pull", "id": 8, "input": 43, "at": [0.0, 0.0, 0.05], "to": [0.0, 0.0, 0.06], "radius": 0.008 });
    tab.send(pull).await;
    let pulled = tab.frame(|frame| frame.input == 43 && frame.farthest() > 4e-3).await;
    let highest = pulled.moved.iter().map(|moved| moved[2]).fold(0.0, f32::max);
    assert!(highest > 4e-3, "pulled out, by {highest}");
    tab.send(json!({ "type": "release", "id": 8, "input": 44 })).await;
    tab.frame(|frame| frame.input == 44 && frame.farthest() < 2e-4).await;
}

#[tokio::test]
async fn a_recording_can_be_downloaded() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.send(json!({ "type": "transport", "take": -1 })).await;
    assert_eq!(running.status(&format!("GET /download/{}/recording.glb", tab.secret), "", ""), 404);
    tab.send(json!({ "type": "record", "on": true })).await;
    tab.send(json!({ "type": "hold", "values": [[0, 1.0]] })).await;
    let first = tab.frame(|frame| frame.flags & flag::RECORDING != 0).await;
    tab.frame(|frame| frame.number > first.number + 30).await;
    tab.send(json!({ "type": "record", "on": false })).await;
    loop {
        let recording = tab.text("recording").await;
        assert_ne!(recording["state"], "failed");
        if recording["state"] == "ready" {
            break;
        }
    }
    assert_eq!(running.status(&format!("GET /download/{}/recording.glb", tab.secret), "", ""), 200);
}

#[tokio::test]
async fn a_stopped_server_says_goodbye_and_ends() {
    let mut running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.frame(|_| true).await;
    let stopping = std::thread::spawn(move || running.stop());
    loop {
        if let Heard::Closed(code) = tab.hear().await {
            assert_eq!(code, Some(1001), "going away");
            break;
        }
    }
    stopping.join().unwrap();
}

#[tokio::test]
async fn a_closed_tab_ends_its_session_and_takes_its_files_along() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    tab.frame(|_| true).await;
    let name = format!("only-{}.csv", tab.secret);
    assert_eq!(tab.upload(&running, &name, "time,jawOpen\n0,1\n"), 204);
    let is_there = || {
        let folders = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        folders.map(|folder| folder.path().join(&name)).any(|file| file.exists())
    };
    assert!(is_there());
    tab.send(json!({ "type": "rate", "hertz": 0 })).await;
    drop(tab);
    let closed = Instant::now();
    while is_there() {
        assert!(closed.elapsed() < PATIENCE, "the file of a closed tab is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
