//! Projective dynamics: energies that pull samples of the vertices to the closest points of simple sets.
//!
//! A [`System`] holds [`Elements`] of several [`Energy`]s. Each element samples its vertices with a [`Stencil`] (a deformation gradient, an edge, a
//! curvature vector, a position) and pulls the sample to the closest point of a set. Weights come from a [`Material`] and the rest volume or
//! area. A [`Solver`] finds equilibria and [`Dynamics`] makes implicit Euler steps, both by L-BFGS around a [`GlobalStep`]: the [`Prefactored`]
//! Cholesky solve, [`GaussSeidel`] iterations, or the one after the other, factored in the [`Background`]. After *Progressive PD*; the minimum is
//! that of the true energy, in which every closest point moves along.

mod adjoint;
mod background;
mod batches;
mod dynamics;
mod elements;
mod energies;
mod gauss_seidel;
#[cfg(test)]
mod laws;
mod material;
mod newton;
mod prefactored;
mod rigid_body;
mod shapes;
mod solve;
mod stencil;
mod system;
#[cfg(test)]
pub(crate) mod test_bodies;

pub use adjoint::{NotConverged, adjoint};
pub use background::Background;
pub use dynamics::Dynamics;
pub use elements::{Elements, Group, Part, Precision, Row, VisitBlock, VisitRow};
pub use energies::{
    CorotatedVolume, Energy, ExtendedStVk, GradientTarget, HalfSpace, Length, Line, Plane, Shape,
    ShapedCorotatedVolume, Strain, StrainLimit, Target, TriangleArea, TriangleStrain, Unfolding, Volume,
    VolumeTarget,
};
pub use gauss_seidel::GaussSeidel;
pub use material::Material;
pub use prefactored::{ColumnFactor, Factored, Prefactored, TransientError};
pub use rigid_body::RigidBody;
pub use solve::{Changed, GlobalStep, Inertia, LineSearch, SolveOptions, SolveReport, SolveTimes, Solver};
pub use stencil::{Point, Stencil};
pub use system::{Handle, MatrixRow, System, VertexBeyond, position, row};

/// Tetrahedra with strain and volume.
pub type CorotatedTets<T> = Elements<T, CorotatedVolume, 4, 3, 4>;
/// Tetrahedra with strain towards a shape, and volume.
pub type ShapedTets<T> = Elements<T, ShapedCorotatedVolume, 4, 3, 13>;
/// Elastic tetrahedra over displacements from a rest shape that may change.
pub type StVkTets<T> = Elements<T, ExtendedStVk, 4, 3, 2>;
/// Tetrahedra that resist being crushed or inverted.
pub type UnfoldingTets<T> = Elements<T, Unfolding, 4, 3, 3>;
/// Vertices pulled to given places.
pub type Attachments<T> = Elements<T, Target, 1, 1, 4>;
