//! Sparse symmetric matrices.

/// A sparse symmetric matrix: the lower triangle, column by column, rows ascending.
///
/// Every diagonal entry is present. The pattern stays while the values change, so that an analysis of the
/// pattern can be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricMatrix {
    starts: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
}

impl SymmetricMatrix {
    /// The zero matrix whose pattern holds the diagonal and the given entries. An entry may be named many
    /// times and in either triangle.
    ///
    /// # Panics
    /// If an entry lies outside of the matrix.
    pub fn with_pattern(size: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut pairs: Vec<(usize, usize)> = (0..size).map(|i| (i, i)).collect();
        for (i, j) in entries {
            assert!(i < size && j < size, "entry outside of the matrix");
            pairs.push((i.min(j), i.max(j)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0; size + 1];
        for (column, _) in &pairs {
            starts[column + 1] += 1;
        }
        for column in 0..size {
            starts[column + 1] += starts[column];
        }
        let rows: Vec<usize> = pairs.into_iter().map(|(_, row)| row).collect();
        Self { values: vec![0.0; rows.len()], starts, rows }
    }

    /// The sum of entries, each given in one triangle only.
    ///
    /// # Panics
    /// If an entry lies outside of the matrix.
    pub fn from_entries(size: usize, entries: &[(usize, usize, f64)]) -> Self {
        let mut matrix = Self::with_pattern(size, entries.iter().map(|(i, j, _)| (*i, *j)));
        for (i, j, value) in entries {
            matrix.add(*i, *j, *value);
        }
        matrix
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.starts.len() - 1
    }

    /// Start of every column in [`rows`](Self::rows) and [`values`](Self::values), and the total count.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Row of every stored entry.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Value of every stored entry.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Value of every stored entry, mutably.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Place of entry (i, j), in either triangle, among the stored ones.
    pub fn position(&self, i: usize, j: usize) -> Option<usize> {
        let (column, row) = (i.min(j), i.max(j));
        let start = *self.starts.get(column)?;
        let end = *self.starts.get(column + 1)?;
        self.rows[start..end].binary_search(&row).ok().map(|place| start + place)
    }

    /// Adds to entry (i, j).
    ///
    /// # Panics
    /// If the entry is not part of the pattern.
    pub fn add(&mut self, i: usize, j: usize, value: f64) {
        let place = self.position(i, j).expect("the entry is part of the pattern");
        self.values[place] += value;
    }

    /// out = A x, for as many vectors as one row of `x` holds.
    ///
    /// # Panics
    /// If the lengths differ from the size.
    pub fn multiply<const K: usize>(&self, x: &[[f64; K]], out: &mut [[f64; K]]) {
        assert!(x.len() == self.size() && out.len() == self.size(), "vectors as long as the matrix");
        out.fill([0.0; K]);
        for j in 0..self.size() {
            for place in self.starts[j]..self.starts[j + 1] {
                let (i, value) = (self.rows[place], self.values[place]);
                for k in 0..K {
                    out[i][k] += value * x[j][k];
                    if i != j {
                        out[j][k] += value * x[i][k];
                    }
                }
            }
        }
    }

    /// The neighbours of every row: the other rows with which it shares an entry, ascending.
    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); self.size()];
        for j in 0..self.size() {
            for &i in &self.rows[self.starts[j]..self.starts[j + 1]] {
                if i != j {
                    neighbours[i].push(j as u32);
                    neighbours[j].push(i as u32);
                }
            }
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        neighbours
    }

    /// The same matrix with its rows and columns in another order: row `order[k]` becomes row `k`.
    ///
    /// # Panics
    /// If `order` is not a permutation of the rows.
    pub fn permuted(&self, order: &[u32]) -> Self {
        let place = inverse(order);
        let entries: Vec<(usize, usize, f64)> = (0..self.size())
            .flat_map(|j| (self.starts[j]..self.starts[j + 1]).map(move |p| (j, p)))
            .map(|(j, p)| (place[self.rows[p]] as usize, place[j] as usize, self.values[p]))
            .collect();
        Self::from_entries(self.size(), &entries)
    }
}

/// The place of every row in an order: `inverse(order)[order[k]] == k`.
///
/// # Panics
/// If `order` is not a permutation.
pub fn inverse(order: &[u32]) -> Vec<u32> {
    let mut place = vec![u32::MAX; order.len()];
    for (k, row) in order.iter().enumerate() {
        assert!(place[*row as usize] == u32::MAX, "every row once");
        place[*row as usize] = k as u32;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_add_up_in_either_triangle() {
        let a = SymmetricMatrix::from_entries(3, &[(0, 0, 2.0), (2, 0, 1.0), (0, 2, 0.5), (1, 1, 3.0)]);
        let mut out = [[0.0; 2]; 3];
        a.multiply(&[[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]], &mut out);
        assert_eq!(out, [[2.0, 3.0], [3.0, 0.0], [1.5, 0.0]]);
        assert_eq!(a.neighbours(), [vec![2], vec![], vec![0]]);
        assert_eq!(a.position(1, 2), None);
    }

    #[test]
    fn a_permuted_matrix_has_the_same_entries_elsewhere() {
        let a = SymmetricMatrix::from_entries(3, &[(0, 0, 2.0), (2, 0, 1.0), (1, 1, 3.0)]);
        let order = [2, 0, 1];
        let b = a.permuted(&order);
        for i in 0..3 {
            for j in 0..3 {
                let at = |m: &SymmetricMatrix, i, j| m.position(i, j).map_or(0.0, |p| m.values()[p]);
                assert_eq!(at(&b, i, j), at(&a, order[i] as usize, order[j] as usize));
            }
        }
    }
}
