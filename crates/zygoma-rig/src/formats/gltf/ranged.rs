//! Weights between 0 and 1, for programs that support no others.
//!
//! glTF allows any weight, but Blender keeps shape keys between the limits of their sliders, which its importer leaves at 0
//! and 1. So base and targets are shifted: a target with weights from `low` to `high` becomes one with weights from 0 to 1
//! about a base that includes `low` of it, and a resting weight of `-low / (high - low)` shows the neutral.

use glam::Vec3;

use super::animated::{MorphAnimation, MorphTarget};

/// A [`MorphAnimation`] whose weights are between 0 and 1.
pub(super) struct Ranged {
    /// Displacement of the base from the neutral; `None` if it is the neutral.
    pub(super) shift: Option<MorphTarget>,
    pub(super) targets: Vec<MorphTarget>,
    /// The weights that show the neutral.
    pub(super) rest: Vec<f32>,
    /// The weight of every target in every frame, frame after frame.
    pub(super) weights: Vec<f32>,
}

impl Ranged {
    /// Targets that are shapes: they rest at 0, and nothing moves them.
    pub(super) fn at_rest(targets: Vec<MorphTarget>) -> Self {
        Self { shift: None, rest: vec![0.0; targets.len()], targets, weights: Vec::new() }
    }

    pub(super) fn new(animation: &MorphAnimation) -> Self {
        let count = animation.targets.len();
        let column = |target: usize| animation.weights.iter().skip(target).step_by(count.max(1)).copied();
        // The range includes zero, so that the neutral can be shown.
        let ranges: Vec<(f32, f32)> = (0..count)
            .map(|target| {
                column(target).fold((0.0, 0.0), |(low, high): (f32, f32), w| (low.min(w), high.max(w)))
            })
            .map(|(low, high)| if high > low { (low, high - low) } else { (0.0, 1.0) })
            .collect();
        let weight = |(index, weight): (usize, &f32)| {
            let (low, span) = ranges[index % count];
            ((weight - low) / span).clamp(0.0, 1.0)
        };
        let scaled = |(target, (_, span)): (&MorphTarget, &(f32, f32))| target.scaled(*span);
        Self {
            shift: shift(&animation.targets, &ranges),
            targets: animation.targets.iter().zip(&ranges).map(scaled).collect(),
            rest: ranges.iter().map(|(low, span)| (-low / span).clamp(0.0, 1.0)).collect(),
            weights: animation.weights.iter().enumerate().map(weight).collect(),
        }
    }
}

impl MorphTarget {
    fn scaled(&self, factor: f32) -> Self {
        let scaled = |vectors: &Vec<Vec3>| vectors.iter().map(|v| factor * *v).collect();
        Self { positions: scaled(&self.positions), normals: self.normals.as_ref().map(scaled) }
    }
}

/// The sum of all targets at their lowest weights.
fn shift(targets: &[MorphTarget], ranges: &[(f32, f32)]) -> Option<MorphTarget> {
    let mut sum: Option<MorphTarget> = None;
    for (target, (low, _)) in targets.iter().zip(ranges).filter(|(_, (low, _))| *low < 0.0) {
        let scaled = target.scaled(*low);
        match &mut sum {
            None => sum = Some(scaled),
            Some(sum) => {
                add(&mut sum.positions, &scaled.positions);
                match (&mut sum.normals, &scaled.normals) {
                    (Some(sum), Some(more)) => add(sum, more),
                    (none @ None, Some(more)) => *none = Some(more.clone()),
                    _ => {}
                }
            }
        }
    }
    sum
}

fn add(sum: &mut [Vec3], more: &[Vec3]) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += *more;
    }
}

/// Below this length a sum of normals has no reliable direction. Ours.
const SHORTEST: f32 = 0.1;

/// Unit normals of a shifted base, and the factor by which each vertex's normal deltas must be multiplied: shaders
/// normalise sums of normals, so only their direction counts.
pub(super) fn shifted_normals(normals: &[Vec3], change: &[Vec3]) -> (Vec<Vec3>, Vec<f32>) {
    let shifted = |(normal, change): (&Vec3, &Vec3)| {
        let sum = normal.normalize_or_zero() + *change;
        let length = sum.length();
        if length > SHORTEST { (sum / length, 1.0 / length) } else { (*normal, 0.0) }
    };
    normals.iter().zip(change).map(shifted).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(x: f32) -> MorphTarget {
        MorphTarget { positions: vec![Vec3::X * x, Vec3::Y], normals: None }
    }

    fn surface(base: Option<&MorphTarget>, targets: &[MorphTarget], weights: &[f32]) -> Vec<Vec3> {
        let mut sum = base.map_or_else(|| vec![Vec3::ZERO; 2], |base| base.positions.clone());
        for (target, weight) in targets.iter().zip(weights) {
            add(&mut sum, &target.scaled(*weight).positions);
        }
        sum
    }

    #[test]
    fn every_frame_and_the_neutral_are_the_same_with_weights_from_0_to_1() {
        let targets = vec![target(1.0), target(2.0), target(3.0), target(4.0)];
        // Both signs, above 0 only, below 0 only, never used.
        let weights = vec![-2.0, 0.5, -3.0, 0.0, 6.0, 0.75, -1.0, 0.0];
        let animation = MorphAnimation { fps: 30.0, start: 0.0, targets, weights };
        let ranged = Ranged::new(&animation);
        let inside = |weights: &[f32]| weights.iter().all(|w| (0.0..=1.0).contains(w));
        assert!(inside(&ranged.weights) && inside(&ranged.rest), "{:?} {:?}", ranged.weights, ranged.rest);
        for frame in 0..2 {
            let wanted = surface(None, &animation.targets, &animation.weights[4 * frame..][..4]);
            let found = surface(ranged.shift.as_ref(), &ranged.targets, &ranged.weights[4 * frame..][..4]);
            for (a, b) in wanted.iter().zip(&found) {
                assert!(a.distance(*b) < 1e-5, "frame {frame}: {a} {b}");
            }
        }
        for v in surface(ranged.shift.as_ref(), &ranged.targets, &ranged.rest) {
            assert!(v.length() < 1e-5, "{v}");
        }
    }

    #[test]
    fn weights_that_fit_shift_nothing() {
        let animation =
            MorphAnimation { fps: 30.0, start: 0.0, targets: vec![target(1.0)], weights: vec![0.0, 1.0] };
        let ranged = Ranged::new(&animation);
        assert!(ranged.shift.is_none());
        assert_eq!((ranged.weights, ranged.rest), (vec![0.0, 1.0], vec![0.0]));
    }

    #[test]
    fn shifted_normals_keep_the_direction_of_every_sum() {
        let (normals, change) = ([Vec3::Z, Vec3::Z], [Vec3::X, -Vec3::Z]);
        let (units, factors) = shifted_normals(&normals, &change);
        let turned = Vec3::new(0.3, 0.2, 0.1);
        let (wanted, found) = (normals[0] + change[0] + turned, units[0] + factors[0] * turned);
        assert!(wanted.normalize().distance(found.normalize()) < 1e-6);
        assert!((units[0].length() - 1.0).abs() < 1e-6);
        assert_eq!((units[1], factors[1]), (Vec3::Z, 0.0), "a sum without direction leaves the normal");
    }
}
