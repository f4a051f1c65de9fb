//! Benchmarks: medians with spread, each beside a reference measured in the same run.

pub(crate) mod fit;
mod harness;
pub(crate) mod head;
pub(crate) mod rig;
#[cfg(feature = "view")]
pub(crate) mod view;

pub(crate) use harness::{Bench, Report};
