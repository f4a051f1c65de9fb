//! Ambient occlusion and soft shadows of the main light at each pixel.
//!
//! Both are gathered once per pixel with few taps, rotated by a 4 × 4 pattern so that neighbouring pixels
//! complement each other, and then averaged over those 4 × 4 neighbours where they belong to the same surface.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::{Geometry, Hit};
use crate::project::Projection;
use crate::raster::Visibility;

/// The light that arrives at a pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Depth of the pixel, infinite for the background.
    pub(crate) depth: f32,
    /// Share of the surroundings that is not occluded, 0 to 1.
    pub(crate) ambient: f32,
    /// Share of the main light that is not in shadow, 0 to 1.
    pub(crate) key: f32,
}

/// The light that arrives at all pixels.
pub(crate) struct Arrivals {
    width: usize,
    pixels: Vec<Arrival>,
}

/// The shadow map of the main light.
pub(crate) struct ShadowMap {
    pub(crate) visibility: Visibility,
    pub(crate) projection: Projection,
    /// Radius of the penumbra in the scene.
    pub(crate) softness: f32,
}

/// The inputs of the gathering.
pub(crate) struct Gather<'a> {
    pub(crate) geometry: &'a Geometry,
    /// Visibility of the supersampled screen.
    pub(crate) visibility: &'a Visibility,
    /// Projection of the supersampled screen.
    pub(crate) projection: Projection,
    /// Samples along a side of a pixel.
    pub(crate) samples: usize,
    pub(crate) shadow: Option<&'a ShadowMap>,
    /// Radii of ambient occlusion in the scene.
    pub(crate) radii: [f32; 2],
}

const TAPS: usize = 14;
const SHADOW_TAPS: usize = 16;
/// The golden angle of a sunflower pattern, in turns.
const GOLDEN: f32 = 0.381_966;

/// Sample positions in the unit disc, for one of sixteen rotations of the pattern.
struct Taps {
    ambient: [Vec2; TAPS],
    key: [Vec2; SHADOW_TAPS],
}

impl Taps {
    fn turned(turn: usize) -> Self {
        let turn = turn as f32 / 16.0;
        let on_sunflower = |i: usize| Vec2::from_angle((i as f32 * GOLDEN + turn) * std::f32::consts::TAU);
        let even = |i: usize| ((i as f32 + 0.5) / SHADOW_TAPS as f32).sqrt();
        let inward = |i: usize| (i as f32 + 0.5 + turn) / (TAPS as f32 + 1.0);
        Self {
            ambient: std::array::from_fn(|i| inward(i) * on_sunflower(i)),
            key: std::array::from_fn(|i| even(i) * on_sunflower(i)),
        }
    }
}

/// The screen with one sample per pixel, which the taps read: a fourth of the memory or less.
struct Pixels {
    width: usize,
    height: usize,
    nearness: Vec<f32>,
}

