//! From a rig's mesh to a face model: selects the simulated skin, coarsens it, and embeds the whole mesh in it.

use std::ops::RangeInclusive;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::coarsen::{CoarseMesh, CoarsenError, coarsen_within};
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::geodesic::{Source, nearest_sources};
use zygoma_numerics::{Budget, Stop};
use zygoma_rig::{Rig, RigMesh, SparseDeltas};

use super::Inside;
use super::face::{CoarseSkin, FaceModel, FaceShape};
use super::held::held_vertices;
use super::origin::Origin;
use super::region::Region;
use super::section::Sections;
use super::validate;

/// Allowed triangle counts of a coarse skin: fewer lose the face, more would be finer than any face mesh.
pub const SIZES: RangeInclusive<usize> = 100..=200_000;

/// Beyond the simulated skin, attached parts follow it with a weight that fades out over this fraction of the height. Ours: far enough
/// for the inner lips, not so far that teeth would move.
const FADE: f64 = 0.08;

/// Why a rig cannot be prepared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The wanted number of triangles is out of range.
    #[error("{0} triangles are out of range; use {least} to {most}", least = SIZES.start(), most = SIZES.end())]
    Size(usize),
    /// No skin or no height was found.
    #[error("the mesh has no part that looks like the skin of a face; name the mesh with --mesh")]
    NoFace,
    /// The surface cannot be meshed.
    #[error("the skin cannot be meshed: {0}")]
    Mesh(CoarsenError),
    /// The parts of the face are inconsistent.
    #[error(
        "the rig gives no face that can be simulated: {0}; check its scale and its shapes with `zygoma info`"
    )]
    Unsound(String),
    /// The build was cancelled or ran out of time.
    #[error("the build stopped: {0}")]
    Stopped(#[from] Stop),
}

impl From<CoarsenError> for PrepareError {
    fn from(error: CoarsenError) -> Self {
        match error {
            CoarsenError::Stopped(stop) => Self::Stopped(stop),
            other => Self::Mesh(other),
        }
    }
}

/// A mesh being prepared as a model. Lengths are in face heights, so that thresholds hold for faces of any size.
pub(crate) struct Prepared {
    pub(crate) region: Region,
    pub(crate) coarse: CoarseMesh,
    /// Displacements of the coarse skin by each shape.
    pub(crate) moves: Vec<Vec<DVec3>>,
    pub(crate) is_held: Vec<bool>,
}

impl FaceModel {
    /// Prepares a rig: all data that every body needs, without any body's own section.
    pub fn of_rig(rig: &Rig, triangles: usize, budget: &Budget) -> Result<Self, PrepareError> {
        let mut face = Self::new(&rig.name, rig.skin(), triangles, budget)?;
        face.look_inside(rig);
        Ok(face)
    }

    /// Prepares a mesh alone, of whose inside only the shapes that move the jaw are known.
    pub fn new(name: &str, mesh: &RigMesh, triangles: usize, budget: &Budget) -> Result<Self, PrepareError> {
        Prepared::new(mesh, triangles, budget)?.model(name, mesh)
    }
}

impl Prepared {
    pub(crate) fn new(mesh: &RigMesh, triangles: usize, budget: &Budget) -> Result<Self, PrepareError> {
        if !SIZES.contains(&triangles) {
            return Err(PrepareError::Size(triangles));
        }
        let region = Region::choose(mesh, budget)?;
        let coarse = coarsen_within(&region.points, &region.triangles, triangles, budget)?;
        let on_coarse = |shape: &zygoma_rig::Shape| -> Vec<DVec3> {
            let dense = region.point_deltas(mesh, &shape.deltas);
            coarse.places.iter().map(|place| place.interpolate(&region.triangles, &dense)).collect()
        };
        let moves: Vec<Vec<DVec3>> = mesh.shapes.par_iter().map(on_coarse).collect();
        let jaw_moves: Vec<&[DVec3]> = region.jaw.iter().map(|shape| &moves[*shape][..]).collect();
        let is_held = held_vertices(&coarse, &jaw_moves, budget)?;
        Ok(Self { region, coarse, moves, is_held })
    }

