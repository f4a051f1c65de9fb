//! **How is it solved?**
//!
//! Sparse symmetric systems and smooth minimisation, on plain slices. Nothing here knows of meshes.

mod cholesky;
mod dissection;
mod packed;
mod packed_kernels;
mod symmetric;
#[cfg(test)]
mod test_matrices;

pub use cholesky::{Analysis, Cholesky, NotPositiveDefinite};
pub use dissection::nested_dissection;
pub use packed::{PackedAnalysis, PackedFactor, Row};
pub use symmetric::{SymmetricMatrix, inverse};
