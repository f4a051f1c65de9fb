//! Folds of the skin.

use glam::DVec3;

use crate::sculpt::field::bell;

/// A fold: a groove along a line, with a lower ridge on either side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// One end of the line, a point on it, and the other end.
    pub(super) line: [DVec3; 3],
    /// Displacement of the groove's bottom, into the skin.
    pub(super) by: DVec3,
    /// Distance from the bottom to the ridges' inner edge.
    pub(super) width: f64,
}

impl Fold {
    /// Displacement of a point. Only its place across `by` counts, so that the line need not lie exactly on the skin.
    pub(super) fn offset(&self, p: DVec3) -> DVec3 {
        /// How far from the line the skin may lie, in millimetres.
        const REACH: f64 = 16.0;
        let inward = self.by.normalize_or_zero();
        let flat = |v: DVec3| v - inward * v.dot(inward);
        let to_segment = |ends: &[DVec3]| {
            let along = flat(ends[1] - ends[0]);
            let t = (flat(p - ends[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0);
            p - (ends[0] + t * (ends[1] - ends[0]))
        };
        let distance = |away: &DVec3| flat(*away).length_squared();
        let nearest = self.line.windows(2).map(to_segment).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let away = nearest.unwrap_or(DVec3::ZERO);
        let across = flat(away).length_squared() / self.width.powi(2);
        // Second derivative of a bell: groove and ridges displace the same volume.
        (1.0 - across) * (-0.5 * across).exp() * bell(away.dot(inward), REACH) * self.by
    }
}

/// A straight fold.
pub(super) fn straight(from: DVec3, to: DVec3, by: DVec3, width: f64) -> Fold {
    Fold { line: [from, 0.5 * (from + to), to], by, width }
}

/// Several folds at once.
pub(super) fn folds(all: &[Fold], p: DVec3) -> DVec3 {
    all.iter().map(|fold| fold.offset(p)).sum()
}
