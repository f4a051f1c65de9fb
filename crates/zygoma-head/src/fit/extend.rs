//! Fields that are known on a part of a surface, extended over the rest of it.

use glam::DVec3;
use zygoma_geometry::laplacian::Laplacian;
use zygoma_numerics::{Analysis, Cholesky, SymmetricMatrix};

/// Extends a field from the vertices where it is known: smooth, and fading with the distance from them.
pub(super) struct Extension {
    /// Vertices without a value, in the order of the unknowns.
    unknown: Vec<u32>,
    /// For each of them its known neighbours with their weights.
    pulls: Vec<Vec<(u32, f64)>>,
    factor: Option<Cholesky>,
}

impl Extension {
    /// Prepares a surface. The field fades to nothing over `length`.
    pub(super) fn new(positions: &[DVec3], triangles: &[[u32; 3]], is_known: &[bool], length: f64) -> Self {
        let laplacian = Laplacian::new(positions, triangles);
        let unknown: Vec<u32> = (0..positions.len() as u32).filter(|v| !is_known[*v as usize]).collect();
        let mut place = vec![usize::MAX; positions.len()];
        unknown.iter().enumerate().for_each(|(row, v)| place[*v as usize] = row);
        let least = laplacian.areas.iter().sum::<f64>() / positions.len().max(1) as f64 * 1e-6;
        let mut entries = Vec::new();
        let mut pulls = Vec::with_capacity(unknown.len());
        for (row, v) in unknown.iter().enumerate() {
            let neighbours = &laplacian.rows[*v as usize];
            let fading = laplacian.areas[*v as usize].max(least) / (length * length);
            entries.push((row, row, fading + neighbours.iter().map(|(_, weight)| weight).sum::<f64>()));
            for (other, weight) in neighbours {
                let column = place[*other as usize];
                if column < row {
                    entries.push((row, column, -weight));
                }
            }
            pulls.push(neighbours.iter().copied().filter(|(other, _)| is_known[*other as usize]).collect());
        }
        let matrix = SymmetricMatrix::from_entries(unknown.len(), &entries);
        let factor = Cholesky::new(Analysis::new(&matrix), &matrix).ok().filter(|_| !unknown.is_empty());
        Self { unknown, pulls, factor }
    }

    /// Fills in the unknown values.
    pub(super) fn fill(&mut self, field: &mut [DVec3]) {
        let Some(factor) = &mut self.factor else { return };
        let sum =
            |pulls: &Vec<(u32, f64)>| pulls.iter().map(|(v, weight)| *weight * field[*v as usize]).sum();
        let right: Vec<DVec3> = self.pulls.iter().map(sum).collect();
        for axis in 0..3 {
            let mut column: Vec<f64> = right.iter().map(|value| value[axis]).collect();
            factor.solve_in_place(&mut column);
            self.unknown.iter().zip(&column).for_each(|(v, value)| field[*v as usize][axis] = *value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    #[test]
    fn a_field_fades_over_its_length() {
        let (positions, triangles) = shapes::sphere(24, 32);
        let positions: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let is_known: Vec<bool> = positions.iter().map(|p| p.y > 0.8).collect();
        let mut field: Vec<DVec3> =
            is_known.iter().map(|known| if *known { DVec3::X } else { DVec3::ZERO }).collect();
        Extension::new(&positions, &triangles, &is_known, 0.3).fill(&mut field);
        let border = positions.iter().zip(&is_known).filter(|(_, known)| **known).map(|(p, _)| p.y.acos());
        let border = border.fold(0.0, f64::max);
        for (p, value) in positions.iter().zip(&field) {
            assert!(value.x <= 1.0 + 1e-9 && value.x >= -1e-9 && value.y == 0.0);
            // On a flat strip it would be exactly this; here it spreads over longer and longer parallels.
            let flat = (-(p.y.clamp(-1.0, 1.0).acos() - border).max(0.0) / 0.3).exp();
            assert!(value.x < flat + 0.02 && value.x > flat - 0.15, "{p}: {} instead of {flat}", value.x);
        }
    }
}
