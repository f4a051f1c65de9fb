//! The fill of a fitted head: its boundary lies on skin and bone, its interior is relaxed.

use glam::{DMat3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::tets::{TetMesh, volume};
use zygoma_numerics::{Analysis, Cholesky, SymmetricMatrix};

use super::FitError;
use super::elastic::rotation;

/// Local-global iterations for the interior.
const STEPS: usize = 15;

/// Share of the mean stiffness that holds every node where it is. Tetrahedra that are inverted at rest give no stiffness,
/// and nodes that only such ones join would be loose.
const ANCHOR: f64 = 1e-6;

/// Moves the nodes that are not `held` so that every tetrahedron keeps its shape in `rest` as far as possible
/// (Thesis eq. B.2).
pub(super) fn relax(rest: &TetMesh, x: &mut [DVec3], held: &[bool]) -> Result<(), FitError> {
    let mut unknowns = vec![None; x.len()];
    let mut size = 0;
    for (unknown, _) in unknowns.iter_mut().zip(held).filter(|(_, held)| !**held) {
        *unknown = Some(size);
        size += 1;
    }
    let moves = |tet: &[u32; 4]| tet.iter().any(|v| !held[*v as usize]);
    let elements: Vec<Element> = (0..rest.tets.len())
        .filter(|t| moves(&rest.tets[*t]))
        .filter_map(|t| Element::new(rest.tets[t], rest.corners(t)))
        .collect();
    let mut entries = Vec::new();
    for e in &elements {
        for i in 0..4 {
            for j in 0..4 {
                let pair = unknowns[e.nodes[i] as usize].zip(unknowns[e.nodes[j] as usize]);
                if let Some((row, column)) = pair.filter(|(row, column)| row >= column) {
                    entries.push((row, column, e.volume * e.hats[i].dot(e.hats[j])));
                }
            }
        }
    }
    let diagonal = entries.iter().filter(|(i, j, _)| i == j).map(|(_, _, value)| value).sum::<f64>();
    let anchor = (ANCHOR * diagonal / size.max(1) as f64).max(f64::MIN_POSITIVE);
    entries.extend((0..size).map(|i| (i, i, anchor)));
    let matrix = SymmetricMatrix::from_entries(size, &entries);
    let mut factor: Cholesky =
        Cholesky::new(Analysis::new(&matrix), &matrix).map_err(|_| FitError::Unsolvable)?;
    for _ in 0..STEPS {
        let turns: Vec<DMat3> = elements.par_iter().map(|e| rotation(e.gradient(x))).collect();
        let mut right: Vec<DVec3> =
            x.iter().zip(&unknowns).filter(|(_, u)| u.is_some()).map(|(p, _)| anchor * *p).collect();
        for (e, turn) in elements.iter().zip(&turns) {
            for i in 0..4 {
                let Some(row) = unknowns[e.nodes[i] as usize] else { continue };
                right[row] += e.volume * (*turn * e.hats[i]);
                for j in (0..4).filter(|j| unknowns[e.nodes[*j] as usize].is_none()) {
                    right[row] -= e.volume * e.hats[i].dot(e.hats[j]) * x[e.nodes[j] as usize];
                }
            }
        }
        for axis in 0..3 {
            let mut column: Vec<f64> = right.iter().map(|r| r[axis]).collect();
            factor.solve_in_place(&mut column);
            for (p, unknown) in x.iter_mut().zip(&unknowns) {
                if let Some(row) = unknown {
                    p[axis] = column[*row];
                }
            }
        }
    }
    Ok(())
}

/// Flags nodes that are more than this many rings away from every inverted tetrahedron.
pub(super) fn far_from_inverted(mesh: &TetMesh, rings: usize) -> Vec<bool> {
    let mut near = vec![false; mesh.positions.len()];
    for (t, tet) in mesh.tets.iter().enumerate() {
        if volume(mesh.corners(t)) <= 0.0 {
            tet.iter().for_each(|v| near[*v as usize] = true);
        }
    }
    for _ in 1..rings {
        let touched: Vec<[u32; 4]> =
            mesh.tets.iter().copied().filter(|tet| tet.iter().any(|v| near[*v as usize])).collect();
        touched.iter().flatten().for_each(|v| near[*v as usize] = true);
    }
    near.into_iter().map(|near| !near).collect()
}

/// A tetrahedron at rest.
struct Element {
    nodes: [u32; 4],
    volume: f64,
    /// Gradients of the corners' hat functions.
    hats: [DVec3; 4],
}

impl Element {
    /// `None` for a tetrahedron without volume.
    fn new(nodes: [u32; 4], p: [DVec3; 4]) -> Option<Self> {
        let inverse = DMat3::from_cols(p[1] - p[0], p[2] - p[0], p[3] - p[0]).inverse().transpose();
        let hats = [
            -(inverse.x_axis + inverse.y_axis + inverse.z_axis),
            inverse.x_axis,
            inverse.y_axis,
            inverse.z_axis,
        ];
        let volume = volume(p);
        (volume > 0.0 && inverse.is_finite()).then_some(Self { nodes, volume, hats })
    }

    /// The deformation gradient.
    fn gradient(&self, x: &[DVec3]) -> DMat3 {
        let mut sum = DMat3::ZERO;
        for (v, hat) in self.nodes.iter().zip(self.hats) {
            let p = x[*v as usize];
            sum += DMat3::from_cols(hat.x * p, hat.y * p, hat.z * p);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anatomy::Anatomy;
    use crate::{Head, HeadOptions};

    #[test]
    fn a_disturbed_fill_finds_back() {
        let anatomy = Anatomy::new(&Head::new(&HeadOptions::default()));
        let rest = &anatomy.fill;
        let held: Vec<bool> =
            anatomy.fill_ties.iter().map(|tie| *tie != crate::anatomy::Tie::Flesh).collect();
        let random = zygoma_numerics::random::Keyed::new(1, 0);
        let mut mesh = rest.clone();
        for (v, p) in mesh.positions.iter_mut().enumerate().filter(|(v, _)| !held[*v]) {
            *p += 0.004 * DVec3::from_array([0, 1, 2].map(|k| random.uniform((3 * v + k) as u64) - 0.5));
        }
        assert!(mesh.inverted() > 100);
        relax(rest, &mut mesh.positions, &held).unwrap();
        assert_eq!(crate::anatomy::untangle(&mut mesh, &held), 0);
        let worst =
            mesh.positions.iter().zip(&rest.positions).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{worst}");
    }
}