    /// The model, in metres.
    pub(crate) fn model(&self, name: &str, mesh: &RigMesh) -> Result<FaceModel, PrepareError> {
        let Self { region, coarse, moves, is_held } = self;
        let height = region.height;
        let embedding = embed(region, coarse);
        let shape = |(shape, moves): (&zygoma_rig::Shape, &Vec<DVec3>)| {
            let coarse: Vec<Vec3> = moves.iter().map(|d| (height * *d).as_vec3()).collect();
            FaceShape {
                name: shape.name.clone(),
                deltas: shape.deltas.clone(),
                coarse: SparseDeltas::from_dense(&coarse),
            }
        };
        let model = FaceModel {
            name: name.to_owned(),
            mesh: mesh.name.clone(),
            height,
            neutral: mesh.positions.clone(),
            triangles: region.mesh_triangles.clone(),
            skin: skin_vertices(region),
            coarse: CoarseSkin {
                positions: coarse.positions.iter().map(|p| height * *p).collect(),
                triangles: coarse.triangles.clone(),
                on_mesh: places_on_mesh(region, coarse),
                is_held: is_held.clone(),
            },
            embedding: Embedding {
                vertices: region.weld.spread(&embedding.vertices),
                weights: region.weld.spread(&embedding.weights),
            },
            shapes: mesh.shapes.iter().zip(moves).map(shape).collect(),
            inside: Inside { jaw_shapes: region.jaw.clone(), ..Inside::default() },
            origin: Origin::of_mesh(mesh),
            sections: Sections::new(),
        };
        validate::check(&model).map_err(PrepareError::Unsound)?;
        Ok(model)
    }
}

/// Embeds all points: the skin in the coarse mesh, and attached parts at the nearest point of the skin, with fading weights.
fn embed(region: &Region, coarse: &CoarseMesh) -> Embedding {
    let mut embedding = Embedding::new(&region.points, &region.triangles, coarse);
    let is_skin = skin_flags(region);
    let sources: Vec<Source> = (0..region.points.len() as u32)
        .filter(|p| is_skin[*p as usize])
        .map(|p| Source { vertex: p, distance: 0.0, label: p })
        .collect();
    for (point, nearest) in
        nearest_sources(&region.points, &region.all_triangles, &sources).iter().enumerate()
    {
        if let (false, Some(nearest)) = (is_skin[point], nearest) {
            let fraction = (1.0 - nearest.distance / FADE).max(0.0) as f32;
            let smooth = fraction * fraction * (3.0 - 2.0 * fraction);
            embedding.vertices[point] = embedding.vertices[nearest.label as usize];
            embedding.weights[point] = embedding.weights[nearest.label as usize].map(|w| smooth * w);
        }
    }
    embedding
}

/// Flags the points of the simulated skin.
fn skin_flags(region: &Region) -> Vec<bool> {
    let mut is_skin = vec![false; region.points.len()];
    for p in region.triangles.iter().flatten() {
        is_skin[*p as usize] = true;
    }
    is_skin
}

fn skin_vertices(region: &Region) -> Vec<u32> {
    let is_skin = skin_flags(region);
    let points = (0..region.points.len()).filter(|p| is_skin[*p]);
    points.map(|p| region.weld.vertices_of_point(p)[0]).collect()
}

/// Positions of the coarse vertices on the triangles of the whole mesh.
fn places_on_mesh(region: &Region, coarse: &CoarseMesh) -> Vec<SurfacePoint> {
    let welded: std::collections::HashMap<[u32; 3], u32> = (0u32..)
        .zip(&region.mesh_triangles)
        .map(|(index, t)| (t.map(|v| region.weld.point_of_vertex[v as usize]), index))
        .collect();
    let on_mesh = |place: &SurfacePoint| SurfacePoint {
        triangle: welded.get(&region.triangles[place.triangle as usize]).copied().unwrap_or(0),
        ..*place
    };
    coarse.places.iter().map(on_mesh).collect()
}
