//! **How is it solved?**
//!
//! The numerical tools below everything else; nothing here knows of meshes. [`simd`] runs batches on the widest
//! registers that the machine has, [`low_rank`] compresses many frames into few basis vectors under a bound on the
//! largest error, and [`random`] gives numbers that depend on what they are for and not on who asked first.
//! A [`Cholesky`] factor solves sparse symmetric systems in `f64`, a [`PackedFactor`] three at once in `f32`
//! within a frame, and a [`SplitFactor`] on two threads; a [`DenseFactor`] solves small dense ones. [`svd3`] decomposes 3×3 matrices, eight at a
//! time, [`Lbfgs`] remembers curvature, and [`vectors`] are long. [`Checked`] is how parameters are kept in range, and a
//! [`Budget`] says when long work must stop.

pub mod low_rank;
pub mod random;
pub mod simd;
pub mod svd3;
pub mod vectors;

mod budget;
mod cholesky;
mod dense;
mod dissection;
mod lbfgs;
mod packed;
mod packed_kernels;
mod params;
mod split;
mod symmetric;
#[cfg(test)]
mod test_matrices;

pub use budget::{Budget, Stop};
pub use cholesky::{Analysis, Cholesky, NotPositiveDefinite};
pub use dense::{DenseFactor, Singular};
pub use dissection::nested_dissection;
pub use lbfgs::{Lbfgs, Real};
pub use packed::{PackedAnalysis, PackedFactor, Row};
pub use params::{BadParam, Checked, Ranged};
pub use split::SplitFactor;
pub use symmetric::{SymmetricMatrix, inverse};
