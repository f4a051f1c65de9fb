//! The nose: sneering.

use glam::DVec3;

use super::eyes::lid_pair;
use super::fold::{Fold, folds, straight};
use super::kelvin::{pull, pulls};
use super::places::{BROW, BROW_IN, CHEEK, FOLD, GLABELLA, MALAR, NOSE_SIDE, corner, wing};
use super::{Posed, Poser};
use crate::sculpt::field::at;

/// Wrinkles that run from the bridge of the nose down to its side.
fn bunny_lines() -> [Fold; 2] {
    [0.0, 8.0].map(|up| {
        let (from, to) = (NOSE_SIDE + at(-6.0, up + 7.0, 4.0), NOSE_SIDE + at(3.0, up, -2.0));
        straight(from, to, at(-0.6, 0.0, -0.9), 2.6)
    })
}

/// The fold beside the wing, which a sneer deepens.
fn alar_fold() -> Fold {
    straight(FOLD + at(-7.0, 9.0, 0.0), FOLD + at(1.0, -4.0, 0.0), at(0.0, 0.0, -1.0), 3.8)
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    // The upper lip follows, the lower one stays.
    posed.extend(lid_pair(poser, "noseSneer", |v, p| (1.0 - poser.jaw[v]) * sneer(p)));
}

/// The wing drawn up, the bridge wrinkled, the brow drawn down to it.
fn sneer(p: DVec3) -> DVec3 {
    let drawn = [
        pull(wing(), [1.2, 2.4, -0.8], 12.0),
        pull(wing(), [1.6, 2.4, -0.4], 24.0),
        pull(FOLD, [-0.5, 5.4, 0.4], 26.0),
        pull(CHEEK, [-2.8, 4.2, 2.3], 26.0),
        pull(NOSE_SIDE, [0.0, 4.2, 0.9], 18.0),
        pull(MALAR, [-0.5, 1.4, 0.4], 26.0),
        pull(corner(), [-0.6, 1.5, 0.4], 26.0),
        pull(BROW_IN, [-3.9, -6.6, 1.1], 25.0),
        pull(BROW, [-0.7, -2.6, 0.4], 26.0),
        pull(GLABELLA, [2.9, 2.5, 0.1], 14.0),
    ];
    pulls(&drawn, p) + folds(&bunny_lines(), p) + alar_fold().offset(p)
}
