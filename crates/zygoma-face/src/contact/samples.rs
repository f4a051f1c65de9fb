//! Contact points on the full-resolution skin, and how a push there moves the body below it.

use std::collections::HashSet;

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use zygoma_geometry::embedding::Embedding;

use super::points::Layer;
use crate::model::FaceModel;

/// Points are at most this fraction of the height apart at rest, so that a fingertip does not sink in between: under one of 1 cm, skin
/// stretched to twice its length then sinks in by 0.15 % of the height. Ours.
const SPACING: f32 = 0.012;

/// Edges of the skin are divided into at most this many parts.
const MOST_PARTS: usize = 6;

/// Contact points of the skin.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    on_mesh: Vec<([u32; 3], [f32; 3])>,
    /// Skin area of each point.
    areas: Vec<f32>,
    /// End of each point's weights in `vertices`.
    ends: Vec<u32>,
    vertices: Vec<(u32, f32)>,
    /// End of each group of points, one group for each vertex of the shell that the points follow most: points are numbered in the order
    /// of these vertices.
    group_ends: Vec<u32>,
    /// Bounding radius of each group around its vertex at rest.
    bounding_radius: Vec<f32>,
    free: usize,
}

/// The skin of a face at full resolution, in a body's unit of length.
#[derive(Clone, Copy)]
pub(crate) struct SampledSkin<'a> {
    /// A vertex for each point of the simulated skin.
    pub(crate) skin: &'a [u32],
    pub(crate) triangles: &'a [[u32; 3]],
    pub(crate) neutral: &'a [Vec3],
    /// The face's height.
    pub(crate) height: f32,
}

impl<'a> SampledSkin<'a> {
    /// The skin of a face, in metres.
    pub(crate) fn of(face: &'a FaceModel) -> Self {
        Self {
            skin: &face.skin,
            triangles: &face.triangles,
            neutral: &face.neutral,
            height: face.height as f32,
        }
    }
}

/// The order in which a body stores the vertices of its skin; the first `free` of them can move.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    /// The vertices at rest, in the body's unit.
    pub(crate) rest: &'a [DVec3],
    /// Index of each vertex in that order.
    pub(crate) places: &'a [u32],
    /// Vertex at each index.
    pub(crate) vertices: &'a [u32],
    pub(crate) free: usize,
}

