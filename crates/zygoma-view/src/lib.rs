//! **How is it seen and touched?**
//!
//! [`Server`] shows a page in the browser where a face performs and can be touched. The simulation runs here, one thread for
//! each tab (`session`); the page, whose TypeScript sources are in `web/`, draws and sends input ([`protocol`]).
//!
//! The page is embedded in the program: nothing on disk is served. What a tab uploads is read by the same importers as any
//! file, from a temporary folder that goes when the tab does.

mod builder;
mod container;
mod frame;
mod grower;
mod mailbox;
mod measure;
mod model;
mod page;
pub mod protocol;
mod server;
mod session;
mod turns;

pub use measure::{Measured, measure};
pub use server::{Error, Options, Server, Show, Stop, Timeouts};
