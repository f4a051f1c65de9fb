//! **How is it solved?**
//!
//! The numerical tools below everything else. Nothing here knows of meshes.
//!
//! - Sparse: a [`SymmetricMatrix`] is factored by [`Cholesky`] (an [`Analysis`] is shared by all matrices of a pattern). [`PackedFactor`] solves for
//!   three right-hand sides in `f32` within a frame, [`SplitFactor`] does so on several threads, [`nested_dissection`] orders for both.
//! - Dense: [`DenseFactor`], and [`LuFactor`] where a matrix is not positive definite. Without a factor: [`conjugate_gradients`].
//! - Optimisation: [`Newton`] keeps its factor while that converges well; [`Lbfgs`] is the recursion around any initial inverse Hessian, [`vectors`]
//!   its long vectors.
//! - [`svd3`] decomposes 3×3 matrices sixteen at a time, [`simd`] runs kernels on the widest registers, [`low_rank`] compresses frames under a bound on
//!   the largest error.
//! - [`random`] numbers depend on their purpose, never on the order of calls. [`Checked`] keeps parameters in range, and a [`Budget`] is a
//!   deadline and a cancel flag.
//!
//! Factor once, solve often:
//!
//! ```
//! use zygoma_numerics::{Analysis, Cholesky, SymmetricMatrix};
//!
//! let mut matrix = SymmetricMatrix::from_entries(2, &[(0, 0, 4.0), (1, 0, 1.0), (1, 1, 3.0)]);
//! let mut factor = Cholesky::<f64>::new(Analysis::new(&matrix), &matrix)?;
//! let mut x = [1.0, 2.0];
//! factor.solve_in_place(&mut x);
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-12 && (x[1] - 7.0 / 11.0).abs() < 1e-12);
//!
//! matrix.add(0, 0, 1.0); // The same pattern: only the numbers are factored again.
//! factor.refactor(&matrix)?;
//! # Ok::<(), zygoma_numerics::NotPositiveDefinite>(())
//! ```

pub mod low_rank;
pub mod random;
pub mod simd;
pub mod svd3;
pub mod vectors;

mod budget;
mod cholesky;
mod conjugate_gradients;
mod definite;
mod dense;
mod dissection;
mod lbfgs;
mod lu;
mod newton;
mod packed;
mod packed_kernels;
mod params;
mod split;
mod symmetric;
#[cfg(test)]
mod test_matrices;

pub use budget::{Budget, Stop};
pub use cholesky::{Analysis, Cholesky, NotPositiveDefinite};
pub use conjugate_gradients::{CgEnd, CgSolution, CgStatus, conjugate_gradients};
pub use definite::project_definite;
pub use dense::DenseFactor;
pub use dissection::nested_dissection;
pub use lbfgs::{Lbfgs, Real};
pub use lu::{LuFactor, Singular};
pub use newton::{Newton, NewtonParams, NewtonProblem, NotConverged};
pub use packed::{PackedAnalysis, PackedFactor, Row};
pub use params::{BadParam, Checked, Ranged};
pub use split::{SplitAnalysis, SplitFactor};
pub use symmetric::{SymmetricMatrix, inverse};
