//! Built-in takes.
use zygoma_rig::Take;
pub(crate) fn all() -> Vec<Take> { Vec::new() }
