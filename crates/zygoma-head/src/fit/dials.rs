//! Finds the dials and pose of the built-in head that bring its skin nearest to a target.

use glam::{DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::rbf::farthest_points;
use zygoma_geometry::similarity::Similarity;

use zygoma_numerics::DenseFactor;

use super::METRE;
use super::partners::Partners;
use super::register::{data_weights, vertex_normals};
use super::target::Target;
use crate::Level;
use crate::dial_basis::DialBasis;
use crate::dials::{DIALS, DialValues};
use crate::template::Template;

/// Skin points for the fit, and for comparing the starts.
const POINTS: usize = 1500;
const FEW: usize = 400;
const ROUNDS: usize = 12;
/// Prior: a dial at 1 costs as much as this distance at every point, in metres, so that dials that the target does not determine stay at 0.
const PRIOR: f64 = 1.5e-4;
/// Distances beyond this are weighted less and less, in metres.
const ROBUST: f64 = 4e-3;
/// Pairs farther apart than this, or whose normals disagree, do not count.
const REACH: f64 = 0.03;
const AGREEMENT: f64 = 0.4;
/// Weight of distances along the skin, relative to 1 for those across it.
const SLIDE: f64 = 0.1;
/// Weight of the cranium, which looks the same from many sides and would bias the face's pitch.
const CRANIUM_WEIGHT: f64 = 0.1;
/// Pose parameters: three rotations, three translations, one scale.
const POSE: usize = 7;

/// Dials and pose of the template.
#[derive(Clone, Copy, Debug)]
pub(super) struct DialFit {
    pub(super) dials: DialValues,
    /// From the head's frame to the target's, both in metres.
    pub(super) pose: Similarity,
}

/// A sampled point with its weight.
struct Sample {
    /// Its number among the points of [`Samples`].
    point: usize,
    weight: f64,
}

/// Sampled vertices of the template's skin with the triangles around them, which give their normals.
struct Samples {
    list: Vec<Sample>,
    /// The vertices of those triangles.
    basis: DialBasis,
    triangles: Vec<[u32; 3]>,
}

impl Samples {
    /// Skin and normals of the head that dials make, in metres, at all points.
    fn dialled(&self, dials: &DialValues) -> (Vec<DVec3>, Vec<DVec3>) {
        let skin: Vec<DVec3> = self.basis.apply(dials).into_iter().map(|p| p / METRE).collect();
        let normals = vertex_normals(&skin, &self.triangles);
        (skin, normals)
    }
}

/// Fits dials and pose by Gauss–Newton steps inside iterated closest points; dials stay within −1 to 1.
///
/// Closest points slide from eye to cheek unnoticed, so several starts, moved along the face and pitched, are tried and
/// the one whose features fit best in the end is refined.
pub(super) fn fit_dials(target: &Target) -> DialFit {
    let (few, many) = (samples(FEW), samples(POINTS));
    let partners = target.partners();
    let tried = starts().into_par_iter().map(|start| {
        let mut fit = DialFit { dials: DialValues::default(), pose: start };
        (0..ROUNDS).for_each(|_| step(&mut fit, &few, &partners));
        (misfit(&fit, &few, target), fit)
    });
    let tried: Vec<(f64, DialFit)> = tried.collect();
    let best = tried.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let best =
        best.map_or(DialFit { dials: DialValues::default(), pose: Similarity::IDENTITY }, |(_, fit)| *fit);
    let mut fit = best;
    (0..ROUNDS).for_each(|_| step(&mut fit, &many, &partners));
    fit
}

/// The identity, and poses moved up and down and pitched about the face.
fn starts() -> Vec<Similarity> {
    const SHIFTS: [f64; 5] = [0.0, -0.012, 0.012, -0.024, 0.024];
    const PITCHES: [f64; 3] = [0.0, -0.12, 0.12];
    /// Centre of the face, in metres.
    const FACE: DVec3 = DVec3::new(0.0, -0.02, 0.06);
    let moved = |(shift, pitch): (f64, f64)| {
        let rotation = DQuat::from_rotation_x(pitch);
        let translation = FACE - rotation * FACE + DVec3::new(0.0, shift, 0.0);
        Similarity { scale: 1.0, rotation, translation }
    };
    SHIFTS.iter().flat_map(|shift| PITCHES.map(|pitch| (*shift, pitch))).map(moved).collect()
}

/// Whether a point lies in front, from the chin to above the brows.
fn is_face(p: DVec3) -> bool {
    p.z > 40.0 && p.y < 60.0
}

/// Points of the skin: half of them evenly spread, half where the mesh is dense, which is at eyes, nose and mouth.
fn samples(count: usize) -> Samples {
    let template = Template::of(Level::High);
    let weights = data_weights(&template.base);
    let outer: Vec<usize> = (0..weights.len()).filter(|v| weights[*v] == 1.0).collect();
    let places: Vec<DVec3> = outer.iter().map(|v| template.base.rest[*v]).collect();
    let even = farthest_points(&places, count / 2).into_iter().map(|i| outer[i as usize]);
    let dense = outer.iter().copied().step_by((2 * outer.len() / count).max(1));
    let chosen: Vec<usize> = even.chain(dense).collect();
    let mut is_chosen = vec![false; weights.len()];
    chosen.iter().for_each(|v| is_chosen[*v] = true);
    let around = template.base.triangles.iter().filter(|t| t.iter().any(|v| is_chosen[*v as usize]));
    let mut number = vec![u32::MAX; weights.len()];
    let mut vertices = Vec::new();
    let mut renumber = |v: u32| {
        let number = &mut number[v as usize];
        if *number == u32::MAX {
            *number = vertices.len() as u32;
            vertices.push(v as usize);
        }
        *number
    };
    let triangles = around.map(|t| t.map(&mut renumber)).collect();
    let points: Vec<DVec3> = vertices.iter().map(|v| template.base.rest[*v]).collect();
    let softness: Vec<f64> = vertices.iter().map(|v| template.softness[*v]).collect();
    let weight = |v: usize| if is_face(template.base.rest[v]) { 1.0 } else { CRANIUM_WEIGHT };
    let list = chosen.iter().map(|v| Sample { point: number[*v] as usize, weight: weight(*v) }).collect();
    Samples { list, basis: DialBasis::new(&points, &softness), triangles }
}

/// Weighted sum of the points' distances; points without a partner, or whose normals disagree, count as far off.
fn misfit(fit: &DialFit, samples: &Samples, target: &Target) -> f64 {
    const FAR: f64 = 0.01;
    let (skin, normals) = samples.dialled(&fit.dials);
    let back = fit.pose.inverse();
    let distance = |sample: &Sample| {
        let p = skin[sample.point];
        let Some(hit) = target.closest_inside(fit.pose.apply(p)) else { return FAR };
        let agrees = (back.rotation * hit.normal).dot(normals[sample.point]) > 0.7;
        if agrees { p.distance(back.apply(hit.point)).min(FAR) } else { FAR }
    };
    samples.list.iter().map(|sample| sample.weight * distance(sample)).sum::<f64>()
}

fn step(fit: &mut DialFit, samples: &Samples, partners: &Partners) {
    let (skin, normals) = samples.dialled(&fit.dials);
    let slopes = samples.basis.slopes(&fit.dials);
    let back = fit.pose.inverse();
    // One row for each pair: derivative of the distance to the tangent plane by pose and dials.
    let row = |sample: &Sample| {
        let p = skin[sample.point];
        let own = fit.pose.rotation * normals[sample.point];
        let (place, normal) = partners.best(fit.pose.apply(p), own)?;
        let (q, normal) = (back.apply(place), back.rotation * normal);
        if p.distance(q) > REACH || normal.dot(normals[sample.point]) < AGREEMENT {
            return None;
        }
        let moved = slopes.at(sample.point).map(|slope| slope / METRE);
        let side = normal.any_orthonormal_vector();
        let robust = sample.weight / (1.0 + (p.distance(q) / ROBUST).powi(2));
        // The distance to the tangent plane counts in full, the distance along it a little.
        let axes = [(normal, robust), (side, SLIDE * robust), (normal.cross(side), SLIDE * robust)];
        Some(axes.map(|(axis, weight)| {
            let turn = p.cross(axis);
            let mut row = vec![turn.x, turn.y, turn.z, axis.x, axis.y, axis.z, p.dot(axis)];
            row.extend(moved.iter().map(|moved| moved.dot(axis)));
            (row, (q - p).dot(axis), weight)
        }))
    };
    let rows: Vec<[(Vec<f64>, f64, f64); 3]> = samples.list.par_iter().filter_map(row).collect();
    let rows: Vec<(Vec<f64>, f64, f64)> = rows.into_iter().flatten().collect();
    let size = POSE + DIALS.len();
    let mut matrix = vec![vec![0.0; size]; size];
    let mut right = vec![0.0; size];
    for (row, residual, weight) in &rows {
        for i in 0..size {
            right[i] += weight * row[i] * residual;
            let scaled = weight * row[i];
            matrix[i][i..].iter_mut().zip(&row[i..]).for_each(|(sum, value)| *sum += scaled * value);
        }
    }
    for i in 0..size {
        for j in 0..i {
            matrix[i][j] = matrix[j][i];
        }
    }
    let prior = PRIOR * PRIOR * rows.len().max(1) as f64 / 3.0;
    let mut bounds = vec![(f64::MIN, f64::MAX); size];
    for k in 0..DIALS.len() {
        let value = fit.dials.at(k);
        matrix[POSE + k][POSE + k] += prior;
        right[POSE + k] -= prior * value;
        bounds[POSE + k] = if DIALS[k].shapes_the_head() { (-1.0 - value, 1.0 - value) } else { (0.0, 0.0) };
    }
    let x = bounded_minimum(&matrix, &right, &bounds);
    for k in 0..DIALS.len() {
        fit.dials = fit.dials.with(k, (fit.dials.at(k) + x[POSE + k]).clamp(-1.0, 1.0));
    }
    let pose = Similarity {
        scale: 1.0 + x[6].clamp(-0.3, 0.3),
        rotation: DQuat::from_scaled_axis(DVec3::new(x[0], x[1], x[2])),
        translation: DVec3::new(x[3], x[4], x[5]),
    };
    fit.pose = fit.pose.after(&pose);
}

/// Minimises ½ xᵀ A x − bᵀ x within bounds, by coordinate descent from the solution that stops at every bound it meets.
fn bounded_minimum(matrix: &[Vec<f64>], right: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    const SWEEPS: usize = 2000;
    const CONVERGED: f64 = 1e-9;
    let mut x = stopped_at_bounds(matrix, right, bounds);
    for _ in 0..SWEEPS {
        let mut largest = 0.0f64;
        for i in 0..x.len() {
            if matrix[i][i] <= 0.0 {
                continue;
            }
            let slope: f64 = right[i] - matrix[i].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
            let new = (x[i] + slope / matrix[i][i]).clamp(bounds[i].0, bounds[i].1);
            largest = largest.max((new - x[i]).abs());
            x[i] = new;
        }
        if largest < CONVERGED {
            break;
        }
    }
    x
}

/// Solves A x = b; unknowns outside their bounds are fixed there and the others solved for again, until none is.
fn stopped_at_bounds(matrix: &[Vec<f64>], right: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    let fixed = |i: usize| bounds[i].0 == bounds[i].1 || matrix[i][i] <= 0.0;
    let mut free: Vec<usize> = (0..right.len()).filter(|i| !fixed(*i)).collect();
    let mut x = vec![0.0; right.len()];
    while !free.is_empty() {
        let Some(factor) = DenseFactor::new(free.len(), |i, j| matrix[free[i]][free[j]]) else { break };
        let rest = |i: usize| {
            let known = (0..x.len()).filter(|j| !free.contains(j));
            right[i] - known.map(|j| matrix[i][j] * x[j]).sum::<f64>()
        };
        let mut solution: Vec<[f64; 4]> = free.iter().map(|i| [rest(*i), 0.0, 0.0, 0.0]).collect();
        factor.solve(&mut solution);
        for (i, [value, ..]) in free.iter().zip(&solution) {
            x[*i] = value.clamp(bounds[*i].0, bounds[*i].1);
        }
        let before = free.len();
        free.retain(|i| bounds[*i].0 < x[*i] && x[*i] < bounds[*i].1);
        if free.len() == before {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_minimum_satisfies_its_conditions() {
        let matrix = vec![vec![4.0, 1.0, 0.5], vec![1.0, 3.0, -1.0], vec![0.5, -1.0, 2.0]];
        let right = [9.0, -2.0, 0.3];
        let bounds = [(-1.0, 1.0), (-1.0, 1.0), (f64::MIN, f64::MAX)];
        let x = bounded_minimum(&matrix, &right, &bounds);
        for i in 0..3 {
            let slope = (0..3).map(|j| matrix[i][j] * x[j]).sum::<f64>() - right[i];
            match x[i] {
                value if value == bounds[i].0 => assert!(slope > 0.0),
                value if value == bounds[i].1 => assert!(slope < 0.0),
                _ => assert!(slope.abs() < 1e-8),
            }
        }
        assert_eq!(x[0], 1.0);
    }
}
