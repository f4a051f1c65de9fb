//! Deformation gradients of triangles, and their transfer to another surface with the same triangles
//! \[Sumner and Popović 2004\].

use glam::{DMat3, DVec3};
use zygoma_numerics::{Analysis, Cholesky, NotPositiveDefinite, SymmetricMatrix};

use crate::topology::connected_parts;

/// Why no transfer could be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Some vertices are held by no triangle with area.
    #[error("the surface has vertices that no triangle with area holds: remove them first")]
    Degenerate(#[from] NotPositiveDefinite),
    /// A triangle or a fixed vertex names a vertex that does not exist.
    #[error("vertex {vertex} does not exist; the surface has {count} vertices")]
    Index {
        /// The vertex.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
}

/// Two edges and the normal, scaled by the root of the double area so that similarities give exact gradients.
fn frame([a, b, c]: [DVec3; 3]) -> DMat3 {
    let cross = (b - a).cross(c - a);
    DMat3::from_cols(b - a, c - a, cross / cross.length().sqrt().max(f64::MIN_POSITIVE))
}

/// The deformation gradient of every triangle from `rest` to `deformed`; the identity where the rest triangle has no area.
pub fn deformation_gradients(rest: &[DVec3], deformed: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DMat3> {
    let gradient = |t: &[u32; 3]| {
        let at = |positions: &[DVec3]| frame(t.map(|v| positions[v as usize]));
        let inverse = at(rest).inverse();
        if inverse.is_finite() { at(deformed) * inverse } else { DMat3::IDENTITY }
    };
    triangles.iter().map(gradient).collect()
}

/// A surface prepared for gradients to be applied to it many times.
pub struct Transfer {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// For each triangle its area times the gradients of its corners' hat functions.
    hats: Vec<[DVec3; 3]>,
    /// Place of each vertex among the unknowns; `None` for those that are held.
    unknowns: Vec<Option<usize>>,
    /// Connected parts without a fixed vertex: these keep their mean.
    floating: Vec<Vec<u32>>,
    factor: Cholesky,
}

impl Transfer {
    /// Prepares a surface. Vertices in `fixed` stay at the positions given to [`apply`](Self::apply); a connected part without any
    /// keeps the mean of its vertices.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]], fixed: &[u32]) -> Result<Self, TransferError> {
        let count = positions.len();
        let named = triangles.iter().flatten().chain(fixed);
        if let Some(vertex) = named.copied().find(|v| *v as usize >= count) {
            return Err(TransferError::Index { vertex, count });
        }
        let hats: Vec<[DVec3; 3]> =
            triangles.iter().map(|t| hat_gradients(t.map(|v| positions[v as usize]))).collect();
        let (held, floating) = hold(count, triangles, fixed);
        let mut unknowns = vec![None; count];
        let mut size = 0;
        for (unknown, _) in unknowns.iter_mut().zip(&held).filter(|(_, held)| !**held) {
            *unknown = Some(size);
            size += 1;
        }
        let mut entries = Vec::new();
        for (t, hats) in triangles.iter().zip(&hats) {
            let area = double_area(t.map(|v| positions[v as usize])) / 2.0;
            if area <= 0.0 {
                continue;
            }
            for i in 0..3 {
                for j in 0..3 {
                    let pair = unknowns[t[i] as usize].zip(unknowns[t[j] as usize]);
                    if let Some((row, column)) = pair.filter(|(row, column)| row >= column) {
                        entries.push((row, column, hats[i].dot(hats[j]) / area));
                    }
                }
            }
        }
        let matrix = SymmetricMatrix::from_entries(size, &entries);
        let factor = Cholesky::new(Analysis::new(&matrix), &matrix)?;
        let (positions, triangles) = (positions.to_vec(), triangles.to_vec());
        Ok(Self { positions, triangles, hats, unknowns, floating, factor })
    }

    /// The positions whose gradients come nearest to the given ones, one for each triangle:
    /// min Σ_f a_f ‖∇x − D_f ∇X‖² (Thesis ch. 3 eq. 17). `held` gives the places of the fixed vertices; those of other
    /// vertices are not used.
    ///
    /// # Panics
    /// If there are not as many gradients as triangles, or not as many places as vertices.
    pub fn apply(&mut self, gradients: &[DMat3], held: &[DVec3]) -> Vec<DVec3> {
        assert_eq!(gradients.len(), self.triangles.len(), "a gradient for every triangle");
        assert_eq!(held.len(), self.positions.len(), "a place for every vertex");
        let size = self.unknowns.iter().flatten().count();
        let mut right = vec![DVec3::ZERO; size];
        for ((t, hats), gradient) in self.triangles.iter().zip(&self.hats).zip(gradients) {
            let area = double_area(t.map(|v| self.positions[v as usize])) / 2.0;
            if area <= 0.0 {
                continue;
            }
            for i in 0..3 {
                let Some(row) = self.unknowns[t[i] as usize] else { continue };
                right[row] += *gradient * hats[i];
                for j in 0..3 {
                    if self.unknowns[t[j] as usize].is_none() {
                        right[row] -= hats[i].dot(hats[j]) / area * held[t[j] as usize];
                    }
                }
            }
        }
        let mut result = held.to_vec();
        for axis in 0..3 {
            let mut column: Vec<f64> = right.iter().map(|r| r[axis]).collect();
            self.factor.solve_in_place(&mut column);
            for (place, unknown) in result.iter_mut().zip(&self.unknowns) {
                if let Some(row) = unknown {
                    place[axis] = column[*row];
                }
            }
        }
        for part in &self.floating {
            let mean = |points: &[DVec3]| {
                part.iter().map(|v| points[*v as usize]).sum::<DVec3>() / part.len() as f64
            };
            let shift = mean(&self.positions) - mean(&result);
            part.iter().for_each(|v| result[*v as usize] += shift);
        }
        result
    }
}

fn double_area([a, b, c]: [DVec3; 3]) -> f64 {
    (b - a).cross(c - a).length()
}

/// Area times the gradient of each corner's hat function: half the opposite edge, turned by a quarter turn inwards.
fn hat_gradients(corners: [DVec3; 3]) -> [DVec3; 3] {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a).normalize_or_zero();
    [0.5 * normal.cross(c - b), 0.5 * normal.cross(a - c), 0.5 * normal.cross(b - a)]
}

