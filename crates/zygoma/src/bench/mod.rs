//! Benchmarks: medians with spread, each beside a reference measured in the same run.

mod harness;
pub(crate) mod head;
pub(crate) mod interactive;
pub(crate) mod rig;
pub(crate) mod soak;

pub(crate) use harness::{Bench, Report};
