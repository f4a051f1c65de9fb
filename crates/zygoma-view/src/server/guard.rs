//! Who may talk to the server: its own page, and programs of this machine.
//!
//! Any page on the web can make a browser send requests to this machine. It cannot forge two headers: `Host` is the name that
//! the browser asked for, so a foreign name that was made to point here (DNS rebinding) shows; `Origin` is where the asking
//! page came from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;

/// Knows by which names the server is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Why a request is refused, if it is.
    fn objection(&self, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let Some(host) = text(header::HOST).filter(|host| self.is_own(host)) else {
            return Some("this server answers to its own address only");
        };
        // Programs send no Origin; browsers do with everything that could do harm.
        let from_elsewhere = text(header::ORIGIN).is_some_and(|origin| {
            origin.strip_prefix("http://").is_none_or(|asking| !asking.eq_ignore_ascii_case(host))
        });
        from_elsewhere.then_some("this server answers to its own page only")
    }

    /// Whether a name with its port is ours: `localhost`, or an address, which no foreign name server can make up.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if bare.eq_ignore_ascii_case("localhost") {
            return self.address.ip().is_loopback() || self.address.ip().is_unspecified();
        }
        match bare.parse::<IpAddr>() {
            Ok(asked) if self.address.ip().is_unspecified() => !asked.is_unspecified(),
            Ok(asked) if self.address.ip().is_loopback() => asked.is_loopback(),
            Ok(asked) => asked == self.address.ip(),
            Err(_) => false,
        }
    }
}

/// Refuses what does not come from the page or this machine.
pub(crate) async fn check(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.guard.objection(request.headers()) {
        Some(objection) => (StatusCode::FORBIDDEN, objection).into_response(),
        None => next.run(request).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(address: &str, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Guard::new(address.parse().unwrap()).objection(&headers).is_none()
    }

    #[test]
    fn the_own_page_and_programs_may() {
        let own = "127.0.0.1:7423";
        assert!(allowed(own, "127.0.0.1:7423", None));
        assert!(allowed(own, "localhost:7423", Some("http://localhost:7423")));
        assert!(allowed("[::1]:7423", "[::1]:7423", Some("http://[::1]:7423")));
        assert!(allowed("0.0.0.0:7423", "192.168.1.20:7423", Some("http://192.168.1.20:7423")));
    }

    #[test]
    fn foreign_names_pages_and_ports_may_not() {
        let own = "127.0.0.1:7423";
        assert!(!allowed(own, "evil.example:7423", None), "a name that was made to point here");
        assert!(!allowed("0.0.0.0:7423", "evil.example:7423", None));
        assert!(!allowed(own, "127.0.0.1:7423", Some("http://evil.example")));
        assert!(
            !allowed(own, "127.0.0.1:7423", Some("http://localhost:7423")),
            "another origin, if a near one"
        );
        assert!(!allowed(own, "127.0.0.1:7423", Some("null")), "a sandboxed frame");
        assert!(!allowed(own, "127.0.0.1:7423", Some("https://127.0.0.1:7423")));
        assert!(!allowed(own, "127.0.0.1:80", None));
        assert!(!allowed(own, "127.0.0.1", None));
        assert!(!allowed(own, "192.168.1.20:7423", None), "loopback only");
    }
}
