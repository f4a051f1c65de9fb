//! A performance: measures of a simulated face against the plain rig.

pub mod watch;
