//! Benchmarks: medians with spread, each beside a reference measured in the same run.

pub(crate) mod anatomical;
pub(crate) mod anatomy;
pub(crate) mod bodies;
pub(crate) mod convergence;
pub(crate) mod enriched;
pub(crate) mod exact;
pub(crate) mod expressions;
pub(crate) mod fit;
pub(crate) mod fuzz;
pub(crate) mod hands;
mod harness;
pub(crate) mod head;
pub(crate) mod interactive;
pub(crate) mod retarget;
pub(crate) mod rig;
pub(crate) mod soak;
pub(crate) mod svd;
pub(crate) mod tissue;
#[cfg(feature = "view")]
pub(crate) mod view;
pub(crate) mod volumes;

pub(crate) use harness::{Bench, Report};
