//! Shape targets from displacements: each element aims at the shape that displaced vertices give it.

use rayon::prelude::*;
use zygoma_numerics::Real;
use zygoma_numerics::svd3::{LANES, Mat3, svd3};

use super::ShapedTets;
use super::elements::{Batch, Precision, Row};
use super::energies::{Energy, ShapedCorotatedVolume, VolumeTarget};

/// Batches that are worth handing to another thread. Ours.
const PIECE: usize = 64;

impl<T: Precision> ShapedTets<T> {
    /// Makes every element aim at the shape and volume that it has under these displacements (GPFM eq. 10); there it is free of strain. Singular
    /// values of a shape are at least `least`, so that an element which the displacements invert still aims at a valid shape.
    ///
    /// # Panics
    /// If a vertex of an element has no displacement.
    pub fn take_shapes(&mut self, displacements: &[Row<T>], least: f64) {
        self.batches_mut()
            .par_iter_mut()
            .with_min_len(PIECE)
            .for_each(|batch| batch.take_shapes(displacements, least));
    }
}

impl<T: Real> Batch<T, 4, 3, 13> {
    fn take_shapes(&mut self, displacements: &[Row<T>], least: f64) {
        for lane in 0..LANES {
            let mut shape = self.sample(lane, displacements).map(|column| column.map(Into::into));
            (0..3).for_each(|k| shape[k][k] += 1.0);
            let (shape, volume) = sound(&shape, least);
            let weights = <ShapedCorotatedVolume>::unpack(&self.packed(lane));
            let shaped = ShapedCorotatedVolume { volume: VolumeTarget::new(volume), shape, ..weights };
            self.set_packed(lane, <ShapedCorotatedVolume>::pack(shaped));
        }
    }
}

/// The closest matrix whose singular values are all at least `least`, with its determinant.
fn sound(shape: &Mat3<f64>, least: f64) -> (Mat3<f64>, f64) {
    let [[a, b, c], [d, e, f], [g, h, i]] = *shape;
    let determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
    let square: f64 = shape.as_flattened().iter().map(|entry| entry * entry).sum();
    // The product of the two largest singular values is at most half of that.
    if 2.0 * determinant >= least * square {
        return (*shape, determinant);
    }
    let svd = svd3(shape);
    let kept = svd.d.map(|value| value.max(least));
    (svd.with_values(kept), kept[0] * kept[1] * kept[2])
}

#[cfg(test)]
mod tests {
    use glam::{DMat3, DVec3};

    use super::super::{Group, Part, Stencil, row};
    use super::*;

    const CORNERS: [DVec3; 4] = [DVec3::ZERO, DVec3::X, DVec3::new(0.2, 1.0, 0.1), DVec3::new(0.3, 0.1, 0.8)];

    fn element() -> ShapedTets<f64> {
        let mut tets = ShapedTets::new();
        let stencil = Stencil::tetrahedron(&CORNERS, [0, 1, 2, 3]).unwrap();
        let shape = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let volume = VolumeTarget::REST;
        tets.push(&stencil, ShapedCorotatedVolume { strain_weight: 2.0, volume_weight: 5.0, volume, shape });
        tets
    }

    fn energy(tets: &ShapedTets<f64>, map: DMat3) -> f64 {
        let x: Vec<Row<f64>> = CORNERS.iter().map(|p| row(map * *p)).collect();
        tets.accumulate(Part::ALL, &x, &mut x.clone())
    }

    #[test]
    fn an_element_is_at_rest_where_it_took_its_shape_and_however_it_is_turned_there() {
        let map = DMat3::from_cols_array(&[1.4, 0.1, 0.0, -0.2, 0.6, 0.3, 0.1, 0.0, 0.9]);
        let moved: Vec<Row<f64>> = CORNERS.iter().map(|p| row(map * *p - *p)).collect();
        let mut tets = element();
        assert!(energy(&tets, map) > 0.01);
        tets.take_shapes(&moved, 0.1);
        assert!(energy(&tets, map) < 1e-20);
        assert!(energy(&tets, DMat3::from_rotation_x(0.8) * map) < 1e-20);
        assert!(energy(&tets, DMat3::IDENTITY) > 0.01);
    }

    #[test]
    fn an_element_that_is_turned_inside_out_aims_at_a_sound_shape() {
        let mirror = DMat3::from_diagonal(DVec3::new(1.2, 0.9, -0.5));
        let moved: Vec<Row<f64>> = CORNERS.iter().map(|p| row(mirror * *p - *p)).collect();
        let mut tets = element();
        tets.take_shapes(&moved, 0.2);
        let ShapedCorotatedVolume { volume: VolumeTarget { determinant, cube_root }, shape, .. } =
            tets.parameters(0);
        assert!(
            (determinant - 1.2 * 0.9 * 0.2).abs() < 1e-12 && (cube_root.powi(3) - determinant).abs() < 1e-12
        );
        assert!((DMat3::from_cols_array_2d(&shape).determinant() - determinant).abs() < 1e-12);
        assert!(energy(&tets, DMat3::from_diagonal(DVec3::new(1.2, 0.9, 0.2))) < 1e-20);
    }
}
