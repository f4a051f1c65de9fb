//! **How is it seen and touched?**
//!
//! [`Server`] shows a page in the browser where a face performs and can be touched. The simulation runs here, one thread for
//! each tab (`session`); the page, whose TypeScript sources are in `web/`, draws and sends input ([`protocol`]).
//!
//! The page is embedded in the program: nothing on disk is served. Uploads of a tab are read by the same importers as any
//! file, from a temporary folder that is removed with the tab.
//!
//! ```
//! use zygoma_view::{Options, Server};
//!
//! let server = Server::new(&Options { keep_faces: false, ..Options::default() })?;
//! println!("The built-in head is at {}", server.url());
//! # server.stopper().stop();
//! server.run()?; // Until its `stopper` is used.
//! # Ok::<(), zygoma_view::Error>(())
//! ```

mod anatomy;
mod body_builder;
mod builder;
mod container;
mod frame;
mod kinds;
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
