//! Colour maps for quantities.
//!
//! Maps run through a few control points of our own in OKLab, where equal steps look equally large, joined by
//! monotone cubics: lightness is monotone within an arm of a map, so more is always lighter (or darker).

use glam::Vec3;

use crate::Rgb;
use crate::color::{linear_from_oklab, oklab_from_linear, to_linear, to_srgb};

/// The colour of a NaN.
pub const UNKNOWN: Rgb = [0.55, 0.55, 0.55];

/// A range of colours from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMap {
    /// From dark violet through teal to light yellow: sizes, errors, distances.
    Sequential,
    /// From blue through near white to red: signed quantities around the middle.
    Diverging,
    /// From near white to dark red, for values that should stand out against skin-like white.
    Heat,
}

/// Lightness, chroma, and hue in degrees.
type Lch = [f32; 3];

const SEQUENTIAL: [Lch; 6] = [
    [0.24, 0.11, 300.0],
    [0.38, 0.12, 274.0],
    [0.52, 0.10, 230.0],
    [0.66, 0.115, 175.0],
    [0.80, 0.155, 135.0],
    [0.93, 0.165, 105.0],
];
const DIVERGING: [Lch; 7] = [
    [0.36, 0.135, 262.0],
    [0.55, 0.13, 252.0],
    [0.77, 0.075, 238.0],
    [0.965, 0.003, 90.0],
    [0.78, 0.085, 42.0],
    [0.57, 0.165, 30.0],
    [0.38, 0.135, 22.0],
];
const HEAT: [Lch; 5] =
    [[0.965, 0.012, 95.0], [0.86, 0.10, 80.0], [0.71, 0.165, 52.0], [0.53, 0.19, 30.0], [0.32, 0.125, 18.0]];

impl ColorMap {
    /// The colour at a position from 0 to 1; outside, the colour of the nearer end; for a NaN, [`UNKNOWN`].
    pub fn color(self, place: f32) -> Rgb {
        if place.is_nan() {
            return UNKNOWN;
        }
        match self {
            Self::Sequential => through(&SEQUENTIAL, place),
            Self::Diverging => through(&DIVERGING, place),
            Self::Heat => through(&HEAT, place),
        }
    }

    /// The colour of a value, with `range` at the ends of the map. An empty range gives the middle colour.
    pub fn color_of(self, value: f32, range: [f32; 2]) -> Rgb {
        self.color(place_of(value, range))
    }

    /// Linear light at `count` evenly spaced positions.
    pub(crate) fn table(self, count: usize) -> Vec<Vec3> {
        (0..count).map(|i| to_linear(self.color(i as f32 / (count - 1) as f32))).collect()
    }
}

/// Position of a value between the ends of a range, 0 to 1.
pub(crate) fn place_of(value: f32, [low, high]: [f32; 2]) -> f32 {
    if high == low { if value.is_nan() { value } else { 0.5 } } else { (value - low) / (high - low) }
}

fn through(points: &[Lch], place: f32) -> Rgb {
    let last = points.len() - 1;
    let along = place.clamp(0.0, 1.0) * last as f32;
    let segment = (along as usize).min(last - 1);
    let t = along - segment as f32;
    let labs: Vec<Vec3> = points.iter().map(|point| lab(*point)).collect();
    let slope = |i: usize| {
        if i == 0 || i == last {
            labs[i.min(last - 1) + 1] - labs[i.min(last - 1)]
        } else {
            tangent(labs[i] - labs[i - 1], labs[i + 1] - labs[i])
        }
    };
    let (t2, t3) = (t * t, t * t * t);
    let mixed = labs[segment] * (2.0 * t3 - 3.0 * t2 + 1.0)
        + slope(segment) * (t3 - 2.0 * t2 + t)
        + labs[segment + 1] * (3.0 * t2 - 2.0 * t3)
        + slope(segment + 1) * (t3 - t2);
    to_srgb(within_gamut(mixed))
}

/// The harmonic mean of two slopes, 0 where they differ in sign: keeps cubics monotone
/// ([Fritsch and Butland 1984] *A method for constructing local monotone piecewise cubic interpolants*).
fn tangent(before: Vec3, after: Vec3) -> Vec3 {
    let mean = |a: f32, b: f32| if a * b <= 0.0 { 0.0 } else { 2.0 * a * b / (a + b) };
    Vec3::new(mean(before.x, after.x), mean(before.y, after.y), mean(before.z, after.z))
}

fn lab([lightness, chroma, hue]: Lch) -> Vec3 {
    let hue = hue.to_radians();
    Vec3::new(lightness, chroma * hue.cos(), chroma * hue.sin())
}

/// The linear light of an OKLab colour, its chroma reduced until it is within the display's gamut.
fn within_gamut(lab: Vec3) -> Vec3 {
    let shown = |share: f32| linear_from_oklab(Vec3::new(lab.x, share * lab.y, share * lab.z));
    let fits = |light: Vec3| light.min_element() >= -1e-4 && light.max_element() <= 1.0001;
    let (mut inside, mut outside) = (0.0, 1.0);
    if fits(shown(outside)) {
        return shown(outside);
    }
    for _ in 0..12 {
        let middle = 0.5 * (inside + outside);
        if fits(shown(middle)) { inside = middle } else { outside = middle }
    }
    shown(inside)
}

/// Perceptual lightness (OKLab L) of a colour, 0 to 1.
pub fn lightness(color: Rgb) -> f32 {
    oklab_from_linear(to_linear(color)).x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lightnesses(map: ColorMap, from: f32, to: f32) -> Vec<f32> {
        (0..=100).map(|i| lightness(map.color(from + (to - from) * i as f32 / 100.0))).collect()
    }

    #[test]
    fn lightness_is_monotone_along_every_arm() {
        for (map, from, to) in [
            (ColorMap::Sequential, 0.0, 1.0),
            (ColorMap::Diverging, 0.0, 0.5),
            (ColorMap::Diverging, 1.0, 0.5),
            (ColorMap::Heat, 1.0, 0.0),
        ] {
            let steps = lightnesses(map, from, to);
            assert!(steps.windows(2).all(|pair| pair[1] > pair[0]), "{map:?}: {steps:?}");
        }
    }

    #[test]
    fn the_sequential_map_has_even_steps() {
        let steps = lightnesses(ColorMap::Sequential, 0.0, 1.0);
        let mean = (steps[100] - steps[0]) / 100.0;
        assert!(steps.windows(2).all(|pair| ((pair[1] - pair[0]) / mean - 1.0).abs() < 0.35));
    }

    #[test]
    fn the_middle_of_the_diverging_map_is_neutral_and_odd_values_are_safe() {
        let [r, g, b] = ColorMap::Diverging.color(0.5);
        assert!((r - g).abs() < 0.03 && (g - b).abs() < 0.03 && r > 0.9);
        assert_eq!(ColorMap::Heat.color(f32::NAN), UNKNOWN);
        assert_eq!(ColorMap::Heat.color(7.0), ColorMap::Heat.color(1.0));
        assert_eq!(ColorMap::Heat.color_of(3.0, [3.0, 3.0]), ColorMap::Heat.color(0.5));
    }
}
