//! Tissue from a tetrahedral mesh, such as the fill between a head's skin and its bones: fits it to a face.

use std::collections::HashMap;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};
use zygoma_geometry::coarsen::CoarseMesh;
use zygoma_geometry::embedding::{Embedding, followed_fraction};
use zygoma_geometry::normals::{area_vector, vertex_areas};
use zygoma_geometry::tets::TetMesh;
use zygoma_physics::projective::Material;

use super::VolumeError;
use super::input::TissueInput;
use super::tissue_mesh::{Tie, TissueMesh, TissueVolume};
use super::tissue_skin::{TissueSkin, loose_vertices};
use crate::model::FaceModel;

/// A vertex tied to the skin but farther from it than this becomes free, m: it lines a throat that the rig does not have. Ours.
const FARTHEST: f32 = 2e-3;

impl TissueVolume {
    /// The skin and the tissue mesh of a face.
    pub(crate) fn under_face(
        &self,
        input: &TissueInput,
        material: Material,
    ) -> Result<(TissueSkin, TissueMesh), VolumeError> {
        self.check()?;
        let outside = self.mesh.boundary();
        let (skin, places) = self.skin_vertices(input.face, &outside);
        if skin.is_empty() {
            let mm = 1e3 * FARTHEST;
            let problem = format!("no triangle of its boundary lies within {mm} mm of the rig's skin");
            return Err(VolumeError::Mesh(problem + "; it must be in metres, in the rig's own frame"));
        }
        let order = SkinFirst::new(&skin, self.ties.len());
        let mesh = TetMesh {
            positions: order.vertices.iter().map(|v| self.mesh.positions[*v as usize]).collect(),
            tets: self.mesh.tets.iter().map(|tet| tet.map(|v| order.places[v as usize])).collect(),
        };
        let on_skin = |t: &[u32; 3]| t.iter().all(|v| (*v as usize) < skin.len());
        let outside = outside.iter().map(|t| t.map(|v| order.places[v as usize]));
        let triangles: Vec<[u32; 3]> = outside.filter(on_skin).collect();
        let surface = TissueSkin::on_face(input, mesh.positions[..skin.len()].to_vec(), triangles, places);
        let tie = |(place, vertex): (usize, &u32)| match self.ties[*vertex as usize] {
            _ if place < skin.len() => Tie::Skin,
            Tie::Skin => Tie::Free,
            other => other,
        };
        let materials = match self.materials.is_empty() {
            true => vec![material; mesh.tets.len()],
            false => self.materials.clone(),
        };
        let tissue_mesh = TissueMesh {
            ties: order.vertices.iter().enumerate().map(tie).collect(),
            above: skin_above(&mesh.positions, &surface),
            materials,
            triangle_above: triangles_above(&mesh.tets, &surface.triangles),
            bare: Vec::new(),
            mesh,
        };
        Ok((surface, tissue_mesh))
    }

    fn check(&self) -> Result<(), VolumeError> {
        let (vertices, tets) = (self.mesh.positions.len(), self.mesh.tets.len());
        let refused = |problem: String| Err(VolumeError::Mesh(problem));
        if self.ties.len() != vertices {
            return refused(format!("it has {vertices} vertices but {} ties", self.ties.len()));
        }
        if !self.materials.is_empty() && self.materials.len() != tets {
            return refused(format!("it has {tets} tetrahedra but {} materials", self.materials.len()));
        }
        if let Some(tet) = self.mesh.tets.iter().position(|tet| tet.iter().any(|v| *v as usize >= vertices)) {
            return refused(format!("tetrahedron {tet} has a corner beyond its {vertices} vertices"));
        }
        let is_sound = |material: &Material| {
            material.young.is_finite() && material.young > 0.0 && (0.0..0.5).contains(&material.poisson)
        };
        match self.materials.iter().position(|material| !is_sound(material)) {
            Some(tet) => refused(format!("the material of tetrahedron {tet} is out of range")),
            None => Ok(()),
        }
    }

