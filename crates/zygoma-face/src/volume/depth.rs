//! Thickness of the tissue: painted, down to the bone, or uniform.

use glam::DVec3;
use zygoma_geometry::topology::half_edges;

use super::input::TissueInput;
use super::layer::LayerParams;
use crate::model::{Below, look_below};

/// Maximum thickness as a fraction of the distance to the opposite side of the skin: lips and ears have two sides that both need room.
/// Ours.
const HALF: f64 = 0.45;
/// Rounds of averaging thickness with its neighbours: bones have edges, tissue does not. Ours.
const ROUNDS: usize = 4;

/// Depth of the tissue under each vertex of the skin.
pub(crate) struct Depths {
    /// Its thickness, m.
    pub(crate) thickness: Vec<f64>,
    /// Bone or skin below each vertex; empty without bones.
    pub(crate) below: Vec<Below>,
}

impl Depths {
    pub(crate) fn find(input: &TissueInput, skin: &[DVec3], normals: &[DVec3], params: &LayerParams) -> Self {
        let triangles = &input.face.coarse.triangles;
        let below = input.bones().map_or_else(Vec::new, |bones| look_below(bones, skin, triangles, normals));
        let thickness = match input.thickness {
            Some(painted) => painted_thickness(input, painted, params.thickness),
            None if below.is_empty() => vec![params.thickness; skin.len()],
            None => {
                let raw: Vec<f64> = below.iter().map(|below| room(below, params)).collect();
                smooth(&raw, triangles)
            }
        };
        Self { thickness, below }
    }
}

/// Room for tissue between the skin and the bone or skin below it.
fn room(below: &Below, params: &LayerParams) -> f64 {
    let [thinnest, thickest] = params.thickness_range;
    let depth = match below.bone {
        Some(bone) => bone,
        // With no bone below, the skin is that of a cheek, a lip or the neck.
        None => below.skin.map_or(params.thickness, |other| (HALF * other).min(params.thickness)),
    };
    depth.clamp(thinnest, thickest.max(thinnest))
}

/// Averages with the neighbours, never beyond the available room.
fn smooth(room: &[f64], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut thickness = room.to_vec();
    for _ in 0..ROUNDS {
        let (mut sums, mut counts) = (thickness.clone(), vec![1.0; thickness.len()]);
        for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
            sums[a as usize] += thickness[b as usize];
            counts[a as usize] += 1.0;
        }
        for (v, t) in thickness.iter_mut().enumerate() {
            *t = (sums[v] / counts[v]).min(room[v]);
        }
    }
    thickness
}

/// Painted thickness at the vertices of the shell; values out of range are replaced by the usual one.
fn painted_thickness(input: &TissueInput, painted: &[f64], usual: f64) -> Vec<f64> {
    let face = input.face;
    let is_one = |t: &f64| LayerParams::THICKNESS.contains(t);
    let of = |v: u32| painted.get(v as usize).copied().filter(is_one).unwrap_or(usual);
    let at = |place: &zygoma_geometry::closest::SurfacePoint| {
        let corners = face.triangles[place.triangle as usize];
        (0..3).map(|i| place.barycentric[i] * of(corners[i])).sum()
    };
    face.coarse.on_mesh.iter().map(at).collect()
}
