//! Measures how cheeks swing with the head, and how soon they come to rest.

use glam::Vec3;

use crate::model::{FaceModel, Landmarks};

/// Distance of the cheeks from the plain rig, in mm at life size.
#[derive(Clone, Debug)]
pub struct Swing {
    scale: f32,
    vertices: Vec<u32>,
    widths: Vec<f32>,
}

impl Swing {
    /// The skin around both cheeks of a face; `scale` is [`life_mm`](super::life_mm).
    pub fn new(face: &FaceModel, places: &Landmarks, scale: f32) -> Self {
        let at = |vertex: u32| face.neutral[vertex as usize];
        let cheeks = ["cheek-left", "cheek-right"].map(|name| places.find(name));
        let is_cheek =
            |v: &u32| cheeks.iter().flatten().any(|place| at(*v).distance(at(place.vertex)) < place.radius);
        let vertices = face.skin.iter().copied().filter(is_cheek).collect();
        Self { scale, vertices, widths: Vec::new() }
    }

    /// Adds a frame.
    pub fn add(&mut self, plain: &[Vec3], shown: &[Vec3]) {
        let off = |v: &u32| plain[*v as usize].distance(shown[*v as usize]);
        self.widths.push(self.scale * self.vertices.iter().map(off).fold(0.0, f32::max));
    }

    /// The largest swing.
    pub fn widest(&self) -> f32 {
        self.widths.iter().copied().fold(0.0, f32::max)
    }

    /// The distance in a frame; in the last one if there are fewer.
    pub fn at(&self, frame: usize) -> f32 {
        self.widths.get(frame).or(self.widths.last()).copied().unwrap_or(0.0)
    }
}
