//! The energies of projective dynamics, one file each.
//!
//! All but [`ExtendedStVk`] and [`Unfolding`] are W(z) = ½ w ‖z − p(z)‖², or a sum of two of these: z = G x samples the vertices linearly
//! ([`Stencil`](super::Stencil)) and p is the point of some set closest to z (*Progressive PD* eq. 3).
//!
//! - Stress: σ = ∂W/∂z = w (z − p). The derivative of p drops out, because p is a closest point.
//! - Stress differential: dσ = w (dz − dp). With p the gradient of ½ ‖z‖² − ½ ‖z − p‖² it is symmetric, so that the same product serves the
//!   adjoint of a converged step.
//!
//! Each file holds one energy: its formula and derivation, a struct with its named parameters, energy, stress, differential, and a test that compares
//! them with finite differences. [`Elements`](super::Elements) keeps the parameters packed; [`Energy::pack`] and [`Energy::unpack`] are
//! the only places that know their order. Everything is written over [`Lane`], for single numbers and registers alike, and so without closures and
//! iterators in `evaluate` (see [`zygoma_numerics::svd3::matrix`]).

use zygoma_numerics::svd3::matrix::{dot, scale};
use zygoma_numerics::svd3::{Lane, Mat3, Vec3};

mod columns;
mod corotated_volume;
#[cfg(test)]
mod derivative_test;
mod extended_stvk;
mod gradient_target;
mod half_space;
mod isotropic;
mod length;
mod line;
mod plane;
mod rotation;
mod shape;
mod shaped_corotated_volume;
mod strain;
mod strain_limit;
mod target;
mod triangle_area;
mod triangle_strain;
mod unfolding;
mod volume;

pub use corotated_volume::CorotatedVolume;
pub use extended_stvk::ExtendedStVk;
pub use gradient_target::GradientTarget;
pub use half_space::HalfSpace;
pub use length::Length;
pub use line::Line;
pub use plane::Plane;
pub use shape::Shape;
pub use shaped_corotated_volume::ShapedCorotatedVolume;
pub use strain::Strain;
pub use strain_limit::StrainLimit;
pub use target::Target;
pub use triangle_area::TriangleArea;
pub use triangle_strain::TriangleStrain;
pub use unfolding::Unfolding;
pub use volume::{Volume, VolumeTarget};

/// An energy over `R` sampled vectors, with `P` numbers as parameters of each element.
///
/// It is implemented for a struct of named parameters over `f64`; [`Parameters`](Self::Parameters) is the same struct over any number.
pub trait Energy<const R: usize, const P: usize>: Send + Sync + 'static {
    /// How many of the packed parameters are weights. These come first.
    const WEIGHTS: usize = 1;

    /// The named parameters of one element, or of as many as a register holds.
    type Parameters<T: Lane>: Copy;

    /// The parameters in the order in which elements store them.
    fn pack(parameters: Self::Parameters<f64>) -> [f64; P];

    /// The inverse of [`pack`](Self::pack).
    fn unpack<T: Lane>(packed: &[T; P]) -> Self::Parameters<T>;

    /// Energy W and stress ∂W/∂z.
    fn evaluate<T: Lane>(parameters: &Self::Parameters<T>, z: &[Vec3<T>; R]) -> (T, [Vec3<T>; R]);

    /// The differential of the stress at `z` in a direction: ∂²W/∂z² dz.
    fn stress_differential(
        parameters: &Self::Parameters<f64>,
        z: &[Vec3<f64>; R],
        dz: &[Vec3<f64>; R],
    ) -> [Vec3<f64>; R];
}

/// Energy ½ w ‖z − p‖² and stress w (z − p) for a closest point p.
#[inline(always)]
fn pull<T: Lane, const R: usize>(weight: T, z: &[Vec3<T>; R], p: &[Vec3<T>; R]) -> (T, [Vec3<T>; R]) {
    let mut stress = *z;
    let mut square = weight.splat(0.0);
    for r in 0..R {
        let off = [z[r][0] - p[r][0], z[r][1] - p[r][1], z[r][2] - p[r][2]];
        square = square + dot(off, off);
        stress[r] = scale(weight, off);
    }
    (weight * weight.splat(0.5) * square, stress)
}

/// Stress differential w (dz − dp).
fn pull_differential<const R: usize>(
    weight: f64,
    dz: &[Vec3<f64>; R],
    dp: &[Vec3<f64>; R],
) -> [Vec3<f64>; R] {
    std::array::from_fn(|r| std::array::from_fn(|k| weight * (dz[r][k] - dp[r][k])))
}

/// The sum of two matrices.
#[inline(always)]
fn add<T: Lane>(a: &Mat3<T>, b: &Mat3<T>) -> Mat3<T> {
    let mut sum = *a;
    for r in 0..3 {
        for k in 0..3 {
            sum[r][k] = sum[r][k] + b[r][k];
        }
    }
    sum
}
