//! The singular value decomposition of 3×3 matrices with rotations on both sides, sixteen at a time.
//!
//! [`svd3`] is written once over [`Lane`]: a single `f32` or `f64`, or a register. [`svd3_batch`] runs it on batches
//! of sixteen, [`svd3_batch_scalar`] is its plain twin. [`Memo`] keeps decompositions while their matrices hardly change, after
//! *Progressive PD*, §6; `zygoma bench svd` says what they are worth.

mod batch;
mod decompose;
mod lane;
pub mod matrix;
mod memo;
mod taylor;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_taylor;

pub use batch::{
    LANES, Mat3x16, Sixteen, Svd3x16, load_lane, store_matrix_lane, svd_lane, svd3_batch, svd3_batch_scalar,
};
pub use decompose::{Svd3, svd3};
pub use lane::{Lane, Pair, Wide};
pub use memo::{Kept, Memo, Thresholds, UpdateCounts};
use taylor::{Expansion, RotationExpansion};

/// A vector.
pub type Vec3<T> = [T; 3];

/// A matrix as three columns.
pub type Mat3<T> = [Vec3<T>; 3];
