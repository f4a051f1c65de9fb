//! The signed distance to a closed mesh.

use std::collections::BTreeMap;

use glam::Vec3;

use super::{Nearest, TriangleTree};
use crate::point::{Point, Scalar};
use crate::topology::{EdgeCounts, half_edges};
use crate::tri_mesh::{TriMesh, TriMeshError, check_mesh};

/// A closed mesh that can be asked for its nearest point and the signed distance to it. Its vertices may move.
///
/// The sign comes from angle-weighted pseudonormals (\[Baerentzen and Aanaes 2005\]): the offset of a point from its nearest point of the mesh has
/// a positive product with the pseudonormal there exactly if the point is outside. This is true of no other mean of normals at sharp edges and corners.
#[derive(Clone, Debug)]
pub struct SignedSurface<P: Point = Vec3> {
    mesh: TriMesh<P>,
    /// For each triangle and each of its half-edges, the number of the edge.
    edges: Vec<[u32; 3]>,
    pseudonormals: Pseudonormals<P>,
    tree: TriangleTree<P>,
}

#[derive(Clone, Debug)]
struct Pseudonormals<P> {
    triangles: Vec<P>,
    edges: Vec<P>,
    vertices: Vec<P>,
}

/// A mesh that has no inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignedSurfaceError {
    /// The arrays do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] TriMeshError),
    /// The mesh has a hole.
    #[error("the mesh is open: {0} of its edges have only one triangle; close its holes")]
    Open(usize),
    /// Another number of vertices than the mesh has.
    #[error("the mesh has {expected} vertices, but {given} positions were given")]
    VertexCount {
        /// Vertices of the mesh.
        expected: usize,
        /// Positions given.
        given: usize,
    },
}

/// The nearest point of a closed mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedNearest<P: Point = Vec3> {
    /// The nearest point; its distance has no sign.
    pub nearest: Nearest<P>,
    /// Distance from the query, negative inside.
    pub signed_distance: P::Scalar,
    /// Unit vector that leads out of the mesh at the query.
    pub normal: P,
}

impl<P: Point> SignedSurface<P> {
    /// The signed distance to a closed mesh whose triangles face outwards.
    pub fn new(mesh: TriMesh<P>) -> Result<Self, SignedSurfaceError> {
        check_mesh(&mesh.positions, &mesh.triangles)?;
        let border = EdgeCounts::new(&mesh.triangles).border();
        if !border.is_empty() {
            return Err(SignedSurfaceError::Open(border.len()));
        }
        let edges = number_edges(&mesh.triangles);
        let count = edges.iter().flatten().max().map_or(0, |last| *last as usize + 1);
        let zeros = |count| vec![P::ZERO; count];
        let mut pseudonormals = Pseudonormals {
            triangles: zeros(mesh.triangles.len()),
            edges: zeros(count),
            vertices: zeros(mesh.positions.len()),
        };
        pseudonormals.update(&mesh, &edges);
        let tree = TriangleTree::new(&mesh.positions, &mesh.triangles);
        Ok(Self { mesh, edges, pseudonormals, tree })
    }

    /// The mesh.
    pub fn mesh(&self) -> &TriMesh<P> {
        &self.mesh
    }

    /// The smallest box around the mesh, as its lowest and highest corner.
    pub fn bounds(&self) -> (P, P) {
        self.tree.bounds()
    }

    /// Checks that positions may be given to [`deform`](Self::deform): as many as there are vertices, and finite.
    pub fn check_positions(&self, positions: &[P]) -> Result<(), SignedSurfaceError> {
        let (expected, given) = (self.mesh.positions.len(), positions.len());
        if given != expected {
            return Err(SignedSurfaceError::VertexCount { expected, given });
        }
        Ok(check_mesh(positions, &[])?)
    }

    /// Moves the vertices; no allocation.
    pub fn deform(&mut self, positions: &[P]) -> Result<(), SignedSurfaceError> {
        self.check_positions(positions)?;
        self.mesh.positions.copy_from_slice(positions);
        self.pseudonormals.update(&self.mesh, &self.edges);
        self.tree.refit(&self.mesh.positions, &self.mesh.triangles);
        Ok(())
    }