/// Which vertices are held, and the parts that float: those have one held vertex, to make their place definite.
fn hold(count: usize, triangles: &[[u32; 3]], fixed: &[u32]) -> (Vec<bool>, Vec<Vec<u32>>) {
    let mut held = vec![false; count];
    fixed.iter().for_each(|v| held[*v as usize] = true);
    let (parts, part_count) = connected_parts(count, triangles);
    let mut members = vec![Vec::new(); part_count];
    (0u32..).zip(&parts).for_each(|(v, part)| members[*part as usize].push(v));
    members.retain(|part| part.iter().all(|v| !held[*v as usize]));
    members.iter().for_each(|part| held[part[0] as usize] = true);
    (held, members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    /// A bent strip, and another one with the same triangles.
    fn strips() -> (Vec<DVec3>, Vec<DVec3>, Vec<[u32; 3]>) {
        const LONG: u32 = 12;
        let point = |i: u32, j: u32, bend: f64| {
            let (x, y) = (f64::from(i) * 0.1, f64::from(j) * 0.1);
            DVec3::new(x, y, bend * (3.0 * x).sin() + 0.2 * y * y)
        };
        let strip = |bend| (0..LONG).flat_map(|i| (0..5).map(move |j| point(i, j, bend))).collect();
        let mut triangles = Vec::new();
        for i in 0..LONG - 1 {
            for j in 0..4 {
                let v = 5 * i + j;
                triangles.extend([[v, v + 5, v + 6], [v, v + 6, v + 1]]);
            }
        }
        (strip(0.3), strip(-0.5), triangles)
    }

    fn transferred(
        rest: &[DVec3],
        deformed: &[DVec3],
        target: &[DVec3],
        triangles: &[[u32; 3]],
    ) -> Vec<DVec3> {
        let mut transfer = Transfer::new(target, triangles, &[]).unwrap();
        transfer.apply(&deformation_gradients(rest, deformed, triangles), target)
    }

    fn worst(a: &[DVec3], b: &[DVec3]) -> f64 {
        a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max)
    }

    #[test]
    fn an_unchanged_source_leaves_the_target_unchanged() {
        let (source, target, triangles) = strips();
        let found = transferred(&source, &source, &target, &triangles);
        assert!(worst(&found, &target) < 1e-12);
    }

    #[test]
    fn a_similarity_of_the_source_is_the_same_similarity_of_the_target() {
        let (source, target, triangles) = strips();
        let turn = DQuat::from_axis_angle(DVec3::new(1.0, 0.4, 0.2).normalize(), 1.1);
        let moved = |p: &DVec3| 1.7 * (turn * *p) + DVec3::new(0.2, 0.5, -3.0);
        let deformed: Vec<DVec3> = source.iter().map(moved).collect();
        let wanted: Vec<DVec3> = target.iter().map(moved).collect();
        let gradients = deformation_gradients(&source, &deformed, &triangles);
        let expected = DMat3::from_quat(turn) * 1.7;
        assert!(gradients.iter().all(|g| (*g - expected).to_cols_array().iter().all(|e| e.abs() < 1e-9)));
        // With one vertex held, the whole follows.
        let mut transfer = Transfer::new(&target, &triangles, &[7]).unwrap();
        assert!(worst(&transfer.apply(&gradients, &wanted), &wanted) < 1e-10);
        // Without, the mean stays.
        let floating = transferred(&source, &deformed, &target, &triangles);
        let mean = |points: &[DVec3]| points.iter().sum::<DVec3>() / points.len() as f64;
        assert!(mean(&floating).distance(mean(&target)) < 1e-12);
        let shift = mean(&wanted) - mean(&target);
        let shifted: Vec<DVec3> = floating.iter().map(|p| *p + shift).collect();
        assert!(worst(&shifted, &wanted) < 1e-10);
    }

    #[test]
    fn any_deformation_of_a_surface_comes_back_on_itself() {
        // Affine maps and bends alike: the source's own gradients are compatible with it.
        let (source, bent, triangles) = strips();
        let shear = DMat3::from_cols_array(&[1.2, 0.1, 0.0, 0.4, 0.9, -0.2, 0.0, 0.3, 0.7]);
        let sheared: Vec<DVec3> = source.iter().map(|p| shear * *p).collect();
        for deformed in [sheared, bent] {
            let gradients = deformation_gradients(&source, &deformed, &triangles);
            let mut transfer = Transfer::new(&source, &triangles, &[0, 1]).unwrap();
            assert!(worst(&transfer.apply(&gradients, &deformed), &deformed) < 1e-10);
        }
    }

    #[test]
    fn bad_surfaces_are_refused() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::ZERO];
        let flat = Transfer::new(&positions, &[[0, 1, 2], [0, 3, 0]], &[1]);
        assert!(matches!(flat.err(), Some(TransferError::Degenerate(_))));
        let missing = Transfer::new(&positions, &[[0, 1, 9]], &[]);
        assert_eq!(missing.err(), Some(TransferError::Index { vertex: 9, count: 4 }));
    }
}
