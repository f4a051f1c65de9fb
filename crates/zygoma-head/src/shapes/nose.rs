//! The nose: sneering.

use super::kelvin::{pull, pulls};
use super::{Poser, Posed};

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.pair("noseSneer", |v, p| {
        let wing = [
            pull([13.0, -16.0, 100.0], [1.0, 4.5, -0.5], 9.0),
            pull([20.0, -24.0, 94.0], [0.5, 2.5, 0.8], 9.0),
            pull([9.0, 24.0, 90.0], [-0.5, -2.0, 1.2], 8.0),
        ];
        let lift = (1.0 - poser.jaw[v]) * pull([14.0, -38.0, 102.0], [0.3, 2.5, 0.5], 9.0).offset(p);
        poser.off_lids(v, p) * pulls(&wing, p) + lift
    }));
}
