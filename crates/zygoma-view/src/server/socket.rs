//! The socket of a tab.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{mpsc, watch};

use super::{SessionFiles, Shared};
use crate::kinds::{self, DEFAULT, KINDS};
use crate::mailbox::Mailbox;
use crate::protocol::{ClientMessage, ServerMessage, VERSION};
use crate::session::{Command, Link, Outgoing, Session, Work};

/// Bytes of one message of the page: dials and poses are the largest.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 10;

/// Messages of either side that may wait.
const MOST_WAITING: usize = 64;

/// How long a full queue is left alone.
const PATIENCE: Duration = Duration::from_millis(2);

/// Makes a request a socket.
pub(crate) async fn connect(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    let Some(files) = shared.open_session() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many tabs are open; close some").into_response();
    };
    let failed = (shared.clone(), files.secret().to_owned());
    upgrade
        .max_message_size(LARGEST_MESSAGE)
        .max_frame_size(LARGEST_MESSAGE)
        .on_failed_upgrade(move |_| failed.0.close_session(&failed.1))
        .on_upgrade(move |socket| serve(shared, files, socket))
}

/// Runs a session for as long as its tab is there.
async fn serve(shared: Arc<Shared>, files: Arc<SessionFiles>, socket: WebSocket) {
    let secret = files.secret().to_owned();
    let (commands, inbox) = sync_channel(4 * MOST_WAITING);
    let (outgoing, queue) = mpsc::channel(MOST_WAITING);
    let frames = Arc::new(Mailbox::default());
    let link = Link { frames: frames.clone(), outgoing, files, commands: commands.clone() };
    let welcome = ServerMessage::Welcome {
        protocol: VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        session: secret.clone(),
        bodies: kinds::entries(),
        default_body: KINDS[DEFAULT].name.to_owned(),
    };
    let (model, work) = (shared.model.clone(), Work::new(shared.library.clone()));
    let thread = std::thread::Builder::new().name("face".into()).spawn(move || {
        Session::new(link, work, model).run(&inbox);
    });
    if thread.is_ok() {
        let (sink, stream) = socket.split();
        let (mut stopping, hands) = (shared.stopping.clone(), shared.hands.subscribe());
        tokio::select! {
            () = pass_hands(hands, commands.clone()) => {}
            () = write(sink, welcome, queue, &frames, shared.timeouts.silence / 3, stopping.clone()) => {}
            () = read(stream, commands, shared.timeouts.silence) => {
                // A page that no longer reads is still sent the news that the server stops, but nothing else.
            }
            // The writer says goodbye first; this is for one that hangs.
            () = async {
                told_to_stop(&mut stopping).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            } => {}
        }
    }
    shared.close_session(&secret);
}

/// Passes on what the page says, until it goes or says nothing for too long.
async fn read(mut stream: SplitStream<WebSocket>, commands: SyncSender<Command>, silence: Duration) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(silence, stream.next()).await {
        let Message::Text(text) = message else {
            if matches!(message, Message::Close(_)) {
                return;
            }
            continue;
        };
        // A message that cannot be read is one of another version; the page reloads itself when it sees the welcome.
        let Ok(message) = serde_json::from_str::<ClientMessage>(&text) else { continue };
        let mut command = Command::Message(message);
        // A full queue stops the reading, and so the sending at the other end: memory does not grow.
        loop {
            match commands.try_send(command) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) => command = back,
                Err(TrySendError::Disconnected(_)) => return,
            }
            tokio::time::sleep(PATIENCE).await;
        }
    }
}

/// Passes on hands of other programs. A tab that is too busy misses some.
async fn pass_hands(mut hands: broadcast::Receiver<ClientMessage>, commands: SyncSender<Command>) {
    loop {
        match hands.recv().await {
            Ok(message) => {
                if let Err(TrySendError::Disconnected(_)) = commands.try_send(Command::Program(message)) {
                    return;
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    welcome: ServerMessage,
    mut queue: mpsc::Receiver<Outgoing>,
    frames: &Mailbox,
    asking: Duration,
    mut stopping: watch::Receiver<bool>,
) {
    let mut asking = tokio::time::interval(asking);
    if sink.send(text(&welcome)).await.is_err() {
        return;
    }
    loop {
        let message = tokio::select! {
            biased;
            () = told_to_stop(&mut stopping) => {
                let goodbye = CloseFrame { code: close_code::AWAY, reason: "the viewer was stopped".into() };
                // It is gone either way.
                let _ = sink.send(Message::Close(Some(goodbye))).await;
                return;
            }
            // A page that is there answers, also where it has nothing to say.
            _ = asking.tick() => Message::Ping(Vec::new().into()),
            outgoing = queue.recv() => match outgoing {
                Some(Outgoing::Text(message)) => text(&message),
                Some(Outgoing::Binary(bytes)) => Message::Binary(bytes.into()),
                None => return,
            },
            frame = frames.take() => Message::Binary(frame.into()),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// Waits until the server has to stop.
pub(crate) async fn told_to_stop(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which comes to the same.
    let _ = stopping.wait_for(|stop| *stop).await;
}

pub(crate) fn text(message: &ServerMessage) -> Message {
    Message::Text(serde_json::to_string(message).unwrap_or_default().into())
}
