//! Points in single and double precision.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

use glam::{DVec3, Vec3};

use crate::closest::closest_on_triangle;

/// A coordinate: `f32` or `f64`.
pub trait Scalar:
    Copy
    + Debug
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Nothing.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Beyond every number.
    const INFINITY: Self;
    /// Barycentric weights up to this are those of an edge or corner: closest points come clamped to them, but for rounding.
    const ON_EDGE: Self;

    /// From double precision.
    fn from_f64(value: f64) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self;
    /// Less, equal or greater, with an order for NaN.
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering;
    /// The angle whose cosine this is; values beyond ±1 are clamped.
    fn angle(self) -> Self;
}

/// A point or vector in space: [`Vec3`] where it runs per frame, [`DVec3`] where something is fitted.
pub trait Point:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<Self::Scalar, Output = Self>
    + Sum
{
    /// Its coordinates.
    type Scalar: Scalar;
    /// The origin.
    const ZERO: Self;
    /// +Z.
    const Z: Self;
    /// Below every point in every coordinate.
    const LOWEST: Self;
    /// Above every point in every coordinate.
    const HIGHEST: Self;

    /// A coordinate: x, y or z for 0, 1 or 2.
    fn coordinate(self, axis: usize) -> Self::Scalar;
    /// Whether every coordinate is a finite number.
    fn is_finite(self) -> bool;
    /// The smaller coordinates of two points.
    fn min(self, other: Self) -> Self;
    /// The larger coordinates of two points.
    fn max(self, other: Self) -> Self;
    /// The axis of the largest coordinate.
    fn longest_axis(self) -> usize;
    /// The smallest coordinate.
    fn min_element(self) -> Self::Scalar;
    /// The largest coordinate.
    fn max_element(self) -> Self::Scalar;
    /// The inverse of each coordinate.
    fn recip(self) -> Self;
    /// The scalar product.
    fn dot(self, other: Self) -> Self::Scalar;
    /// The vector product.
    fn cross(self, other: Self) -> Self;
    /// The length.
    fn length(self) -> Self::Scalar;
    /// The unit vector in this direction, or nothing for the zero vector.
    fn try_normalize(self) -> Option<Self>;
    /// The mean of three points.
    fn centre(corners: [Self; 3]) -> Self;
    /// Barycentric coordinates of the point of a triangle closest to this one, found in double precision.
    fn closest_on_triangle(self, corners: [Self; 3]) -> [Self::Scalar; 3];
}

macro_rules! point {
    ($point:ty, $scalar:ty, $on_edge:expr) => {
        impl Scalar for $scalar {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = <$scalar>::INFINITY;
            const ON_EDGE: Self = $on_edge;

            fn from_f64(value: f64) -> Self {
                value as $scalar
            }
            fn max(self, other: Self) -> Self {
                <$scalar>::max(self, other)
            }
            fn min(self, other: Self) -> Self {
                <$scalar>::min(self, other)
            }
            fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
                <$scalar>::total_cmp(self, other)
            }
            fn angle(self) -> Self {
                self.clamp(-1.0, 1.0).acos()
            }
        }

        impl Point for $point {
            type Scalar = $scalar;
            const ZERO: Self = <$point>::ZERO;
            const Z: Self = <$point>::Z;
            const LOWEST: Self = <$point>::MIN;
            const HIGHEST: Self = <$point>::MAX;

            fn coordinate(self, axis: usize) -> $scalar {
                self[axis]
            }
            fn is_finite(self) -> bool {
                <$point>::is_finite(self)
            }
            fn min(self, other: Self) -> Self {
                <$point>::min(self, other)
            }
            fn max(self, other: Self) -> Self {
                <$point>::max(self, other)
            }
            fn longest_axis(self) -> usize {
                self.max_position()
            }
            fn min_element(self) -> $scalar {
                <$point>::min_element(self)
            }
            fn max_element(self) -> $scalar {
                <$point>::max_element(self)
            }
            fn recip(self) -> Self {
                <$point>::recip(self)
            }
            fn dot(self, other: Self) -> $scalar {
                <$point>::dot(self, other)
            }
            fn cross(self, other: Self) -> Self {
                <$point>::cross(self, other)
            }
            fn length(self) -> $scalar {
                <$point>::length(self)
            }
            fn try_normalize(self) -> Option<Self> {
                <$point>::try_normalize(self)
            }
            fn centre(corners: [Self; 3]) -> Self {
                corners.into_iter().sum::<$point>() / 3.0
            }
            fn closest_on_triangle(self, corners: [Self; 3]) -> [$scalar; 3] {
                let wide = |p: $point| DVec3::new(f64::from(p.x), f64::from(p.y), f64::from(p.z));
                closest_on_triangle(wide(self), corners.map(wide)).map(|weight| weight as $scalar)
            }
        }
    };
}
point!(Vec3, f32, 1e-6);
point!(DVec3, f64, 1e-12);
