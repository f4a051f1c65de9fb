//! Locates the head in a mesh: a similarity from landmarks, or from many starts.

use glam::{DMat3, DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::icp::{IcpOptions, align};
use zygoma_geometry::rbf::farthest_points;
use zygoma_geometry::similarity::{Similarity, fit_similarity};

use super::register::{data_weights, vertex_normals};
use super::target::Target;
use super::{FitError, Landmark, METRE};
use crate::Level;
use crate::template::Template;

/// Fewer landmarks do not determine the pose.
const LEAST_LANDMARKS: usize = 4;
/// A start whose points lie farther off than this on average, in metres of the head's size, is not the head.
const WORST: f64 = 6e-3;

/// An upright start this good is accepted without trying other orientations.
const GOOD: f64 = 3.5e-3;

/// Points and normals of the template's skin to align, in metres.
struct Cloud {
    points: Vec<DVec3>,
    normals: Vec<DVec3>,
}

impl Cloud {
    /// Points of face and cranium, without ears and neck.
    fn new(count: usize) -> Self {
        /// The neck begins below this, in millimetres.
        const NECK: f64 = -95.0;
        let base = &Template::of(Level::High).base;
        let weights = data_weights(base);
        let normals = vertex_normals(&base.rest, &base.triangles);
        let skin: Vec<usize> =
            (0..weights.len()).filter(|v| weights[*v] == 1.0 && base.rest[*v].y > NECK).collect();
        let places: Vec<DVec3> = skin.iter().map(|v| base.rest[*v] / METRE).collect();
        let chosen = farthest_points(&places, count);
        Self {
            points: chosen.iter().map(|i| places[*i as usize]).collect(),
            normals: chosen.iter().map(|i| normals[skin[*i as usize]]).collect(),
        }
    }
}

/// The similarity from the template, in metres, to a mesh.
pub(super) fn find(target: &Target, landmarks: &[Landmark]) -> Result<Similarity, FitError> {
    let base = &Template::of(Level::High).base;
    if landmarks.len() >= LEAST_LANDMARKS {
        let from: Vec<DVec3> = landmarks.iter().map(|mark| base.rest[mark.vertex as usize] / METRE).collect();
        let to: Vec<DVec3> = landmarks.iter().map(|mark| mark.place).collect();
        return Ok(fit_similarity(&from, &to));
    }
    let (coarse, fine) = (Cloud::new(250), Cloud::new(1200));
    let options = IcpOptions { iterations: 24, kept: 0.75, scale: true };
    let tries = |starts: Vec<Similarity>| {
        let tried = starts.into_par_iter().map(|start| {
            let found = align(&coarse.points, target.search(), start, &options).similarity;
            (misfit(&coarse, target, &found, &start), found)
        });
        let tried: Vec<(f64, Similarity)> = tried.collect();
        tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
    };
    // Most meshes stand upright and look to +Z; the other orientations are tried only if none fits.
    let mut rotations = axis_rotations().into_iter();
    let upright = rotations.next().map(|rotation| starts(target, rotation)).and_then(&tries);
    let best = match upright {
        Some((misfit, similarity)) if misfit < GOOD => Some(similarity),
        _ => {
            let others = tries(rotations.flat_map(|rotation| starts(target, rotation)).collect());
            let both = upright.into_iter().chain(others);
            both.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, similarity)| similarity)
        }
    };
    let best = best.ok_or(FitError::NoHead { misfit_mm: f64::NAN })?;
    let options = IcpOptions { iterations: 60, kept: 0.75, scale: true };
    let found = align(&fine.points, target.search(), best, &options).similarity;
    let left = misfit(&fine, target, &found, &best);
    if left < WORST { Ok(found) } else { Err(FitError::NoHead { misfit_mm: METRE * left }) }
}

/// Mean distance of the nearest three quarters of the points, in metres of the template; points whose normals disagree count as far
/// off, and so does a size far from the start's.
fn misfit(cloud: &Cloud, target: &Target, found: &Similarity, start: &Similarity) -> f64 {
    const FAR: f64 = 0.02;
    const AGREEMENT: f64 = 0.5;
    let change = found.scale / start.scale;
    if !(0.5..2.0).contains(&change) {
        return f64::MAX;
    }
    let distance = |(p, normal): (&DVec3, &DVec3)| {
        let q = found.apply(*p);
        let Some(hit) = target.search().closest(q) else { return FAR };
        let agrees = (found.rotation * *normal).dot(hit.normal) > AGREEMENT;
        if agrees { (hit.point.distance(q) / found.scale).min(FAR) } else { FAR }
    };
    let mut distances: Vec<f64> = cloud.points.iter().zip(&cloud.normals).map(distance).collect();
    distances.sort_by(f64::total_cmp);
    let kept = distances.len() * 3 / 4;
    distances[..kept].iter().sum::<f64>() / kept.max(1) as f64
}

/// Starts in one orientation: the crown at the mesh's top, the head as a fraction of the mesh's height: a head with its
/// neck, one with shoulders, a bust, a whole person.
fn starts(target: &Target, rotation: DQuat) -> Vec<Similarity> {
    const SHARES: [f64; 5] = [0.95, 0.75, 0.55, 0.35, 0.135];
    /// Height of the template's head from chin to crown, and the position of its crown, in metres.
    const HEIGHT: f64 = 0.23;
    const CROWN: DVec3 = DVec3::new(0.0, 0.135, -0.01);
    let up = rotation * DVec3::Y;
    let heights: Vec<f64> = target.positions.iter().map(|p| p.dot(up)).collect();
    let top = heights.iter().copied().fold(f64::MIN, f64::max);
    let bottom = heights.iter().copied().fold(f64::MAX, f64::min);
    let start = |fraction: f64| {
        let height = fraction * (top - bottom);
        let scale = height / HEIGHT;
        // The centre of the bounding box around the part at the height of the head.
        let (mut low, mut high) = (DVec3::MAX, DVec3::MIN);
        for (p, _) in target.positions.iter().zip(&heights).filter(|(_, h)| **h > top - 0.7 * height) {
            (low, high) = (low.min(*p), high.max(*p));
        }
        let middle = 0.5 * (low + high);
        let crown = middle + (top - middle.dot(up)) * up;
        Similarity { scale, rotation, translation: crown - scale * (rotation * CROWN) }
    };
    SHARES.map(start).to_vec()
}

/// The 24 rotations that map axes to axes, the identity first.
fn axis_rotations() -> Vec<DQuat> {
    let mut all = Vec::new();
    let axes = [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    for y in [1, 0, 2, 3, 4, 5] {
        for z in [2, 5, 0, 3, 1, 4] {
            if axes[y].dot(axes[z]) == 0.0 {
                let x = axes[y].cross(axes[z]);
                all.push(DQuat::from_mat3(&DMat3::from_cols(x, axes[y], axes[z])));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_24_rotations_are_proper_and_different() {
        let all = axis_rotations();
        assert_eq!(all.len(), 24);
        assert!((all[0] * DVec3::new(1.0, 2.0, 3.0)).distance(DVec3::new(1.0, 2.0, 3.0)) < 1e-12);
        for (i, a) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|b| a.dot(*b).abs() < 0.999));
        }
    }
}
