//! A small rig for tests of the viewer and of the command: a domed square of quads, 0.2 m tall.

use std::fmt::Write;

/// Rows and columns of its vertices.
const SIDE: usize = 21;

/// Its OBJ, with every vertex moved by an offset that depends on where it is.
pub(crate) fn dome(offset: impl Fn([f64; 3]) -> [f64; 3]) -> String {
    let mut obj = String::new();
    for row in 0..SIDE {
        for column in 0..SIDE {
            let at = |index: usize| (index as f64 - 10.0) * 0.01;
            let (x, y) = (at(column), at(row));
            let neutral = [x, y, 0.05 - 2.0 * (x * x + y * y)];
            let moved = offset(neutral);
            let [x, y, z] = [0, 1, 2].map(|axis| neutral[axis] + moved[axis]);
            writeln!(obj, "v {x:.6} {y:.6} {z:.6}").expect("text");
        }
    }
    for row in 0..SIDE - 1 {
        for column in 0..SIDE - 1 {
            let corner = 1 + row * SIDE + column;
            writeln!(obj, "f {} {} {} {}", corner, corner + 1, corner + SIDE + 1, corner + SIDE)
                .expect("text");
        }
    }
    obj
}

/// How much of a bump in its surface is at a place: 1 in the middle, nothing beyond some centimetres.
pub(crate) fn bump(x: f64, y: f64, at: [f64; 3]) -> f64 {
    (-((at[0] - x).powi(2) + (at[1] - y).powi(2)) / 4e-4).exp()
}
