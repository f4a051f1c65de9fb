//! Stencils: linear samples of vertices, z_r = Σ c_ri x_i.

use glam::{DMat3, DVec3};

/// A linear sample of `N` vertices: `R` vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil<const N: usize, const R: usize> {
    /// The vertices. One may be named more than once.
    pub vertices: [u32; N],
    /// For each vector the coefficient of each vertex.
    pub coefficients: [[f64; N]; R],
    /// Volume, area or length at rest that the sample stands for; weights per unit of it are multiplied by it.
    pub size: f64,
}

/// A point for constraints: a vertex, or a point embedded in up to four of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The vertices.
    pub vertices: [u32; 4],
    /// Their weights; they sum to 1.
    pub weights: [f64; 4],
}

impl Point {
    /// The point at a vertex.
    pub fn vertex(vertex: u32) -> Self {
        Self { vertices: [vertex; 4], weights: [1.0, 0.0, 0.0, 0.0] }
    }

    /// A point in a triangle.
    pub fn on_triangle(corners: [u32; 3], barycentric: [f64; 3]) -> Self {
        let [a, b, c] = corners;
        Self { vertices: [a, b, c, a], weights: [barycentric[0], barycentric[1], barycentric[2], 0.0] }
    }

    /// The stencil of its position.
    pub fn position(&self) -> Stencil<4, 1> {
        Stencil { vertices: self.vertices, coefficients: [self.weights], size: 1.0 }
    }

    /// The stencil of the vector from another point to this one.
    pub fn from(&self, other: &Self) -> Stencil<8, 1> {
        let at = |i: usize| if i < 4 { (self, i, 1.0) } else { (other, i - 4, -1.0) };
        Stencil {
            vertices: std::array::from_fn(|i| at(i).0.vertices[at(i).1]),
            coefficients: [std::array::from_fn(|i| at(i).2 * at(i).0.weights[at(i).1])],
            size: 1.0,
        }
    }
}

impl Stencil<1, 1> {
    /// The position of a vertex.
    pub fn vertex(vertex: u32) -> Self {
        Self { vertices: [vertex], coefficients: [[1.0]], size: 1.0 }
    }
}

impl Stencil<2, 1> {
    /// The vector along an edge, from its second vertex to its first; its size is its length.
    pub fn edge(rest: &[DVec3], ends: [u32; 2]) -> Self {
        let [a, b] = ends.map(|v| rest[v as usize]);
        Self { vertices: ends, coefficients: [[1.0, -1.0]], size: a.distance(b) }
    }
}

/// Turns coefficients of differences to the first vertex into coefficients of all vertices.
fn with_first<const M: usize, const N: usize, const R: usize>(rows: [[f64; M]; R]) -> [[f64; N]; R] {
    rows.map(|row| std::array::from_fn(|i| if i == 0 { -row.iter().sum::<f64>() } else { row[i - 1] }))
}

impl Stencil<3, 2> {
    /// The deformation gradient of a triangle, from its plane at rest into space. None if it has no area.
    pub fn triangle(rest: &[DVec3], vertices: [u32; 3]) -> Option<Self> {
        let [a, b, c] = vertices.map(|v| rest[v as usize]);
        let (u, v) = (b - a, c - a);
        let length = u.length();
        let height = u.cross(v).length() / length;
        let area = 0.5 * length * height;
        if !(area > 0.0 && area.is_finite()) {
            return None;
        }
        // The inverse of [[length, along], [0, height]] in the triangle's own axes.
        let along = u.dot(v) / length;
        let rows = [[1.0 / length, 0.0], [-along / (length * height), 1.0 / height]];
        Some(Self { vertices, coefficients: with_first(rows), size: area })
    }
}

impl Stencil<4, 3> {
    /// The deformation gradient of a tetrahedron. None if it is flat or inverted at rest.
    pub fn tetrahedron(rest: &[DVec3], vertices: [u32; 4]) -> Option<Self> {
        let [a, b, c, d] = vertices.map(|v| rest[v as usize]);
        let edges = DMat3::from_cols(b - a, c - a, d - a);
        let volume = edges.determinant() / 6.0;
        if !(volume > 0.0 && volume.is_finite()) {
            return None;
        }
        // F = [x_b − x_a, …] E⁻¹: row r of the coefficients is column r of E⁻¹.
        let inverse = edges.inverse().to_cols_array_2d();
        Some(Self { vertices, coefficients: with_first(inverse), size: volume })
    }
}

