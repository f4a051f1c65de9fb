//! Registers the template's skin to a target by closest points, stiff at first and softer from stage to stage.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;

use super::elastic::{ElasticSurface, Pull, Stiffness};
use super::target::Target;
use super::{FitError, Landmark};
use crate::base::{Base, Part};
use crate::sculpt::ear;
use crate::sculpt::field::ramp;

/// One stage of the annealing.
struct Stage {
    stiffness: Stiffness,
    /// Closest points farther away than this are ignored, in metres.
    reach: f64,
    /// Smallest cosine between the normals of a pair.
    agreement: f64,
    /// Whether partners are found by position and normal; otherwise by position alone.
    by_normal: bool,
}

/// From stiff to soft. Ours: chosen on ICT's neutral, tested on the other heads.
const STAGES: [Stage; 6] = [
    Stage {
        stiffness: Stiffness { strain: 0.030, bend: 0.030 },
        reach: 0.020,
        agreement: 0.5,
        by_normal: true,
    },
    Stage {
        stiffness: Stiffness { strain: 0.015, bend: 0.015 },
        reach: 0.014,
        agreement: 0.5,
        by_normal: true,
    },
    Stage {
        stiffness: Stiffness { strain: 0.007, bend: 0.008 },
        reach: 0.010,
        agreement: 0.6,
        by_normal: true,
    },
    Stage {
        stiffness: Stiffness { strain: 0.003, bend: 0.005 },
        reach: 0.007,
        agreement: 0.6,
        by_normal: false,
    },
    Stage {
        stiffness: Stiffness { strain: 0.0015, bend: 0.003 },
        reach: 0.005,
        agreement: 0.7,
        by_normal: false,
    },
    Stage {
        stiffness: Stiffness { strain: 0.0008, bend: 0.0018 },
        reach: 0.004,
        agreement: 0.7,
        by_normal: false,
    },
];
/// Rounds of closest points in each stage, and local-global iterations in each round.
const ROUNDS: usize = 3;
const STEPS: usize = 2;
/// Weight of the ears, which differ more than anything else and say little about the anatomy below.
const EAR_WEIGHT: f64 = 0.1;
/// Weight of the neck, for the same reason.
const NECK_WEIGHT: f64 = 0.5;
/// A landmark weighs as much as this area of skin, in square metres.
const LANDMARK_AREA: f64 = 4e-4;

/// Skin below this is neck, which poses and shoulders bend freely, in millimetres of template space.
const NECK: f64 = -100.0;
/// From here on down the neck has no counterpart at all.
const NECK_END: f64 = -125.0;

/// Weights of the closest points of template vertices: outer skin and the red of the lips have counterparts; the inside
/// of mouth and eye pockets and the end of the neck only follow.
pub(super) fn data_weights(base: &Base) -> Vec<f64> {
    let weight = |v: usize| match base.parts[v] {
        Part::Outer if base.rest[v].y < NECK => NECK_WEIGHT * ramp(NECK_END, NECK, base.rest[v].y),
        Part::Outer if ear::is_ear(base.rest[v].with_x(base.rest[v].x.abs())) => EAR_WEIGHT,
        Part::Outer | Part::UpperLip | Part::LowerLip => 1.0,
        _ => 0.0,
    };
    (0..base.rest.len()).map(weight).collect()
}

/// Registers a skin to a target; `start` is the skin at rest, in the target's frame.
pub(super) fn register(
    base: &Base,
    start: &[DVec3],
    target: &Target,
    landmarks: &[Landmark],
) -> Result<Vec<DVec3>, FitError> {
    let weights = data_weights(base);
    let mut surface = ElasticSurface::new(start, &base.triangles);
    let mut x = start.to_vec();
    let areas = vertex_areas(start, &base.triangles);
    let partners = target.partners();
    let contour = contours(base);
    for stage in &STAGES {
        for _ in 0..ROUNDS {
            let finder = |v: usize, normal: DVec3| match () {
                () if contour[v] => target.search().closest(x[v]).map(|hit| (hit.point, normal)),
                () if stage.by_normal => partners.best(x[v], normal),
                () => target.closest_inside(x[v]).map(|hit| (hit.point, hit.normal)),
            };
            let mut pulls = template_pulls(&x, base, stage, |v| 0.5 * weights[v] * areas[v], finder);
            pulls.extend(target_pulls(&x, base, &weights, target, stage));
            pulls.extend(landmarks.iter().map(|mark| Pull {
                vertices: [mark.vertex; 3],
                barycentric: [1.0, 0.0, 0.0],
                to: mark.place,
                weight: LANDMARK_AREA,
            }));
            surface.relax(&mut x, &pulls, stage.stiffness, STEPS).map_err(|_| FitError::Unsolvable)?;
        }
    }
    Ok(x)
}

pub(super) fn vertex_areas(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
    }
    areas
}

pub(super) fn vertex_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        t.iter().for_each(|v| normals[*v as usize] += (b - a).cross(c - a));
    }
    normals.into_iter().map(DVec3::normalize_or_zero).collect()
}

/// The contact lines of the lips and the margins of the lids. On the mesh the visible skin ends there, so these may go
/// to its border, whichever way it faces.
fn contours(base: &Base) -> Vec<bool> {
    let mut is_contour = vec![false; base.rest.len()];
    for v in base.lids.iter().chain(&base.inner_lips).flatten() {
        is_contour[*v as usize] = true;
        is_contour[base.mirror[*v as usize] as usize] = true;
    }
    is_contour
}

/// Pulls from every template vertex with a weight to its partner on the target: `find` gives position and normal.
fn template_pulls(
    x: &[DVec3],
    base: &Base,
    stage: &Stage,
    weight: impl Fn(usize) -> f64 + Sync,
    find: impl Fn(usize, DVec3) -> Option<(DVec3, DVec3)> + Sync,
) -> Vec<Pull> {
    let normals = vertex_normals(x, &base.triangles);
    let pull = |v: usize| {
        let weight = weight(v);
        if weight == 0.0 {
            return None;
        }
        let (to, normal) = find(v, normals[v])?;
        let near = to.distance(x[v]) < stage.reach && normal.dot(normals[v]) > stage.agreement;
        near.then_some(Pull { vertices: [v as u32; 3], barycentric: [1.0, 0.0, 0.0], to, weight })
    };
    (0..x.len()).into_par_iter().filter_map(pull).collect()
}

/// Pulls from every target vertex to its closest point of the template, which reach into noses, chins and lips that stand out
/// further than the template's.
fn target_pulls(x: &[DVec3], base: &Base, weights: &[f64], target: &Target, stage: &Stage) -> Vec<Pull> {
    let outer: Vec<[u32; 3]> =
        base.triangles.iter().copied().filter(|t| t.iter().all(|v| weights[*v as usize] > 0.0)).collect();
    let Some(search) = IcpTarget::new(x, &outer) else { return Vec::new() };
    let areas = vertex_areas(&target.positions, &target.triangles);
    let pull = |u: usize| {
        let (p, normal) = (target.positions[u], target.normals[u]);
        let hit = search.closest(p)?;
        let near = hit.point.distance(p) < stage.reach && hit.normal.dot(normal) > stage.agreement;
        let vertices = outer[hit.triangle as usize];
        let weight = vertices.iter().map(|v| weights[*v as usize]).fold(1.0, f64::min);
        near.then_some(Pull {
            vertices,
            barycentric: hit.barycentric,
            to: p,
            weight: 0.5 * weight * areas[u],
        })
    };
    (0..target.positions.len()).into_par_iter().filter_map(pull).collect()
}
