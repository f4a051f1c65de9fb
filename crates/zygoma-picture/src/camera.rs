//! Cameras and views.

use glam::{Mat3, Vec3};

/// The smallest axis-aligned box around something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The corner with the smallest coordinates.
    pub low: Vec3,
    /// The corner with the largest coordinates.
    pub high: Vec3,
}

impl Bounds {
    /// The box around all finite points, or `None` where there is none.
    pub fn of(points: impl IntoIterator<Item = Vec3>) -> Option<Self> {
        let finite = points.into_iter().filter(|point| point.is_finite());
        finite.map(|point| Self { low: point, high: point }).reduce(|a, b| a.union(&b))
    }

    /// The box around two boxes.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The middle of the box.
    pub fn centre(&self) -> Vec3 {
        0.5 * (self.low + self.high)
    }

    /// Length of the diagonal.
    pub fn diagonal(&self) -> f32 {
        (self.high - self.low).length()
    }

    /// The eight corners.
    pub fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            let side = |bit: usize, low: f32, high: f32| if i >> bit & 1 == 0 { low } else { high };
            Vec3::new(
                side(0, self.low.x, self.high.x),
                side(1, self.low.y, self.high.y),
                side(2, self.low.z, self.high.z),
            )
        })
    }
}

/// A direction to look from, for a face towards +Z with +Y up and its left at +X.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Degrees around +Y, from the front (0) towards the face's left side (90).
    pub yaw: f32,
    /// Degrees above the horizon; negative from below.
    pub pitch: f32,
}

impl View {
    /// Straight at the face.
    pub const FRONT: Self = Self { yaw: 0.0, pitch: 0.0 };
    /// Between the front and the face's left side.
    pub const THREE_QUARTER: Self = Self { yaw: 38.0, pitch: 4.0 };
    /// Between the front and the face's right side.
    pub const THREE_QUARTER_RIGHT: Self = Self { yaw: -38.0, pitch: 4.0 };
    /// The face's left side.
    pub const SIDE: Self = Self { yaw: 90.0, pitch: 0.0 };
    /// From below the chin.
    pub const BELOW: Self = Self { yaw: 0.0, pitch: -42.0 };
    /// From behind.
    pub const BACK: Self = Self { yaw: 180.0, pitch: 0.0 };

    /// Unit vector from the target towards the eye.
    pub fn direction(&self) -> Vec3 {
        let (yaw, pitch) = (self.yaw.to_radians(), self.pitch.to_radians());
        Vec3::new(yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos())
    }
}

/// The projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Distant objects look smaller.
    Perspective {
        /// Vertical angle of view in degrees.
        angle: f32,
    },
    /// Objects look equally large at any distance.
    Orthographic {
        /// Height of the picture, in scene units.
        height: f32,
    },
}

/// An eye, its target, and its projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where the eye is.
    pub eye: Vec3,
    /// The point at the centre of the picture.
    pub target: Vec3,
    /// The up direction of the picture.
    pub up: Vec3,
    /// The projection.
    pub lens: Lens,
}

/// Vertical angle of a portrait lens: small enough to keep noses in proportion.
const ANGLE: f32 = 30.0;
/// Share of the picture that the framed box fills at most.
const FILL: f32 = 0.90;

impl Camera {
    /// A perspective camera that frames `bounds` from `view`.
    /// `aspect` is the picture's width over its height.
    pub fn framing(view: View, bounds: &Bounds, aspect: f32) -> Self {
        Self::framing_points(view, &bounds.corners(), aspect)
    }

