//! A running server, and a tab made by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream as AsyncStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use zygoma_view::{Options, Server, Show, Stop, Timeouts};

use crate::dome::{bump, dome};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a thread of its own.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The first part of every path.
    pub(crate) token: String,
    stop: Stop,
    thread: Option<std::thread::JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Serves a small rig.
    pub(crate) fn start() -> Self {
        Self::start_with(Timeouts::default())
    }

    /// The same, with other limits on how long it can be kept waiting.
    pub(crate) fn start_with(timeouts: Timeouts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rig = small_rig(folder.path());
        let options = Options {
            port: Some(0),
            show: Show::File(rig),
            keep_faces: false,
            timeouts,
            ..Options::default()
        };
        let server = Server::new(&options).unwrap();
        let (address, stop) = (server.address(), server.stopper());
        let token = server.url().rsplit('/').nth(1).unwrap().to_owned();
        let thread = std::thread::spawn(move || server.run().unwrap());
        Self { address, token, stop, thread: Some(thread), _folder: folder }
    }

    /// Stops and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// Sends a request as it is written and gives the whole answer.
    pub(crate) fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // An answer may leave the connection open.
        stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        stream.write_all(request.replace('\n', "\r\n").as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A refused upload may be cut off once the refusal is sent.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request with the server's own name and token; gives the status.
    pub(crate) fn status(&self, line: &str, headers: &str, body: &str) -> u16 {
        self.status_of(&line.replacen(" /", &format!(" /{}/", self.token), 1), headers, body)
    }

    /// A request with the server's own name; gives the status.
    pub(crate) fn status_of(&self, line: &str, headers: &str, body: &str) -> u16 {
        let host = self.address;
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\n", body.len()) };
        let answer =
            self.ask(&format!("{line} HTTP/1.1\nHost: {host}\nConnection: close\n{length}{headers}\n{body}"));
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A tab.
pub(crate) struct Tab {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<AsyncStream>>,
    pub(crate) secret: String,
    /// Names of the bodies, by index.
    pub(crate) bodies: Vec<String>,
}

/// A frame as far as tests look at it.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) number: u32,
    pub(crate) input: u32,
    pub(crate) flags: u32,
    /// Index of the body.
    pub(crate) body: u32,
    /// Milliseconds of each stage of the body.
    pub(crate) stages: Vec<f32>,
    pub(crate) weights: Vec<f32>,
    /// Displacements of the first mesh's points.
    pub(crate) moved: Vec<[f32; 3]>,
    /// Kind of each section and its numbers, scaled.
    pub(crate) sections: Vec<(u32, Vec<f32>)>,
}

impl Frame {
    fn read(bytes: &[u8]) -> Self {
        let word = |index: usize| u32::from_le_bytes(bytes[4 * index..][..4].try_into().unwrap());
        let float = |index: usize| f32::from_bits(word(index));
        let count = |index: usize| word(index) as usize;
        let stages = (0..count(15)).map(|i| float(20 + i)).collect();
        let weights = (0..count(16)).map(|i| float(20 + count(15) + i)).collect();
        let mut at = 20 + count(15) + count(16) + 8 * count(17) + 2 * count(18);
        let mut sections = Vec::new();
        for _ in 0..count(19) {
            let (kind, points, scale) = (word(at + 1), count(at + 2), float(at + 3));
            let width = [3, 3, 1, 4, 3, 3, 4][kind as usize];
            let number = |i: usize| {
                let place = 4 * (at + 4) + 2 * i;
                scale * f32::from(i16::from_le_bytes([bytes[place], bytes[place + 1]]))
            };
            sections.push((kind, (0..width * points).map(number).collect::<Vec<f32>>()));
            at += 4 + (width * points).div_ceil(2);
        }
        assert_eq!(4 * at, bytes.len(), "nothing is left of a frame");
        let shown = sections.iter().find(|(kind, _)| *kind == 0);
        let moved = shown.map_or_else(Vec::new, |(_, numbers)| numbers.as_chunks::<3>().0.to_vec());
        let (number, input, flags, body) = (word(1), word(2), word(3), word(4));
        Self { number, input, flags, body, stages, weights, moved, sections }
    }

    /// The numbers of a kind of section, if there is one.
    pub(crate) fn section(&self, wanted: u32) -> Option<&[f32]> {
        self.sections.iter().find(|(kind, _)| *kind == wanted).map(|(_, numbers)| numbers.as_slice())
    }

    /// How far the point farthest from the neutral is from it.
    pub(crate) fn farthest(&self) -> f32 {
        self.moved.iter().map(|[x, y, z]| (x * x + y * y + z * z).sqrt()).fold(0.0, f32::max)
    }
}

/// A message to a tab.
#[derive(Debug)]
pub(crate) enum Heard {
    Text(Value),
    Frame(Frame),
    Other,
    Closed(Option<u16>),
}

impl Tab {
    pub(crate) async fn open(running: &Running) -> Self {
        let address = format!("ws://{}/{}/socket", running.address, running.token);
        let (socket, _) = tokio_tungstenite::connect_async(address).await.unwrap();
        let mut tab = Self { socket, secret: String::new(), bodies: Vec::new() };
        let welcome = tab.text("welcome").await;
        tab.secret = welcome["session"].as_str().unwrap().to_owned();
        let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
        tab.bodies = welcome["bodies"].as_array().unwrap().iter().map(name).collect();
        tab
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next thing.
    pub(crate) async fn hear(&mut self) -> Heard {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("in time");
            return match next {
                Some(Ok(Message::Text(text))) => Heard::Text(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Binary(bytes))) => match bytes[0] {
                    1 => Heard::Frame(Frame::read(&bytes)),
                    _ => Heard::Other,
                },
                Some(Ok(Message::Close(close))) => Heard::Closed(close.map(|close| close.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => Heard::Closed(None),
            };
        }
    }

    /// Waits for a text of a type.
    pub(crate) async fn text(&mut self, wanted: &str) -> Value {
        loop {
            match self.hear().await {
                Heard::Text(text) if text["type"] == wanted => return text,
                Heard::Frame(frame) => self.ack(&frame).await,
                Heard::Closed(code) => panic!("closed ({code:?}) instead of {wanted}"),
                _ => {}
            }
        }
    }

    pub(crate) async fn ack(&mut self, frame: &Frame) {
        self.send(json!({ "type": "ack", "frame": frame.number })).await;
    }

    /// Waits for a frame of some kind.
    pub(crate) async fn frame(&mut self, wanted: impl Fn(&Frame) -> bool) -> Frame {
        let began = Instant::now();
        loop {
            match self.hear().await {
                Heard::Frame(frame) => {
                    self.ack(&frame).await;
                    if wanted(&frame) {
                        return frame;
                    }
                    assert!(began.elapsed() < PATIENCE, "no such frame, the last one was {}", frame.number);
                }
                Heard::Closed(code) => panic!("closed ({code:?}) instead of a frame"),
                _ => {}
            }
        }
    }

    /// Uploads a file as the page does.
    pub(crate) fn upload(&self, running: &Running, path: &str, content: &str) -> u16 {
        running.status(&format!("PUT /upload/{}/{path}", self.secret), "", content)
    }
}

/// The OBJ files of the dome with four shapes.
pub(crate) fn small_objs() -> Vec<(&'static str, String)> {
    vec![
        ("neutral.obj", dome(|_| [0.0; 3])),
        ("cheekPuff.obj", dome(|p| [0.0, 0.0, 0.01 * (bump(0.05, -0.02, p) + bump(-0.05, -0.02, p))])),
        ("browInnerUp.obj", dome(|p| [0.0, 0.01 * bump(0.0, 0.06, p), 0.0])),
        ("mouthPucker.obj", dome(|p| [0.0, 0.0, -0.008 * bump(0.05, -0.02, p)])),
        ("jawOpen.obj", dome(|p| [0.0, if p[1] < -0.045 { -0.02 } else { 0.0 }, 0.0])),
    ]
}

fn small_rig(folder: &Path) -> PathBuf {
    let rig = folder.join("small");
    std::fs::create_dir_all(&rig).unwrap();
    for (name, text) in small_objs() {
        std::fs::write(rig.join(name), text).unwrap();
    }
    rig
}
