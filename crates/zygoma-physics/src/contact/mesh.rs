//! Colliders made of triangles: hands, tools, anything closed.

use std::collections::BTreeMap;

use glam::Vec3;
use zygoma_geometry::topology::{EdgeCounts, half_edges};
use zygoma_geometry::triangle_tree::TriangleTree;

use super::{MeshPoint, Probe};

/// A closed triangle mesh with a signed distance; its vertices may move.
#[derive(Clone, Debug)]
pub struct ColliderMesh {
    positions: Vec<Vec3>,
    before: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    /// For each triangle and each of its half-edges, a number of the edge.
    edges: Vec<[u32; 3]>,
    normals: Normals,
    tree: TriangleTree,
    reach: f32,
    duration: f32,
}

/// Which way is out at each part of a mesh: angle-weighted pseudonormals (Bærentzen and Aanæs 2005). The offset of any point from its nearest
/// point of the mesh has a positive product with the pseudonormal there exactly if the point is outside, which is true of no other mean of
/// normals at sharp edges and corners.
#[derive(Clone, Debug, Default)]
struct Normals {
    triangles: Vec<Vec3>,
    edges: Vec<Vec3>,
    vertices: Vec<Vec3>,
}

impl Normals {
    fn new(vertices: usize, edges: usize, triangles: usize) -> Self {
        let zeros = |count| vec![Vec3::ZERO; count];
        Self { triangles: zeros(triangles), edges: zeros(edges), vertices: zeros(vertices) }
    }

    fn find(&mut self, positions: &[Vec3], triangles: &[[u32; 3]], edges: &[[u32; 3]]) {
        self.edges.fill(Vec3::ZERO);
        self.vertices.fill(Vec3::ZERO);
        for ((normal, t), edges) in self.triangles.iter_mut().zip(triangles).zip(edges) {
            let corners = t.map(|v| positions[v as usize]);
            *normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
            for k in 0..3 {
                let ways = [1, 2].map(|next| (corners[(k + next) % 3] - corners[k]).normalize_or_zero());
                let angle = ways[0].dot(ways[1]).clamp(-1.0, 1.0).acos();
                self.vertices[t[k] as usize] += angle * *normal;
                self.edges[edges[k] as usize] += *normal;
            }
        }
    }
}

/// Why a mesh cannot be a collider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// A triangle names a vertex that is not there.
    #[error("triangle {0} of the collider names a vertex that does not exist")]
    BadIndex(usize),
    /// The mesh has a hole, so nothing is inside it.
    #[error("the collider's mesh is open: {0} of its edges have only one triangle; close its holes")]
    Open(usize),
    /// A position is not finite.
    #[error("vertex {0} of the collider has a coordinate that is not a number")]
    NotFinite(usize),
    /// Another number of vertices than the mesh has.
    #[error("the collider has {expected} vertices, but {given} positions were given")]
    VertexCount {
        /// Vertices of the mesh.
        expected: usize,
        /// Positions given.
        given: usize,
    },
}

