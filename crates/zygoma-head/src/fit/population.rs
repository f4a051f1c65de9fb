//! The heads that a fit expects: a linear model of skin and bone around the template.
//!
//! A head is the template moved by its dials and by two random smooth fields that stand for everything the dials cannot
//! say: a firm one, which moves bone and skin alike, and a soft one, which moves skin only. Every soft dial has a firm
//! twin as well, for a full cheek may be fat or bone. All coefficients have a mean of 0 and a standard deviation of 1.

use glam::{DMat3, DVec3};
use rayon::prelude::*;
use zygoma_numerics::random::Keyed;

use crate::anatomy::depths::depth;
use crate::dial_basis::DialBasis;
use crate::dials::{DIALS, DialValues};

/// Standard deviation of a dial in sampled heads.
const DIAL: f64 = 0.49;
/// Standard deviation of a soft dial's firm twin. Ours.
const TWIN: f64 = 0.15;
/// Waves of each random field.
const WAVES: usize = 64;
/// Length over which the firm field changes, and its standard deviation, in millimetres. Ours: the dials alone miss real faces by about as much.
const FIRM: (f64, f64) = (45.0, 2.0);
/// Length over which the soft field changes, in millimetres, and its standard deviation as a fraction of the tissue's depth. Ours, an
/// assumption.
const SOFT: (f64, f64) = (45.0, 0.25);
/// Deeper tissue varies no more than this deep one does, in millimetres. Ours.
const DEEPEST: f64 = 16.0;

/// Number of coefficients: dials, twins of the soft ones, and three for each wave of both fields.
pub(super) const COEFFICIENTS: usize = 2 * DIALS.len() + 6 * WAVES;

/// Points of template space with their derivatives by all coefficients.
pub(super) struct Moves {
    /// For each point: dials, then twins.
    dials: Vec<[DVec3; 2 * DIALS.len()]>,
    /// For each point: amplitudes of the firm, then of the soft waves.
    waves: Vec<[f64; 2 * WAVES]>,
}

/// The number of the coefficient that belongs to a dial.
pub(super) fn of_dial(name: &str) -> Option<usize> {
    DIALS.iter().position(|dial| dial.name == name)
}

/// The dial's value at a coefficient of 1.
pub(super) const DIAL_STEP: f64 = DIAL;

impl Moves {
    /// The derivatives at points with their softness, from 0 (bone) to 1 (skin).
    pub(super) fn new(points: &[DVec3], softness: &[f64]) -> Self {
        let at_rest = DialValues::default();
        let (own, firm) =
            (DialBasis::new(points, softness), DialBasis::new(points, &vec![1.0; points.len()]));
        let (own, firm) = (own.slopes(&at_rest), firm.slopes(&at_rest));
        let dials = |v: usize| {
            let (own, firm) = (own.at(v), firm.at(v));
            std::array::from_fn(|k| match k.checked_sub(DIALS.len()) {
                None => DIAL * own[k],
                Some(k) if DIALS[k].soft => TWIN * firm[k],
                Some(_) => DVec3::ZERO,
            })
        };
        let fields = [waves(FIRM, 1), waves(SOFT, 2)];
        let amplitudes = |(p, softness): (&DVec3, &f64)| {
            let soft = if *softness > 0.0 { *softness * tissue_depth(*p) } else { 0.0 };
            std::array::from_fn(|m| {
                let (direction, phase, size) = fields[m / WAVES][m % WAVES];
                let scale = if m < WAVES { 1.0 } else { soft };
                scale * size * (direction.dot(*p) + phase).cos()
            })
        };
        Self {
            dials: (0..points.len()).into_par_iter().map(dials).collect(),
            waves: points.par_iter().zip(softness).map(amplitudes).collect(),
        }
    }

    /// The derivative of a point by every coefficient, in millimetres.
    pub(super) fn columns(&self, point: usize) -> impl Iterator<Item = DVec3> + '_ {
        let waves = self.waves[point].iter().flat_map(|size| DVec3::AXES.map(|axis| *size * axis));
        self.dials[point].iter().copied().chain(waves)
    }

    /// The offset of every point for a set of coefficients, in millimetres.
    pub(super) fn offsets(&self, coefficients: &[f64]) -> Vec<DVec3> {
        let offset =
            |v: usize| self.columns(v).zip(coefficients).map(|(by, value)| *value * by).sum::<DVec3>();
        (0..self.dials.len()).into_par_iter().map(offset).collect()
    }
}

/// Depth of the tissue under a point of the skin as far as it varies, in millimetres.
pub(super) fn tissue_depth(p: DVec3) -> f64 {
    depth(p).min(DEEPEST)
}

/// The waves of one of the two fields.
fn waves((length, deviation): (f64, f64), stream: u64) -> [(DVec3, f64, f64); WAVES] {
    random_waves(Keyed::new(16, stream), length, deviation)
}

/// Random waves whose sum is a field with a Gaussian covariance of the given length and deviation
/// \[Rahimi and Recht 2007, Random features for large-scale kernel machines\].
pub(super) fn random_waves(random: Keyed, length: f64, deviation: f64) -> [(DVec3, f64, f64); WAVES] {
    std::array::from_fn(|m| {
        let draw = 4 * m as u64;
        let direction = DVec3::from_array([0, 1, 2].map(|k| random.normal(draw + k))) / length;
        let phase = std::f64::consts::TAU * random.uniform(draw + 3);
        (direction, phase, deviation * (2.0 / WAVES as f64).sqrt())
    })
}

/// Derivatives of a point by an infinitesimal rotation, translation and change of size.
pub(super) fn pose_columns(p: DVec3) -> [DVec3; 7] {
    let turn = DMat3::from_cols(DVec3::X.cross(p), DVec3::Y.cross(p), DVec3::Z.cross(p));
    [turn.x_axis, turn.y_axis, turn.z_axis, DVec3::X, DVec3::Y, DVec3::Z, p]
}
