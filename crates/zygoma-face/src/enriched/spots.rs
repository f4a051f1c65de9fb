//! Materials around places of the skin: as they stand in `materials.toml`, and as a brush paints them.

use std::collections::HashMap;

use glam::DVec3;
use serde::{Deserialize, Serialize};
use zygoma_geometry::geodesic::{Source, nearest_sources};

use super::paint::{Coat, Stroke};
use crate::model::{FaceModel, Landmarks};

/// The neutral's name among the shapes.
pub const NEUTRAL: &str = "neutral";

/// Beyond so many radii nothing is left of a spot. Ours: less than 1/60,000 would be.
const REACH: f64 = 4.0;

/// Radii of spots, mm, and stiffness, kPa.
const RADII: std::ops::RangeInclusive<f64> = 0.1..=1e4;
const STIFFNESS: std::ops::RangeInclusive<f64> = 0.0..=1e3;

/// The content of a `materials.toml`: spots in the order in which they are painted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterialSpots {
    /// The spots.
    #[serde(default)]
    pub material: Vec<MaterialSpot>,
}

/// Material around a place of the skin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterialSpot {
    /// The shape whose material it is, or [`NEUTRAL`].
    pub shape: String,
    /// Its middle.
    pub at: SpotPlace,
    /// Distance along the skin at which half of it is left, mm.
    pub radius: f64,
    /// μ, kPa; none to leave it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu: Option<f64>,
    /// λ, kPa.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Whether it takes the paint of earlier spots away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erase: bool,
}

/// Where a spot is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SpotPlace {
    /// At a vertex of the skin's mesh.
    Vertex(u32),
    /// At a landmark.
    Landmark(String),
}

impl std::fmt::Display for SpotPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vertex(vertex) => write!(f, "vertex {vertex}"),
            Self::Landmark(name) => write!(f, "'{name}'"),
        }
    }
}

/// Why a spot cannot be painted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSpot {
    /// There is no such landmark.
    #[error("there is no place '{0}'; there are {1}")]
    Landmark(String, String),
    /// There is no such vertex.
    #[error("there is no vertex {0}; the skin has {1}")]
    Vertex(u32, usize),
    /// The radius is of no use.
    #[error("the radius at {0} is {1}, but must be from 0.1 to 10000 mm")]
    Radius(SpotPlace, f64),
    /// The stiffness is of no use.
    #[error("{0} at {1} is out of range: it is in kPa, from 0 to 1000")]
    Stiffness(&'static str, SpotPlace),
}

/// The skin of a face as a brush sees it: vertices that a file splits along a seam are one.
#[derive(Clone, Debug)]
pub struct Canvas {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// For each vertex the first one at its place.
    first: Vec<u32>,
}

impl Canvas {
    /// The skin of a face.
    pub fn new(face: &FaceModel) -> Self {
        // Closed lips may have the same place, but follow different parts of the coarse mesh.
        let mut known: HashMap<[[u32; 3]; 3], u32> = HashMap::new();
        let embedding = &face.embedding;
        let places = face.neutral.iter().zip(embedding.vertices.iter().zip(&embedding.weights));
        let first: Vec<u32> = (0..)
            .zip(places)
            .map(|(vertex, (at, (corners, weights)))| {
                let place = [at.to_array().map(f32::to_bits), *corners, weights.map(f32::to_bits)];
                *known.entry(place).or_insert(vertex)
            })
            .collect();
        Self {
            positions: face.neutral.iter().map(|p| p.as_dvec3()).collect(),
            triangles: face.triangles.iter().map(|t| t.map(|v| first[v as usize])).collect(),
            first,
        }
    }

    /// Paints a spot over what is there already.
    pub fn paint(
        &self,
        spot: &MaterialSpot,
        places: &Landmarks,
        strokes: &mut [Stroke],
    ) -> Result<(), BadSpot> {
        let middle = self.first[self.check(spot, places)? as usize];
        for (vertex, cover) in self.covered(middle, 1e-3 * spot.radius) {
            let Stroke { mu, lambda } = &mut strokes[vertex];
            if spot.erase {
                mu.cover *= 1.0 - cover;
                lambda.cover *= 1.0 - cover;
            } else {
                mu.paint(spot.mu, cover);
                lambda.paint(spot.lambda, cover);
            }
        }
        Ok(())
    }

    /// How much of a spot of some radius, mm, is at each vertex of the whole mesh, from 0 to 1.
    pub fn cover(&self, at: &SpotPlace, radius: f64, places: &Landmarks) -> Result<Vec<f64>, BadSpot> {
        let middle = self.first[self.middle(at, radius, places)? as usize];
        let mut cover = vec![0.0; self.positions.len()];
        for (vertex, own) in self.covered(middle, 1e-3 * radius) {
            cover[vertex] = own;
        }
        Ok(cover)
    }

    /// Checks a spot and finds the vertex of its middle.
    fn check(&self, spot: &MaterialSpot, places: &Landmarks) -> Result<u32, BadSpot> {
        for (name, value) in [("mu", spot.mu), ("lambda", spot.lambda)] {
            if value.is_some_and(|value| !STIFFNESS.contains(&value)) {
                return Err(BadSpot::Stiffness(name, spot.at.clone()));
            }
        }
        self.middle(&spot.at, spot.radius, places)
    }

    /// The vertex in the middle of a spot of some radius, mm.
    fn middle(&self, at: &SpotPlace, radius: f64, places: &Landmarks) -> Result<u32, BadSpot> {
        if !RADII.contains(&radius) {
            return Err(BadSpot::Radius(at.clone(), radius));
        }
        let count = self.positions.len();
        match at {
            SpotPlace::Vertex(vertex) if (*vertex as usize) < count => Ok(*vertex),
            SpotPlace::Vertex(vertex) => Err(BadSpot::Vertex(*vertex, count)),
            SpotPlace::Landmark(name) => match places.find(name) {
                Some(place) => Ok(place.vertex),
                None => {
                    let known: Vec<&str> = places.iter().map(|place| place.name.as_str()).collect();
                    Err(BadSpot::Landmark(name.clone(), known.join(", ")))
                }
            },
        }
    }

    /// The vertices around a middle, each with how much of a spot of some radius, m, is there.
    fn covered(&self, middle: u32, radius: f64) -> impl Iterator<Item = (usize, f64)> {
        let at = self.positions[middle as usize];
        // No path along the skin is shorter than the straight one.
        let is_near = |v: &u32| self.positions[*v as usize].distance(at) < REACH * radius;
        let near: Vec<[u32; 3]> = self.triangles.iter().filter(|t| t.iter().any(is_near)).copied().collect();
        let source = Source { vertex: middle, distance: 0.0, label: 0 };
        let along_skin = nearest_sources(&self.positions, &near, &[source]);
        self.first.iter().enumerate().filter_map(move |(vertex, first)| {
            let fraction = along_skin[*first as usize]?.distance / radius;
            (fraction < REACH).then(|| (vertex, 0.5_f64.powf(fraction * fraction)))
        })
    }
}

impl Coat {
    /// Covers it with a value, kPa, if there is one.
    fn paint(&mut self, value: Option<f64>, cover: f64) {
        let Some(value) = value else { return };
        let covered = cover + (1.0 - cover) * self.cover;
        let sum = cover * 1e3 * value + (1.0 - cover) * self.cover * self.value;
        *self = Self { value: sum / covered.max(f64::MIN_POSITIVE), cover: covered };
    }
}
