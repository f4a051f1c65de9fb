//! Matrices for tests.

use crate::SymmetricMatrix;

/// A grid of unit springs between neighbours and next neighbours, each node held by `hold`.
pub(crate) fn grid(width: usize, height: usize, hold: f64) -> SymmetricMatrix {
    let mut entries = Vec::new();
    let at = |x: usize, y: usize| y * width + x;
    for y in 0..height {
        for x in 0..width {
            entries.push((at(x, y), at(x, y), hold));
            for (dx, dy) in [(1, 0), (0, 1), (1, 1), (2, 1)] {
                if x + dx < width && y + dy < height {
                    let (i, j) = (at(x, y), at(x + dx, y + dy));
                    entries.extend([(i, i, 1.0), (j, j, 1.0), (i, j, -1.0)]);
                }
            }
        }
    }
    SymmetricMatrix::from_entries(width * height, &entries)
}
