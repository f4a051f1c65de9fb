//! **How is it solved?**
//!
//! The numerical tools below everything else; nothing here knows of meshes. [`simd`] runs batches on the widest
//! registers that the machine has, [`low_rank`] compresses many frames into few basis vectors under a bound on the
//! largest error, and [`random`] gives numbers that depend on what they are for and not on who asked first.

pub mod low_rank;
pub mod random;
pub mod simd;