    /// The vertices that lie on a face's skin, in ascending order, with their points on it: vertices tied to the skin and close to it
    /// that belong to a boundary triangle of such vertices.
    fn skin_vertices(&self, face: &FaceModel, outside: &[[u32; 3]]) -> (Vec<u32>, Vec<SurfacePoint>) {
        let mut normals = vec![DVec3::ZERO; self.ties.len()];
        for t in outside {
            let [a, b, c] = t.map(|v| self.mesh.positions[v as usize]);
            t.iter().for_each(|v| normals[*v as usize] += area_vector(a, b, c));
        }
        let neutral = &face.neutral;
        let tree = TriangleTree::new(neutral, &face.triangles);
        // Closed lips touch, but face opposite directions.
        let faces_along = |triangle: u32, normal: Vec3| {
            let [a, b, c] = face.triangles[triangle as usize].map(|v| neutral[v as usize]);
            (b - a).cross(c - a).dot(normal) > 0.0
        };
        let place = |vertex: usize| -> Option<SurfacePoint> {
            let (at, normal) = (self.mesh.positions[vertex].as_vec3(), normals[vertex].as_vec3());
            let accepted = |triangle: u32| faces_along(triangle, normal);
            let found = tree.closest_among(neutral, &face.triangles, at, FARTHEST, accepted)?;
            let barycentric = found.barycentric.map(f64::from);
            let sum: f64 = barycentric.iter().sum();
            Some(SurfacePoint { triangle: found.triangle, barycentric: barycentric.map(|w| w / sum) })
        };
        let is_tied = |vertex: &usize| self.ties[*vertex] == Tie::Skin && normals[*vertex] != DVec3::ZERO;
        let places: Vec<Option<SurfacePoint>> =
            (0..self.ties.len()).into_par_iter().map(|v| Some(v).filter(is_tied).and_then(place)).collect();
        let mut has_triangle = vec![false; self.ties.len()];
        for t in outside.iter().filter(|t| t.iter().all(|v| places[*v as usize].is_some())) {
            t.iter().for_each(|v| has_triangle[*v as usize] = true);
        }
        let kept = (0u32..).zip(places).filter(|(v, _)| has_triangle[*v as usize]);
        kept.filter_map(|(v, place)| Some((v, place?))).unzip()
    }
}

/// A permutation of vertices that puts some first.
struct SkinFirst {
    /// The vertices in this order.
    vertices: Vec<u32>,
    /// The index of each vertex in this order.
    places: Vec<u32>,
}

impl SkinFirst {
    fn new(first: &[u32], count: usize) -> Self {
        let mut is_first = vec![false; count];
        first.iter().for_each(|v| is_first[*v as usize] = true);
        let others = (0..count as u32).filter(|v| !is_first[*v as usize]);
        let vertices: Vec<u32> = first.iter().copied().chain(others).collect();
        let mut places = vec![0; count];
        (0u32..).zip(&vertices).for_each(|(place, vertex)| places[*vertex as usize] = place);
        Self { vertices, places }
    }
}

impl TissueSkin {
    /// A surface on a face's skin, given the points of its vertices there.
    fn on_face(
        input: &TissueInput,
        positions: Vec<DVec3>,
        triangles: Vec<[u32; 3]>,
        places: Vec<SurfacePoint>,
    ) -> Self {
        let face = input.face;
        let is_loose = loose_vertices(input, &places);
        let moves_of = |shape: usize| -> Vec<DVec3> {
            let dense: Vec<DVec3> = face.displacements(shape).iter().map(|way| way.as_dvec3()).collect();
            let moved = |(place, loose): (&SurfacePoint, &bool)| match loose {
                true => DVec3::ZERO,
                false => place.interpolate(&face.triangles, &dense),
            };
            places.iter().zip(&is_loose).map(moved).collect()
        };
        let moves = (0..face.shapes.len()).into_par_iter().map(moves_of).collect();
        let areas = vertex_areas(&positions, &triangles);
        let coarse = CoarseMesh { positions, triangles, places };
        let is_held = coarse.places.iter().map(|place| held_fraction(face, place) > 0.5);
        Self {
            is_held: is_held.zip(&is_loose).map(|(held, loose)| held && !loose).collect(),
            moves,
            embedding: embed(face, &coarse),
            positions: coarse.positions,
            triangles: coarse.triangles,
            places: coarse.places,
            areas,
            is_loose,
        }
    }
}

