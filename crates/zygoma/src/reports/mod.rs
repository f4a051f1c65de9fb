//! Pages with pictures: what a build found and what a simulation did.

pub(crate) mod build;
pub(crate) mod fields;

pub(crate) mod simulation;
pub(crate) mod tissue;
mod worst;
