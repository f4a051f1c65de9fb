//! Cheek shapes.

use super::kelvin::{pull, pulls};
use super::{Posed, Poser, reflect};

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.push(poser.middle("cheekPuff", |v, p| {
        let out = [
            pull([44.0, -38.0, 62.0], [17.0, 0.0, 7.5], 24.0),
            pull([24.0, -36.0, 90.0], [2.25, 1.5, 3.75], 14.0),
            pull([24.0, -56.0, 88.0], [2.25, -1.5, 3.75], 14.0),
        ];
        poser.off_lids(v, p) * (pulls(&out, p) + reflect(pulls(&out, reflect(p))))
    }));
    posed.extend(poser.pair("cheekSquint", |v, p| {
        let up = [
            pull([38.0, -14.0, 76.0], [0.75, 9.0, 3.75], 19.6),
            pull([24.0, -16.0, 84.0], [0.0, 3.0, 1.5], 14.0),
        ];
        poser.off_lids(v, p) * pulls(&up, p)
    }));
}
