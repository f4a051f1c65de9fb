//! Free parts such as antennae, tentacles and long ears: they follow no shape and no bone, and swing.

use std::collections::BTreeMap;

use glam::DVec3;
use zygoma_geometry::geodesic::{Source, nearest_sources};
use zygoma_geometry::topology::{DisjointSets, half_edges};

use zygoma_rig::{Region, RigMesh, arkit};

use crate::model::{FaceModel, Landmark, Landmarks};

/// Skin that no shape moves by more than this fraction of the largest displacement is passive. Ours, as those below.
const STILL: f32 = 0.01;
/// A part stands out if its length is this many times the girth of its root. An ear on a human head has 0.3, a tentacle 2.
const STANDING: f64 = 1.0;
/// Parts shorter than this fraction of the face's height are ignored.
const SHORTEST: f64 = 0.1;
/// The root is where the ratio of length to girth reaches this fraction of its maximum.
const SLENDER: f64 = 0.9;
/// Number of levels of distance from the face that are tried for a root.
const LEVELS: usize = 60;

/// A part of a face that no bone and no muscle holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreePart {
    /// Its name, for people.
    pub name: String,
    /// Its vertices in the whole mesh, ascending.
    pub vertices: Vec<u32>,
}

/// A name of no part of a face.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: there is no such part; known are {}, or 'none'", known.join(", "))]
pub struct UnknownPart {
    /// The name that was given.
    pub name: String,
    /// Names of all parts.
    pub known: Vec<String>,
}

impl FreePart {
    /// Flags the vertices of the parts, among `count` vertices of the whole mesh.
    pub fn flags(parts: &[Self], count: usize) -> Vec<bool> {
        let mut flags = vec![false; count];
        for vertex in parts.iter().flat_map(|part| &part.vertices) {
            if let Some(flag) = flags.get_mut(*vertex as usize) {
                *flag = true;
            }
        }
        flags
    }

    /// Finds the parts of a face that no shape moves and that are longer than their girth, in the order of their tips' vertices.
    pub fn find(face: &FaceModel) -> Vec<Self> {
        ProtrudingPart::find(face)
            .into_iter()
            .map(|part| Self { name: part.to_string(), vertices: part.vertices })
            .collect()
    }

    /// The parts with some names, which are those of regions of the skin or of landmarks, or the beginning of these; `none` is no part.
    pub fn named(face: &FaceModel, skin: &RigMesh, names: &[String]) -> Result<Vec<Self>, UnknownPart> {
        let landmarks = Landmarks::new(face);
        let mut parts = Vec::new();
        for name in names.iter().filter(|name| !name.eq_ignore_ascii_case("none")) {
            let key = arkit::key(name);
            let regions = skin.regions.iter().filter(|region| arkit::key(&region.name) == key);
            let mut found: Vec<Self> = regions.map(Self::of_region).collect();
            if found.is_empty() && !key.is_empty() {
                let named = landmarks.iter().filter(|landmark| arkit::key(&landmark.name).starts_with(&key));
                found = named.map(|landmark| Self::around(face, landmark)).collect();
            }
            if found.is_empty() {
                let regions = skin.regions.iter().map(|region| region.name.clone());
                let known = regions.chain(landmarks.iter().map(|landmark| landmark.name.clone()));
                return Err(UnknownPart { name: name.clone(), known: known.collect() });
            }
            parts.extend(found);
        }
        Ok(parts)
    }

    fn of_region(region: &Region) -> Self {
        let vertices = region.vertices.clone().map(|v| v as u32).collect();
        Self { name: format!("the region '{}'", region.name), vertices }
    }

    /// The skin within a landmark's radius of its vertex.
    fn around(face: &FaceModel, landmark: &Landmark) -> Self {
        let corners = face.embedding.vertices[landmark.vertex as usize];
        let weights = face.embedding.weights[landmark.vertex as usize];
        let start = (0..3).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).map_or(0, |k| corners[k]);
        let sources = [Source { vertex: start, distance: 0.0, label: 0 }];
        let radius = f64::from(landmark.radius);
        let near = nearest_sources(&face.coarse.positions, &face.coarse.triangles, &sources);
        let inside: Vec<bool> =
            near.iter().map(|near| near.is_some_and(|near| near.distance <= radius)).collect();
        Self { name: format!("the {}", landmark.name), vertices: carried_by(face, &inside) }
    }
}

/// A part that stands out from a face and that no shape moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProtrudingPart {
    pub(crate) vertices: Vec<u32>,
    /// Length from root to tip along the skin, m.
    pub(crate) length: f64,
    /// Girth of the root, m.
    pub(crate) girth: f64,
    /// Its tip at rest, m.
    pub(crate) tip: DVec3,
}

impl std::fmt::Display for ProtrudingPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [length, x, y, z] = [self.length, self.tip.x, self.tip.y, self.tip.z].map(|m| 1e3 * m);
        write!(f, "a part of {length:.0} mm that stands out at ({x:.0}, {y:.0}, {z:.0}) mm")
    }
}