    /// A perspective camera that frames all finite `points` from `view`: tighter
    /// than [`framing`](Self::framing), since heads are rounder than boxes.
    pub fn framing_points(view: View, points: &[Vec3], aspect: f32) -> Self {
        let tangent = FILL * (0.5 * ANGLE.to_radians()).tan();
        let backward = view.direction();
        let axes = look_axes(backward, Vec3::Y);
        let finite = || points.iter().copied().filter(|point| point.is_finite());
        let mut target = Bounds::of(finite()).map_or(Vec3::ZERO, |bounds| bounds.centre());
        let mut distance = 0.0_f32;
        // Perspective shifts the outline from the centre of the points: fit, centre, and fit again.
        for _ in 0..4 {
            let seen = || finite().map(|point| axes.transpose() * (point - target));
            let need = |p: Vec3| p.z + (p.y.abs() / tangent).max(p.x.abs() / (tangent * aspect));
            distance = seen().map(need).fold(0.0, f32::max);
            let slopes = seen().map(|p| (p / (distance - p.z).max(f32::MIN_POSITIVE)).with_z(0.0));
            let shift = Bounds::of(slopes).map_or(Vec3::ZERO, |slopes| slopes.centre() * distance);
            target += axes * shift;
        }
        let distance = if distance.is_finite() && distance > 0.0 { distance } else { 1.0 };
        let lens = Lens::Perspective { angle: ANGLE };
        Self { eye: target + backward * distance, target, up: Vec3::Y, lens }
    }

    /// An orthographic camera that frames `bounds` from `view`.
    pub fn framing_orthographic(view: View, bounds: &Bounds, aspect: f32) -> Self {
        let backward = view.direction();
        let target = bounds.centre();
        let axes = look_axes(backward, Vec3::Y);
        let corners = bounds.corners().map(|corner| axes.transpose() * (corner - target));
        let half = corners.iter().map(|c| c.y.abs().max(c.x.abs() / aspect)).fold(0.0, f32::max);
        let distance = bounds.diagonal().max(f32::MIN_POSITIVE);
        let lens = Lens::Orthographic { height: (2.0 * half / FILL).max(f32::MIN_POSITIVE) };
        Self { eye: target + backward * distance, target, up: Vec3::Y, lens }
    }

    /// Columns: the picture's right, up and backward directions in the scene.
    pub(crate) fn axes(&self) -> Mat3 {
        look_axes(self.eye - self.target, self.up)
    }
}

/// Right, up and backward unit vectors; any `up` works, even one along the view.
fn look_axes(backward: Vec3, up: Vec3) -> Mat3 {
    let backward = backward.try_normalize().unwrap_or(Vec3::Z);
    let right = up.cross(backward).try_normalize().unwrap_or_else(|| backward.any_orthonormal_vector());
    Mat3::from_cols(right, backward.cross(right), backward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Projection;

    #[test]
    fn framing_keeps_every_corner_inside_and_touches_the_margin() {
        let bounds = Bounds { low: Vec3::new(-0.1, 1.4, -0.12), high: Vec3::new(0.1, 1.75, 0.1) };
        for view in [View::FRONT, View::THREE_QUARTER, View::SIDE, View::BELOW, View::BACK] {
            for aspect in [0.7, 1.0, 1.8] {
                for camera in [
                    Camera::framing(view, &bounds, aspect),
                    Camera::framing_orthographic(view, &bounds, aspect),
                ] {
                    let height = 500.0;
                    let projection = Projection::new(&camera, (height * aspect) as usize, height as usize);
                    let half = glam::Vec2::new(0.5 * height * aspect, 0.5 * height);
                    let reach = bounds.corners().map(|corner| {
                        let seen = projection.to_screen(projection.to_view(corner));
                        ((seen.truncate() - half) / half).abs().max_element()
                    });
                    let most = reach.into_iter().fold(0.0, f32::max);
                    assert!((0.8..0.93).contains(&most), "{view:?} {aspect}: {most}");
                }
            }
        }
    }

    #[test]
    fn the_faces_left_is_right_in_the_front_view() {
        let bounds = Bounds { low: Vec3::NEG_ONE, high: Vec3::ONE };
        let projection = Projection::new(&Camera::framing(View::FRONT, &bounds, 1.0), 100, 100);
        let seen = projection.to_screen(projection.to_view(Vec3::new(0.5, 0.5, 0.0)));
        assert!(seen.x > 50.0 && seen.y < 50.0);
    }

    #[test]
    fn bounds_ignore_what_is_not_finite() {
        let points = [Vec3::NAN, Vec3::ONE, Vec3::new(f32::INFINITY, 0.0, 0.0), Vec3::ZERO];
        assert_eq!(Bounds::of(points), Some(Bounds { low: Vec3::ZERO, high: Vec3::ONE }));
        assert_eq!(Bounds::of([Vec3::NAN]), None);
    }
}
