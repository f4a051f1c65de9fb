//! Finds the lips: skin that is close in space but separates when the jaw opens.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::topology::connected_parts;
use zygoma_rig::arkit;

use super::lip_sides::{from_corner, sides};
use crate::model::FaceModel;

/// Lips at rest are closer to each other than this fraction of the face's height. Ours, as those below.
pub(super) const CLOSE: f32 = 0.02;
/// The displacements of two separating points differ by at least this fraction of the jaw's largest motion.
const PARTED: f32 = 0.4;
/// A shape that moves no skin by this fraction of the height counts as motionless.
const LEAST: f32 = 0.01;
/// Coincident vertices whose jaw motions differ by less than this fraction of the height are one point of the surface.
const ALIKE: f32 = 1e-4;

/// The two lips at full resolution, including their inner sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lips {
    /// A vertex of the whole mesh for each point: first the upper lip, then the lower lip.
    pub(crate) vertices: Vec<u32>,
    /// Number of points of the upper lip.
    pub(crate) upper: usize,
    /// Triangles of the upper and the lower lip, between points.
    pub(crate) triangles: [Vec<[u32; 3]>; 2],
    /// Every vertex of the whole mesh at a point of the lips, with that point: files split vertices along texture seams.
    pub(crate) copies: Vec<(u32, u32)>,
    /// Parts of the mouth, each with one direction from the lower to the upper lip: one for most mouths, several for curved ones.
    pub(crate) parts: Vec<LipPart>,
    /// Each point in the neutral.
    pub(crate) at_rest: Vec<LipPointAtRest>,
    /// For each vertex of the coarse skin: upper lip (false), lower lip (true) or neither.
    pub(crate) coarse: Vec<Option<bool>>,
}

/// A point of the lips in the neutral.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LipPointAtRest {
    /// The way along the skin to where the lips grow together, less half of the mean length of the edges around the point, m: two points
    /// whose sum is negative are neighbours in a corner of the mouth, no farther from each other than an edge.
    pub(crate) from_corner: f32,
    /// The normal of the skin.
    pub(crate) normal: Vec3,
}

impl Lips {
    /// Finds the lips of a face and of a coarse skin given by its positions on it; empty where no shape separates them.
    pub(crate) fn find(face: &FaceModel, jaw: &[usize], places: &[SurfacePoint]) -> Self {
        let scaled = Scaled::new(face);
        let Some(Opening { points, seeds }) = Opening::find(&scaled, jaw) else {
            return Self::default();
        };
        let sides = sides(&scaled.neutral, &points, &seeds);
        let side = |vertex: u32| sides[points.of_vertex[vertex as usize] as usize];
        let coarse = places.iter().map(|place| side(nearest_corner(face, place))).collect();
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for vertex in &points.hanging {
            match side(*vertex) {
                Some(false) => upper.push(*vertex),
                Some(true) => lower.push(*vertex),
                None => {}
            }
        }
        let count = upper.len();
        let vertices: Vec<u32> = upper.into_iter().chain(lower).collect();
        let place: BTreeMap<u32, u32> = vertices.iter().copied().zip(0..).collect();
        let mut triangles = [Vec::new(), Vec::new()];
        for t in &points.triangles {
            let [a, b, c] = t.map(|v| place.get(&v).copied());
            if let (Some(a), Some(b), Some(c)) = (a, b, c) {
                let sides = [a, b, c].map(|v| v as usize >= count);
                if sides[0] == sides[1] && sides[1] == sides[2] {
                    triangles[usize::from(sides[0])].push([a, b, c]);
                }
            }
        }
        let copy = |(vertex, point): (u32, &u32)| place.get(point).map(|place| (vertex, *place));
        let copies = (0..).zip(&points.of_vertex).filter_map(copy).collect();
        let positions: Vec<Vec3> = vertices.iter().map(|v| scaled.neutral[*v as usize]).collect();
        let parts = parts(&seeds, &positions, &triangles);
        let from_corner = from_corner(&scaled.neutral, &points.triangles, &sides);
        let at_rest = |v: &u32| LipPointAtRest {
            from_corner: face.height as f32 * from_corner[*v as usize],
            normal: points.normals[*v as usize],
        };
        let at_rest = vertices.iter().map(at_rest).collect();
        Self { vertices, upper: count, triangles, copies, parts, at_rest, coarse }
    }
}

