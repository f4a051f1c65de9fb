//! Connections, which must say in time what they want.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::Timeouts;
use super::socket::told_to_stop;

/// Connections at once that are not sockets of tabs. A browser opens six.
const MOST_CONNECTIONS: usize = 256;

/// The pause after a connection that the system could not give us, such as when too many files are open.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until the server has to stop.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    timeouts: Timeouts,
    mut stopping: watch::Receiver<bool>,
) {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            () = told_to_stop(&mut stopping) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // One too many is closed; those that are silent end soon.
        let Ok(place) = free.clone().try_acquire_owned() else { continue };
        // Frames are small and must not wait for more; a stream that cannot do without waiting still works.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(app.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(timeouts.request)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        tokio::spawn(async move {
            // A connection that breaks or times out is its client's affair.
            let _ = connection.await;
            drop(place);
        });
    }
}
