//! Strain and volume of a solid at once.

use zygoma_numerics::svd3::{Lane, Mat3, svd3};

use super::isotropic::pull_values;
use super::rotation::near_rotation;
use super::volume::{closest_product, near_volume, pull_by};
use super::{Energy, Strain, Volume, VolumeTarget, add, pull};

/// Strain and volume of a solid at once, W(F) = ½ w_s ‖F − R‖² + ½ w_v ‖F − U Σ* Vᵀ‖² with det Σ* = v (*Progressive PD* eq. 14 and 15).
///
/// The sum of [`Strain`] and [`Volume`], and so are its stress and differential; both share one singular value decomposition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorotatedVolume<T = f64> {
    /// w_s, the weight of the strain times the rest volume.
    pub strain_weight: T,
    /// w_v, the weight of the volume times the rest volume.
    pub volume_weight: T,
    /// v.
    pub volume: VolumeTarget<T>,
}

impl Energy<3, 4> for CorotatedVolume {
    const WEIGHTS: usize = 2;
    type Parameters<T: Lane> = CorotatedVolume<T>;

    fn pack(p: CorotatedVolume) -> [f64; 4] {
        [p.strain_weight, p.volume_weight, p.volume.determinant, p.volume.cube_root]
    }

    #[inline(always)]
    fn unpack<T: Lane>(
        &[strain_weight, volume_weight, determinant, cube_root]: &[T; 4],
    ) -> CorotatedVolume<T> {
        CorotatedVolume { strain_weight, volume_weight, volume: VolumeTarget { determinant, cube_root } }
    }

    #[inline(always)]
    fn evaluate<T: Lane>(p: &CorotatedVolume<T>, f: &Mat3<T>) -> (T, Mat3<T>) {
        if let (Some(rotation), Some(correction)) = (near_rotation(f), near_volume(f, p.volume.determinant)) {
            let (strain_energy, strain_stress) = pull(p.strain_weight, f, &rotation);
            let (volume_energy, volume_stress) = pull_by(p.volume_weight, &correction);
            return (strain_energy + volume_energy, add(&strain_stress, &volume_stress));
        }
        let svd = svd3(f);
        let one = p.strain_weight.splat(1.0);
        let (strain, pull) = pull_values(p.strain_weight, svd.d, [one, one, one]);
        let (volume, push) = pull_values(p.volume_weight, svd.d, closest_product(svd.d, p.volume));
        (strain + volume, svd.with_values([pull[0] + push[0], pull[1] + push[1], pull[2] + push[2]]))
    }

    fn stress_differential(p: &CorotatedVolume, f: &Mat3<f64>, df: &Mat3<f64>) -> Mat3<f64> {
        let strain = <Strain>::stress_differential(&Strain { weight: p.strain_weight }, f, df);
        let volume = Volume { weight: p.volume_weight, volume: p.volume };
        add(&strain, &<Volume>::stress_differential(&volume, f, df))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::derivative_test::{check_derivatives, regular_solid, solid};
    use super::*;

    proptest! {
        #[test]
        fn corotated_volume_derivatives_match_finite_differences(f in regular_solid()) {
            let volume = VolumeTarget::new(1.2);
            let p = CorotatedVolume { strain_weight: 2.0, volume_weight: 5.0, volume };
            check_derivatives::<CorotatedVolume, 3, 4>(&p, &f);
        }
    }

    #[test]
    fn inverted_and_flat_solids_have_the_same_energy_in_single_precision() {
        for d in super::super::volume::INVERTED_AND_FLAT {
            let f = svd3(&solid(3, 0.4)).with_values(d);
            let single = f.map(|column| column.map(|x| x as f32));
            let (energy, stress) =
                <CorotatedVolume>::evaluate(&<CorotatedVolume>::unpack(&[1.0_f32; 4]), &single);
            let (exact, _) = <CorotatedVolume>::evaluate(&<CorotatedVolume>::unpack(&[1.0; 4]), &f);
            assert!(
                (f64::from(energy) / exact - 1.0).abs() < 2e-3 || exact < 1e-9,
                "{d:?}: {energy} {exact}"
            );
            assert!(stress.iter().flatten().all(|x| x.is_finite()));
        }
    }
}