    /// Scales the mesh about its origin. Pseudonormals stay.
    pub fn scale(&mut self, by: P::Scalar) {
        for p in &mut self.mesh.positions {
            *p = *p * by;
        }
        self.tree.refit(&self.mesh.positions, &self.mesh.triangles);
    }

    /// The nearest point of the mesh within a distance outside of it, and from anywhere inside.
    pub fn closest(&self, point: P, within: P::Scalar) -> Option<SignedNearest<P>> {
        // Most queries are nowhere near.
        let (low, high) = self.tree.bounds();
        let off = point - point.max(low).min(high);
        if off.dot(off) > within * within {
            return None;
        }
        // A point deep inside is farther from the surface than `within`, and must be found all the same. None is deeper than the radius of a ball
        // that fits between the bounds; a little more, for rounding.
        let deepest = P::Scalar::from_f64(0.51) * (high - low).min_element();
        let TriMesh { positions, triangles } = &self.mesh;
        let nearest = self.tree.closest(positions, triangles, point, deepest.max(within))?;
        let facing = self.pseudonormal(nearest.triangle as usize, &nearest.barycentric);
        let offset = point - nearest.point;
        let sign = if offset.dot(facing) < P::Scalar::ZERO { -P::Scalar::ONE } else { P::Scalar::ONE };
        // On the surface, the direction of the offset is that of its rounding error.
        let size = high - low;
        let is_on_surface = offset.dot(offset) <= P::Scalar::ON_EDGE * P::Scalar::ON_EDGE * size.dot(size);
        let away = if is_on_surface { facing } else { offset * sign };
        let normal = away.try_normalize().or_else(|| facing.try_normalize()).unwrap_or(P::Z);
        Some(SignedNearest { nearest, signed_distance: sign * nearest.distance, normal })
    }

    fn pseudonormal(&self, triangle: usize, barycentric: &[P::Scalar; 3]) -> P {
        let is_off = barycentric.map(|weight| weight <= P::Scalar::ON_EDGE);
        let edge = |half_edge: usize| self.pseudonormals.edges[self.edges[triangle][half_edge] as usize];
        match is_off {
            [false, false, false] => self.pseudonormals.triangles[triangle],
            // Half-edges begin at corners 0, 1 and 2.
            [false, false, true] => edge(0),
            [true, false, false] => edge(1),
            [false, true, false] => edge(2),
            _ => {
                let corner = (0..3).find(|k| !is_off[*k]).unwrap_or(0);
                self.pseudonormals.vertices[self.mesh.triangles[triangle][corner] as usize]
            }
        }
    }
}

impl<P: Point> Pseudonormals<P> {
    fn update(&mut self, mesh: &TriMesh<P>, edges: &[[u32; 3]]) {
        self.edges.fill(P::ZERO);
        self.vertices.fill(P::ZERO);
        for (triangle, (t, edges)) in mesh.triangles.iter().zip(edges).enumerate() {
            let corners = mesh.corners(triangle);
            let unit = |v: P| v.try_normalize().unwrap_or(P::ZERO);
            let normal = unit((corners[1] - corners[0]).cross(corners[2] - corners[0]));
            self.triangles[triangle] = normal;
            for k in 0..3 {
                let sides = [1, 2].map(|next| unit(corners[(k + next) % 3] - corners[k]));
                let (vertex, edge) = (t[k] as usize, edges[k] as usize);
                self.vertices[vertex] = self.vertices[vertex] + normal * sides[0].dot(sides[1]).angle();
                self.edges[edge] = self.edges[edge] + normal;
            }
        }
    }
}