impl Gather<'_> {
    pub(crate) fn run(&self) -> Arrivals {
        let width = self.visibility.width / self.samples;
        let height = self.visibility.height / self.samples;
        let middle = |i: usize| {
            let place = self.middle(i / width) * self.visibility.width + self.middle(i % width);
            self.visibility.nearness[place]
        };
        let taps: [Taps; 16] = std::array::from_fn(Taps::turned);
        let pixels = Pixels { width, height, nearness: (0..width * height).map(middle).collect() };
        let mut raw = vec![Arrival { depth: f32::INFINITY, ambient: 1.0, key: 1.0 }; width * height];
        raw.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                if let Some(arrival) = self.pixel(&pixels, &taps, x, y) {
                    *pixel = arrival;
                }
            }
        });
        let mut smooth = raw.clone();
        smooth.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = average(&raw, width, height, x, y);
            }
        });
        Arrivals { width, pixels: smooth }
    }

    /// The middle sample of a pixel, along either axis.
    fn middle(&self, pixel: usize) -> usize {
        pixel * self.samples + self.samples / 2
    }

    /// The position of a pixel's middle sample on the supersampled screen.
    fn place(&self, x: usize, y: usize) -> Vec2 {
        Vec2::new(self.middle(x) as f32 + 0.5, self.middle(y) as f32 + 0.5)
    }

    fn pixel(&self, pixels: &Pixels, taps: &[Taps; 16], x: usize, y: usize) -> Option<Arrival> {
        let triangle = self.visibility.triangle(self.middle(x), self.middle(y))?;
        let place = self.place(x, y);
        let hit = self.geometry.hit(self.projection, triangle, place.x, place.y)?;
        // An ordered pattern (as in dithering): all sixteen rotations occur in every 4 × 4 pixels.
        let taps = &taps[((x & 3) * 4 + (y & 3)) * 7 % 16];
        let open = self.radii.map(|radius| self.openness(pixels, &taps.ambient, &hit, [x, y], radius));
        let key = self.shadow.map_or(1.0, |shadow| self.lit(shadow, &taps.key, &hit));
        Some(Arrival { depth: -hit.position.z, ambient: open[0] * open[1], key })
    }

    /// One minus the obscurance within a radius: the estimator of
    /// [McGuire et al. 2012] *Scalable ambient obscurance*, Eq. 1, over a sunflower of taps on the screen.
    fn openness(
        &self,
        pixels: &Pixels,
        taps: &[Vec2; TAPS],
        hit: &Hit,
        [x, y]: [usize; 2],
        radius: f32,
    ) -> f32 {
        let reach = radius / (self.projection.pixel_size(-hit.position.z) * self.samples as f32);
        if reach < 1.0 {
            return 1.0;
        }
        let own = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
        let mut hidden = 0.0;
        for tap in taps {
            let Some(occluder) = self.position_at(pixels, own + reach * tap) else { continue };
            let to = occluder - hit.position;
            let squared = to.length_squared();
            let rise = (to.dot(hit.normal) - 0.02 * radius).max(0.0);
            let near = (1.0 - squared / (radius * radius)).max(0.0);
            hidden += near * near * near * rise / (squared + 1e-3 * radius * radius);
        }
        // 5 / r is the estimator's normalisation with its falloff, and 1 / TAPS the share of a tap; the half
        // is ours, since two radii are multiplied.
        (1.0 - 2.5 * radius * hidden / TAPS as f32).clamp(0.0, 1.0)
    }

    fn position_at(&self, pixels: &Pixels, at: Vec2) -> Option<Vec3> {
        let (x, y) = (at.x as usize, at.y as usize);
        if at.x < 0.0 || at.y < 0.0 || x >= pixels.width || y >= pixels.height {
            return None;
        }
        let nearness = pixels.nearness[y * pixels.width + x];
        let place = self.place(x, y);
        let depth = self.projection.depth(nearness);
        nearness.is_finite().then(|| self.projection.unproject(place.x, place.y, depth))
    }

    /// Share of the main light, by percentage-closer filtering over a disc of the shadow map.
    fn lit(&self, shadow: &ShadowMap, taps: &[Vec2; SHADOW_TAPS], hit: &Hit) -> f32 {
        // Offset from the surface, or it would shadow itself between the map's samples.
        let lifted = hit.position + 0.5 * shadow.softness * hit.normal;
        let seen = shadow.projection.to_view(self.projection.to_scene(lifted));
        let at = shadow.projection.to_screen(seen);
        let reach = shadow.softness / shadow.projection.pixel_size(1.0);
        let lit = taps.iter().filter(|&&tap| {
            let place = at.truncate() + reach * tap;
            let inside = place.x >= 0.0 && place.y >= 0.0;
            let (x, y) = (place.x as usize, place.y as usize);
            let map = &shadow.visibility;
            !inside || x >= map.width || y >= map.height || {
                // The bias grows with the tap's distance: occlusion by less than the penumbra's own slope is not shadow.
                map.nearness[y * map.width + x] <= at.z + tap.length() * shadow.softness
            }
        });
        lit.count() as f32 / SHADOW_TAPS as f32
    }
}

/// The mean over the 4 × 4 pixels around a pixel that lie at about its depth.
fn average(raw: &[Arrival], width: usize, height: usize, x: usize, y: usize) -> Arrival {
    let own = raw[y * width + x];
    if own.depth.is_infinite() {
        return own;
    }
    let (mut ambient, mut key, mut count) = (0.0, 0.0, 0.0);
    for row in y.saturating_sub(2)..(y + 2).min(height) {
        for column in x.saturating_sub(2)..(x + 2).min(width) {
            let other = raw[row * width + column];
            if (other.depth - own.depth).abs() < 0.01 * own.depth.abs() {
                ambient += other.ambient;
                key += other.key;
                count += 1.0;
            }
        }
    }
    Arrival { depth: own.depth, ambient: ambient / count, key: key / count }
}

impl Arrivals {
    /// The light at the pixel, or at the neighbour whose depth is nearest to `depth`: samples at an
    /// outline must not take the light of the background.
    pub(crate) fn at(&self, x: usize, y: usize, depth: f32) -> Arrival {
        let own = self.pixels[y * self.width + x];
        let height = self.pixels.len() / self.width;
        let off = |arrival: &Arrival| (arrival.depth - depth).abs();
        if off(&own) < 0.005 * depth.abs() {
            return own;
        }
        let mut best = own;
        for row in y.saturating_sub(1)..(y + 2).min(height) {
            for column in x.saturating_sub(1)..(x + 2).min(self.width) {
                let other = self.pixels[row * self.width + column];
                if off(&other) < off(&best) {
                    best = other;
                }
            }
        }
        best
    }
}
