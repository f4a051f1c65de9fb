//! What is refused.

use futures_util::SinkExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Heard, Running, Tab};

#[test]
fn the_page_is_served_and_nothing_else() {
    let running = Running::start();
    assert_eq!(running.status("GET /", "", ""), 200);
    for path in
        ["/etc/passwd", "/../../Cargo.toml", "/%2e%2e/Cargo.toml", "/src/main.ts", "/upload", "/download/x/y"]
    {
        assert_eq!(running.status(&format!("GET {path}"), "", ""), 404, "{path}");
    }
    let answer = running.ask(&format!("GET / HTTP/1.1\nHost: {}\nConnection: close\n\n", running.address));
    for header in ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff"] {
        assert!(answer.to_lowercase().contains(header), "{header} in {answer}");
    }
    for loose in [" 'unsafe-eval'", "'unsafe-inline'", "http:", "https:", "*;"] {
        assert!(!answer.contains(loose), "the policy allows {loose}");
    }
}

#[test]
fn foreign_names_and_pages_are_refused() {
    let running = Running::start();
    let port = running.address.port();
    let rebound = running.ask(&format!("GET / HTTP/1.1\nHost: evil.example:{port}\nConnection: close\n\n"));
    assert!(rebound.starts_with("HTTP/1.1 403"), "{rebound}");
    let upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";
    for origin in ["http://evil.example", "null", "https://localhost"] {
        let headers = format!("{upgrade}Origin: {origin}\n");
        let answer = running.ask(&format!("GET /socket HTTP/1.1\nHost: 127.0.0.1:{port}\n{headers}\n"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{origin}: {answer}");
        assert_eq!(
            running.status("PUT /upload/x/y.glb", &format!("Origin: {origin}\n"), "x"),
            403,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn uploads_stay_in_their_place_and_within_limits() {
    let running = Running::start();
    let tab = Tab::open(&running).await;
    assert_eq!(tab.upload(&running, "rig/neutral.obj", "v 0 0 0"), 204);
    assert_eq!(tab.upload(&running, "%2e%2e/escaped.obj", "v"), 400);
    assert_eq!(tab.upload(&running, "a%5c..%5cescaped.obj", "v"), 400);
    assert_eq!(running.status("PUT /upload/0123456789abcdef/x.obj", "", "v"), 404, "no such tab");
    let huge = format!(
        "PUT /upload/{}/huge.glb HTTP/1.1\nHost: {}\nConnection: close\nContent-Length: 99999999999\n\n",
        tab.secret, running.address
    );
    assert!(running.ask(&huge).starts_with("HTTP/1.1 413"), "too large by its own word");
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_tab_and_nonsense_does_not() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    for nonsense in ["{", "[]", r#"{"type":"explode"}"#, r#"{"type":"rate","hertz":"fast"}"#] {
        tab.socket.send(Message::text(nonsense)).await.unwrap();
    }
    let not_finite = r#"{"type":"press","id":1,"input":1,"at":[1e999,0,0],"radius":-1,"force":1}"#;
    tab.socket.send(Message::text(not_finite)).await.unwrap();
    tab.send(json!({ "type": "hold", "values": [[4_000_000_000u32, 1.0]] })).await;
    tab.send(json!({ "type": "transport", "take": 99, "speed": -5.0, "time": -3.0 })).await;
    let frame = tab.frame(|_| true).await;
    tab.frame(|later| later.number > frame.number + 5).await;
    let large = format!("{{\"type\":\"addTake\",\"upload\":\"{}\"}}", "x".repeat(100_000));
    tab.socket.send(Message::text(large)).await.unwrap();
    loop {
        match tab.hear().await {
            Heard::Closed(_) => break,
            Heard::Frame(frame) => {
                // It may be closed already.
                let ack = json!({ "type": "ack", "frame": frame.number }).to_string();
                let _ = tab.socket.send(Message::text(ack)).await;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_broken_file_gets_one_sentence_without_the_temporary_folder() {
    let running = Running::start();
    let mut tab = Tab::open(&running).await;
    assert_eq!(tab.upload(&running, "broken.glb", "glTF but not really"), 204);
    tab.send(json!({ "type": "open", "upload": "broken.glb" })).await;
    let message = tab.text("error").await["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("broken.glb: "), "{message}");
    assert!(!message.contains("zygoma-view-") && !message.contains('\n'), "{message}");
    tab.send(json!({ "type": "open", "upload": "../../etc/passwd" })).await;
    let message = tab.text("error").await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("was not uploaded"), "{message}");
}
