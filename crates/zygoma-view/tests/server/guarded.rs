//! Requests that are refused.

use std::io::{Read, Write};
use std::time::Duration;

use futures_util::SinkExt;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use zygoma_view::Timeouts;

use crate::client::{Heard, PATIENCE, Running, Tab};

#[test]
fn the_page_is_served_and_nothing_else() {
    let running = Running::start();
    assert_eq!(running.status("GET /", "", ""), 200);
    for path in
        ["/etc/passwd", "/../../Cargo.toml", "/%2e%2e/Cargo.toml", "/src/main.ts", "/upload", "/download/x/y"]
    {
        assert_eq!(running.status(&format!("GET {path}"), "", ""), 404, "{path}");
    }
    let (address, token) = (running.address, &running.token);
    let answer = running.ask(&format!("GET /{token}/ HTTP/1.1\nHost: {address}\nConnection: close\n\n"));
    let headers = [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
    ];
    for header in headers {
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
    let token = &running.token;
    let rebound =
        running.ask(&format!("GET /{token}/ HTTP/1.1\nHost: evil.example:{port}\nConnection: close\n\n"));
    assert!(rebound.starts_with("HTTP/1.1 403"), "{rebound}");
    let upgrade = "Upgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Version: 13\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";
    for origin in ["http://evil.example", "null", "https://localhost"] {
        let headers = format!("{upgrade}Origin: {origin}\n");
        for socket in ["socket", "hands"] {
            let line = format!("GET /{token}/{socket} HTTP/1.1");
            let answer = running.ask(&format!("{line}\nHost: 127.0.0.1:{port}\n{headers}\n"));
            assert!(answer.starts_with("HTTP/1.1 403"), "{origin}: {answer}");
        }
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
        "PUT /{}/upload/{}/huge.glb HTTP/1.1\nHost: {}\nConnection: close\nContent-Length: 99999999999\n\n",
        running.token, tab.secret, running.address
    );
    assert!(running.ask(&huge).starts_with("HTTP/1.1 413"), "too large by its own word");
}

#[tokio::test]
async fn nothing_is_served_without_the_token() {
    let running = Running::start();
    let tab = Tab::open(&running).await;
    for line in ["GET /", "GET /socket", "GET /hands", "GET /0123456789abcdef0123456789abcdef/"] {
        assert_eq!(running.status_of(line, "", ""), 403, "{line}");
    }
    let upload = |token: &str| {
        running.status_of(&format!("PUT /{token}/upload/{}/rig.obj", tab.secret), "", "v 0 0 0")
    };
    assert_eq!(upload("0123456789abcdef0123456789abcdef"), 403);
    assert_eq!(upload(&running.token), 204, "another program needs the token only");
    let other = Running::start();
    assert_ne!(other.token, running.token, "every launch has its own");
    let foreign = "Sec-Fetch-Site: cross-site\n";
    assert_eq!(running.status("GET /", foreign, ""), 403, "loaded by another site");
    assert_eq!(running.status("GET /", "Sec-Fetch-Site: none\n", ""), 200);
}

/// Short enough for a test, long enough for a busy machine.
const SHORT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn silent_connections_and_half_requests_end() {
    let timeouts = Timeouts { request: SHORT, upload: SHORT, silence: Duration::from_secs(60) };
    let running = Running::start_with(timeouts);
    let tab = Tab::open(&running).await;
    let upload = format!("PUT /{}/upload/{}/half.obj HTTP/1.1\r\n", running.token, tab.secret);
    let half_body = format!("{upload}Host: {}\r\nContent-Length: 100\r\n\r\nv 0 0 0\n", running.address);
    for sent in ["", "GET / HT", &upload, &half_body] {
        let mut stream = std::net::TcpStream::connect(running.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // The end of the stream, or its being cut off, but no wait for ever.
        let ended = stream.read_to_end(&mut answer);
        let kept = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!kept, "{sent:?} is kept open");
    }
    // Half a file is not there to be opened.
    let mut tab = tab;
    tab.send(json!({ "type": "open", "upload": "half.obj" })).await;
    let message = tab.text("error").await["message"].as_str().unwrap().to_owned();
    assert!(message.contains("was not uploaded"), "{message}");
}

#[tokio::test]
async fn a_socket_that_answers_nothing_ends_and_one_that_answers_stays() {
    let running = Running::start_with(Timeouts { silence: SHORT, ..Timeouts::default() });
    let mut there = Tab::open(&running).await;
    // It sends nothing and reads nothing, so that not even a ping is answered.
    let mut gone = Tab::open(&running).await;
    there.send(json!({ "type": "rate", "hertz": 0.0 })).await;
    let until = tokio::time::Instant::now() + 4 * SHORT;
    while let Ok(heard) = tokio::time::timeout_at(until, there.hear()).await {
        assert!(!matches!(heard, Heard::Closed(_)), "a tab that answers was closed");
    }
    while !matches!(gone.hear().await, Heard::Closed(_)) {}
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
