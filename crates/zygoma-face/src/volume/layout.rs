//! The order of a volume's vertices in a system.

/// The row of each vertex of a volume in a system: free vertices first.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Row of each vertex.
    pub(crate) rows: Vec<u32>,
    /// Vertex of each row.
    pub(crate) vertices: Vec<u32>,
    /// Number of free vertices.
    pub(crate) free: usize,
}

impl Layout {
    /// Keeps an order of the vertices, but for the free ones, which come first.
    pub(crate) fn new(order: impl Iterator<Item = u32>, is_free: impl Fn(usize) -> bool) -> Self {
        let (free, held): (Vec<u32>, Vec<u32>) = order.partition(|vertex| is_free(*vertex as usize));
        let count = free.len();
        let vertices: Vec<u32> = free.into_iter().chain(held).collect();
        let mut rows = vec![0; vertices.len()];
        (0u32..).zip(&vertices).for_each(|(row, vertex)| rows[*vertex as usize] = row);
        Self { rows, vertices, free: count }
    }
}
