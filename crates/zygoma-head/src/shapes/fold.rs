//! Folds of the skin.

use glam::DVec3;

use crate::sculpt::field::bell;

/// A fold: a groove along a line, with a lower ridge on either side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Both ends of the line.
    pub(super) ends: [DVec3; 2],
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
        let [from, to] = self.ends;
        let along = flat(to - from);
        let t = (flat(p - from).dot(along) / along.length_squared()).clamp(0.0, 1.0);
        let away = p - (from + t * (to - from));
        let across = flat(away).length_squared() / self.width.powi(2);
        // Second derivative of a bell: groove and ridges displace the same volume.
        (1.0 - across) * (-0.5 * across).exp() * bell(away.dot(inward), REACH) * self.by
    }
}

/// Several folds at once.
pub(super) fn folds(all: &[Fold], p: DVec3) -> DVec3 {
    all.iter().map(|fold| fold.offset(p)).sum()
}
