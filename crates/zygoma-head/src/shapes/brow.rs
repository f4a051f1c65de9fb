//! Brow shapes.

use super::fold::{Fold, folds, straight};
use super::kelvin::{pull, pulls};
use super::places::{BROW, BROW_IN, BROW_OUT, FOREHEAD, FOREHEAD_OUT, GLABELLA, TEMPLE};
use super::{Posed, Poser, reflect};
use crate::sculpt::field::at;

/// Lines across the forehead at these heights above the brow, from the middle to `out`.
fn forehead_lines(from: f64, out: f64, depth: f64) -> [Fold; 3] {
    [14.0, 25.0, 36.0].map(|up| {
        let (inner, outer) = (at(from, BROW.y + up - 1.5, 92.0), at(out, BROW.y + up, 84.0));
        straight(inner, outer, at(0.0, 0.0, -depth), 3.4)
    })
}

/// The frown line beside the glabella.
fn frown_line() -> Fold {
    straight(GLABELLA + at(5.0, -1.0, 0.0), GLABELLA + at(6.0, 13.0, 0.0), at(0.0, 0.0, -1.1), 3.0)
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.pair("browDown", |v, p| {
        let down = [
            pull(BROW_IN, [-1.6, -2.4, 0.9], 17.0),
            pull(BROW, [-3.2, -4.3, 1.7], 26.0),
            pull(BROW_OUT, [-1.3, -3.9, 1.3], 26.0),
            pull(FOREHEAD, [-1.2, -1.9, 0.4], 26.0),
            pull(FOREHEAD_OUT, [-1.8, -1.5, 1.2], 26.0),
            pull(TEMPLE, [-0.9, -1.7, 1.3], 26.0),
        ];
        poser.off_lids(v, p) * (pulls(&down, p) + frown_line().offset(p))
    }));
    posed.push(poser.middle("browInnerUp", |v, p| {
        let up = [
            pull(BROW_IN, [-0.3, 6.5, -0.2], 18.0),
            pull(BROW, [-0.2, 3.3, -0.4], 26.0),
            pull(FOREHEAD, [0.2, -0.8, 0.4], 26.0),
        ];
        let side = pulls(&up, p) + reflect(pulls(&up, reflect(p)));
        let lines = forehead_lines(0.0, 20.0, 0.8);
        // Both halves of a line meet in the middle, where they would add up.
        poser.off_lids(v, p) * (side + folds(&lines, at(p.x.abs(), p.y, p.z)))
    }));
    posed.extend(poser.pair("browOuterUp", |v, p| {
        let up = [
            pull(BROW_OUT, [0.3, 6.6, -2.2], 26.0),
            pull(BROW, [0.4, 2.6, -0.7], 26.0),
            pull(TEMPLE, [-0.2, 1.4, 0.1], 26.0),
            pull(FOREHEAD_OUT, [0.7, 0.2, -0.5], 19.0),
        ];
        poser.off_lids(v, p) * (pulls(&up, p) + folds(&forehead_lines(20.0, 40.0, 0.7), p))
    }));
}