impl ColliderMesh {
    /// A collider from a closed mesh whose triangles face outwards.
    pub fn new(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite(vertex));
        }
        let outside = |t: &[u32; 3]| t.iter().any(|v| *v as usize >= positions.len());
        if let Some(triangle) = triangles.iter().position(outside) {
            return Err(MeshError::BadIndex(triangle));
        }
        let border = EdgeCounts::new(&triangles).border();
        if !border.is_empty() {
            return Err(MeshError::Open(border.len()));
        }
        let edges = number_edges(&triangles);
        let count = edges.iter().flatten().max().map_or(0, |last| *last as usize + 1);
        let mut normals = Normals::new(positions.len(), count, triangles.len());
        normals.find(&positions, &triangles, &edges);
        let tree = TriangleTree::new(&positions, &triangles);
        let mut mesh = Self {
            before: positions.clone(),
            positions,
            triangles,
            edges,
            normals,
            tree,
            reach: 0.0,
            duration: 0.0,
        };
        mesh.measure();
        Ok(mesh)
    }

    /// Moves the vertices to where they are after `duration` seconds, and goes on at no speed of its own when that is 0; no allocation.
    pub fn deform(&mut self, positions: &[Vec3], duration: f32) -> Result<(), MeshError> {
        if positions.len() != self.positions.len() {
            return Err(MeshError::VertexCount { expected: self.positions.len(), given: positions.len() });
        }
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite(vertex));
        }
        self.before.copy_from_slice(&self.positions);
        self.positions.copy_from_slice(positions);
        self.duration = duration;
        self.normals.find(&self.positions, &self.triangles, &self.edges);
        self.tree.refit(&self.positions, &self.triangles);
        self.measure();
        Ok(())
    }

    /// The same mesh, larger by a factor.
    pub(super) fn scaled(&self, by: f32) -> Self {
        let mut larger = self.clone();
        for p in larger.positions.iter_mut().chain(&mut larger.before) {
            *p *= by;
        }
        larger.tree.refit(&larger.positions, &larger.triangles);
        larger.measure();
        larger
    }

    fn measure(&mut self) {
        self.reach = self.positions.iter().map(|p| p.length_squared()).fold(0.0, f32::max).sqrt();
    }

    /// Vertices now.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    pub(super) fn reach(&self) -> f32 {
        self.reach
    }

    /// The vertices stand still.
    pub fn hold(&mut self) {
        self.duration = 0.0;
    }

    /// Which way is out at a place of a triangle.
    fn pseudonormal(&self, triangle: usize, barycentric: &[f32; 3]) -> Vec3 {
        // Nearest points come clamped to edges and corners: their weights there are 0 but for rounding.
        const ON: f32 = 1e-6;
        let is_off = barycentric.map(|weight| weight <= ON);
        match is_off {
            [false, false, false] => self.normals.triangles[triangle],
            // Half-edges begin at corners 0, 1 and 2.
            [false, false, true] => self.normals.edges[self.edges[triangle][0] as usize],
            [true, false, false] => self.normals.edges[self.edges[triangle][1] as usize],
            [false, true, false] => self.normals.edges[self.edges[triangle][2] as usize],
            _ => {
                let corner = (0..3).find(|k| !is_off[*k]).unwrap_or(0);
                self.normals.vertices[self.triangles[triangle][corner] as usize]
            }
        }
    }

    /// Distance, way out and velocity at a point in the mesh's own frame.
    pub(super) fn probe(&self, point: Vec3, within: f32) -> Option<Probe> {
        // Most points that are asked for are nowhere near.
        let (low, high) = self.tree.bounds();
        if point.distance_squared(point.clamp(low, high)) > within * within {
            return None;
        }
        // A point deep inside is farther from the surface than `within`, and must be found all the same. None is deeper than the radius of a ball
        // that fits between the bounds; a little more, for rounding.
        let deepest = 0.51 * (high - low).min_element();
        let nearest = self.tree.closest(&self.positions, &self.triangles, point, deepest.max(within))?;
        let corners = self.triangles[nearest.triangle as usize];
        let mean = |values: &[Vec3]| -> Vec3 {
            (0..3).map(|i| nearest.barycentric[i] * values[corners[i] as usize]).sum()
        };
        let facing = self.pseudonormal(nearest.triangle as usize, &nearest.barycentric);
        let offset = point - nearest.point;
        let sign = if offset.dot(facing) < 0.0 { -1.0 } else { 1.0 };
        let normal = (sign * offset).try_normalize().unwrap_or(facing.normalize_or(Vec3::Z));
        let velocity = if self.duration > 0.0 {
            (mean(&self.positions) - mean(&self.before)) / self.duration
        } else {
            Vec3::ZERO
        };
        Some(Probe {
            distance: sign * nearest.distance,
            normal,
            point: nearest.point,
            velocity,
            on_mesh: Some(MeshPoint { triangle: nearest.triangle, barycentric: nearest.barycentric }),
        })
    }
}

/// Gives each edge a number: that of each half-edge of each triangle.
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
    use super::*;
    use zygoma_geometry::shapes;

    /// A blade: two flat sides, one fifteen times as wide as the other, meet at a sharp edge along Y.
    fn blade() -> ColliderMesh {
        let edges = [(0.0, 0.0), (-0.02, -0.2), (0.3, -3.0)];
        let positions = edges.iter().flat_map(|(x, z)| [-1.0, 1.0].map(|y| Vec3::new(*x, y, *z))).collect();
        let triangles =
            vec![[0, 1, 3], [0, 3, 2], [0, 4, 5], [0, 5, 1], [2, 3, 5], [2, 5, 4], [0, 2, 4], [1, 5, 3]];
        ColliderMesh::new(positions, triangles).unwrap()
    }

    #[test]
    fn what_is_outside_a_sharp_edge_is_outside() {
        let mesh = blade();
        // A plane of each side with its normal outwards; the blade is convex.
        let planes = mesh.triangles.iter().map(|t| {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            (a, (b - a).cross(c - a).normalize())
        });
        let planes: Vec<(Vec3, Vec3)> = planes.collect();
        let random = |n: u32| ((n.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32) * 3.0 - 1.5;
        for n in 0..20_000 {
            let point = Vec3::new(0.3 * random(3 * n), random(3 * n + 1), 0.3 * random(3 * n + 2));
            let outside =
                planes.iter().map(|(at, normal)| (point - *at).dot(*normal)).fold(f32::MIN, f32::max);
            if outside.abs() < 1e-3 {
                continue;
            }
            let distance = mesh.probe(point, 10.0).unwrap().distance;
            assert_eq!(distance > 0.0, outside > 0.0, "{point}: {distance} but {outside}");
        }
    }

    #[test]
    fn a_mesh_that_grows_pushes_outwards() {
        let (positions, triangles) = shapes::sphere(16, 24);
        let mut mesh = ColliderMesh::new(positions.clone(), triangles).unwrap();
        assert!(mesh.probe(Vec3::ZERO, 0.1).unwrap().distance < -0.95);
        let grown: Vec<Vec3> = positions.iter().map(|p| 1.1 * *p).collect();
        mesh.deform(&grown, 0.01).unwrap();
        let probe = mesh.probe(Vec3::X * 1.2, 1.0).unwrap();
        assert!((probe.distance - 0.1).abs() < 0.01 && (probe.velocity.x - 10.0).abs() < 0.2);
        assert_eq!(
            mesh.deform(&grown[1..], 0.01).unwrap_err(),
            MeshError::VertexCount { expected: grown.len(), given: grown.len() - 1 }
        );
    }

    #[test]
    fn open_meshes_are_refused() {
        let (positions, triangles) = shapes::square(2);
        assert_eq!(ColliderMesh::new(positions, triangles).unwrap_err(), MeshError::Open(8));
    }
}
