//! Finds self-intersections of the skin.

use std::collections::HashSet;

use glam::{DVec3, IVec3, Vec3};
use zygoma_geometry::intersect::triangles_cross;

/// Maximum number of cells of the grid: enough for a face at twice its mean edge length.
const MOST_CELLS: f64 = 1e6;

/// Finds pairs of triangles of a surface that cross.
///
/// It is independent of lips and of contact detection: all given triangles are tested against each other, except pairs with a common
/// point. Triangles that cross another one in the neutral are excluded, with those around them: the intersection line wanders from one
/// triangle to the next as the skin moves, and a body that resolves an intersection of the neutral changes it too.
#[derive(Clone, Debug)]
pub struct Crossings {
    triangles: Vec<[u32; 3]>,
    /// The same by points: coincident vertices of the neutral are one point.
    points: Vec<[u32; 3]>,
    /// Triangles that cross another one in the neutral, and those around them.
    is_left_out: Vec<bool>,
    boxes: Vec<[Vec3; 2]>,
    /// Triangles of each cell, and where each cell's list begins.
    cells: Vec<u32>,
    starts: Vec<u32>,
    found: Vec<(u32, u32)>,
}

/// A grid over a surface.
struct Grid {
    low: Vec3,
    cell: f32,
    size: IVec3,
}

impl Grid {
    fn over(boxes: &[[Vec3; 2]]) -> Self {
        let low = boxes.iter().map(|b| b[0]).fold(Vec3::MAX, Vec3::min);
        let high = boxes.iter().map(|b| b[1]).fold(Vec3::MIN, Vec3::max);
        let extent = (high - low).max(Vec3::splat(1e-9));
        let mean = boxes.iter().map(|b| f64::from((b[1] - b[0]).max_element())).sum::<f64>()
            / boxes.len().max(1) as f64;
        let volume = f64::from(extent.x) * f64::from(extent.y) * f64::from(extent.z);
        let cell =
            (1.5 * mean).max((volume / MOST_CELLS).cbrt()).max(f64::from(extent.max_element()) / 1e3) as f32;
        Self { low, cell, size: (extent / cell).floor().as_ivec3() + IVec3::ONE }
    }

    fn cell_of(&self, point: Vec3) -> IVec3 {
        ((point - self.low) / self.cell).floor().as_ivec3().clamp(IVec3::ZERO, self.size - IVec3::ONE)
    }

    fn index(&self, cell: IVec3) -> usize {
        ((cell.z * self.size.y + cell.y) * self.size.x + cell.x) as usize
    }

    /// Visits the cells that a box overlaps.
    fn visit(&self, [low, high]: [Vec3; 2], mut visit: impl FnMut(usize)) {
        let (from, to) = (self.cell_of(low), self.cell_of(high));
        for z in from.z..=to.z {
            for y in from.y..=to.y {
                for x in from.x..=to.x {
                    visit(self.index(IVec3::new(x, y, z)));
                }
            }
        }
    }
}

impl Crossings {
    /// Triangles of a mesh and their neutral.
    pub fn new(neutral: &[Vec3], triangles: Vec<[u32; 3]>) -> Self {
        let point_of = points(neutral);
        let points = triangles.iter().map(|t| t.map(|v| point_of[v as usize])).collect();
        let mut crossings = Self {
            points,
            is_left_out: vec![false; triangles.len()],
            triangles,
            boxes: Vec::new(),
            cells: Vec::new(),
            starts: Vec::new(),
            found: Vec::new(),
        };
        let crossed: HashSet<u32> = crossings
            .find(neutral)
            .to_vec()
            .into_iter()
            .flat_map(|(a, b)| [a, b])
            .flat_map(|triangle| crossings.points[triangle as usize])
            .collect();
        for (is_left_out, points) in crossings.is_left_out.iter_mut().zip(&crossings.points) {
            *is_left_out = points.iter().any(|point| crossed.contains(point));
        }
        crossings
    }

    /// Crossing pairs of a surface, except grazes: pairs that do not cross on the plain rig and whose corners are all within `graze` of
    /// it, so that their penetration is less than twice that. Where a rig has layers of skin that almost touch, a body crosses them by
    /// less than can be seen.
    pub fn find_deep(&mut self, shown: &[Vec3], plain: &[Vec3], graze: f32) -> Vec<(u32, u32)> {
        let of_rig = self.find(plain).to_vec();
        let mut found = self.find(shown).to_vec();
        let is_off = |triangle: u32| {
            let corners = self.triangles[triangle as usize];
            corners.iter().any(|v| shown[*v as usize].distance(plain[*v as usize]) > graze)
        };
        found.retain(|pair| of_rig.binary_search(pair).is_ok() || is_off(pair.0) || is_off(pair.1));
        found
    }

    /// Corners of a triangle by its index in a pair.
    pub fn triangle(&self, index: u32) -> [u32; 3] {
        self.triangles[index as usize]
    }

    /// Pairs of triangles that cross on a surface, sorted. Triangles with NaN coordinates cross nothing.
    pub fn find(&mut self, surface: &[Vec3]) -> &[(u32, u32)] {
        self.fill_boxes(surface);
        self.found.clear();
        if self.triangles.is_empty() {
            return &self.found;
        }
        let grid = Grid::over(&self.boxes);
        self.fill_cells(&grid);
        for cell in 0..self.starts.len() - 1 {
            let within = &self.cells[self.starts[cell] as usize..self.starts[cell + 1] as usize];
            for (k, i) in within.iter().enumerate() {
                for j in &within[..k] {
                    let [a, b] = [self.boxes[*j as usize], self.boxes[*i as usize]];
                    let low = a[0].max(b[0]);
                    let apart = low.cmpgt(a[1].min(b[1])).any();
                    // A pair that shares several cells is tested in the first one.
                    if !apart && grid.index(grid.cell_of(low)) == cell && self.cross(surface, *j, *i) {
                        self.found.push((*j, *i));
                    }
                }
            }
        }
        self.found.sort_unstable();
        &self.found
    }