impl Lips {
    /// Changes the embedding so that neither lip follows the other: a coarse triangle at a corner of the mouth may span both. `rest` is
    /// the coarse skin.
    pub(crate) fn part(&self, embedding: &mut Embedding, face: &FaceModel, rest: &[DVec3]) {
        for (vertex, point) in &self.copies {
            let is_lower = *point as usize >= self.upper;
            let place = *vertex as usize;
            let (corners, weights) = (embedding.vertices[place], embedding.weights[place]);
            let is_other = |corner: u32| self.coarse[corner as usize] == Some(!is_lower);
            let all: f32 = weights.iter().sum();
            let kept = std::array::from_fn(|k| if is_other(corners[k]) { 0.0 } else { weights[k] });
            let sum: f32 = kept.iter().sum();
            if sum == all {
                continue;
            }
            if sum > 0.0 {
                embedding.weights[place] = kept.map(|w| w * all / sum);
                continue;
            }
            let at = face.neutral[place].as_dvec3();
            let own = (0..self.coarse.len()).filter(|v| self.coarse[*v] == Some(is_lower));
            let distance = |v: &usize| rest[*v].distance_squared(at);
            if let Some(nearest) = own.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
                embedding.vertices[place] = [nearest as u32; 3];
                embedding.weights[place] = [all, 0.0, 0.0];
            }
        }
    }
}

/// A face in units of its height, so that thresholds hold for faces of any size.
struct Scaled<'a> {
    face: &'a FaceModel,
    neutral: Vec<Vec3>,
}

impl<'a> Scaled<'a> {
    fn new(face: &'a FaceModel) -> Self {
        Self { face, neutral: face.neutral_in_heights() }
    }

    fn displacements(&self, shape: usize) -> Vec<Vec3> {
        let per_metre = (1.0 / self.face.height) as f32;
        let mut moves = self.face.displacements(shape);
        moves.iter_mut().for_each(|offset| *offset *= per_metre);
        moves
    }
}

/// The vertex of the whole mesh nearest to a point on its surface.
fn nearest_corner(face: &FaceModel, place: &SurfacePoint) -> u32 {
    let weights = place.barycentric;
    let heaviest = (1..3).fold(0, |best, k| if weights[k] > weights[best] { k } else { best });
    face.triangles[place.triangle as usize][heaviest]
}

/// The opening of the mouth.
struct Opening {
    points: Points,
    seeds: Vec<Seed>,
}

impl Opening {
    /// Uses the shape named for opening the jaw, or else the shape of the lower face that separates the most close points: without a jaw
    /// shape, the shapes of speech still separate the lips.
    fn find(face: &Scaled<'_>, jaw: &[usize]) -> Option<Self> {
        let is_named = |shape: &usize| {
            arkit::recognise(&face.face.shapes[*shape].name)
                .is_some_and(|recognised| recognised.shape == "jawOpen")
        };
        if let Some(shape) = jaw.iter().copied().find(is_named) {
            return Some(Self::by(&face.displacements(shape), face));
        }
        let heights: Vec<Option<f32>> = (0..face.face.shapes.len())
            .map(|shape| height_of_motion(face, &face.displacements(shape)))
            .collect();
        let (low, high) = heights
            .iter()
            .flatten()
            .fold((f32::MAX, f32::MIN), |(low, high), height| (low.min(*height), high.max(*height)));
        let is_low = |shape: &usize| heights[*shape].is_some_and(|height| height < 0.5 * (low + high));
        let openings = (0..face.face.shapes.len())
            .filter(is_low)
            .map(|shape| Self::by(&face.displacements(shape), face));
        openings.filter(|opening| !opening.seeds.is_empty()).max_by_key(|opening| opening.seeds.len())
    }

    fn by(moves: &[Vec3], face: &Scaled<'_>) -> Self {
        let way = main_direction(moves);
        let moved: Vec<f32> = moves.iter().map(|offset| offset.dot(way)).collect();
        let points = Points::new(face, &moved);
        let largest = face.face.skin.iter().map(|v| moved[*v as usize]).fold(0.0, f32::max);
        let seeds = seeds(face, &points, &moved, largest);
        Self { points, seeds }
    }
}

/// The principal direction of a shape's motion, signed as its largest displacement.
fn main_direction(moves: &[Vec3]) -> Vec3 {
    let farthest = moves.iter().copied().max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
    let first = farthest.unwrap_or_default();
    let all: Vec3 = moves.iter().map(|offset| *offset * offset.dot(first).signum()).sum();
    all.normalize_or_zero()
}

