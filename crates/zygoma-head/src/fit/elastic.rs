//! A surface that resists strain and bending while its points are pulled to targets: quasi-static projective dynamics.

use std::sync::Arc;

use glam::{DMat3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::deformation::deformation_gradients;
use zygoma_geometry::laplacian::Laplacian;
use zygoma_numerics::svd3::svd3;
use zygoma_numerics::{Analysis, Cholesky, NotPositiveDefinite, SymmetricMatrix};

/// The rotation closest to a matrix.
pub(super) fn rotation(m: DMat3) -> DMat3 {
    DMat3::from_cols_array_2d(&svd3(&m.to_cols_array_2d()).rotation())
}

/// Stiffness of the surface: lengths over which a pull spreads, in metres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stiffness {
    /// Strain is weighted by the square of this length.
    pub(super) strain: f64,
    /// Bending is weighted by the fourth power of this length.
    pub(super) bend: f64,
}

/// A point of the surface that is pulled to a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    /// The vertices of the point, with their weights.
    pub(super) vertices: [u32; 3],
    pub(super) barycentric: [f64; 3],
    pub(super) to: DVec3,
    /// Weight, as an area in square metres.
    pub(super) weight: f64,
}

/// The surface at rest with everything that stays constant during a fit.
pub(super) struct ElasticSurface {
    rest: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// Area times gradient of each corner's hat function, at rest.
    hats: Vec<[DVec3; 3]>,
    laplacian: Laplacian,
    /// Length of the rest Laplacian at every vertex (Thesis eq. B.3: its direction is free).
    curvature: Vec<f64>,
    matrix: SymmetricMatrix,
    strain: Vec<f64>,
    bend: Vec<f64>,
    analysis: Arc<Analysis>,
}

impl ElasticSurface {
    pub(super) fn new(rest: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let laplacian = Laplacian::new(rest, triangles);
        let bilaplacian = laplacian.bilaplacian();
        let mut matrix =
            SymmetricMatrix::with_pattern(rest.len(), bilaplacian.iter().map(|(i, j, _)| (*i, *j)));
        for (i, j, value) in bilaplacian.iter().filter(|(i, j, _)| i >= j) {
            matrix.add(*i, *j, *value);
        }
        let bend = matrix.values().to_vec();
        matrix.values_mut().fill(0.0);
        let hats: Vec<([DVec3; 3], f64)> =
            triangles.iter().map(|t| hats(t.map(|v| rest[v as usize]))).collect();
        for (t, (hats, area)) in triangles.iter().zip(&hats) {
            for i in 0..3 {
                for j in (0..3).filter(|j| t[i] >= t[*j]) {
                    matrix.add(t[i] as usize, t[j] as usize, hats[i].dot(hats[j]) / area);
                }
            }
        }
        let strain = matrix.values().to_vec();
        let hats = hats.into_iter().map(|(hats, _)| hats).collect();
        let analysis = Analysis::new(&matrix);
        let mut surface = Self {
            rest: rest.to_vec(),
            triangles: triangles.to_vec(),
            hats,
            laplacian,
            curvature: Vec::new(),
            matrix,
            strain,
            bend,
            analysis,
        };
        surface.curvature = surface.laplacians(rest).iter().map(|l| l.length()).collect();
        surface
    }

    /// The integrated Laplacian divided by the area, at every vertex.
    fn laplacians(&self, x: &[DVec3]) -> Vec<DVec3> {
        let at = |(v, row): (usize, &Vec<(u32, f64)>)| {
            let sum: DVec3 = row.iter().map(|(w, weight)| *weight * (x[v] - x[*w as usize])).sum();
            sum / self.laplacian.areas[v].max(1e-300)
        };
        self.laplacian.rows.iter().enumerate().map(at).collect()
    }

