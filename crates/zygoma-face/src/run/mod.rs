//! Turns a take, a body and a touch script into frames: [`Performance`].

mod hand_measure;
mod hands;
mod performance;
mod recording;
mod spool;
pub mod toml_file;
mod touch_script;
pub mod watch;

pub use hand_measure::{
    COLLISION, HandFrameMeasure, HandProbe, HandRow, HandSummary, MeasuredHand, Penetration,
};
pub use hands::{HandProp, Hands};
pub use performance::{DeviationSummary, FrameDeviation, Observer, Outcome, Performance, Performed};
pub use recording::{About, Recording};
pub use spool::SpooledFrames;
pub use touch_script::{Moment, Player, Prop, ScriptedHand, ScriptedTouch, TouchScript};
