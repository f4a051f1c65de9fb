//! Rasterisation: finds the visible triangle at each sample of the screen.
//!
//! Corners are snapped to 1/256 of a sample and edges are then evaluated in integers, so that triangles with a
//! common edge neither overlap nor leave a gap. The screen is cut into bands of rows that are filled
//! independently, each with its triangles in their order: the result does not depend on the number of threads.

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::Geometry;
use crate::project::Projection;

/// Marks a sample without a triangle.
pub(crate) const NOTHING: u32 = u32::MAX;

/// Rows of a band.
const BAND: usize = 32;
/// Steps of the grid to which corners are snapped, per sample.
const GRID: f64 = 256.0;
/// Corners further from the screen's origin than this many samples are not drawn: their products would not fit.
const FARTHEST: f32 = (1 << 21) as f32;

/// The nearest triangle at every sample.
pub(crate) struct Visibility {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Index of the triangle in the geometry, or [`NOTHING`].
    pub(crate) triangles: Vec<u32>,
    /// Its nearness ([`Projection`]), or −∞.
    pub(crate) nearness: Vec<f32>,
}

/// A half space in view coordinates: points with `normal · x ≤ offset` are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfSpace {
    pub(crate) normal: Vec3,
    pub(crate) offset: f32,
}

/// A triangle on the screen, its corners on the grid and in clockwise order.
struct ScreenTriangle {
    corners: [[i64; 2]; 3],
    nearness: [f32; 3],
    triangle: u32,
}

impl Visibility {
    /// Draws the given triangles of `geometry`, clipped to all `kept` half spaces.
    pub(crate) fn draw(
        geometry: &Geometry,
        triangles: impl Iterator<Item = usize>,
        projection: Projection,
        size: [usize; 2],
        kept: &[HalfSpace],
    ) -> Self {
        let [width, height] = size;
        let mut bands: Vec<Vec<ScreenTriangle>> = Vec::new();
        bands.resize_with(height.div_ceil(BAND), Vec::new);
        for triangle in triangles {
            for seen in clipped(geometry.corners(triangle), kept) {
                let Some(seen) = snap(seen, projection, triangle as u32) else { continue };
                let Some([top, bottom]) = seen.rows(height) else { continue };
                for band in top / BAND..=bottom / BAND {
                    bands[band].push(ScreenTriangle { ..seen });
                }
            }
        }
        let mut visibility = Self {
            width,
            height,
            triangles: vec![NOTHING; width * height],
            nearness: vec![f32::NEG_INFINITY; width * height],
        };
        let rows = visibility.triangles.par_chunks_mut(BAND * width);
        let rows = rows.zip(visibility.nearness.par_chunks_mut(BAND * width));
        rows.zip(&bands).enumerate().for_each(|(band, ((ids, nearness), seen))| {
            let mut rows = Band { width, first_row: band * BAND, ids, nearness };
            seen.iter().for_each(|triangle| rows.fill(triangle));
        });
        visibility
    }

    /// The triangle at a sample.
    pub(crate) fn triangle(&self, x: usize, y: usize) -> Option<usize> {
        let triangle = self.triangles[y * self.width + x];
        (triangle != NOTHING).then_some(triangle as usize)
    }
}

/// Clips a triangle to all half spaces, as triangles (Sutherland and Hodgman's clipping).
fn clipped(corners: [Vec3; 3], kept: &[HalfSpace]) -> Vec<[Vec3; 3]> {
    let outside = |half: &HalfSpace| corners.iter().any(|c| half.normal.dot(*c) > half.offset);
    if !kept.iter().any(outside) {
        return vec![corners];
    }
    let mut polygon = corners.to_vec();
    for half in kept {
        let mut inside = Vec::with_capacity(polygon.len() + 1);
        for (i, &from) in polygon.iter().enumerate() {
            let to = polygon[(i + 1) % polygon.len()];
            let (start, end) = (half.offset - half.normal.dot(from), half.offset - half.normal.dot(to));
            if start >= 0.0 {
                inside.push(from);
            }
            if (start < 0.0) != (end < 0.0) {
                inside.push(from.lerp(to, start / (start - end)));
            }
        }
        polygon = inside;
    }
    (2..polygon.len()).map(|i| [polygon[0], polygon[i - 1], polygon[i]]).collect()
}

