//! The local server: the page, a socket for each tab, uploads and downloads.

mod accept;
mod files;
mod guard;
mod hands;
mod socket;
mod transfer;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use tokio::sync::{Semaphore, broadcast, watch};
use zygoma_numerics::Budget;
use zygoma_rig::name_map::NameMap;

use zygoma_face::model::FaceCache;

use crate::builder::Library;
use crate::model::{HeadChoice, Model};
use crate::page;
use crate::protocol::ClientMessage;
pub(crate) use files::SessionFiles;
use guard::Guard;

/// The port that is tried first. Ours: zygoma in the letters of a telephone would be longer.
const USUAL_PORT: u16 = 7423;

/// Most tabs at once.
const MOST_SESSIONS: usize = 32;

/// The rig that is shown first.
#[derive(Clone, Debug, Default)]
pub enum Show {
    /// The built-in head.
    #[default]
    BuiltIn,
    /// A rig or face from a file or folder.
    File(PathBuf),
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen at; the loopback address unless other machines should reach it.
    pub host: IpAddr,
    /// The port; `None`: the usual one, or a free one if that is taken.
    pub port: Option<u16>,
    /// The rig that is shown first.
    pub show: Show,
    /// The user's own names for the shapes of what is shown at first.
    pub names: NameMap,
    /// Whether built faces are kept in the user's cache folder.
    pub keep_faces: bool,
    /// How long others may keep the server waiting.
    pub timeouts: Timeouts,
}

/// How long others may keep the server waiting.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the start of a connection, or the end of an answer, to the end of the next request's headers.
    pub request: Duration,
    /// From one part of an upload to the next.
    pub upload: Duration,
    /// From one message of a tab to the next. Tabs are asked for one three times as often, which every browser answers by itself.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            upload: Duration::from_secs(30),
            silence: Duration::from_secs(60),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: None,
            show: Show::default(),
            names: NameMap::default(),
            keep_faces: true,
            timeouts: Timeouts::default(),
        }
    }
}

/// Why the viewer could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rig cannot be shown.
    #[error("{0}")]
    Model(String),
    /// The port is taken, or the address is not this machine's.
    #[error("listening at {address} failed: {reason}; choose another --port or leave it out")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason that the system gave.
        reason: std::io::Error,
    },
    /// The system refused something else.
    #[error("the viewer's server failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Closes every tab and ends the server.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// State that all requests share.
#[derive(Debug)]
struct Shared {
    guard: Guard,
    timeouts: Timeouts,
    model: Arc<Model>,
    library: Arc<Library>,
    sessions: Mutex<HashMap<String, Arc<SessionFiles>>>,
    /// Hands of other programs, for every tab, and room for such programs.
    hands: broadcast::Sender<ClientMessage>,
    programs: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Opens a session, unless there are too many.
    fn open_session(&self) -> Option<Arc<SessionFiles>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MOST_SESSIONS {
            return None;
        }
        let files = Arc::new(SessionFiles::new().ok()?);
        sessions.insert(files.secret().to_owned(), files.clone());
        Some(files)
    }

    fn close_session(&self, secret: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(secret);
    }

    fn session(&self, secret: &str) -> Option<Arc<SessionFiles>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(secret).cloned()
    }
}

/// A server that is ready to run.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Stop,
}

impl Server {
    /// Reads what is to be shown and starts to listen.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let model = match &options.show {
            Show::BuiltIn => Model::built_in(&HeadChoice::default(), None),
            Show::File(path) => {
                Model::read(path, &zygoma_rig::formats::Limits::default(), &Budget::default())
            }
        };
        let named = model.and_then(|model| model.with_names(options.names.clone()));
        let model = Arc::new(named.map_err(Error::Model)?);
        let listener = listen(options.host, options.port)?;
        let address = listener.local_addr()?;
        let (sender, stopping) = watch::channel(false);
        let shared = Arc::new(Shared {
            guard: Guard::new(address, guard::secret()?),
            timeouts: options.timeouts,
            model,
            library: Arc::new(Library::new(options.keep_faces.then(FaceCache::of_user).flatten())),
            sessions: Mutex::default(),
            hands: broadcast::channel(hands::MOST_MISSED).0,
            programs: Arc::new(Semaphore::new(hands::MOST_PROGRAMS)),
            stopping,
        });
        Ok(Self { listener, address, shared, stop: Stop(sender) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address, with the token of this launch: whoever knows it may use the viewer.
    pub fn url(&self) -> String {
        let token = self.shared.guard.token();
        match self.address {
            address if address.ip().is_unspecified() => {
                format!("http://127.0.0.1:{}/{token}/", address.port())
            }
            address => format!("http://{address}/{token}/"),
        }
    }

    /// Ends it later.
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped.
    pub fn run(self) -> Result<(), Error> {
        let app = router(self.shared.clone());
        let (listener, shared) = (self.listener, self.shared);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async move {
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            accept::serve(listener, app, shared.timeouts, shared.stopping.clone()).await;
            // Tabs end by themselves; their temporary folders go with them.
            for _ in 0..100 {
                if shared.sessions.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            Ok(())
        })
    }
}

fn listen(host: IpAddr, port: Option<u16>) -> Result<TcpListener, Error> {
    let wanted = SocketAddr::new(host, port.unwrap_or(USUAL_PORT));
    let refused = |reason| Error::Listen { address: wanted, reason };
    match TcpListener::bind(wanted) {
        Ok(listener) => Ok(listener),
        Err(_) if port.is_none() => TcpListener::bind(SocketAddr::new(host, 0)).map_err(refused),
        Err(reason) => Err(refused(reason)),
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/{token}/socket", get(socket::connect))
        .route("/{token}/hands", get(hands::connect))
        .route("/{token}/upload/{secret}/{*path}", put(transfer::upload))
        .route("/{token}/download/{secret}/{what}", get(transfer::download))
        .route("/{token}/", get(index))
        .route("/{token}/{*path}", get(file))
        .layer(axum::middleware::from_fn_with_state(shared.clone(), guard::check))
        .with_state(shared)
}

async fn index(State(_): State<Arc<Shared>>) -> Response {
    page_file("")
}

async fn file(Path((_, path)): Path<(String, String)>) -> Response {
    page_file(&path)
}

/// The page may use its own files, and nothing else from anywhere. The decoder of KTX2 textures is WebAssembly.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' blob: data:; connect-src 'self' blob: data:; worker-src 'self' blob:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

fn page_file(path: &str) -> Response {
    let Some(file) = page::file(path) else { return StatusCode::NOT_FOUND.into_response() };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.mime)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        // A newer zygoma may serve another page at the same address.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, file.bytes).into_response()
}
