//! The socket for hands of other programs: what comes here reaches every tab.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::socket::{LARGEST_MESSAGE, text, told_to_stop};
use crate::protocol::{ClientMessage, ServerMessage};
use crate::session::check_hand;

/// Programs that may be connected at once, and messages that a slow tab may have missed.
pub(crate) const MOST_PROGRAMS: usize = 8;
pub(crate) const MOST_MISSED: usize = 64;

/// Makes a request a socket.
pub(crate) async fn connect(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    let Ok(permit) = shared.programs.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many programs send hands; end some").into_response();
    };
    upgrade.max_message_size(LARGEST_MESSAGE).max_frame_size(LARGEST_MESSAGE).on_upgrade(
        |socket| async move {
            serve(shared, socket).await;
            drop(permit);
        },
    )
}

/// Passes on the hands of a program until it goes or is silent for too long. Mistakes are answered.
async fn serve(shared: Arc<Shared>, mut socket: WebSocket) {
    let (mut stopping, silence) = (shared.stopping.clone(), shared.timeouts.silence);
    loop {
        let heard = tokio::select! {
            () = told_to_stop(&mut stopping) => return,
            heard = tokio::time::timeout(silence, socket.recv()) => heard,
        };
        let written = match heard {
            Ok(Some(Ok(Message::Text(written)))) => written,
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) | Err(_) => return,
            Ok(Some(Ok(_))) => continue,
        };
        match read(&written) {
            // Nobody may be looking.
            Ok(message) => drop(shared.hands.send(message)),
            Err(message) => {
                if socket.send(text(&ServerMessage::Error { message })).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn read(written: &str) -> Result<ClientMessage, String> {
    let message = serde_json::from_str(written).map_err(|error| format!("this is not a message: {error}"))?;
    match &message {
        ClientMessage::Hand { side, joints, radii, .. } => check_hand(*side, joints, radii)?,
        ClientMessage::HandAway { .. } | ClientMessage::Gesture { .. } => {}
        _ => return Err("programs send the messages 'hand', 'handAway' and 'gesture'".into()),
    }
    Ok(message)
}
