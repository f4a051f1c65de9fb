//! **What do users come for?**
//!
//! The systems of zygoma, one module each: [`interactive`] faces can be touched and pulled,
//! and [`perform`] gives a performance flesh with weight.

pub mod interactive;
pub mod perform;
