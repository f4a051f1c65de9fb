//! The nose: sneering.

use super::kelvin::{pull, pulls};
use super::{Posed, Poser};

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.pair("noseSneer", |v, p| {
        let wing = [
            pull([13.0, -16.0, 100.0], [1.3, 5.85, -0.65], 12.2),
            pull([20.0, -24.0, 94.0], [0.65, 3.25, 1.04], 12.2),
            pull([9.0, 24.0, 90.0], [-0.65, -2.6, 1.56], 10.8),
        ];
        let lift = (1.0 - poser.jaw[v]) * pull([14.0, -38.0, 102.0], [0.39, 3.25, 0.65], 12.2).offset(p);
        poser.off_lids(v, p) * pulls(&wing, p) + lift
    }));
}