/// Numbers the edges: for each triangle those of its half-edges.
fn number_edges(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut number = |(a, b): (u32, u32)| {
        let next = numbers.len() as u32;
        *numbers.entry((a.min(b), a.max(b))).or_insert(next)
    };
    triangles.iter().map(|t| half_edges(*t).map(&mut number)).collect()
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::shapes;

    /// A blade: two flat sides, one fifteen times as wide as the other, meet at a sharp edge along Y.
    fn blade<P: Point>(point: impl Fn(f64, f64, f64) -> P) -> TriMesh<P> {
        let edges = [(0.0, 0.0), (-0.02, -0.2), (0.3, -3.0)];
        let positions = edges.iter().flat_map(|(x, z)| [-1.0, 1.0].map(|y| point(*x, y, *z))).collect();
        let triangles =
            vec![[0, 1, 3], [0, 3, 2], [0, 4, 5], [0, 5, 1], [2, 3, 5], [2, 5, 4], [0, 2, 4], [1, 5, 3]];
        TriMesh { positions, triangles }
    }

    #[test]
    fn points_beside_a_sharp_edge_have_the_right_sign() {
        let mesh = blade(DVec3::new);
        // The blade is convex: a plane of each side with its normal outwards.
        let planes: Vec<(DVec3, DVec3)> = (0..mesh.triangles.len())
            .map(|t| mesh.corners(t))
            .map(|[a, b, c]| (a, (b - a).cross(c - a).normalize()))
            .collect();
        let single = SignedSurface::new(blade(|x, y, z| DVec3::new(x, y, z).as_vec3())).unwrap();
        let double = SignedSurface::new(mesh).unwrap();
        let random =
            |n: u32| (f64::from(n.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24)) * 3.0 - 1.5;
        for n in 0..20_000 {
            let point = DVec3::new(0.3 * random(3 * n), random(3 * n + 1), 0.3 * random(3 * n + 2));
            let outside =
                planes.iter().map(|(at, normal)| (point - *at).dot(*normal)).fold(f64::MIN, f64::max);
            if outside.abs() < 1e-3 {
                continue;
            }
            let found = double.closest(point, 10.0).unwrap().signed_distance;
            assert_eq!(found > 0.0, outside > 0.0, "{point}: {found} but {outside}");
            let coarse = single.closest(point.as_vec3(), 10.0).unwrap().signed_distance;
            assert!((f64::from(coarse) - found).abs() < 1e-5, "{point}: {coarse} {found}");
        }
    }

    /// Resting contacts lie on the surface, to within rounding. They once had any normal, and skin on a mesh trembled.
    #[test]
    fn points_on_the_surface_have_its_normal() {
        let (positions, triangles) = shapes::sphere(24, 32);
        let positions = positions.iter().map(|p| 0.05 * *p).collect();
        let surface = SignedSurface::new(TriMesh { positions, triangles }).unwrap();
        for (triangle, corners) in surface.mesh().triangles.iter().enumerate() {
            let [a, b, c] = surface.mesh().corners(triangle);
            for weights in [[0.4, 0.3, 0.3], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]] {
                let on = weights[0] * a + weights[1] * b + weights[2] * c;
                for off in [-1e-8, 0.0, 1e-8] {
                    let found = surface.closest(on + off * on.normalize(), 0.1).unwrap();
                    let tilt = found.normal.angle_between(on.normalize());
                    // Half of the angle between neighbouring triangles, and a little more.
                    assert!(tilt < 0.12, "{corners:?} {weights:?} {off}: {tilt}");
                }
            }
        }
    }

    #[test]
    fn a_deformed_mesh_is_that_of_its_new_positions() {
        let (positions, triangles) = shapes::sphere(16, 24);
        let mut surface = SignedSurface::new(TriMesh { positions: positions.clone(), triangles }).unwrap();
        assert!(surface.closest(Vec3::ZERO, 0.1).unwrap().signed_distance < -0.95, "found however deep");
        assert!(surface.closest(Vec3::X * 1.2, 0.1).is_none());
        let grown: Vec<Vec3> = positions.iter().map(|p| 1.1 * *p).collect();
        surface.deform(&grown).unwrap();
        assert!((surface.closest(Vec3::X * 1.2, 1.0).unwrap().signed_distance - 0.1).abs() < 0.01);
        let wrong = surface.deform(&grown[1..]).unwrap_err();
        let (expected, given) = (grown.len(), grown.len() - 1);
        assert_eq!(wrong, SignedSurfaceError::VertexCount { expected, given });
        surface.scale(2.0);
        assert!((surface.closest(Vec3::X * 2.4, 1.0).unwrap().signed_distance - 0.2).abs() < 0.02);
    }

    #[test]
    fn open_meshes_are_refused() {
        let (positions, triangles) = shapes::square(2);
        let error = SignedSurface::new(TriMesh { positions, triangles }).unwrap_err();
        assert_eq!(error, SignedSurfaceError::Open(8));
    }
}
