//! Turns a take, a body and a touch script into frames: [`Performance`].

mod performance;
mod spool;
pub mod toml_file;
pub mod touch_script;
pub mod watch;

pub use performance::{DeviationSummary, FrameDeviation, Observer, Outcome, Performance, Performed};
pub use spool::SpooledFrames;
pub use touch_script::{Prop, TouchScript};