/// Mean height of the skin that a shape moves most; none if the shape is motionless.
fn height_of_motion(face: &Scaled<'_>, moves: &[Vec3]) -> Option<f32> {
    const MOST: f32 = 0.6;
    let length = |v: &&u32| moves[**v as usize].length();
    let largest = face.face.skin.iter().map(|v| length(&v)).fold(0.0, f32::max);
    let most: Vec<&u32> = face.face.skin.iter().filter(|v| length(v) >= MOST * largest).collect();
    let mean = most.iter().map(|v| face.neutral[**v as usize].y).sum::<f32>() / most.len().max(1) as f32;
    (largest > LEAST).then_some(mean)
}

/// The mesh with one vertex for each point of its surface.
pub(super) struct Points {
    pub(super) of_vertex: Vec<u32>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// Points connected to the simulated skin.
    pub(super) hanging: Vec<u32>,
    pub(super) normals: Vec<Vec3>,
}

impl Points {
    fn new(face: &Scaled<'_>, moved: &[f32]) -> Self {
        let mut at: BTreeMap<[u32; 3], Vec<u32>> = BTreeMap::new();
        let mut of_vertex = Vec::with_capacity(face.neutral.len());
        for (vertex, p) in (0..).zip(&face.neutral) {
            let here = at.entry(p.to_array().map(f32::to_bits)).or_default();
            let same = here
                .iter()
                .find(|other| (moved[**other as usize] - moved[vertex as usize]).abs() < ALIKE)
                .copied();
            of_vertex.push(same.unwrap_or(vertex));
            if same.is_none() {
                here.push(vertex);
            }
        }
        let triangles: Vec<[u32; 3]> =
            face.face.triangles.iter().map(|t| t.map(|v| of_vertex[v as usize])).collect();
        let (parts, _) = connected_parts(of_vertex.len(), &triangles);
        let skin = face.face.skin.first().map(|v| parts[of_vertex[*v as usize] as usize]);
        let hanging = (0..of_vertex.len() as u32)
            .filter(|v| of_vertex[*v as usize] == *v && Some(parts[*v as usize]) == skin)
            .collect();
        Self { normals: vertex_normals(&face.neutral, &triangles), of_vertex, triangles, hanging }
    }
}

/// A point on the line between the lips.
#[derive(Clone, Copy)]
pub(super) struct Seed {
    pub(super) at: Vec3,
    /// The points of the lips that separate here.
    pub(super) upper: u32,
    pub(super) lower: u32,
    /// Direction towards the upper lip.
    pub(super) up: Vec3,
}

/// A part of the mouth with both lips.
#[derive(Clone, Debug)]
pub(crate) struct LipPart {
    /// Direction from the lower to the upper lip.
    pub(crate) axis: Vec3,
    /// Triangles of the upper and the lower lip, between points.
    pub(crate) triangles: [Vec<[u32; 3]>; 2],
}

/// Directions within this angle of each other count as one, as a cosine: 45°. Ours, as those below.
const ALONG: f32 = 0.7;
/// The direction at a point is averaged within this fraction of the height.
const SMOOTH: f32 = 0.06;
/// Parts overlap by this fraction of the height, so that no triangle is lost between them.
const OVERLAP: f32 = 0.02;

/// Splits the mouth into parts by direction; each new part starts at the seed least aligned with all parts so far.
fn parts(seeds: &[Seed], positions: &[Vec3], triangles: &[Vec<[u32; 3]>; 2]) -> Vec<LipPart> {
    let mean = |seeds: &mut dyn Iterator<Item = &Seed>| {
        seeds.map(|seed| seed.up).sum::<Vec3>().normalize_or(Vec3::Y)
    };
    let around =
        |at: Vec3| mean(&mut seeds.iter().filter(|seed| seed.at.distance_squared(at) < SMOOTH * SMOOTH));
    let directions: Vec<Vec3> = seeds.iter().map(|seed| around(seed.at)).collect();
    let mut axes = vec![mean(&mut seeds.iter())];
    let along = |axes: &[Vec3], direction: Vec3| {
        let nearest =
            (0..axes.len()).max_by(|a, b| axes[*a].dot(direction).total_cmp(&axes[*b].dot(direction)));
        nearest.map_or((0, 1.0), |part| (part, axes[part].dot(direction)))
    };
    const MOST_PARTS: usize = 6;
    while axes.len() < MOST_PARTS {
        let worst = directions.iter().min_by(|a, b| along(&axes, **a).1.total_cmp(&along(&axes, **b).1));
        match worst {
            Some(direction) if along(&axes, *direction).1 < ALONG => axes.push(*direction),
            _ => break,
        }
        // Each axis becomes the mean of the directions aligned with it.
        let of_seed: Vec<usize> = directions.iter().map(|direction| along(&axes, *direction).0).collect();
        for part in 0..axes.len() {
            let own = directions.iter().zip(&of_seed).filter(|(_, of)| **of == part);
            axes[part] = own.map(|(direction, _)| *direction).sum::<Vec3>().normalize_or(axes[part]);
        }
    }
    if axes.len() == 1 {
        return vec![LipPart { axis: axes[0], triangles: triangles.clone() }];
    }
    let of_seed: Vec<usize> = directions.iter().map(|direction| along(&axes, *direction).0).collect();
    let distance = |at: Vec3, part: usize| {
        let own = seeds.iter().zip(&of_seed).filter(|(_, of)| **of == part);
        own.map(|(seed, _)| seed.at.distance(at)).fold(f32::INFINITY, f32::min)
    };
    let part = |part: usize| {
        let is_near = |t: &&[u32; 3]| {
            let at = t.iter().map(|v| positions[*v as usize]).sum::<Vec3>() / 3.0;
            let nearest = (0..axes.len()).map(|other| distance(at, other)).fold(f32::INFINITY, f32::min);
            distance(at, part) < nearest + OVERLAP
        };
        let own = |side: &Vec<[u32; 3]>| side.iter().filter(is_near).copied().collect();
        LipPart { axis: axes[part], triangles: triangles.each_ref().map(own) }
    };
    (0..axes.len()).map(part).filter(|part| part.triangles.iter().all(|side| !side.is_empty())).collect()
}

