//! Cheek shapes.

use glam::DVec3;

use super::eyes::lid_pair;
use super::fold::{Fold, folds, straight};
use super::kelvin::{pull, pulls};
use super::places::{BROW_OUT, BUCCAL, CHEEK, FOLD, JOWL, MALAR, MASSETER, crow, lower_side, under_eye};
use super::{Posed, Poser, reflect};
use crate::sculpt::field::{at, ramp};

/// Crow's feet: lines that fan out from the outer corner of the eye.
pub(super) fn crows_feet(depth: f64) -> [Fold; 3] {
    [(8.0, 6.0), (10.0, 0.0), (8.0, -6.0)].map(|(out, up)| {
        let (from, to) = (crow() + at(-3.0, 0.35 * up, 0.0), crow() + at(out, up, -6.0));
        straight(from, to, depth * at(-0.75, 0.0, -0.66), 2.6)
    })
}

/// The line under a lower lid that is pushed up from below.
fn lid_line(depth: f64) -> Fold {
    straight(under_eye() + at(-8.0, 3.0, 0.0), under_eye() + at(14.0, 1.0, -4.0), at(0.0, 0.0, -depth), 3.4)
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.push(poser.middle("cheekPuff", |v, p| {
        let out = [
            pull(BUCCAL, [5.8, 1.0, 11.2], 30.0),
            pull(lower_side(), [-1.5, 0.0, 5.6], 30.0),
            pull(MASSETER, [2.6, 0.0, 2.6], 30.0),
            pull(JOWL, [1.4, 0.0, 6.0], 30.0),
            pull(FOLD, [1.0, 1.0, 4.6], 30.0),
        ];
        // Air stays below the cheekbones.
        let below = ramp(26.0, -8.0, p.y);
        below * poser.off_lids(v, p) * (pulls(&out, p) + reflect(pulls(&out, reflect(p))))
    }));
    posed.extend(lid_pair(poser, "cheekSquint", |_, p| squint(p)));
}

/// The cheek pushed up against the eye.
fn squint(p: DVec3) -> DVec3 {
    let up = [
        pull(MALAR, [-0.4, 6.0, 2.0], 34.0),
        pull(BUCCAL, [0.5, 4.5, -0.2], 34.0),
        pull(crow(), [-1.2, 2.1, 0.9], 32.0),
        pull(BROW_OUT, [0.1, -1.4, 0.0], 26.0),
        pull(under_eye(), [1.6, 1.6, -0.6], 19.0),
        pull(CHEEK, [0.5, 2.4, 0.2], 14.0),
    ];
    pulls(&up, p) + folds(&crows_feet(0.8), p) + lid_line(0.8).offset(p)
}
