//! Shells for tests.

use glam::DVec3;

use super::Shell;

/// A rectangular sheet of unit width with gentle bumps, in uneven triangles.
pub(crate) fn bumpy_sheet(columns: usize, rows: usize) -> Shell {
    let mut rest = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let (u, v) = (i as f64 / (columns - 1) as f64, j as f64 / (columns - 1) as f64);
            let shift = 0.15 / columns as f64 * ((3 * i + 5 * j) as f64).sin();
            rest.push(DVec3::new(u + shift, v - shift, 0.1 * (5.0 * u).sin() * (4.0 * v).cos()));
        }
    }
    let at = |i: usize, j: usize| (j * columns + i) as u32;
    let mut triangles = Vec::new();
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend(if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
    }
    Shell::new(rest, triangles).unwrap()
}
