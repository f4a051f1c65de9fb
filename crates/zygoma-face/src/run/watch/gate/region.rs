//! Connectivity of vertices, and the region near the lips.

use std::collections::HashMap;

use glam::{DVec3, Vec3};
use zygoma_geometry::geodesic::{Source, nearest_sources};

use crate::model::{FaceModel, Landmarks};
use crate::run::watch::crossings::points;

/// Around returned vertices, the blend weight fades out over this fraction of the height: 12 mm on a life-size head. Ours.
const FADE: f64 = 0.05;

/// Skin within this fraction of the height around the mouth is near the lips, including beyond the mouth's corners: 15 mm at life size.
/// Ours.
const LIPS: f32 = 0.06;

/// Neighbours along the skin, across seams of the file.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    points: Vec<u32>,
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    fade: f64,
    /// Neighbours of each vertex, and where each list begins.
    around: Vec<u32>,
    starts: Vec<u32>,
}

impl Surroundings {
    pub(super) fn new(neutral: &[Vec3], triangles: &[[u32; 3]], height: f64) -> Self {
        let points = points(neutral);
        let welded: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| points[v as usize])).collect();
        let mut copies: HashMap<u32, Vec<u32>> = HashMap::new();
        (0u32..).zip(&points).for_each(|(vertex, point)| copies.entry(*point).or_default().push(vertex));
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for t in &welded {
            for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                pairs.extend([(a, b), (b, a)]);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let first = |point: u32| pairs.partition_point(|pair| pair.0 < point);
        let (mut around, mut starts) = (Vec::new(), vec![0]);
        for point in &points {
            let of_point = pairs[first(*point)..first(*point + 1)].iter().map(|pair| pair.1);
            let with_itself = of_point.chain(std::iter::once(*point));
            around.extend(with_itself.flat_map(|next| copies[&next].iter().copied()));
            starts.push(around.len() as u32);
        }
        let positions = neutral.iter().map(|p| p.as_dvec3()).collect();
        Self { points, positions, triangles: welded, fade: FADE * height, around, starts }
    }

    /// Visits a vertex' neighbours, and the other vertices at its position.
    pub(super) fn visit(&self, vertex: u32, visit: &mut dyn FnMut(u32)) {
        let range = self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize;
        self.around[range].iter().for_each(|next| visit(*next));
    }

    /// Raises weights to 1 at some vertices, with a smooth falloff around them.
    pub(super) fn spread(&self, seeds: &[u32], fractions: &mut [f32]) {
        let mut starts: Vec<u32> = seeds.iter().map(|v| self.points[*v as usize]).collect();
        starts.sort_unstable();
        starts.dedup();
        let sources: Vec<Source> =
            starts.iter().map(|point| Source { vertex: *point, distance: 0.0, label: 0 }).collect();
        let found = nearest_sources(&self.positions, &self.triangles, &sources);
        for (fraction, point) in fractions.iter_mut().zip(&self.points) {
            let Some(nearest) = found[*point as usize] else { continue };
            let near = (1.0 - nearest.distance / self.fade).max(0.0) as f32;
            *fraction = fraction.max(near * near * (3.0 - 2.0 * near));
        }
    }
}

/// Triangles of the skin near the lips, and their vertices. Empty where no mouth was found.
pub(super) fn near_lips(face: &FaceModel, places: &Landmarks, neutral: &[Vec3]) -> (Vec<[u32; 3]>, Vec<u32>) {
    let names = ["mouth-left", "mouth-right", "lip-upper", "lip-lower"];
    let mouth: Vec<Vec3> = names
        .iter()
        .filter_map(|name| places.find(name))
        .map(|place| neutral[place.vertex as usize])
        .collect();
    if mouth.is_empty() {
        return Default::default();
    }
    let margin = Vec3::splat(LIPS * face.height as f32);
    let low = mouth.iter().copied().fold(Vec3::MAX, Vec3::min) - margin;
    let high = mouth.iter().copied().fold(Vec3::MIN, Vec3::max) + margin;
    let follows = |v: &u32| face.embedding.weights[*v as usize].iter().sum::<f32>() > 0.0;
    let is_near = |v: &u32| {
        let p = neutral[*v as usize];
        p.cmpge(low).all() && p.cmple(high).all()
    };
    let near = |t: &&[u32; 3]| t.iter().all(is_near) && t.iter().any(follows);
    let triangles: Vec<[u32; 3]> = face.triangles.iter().filter(near).copied().collect();
    let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
    vertices.sort_unstable();
    vertices.dedup();
    (triangles, vertices)
}
