//! Transforms between the scene, the camera's frame and the picture.

use glam::{Mat3, Vec3};

use crate::camera::{Camera, Lens};

/// A camera made ready for a picture of a given size.
///
/// *View* coordinates have the eye at the origin, +X right, +Y up and −Z ahead. *Screen* coordinates have
/// their origin at the top left, +Y down, and a third coordinate, the nearness, that is affine over every
/// triangle on the screen and larger for nearer points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projection {
    to_view: Mat3,
    eye: Vec3,
    /// Scene length of one pixel at depth 1 (perspective) or at any depth (orthographic).
    scale: f32,
    half_width: f32,
    half_height: f32,
    perspective: bool,
    /// Nothing nearer than this depth is drawn.
    pub(crate) near: f32,
}

impl Projection {
    pub(crate) fn new(camera: &Camera, width: usize, height: usize) -> Self {
        let distance = (camera.eye - camera.target).length();
        let (perspective, extent, near) = match camera.lens {
            Lens::Perspective { angle } => (true, 2.0 * (0.5 * angle.to_radians()).tan(), 0.01 * distance),
            Lens::Orthographic { height } => (false, height, f32::NEG_INFINITY),
        };
        Self {
            to_view: camera.axes().transpose(),
            eye: camera.eye,
            scale: extent / height as f32,
            half_width: 0.5 * width as f32,
            half_height: 0.5 * height as f32,
            perspective,
            near,
        }
    }

    /// From scene to view coordinates.
    pub(crate) fn to_view(self, point: Vec3) -> Vec3 {
        self.to_view * (point - self.eye)
    }

    /// Rotates a direction from the scene to the view.
    pub(crate) fn direction_to_view(self, direction: Vec3) -> Vec3 {
        self.to_view * direction
    }

    /// Rotates a direction from the view to the scene.
    pub(crate) fn direction_to_scene(self, direction: Vec3) -> Vec3 {
        self.to_view.transpose() * direction
    }

    /// From view to scene coordinates.
    pub(crate) fn to_scene(self, view: Vec3) -> Vec3 {
        self.direction_to_scene(view) + self.eye
    }

    /// From view to screen coordinates.
    pub(crate) fn to_screen(self, view: Vec3) -> Vec3 {
        let depth = -view.z;
        let pixels = if self.perspective { 1.0 / (depth * self.scale) } else { 1.0 / self.scale };
        let nearness = if self.perspective { 1.0 / depth } else { -depth };
        Vec3::new(self.half_width + view.x * pixels, self.half_height - view.y * pixels, nearness)
    }

    /// Depth from nearness.
    pub(crate) fn depth(self, nearness: f32) -> f32 {
        if self.perspective { 1.0 / nearness } else { -nearness }
    }

    /// Length in the scene of one pixel at a depth.
    pub(crate) fn pixel_size(self, depth: f32) -> f32 {
        if self.perspective { self.scale * depth } else { self.scale }
    }

    /// The view position at a screen position and a depth.
    pub(crate) fn unproject(self, x: f32, y: f32, depth: f32) -> Vec3 {
        let size = self.pixel_size(depth);
        Vec3::new((x - self.half_width) * size, (self.half_height - y) * size, -depth)
    }

    /// Origin and direction, in view coordinates, of the ray through a screen position.
    pub(crate) fn ray(self, x: f32, y: f32) -> (Vec3, Vec3) {
        if self.perspective {
            (Vec3::ZERO, self.unproject(x, y, 1.0))
        } else {
            (self.unproject(x, y, 0.0), Vec3::NEG_Z)
        }
    }
}
