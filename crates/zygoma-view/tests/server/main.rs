//! The server as a browser, a stranger and a careless program meet it.

mod client;
mod guarded;
mod protocol;
mod tabs;