impl Samples {
    /// Samples a face whose whole mesh is embedded in the shell.
    pub(crate) fn new(face: &SampledSkin<'_>, embedding: &Embedding, order: &Order<'_>) -> Self {
        let mut points: Vec<([u32; 3], [f32; 3])> =
            face.skin.iter().map(|v| ([*v; 3], [1.0, 0.0, 0.0])).collect();
        let follows = |v: &u32| embedding.weights[*v as usize].iter().sum::<f32>() > 0.999;
        let mut areas = vec![0.0; points.len()];
        let mut edge_points = HashSet::new();
        let mut point_of = vec![u32::MAX; face.neutral.len()];
        for (point, vertex) in (0u32..).zip(face.skin) {
            point_of[*vertex as usize] = point;
        }
        for t in face.triangles.iter().filter(|t| t.iter().all(follows)) {
            let p = t.map(|v| face.neutral[v as usize]);
            let longest = (0..3).map(|i| p[i].distance(p[(i + 1) % 3])).fold(0.0, f32::max);
            let between =
                points_between(t, ((longest / (SPACING * face.height)).ceil() as usize).min(MOST_PARTS));
            let kept = between.filter(|(corners, weights)| {
                // An edge has the same points in both of its triangles.
                let on_edge = weights.iter().filter(|w| **w > 0.0).count() == 2;
                !on_edge || edge_points.insert(edge_key(corners, weights))
            });
            let start = points.len();
            points.extend(kept);
            let area = 0.5 * (p[1] - p[0]).cross(p[2] - p[0]).length();
            let fraction = area / (3 + points.len() - start) as f32;
            areas.resize(points.len(), fraction);
            for v in t {
                if let Some(area) = areas.get_mut(point_of[*v as usize] as usize) {
                    *area += fraction;
                }
            }
        }
        let follows: Vec<Vec<(u32, f32)>> =
            points.iter().map(|point| carriers(embedding, order, point)).collect();
        let most = |point: &usize| follows[*point].iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(v, _)| *v);
        let mut by_group: Vec<usize> = (0..points.len()).filter(|point| most(point).is_some()).collect();
        by_group.sort_by_key(most);
        let mut samples = Self {
            on_mesh: by_group.iter().map(|point| points[*point]).collect(),
            areas: by_group.iter().map(|point| areas[*point]).collect(),
            ends: Vec::with_capacity(by_group.len()),
            vertices: Vec::new(),
            group_ends: vec![0; order.vertices.len()],
            bounding_radius: vec![0.0; order.vertices.len()],
            free: order.free,
        };
        for point in &by_group {
            samples.vertices.extend(&follows[*point]);
            samples.ends.push(samples.vertices.len() as u32);
            let group = most(point).unwrap_or(0) as usize;
            let (corners, weights) = points[*point];
            let rest = order.rest[order.vertices[group] as usize].as_vec3();
            let at: Vec3 = (0..3).map(|i| weights[i] * face.neutral[corners[i] as usize]).sum();
            samples.bounding_radius[group] = samples.bounding_radius[group].max(at.distance(rest));
            samples.group_ends[group] += 1;
        }
        let mut end = 0;
        for group_end in &mut samples.group_ends {
            end += *group_end;
            *group_end = end;
        }
        samples
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.on_mesh.len()
    }

    /// The group of points that follow a vertex of the shell most, and its bounding radius at rest.
    pub(crate) fn group(&self, vertex: usize) -> (std::ops::Range<u32>, f32) {
        let start = if vertex == 0 { 0 } else { self.group_ends[vertex - 1] };
        (start..self.group_ends[vertex], self.bounding_radius[vertex])
    }

    /// Vertices of the shell that a point is embedded in, with their weights.
    pub(crate) fn follows(&self, sample: u32) -> &[(u32, f32)] {
        let start = if sample == 0 { 0 } else { self.ends[sample as usize - 1] };
        &self.vertices[start as usize..self.ends[sample as usize] as usize]
    }

    /// A vertex of the whole mesh at or next to a point.
    pub(crate) fn vertex(&self, sample: u32) -> u32 {
        self.on_mesh[sample as usize].0[0]
    }

    /// Skin area of a point, in the body's unit.
    pub(crate) fn area(&self, sample: u32) -> f32 {
        self.areas[sample as usize]
    }

    /// A point on a surface of the whole mesh.
    pub(crate) fn on_mesh(&self, sample: u32, surface: &[Vec3]) -> Vec3 {
        let (corners, weights) = self.on_mesh[sample as usize];
        (0..3).map(|i| weights[i] * surface[corners[i] as usize]).sum()
    }

    /// The part of a point's position that does not come from the shell's positions: neutral, detail and residual.
    pub(crate) fn offset(&self, sample: u32, layer: &Layer<'_>, per_metre: f32, rest: &[Vec4]) -> Vec3 {
        let at = self.on_mesh(sample, layer.base);
        let shell: Vec4 = self
            .follows(sample)
            .iter()
            .map(|(v, w)| *w * (layer.residual[*v as usize] - rest[*v as usize]))
            .sum();
        per_metre * at + shell.xyz()
    }

    /// The shell's contribution to a point's position.
    pub(crate) fn carried(&self, sample: u32, positions: &[Vec4]) -> Vec3 {
        self.follows(sample).iter().map(|(v, w)| *w * positions[*v as usize]).sum::<Vec4>().xyz()
    }

    /// Those of them that are free to move.
    pub(crate) fn follows_freely(&self, sample: u32) -> impl Iterator<Item = &(u32, f32)> {
        self.follows(sample).iter().filter(|(vertex, _)| (*vertex as usize) < self.free)
    }
}

/// Vertices of the shell, in step order, that a point of the mesh is embedded in, with their weights.
fn carriers(
    embedding: &Embedding,
    order: &Order<'_>,
    (corners, weights): &([u32; 3], [f32; 3]),
) -> Vec<(u32, f32)> {
    let mut carriers: Vec<(u32, f32)> = Vec::new();
    for i in (0..3).filter(|i| weights[*i] > 0.0) {
        let corner = corners[i] as usize;
        for k in (0..3).filter(|k| embedding.weights[corner][*k] > 0.0) {
            let place = order.places[embedding.vertices[corner][k] as usize];
            let weight = weights[i] * embedding.weights[corner][k];
            match carriers.iter_mut().find(|(v, _)| *v == place) {
                Some((_, sum)) => *sum += weight,
                None => carriers.push((place, weight)),
            }
        }
    }
    carriers
}

/// Grid points of a triangle with `parts` intervals per side, without its corners.
fn points_between(t: &[u32; 3], parts: usize) -> impl Iterator<Item = ([u32; 3], [f32; 3])> {
    let part = 1.0 / parts.max(1) as f32;
    let inner = move |i: usize, j: usize| [i, j, parts - i - j].iter().all(|fraction| *fraction < parts);
    let rows = (0..=parts).flat_map(move |i| (0..=parts - i).map(move |j| (i, j)));
    let corners = *t;
    rows.filter(move |(i, j)| inner(*i, *j))
        .map(move |(i, j)| (corners, [i as f32 * part, j as f32 * part, (parts - i - j) as f32 * part]))
}

/// A key for a point on an edge, the same from both of its triangles.
fn edge_key(corners: &[u32; 3], weights: &[f32; 3]) -> [u32; 3] {
    let mut ends = [0, 1, 2].map(|i| (corners[i], weights[i]));
    ends.sort_by(|a, b| b.1.min(1e-6).total_cmp(&a.1.min(1e-6)).then(a.0.cmp(&b.0)));
    [ends[0].0, ends[1].0, (1000.0 * ends[0].1).round() as u32]
}
