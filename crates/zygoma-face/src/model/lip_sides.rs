//! Tells the upper from the lower lip.
//!
//! Where the jaw parts the lips, its motion tells them apart. Towards the corners of the mouth both move alike, and distance along the skin
//! ends the two lips at different places. There a field decides that is −1 on the upper lip and 1 on the lower one where the jaw parts
//! them, is smooth along the skin, and changes its sign across the gap between points that face each other.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use zygoma_geometry::geodesic::{Nearest, Source, nearest_sources};
use zygoma_geometry::topology::half_edges;
use zygoma_numerics::{Analysis, Cholesky, SymmetricMatrix};

use super::lips::{CLOSE, Points, Seed};

/// The lips extend this fraction of the height around the line between them. Ours, as those below.
const LIP_RADIUS: f32 = 0.05;
/// Points face each other if the cosine of the angle between their normals is smaller than this.
const OPPOSED: f32 = -0.5;
/// Weight of the change of sign between facing points, relative to smoothness along an edge.
const FACING_WEIGHT: f64 = 2.0;
/// Weight of the seeds, relative to smoothness along an edge.
const SEED_WEIGHT: f64 = 100.0;
/// Pull to 0, relative to smoothness along an edge: decides for skin that no seed reaches.
const UNDECIDED_WEIGHT: f64 = 1e-6;

/// Labels points near the line between the lips as upper (false) or lower lip (true).
pub(super) fn sides(neutral: &[Vec3], points: &Points, seeds: &[Seed]) -> Vec<Option<bool>> {
    let is_near = |at: Vec3| seeds.iter().any(|seed| seed.at.distance_squared(at) < LIP_RADIUS * LIP_RADIUS);
    let near: Vec<u32> = points.hanging.iter().copied().filter(|v| is_near(neutral[*v as usize])).collect();
    let row: BTreeMap<u32, usize> = near.iter().copied().zip(0..).collect();
    let mut entries: Vec<(usize, usize, f64)> = (0..near.len()).map(|i| (i, i, UNDECIDED_WEIGHT)).collect();
    let mut couple = |a: usize, b: usize, weight: f64, sign: f64| {
        entries.extend([(a, a, weight), (b, b, weight), (a.max(b), a.min(b), -sign * weight)]);
    };
    for (a, b) in points.triangles.iter().flat_map(|t| half_edges(*t)) {
        if let (Some(a), Some(b)) = (row.get(&a), row.get(&b)) {
            couple(*a, *b, 1.0, 1.0);
        }
    }
    for (a, b) in facing(neutral, points, &near) {
        couple(row[&a], row[&b], FACING_WEIGHT, -1.0);
    }
    let mut field = vec![0.0; near.len()];
    for (vertex, value) in seeds.iter().flat_map(|seed| [(seed.upper, -1.0), (seed.lower, 1.0)]) {
        if let Some(i) = row.get(&vertex) {
            entries.push((*i, *i, SEED_WEIGHT));
            field[*i] += SEED_WEIGHT * value;
        }
    }
    let matrix = SymmetricMatrix::from_entries(near.len(), &entries);
    let mut sides = vec![None; neutral.len()];
    if let Ok(mut factor) = Cholesky::new(Analysis::new(&matrix), &matrix) {
        factor.solve_in_place(&mut field);
        near.iter().zip(&field).for_each(|(v, value)| sides[*v as usize] = Some(*value > 0.0));
    }
    sides
}

/// For each point, the way along the skin to where the lips grow together, less half of the mean length of the edges around it.
pub(super) fn from_corner(neutral: &[Vec3], triangles: &[[u32; 3]], sides: &[Option<bool>]) -> Vec<f32> {
    let positions: Vec<DVec3> = neutral.iter().map(|p| p.as_dvec3()).collect();
    let mut sources = Vec::new();
    let mut lengths = vec![(0.0, 0.0); neutral.len()];
    for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
        let length = positions[a as usize].distance(positions[b as usize]);
        for end in [a, b] {
            lengths[end as usize].0 += length;
            lengths[end as usize].1 += 1.0;
        }
        if let (Some(side), Some(other)) = (sides[a as usize], sides[b as usize])
            && side != other
        {
            sources.extend([a, b].map(|vertex| Source { vertex, distance: 0.5 * length, label: 0 }));
        }
    }
    let nearest = nearest_sources(&positions, triangles, &sources);
    let way = |(nearest, (sum, count)): (&Option<Nearest>, &(f64, f64))| {
        nearest.map_or(f32::INFINITY, |nearest| (nearest.distance - 0.5 * sum / count.max(1.0)) as f32)
    };
    nearest.iter().zip(&lengths).map(way).collect()
}

