//! Strain towards a shape and volume of a solid at once.

use zygoma_numerics::svd3::{Lane, Mat3};

use super::{CorotatedVolume, Energy, Shape, Volume, VolumeTarget, add};

/// Strain towards a shape and volume at once, W(F) = ½ w_s ‖F − R A‖² + ½ w_v ‖F − U Σ* Vᵀ‖² with det Σ* = v (GPFM eq. 2 and *Progressive PD* eq. 15).
///
/// The sum of [`Shape`] and [`Volume`], and so are its stress and differential. Elements whose A is the identity cost no more than
/// [`CorotatedVolume`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapedCorotatedVolume<T = f64> {
    /// w_s, the weight of the strain times the rest volume.
    pub strain_weight: T,
    /// w_v, the weight of the volume times the rest volume.
    pub volume_weight: T,
    /// v.
    pub volume: VolumeTarget<T>,
    /// A, column by column. It need not be symmetric: R takes up any rotation in it.
    pub shape: Mat3<T>,
}

impl<T: Lane> ShapedCorotatedVolume<T> {
    #[inline(always)]
    fn parts(&self) -> (Shape<T>, Volume<T>) {
        (
            Shape { weight: self.strain_weight, shape: self.shape },
            Volume { weight: self.volume_weight, volume: self.volume },
        )
    }

    /// Whether some lane has a shape other than the identity.
    #[inline(always)]
    fn is_shaped(&self) -> bool {
        let [[a, b, c], [d, e, f], [g, h, i]] = self.shape;
        let one = a.splat(1.0);
        let diagonal = (a - one).abs() + (e - one).abs() + (i - one).abs();
        let others = b.abs() + c.abs() + d.abs() + f.abs() + g.abs() + h.abs();
        (diagonal + others).any_above(0.0)
    }
}

impl Energy<3, 13> for ShapedCorotatedVolume {
    const WEIGHTS: usize = 2;
    type Parameters<T: Lane> = ShapedCorotatedVolume<T>;

    fn pack(p: ShapedCorotatedVolume) -> [f64; 13] {
        let [[a, b, c], [d, e, f], [g, h, i]] = p.shape;
        let VolumeTarget { determinant, cube_root } = p.volume;
        [p.strain_weight, p.volume_weight, determinant, cube_root, a, b, c, d, e, f, g, h, i]
    }

    #[inline(always)]
    fn unpack<T: Lane>(
        &[strain_weight, volume_weight, determinant, cube_root, a, b, c, d, e, f, g, h, i]: &[T; 13],
    ) -> ShapedCorotatedVolume<T> {
        let volume = VolumeTarget { determinant, cube_root };
        let shape = [[a, b, c], [d, e, f], [g, h, i]];
        ShapedCorotatedVolume { strain_weight, volume_weight, volume, shape }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &ShapedCorotatedVolume<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        // Neighbours are shaped together, so that most registers are either all shaped or not at all.
        if !p.is_shaped() {
            let ShapedCorotatedVolume { strain_weight, volume_weight, volume, .. } = *p;
            return <CorotatedVolume>::evaluate(&CorotatedVolume { strain_weight, volume_weight, volume }, f);
        }
        let (shape, volume) = p.parts();
        let (strain_energy, strain_stress) = <Shape>::evaluate(&shape, f);
        let (volume_energy, volume_stress) = <Volume>::evaluate(&volume, f);
        (strain_energy + volume_energy, add(&strain_stress, &volume_stress))
    }

    fn stress_differential(p: &ShapedCorotatedVolume, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let (shape, volume) = p.parts();
        add(&<Shape>::stress_differential(&shape, f, df), &<Volume>::stress_differential(&volume, f, df))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, inner, moved, regular_solid, solid};
    use super::*;

    fn with_shape(determinant: f64, shape: Mat3<f64>) -> ShapedCorotatedVolume {
        let volume = VolumeTarget::new(determinant);
        ShapedCorotatedVolume { strain_weight: 2.0, volume_weight: 5.0, volume, shape }
    }

    proptest! {
        #[test]
        fn shaped_corotated_volume_derivatives_match_finite_differences(f in regular_solid()) {
            let shape = [[0.8, 0.1, 0.02], [-0.05, 1.3, 0.15], [0.1, 0.2, 1.1]];
            check_derivatives::<ShapedCorotatedVolume, 3, 13>(&with_shape(1.2, shape), &f);
        }
    }

    #[test]
    fn an_unshaped_element_is_a_corotated_volume() {
        for seed in 0..30 {
            let f = solid(seed, 0.3);
            let unshaped = with_shape(0.9, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
            let ShapedCorotatedVolume { strain_weight, volume_weight, volume, .. } = unshaped;
            let plain = CorotatedVolume { strain_weight, volume_weight, volume };
            let found = <ShapedCorotatedVolume>::evaluate(&unshaped, &f);
            assert_eq!(found, <CorotatedVolume>::evaluate(&plain, &f));
        }
    }

    #[test]
    fn a_shaped_element_is_the_sum_of_shape_and_volume() {
        for seed in 0..30 {
            let f = solid(seed, 0.3);
            let shaped = with_shape(0.9, [[0.7, -0.2, 0.0], [0.1, 1.0, 0.1], [0.0, 0.3, 1.3]]);
            let (energy, stress) = <ShapedCorotatedVolume>::evaluate(&shaped, &f);
            let (shape, volume) = shaped.parts();
            let (shape, volume) = (<Shape>::evaluate(&shape, &f), <Volume>::evaluate(&volume, &f));
            assert!((energy - shape.0 - volume.0).abs() < 1e-12 * energy);
            let sum = moved(&shape.1, &volume.1, 1.0);
            let miss = moved(&stress, &sum, -1.0);
            assert!(inner(&miss, &miss) < 1e-20 * inner(&sum, &sum));
        }
    }
}
