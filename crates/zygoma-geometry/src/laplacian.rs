//! The cotangent Laplacian of a triangle mesh and its vertex areas.

use std::collections::BTreeMap;

use glam::DVec3;

/// The Laplacian of a mesh: `(L u)ᵢ = Σⱼ wᵢⱼ (uᵢ − uⱼ)`, with half the cotangents opposite each edge as weights.
#[derive(Clone, Debug)]
pub struct Laplacian {
    /// For each vertex its neighbours, in increasing order, with their weights.
    pub rows: Vec<Vec<(u32, f64)>>,
    /// A third of the area of the triangles around each vertex.
    pub areas: Vec<f64>,
}

impl Laplacian {
    /// Builds the Laplacian. Weights below zero, which only badly shaped triangles have, are raised to zero, so that
    /// a harmonic field has no maxima of its own.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let mut weights: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); positions.len()];
        let mut areas = vec![0.0; positions.len()];
        for t in triangles {
            for i in 0..3 {
                let (a, b, c) = (t[i], t[(i + 1) % 3], t[(i + 2) % 3]);
                let (u, v) = (
                    positions[b as usize] - positions[a as usize],
                    positions[c as usize] - positions[a as usize],
                );
                let double_area = u.cross(v).length();
                areas[a as usize] += double_area / 6.0;
                let half_cotangent = 0.5 * u.dot(v) / double_area.max(1e-300);
                *weights[b as usize].entry(c).or_insert(0.0) += half_cotangent;
                *weights[c as usize].entry(b).or_insert(0.0) += half_cotangent;
            }
        }
        let rows = weights.into_iter().map(|row| row.into_iter().map(|(j, w)| (j, w.max(0.0))).collect());
        Self { rows: rows.collect(), areas }
    }

    /// The entries of the bi-Laplacian `L M⁻¹ L`.
    pub fn bilaplacian(&self) -> Vec<(usize, usize, f64)> {
        let mut entries = Vec::new();
        for (k, row) in self.rows.iter().enumerate() {
            let diagonal: f64 = row.iter().map(|(_, w)| w).sum();
            let stencil: Vec<(usize, f64)> =
                std::iter::once((k, diagonal)).chain(row.iter().map(|(j, w)| (*j as usize, -w))).collect();
            for (i, a) in &stencil {
                for (j, b) in &stencil {
                    entries.push((*i, *j, a * b / self.areas[k].max(1e-300)));
                }
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of unit squares, each cut along a diagonal.
    fn grid(side: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let at = |i: usize, j: usize| (j * side + i) as u32;
        let points =
            (0..side * side).map(|v| DVec3::new((v % side) as f64, (v / side) as f64, 0.0)).collect();
        let mut triangles = Vec::new();
        for j in 0..side - 1 {
            for i in 0..side - 1 {
                triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
                triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
            }
        }
        (points, triangles)
    }

    #[test]
    fn linear_fields_are_harmonic_and_areas_add_up() {
        let (points, triangles) = grid(6);
        let laplacian = Laplacian::new(&points, &triangles);
        let field = |p: DVec3| 3.0 * p.x - 2.0 * p.y;
        for j in 1..5 {
            for i in 1..5 {
                let v = j * 6 + i;
                let value: f64 = laplacian.rows[v]
                    .iter()
                    .map(|(w, weight)| weight * (field(points[v]) - field(points[*w as usize])))
                    .sum();
                assert!(value.abs() < 1e-12);
            }
        }
        assert!((laplacian.areas.iter().sum::<f64>() - 25.0).abs() < 1e-12);
    }
}