/// Pairs of a point and the closest one that faces it across a gap.
fn facing(neutral: &[Vec3], points: &Points, near: &[u32]) -> Vec<(u32, u32)> {
    let cell = |p: Vec3| (p / CLOSE).floor().as_ivec3().to_array();
    let mut cells: BTreeMap<[i32; 3], Vec<u32>> = BTreeMap::new();
    for vertex in near {
        cells.entry(cell(neutral[*vertex as usize])).or_default().push(*vertex);
    }
    let closest = |vertex: u32| {
        let (at, normal) = (neutral[vertex as usize], points.normals[vertex as usize]);
        let [x, y, z] = cell(at);
        let around =
            (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [x + i, y + j, z + k])));
        let distance = |v: &u32| neutral[*v as usize].distance(at);
        let faces = |v: &u32| {
            let way = neutral[*v as usize] - at;
            way.length() < CLOSE
                && way.dot(normal) >= 0.0
                && points.normals[*v as usize].dot(normal) < OPPOSED
        };
        let others = around.filter_map(|key| cells.get(&key)).flatten().copied().filter(faces);
        others.min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|other| (vertex, other))
    };
    near.iter().filter_map(|vertex| closest(*vertex)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sheets that are one skin beyond x = 1, `gap` apart: a mouth whose corner is at x = 1. Seeds reach only to `seeded`.
    fn mouth(count: usize, gap: f32, seeded: f32) -> (Vec<Vec3>, Points, Vec<Seed>) {
        let size = 0.05 / count as f32;
        let (mut neutral, mut triangles) = (Vec::new(), Vec::new());
        let width = 2 * count + 1;
        // A strip of skin that is folded at its middle column, where the corner is.
        for i in 0..width {
            let along = (count as f32 - (i as f32 - count as f32).abs()) * size;
            let side = (i as f32 - count as f32).signum();
            let height = if i == count { 0.0 } else { -0.5 * side * gap };
            for j in 0..=3 {
                neutral.push(Vec3::new(along, height, j as f32 * size));
            }
        }
        let at = |i: usize, j: usize| (4 * i + j) as u32;
        for i in 0..width - 1 {
            for j in 0..3 {
                let [a, b, c, d] = [at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)];
                triangles.extend([[a, c, b], [a, d, c]]);
            }
        }
        let normal = |v: usize| (neutral[v].y * -Vec3::Y).normalize_or(Vec3::NEG_X);
        let normals = (0..neutral.len()).map(normal).collect();
        let seed = |i: usize| Seed {
            at: neutral[at(i, 0) as usize],
            upper: at(i, 0),
            lower: at(width - 1 - i, 0),
            up: Vec3::Y,
        };
        let seeds = (0..count).filter(|i| *i as f32 * size < seeded).map(seed).collect();
        let hanging = (0..neutral.len() as u32).collect();
        (neutral, Points { of_vertex: Vec::new(), triangles, hanging, normals }, seeds)
    }

    #[test]
    fn both_lips_reach_to_the_corner_where_seeds_end_before_it() {
        let (neutral, points, mut seeds) = mouth(24, 0.001, 0.02);
        // The jaw parts the upper lip along a shorter way than the lower one.
        let farther =
            seeds.last().map(|last| Seed { upper: seeds[0].upper, lower: last.lower - 16, ..*last });
        seeds.extend(farther);
        let sides = sides(&neutral, &points, &seeds);
        for (v, side) in sides.iter().enumerate().filter(|(v, _)| neutral[*v].y != 0.0) {
            assert_eq!(*side, Some(neutral[v].y < 0.0), "at {}", neutral[v]);
        }
    }

    #[test]
    fn points_know_the_way_to_the_corner() {
        let (neutral, points, seeds) = mouth(24, 0.001, 0.02);
        let sides = sides(&neutral, &points, &seeds);
        let ways = from_corner(&neutral, &points.triangles, &sides);
        for (way, p) in ways.iter().zip(&neutral) {
            // Up to half an edge to the seam, less half an edge; edges are 2.1 mm long, diagonals 2.9 mm.
            let wanted = 0.05 - p.x;
            assert!((way - wanted).abs() < 0.004, "{way} at {p}");
        }
        assert!(ways.iter().any(|way| *way < 0.0));
    }
}
