//! The nose: sneering.

use glam::DVec3;

use super::eyes::lid_pair;
use super::fold::{Fold, folds};
use super::kelvin::{pull, pulls};
use super::places::{BROW_IN, CHEEK, FOLD, GLABELLA, NOSE_SIDE, wing};
use super::{Posed, Poser};
use crate::sculpt::field::at;

/// Wrinkles that run from the bridge of the nose down to its side.
fn bunny_lines() -> [Fold; 2] {
    [0.0, 8.0].map(|up| Fold {
        ends: [NOSE_SIDE + at(-6.0, up + 7.0, 4.0), NOSE_SIDE + at(3.0, up, -2.0)],
        by: at(-0.6, 0.0, -0.9),
        width: 2.6,
    })
}

/// The fold beside the wing, which a sneer deepens.
fn alar_fold() -> Fold {
    Fold { ends: [FOLD + at(-7.0, 9.0, 0.0), FOLD + at(1.0, -4.0, 0.0)], by: at(0.0, 0.0, -1.2), width: 3.6 }
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(lid_pair(poser, "noseSneer", sneer));
}

/// The wing drawn up, the bridge wrinkled, the brow drawn down to it.
fn sneer(p: DVec3) -> DVec3 {
    let drawn = [
        pull(wing(), [1.6, 4.6, -0.8], 15.0),
        pull(FOLD, [-0.2, 4.6, 0.4], 24.0),
        pull(CHEEK, [-2.2, 3.6, 1.8], 24.0),
        pull(NOSE_SIDE, [0.0, 3.2, 1.2], 16.0),
        pull(BROW_IN, [-2.6, -4.8, 1.0], 22.0),
        pull(GLABELLA, [1.6, 1.4, 0.1], 14.0),
    ];
    pulls(&drawn, p) + folds(&bunny_lines(), p) + alar_fold().offset(p)
}
