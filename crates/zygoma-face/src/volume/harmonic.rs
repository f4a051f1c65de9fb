//! Smooth extension of values from the boundary of a volume into its interior.

use glam::{DMat3, DVec3};
use zygoma_numerics::{Analysis, Cholesky, NotPositiveDefinite, SymmetricMatrix};

/// Added to the diagonal, so that a vertex without elements stays at 0.
const ALONE: f64 = 1e-12;

/// The harmonic extension from some vertices of a tetrahedral mesh to all others.
pub(crate) struct Harmonic {
    /// The unknown of each vertex; `None` where values are given.
    unknown: Vec<Option<usize>>,
    /// Matrix entries between an unknown and a given vertex.
    couplings: Vec<(usize, u32, f64)>,
    factor: Cholesky,
    size: usize,
}

impl Harmonic {
    pub(crate) fn new(
        positions: &[DVec3],
        tets: &[[u32; 4]],
        is_given: impl Fn(usize) -> bool,
    ) -> Result<Self, NotPositiveDefinite> {
        let mut unknown = vec![None; positions.len()];
        let mut size = 0;
        for v in (0..positions.len()).filter(|v| !is_given(*v)) {
            unknown[v] = Some(size);
            size += 1;
        }
        let mut entries: Vec<(usize, usize, f64)> = (0..size).map(|row| (row, row, ALONE)).collect();
        let mut couplings = Vec::new();
        for tet in tets {
            let Some((gradients, volume)) = hat_gradients(positions, tet) else { continue };
            for i in 0..4 {
                let Some(row) = unknown[tet[i] as usize] else { continue };
                for j in 0..4 {
                    let value = volume * gradients[i].dot(gradients[j]);
                    match unknown[tet[j] as usize] {
                        Some(column) if row >= column => entries.push((row, column, value)),
                        Some(_) => {}
                        None => couplings.push((row, tet[j], value)),
                    }
                }
            }
        }
        let matrix = SymmetricMatrix::from_entries(size, &entries);
        let factor = Cholesky::new(Analysis::new(&matrix), &matrix)?;
        Ok(Self { unknown, couplings, factor, size })
    }

    /// Replaces all values that are not given.
    pub(crate) fn extend<const K: usize>(&mut self, values: &mut [[f64; K]]) {
        for k in 0..K {
            let mut column = vec![0.0; self.size];
            for (row, vertex, value) in &self.couplings {
                column[*row] -= value * values[*vertex as usize][k];
            }
            self.factor.solve_in_place(&mut column);
            for (value, unknown) in values.iter_mut().zip(&self.unknown) {
                if let Some(row) = unknown {
                    value[k] = column[*row];
                }
            }
        }
    }
}

/// Gradients of the four corners' hat functions, and the volume; `None` where a tetrahedron has none.
fn hat_gradients(rest: &[DVec3], tet: &[u32; 4]) -> Option<([DVec3; 4], f64)> {
    let [a, b, c, d] = tet.map(|v| rest[v as usize]);
    let edges = DMat3::from_cols(b - a, c - a, d - a);
    let volume = edges.determinant() / 6.0;
    let inverse = edges.inverse().transpose();
    let [x, y, z] = [inverse.x_axis, inverse.y_axis, inverse.z_axis];
    (volume > 0.0).then_some(([-(x + y + z), x, y, z], volume))
}
