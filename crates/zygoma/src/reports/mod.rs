//! HTML reports with pictures, of builds and of simulations.

pub(crate) mod build;
pub(crate) mod enriched;
pub(crate) mod fields;
pub(crate) mod simulation;
pub(crate) mod tissue;
mod worst;
