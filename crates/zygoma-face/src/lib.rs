//! **What do users come for?**
//!
//! The systems of zygoma, one module each: [`interactive`] faces can be touched and pulled,
//! and [`perform`] gives a performance flesh with weight. [`touch`] is what presses on either;
//! [`watch`] measures how well they do.

mod head_path;
pub mod interactive;
pub mod perform;
pub mod touch;
pub mod watch;
