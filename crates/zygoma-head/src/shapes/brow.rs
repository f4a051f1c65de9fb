//! Brow shapes.

use super::kelvin::{pull, pulls};
use super::{Posed, Poser, reflect};

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.pair("browDown", |v, p| {
        let down = [
            pull([11.0, 36.0, 90.0], [-3.12, -7.5, 2.5], 15.0),
            pull([28.0, 41.0, 86.0], [-1.88, -5.62, 1.0], 15.0),
            pull([44.0, 38.0, 74.0], [-0.62, -2.5, 0.62], 15.0),
        ];
        poser.off_lids(v, p) * pulls(&down, p)
    }));
    posed.push(poser.middle("browInnerUp", |v, p| {
        let up = [
            pull([10.0, 40.0, 90.0], [0.0, 8.12, 0.0], 18.0),
            pull([12.0, 62.0, 88.0], [0.0, 2.5, 0.0], 24.0),
        ];
        poser.off_lids(v, p) * (pulls(&up, p) + reflect(pulls(&up, reflect(p))))
    }));
    posed.extend(poser.pair("browOuterUp", |v, p| {
        let up = [
            pull([32.0, 43.0, 84.0], [0.0, 5.0, 0.0], 16.5),
            pull([44.0, 40.0, 74.0], [0.62, 6.88, -1.0], 16.5),
            pull([36.0, 64.0, 78.0], [0.0, 1.88, 0.0], 24.0),
        ];
        poser.off_lids(v, p) * pulls(&up, p)
    }));
}
