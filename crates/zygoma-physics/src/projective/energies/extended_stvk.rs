//! The extended St. Venant–Kirchhoff solid.

use zygoma_numerics::svd3::matrix::{dot, product, scale, scale_add, transposed_product};
use zygoma_numerics::svd3::{Lane, Mat3};

use super::Energy;
use super::rotation::cofactors;

/// Below this fraction of its volume an element is kept from inverting. Ours.
const CRUSHED: f64 = 0.2;
/// κ = RAISED · (ENOUGH · μ − λ), where that is positive. Ours: an inverted element with the singular values −a, c, c is a stable equilibrium wherever the
/// pressure there is below μ/√2 (a (1 − a² + q²) = q and 1 − c² = q a for the pressure q μ; an unequal change of the two c lowers the energy only for q a > ½).
/// With these values no pressure is as low below J = −0.2, whatever λ.
const ENOUGH: f64 = 0.75;
const RAISED: f64 = 2.0;

/// An elastic solid whose volume term also resists inversion, W(H) = V (μ tr E² + ½ λ (J − 1)²) for the gradient H of a displacement from rest, with
/// F = I + H, E = ½ (FᵀF − I) and J = det F (*Blendvolumes* eq. 4 and 5; there μ [tr E]², which would have no shear stiffness).
///
/// Sampling the displacement instead of the position makes H = 0 free of force in floating point: E = ½ (H + Hᵀ + HᵀH) and J − 1 are sums of terms
/// in H. Below J = 0.2 the energy has ½ κ (J − 0.2)² more, with κ = 2 (¾ μ − λ) where that is positive. Stress: V (2 μ F E + p cof F) with
/// p = λ (J − 1) + κ min(J − 0.2, 0). Differential: V (2 μ (dF E + F dE) + dp cof F + p dcof F). There is no closest point, and no decomposition; the
/// weights bound the curvature at rest from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExtendedStVk<T = f64> {
    /// 2 μ V.
    pub strain_weight: T,
    /// 3 λ V.
    pub volume_weight: T,
}

impl ExtendedStVk {
    /// An element of a volume at rest (m³), with Lamé's constants (Pa).
    pub fn new(volume: f64, mu: f64, lambda: f64) -> Self {
        Self { strain_weight: 2.0 * mu * volume, volume_weight: 3.0 * lambda * volume }
    }
}

/// Lamé's constants and κ, each times the volume.
struct Stiffness<T> {
    mu: T,
    lambda: T,
    kappa: T,
}

impl<T: Lane> ExtendedStVk<T> {
    #[inline(always)]
    fn stiffness(&self) -> Stiffness<T> {
        let (mu, lambda) = (
            self.strain_weight * self.strain_weight.splat(0.5),
            self.volume_weight * self.strain_weight.splat(1.0 / 3.0),
        );
        let (zero, missing) = (mu.splat(0.0), mu * mu.splat(ENOUGH) - lambda);
        let kappa = mu.splat(RAISED) * T::pick(zero.less(missing), missing, zero);
        Stiffness { mu, lambda, kappa }
    }
}

/// E = ½ (H + Hᵀ + HᵀH).
#[inline(always)]
fn green_strain<T: Lane>(h: &Mat3<T>) -> Mat3<T> {
    let half = h[0][0].splat(0.5);
    let square = transposed_product(h, h);
    let mut e = square;
    for c in 0..3 {
        for r in 0..3 {
            e[c][r] = half * (h[c][r] + h[r][c] + square[c][r]);
        }
    }
    e
}

/// det(I + H) − 1 = tr H + tr cof H + det H.
#[inline(always)]
fn volume_change<T: Lane>(h: &Mat3<T>) -> T {
    let c = cofactors(h);
    h[0][0] + h[1][1] + h[2][2] + c[0][0] + c[1][1] + c[2][2] + dot(h[0], c[0])
}

/// F = I + H.
#[inline(always)]
fn from_displacement<T: Lane>(h: &Mat3<T>) -> Mat3<T> {
    let one = h[0][0].splat(1.0);
    let mut f = *h;
    for k in 0..3 {
        f[k][k] = f[k][k] + one;
    }
    f
}

impl Energy<3, 2> for ExtendedStVk {
    const WEIGHTS: usize = 2;

    type Parameters<T: Lane> = ExtendedStVk<T>;

    fn pack(p: ExtendedStVk) -> [f64; 2] {
        [p.strain_weight, p.volume_weight]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[strain_weight, volume_weight]: &[T; 2]) -> ExtendedStVk<T> {
        ExtendedStVk { strain_weight, volume_weight }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &ExtendedStVk<T>, h: &Mat3<T>) -> (T, Mat3<T>) {
        let Stiffness { mu, lambda, kappa } = p.stiffness();
        let (half, zero) = (mu.splat(0.5), mu.splat(0.0));
        let (e, change, f) = (green_strain(h), volume_change(h), from_displacement(h));
        let crushed = change + mu.splat(1.0 - CRUSHED);
        let crushed = T::pick(crushed.less(zero), crushed, zero);
        let square = dot(e[0], e[0]) + dot(e[1], e[1]) + dot(e[2], e[2]);
        let energy = mu * square + half * (lambda * change * change + kappa * crushed * crushed);
        let pressure = lambda * change + kappa * crushed;
        let (fe, cofactor) = (product(&f, &e), cofactors(&f));
        let twice = mu + mu;
        let stress = [
            scale_add(pressure, cofactor[0], scale(twice, fe[0])),
            scale_add(pressure, cofactor[1], scale(twice, fe[1])),
            scale_add(pressure, cofactor[2], scale(twice, fe[2])),
        ];
        (energy, stress)
    }

