//! The server as a browser, a stranger and a careless program meet it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail too")]

mod bodies;
mod client;
mod dome;
mod guarded;
mod hands;
mod protocol;
mod tabs;
