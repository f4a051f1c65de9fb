//! Sorts the triangles and edges of lips into the cells of a plane, so that those above each other are found quickly.

use glam::Vec3;

/// The rectangle of the projection plane where both lips overlap, in cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    low: Vec3,
    per_metre: f32,
    size: [usize; 2],
}

/// Maximum number of cells along a side: lips are some centimetres wide.
const MOST_CELLS: f32 = 256.0;

impl Area {
    pub(super) fn new(low: Vec3, high: Vec3, cell: f32) -> Self {
        let extent = high - low;
        let cell = cell.max(extent.x.max(extent.y) / MOST_CELLS);
        let count = |length: f32| (length / cell).floor() as usize + 1;
        Self { low, per_metre: 1.0 / cell, size: [count(extent.x), count(extent.y)] }
    }

    pub(super) fn cell_of(&self, p: Vec3) -> Option<[usize; 2]> {
        let at = (p - self.low) * self.per_metre;
        let inside = at.x >= 0.0 && at.y >= 0.0;
        let cell = [at.x as usize, at.y as usize];
        (inside && cell[0] < self.size[0] && cell[1] < self.size[1]).then_some(cell)
    }

    /// The cell of a point, or the nearest one.
    pub(super) fn first_cell(&self, p: Vec3) -> [usize; 2] {
        let at = ((p - self.low) * self.per_metre).max(Vec3::ZERO);
        [(at.x as usize).min(self.size[0] - 1), (at.y as usize).min(self.size[1] - 1)]
    }

    /// The first and last cell of a box, if it overlaps any.
    pub(super) fn cells_of(&self, low: Vec3, high: Vec3) -> Option<([usize; 2], [usize; 2])> {
        let (low, high) = ((low - self.low) * self.per_metre, (high - self.low) * self.per_metre);
        let outside =
            high.x < 0.0 || high.y < 0.0 || low.x >= self.size[0] as f32 || low.y >= self.size[1] as f32;
        let clamp = |p: Vec3| [p.x.max(0.0) as usize, p.y.max(0.0) as usize];
        let (from, to) = (clamp(low), clamp(high));
        (!outside).then(|| (from, [to[0].min(self.size[0] - 1), to[1].min(self.size[1] - 1)]))
    }
}

/// The items of each cell, in one list.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    width: usize,
    starts: Vec<u32>,
    items: Vec<u32>,
    /// The bounding box of each item; empty for skipped items.
    pub(super) boxes: Vec<[Vec3; 2]>,
}

impl Grid {
    /// Sorts triangles (or edges, with one end repeated) into cells.
    pub(super) fn fill(&mut self, area: &Area, corners: impl Iterator<Item = Option<[Vec3; 3]>>) {
        self.boxes.clear();
        self.boxes.extend(corners.map(|corners| {
            corners.map_or([Vec3::MAX, Vec3::MIN], |[a, b, c]| [a.min(b).min(c), a.max(b).max(c)])
        }));
        self.width = area.size[0];
        self.starts.clear();
        self.starts.resize(area.size[0] * area.size[1] + 1, 0);
        let boxes = &self.boxes;
        let each = |starts: &mut Vec<u32>, items: Option<&mut Vec<u32>>| {
            let mut items = items;
            for (index, [low, high]) in (0..).zip(boxes) {
                let Some((from, to)) = area.cells_of(*low, *high) else { continue };
                for y in from[1]..=to[1] {
                    for x in from[0]..=to[0] {
                        let place = &mut starts[y * area.size[0] + x];
                        if let Some(items) = &mut items {
                            items[*place as usize] = index;
                        }
                        *place += 1;
                    }
                }
            }
        };
        each(&mut self.starts, None);
        let mut sum = 0;
        for start in &mut self.starts {
            (*start, sum) = (sum, sum + *start);
        }
        self.items.clear();
        self.items.resize(sum as usize, 0);
        each(&mut self.starts, Some(&mut self.items));
        // Filling moved every start to the end of its cell, which is where the next cell starts.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    pub(super) fn cell(&self, [x, y]: [usize; 2]) -> &[u32] {
        let cell = y * self.width + x;
        &self.items[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }
}