/// The triangle on the screen, or `None` if it covers nothing.
fn snap(corners: [Vec3; 3], projection: Projection, triangle: u32) -> Option<ScreenTriangle> {
    let screen = corners.map(|corner| projection.to_screen(corner));
    // A NaN fails this test too.
    if !screen.iter().all(|s| s.z.is_finite() && s.x.abs() < FARTHEST && s.y.abs() < FARTHEST) {
        return None;
    }
    let grid = |value: f32| (f64::from(value) * GRID).round() as i64;
    let mut corners = screen.map(|s| [grid(s.x), grid(s.y)]);
    let mut nearness = screen.map(|s| s.z);
    let area = edge(corners[0], corners[1], corners[2]);
    if area == 0 {
        return None;
    }
    if area < 0 {
        corners.swap(1, 2);
        nearness.swap(1, 2);
    }
    Some(ScreenTriangle { corners, nearness, triangle })
}

/// Twice the signed area of a, b, p; positive where they turn clockwise on a screen with +Y down.
fn edge(a: [i64; 2], b: [i64; 2], p: [i64; 2]) -> i64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// Samples lie in the middle of their cells: the grid position of sample `i`.
fn sample(i: usize) -> i64 {
    i as i64 * GRID as i64 + GRID as i64 / 2
}

/// First and last of `count` samples between two grid positions.
fn samples_between(low: i64, high: i64, count: usize) -> Option<[usize; 2]> {
    let step = GRID as i64;
    let first = (low - step / 2 + step - 1).div_euclid(step).max(0);
    let last = (high - step / 2).div_euclid(step).min(count as i64 - 1);
    (first <= last).then_some([first as usize, last as usize])
}

impl ScreenTriangle {
    fn between(&self, axis: usize, count: usize) -> Option<[usize; 2]> {
        let [a, b, c] = self.corners.map(|corner| corner[axis]);
        samples_between(a.min(b).min(c), a.max(b).max(c), count)
    }

    fn rows(&self, height: usize) -> Option<[usize; 2]> {
        self.between(1, height)
    }
}

/// Some rows of the screen.
struct Band<'a> {
    width: usize,
    first_row: usize,
    ids: &'a mut [u32],
    nearness: &'a mut [f32],
}

impl Band<'_> {
    fn fill(&mut self, seen: &ScreenTriangle) {
        let rows = self.ids.len() / self.width;
        let Some([left, right]) = seen.between(0, self.width) else { return };
        let Some([top, bottom]) = seen.rows(self.first_row + rows) else { return };
        let [a, b, c] = seen.corners;
        let area = edge(a, b, c) as f64;
        let sides = [(b, c), (c, a), (a, b)];
        // Samples exactly on an edge belong to the triangle below or to the right of it.
        let bias = sides.map(|(from, to)| {
            let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
            if dy < 0 || (dy == 0 && dx > 0) { 0 } else { -1 }
        });
        let step = sides.map(|(from, to)| (from[1] - to[1]) * GRID as i64);
        let per_area = seen.nearness.map(|nearness| f64::from(nearness) / area);
        for y in top.max(self.first_row)..=bottom {
            let start = [sample(left), sample(y)];
            let mut weights = sides.map(|(from, to)| edge(from, to, start));
            let row = (y - self.first_row) * self.width;
            for x in left..=right {
                if (0..3).all(|side| weights[side] + bias[side] >= 0) {
                    let nearness: f64 = (0..3).map(|i| weights[i] as f64 * per_area[i]).sum();
                    // Strictly: of equally near triangles the first one wins.
                    if nearness as f32 > self.nearness[row + x] {
                        self.nearness[row + x] = nearness as f32;
                        self.ids[row + x] = seen.triangle;
                    }
                }
                (0..3).for_each(|side| weights[side] += step[side]);
            }
        }
    }
}
