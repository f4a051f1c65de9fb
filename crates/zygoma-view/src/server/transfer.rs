//! Files to and from the page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;

use super::{SessionFiles, Shared, files};

/// Bytes of one uploaded file.
const LARGEST_FILE: u64 = 512 << 20;

fn refuse(status: StatusCode, message: impl Into<String>) -> Response {
    (status, message.into()).into_response()
}

fn too_large(name: &str) -> Response {
    let limit = LARGEST_FILE >> 20;
    refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("{name}: files of more than {limit} MB are not taken"))
}

/// Takes a file of the page into the tab's temporary folder.
pub(crate) async fn upload(
    State(shared): State<Arc<Shared>>,
    Path((_, secret, path)): Path<(String, String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let Some(files) = shared.session(&secret) else {
        return refuse(StatusCode::NOT_FOUND, "this tab is no longer connected");
    };
    let promised =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if promised.is_some_and(|length| length > LARGEST_FILE) {
        return too_large(&path);
    }
    let place = match files.place(&path) {
        Ok(place) => place,
        Err(message) => return refuse(StatusCode::BAD_REQUEST, message),
    };
    match receive(&shared, &files, &path, &place, body).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => {
            // Half a file is of no use to anybody.
            let _ = tokio::fs::remove_file(&place).await;
            refusal
        }
    }
}

/// Writes the body of an upload to its place. The error is the answer.
async fn receive(
    shared: &Shared,
    files: &SessionFiles,
    name: &str,
    place: &std::path::Path,
    body: Body,
) -> Result<(), Response> {
    let failed =
        |error: std::io::Error| refuse(StatusCode::INTERNAL_SERVER_ERROR, format!("{name}: {error}"));
    let mut file = tokio::fs::File::create(place).await.map_err(failed)?;
    let (mut stream, mut length) = (body.into_data_stream(), 0);
    loop {
        let chunk = match tokio::time::timeout(shared.timeouts.upload, stream.next()).await {
            Err(_) => {
                return Err(refuse(
                    StatusCode::REQUEST_TIMEOUT,
                    format!("{name}: the upload stopped half way"),
                ));
            }
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                return Err(refuse(StatusCode::BAD_REQUEST, format!("{name}: the upload was cut off")));
            }
            Ok(Some(Ok(chunk))) => chunk,
        };
        length += chunk.len() as u64;
        if length > LARGEST_FILE {
            return Err(too_large(name));
        }
        if !files.charge(chunk.len() as u64) {
            let limit = files::MOST_BYTES >> 20;
            let message = format!("more than {limit} MB were uploaded; reload the page to start again");
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, message));
        }
        file.write_all(&chunk).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)
}

/// Gives the built face, the recording, or the painted materials.
pub(crate) async fn download(
    State(shared): State<Arc<Shared>>,
    Path((_, secret, what)): Path<(String, String, String)>,
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
        "materials.toml" => {
            let Some(materials) = files.materials() else {
                return refuse(StatusCode::NOT_FOUND, "nothing was painted yet");
            };
            (materials.into_bytes(), "materials.toml".to_owned(), "application/toml")
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
