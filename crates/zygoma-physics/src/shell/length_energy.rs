//! The energy that springs and bending elements of a shell share.

use glam::{DMat3, DVec3};

/// The energy of a vector q with a free length r, W(q) = ½ (‖q‖ − r)² per unit of stiffness (IFA eq. 7 and 9).
///
/// q joins the ends of a spring, or the closest points of a bending element. Gradient: (1 − r/‖q‖) q. Hessian: u uᵀ + (1 − r/‖q‖)(I − u uᵀ) with
/// u = q/‖q‖, which curves down across q while q is shorter than r. A slack element only pulls: below r its energy is zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct LengthEnergy {
    /// r.
    pub(super) length: f64,
    /// Whether it only pulls.
    pub(super) is_slack_below: bool,
}

impl LengthEnergy {
    /// The energy of a spring.
    pub(super) fn spring(length: f64) -> Self {
        Self { length, is_slack_below: false }
    }

    /// The energy of a bending element.
    pub(super) fn bend(length: f64) -> Self {
        Self { length, is_slack_below: true }
    }

    fn is_slack(&self, length: f64) -> bool {
        self.is_slack_below && length <= self.length
    }

    /// 2 W(q) = (‖q‖ − r)².
    pub(super) fn doubled(&self, q: DVec3) -> f64 {
        let length = q.length();
        if self.is_slack(length) { 0.0 } else { (length - self.length).powi(2) }
    }

    /// ∂W/∂q.
    pub(super) fn gradient(&self, q: DVec3) -> DVec3 {
        let length = q.length();
        if self.is_slack(length) { DVec3::ZERO } else { q - self.length * q.normalize_or_zero() }
    }

    /// ∂²W/∂q², less the fraction `damping` of its negative eigenvalues: 0 is exact, 1 is positive semidefinite.
    pub(super) fn hessian(&self, q: DVec3, damping: f64) -> DMat3 {
        let length = q.length();
        if self.is_slack(length) {
            return DMat3::ZERO;
        }
        if self.length == 0.0 || length < 1e-12 {
            return DMat3::IDENTITY;
        }
        let along = q / length;
        let across = 1.0 - self.length / length;
        let across = if across < 0.0 { (1.0 - damping) * across } else { across };
        let outer = DMat3::from_cols(along * along.x, along * along.y, along * along.z);
        DMat3::from_diagonal(DVec3::splat(across)) + outer * (1.0 - across)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn length_energy_derivatives_match_finite_differences(
            q in prop::array::uniform3(-1.0..1.0_f64), along in prop::array::uniform3(-1.0..1.0_f64), is_bend in any::<bool>(),
        ) {
            let (q, along) = (DVec3::from(q), DVec3::from(along));
            let energy = if is_bend { LengthEnergy::bend(0.7) } else { LengthEnergy::spring(0.7) };
            // Away from the origin and from the kink where a bending element tightens.
            prop_assume!(q.length() > 0.1 && (q.length() - 0.7).abs() > 1e-3);
            let step = 1e-6;
            let [after, before] = [step, -step].map(|by| q + by * along);
            let slope = 0.5 * (energy.doubled(after) - energy.doubled(before)) / (2.0 * step);
            prop_assert!((slope - energy.gradient(q).dot(along)).abs() < 1e-8);
            let change = (energy.gradient(after) - energy.gradient(before)) / (2.0 * step);
            prop_assert!(change.distance(energy.hessian(q, 0.0) * along) < 1e-7);
            prop_assert!((energy.hessian(q, 1.0) * along).dot(along) >= 0.0, "without negative curvature");
        }
    }

    #[test]
    fn a_slack_element_does_not_push() {
        let short = 0.5 * DVec3::X;
        assert_eq!(LengthEnergy::bend(0.7).gradient(short), DVec3::ZERO);
        assert!(LengthEnergy::spring(0.7).gradient(short).x < 0.0);
    }
}
