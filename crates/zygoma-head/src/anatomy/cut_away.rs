//! Cuts through the anatomy, for looking at it: surfaces clipped by a plane, and flesh in section.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::tets::TetMesh;

use super::Surface;
use super::nearest::Nearest;

/// A plane; what lies on the side of its normal is cut away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// A point of the plane.
    pub point: DVec3,
    /// Its normal.
    pub normal: DVec3,
}

impl Plane {
    fn height(&self, p: DVec3) -> f64 {
        (p - self.point).dot(self.normal)
    }

    fn crossing(&self, a: DVec3, b: DVec3) -> DVec3 {
        let (ha, hb) = (self.height(a), self.height(b));
        a.lerp(b, ha / (ha - hb))
    }
}

/// Triangles with vertices of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Vertices.
    pub positions: Vec<DVec3>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
}

impl Piece {
    /// Adds a convex polygon as a fan.
    fn push(&mut self, polygon: &[DVec3]) {
        let first = self.positions.len() as u32;
        self.positions.extend(polygon);
        self.triangles.extend((2..polygon.len() as u32).map(|i| [first, first + i - 1, first + i]));
    }
}

/// The part of a surface that a plane leaves. Whole triangles keep their shared vertices, so that shading stays smooth.
pub fn clipped(positions: &[DVec3], triangles: &[[u32; 3]], plane: &Plane) -> Piece {
    let mut piece = Piece { positions: positions.to_vec(), triangles: Vec::new() };
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

/// Where a plane meets tetrahedra, as polygons that face along its normal.
pub fn section(mesh: &TetMesh, plane: &Plane) -> Piece {
    let mut piece = Piece::default();
    for tet in 0..mesh.tets.len() {
        let p = mesh.corners(tet);
        let (below, above): (Vec<DVec3>, Vec<DVec3>) = p.into_iter().partition(|q| plane.height(*q) <= 0.0);
        let cross = |i: usize, j: usize| plane.crossing(below[i], above[j]);
        let mut polygon = match below.len() {
            1 => vec![cross(0, 0), cross(0, 1), cross(0, 2)],
            2 => vec![cross(0, 0), cross(0, 1), cross(1, 1), cross(1, 0)],
            3 => vec![cross(0, 0), cross(1, 0), cross(2, 0)],
            _ => continue,
        };
        if (polygon[1] - polygon[0]).cross(polygon[2] - polygon[0]).dot(plane.normal) < 0.0 {
            polygon.reverse();
        }
        piece.push(&polygon);
    }
    piece
}

/// Where a plane runs inside a closed surface, as small squares of a given edge that face along the plane's normal.
pub fn solid_section(surface: &Surface, plane: &Plane, edge: f64) -> Piece {
    let search = Nearest::new(&surface.positions, &surface.triangles, |_| true);
    let along = plane.normal.any_orthonormal_vector();
    let across = plane.normal.cross(along);
    let place = |p: &DVec3| ((*p - plane.point).dot(along) / edge, (*p - plane.point).dot(across) / edge);
    let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
    for (a, b) in surface.positions.iter().map(place) {
        (low, high) = ((low.0.min(a), low.1.min(b)), (high.0.max(a), high.1.max(b)));
    }
    let rows: Vec<i64> = (low.1.floor() as i64..=high.1.ceil() as i64).collect();
    let squares: Vec<[DVec3; 4]> = rows
        .par_iter()
        .flat_map_iter(|row| (low.0.floor() as i64..=high.0.ceil() as i64).map(move |column| (column, *row)))
        .filter_map(|(column, row)| {
            let at = |i: f64, j: f64| {
                plane.point + edge * ((column as f64 + i) * along + (row as f64 + j) * across)
            };
            let inside = search.find(at(0.5, 0.5), f64::MAX).is_some_and(|found| found.signed < 0.0);
            inside.then(|| [at(0.0, 0.0), at(1.0, 0.0), at(1.0, 1.0), at(0.0, 1.0)])
        })
        .collect();
    let mut piece = Piece::default();
    squares.iter().for_each(|square| piece.push(square));
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(piece: &Piece, normal: DVec3) -> f64 {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| piece.positions[v as usize]);
            0.5 * (b - a).cross(c - a).dot(normal)
        };
        piece.triangles.iter().map(one).sum()
    }

    #[test]
    fn a_triangle_and_a_tetrahedron_are_cut_in_half() {
        let corners = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let plane = Plane { point: DVec3::X * 0.5, normal: DVec3::X };
        let kept = clipped(&corners, &[[0, 1, 2]], &plane);
        assert!((area(&kept, DVec3::Z) - (0.5 - 0.125)).abs() < 1e-12);
        let mesh = TetMesh { positions: corners, tets: vec![[0, 1, 2, 3]] };
        assert!((area(&section(&mesh, &plane), DVec3::X) - 0.125).abs() < 1e-12);
        let slanted = Plane { point: DVec3::splat(0.3), normal: DVec3::new(1.0, 1.0, -1.0).normalize() };
        assert!(area(&section(&mesh, &slanted), slanted.normal) > 0.0);
    }
}