    fn stress_differential(p: &ExtendedStVk, h: &Mat3<f64>, dh: &Mat3<f64>) -> Mat3<f64> {
        let Stiffness { mu, lambda, kappa } = p.stiffness();
        let (e, change, f) = (green_strain(h), volume_change(h), from_displacement(h));
        let crushed = (change + 1.0 - CRUSHED).min(0.0);
        let cofactor = cofactors(&f);
        let d_change: f64 = (0..3).map(|k| dot(cofactor[k], dh[k])).sum();
        let pressure = lambda * change + kappa * crushed;
        let d_pressure = (lambda + if crushed < 0.0 { kappa } else { 0.0 }) * d_change;
        let d_cofactor = cofactor_differential(&f, dh);
        let (left, right) = (transposed_product(dh, &f), transposed_product(&f, dh));
        let de: Mat3<f64> =
            std::array::from_fn(|c| std::array::from_fn(|r| 0.5 * (left[c][r] + right[c][r])));
        let (dh_e, f_de) = (product(dh, &e), product(&f, &de));
        std::array::from_fn(|c| {
            std::array::from_fn(|r| {
                2.0 * mu * (dh_e[c][r] + f_de[c][r])
                    + d_pressure * cofactor[c][r]
                    + pressure * d_cofactor[c][r]
            })
        })
    }
}

/// The differential of the cofactors of a matrix.
pub(super) fn cofactor_differential(f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
    // Cofactors are quadratic: cof(F + dF) − cof F − cof dF is what is linear in both.
    let sum: Mat3<f64> = std::array::from_fn(|c| std::array::from_fn(|r| f[c][r] + df[c][r]));
    let [of_sum, of_f, of_df] = [&sum, f, df].map(cofactors);
    std::array::from_fn(|c| std::array::from_fn(|r| of_sum[c][r] - of_f[c][r] - of_df[c][r]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives_within, regular};
    use super::*;

    fn displacement(f: &Mat3<f64>) -> Mat3<f64> {
        std::array::from_fn(|c| std::array::from_fn(|r| f[c][r] - if c == r { 1.0 } else { 0.0 }))
    }

    proptest! {
        #[test]
        fn extended_st_vk_derivatives_match_finite_differences(f in regular::<3>(), mu in 0.5_f64..20.0) {
            // Away from the volume where crushing begins, at which the curvature jumps.
            prop_assume!((dot(f[0], cofactors(&f)[0]) - CRUSHED).abs() > 1e-3);
            check_derivatives_within::<ExtendedStVk, 3, 2>(1e-6, &ExtendedStVk::new(1.0, mu, 2.5), &displacement(&f));
        }
    }

    #[test]
    fn it_is_the_paper_s_energy_and_free_of_force_at_rest() {
        let p = ExtendedStVk::new(2.0, 3.0, 2.5);
        // Stretched to 1.2 along x: E = 0.22, J = 1.2.
        let (energy, stress) = ExtendedStVk::evaluate(&p, &[[0.2, 0.0, 0.0], [0.0; 3], [0.0; 3]]);
        assert!((energy - 2.0 * (3.0 * 0.22_f64.powi(2) + 0.5 * 2.5 * 0.04)).abs() < 1e-12);
        assert!((stress[0][0] - 2.0 * (2.0 * 3.0 * 1.2 * 0.22 + 2.5 * 0.2)).abs() < 1e-12);
        assert_eq!(ExtendedStVk::evaluate(&p, &[[0.0; 3]; 3]), (0.0, [[0.0; 3]; 3]));
        // A rotation has no energy.
        let turn = glam::DMat3::from_axis_angle(glam::DVec3::new(0.6, 0.0, 0.8), 1.0).to_cols_array_2d();
        assert!(ExtendedStVk::evaluate(&p, &displacement(&turn)).0 < 1e-28);
    }

    /// Descends from a random inverted start, one element alone.
    fn ends_inverted(p: &ExtendedStVk, seed: u64) -> bool {
        let mut f = super::super::derivative_test::gradient::<3>(seed, 0.3);
        f[0] = f[0].map(|value| -value);
        let step = 0.2 / (p.strain_weight + p.volume_weight);
        for _ in 0..4000 {
            let (_, stress) = ExtendedStVk::evaluate(p, &displacement(&f));
            (0..9).for_each(|k| f[k / 3][k % 3] -= step * stress[k / 3][k % 3]);
        }
        dot(f[0], cofactors(&f)[0]) <= 0.0
    }

    #[test]
    fn inverted_elements_come_back_also_where_they_are_stiff() {
        for mu in [3e3, 2e4, 5e4] {
            let p = ExtendedStVk::new(1.0, mu, 2.5e3);
            let stuck = (0..60).filter(|seed| ends_inverted(&p, *seed)).count();
            assert_eq!(stuck, 0, "{mu} Pa");
        }
    }
}
