//! The frames, block by block, in a layout that suits wide registers.

use std::ops::Range;

use super::CompressError;

/// Vertices of a chunk.
pub(super) const CHUNK: usize = 128;

/// The memory layout of coordinates: chunks of [`CHUNK`] vertices, and in each all x, then all y, then all z.
/// Missing vertices at the end are zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    columns: usize,
}

impl Layout {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns }
    }

    /// Numbers of a row as the user has it.
    pub(super) fn columns(self) -> usize {
        self.columns
    }

    /// Number of chunks.
    pub(super) fn chunks(self) -> usize {
        self.columns.div_ceil(3 * CHUNK)
    }

    /// Numbers of a row with its filling.
    pub(super) fn width(self) -> usize {
        self.chunks() * 3 * CHUNK
    }

    /// Number of vertices, the last of which may have fewer than three coordinates.
    pub(super) fn vertices(self) -> usize {
        self.columns.div_ceil(3)
    }

    /// The place of a column.
    pub(super) fn place(self, column: usize) -> usize {
        let (vertex, axis) = (column / 3, column % 3);
        (vertex / CHUNK) * 3 * CHUNK + axis * CHUNK + vertex % CHUNK
    }
}

/// The frames.
pub(super) struct Rows<'a> {
    pub(super) count: usize,
    pub(super) layout: Layout,
    read: &'a mut dyn FnMut(usize, &mut [f32]),
    line: Vec<f32>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(count: usize, layout: Layout, read: &'a mut dyn FnMut(usize, &mut [f32])) -> Self {
        Self { count, layout, read, line: vec![0.0; layout.columns] }
    }

    /// The blocks of rows of at most `size`.
    pub(super) fn blocks(&self, size: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = self.count;
        (0..count).step_by(size).map(move |start| start..(start + size).min(count))
    }

    /// Reads some rows one after the other into `block`.
    pub(super) fn read(&mut self, rows: Range<usize>, block: &mut Vec<f32>) -> Result<(), CompressError> {
        let width = self.layout.width();
        block.clear();
        block.resize(rows.len() * width, 0.0);
        for (row, target) in rows.zip(block.chunks_exact_mut(width)) {
            self.line.fill(0.0);
            (self.read)(row, &mut self.line);
            if let Some(column) = self.line.iter().position(|value| !value.is_finite()) {
                return Err(CompressError::NotFinite { row, column });
            }
            for (chunk, line) in target.chunks_exact_mut(3 * CHUNK).zip(self.line.chunks(3 * CHUNK)) {
                for (vertex, coordinates) in line.chunks(3).enumerate() {
                    for (axis, value) in coordinates.iter().enumerate() {
                        chunk[axis * CHUNK + vertex] = *value;
                    }
                }
            }
        }
        Ok(())
    }
}
