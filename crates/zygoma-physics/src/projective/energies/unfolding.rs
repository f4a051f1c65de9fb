//! Shapes without inverted elements.

use zygoma_numerics::svd3::matrix::{dot, scale, scale_add};
use zygoma_numerics::svd3::{Lane, Mat3};

use super::Energy;
use super::extended_stvk::cofactor_differential;
use super::rotation::cofactors;

/// |F|³ of a rotation.
const ROTATION: f64 = 5.196_152_422_706_632;

/// Distortion that grows without bound as an element is crushed and falls while an inverted one is unfolded, after [Garanzha et al. 2021]
/// *Foldover-free maps in 50 lines of code*: W(F) = w (‖F‖³ / (3√3 χ) + b (J² + 1) / (2 χ)) with χ = ½ (J + √(J² + ε²)), J = det F.
///
/// The first term is the distortion of the shape, 1 for a similarity; the paper's tr FᵀF / χ^⅔ to the power of 3/2, which needs no cube root. The second
/// is the distortion of the volume. For ε > 0 both are finite everywhere; as ε falls to 0, inverted elements become infinitely expensive. With r = √(J² + ε²),
/// χ' = χ / r, so stress: w (3‖F‖ F / (3√3 χ) + p cof F), p = −‖F‖³ / (3√3 χ r) + b (J/χ − (J² + 1) / (2 χ r)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unfolding<T = f64> {
    /// w, the weight times the rest volume.
    pub weight: T,
    /// b, the weight of the volume against that of the shape.
    pub volume: T,
    /// ε, above 0.
    pub epsilon: T,
}

impl Unfolding {
    /// An estimate of the largest curvature, relative to that at rest: the curvature of W along J is that of 1/χ.
    pub fn stiffening(&self, f: &Mat3<f64>) -> f64 {
        let cofactor = cofactors(f);
        let square = |m: &Mat3<f64>| -> f64 { (0..3).map(|k| dot(m[k], m[k])).sum() };
        let j = dot(f[0], cofactor[0]);
        let energy = Self::evaluate(&Self { weight: 1.0, ..*self }, f).0;
        1.0 + energy * square(&cofactor) / (3.0 * (j * j + self.epsilon * self.epsilon))
    }
}

impl Energy<3, 3> for Unfolding {
    type Parameters<T: Lane> = Unfolding<T>;

    fn pack(p: Unfolding) -> [f64; 3] {
        [p.weight, p.volume, p.epsilon]
    }

    #[inline(always)]
    fn unpack<T: Lane>(&[weight, volume, epsilon]: &[T; 3]) -> Unfolding<T> {
        Unfolding { weight, volume, epsilon }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &Unfolding<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        let (half, one) = (p.weight.splat(0.5), p.weight.splat(1.0));
        let cofactor = cofactors(f);
        let j = dot(f[0], cofactor[0]);
        let square = dot(f[0], f[0]) + dot(f[1], f[1]) + dot(f[2], f[2]);
        let size = square.sqrt();
        let root = (j * j + p.epsilon * p.epsilon).sqrt();
        // For negative J the sum cancels: ε² / (2 (r − J)) is the same.
        let chi = T::pick(
            j.less(p.weight.splat(0.0)),
            half * p.epsilon * p.epsilon / (root - j),
            half * (j + root),
        );
        let inverse = one / chi;
        let shape = p.weight.splat(1.0 / ROTATION) * size * square * inverse;
        let bulk = half * p.volume * (j * j + one) * inverse;
        let energy = p.weight * (shape + bulk);
        let stretch = p.weight * p.weight.splat(3.0 / ROTATION) * size * inverse;
        let pressure = p.weight * (p.volume * j * inverse - (shape + bulk) / root);
        let stress = [
            scale_add(pressure, cofactor[0], scale(stretch, f[0])),
            scale_add(pressure, cofactor[1], scale(stretch, f[1])),
            scale_add(pressure, cofactor[2], scale(stretch, f[2])),
        ];
        (energy, stress)
    }

    fn stress_differential(p: &Unfolding, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let cofactor = cofactors(f);
        let inner = |a: &Mat3<f64>, b: &Mat3<f64>| -> f64 { (0..3).map(|k| dot(a[k], b[k])).sum() };
        let (j, dj) = (dot(f[0], cofactor[0]), inner(&cofactor, df));
        let size = inner(f, f).sqrt();
        let d_size = inner(f, df) / size;
        let root = j.hypot(p.epsilon);
        let d_root = j / root * dj;
        let chi = 0.5 * (j + root);
        let d_inverse = -dj / (root * chi);
        let shape = size.powi(3) / (ROTATION * chi);
        let bulk = 0.5 * p.volume * (j * j + 1.0) / chi;
        let d_shape = 3.0 * size * size * d_size / (ROTATION * chi) + size.powi(3) / ROTATION * d_inverse;
        let d_bulk = p.volume * j * dj / chi + 0.5 * p.volume * (j * j + 1.0) * d_inverse;
        let stretch = 3.0 * size / (ROTATION * chi);
        let d_stretch = 3.0 / ROTATION * (d_size / chi + size * d_inverse);
        let pressure = p.volume * j / chi - (shape + bulk) / root;
        let d_pressure = p.volume * (dj / chi + j * d_inverse) - (d_shape + d_bulk) / root
            + (shape + bulk) * d_root / (root * root);
        let d_cofactor = cofactor_differential(f, df);
        std::array::from_fn(|c| {
            std::array::from_fn(|r| {
                p.weight
                    * (stretch * df[c][r]
                        + d_stretch * f[c][r]
                        + pressure * d_cofactor[c][r]
                        + d_pressure * cofactor[c][r])
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular};
    use super::*;

    proptest! {
        #[test]
        fn unfolding_derivatives_match_finite_differences(f in regular::<3>(), epsilon in 0.3_f64..1.0) {
            check_derivatives::<Unfolding, 3, 3>(&Unfolding { weight: 2.0, volume: 0.3, epsilon }, &f);
        }
    }

    #[test]
    fn similarities_cost_least_and_inversion_costs_more_than_being_flat() {
        let p = Unfolding { weight: 1.0, volume: 0.0, epsilon: 1e-3 };
        let cost = |x: f64| Unfolding::evaluate(&p, &[[x, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).0;
        assert!((cost(1.0) - 1.0).abs() < 1e-6);
        assert!(cost(1.3) > 1.0 && cost(0.5) > cost(0.8) && cost(0.0) > 100.0);
        assert!(cost(-0.1) > 10.0 * cost(0.0) && cost(-0.2) > cost(-0.1));
    }
}
