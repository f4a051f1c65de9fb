//! Files to and from the page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;

use super::{Shared, files};

/// Bytes of one uploaded file.
const LARGEST_FILE: u64 = 512 << 20;

fn refuse(status: StatusCode, message: impl Into<String>) -> Response {
    (status, message.into()).into_response()
}

/// Takes a file of the page into the tab's temporary folder.
pub(crate) async fn upload(
    State(shared): State<Arc<Shared>>,
    Path((secret, path)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(files) = shared.session(&secret) else {
        return refuse(StatusCode::NOT_FOUND, "this tab is no longer connected");
    };
    let too_large = || {
        let limit = LARGEST_FILE >> 20;
        refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("{path}: files of more than {limit} MB are not taken"))
    };
    let promised =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if promised.is_some_and(|length| length > LARGEST_FILE) {
        return too_large();
    }
    let place = match files.place(&path) {
        Ok(place) => place,
        Err(message) => return refuse(StatusCode::BAD_REQUEST, message),
    };
    let failed =
        |error: std::io::Error| refuse(StatusCode::INTERNAL_SERVER_ERROR, format!("{path}: {error}"));
    let mut file = match tokio::fs::File::create(&place).await {
        Ok(file) => file,
        Err(error) => return failed(error),
    };
    let (mut stream, mut length) = (body.into_data_stream(), 0);
    while let Some(chunk) = stream.next().await {
        let Ok(chunk) = chunk else { return refuse(StatusCode::BAD_REQUEST, "the upload was cut off") };
        length += chunk.len() as u64;
        if length > LARGEST_FILE {
            return too_large();
        }
        if !files.charge(chunk.len() as u64) {
            let limit = files::MOST_BYTES >> 20;
            let message = format!("more than {limit} MB were uploaded; reload the page to start again");
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        if let Err(error) = file.write_all(&chunk).await {
            return failed(error);
        }
    }
    match file.flush().await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => failed(error),
    }
}

/// Gives the built face or the recording.
pub(crate) async fn download(
    State(shared): State<Arc<Shared>>,
    Path((secret, what)): Path<(String, String)>,
) -> Response {
    let Some(files) = shared.session(&secret) else {
        return refuse(StatusCode::NOT_FOUND, "this tab is no longer connected");
    };
    let (bytes, name, mime) = match what.as_str() {
        "face.safetensors" => {
            let Some(face) = files.face() else {
                return refuse(StatusCode::NOT_FOUND, "no face was built yet");
            };
            let name = format!("{}.safetensors", plain_name(&face.name));
            (face.to_bytes(), name, "application/octet-stream")
        }
        "recording.glb" => {
            let Some(recording) = files.recording() else {
                return refuse(StatusCode::NOT_FOUND, "nothing was recorded yet");
            };
            (recording.to_vec(), "recording.glb".to_owned(), "model/gltf-binary")
        }
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, mime.to_owned()), (header::CONTENT_DISPOSITION, disposition)], bytes)
        .into_response()
}

/// A name that is a file name everywhere.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = name.chars().take(60).map(plain).collect();
    if name.is_empty() { "face".into() } else { name }
}
