//! Rate and latency of frames, measured from a socket of this process.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::frame::word as header;
use crate::protocol::{ClientMessage, flag, kind};
use crate::server::{Error, Options, Server};

/// Frames per second that are asked for: more than any machine delivers.
const RATE: f32 = 1000.0;

/// A finger moves this often, as a fast mouse does.
const INPUT: Duration = Duration::from_millis(8);

/// How long a face may take until it can be touched.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measurements of a tab.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Points of a frame's surfaces.
    pub points: usize,
    /// Bytes of all frames.
    pub bytes: u64,
    /// Milliseconds between two frames.
    pub gaps: Vec<f64>,
    /// Milliseconds that the server spent on each frame: simulation and encoding.
    pub work: Vec<f64>,
    /// Milliseconds from the sending of an input to the arrival of the first frame that knows of it.
    pub latency: Vec<f64>,
}

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// Runs a server with one tab for some seconds, in which a finger strokes the face while it performs.
pub fn measure(options: &Options, seconds: f64) -> Result<Measured, Error> {
    let server = Server::new(options)?;
    let (stop, url) = (server.stopper(), server.url());
    let serving = std::thread::spawn(move || server.run());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measured = runtime.block_on(async {
        let (mut socket, _) =
            tokio_tungstenite::connect_async(format!("{}socket", url.replacen("http", "ws", 1)))
                .await
                .map_err(std::io::Error::other)?;
        wait_for_face(&mut socket).await?;
        watch(&mut socket, seconds).await
    });
    stop.stop();
    match serving.join() {
        Ok(served) => served?,
        Err(_) => return Err(std::io::Error::other("the server ended unexpectedly").into()),
    }
    measured
}

async fn send(socket: &mut Socket, message: &ClientMessage) -> Result<(), Error> {
    let text = serde_json::to_string(message).map_err(std::io::Error::other)?;
    Ok(socket.send(Message::text(text)).await.map_err(std::io::Error::other)?)
}

fn word(bytes: &[u8], index: usize) -> u32 {
    bytes
        .get(4 * index..4 * index + 4)
        .map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// Milliseconds of encoding and of all stages of a frame.
fn milliseconds_of_work(frame: &[u8]) -> f64 {
    let stages = (0..word(frame, header::STAGES) as usize).map(|stage| header::COUNT + stage);
    let milliseconds = |index| f64::from(f32::from_bits(word(frame, index)));
    std::iter::once(header::ENCODING).chain(stages).map(milliseconds).sum()
}

/// Points of all surfaces of a frame.
fn points(frame: &[u8]) -> usize {
    let count = |index| word(frame, index) as usize;
    let mut at = header::COUNT
        + count(header::STAGES)
        + count(header::WEIGHTS)
        + 8 * count(header::TOUCHES)
        + 2 * count(header::CONTACTS);
    let mut points = 0;
    for _ in 0..count(header::SECTIONS) {
        let in_section = word(frame, at + 2) as usize;
        points += in_section;
        at += 4 + (3 * in_section).div_ceil(2);
    }
    points
}

/// The next binary message.
async fn binary(socket: &mut Socket) -> Result<axum::body::Bytes, Error> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Binary(bytes))) => return Ok(bytes),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(std::io::Error::other(error).into()),
            None => return Err(std::io::Error::other("the server closed the socket").into()),
        }
    }
}

async fn wait_for_face(socket: &mut Socket) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let bytes = binary(socket).await?;
        if word(&bytes, 0) == kind::FRAME {
            send(socket, &ClientMessage::Ack { frame: word(&bytes, 1) }).await?;
            if word(&bytes, 3) & flag::SIMULATED != 0 {
                return Ok(());
            }
        }
        if began.elapsed() > PATIENCE {
            return Err(Error::Model("the face could not be touched within two minutes".into()));
        }
    }
}

async fn watch(socket: &mut Socket, seconds: f64) -> Result<Measured, Error> {
    // A fit in the background is not part of the measurement.
    send(socket, &ClientMessage::CancelBuild).await?;
    send(socket, &ClientMessage::Rate { hertz: RATE }).await?;
    let mut measured = Measured::default();
    let (began, mut last) = (Instant::now(), None);
    let (mut input, mut sent, mut waiting) = (0u32, Instant::now(), None);
    while began.elapsed().as_secs_f64() < seconds {
        let bytes = binary(socket).await?;
        if word(&bytes, 0) != kind::FRAME {
            continue;
        }
        let now = Instant::now();
        let milliseconds = |since: Instant| 1e3 * (now - since).as_secs_f64();
        send(socket, &ClientMessage::Ack { frame: word(&bytes, 1) }).await?;
        if let Some(last) = last {
            measured.gaps.push(milliseconds(last));
        }
        last = Some(now);
        measured.bytes += bytes.len() as u64;
        measured.work.push(milliseconds_of_work(&bytes));
        measured.points = measured.points.max(points(&bytes));
        if let Some((number, since)) = waiting
            && word(&bytes, 2) >= number
        {
            measured.latency.push(milliseconds(since));
            waiting = None;
        }
        if waiting.is_none() && sent.elapsed() >= INPUT {
            input += 1;
            sent = Instant::now();
            waiting = Some((input, sent));
            let angle = began.elapsed().as_secs_f32();
            // Around the left cheek of a life-size head whose origin lies between its ears.
            let at = [0.045 + 0.01 * angle.cos(), -0.03 + 0.01 * angle.sin(), 0.08];
            send(socket, &ClientMessage::Press { id: 1, input, at, radius: 0.01, force: 4.0 }).await?;
        }
    }
    Ok(measured)
}
