//! The scene as one list of triangles in view coordinates, without those that cannot be drawn.

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;

use crate::project::Projection;
use crate::scene::{Scene, Surface};

/// One triangle of the scene.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangle {
    /// Its surface in the scene.
    pub(crate) surface: u32,
    /// Its place in that surface's triangles.
    pub(crate) index: u32,
    /// Its corners in [`Geometry::positions`].
    pub(crate) corners: [u32; 3],
}

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Weights of the three corners; they sum to 1.
    pub(crate) weights: Vec3,
    /// View position.
    pub(crate) position: Vec3,
    /// Unit shading normal in the view, towards the eye.
    pub(crate) normal: Vec3,
    /// Whether the triangle's back faces the eye.
    pub(crate) back: bool,
}

/// All triangles that can be drawn, in view coordinates.
pub(crate) struct Geometry {
    pub(crate) positions: Vec<Vec3>,
    pub(crate) normals: Vec<Vec3>,
    pub(crate) triangles: Vec<Triangle>,
    /// Where each surface's vertices begin.
    pub(crate) first_vertex: Vec<u32>,
    /// Where each surface's triangles begin, and their end.
    pub(crate) first_triangle: Vec<usize>,
}

impl Geometry {
    pub(crate) fn new(scene: &Scene, projection: Projection) -> Self {
        let mut geometry = Self {
            positions: Vec::new(),
            normals: Vec::new(),
            triangles: Vec::new(),
            first_vertex: Vec::new(),
            first_triangle: vec![0],
        };
        for (number, surface) in scene.surfaces.iter().enumerate() {
            geometry.add(number as u32, surface, projection);
        }
        geometry
    }

    fn add(&mut self, number: u32, surface: &Surface, projection: Projection) {
        let first = self.positions.len() as u32;
        let drawable: Vec<usize> =
            (0..surface.triangles.len()).filter(|&t| is_drawable(surface, surface.triangles[t])).collect();
        let given = surface.normals.filter(|normals| normals.len() == surface.positions.len());
        let smooth = || {
            let triangles: Vec<[u32; 3]> = drawable.iter().map(|&t| surface.triangles[t]).collect();
            vertex_normals(surface.positions, &triangles)
        };
        let normals = given.map_or_else(smooth, <[Vec3]>::to_vec);
        self.normals.extend(normals.iter().map(|normal| projection.direction_to_view(*normal)));
        self.positions.extend(surface.positions.iter().map(|position| projection.to_view(*position)));
        self.triangles.extend(drawable.iter().map(|&t| Triangle {
            surface: number,
            index: t as u32,
            corners: surface.triangles[t].map(|v| first + v),
        }));
        self.first_vertex.push(first);
        self.first_triangle.push(self.triangles.len());
    }

    /// The corners of a triangle in view coordinates.
    pub(crate) fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].corners.map(|v| self.positions[v as usize])
    }

    /// Intersects the ray through a screen position with a triangle, by Cramer's rule
    /// ([Möller and Trumbore 1997] *Fast, minimum storage ray-triangle intersection*, Eq. 6).
    /// Samples at the very border are clamped to the triangle. `None` if it is seen edge on.
    pub(crate) fn hit(&self, projection: Projection, triangle: usize, x: f32, y: f32) -> Option<Hit> {
        let (origin, ray) = projection.ray(x, y);
        let [a, b, c] = self.corners(triangle);
        let (ab, ac, to_origin) = (b - a, c - a, origin - a);
        let area = ab.cross(ac);
        let across = -ray.dot(area);
        if across == 0.0 || !across.is_finite() {
            return None;
        }
        let turn = to_origin.cross(ray);
        let v = (ac.dot(turn) / across).clamp(0.0, 1.0);
        let w = (-ab.dot(turn) / across).clamp(0.0, 1.0 - v);
        let weights = Vec3::new(1.0 - v - w, v, w);
        let position = a + v * ab + w * ac;
        let back = across < 0.0;
        let [na, nb, nc] = self.triangles[triangle].corners.map(|v| self.normals[v as usize]);
        let smooth = na * weights.x + nb * weights.y + nc * weights.z;
        let normal = smooth.try_normalize().or_else(|| area.try_normalize())?;
        Some(Hit { weights, position, normal: if back { -normal } else { normal }, back })
    }
}

fn is_drawable(surface: &Surface, triangle: [u32; 3]) -> bool {
    let finite = |v: u32| surface.positions.get(v as usize).is_some_and(|position| position.is_finite());
    triangle.into_iter().all(finite)
}
