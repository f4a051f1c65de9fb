//! Who may talk to the server: whoever knows its token, and of web pages its own alone.
//!
//! Every launch has a token of its own, the first part of every path, and it is printed with the address. So other users and programs of
//! this machine, and other machines where the server listens to the network, are kept out unless they are given it.
//!
//! Any page on the web can make a browser send requests to this machine. It cannot forge three headers: `Host` is the name that the
//! browser asked for, so a foreign name that was made to point here (DNS rebinding) shows; `Origin` is where the asking page came from;
//! `Sec-Fetch-Site` is how near that is to us. Other programs send neither of the last two and need the token only.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;

/// No other site may load what we serve, not even as a picture or a script.
const RESOURCE_POLICY: &str = "cross-origin-resource-policy";

/// Knows by which names the server is asked for, and its token.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    token: String,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, token: String) -> Self {
        Self { address, token }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Why a request is refused, if it is.
    fn objection(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let Some(host) = text("host").filter(|host| self.is_own(host)) else {
            return Some("this server answers to its own address only");
        };
        let (token, path) = uri.path()[1..].split_once('/').unwrap_or((&uri.path()[1..], ""));
        if !is_same(token, &self.token) {
            return Some(
                "this server answers to the whole address that zygoma printed, with the token in it",
            );
        }
        let origin = text("origin");
        let is_own = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|asking| asking.eq_ignore_ascii_case(host))
        };
        if origin.is_some_and(|origin| !is_own(origin)) {
            return Some("this server answers to its own page only");
        }
        let site = text("sec-fetch-site")?;
        // A person may follow a link to the page from anywhere, such as a terminal in a browser.
        let is_followed = method == Method::GET
            && path.is_empty()
            && text("sec-fetch-mode") == Some("navigate")
            && text("sec-fetch-dest") == Some("document");
        if !matches!(site, "same-origin" | "none") && !is_followed {
            return Some("this server answers to its own page only");
        }
        // Browsers send Origin with everything that changes something, and with sockets.
        let needs_origin =
            method != Method::GET && method != Method::HEAD || matches!(path, "socket" | "hands");
        (needs_origin && origin.is_none()).then_some("a browser must say where the request comes from")
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

/// Compares secrets in a time that does not reveal how much of a guess is right.
fn is_same(guess: &str, secret: &str) -> bool {
    let differing = guess.bytes().zip(secret.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    guess.len() == secret.len() && differing == 0
}

/// A secret that nobody can guess, as text that may stand in an address.
pub(crate) fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses whoever does not know the token, and pages other than our own.
pub(crate) async fn check(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let objection = shared.guard.objection(request.method(), request.uri(), request.headers());
    let mut response = match objection {
        Some(objection) => (StatusCode::FORBIDDEN, objection).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "127.0.0.1:7423";

    /// Whether a request with some headers is allowed; the first is its line.
    fn allowed(address: &str, line: &str, headers: &[(&str, &str)]) -> bool {
        let (method, path) = line.split_once(' ').unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(header::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let guard = Guard::new(address.parse().unwrap(), "token".into());
        guard.objection(&method.parse().unwrap(), &path.parse().unwrap(), &map).is_none()
    }

    fn page(address: &str, host: &str, origin: Option<&str>) -> bool {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        allowed(address, "GET /token/", &headers)
    }

    #[test]
    fn the_own_page_and_programs_may() {
        assert!(page(OWN, OWN, None));
        assert!(page(OWN, "localhost:7423", Some("http://localhost:7423")));
        assert!(page("[::1]:7423", "[::1]:7423", Some("http://[::1]:7423")));
        assert!(page("0.0.0.0:7423", "192.168.1.20:7423", Some("http://192.168.1.20:7423")));
    }

    #[test]
    fn foreign_names_pages_and_ports_may_not() {
        assert!(!page(OWN, "evil.example:7423", None), "a name that was made to point here");
        assert!(!page("0.0.0.0:7423", "evil.example:7423", None));
        assert!(!page(OWN, OWN, Some("http://evil.example")));
        assert!(!page(OWN, OWN, Some("http://localhost:7423")), "another origin, if a near one");
        assert!(!page(OWN, OWN, Some("null")), "a sandboxed frame");
        assert!(!page(OWN, OWN, Some("https://127.0.0.1:7423")));
        assert!(!page(OWN, "127.0.0.1:80", None));
        assert!(!page(OWN, "127.0.0.1", None));
        assert!(!page(OWN, "192.168.1.20:7423", None), "loopback only");
    }

    #[test]
    fn nothing_is_had_without_the_token() {
        for path in ["/", "/socket", "/wrong/", "/tokenx/", "/toke/", "/upload/x/y", "/wrong/socket", "//"] {
            assert!(!allowed(OWN, &format!("GET {path}"), &[("host", OWN)]), "{path}");
            assert!(!allowed(OWN, &format!("PUT {path}"), &[("host", OWN)]), "{path}");
        }
        // Programs need nothing else.
        for line in ["GET /token/", "GET /token/socket", "PUT /token/upload/x/y"] {
            assert!(allowed(OWN, line, &[("host", OWN)]), "{line}");
        }
    }

    #[test]
    fn a_browser_says_that_it_is_at_our_page() {
        let browser = |line: &str, site: &str, more: &[(&str, &str)]| {
            allowed(OWN, line, &[&[("host", OWN), ("sec-fetch-site", site)], more].concat())
        };
        let own = [("origin", "http://127.0.0.1:7423")];
        assert!(browser("GET /token/", "none", &[]), "typed, or opened by us");
        assert!(browser("GET /token/index.js", "same-origin", &[]));
        assert!(browser("GET /token/socket", "same-origin", &own));
        assert!(browser("PUT /token/upload/x/y", "same-origin", &own));
        for site in ["cross-site", "same-site"] {
            for line in ["GET /token/", "GET /token/index.js", "GET /token/socket", "PUT /token/upload/x/y"] {
                assert!(!browser(line, site, &own), "{line} {site}");
                assert!(!browser(line, site, &[]), "{line} {site}");
            }
        }
        let followed = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert!(browser("GET /token/", "cross-site", &followed), "a link that a person follows");
        let framed = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        assert!(!browser("GET /token/", "cross-site", &framed));
        assert!(!browser("GET /token/socket", "same-origin", &[]), "a socket has an origin");
        assert!(!browser("PUT /token/upload/x/y", "same-origin", &[]), "an upload has an origin");
    }

    #[test]
    fn secrets_differ() {
        let secrets: std::collections::BTreeSet<String> = (0..100).map(|_| secret().unwrap()).collect();
        assert_eq!(secrets.len(), 100);
        assert!(secrets.iter().all(|secret| secret.len() == 32));
    }
}