    /// Moves `x` by some local-global iterations towards the minimum of strain, bending and pulls.
    pub(super) fn relax(
        &mut self,
        x: &mut [DVec3],
        pulls: &[Pull],
        stiffness: Stiffness,
        steps: usize,
    ) -> Result<(), NotPositiveDefinite> {
        let (strain, bend) = (stiffness.strain.powi(2), stiffness.bend.powi(4));
        let mixed = self.strain.iter().zip(&self.bend).map(|(s, b)| strain * s + bend * b);
        let mixed: Vec<f64> = mixed.collect();
        self.matrix.values_mut().copy_from_slice(&mixed);
        let mut pulled = vec![DVec3::ZERO; x.len()];
        for pull in pulls {
            for i in (0..3).filter(|i| pull.barycentric[*i] > 0.0) {
                let v = pull.vertices[i];
                pulled[v as usize] += pull.weight * pull.barycentric[i] * pull.to;
                for j in (0..3).filter(|j| pull.barycentric[*j] > 0.0 && v >= pull.vertices[*j]) {
                    let value = pull.weight * pull.barycentric[i] * pull.barycentric[j];
                    self.matrix.add(v as usize, pull.vertices[j] as usize, value);
                }
            }
        }
        let mut factor: Cholesky = Cholesky::new(self.analysis.clone(), &self.matrix)?;
        for _ in 0..steps {
            let mut right = pulled.clone();
            self.add_strain(x, strain, &mut right);
            self.add_bending(x, bend, &mut right);
            for axis in 0..3 {
                let mut column: Vec<f64> = right.iter().map(|r| r[axis]).collect();
                factor.solve_in_place(&mut column);
                x.iter_mut().zip(&column).for_each(|(p, value)| p[axis] = *value);
            }
        }
        Ok(())
    }

    /// Pulls every triangle to its rest shape, rotated as it is now.
    fn add_strain(&self, x: &[DVec3], weight: f64, right: &mut [DVec3]) {
        let gradients = deformation_gradients(&self.rest, x, &self.triangles);
        let turns: Vec<DMat3> = gradients.par_iter().map(|g| rotation(*g)).collect();
        for ((t, hats), turn) in self.triangles.iter().zip(&self.hats).zip(&turns) {
            (0..3).for_each(|i| right[t[i] as usize] += weight * (*turn * hats[i]));
        }
    }

    /// Pulls every vertex to its rest curvature, in its present direction (Thesis eq. B.3).
    fn add_bending(&self, x: &[DVec3], weight: f64, right: &mut [DVec3]) {
        let wanted: Vec<DVec3> = self
            .laplacians(x)
            .iter()
            .zip(&self.curvature)
            .map(|(now, length)| *length * now.normalize_or_zero())
            .collect();
        for (v, row) in self.laplacian.rows.iter().enumerate() {
            for (w, cotangent) in row {
                right[v] += weight * *cotangent * (wanted[v] - wanted[*w as usize]);
            }
        }
    }
}

/// Area times gradient of each corner's hat function, and the area; a degenerate triangle gets the smallest area.
fn hats([a, b, c]: [DVec3; 3]) -> ([DVec3; 3], f64) {
    let cross = (b - a).cross(c - a);
    let normal = cross.normalize_or_zero();
    let turned = |edge: DVec3| 0.5 * normal.cross(edge);
    ([turned(c - b), turned(a - c), turned(b - a)], (0.5 * cross.length()).max(1e-300))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::template::Template;

    #[test]
    fn a_turned_head_is_found_again_from_a_tenth_of_its_points() {
        let base = &Template::of(Level::Low).base;
        let rest: Vec<DVec3> = base.rest.iter().map(|p| *p / 1000.0).collect();
        let turn = glam::DQuat::from_rotation_y(0.3);
        let wanted: Vec<DVec3> = rest.iter().map(|p| turn * *p + DVec3::new(0.01, 0.0, 0.02)).collect();
        let pull = |v: usize| Pull {
            vertices: [v as u32; 3],
            barycentric: [1.0, 0.0, 0.0],
            to: wanted[v],
            weight: 1e-4,
        };
        let pulls: Vec<Pull> = (0..rest.len()).step_by(10).map(pull).collect();
        let mut surface = ElasticSurface::new(&rest, &base.triangles);
        let largest =
            |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
        let stiffness = Stiffness { strain: 0.01, bend: 0.005 };
        // A motion without strain or bending is a solution, and other starts converge to it.
        let mut x = wanted.clone();
        surface.relax(&mut x, &pulls, stiffness, 3).unwrap();
        assert!(largest(&x, &wanted) < 1e-7);
        let mut x = rest.clone();
        surface.relax(&mut x, &pulls, stiffness, 200).unwrap();
        assert!(largest(&x, &wanted) < 0.02 * largest(&rest, &wanted));
    }
}
