//! Brow shapes.

use super::kelvin::{pull, pulls};
use super::{Poser, Posed, reflect};

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.pair("browDown", |v, p| {
        let down = [
            pull([11.0, 36.0, 90.0], [-2.5, -6.0, 2.0], 10.0),
            pull([28.0, 41.0, 86.0], [-1.5, -4.5, 0.8], 10.0),
            pull([44.0, 38.0, 74.0], [-0.5, -2.0, 0.5], 10.0),
        ];
        poser.off_lids(v, p) * pulls(&down, p)
    }));
    posed.push(poser.middle("browInnerUp", |v, p| {
        let up = [pull([10.0, 40.0, 90.0], [0.0, 6.5, 0.0], 12.0), pull([12.0, 62.0, 88.0], [0.0, 2.0, 0.0], 16.0)];
        poser.off_lids(v, p) * (pulls(&up, p) + reflect(pulls(&up, reflect(p))))
    }));
    posed.extend(poser.pair("browOuterUp", |v, p| {
        let up = [
            pull([32.0, 43.0, 84.0], [0.0, 4.0, 0.0], 11.0),
            pull([44.0, 40.0, 74.0], [0.5, 5.5, -0.8], 11.0),
            pull([36.0, 64.0, 78.0], [0.0, 1.5, 0.0], 16.0),
        ];
        poser.off_lids(v, p) * pulls(&up, p)
    }));
}