    fn fill_boxes(&mut self, surface: &[Vec3]) {
        self.boxes.clear();
        self.boxes.extend(self.triangles.iter().map(|t| {
            let [a, b, c] = t.map(|v| surface[v as usize]);
            if (a + b + c).is_finite() { [a.min(b).min(c), a.max(b).max(c)] } else { [Vec3::ZERO; 2] }
        }));
    }

    /// Sorts triangles into cells by counting.
    fn fill_cells(&mut self, grid: &Grid) {
        self.starts.clear();
        self.starts.resize((grid.size.x * grid.size.y * grid.size.z) as usize + 1, 0);
        let counted =
            || (0u32..).zip(&self.boxes).filter(|(triangle, _)| !self.is_left_out[*triangle as usize]);
        for (_, bounds) in counted() {
            grid.visit(*bounds, |cell| self.starts[cell + 1] += 1);
        }
        for cell in 1..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        let mut next = self.starts.clone();
        self.cells.clear();
        self.cells.resize(self.starts.last().copied().unwrap_or(0) as usize, 0);
        for (triangle, bounds) in counted() {
            grid.visit(*bounds, |cell| {
                self.cells[next[cell] as usize] = triangle;
                next[cell] += 1;
            });
        }
    }

    fn cross(&self, surface: &[Vec3], a: u32, b: u32) -> bool {
        let [p, q] = [a, b].map(|t| self.points[t as usize]);
        if p.iter().any(|point| q.contains(point)) {
            return false;
        }
        let [p, q] = [a, b]
            .map(|t| -> [DVec3; 3] { self.triangles[t as usize].map(|v| surface[v as usize].as_dvec3()) });
        triangles_cross(p, q)
    }
}

/// The point of each vertex: coincident vertices are one point.
pub(super) fn points(positions: &[Vec3]) -> Vec<u32> {
    let mut first = std::collections::HashMap::new();
    let key = |p: &Vec3| p.to_array().map(|x| (x + 0.0).to_bits());
    (0u32..).zip(positions).map(|(vertex, p)| *first.entry(key(p)).or_insert(vertex)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::intersect::crossing_pairs;

    /// Two wavy sheets, one above the other.
    fn sheets(gap: impl Fn(f32, f32) -> f32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        const N: u32 = 20;
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        for sheet in 0..2u32 {
            let first = sheet * (N + 1) * (N + 1);
            for i in 0..=N {
                for k in 0..=N {
                    let (x, y) = (i as f32 / N as f32, k as f32 / N as f32);
                    let z = 0.02 * (9.0 * x).sin() + if sheet == 1 { gap(x, y) } else { 0.0 };
                    positions.push(Vec3::new(x, y + 0.013 * sheet as f32, z));
                }
            }
            for i in 0..N {
                for k in 0..N {
                    let at = |i: u32, k: u32| first + i * (N + 1) + k;
                    triangles.push([at(i, k), at(i + 1, k), at(i + 1, k + 1)]);
                    triangles.push([at(i, k), at(i + 1, k + 1), at(i, k + 1)]);
                }
            }
        }
        (positions, triangles)
    }

    #[test]
    fn all_pairs_are_found_and_what_crosses_in_the_neutral_does_not_count() {
        let (apart, triangles) = sheets(|_, _| 0.05);
        let (through, _) = sheets(|x, y| 0.04 * (7.0 * x).cos() * (5.0 * y).sin());
        let all = crossing_pairs(&through.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>(), &triangles);
        assert!(all.len() > 50, "{}", all.len());
        assert_eq!(Crossings::new(&apart, triangles.clone()).find(&through), all);
        let mut made_so = Crossings::new(&through, triangles);
        assert_eq!(made_so.find(&through), []);
        assert_eq!(made_so.find(&apart), []);
        // Elsewhere on the same sheets, crossings still count.
        let (deeper, _) = sheets(|x, y| 0.04 * (7.0 * x).cos() * (5.0 * y).sin() - 0.02);
        let more = made_so.find(&deeper).len();
        assert!(more > 10 && more < all.len(), "{more}");
    }

    #[test]
    fn a_graze_does_not_count() {
        let (plain, triangles) = sheets(|_, _| 1e-3);
        let (through, _) = sheets(|x, _| if x > 0.5 { -1e-3 } else { 1e-3 });
        let mut crossings = Crossings::new(&plain, triangles);
        assert!(crossings.find(&through).len() > 10);
        assert_eq!(crossings.find_deep(&through, &plain, 2.1e-3), []);
        assert_eq!(crossings.find_deep(&through, &plain, 1.9e-3).len(), crossings.find(&through).len());
        assert_eq!(crossings.find_deep(&through, &through, 2.1e-3).len(), crossings.find(&through).len());
    }

    #[test]
    fn a_seam_is_no_crossing_and_what_is_not_a_number_none_either() {
        // Two triangles with a common edge whose vertices are duplicated in the file; a shape pulls the copies slightly apart.
        let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.0)];
        let mut crossings = Crossings::new(&rest, vec![[0, 1, 2], [3, 5, 4]]);
        let mut pulled = rest;
        (pulled[3], pulled[4]) = (Vec3::new(0.9, 0.0, 1e-3), Vec3::new(0.0, 0.9, -1e-3));
        assert_eq!(crossings.find(&pulled), []);
        pulled[0] = Vec3::NAN;
        assert_eq!(crossings.find(&pulled), []);
    }
}
