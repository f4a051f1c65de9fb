//! Cuts by a plane: clipped surfaces, and sections of tetrahedra.

use glam::DVec3;

use crate::TriMesh;

/// A plane; everything on the side of its normal is cut away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// A point of the plane.
    pub point: DVec3,
    /// Its normal.
    pub normal: DVec3,
}

impl Plane {
    /// Height of a point above the plane, in lengths of the normal.
    pub fn height(&self, p: DVec3) -> f64 {
        (p - self.point).dot(self.normal)
    }

    fn crossing(&self, a: DVec3, b: DVec3) -> DVec3 {
        let (ha, hb) = (self.height(a), self.height(b));
        a.lerp(b, ha / (ha - hb))
    }
}

/// The section of tetrahedra by a plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The faces of the cut.
    pub piece: TriMesh,
    /// The tetrahedron that each of its triangles was cut from.
    pub tets: Vec<u32>,
}

/// Clips a surface by a plane. Whole triangles keep their shared vertices, so that shading stays smooth.
pub fn clipped(positions: &[DVec3], triangles: &[[u32; 3]], plane: &Plane) -> TriMesh {
    let mut piece = TriMesh { positions: positions.to_vec(), triangles: Vec::new() };
    let height: Vec<f64> = positions.iter().map(|p| plane.height(*p)).collect();
    for t in triangles {
        let kept = t.iter().filter(|v| height[**v as usize] <= 0.0).count();
        if kept == 3 {
            piece.triangles.push(*t);
        } else if kept > 0 {
            let mut corners = Vec::with_capacity(4);
            for i in 0..3 {
                let (a, b) = (t[i], t[(i + 1) % 3]);
                let (inside, next) = (height[a as usize] <= 0.0, height[b as usize] <= 0.0);
                if inside {
                    corners.push(a);
                }
                if inside != next {
                    piece.positions.push(plane.crossing(positions[a as usize], positions[b as usize]));
                    corners.push(piece.positions.len() as u32 - 1);
                }
            }
            piece.triangles.extend((2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]));
        }
    }
    piece
}

/// Cuts tetrahedra by a plane into polygons that face along its normal.
pub fn section(positions: &[DVec3], tets: &[[u32; 4]], plane: &Plane) -> Section {
    let is_below: Vec<bool> = positions.iter().map(|p| plane.height(*p) <= 0.0).collect();
    let mut section = Section::default();
    for (index, tet) in (0..).zip(tets) {
        let count = tet.iter().filter(|v| is_below[**v as usize]).count();
        if count == 0 || count == 4 {
            continue;
        }
        let (below, above): (Vec<u32>, Vec<u32>) = tet.iter().partition(|v| is_below[**v as usize]);
        let cross =
            |i: usize, j: usize| plane.crossing(positions[below[i] as usize], positions[above[j] as usize]);
        let mut polygon = match count {
            1 => vec![cross(0, 0), cross(0, 1), cross(0, 2)],
            2 => vec![cross(0, 0), cross(0, 1), cross(1, 1), cross(1, 0)],
            _ => vec![cross(0, 0), cross(1, 0), cross(2, 0)],
        };
        if (polygon[1] - polygon[0]).cross(polygon[2] - polygon[0]).dot(plane.normal) < 0.0 {
            polygon.reverse();
        }
        section.piece.push_polygon(&polygon);
        section.tets.resize(section.piece.triangles.len(), index);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(piece: &TriMesh, normal: DVec3) -> f64 {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| piece.positions[v as usize]);
            0.5 * (b - a).cross(c - a).dot(normal)
        };
        piece.triangles.iter().map(one).sum()
    }

    #[test]
    fn a_triangle_and_a_tetrahedron_are_cut_in_half() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let plane = Plane { point: DVec3::X * 0.5, normal: DVec3::X };
        let kept = clipped(&corners, &[[0, 1, 2]], &plane);
        assert!((area(&kept, DVec3::Z) - (0.5 - 0.125)).abs() < 1e-12);
        let cut = section(&corners, &[[0, 1, 2, 3]], &plane);
        assert!((area(&cut.piece, DVec3::X) - 0.125).abs() < 1e-12);
        let slanted = Plane { point: DVec3::splat(0.3), normal: DVec3::new(1.0, 1.0, -1.0).normalize() };
        assert!(area(&section(&corners, &[[0, 1, 2, 3]], &slanted).piece, slanted.normal) > 0.0);
    }

    #[test]
    fn every_triangle_of_a_section_knows_its_tetrahedron() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE];
        let tets = [[0, 1, 2, 3], [1, 2, 3, 4]];
        // Through the first between one corner and three, through the second between two and two; and beside both.
        for (height, wanted) in [(0.1, &[0, 1][..]), (0.9, &[0, 1]), (2.0, &[])] {
            let normal = DVec3::new(1.0, 0.01, 0.02);
            let cut = section(&corners, &tets, &Plane { point: DVec3::X * height, normal });
            assert_eq!(cut.tets.len(), cut.piece.triangles.len());
            let mut met = cut.tets.clone();
            met.dedup();
            assert_eq!(met, wanted, "at {height}");
            for (t, tet) in cut.piece.triangles.iter().zip(&cut.tets) {
                let middle: DVec3 = t.iter().map(|v| cut.piece.positions[*v as usize]).sum::<DVec3>() / 3.0;
                let sum = middle.dot(DVec3::ONE);
                assert!(if *tet == 0 { sum <= 1.0 + 1e-12 } else { sum >= 1.0 - 1e-12 }, "{middle} in {tet}");
            }
        }
    }
}