impl ProtrudingPart {
    pub(crate) fn find(face: &FaceModel) -> Vec<Self> {
        let away = distance_from_motion(face);
        let farthest = away.iter().copied().filter(|d| d.is_finite()).fold(0.0, f64::max);
        // Slenderness of the skin beyond each level, by its tip.
        let mut chains: BTreeMap<u32, Vec<Beyond>> = BTreeMap::new();
        for step in 1..LEVELS {
            let level = farthest * step as f64 / LEVELS as f64;
            for beyond in Beyond::all(face, &away, level) {
                chains.entry(beyond.tip).or_default().push(beyond);
            }
        }
        let root = |chain: &Vec<Beyond>| {
            let most = chain.iter().map(Beyond::slenderness).fold(0.0, f64::max);
            let root = chain.iter().find(|beyond| beyond.slenderness() >= SLENDER * most)?;
            (most >= STANDING && root.length >= SHORTEST * face.height).then(|| root.clone())
        };
        let part = |beyond: Beyond| Self {
            vertices: carried_by(face, &beyond.vertices),
            length: beyond.length,
            girth: beyond.girth,
            tip: face.coarse.positions[beyond.tip as usize],
        };
        chains.values().filter_map(root).map(part).collect()
    }
}

/// A connected component of the shell whose distance from all motion exceeds some level.
#[derive(Clone, Debug)]
struct Beyond {
    vertices: Vec<bool>,
    tip: u32,
    length: f64,
    girth: f64,
}

impl Beyond {
    fn slenderness(&self) -> f64 {
        if self.girth > 0.0 { self.length / self.girth } else { 0.0 }
    }

    fn all(face: &FaceModel, away: &[f64], level: f64) -> Vec<Self> {
        let (rest, triangles) = (&face.coarse.positions, &face.coarse.triangles);
        let is_beyond = |v: u32| away[v as usize] > level && away[v as usize].is_finite();
        let mut sets = DisjointSets::new(away.len());
        for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
            if is_beyond(a) && is_beyond(b) {
                sets.join(a, b);
            }
        }
        let mut found: BTreeMap<u32, Self> = BTreeMap::new();
        for v in (0..away.len() as u32).filter(|v| is_beyond(*v)) {
            let part = found.entry(sets.find(v)).or_insert_with(|| Self {
                vertices: vec![false; away.len()],
                tip: v,
                length: 0.0,
                girth: 0.0,
            });
            part.vertices[v as usize] = true;
            if away[v as usize] > away[part.tip as usize] {
                part.tip = v;
            }
        }
        // Length of the iso-line of the distance at this level, triangle by triangle.
        for t in triangles {
            let Some(inside) = t.iter().find(|v| is_beyond(**v)) else { continue };
            let crossings: Vec<DVec3> = half_edges(*t)
                .iter()
                .filter(|(a, b)| is_beyond(*a) != is_beyond(*b))
                .map(|(a, b)| {
                    let [from, to] = [away[*a as usize], away[*b as usize]];
                    let fraction = ((level - from) / (to - from)).clamp(0.0, 1.0);
                    rest[*a as usize]
                        .lerp(rest[*b as usize], if fraction.is_finite() { fraction } else { 0.5 })
                })
                .collect();
            if let ([a, b], Some(part)) = (&crossings[..], found.get_mut(&sets.find(*inside))) {
                part.girth += a.distance(*b);
            }
        }
        for part in found.values_mut() {
            part.length = away[part.tip as usize] - level;
        }
        found.into_values().collect()
    }
}

/// Geodesic distance of each vertex of the shell from skin that a shape moves or that is held.
fn distance_from_motion(face: &FaceModel) -> Vec<f64> {
    let count = face.coarse.vertex_count();
    let mut most = vec![0.0_f32; count];
    for shape in &face.shapes {
        for (v, offset) in shape.coarse.iter() {
            most[v as usize] = most[v as usize].max(offset.length());
        }
    }
    let largest = most.iter().copied().fold(0.0, f32::max);
    let moves = |v: &usize| most[*v] > STILL * largest || face.coarse.is_held[*v];
    let sources: Vec<Source> = (0..count)
        .filter(moves)
        .map(|v| Source { vertex: v as u32, distance: 0.0, label: v as u32 })
        .collect();
    let nearest = nearest_sources(&face.coarse.positions, &face.coarse.triangles, &sources);
    nearest.iter().map(|near| near.as_ref().map_or(f64::INFINITY, |near| near.distance)).collect()
}

/// Vertices of the whole mesh that are embedded only in these vertices of the shell.
fn carried_by(face: &FaceModel, shell: &[bool]) -> Vec<u32> {
    let follows = |vertex: usize| {
        let (corners, weights) = (face.embedding.vertices[vertex], face.embedding.weights[vertex]);
        let mut carriers = (0..3).filter(|k| weights[*k] > 0.0).peekable();
        carriers.peek().is_some() && carriers.all(|k| shell[corners[k] as usize])
    };
    (0..face.vertex_count()).filter(|v| follows(*v)).map(|v| v as u32).collect()
}