fn seeds(face: &Scaled<'_>, points: &Points, moved: &[f32], largest: f32) -> Vec<Seed> {
    let cell = |p: Vec3| (p / CLOSE).floor().as_ivec3().to_array();
    let mut cells: BTreeMap<[i32; 3], Vec<u32>> = BTreeMap::new();
    for vertex in &points.hanging {
        cells.entry(cell(face.neutral[*vertex as usize])).or_default().push(*vertex);
    }
    let mut seeds = Vec::new();
    for a in points.hanging.iter().map(|v| *v as usize).filter(|v| moved[*v] >= 0.5 * largest) {
        let at = face.neutral[a];
        let [x, y, z] = cell(at);
        let around =
            (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [x + i, y + j, z + k])));
        let others = around.filter_map(|key| cells.get(&key)).flatten().map(|v| *v as usize);
        let parted = others
            .filter(|b| moved[a] - moved[*b] > PARTED * largest && face.neutral[*b].distance(at) < CLOSE);
        if let Some(b) =
            parted.min_by(|b, c| face.neutral[*b].distance(at).total_cmp(&face.neutral[*c].distance(at)))
        {
            seeds.push(Seed {
                at: 0.5 * (at + face.neutral[b]),
                upper: b as u32,
                lower: a as u32,
                up: points.normals[a] - points.normals[b],
            });
        }
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mouth along an arc, whose lips separate perpendicular to it.
    fn arc(angle: f32) -> Vec<LipPart> {
        let place = |k: usize| {
            let turn = angle * (k as f32 / 40.0 - 0.5);
            (0.3 * Vec3::new(turn.sin(), turn.cos() - 1.0, 0.0), Vec3::new(turn.sin(), turn.cos(), 0.0))
        };
        let seed = |k: usize| Seed { at: place(k).0, upper: 0, lower: 0, up: place(k).1 };
        let seeds: Vec<Seed> = (0..=40).map(seed).collect();
        let positions: Vec<Vec3> = (0..=40).flat_map(|k| [place(k).0, place(k).0 + 0.01 * Vec3::Z]).collect();
        let strip: Vec<[u32; 3]> = (0..80).map(|v| [v, v + 1, v + 2]).filter(|t| t[2] < 82).collect();
        parts(&seeds, &positions, &[strip.clone(), strip])
    }

    #[test]
    fn a_bent_mouth_has_parts_and_a_straight_one_is_whole() {
        let [straight, bent, round] = [0.3, 2.6, 5.0].map(arc);
        assert!(straight.len() == 1 && straight[0].axis.distance(Vec3::Y) < 1e-3);
        assert_eq!(straight[0].triangles[0].len(), 80);
        for mouth in [&bent, &round] {
            assert!(mouth.len() > 1);
            let covered: usize = mouth.iter().map(|part| part.triangles[0].len()).sum();
            assert!(covered >= 80, "parts overlap: {covered}");
        }
        assert!(bent.iter().any(|part| part.axis.x < -0.5) && bent.iter().any(|part| part.axis.x > 0.5));
    }
}
