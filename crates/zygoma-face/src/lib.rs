//! **What do users come for?**
//!
//! The systems of zygoma, one module each: [`interactive`] faces can be touched and pulled.

pub mod interactive;