impl Stencil<8, 3> {
    /// The deformation gradients of a hexahedron at its eight Gauss points; their sizes sum to its volume. Corner i lies at
    /// the upper end of axis k where bit k of i is set. None if it is inverted at one of them.
    pub fn hexahedron(rest: &[DVec3], vertices: [u32; 8]) -> Option<[Self; 8]> {
        let mut stencils = [Self { vertices, coefficients: [[0.0; 8]; 3], size: 0.0 }; 8];
        for (point, stencil) in stencils.iter_mut().enumerate() {
            let side = |bits: usize, axis: usize| if bits >> axis & 1 == 1 { 1.0 } else { -1.0 };
            let at: [f64; 3] = std::array::from_fn(|axis| side(point, axis) / 3_f64.sqrt());
            let slopes: [DVec3; 8] = std::array::from_fn(|corner| {
                let part = |axis: usize| 0.5 * (1.0 + side(corner, axis) * at[axis]);
                let slope = |axis: usize| 0.5 * side(corner, axis);
                DVec3::new(
                    slope(0) * part(1) * part(2),
                    part(0) * slope(1) * part(2),
                    part(0) * part(1) * slope(2),
                )
            });
            let mut jacobian = DMat3::ZERO;
            for (vertex, slope) in vertices.iter().zip(&slopes) {
                let p = rest[*vertex as usize];
                jacobian += DMat3::from_cols(p * slope.x, p * slope.y, p * slope.z);
            }
            stencil.size = jacobian.determinant();
            if !(stencil.size > 0.0 && stencil.size.is_finite()) {
                return None;
            }
            let to_rest = jacobian.inverse().transpose();
            for (corner, slope) in slopes.iter().enumerate() {
                let column = to_rest * *slope;
                (0..3).for_each(|r| stencil.coefficients[r][corner] = column[r]);
            }
        }
        Some(stencils)
    }
}

impl<const N: usize> Stencil<N, 1> {
    /// The mean-curvature vector at a vertex, Σ w (x − x_j) / A, from its neighbours with their cotangent weights and its area
    /// (see [`Laplacian`](zygoma_geometry::laplacian::Laplacian)). None if there are more neighbours than places.
    pub fn curvature(vertex: u32, neighbours: &[(u32, f64)], area: f64) -> Option<Self> {
        if neighbours.len() >= N || area.is_nan() || area <= 0.0 {
            return None;
        }
        let mut stencil = Self { vertices: [vertex; N], coefficients: [[0.0; N]], size: area };
        for (place, (other, weight)) in neighbours.iter().enumerate() {
            stencil.vertices[place + 1] = *other;
            stencil.coefficients[0][place + 1] = -weight / area;
            stencil.coefficients[0][0] += weight / area;
        }
        Some(stencil)
    }
}

impl<const N: usize, const R: usize> Stencil<N, R> {
    /// The sampled vectors.
    pub fn sample(&self, positions: &[DVec3]) -> [DVec3; R] {
        self.coefficients
            .map(|row| row.iter().zip(&self.vertices).map(|(c, v)| *c * positions[*v as usize]).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affine(p: DVec3) -> DVec3 {
        DMat3::from_cols(DVec3::new(1.1, 0.2, -0.3), DVec3::new(0.4, 0.8, 0.1), DVec3::new(0.0, 0.3, 1.4)) * p
            + DVec3::new(3.0, 2.0, 1.0)
    }

    fn cube() -> Vec<DVec3> {
        let bit = |i: usize, k: usize| (i >> k & 1) as f64;
        (0..8)
            .map(|i| {
                DVec3::new(bit(i, 0) + 0.2 * bit(i, 1), 1.5 * bit(i, 1), 0.7 * bit(i, 2) + 0.1 * bit(i, 0))
            })
            .collect()
    }

    #[test]
    fn gradients_of_affine_motions_are_their_matrix() {
        let rest = cube();
        let moved: Vec<DVec3> = rest.iter().map(|p| affine(*p)).collect();
        let expected = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| affine(axis) - affine(DVec3::ZERO));
        let tet = Stencil::tetrahedron(&rest, [0, 1, 2, 4]).unwrap();
        let gauss = Stencil::hexahedron(&rest, [0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        for found in gauss.iter().map(|s| s.sample(&moved)).chain([tet.sample(&moved)]) {
            for (f, e) in found.iter().zip(&expected) {
                assert!(f.distance(*e) < 1e-12, "{found:?}");
            }
        }
        assert!((tet.size * 6.0 - 1.5 * 0.7).abs() < 1e-12);
        assert!((gauss.iter().map(|s| s.size).sum::<f64>() - 1.5 * 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_triangle_keeps_its_metric() {
        let rest = cube();
        let triangle = Stencil::triangle(&rest, [1, 3, 6]).unwrap();
        let [u, v] = triangle.sample(&rest);
        assert!(
            (u.length() - 1.0).abs() < 1e-12 && (v.length() - 1.0).abs() < 1e-12 && u.dot(v).abs() < 1e-12
        );
        let doubled: Vec<DVec3> = rest.iter().map(|p| 2.0 * *p).collect();
        assert!(triangle.sample(&doubled)[0].distance(2.0 * u) < 1e-12);
    }

    #[test]
    fn flat_and_inverted_elements_are_refused() {
        let rest = cube();
        assert!(Stencil::tetrahedron(&rest, [0, 2, 1, 4]).is_none());
        assert!(Stencil::tetrahedron(&rest, [0, 1, 2, 2]).is_none());
        assert!(Stencil::triangle(&rest, [0, 1, 1]).is_none());
        assert!(Stencil::hexahedron(&rest, [1, 0, 3, 2, 5, 4, 7, 6]).is_none());
    }

    #[test]
    fn embedded_points_move_with_their_vertices() {
        let rest = cube();
        let a = Point::on_triangle([0, 1, 2], [0.2, 0.3, 0.5]);
        let b = Point::vertex(7);
        let [at] = a.position().sample(&rest);
        assert!(at.distance(0.2 * rest[0] + 0.3 * rest[1] + 0.5 * rest[2]) < 1e-15);
        assert!(b.from(&a).sample(&rest)[0].distance(rest[7] - at) < 1e-15);
    }
}
