//! Where the lips are: close in space, yet parted when the jaw opens.

use std::collections::BTreeMap;

use glam::Vec3;
use zygoma_rig::arkit;

use crate::interactive::Face;

/// Lips at rest are closer to each other than this share of the face's height. Ours, as those below.
const CLOSE: f32 = 0.02;
/// What parts them differs by this share of the jaw's largest motion.
const PARTED: f32 = 0.4;
/// The lips reach this share of the height around the line between them.
const REACH: f32 = 0.05;

/// The two lips at full resolution.
#[derive(Clone, Debug, Default)]
pub(super) struct Lips {
    /// Vertices of the whole mesh: the upper lip's first, then the lower lip's.
    pub(super) vertices: Vec<u32>,
    /// How many belong to the upper lip.
    pub(super) upper: usize,
    /// Triangles of the upper and the lower lip, between places in `vertices`.
    pub(super) triangles: [Vec<[u32; 3]>; 2],
}

impl Lips {
    /// Finds the lips of a face; none where no shape opens the jaw.
    pub(super) fn find(face: &Face, jaw: &[usize]) -> Self {
        let is_open = |shape: &usize| {
            arkit::recognise(&face.shapes[*shape].name)
                .is_some_and(|recognised| recognised.shape == "jawOpen")
        };
        let Some(opens) = jaw.iter().copied().find(is_open).or(jaw.first().copied()) else {
            return Self::default();
        };
        let moved: Vec<f32> = face.displacements(opens).iter().map(|offset| offset.length()).collect();
        let largest = face.skin.iter().map(|v| moved[*v as usize]).fold(0.0, f32::max);
        let seeds = seeds(face, &moved, largest);
        let side = |vertex: u32| -> Option<bool> {
            let at = face.neutral[vertex as usize];
            let near = |seed: &Seed| (seed.at.distance_squared(at), seed.middle);
            let (distance, middle) = seeds.iter().map(near).min_by(|a, b| a.0.total_cmp(&b.0))?;
            (distance < REACH * REACH).then_some(moved[vertex as usize] > middle)
        };
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for vertex in &face.skin {
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
        for t in &face.triangles {
            let [a, b, c] = t.map(|v| place.get(&v).copied());
            if let (Some(a), Some(b), Some(c)) = (a, b, c) {
                let sides = [a, b, c].map(|v| v as usize >= count);
                if sides[0] == sides[1] && sides[1] == sides[2] {
                    triangles[usize::from(sides[0])].push([a, b, c]);
                }
            }
        }
        Self { vertices, upper: count, triangles }
    }
}

/// A place on the line between the lips.
struct Seed {
    at: Vec3,
    /// The jaw's motion half way between those of the lips here.
    middle: f32,
}

fn seeds(face: &Face, moved: &[f32], largest: f32) -> Vec<Seed> {
    let cell = |p: Vec3| (p / CLOSE).floor().as_ivec3().to_array();
    let mut cells: BTreeMap<[i32; 3], Vec<u32>> = BTreeMap::new();
    for vertex in &face.skin {
        cells.entry(cell(face.neutral[*vertex as usize])).or_default().push(*vertex);
    }
    let mut seeds = Vec::new();
    for a in face.skin.iter().map(|v| *v as usize).filter(|v| moved[*v] >= 0.5 * largest) {
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
            seeds.push(Seed { at: 0.5 * (at + face.neutral[b]), middle: 0.5 * (moved[a] + moved[b]) });
        }
    }
    seeds
}