/// Fraction by which a point of a face follows held vertices of its own coarse mesh.
fn held_fraction(face: &FaceModel, place: &SurfacePoint) -> f64 {
    let corners = face.triangles[place.triangle as usize];
    let held = |corner: u32| -> f64 {
        let (vertices, weights) =
            (face.embedding.vertices[corner as usize], face.embedding.weights[corner as usize]);
        (0..3).filter(|k| face.coarse.is_held[vertices[*k] as usize]).map(|k| f64::from(weights[k])).sum()
    };
    (0..3).map(|i| place.barycentric[i] * held(corners[i])).sum()
}

/// Embeds the whole mesh of a face in a surface on it, as far as it is near that surface and follows the face's own coarse mesh. Where tissue is
/// thin, as on the palate or the scalp, coarse elements leave holes in the surface; skin there follows the rig.
fn embed(face: &FaceModel, coarse: &CoarseMesh) -> Embedding {
    let positions: Vec<DVec3> = face.neutral.iter().map(|p| p.as_dvec3()).collect();
    let mut embedding = Embedding::new(&positions, &face.triangles, coarse);
    // Vertices at the same position with the same embedding are one point: files split vertices along texture seams.
    let mut first: HashMap<[[u32; 3]; 3], usize> = HashMap::new();
    for vertex in 0..embedding.len() {
        let (own, weights) = (face.embedding.vertices[vertex], face.embedding.weights[vertex]);
        let at = face.neutral[vertex].to_array().map(f32::to_bits);
        let same = *first.entry([at, own, weights.map(f32::to_bits)]).or_insert(vertex);
        if same < vertex {
            embedding.vertices[vertex] = embedding.vertices[same];
            embedding.weights[vertex] = embedding.weights[same];
        } else {
            let corners = embedding.vertices[vertex].map(|v| coarse.positions[v as usize]);
            let seat = embedding.displacement_f64(vertex, &coarse.positions);
            let is_near = followed_fraction(seat.distance(positions[vertex]), corners) as f32;
            let follows = is_near * weights.iter().sum::<f32>();
            embedding.weights[vertex] = embedding.weights[vertex].map(|weight| follows * weight);
        }
    }
    embedding
}

/// The skin vertex nearest to each vertex of a mesh; the skin's own come first.
fn skin_above(positions: &[DVec3], skin: &TissueSkin) -> Vec<u32> {
    let surface: Vec<Vec3> = skin.positions.iter().map(|p| p.as_vec3()).collect();
    let tree = TriangleTree::new(&surface, &skin.triangles);
    let nearest = |at: &DVec3| {
        let found = tree.closest(&surface, &skin.triangles, at.as_vec3(), f32::INFINITY);
        found.map_or(0, |found| {
            let weights = found.barycentric;
            let heaviest = (1..3).fold(0, |best, k| if weights[k] > weights[best] { k } else { best });
            skin.triangles[found.triangle as usize][heaviest]
        })
    };
    let below: Vec<u32> = positions[skin.positions.len()..].par_iter().map(nearest).collect();
    (0..skin.positions.len() as u32).chain(below).collect()
}

/// The skin triangle that is a face of each tetrahedron, if any.
fn triangles_above(tets: &[[u32; 4]], triangles: &[[u32; 3]]) -> Vec<Option<u32>> {
    let sorted = |mut face: [u32; 3]| {
        face.sort_unstable();
        face
    };
    let index: HashMap<[u32; 3], u32> = triangles.iter().map(|t| sorted(*t)).zip(0..).collect();
    let above = |[a, b, c, d]: &[u32; 4]| {
        let faces = [[*a, *b, *c], [*a, *b, *d], [*a, *c, *d], [*b, *c, *d]];
        faces.into_iter().find_map(|face| index.get(&sorted(face)).copied())
    };
    tets.iter().map(above).collect()
}
