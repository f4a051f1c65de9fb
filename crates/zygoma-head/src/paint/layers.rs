//! All that is the same for everyone, pixel by pixel: where skin is red, thin, hairy, and how its tone varies.

use std::sync::OnceLock;

use glam::{DVec2, DVec3};
use rayon::prelude::*;

use super::SIZE;
use super::noise::{noise, threads};
use crate::Level;
use crate::base::Part;
use crate::dice::Dice;
use crate::parts::brows::BrowLine;
use crate::scalp::above_hairline;
use crate::sculpt::ear::is_ear;
use crate::sculpt::field::{at, bell, ramp};
use crate::sculpt::{eyes, lips};
use crate::template::Template;
use crate::uv;

/// One pixel of skin; amounts run from 0 to 255.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layer {
    pub(super) shown: bool,
    /// 1 in the mouth's bag, 2 in the eyes' pockets.
    pub(super) mouth: u8,
    pub(super) blush: u8,
    pub(super) shade: u8,
    pub(super) vein: u8,
    pub(super) pores: u8,
    pub(super) beard: u8,
    pub(super) lip: u8,
    pub(super) liner: u8,
    pub(super) brow: u8,
    pub(super) hair: u8,
    /// Noise from fine to coarse.
    pub(super) grain: u8,
    pub(super) mottle: u8,
    pub(super) cloud: u8,
}

/// The layers of all pixels.
pub(super) struct Layers {
    pub(super) pixels: Vec<Layer>,
    /// Triangles of the face with their pixels, for spots.
    pub(super) face: Vec<[DVec2; 3]>,
}

/// A pixel's point of the skin: a triangle and barycentric coordinates.
#[derive(Clone, Copy)]
struct Place {
    triangle: u32,
    weights: [f32; 3],
}

impl Place {
    const NONE: Place = Place { triangle: u32::MAX, weights: [0.0; 3] };
}

/// Amounts that change so slowly that vertices suffice.
#[derive(Clone, Copy, Default)]
struct Slow {
    blush: f32,
    shade: f32,
    thin: f32,
    beard: f32,
    /// Height above the hairline, mm.
    above: f32,
    scalp: f32,
    cloud: f32,
}

impl Layers {
    /// The layers, made once.
    pub(super) fn get() -> &'static Self {
        static LAYERS: OnceLock<Layers> = OnceLock::new();
        LAYERS.get_or_init(Self::new)
    }

    fn new() -> Self {
        let template = Template::of(Level::High);
        let base = &template.base;
        let marks = Marks::new(template);
        let slow: Vec<Slow> = base.rest.par_iter().map(|p| marks.slow(*p)).collect();
        let grain = Grain::new();
        let (places, corners) = places(template);
        let layer = |(pixel, place): (usize, &Place)| {
            if place.triangle == Place::NONE.triangle {
                return Layer::default();
            }
            let t = base.triangles[place.triangle as usize].map(|v| v as usize);
            let part = t.iter().map(|v| base.parts[*v]).find(|part| *part != Part::Outer);
            let p: DVec3 = (0..3).map(|i| f64::from(place.weights[i]) * base.rest[t[i]]).sum();
            let mix = |of: fn(&Slow) -> f32| {
                f64::from((0..3).map(|i| place.weights[i] * of(&slow[t[i]])).sum::<f32>())
            };
            let mixed = Slow {
                blush: mix(|s| s.blush) as f32,
                shade: mix(|s| s.shade) as f32,
                thin: mix(|s| s.thin) as f32,
                beard: mix(|s| s.beard) as f32,
                above: mix(|s| s.above) as f32,
                scalp: mix(|s| s.scalp) as f32,
                cloud: mix(|s| s.cloud) as f32,
            };
            marks.layer(p, part.unwrap_or(Part::Outer), &mixed, grain.at(pixel))
        };
        let pixels = places.par_iter().enumerate().map(layer).collect();
        let in_face = |t: &[u32; 3]| {
            let p = base.rest[t[0] as usize];
            base.parts[t[0] as usize] == Part::Outer
                && p.z > 20.0
                && above_hairline(p) < -4.0
                && p.y > marks.chin.y
        };
        let face = base.triangles.iter().zip(corners).filter(|(t, _)| in_face(t)).map(|(_, c)| c).collect();
        Self { pixels, face }
    }
}

/// Places of the face that colours depend on.
struct Marks {
    nose: DVec3,
    under_nose: DVec3,
    cheek: DVec3,
    chin: DVec3,
    brow: BrowLine,
}

impl Marks {
    fn new(template: &Template) -> Self {
        let mark = |i: usize| template.base.rest[template.places.landmarks[i] as usize];
        let height = 0.42 * eyes::CENTRE.y + 0.58 * lips::line_y(lips::CORNER_X);
        let beside = at(1.25 * eyes::CENTRE.x, height, mark(54).z);
        let cheek = template.closest_on_skin(beside).map_or(beside, |hit| hit.point);
        Self { nose: mark(30), under_nose: mark(33), cheek, chin: mark(8), brow: BrowLine::new(template) }
    }

    /// The slow amounts at a point.
    fn slow(&self, point: DVec3) -> Slow {
        let p = at(point.x.abs(), point.y, point.z);
        let spot = |centre: DVec3, radius: f64| bell(p.distance(centre), radius);
        let ear = if is_ear(p) { 1.0 } else { 0.0 };
        let blush = 0.50 * spot(self.cheek, 19.0)
            + 0.55 * spot(self.nose + at(0.0, -4.0, -4.0), 13.0)
            + 0.50 * ear
            + 0.30 * spot(self.chin + at(0.0, 10.0, 4.0), 14.0)
            + 0.18 * spot(self.under_nose + at(9.0, 0.0, -4.0), 8.0);
        let from_eye = p.distance(eyes::CENTRE);
        let front = ramp(-3.0, 3.0, p.z - eyes::CENTRE.z);
        let orbit = bell(from_eye - eyes::MARGIN - 2.0, 6.0) * front;
        let below = orbit * ramp(2.0, -8.0, p.y - eyes::CENTRE.y);
        let under_jaw = ramp(self.chin.y + 4.0, self.chin.y - 18.0, p.y);
        let temple = bell(p.x - 62.0, 14.0) * bell(p.y - 48.0, 22.0) * ramp(10.0, 40.0, p.z);
        Slow {
            blush: blush.min(0.75) as f32,
            shade: (0.20 * orbit + 0.22 * below + 0.16 * under_jaw) as f32,
            thin: (orbit + temple).min(1.0) as f32,
            beard: self.beard(p) as f32,
            above: above_hairline(p) as f32,
            scalp: (1.0 - ear) as f32,
            // Noise is not the same on both sides.
            cloud: noise(0.085 * point + at(9.0, 9.0, 9.0)) as f32,
        }
    }

    /// How much beard grows at a point of the left side: over the lip, on chin and jaw, a little on the neck.
    fn beard(&self, p: DVec3) -> f64 {
        let corner = lips::line_y(lips::CORNER_X);
        let lip = self.under_nose.y - 2.0;
        // Its upper border falls from the nose to the corners, then rises to the ears.
        let beside = (p.x - lips::CORNER_X - 6.0).max(0.0);
        let border = lip + (corner - 6.0 - lip) * ramp(14.0, lips::CORNER_X + 8.0, p.x) + 0.9 * beside;
        let neck = ramp(self.chin.y - 34.0, self.chin.y - 4.0, p.y);
        ramp(5.0, -7.0, p.y - border) * neck * ramp(-14.0, 6.0, p.z)
    }

    /// Everything at one pixel.
    fn layer(&self, point: DVec3, part: Part, slow: &Slow, (fine, pore): (u8, u8)) -> Layer {
        let p = at(point.x.abs(), point.y, point.z);
        let mouth = match part {
            Part::UpperBag | Part::LowerBag => 1,
            Part::LeftPocket | Part::RightPocket => 2,
            _ => 0,
        };
        let mut layer = Layer { shown: true, mouth, ..Layer::default() };
        if mouth > 0 {
            return layer;
        }
        let (blush, above) = (f64::from(slow.blush), f64::from(slow.above));
        if above > 12.0 && slow.scalp == 1.0 {
            return Layer { hair: 255, grain: 128, mottle: 128, cloud: 128, ..layer };
        }
        let mottle = noise(0.42 * point);
        layer.blush = byte(blush);
        layer.shade = byte(f64::from(slow.shade));
        layer.mottle = byte(mottle);
        layer.cloud = byte(f64::from(slow.cloud));
        layer.hair = byte(ramp(-3.0, 8.0, above + 7.0 * (mottle - 0.5)) * f64::from(slow.scalp));
        layer.grain = fine;
        layer.pores = byte((0.35 + 0.9 * blush) * f64::from(pore) / 255.0);
        layer.beard = byte(f64::from(slow.beard));
        if slow.thin > 0.02 {
            layer.vein = byte(0.5 * f64::from(slow.thin) * threads(0.11 * point, 9));
        }
        layer.brow = byte(self.brow_shade(p));
        if p.distance_squared(eyes::CENTRE) < (eyes::MARGIN + 6.0).powi(2) {
            layer.liner = byte(liner(p));
        }
        layer.lip = byte(lip_amount(p, part, f64::from(fine) / 255.0));
        if layer.lip > 0 {
            // Lines across the lips.
            layer.grain = byte(noise(at(1.5 * point.x, 0.22 * point.y, 0.22 * point.z)));
            layer.pores = 0;
        }
        layer
    }

    /// The shade under the brow's hairs.
    fn brow_shade(&self, p: DVec3) -> f64 {
        let along = self.brow.along(p.x);
        if p.z < 0.0 || !(-0.1..1.1).contains(&along) {
            return 0.0;
        }
        let across = (p.y - self.brow.point(along).y).abs() / BrowLine::half(along);
        ramp(1.5, 0.2, across) * ramp(-0.04, 0.1, along) * ramp(1.04, 0.85, along)
    }
}

/// Fine noise and pores, in a square of pixels that repeats.
struct Grain {
    fine: Vec<u8>,
    pores: Vec<u8>,
}

impl Grain {
    const SIDE: usize = 256;

    fn new() -> Self {
        let side = Self::SIDE;
        let mut dice = Dice::new(0x6A);
        let raw: Vec<f64> = (0..side * side).map(|_| dice.unit()).collect();
        let place = |x: usize, y: usize| (y % side) * side + x % side;
        // Averages of two by two pixels, so that single ones do not sparkle.
        let mean = |i: usize| {
            let (x, y) = (i % side, i / side);
            0.25 * [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(u, v)| raw[place(x + u, y + v)]).iter().sum::<f64>()
        };
        let fine = (0..raw.len()).map(|i| byte(0.5 + 1.5 * (mean(i) - 0.5))).collect();
        let mut pores = vec![0; raw.len()];
        // One pore in each cell, about a millimetre apart.
        const CELL: usize = 4;
        for y in (0..side).step_by(CELL) {
            for x in (0..side).step_by(CELL) {
                let (u, v) = ((CELL as f64 * dice.unit()) as usize, (CELL as f64 * dice.unit()) as usize);
                let depth = dice.unit();
                for (dx, dy, share) in [(0, 0, 1.0), (1, 0, 0.5), (0, 1, 0.5), (1, 1, 0.3)] {
                    let pixel = &mut pores[place(x + u + dx, y + v + dy)];
                    *pixel = byte(depth * share).max(*pixel);
                }
            }
        }
        Self { fine, pores }
    }

    /// Fine noise and pores at a pixel of the texture.
    fn at(&self, pixel: usize) -> (u8, u8) {
        let (x, y) = (pixel % SIZE as usize % Self::SIDE, pixel / SIZE as usize % Self::SIDE);
        let index = y * Self::SIDE + x;
        (self.fine[index], self.pores[index])
    }
}

/// The dark line where the upper lashes grow.
fn liner(p: DVec3) -> f64 {
    let (xi, angle) = eyes::lid_coordinates(p);
    let (_, upper) = eyes::margins(xi);
    let at_margin =
        bell((angle - upper) * eyes::MARGIN, 0.8) * bell(p.distance(eyes::CENTRE) - eyes::MARGIN - 0.3, 1.6);
    0.55 * at_margin * ramp(1.0, 0.8, xi.abs()) * ramp(3.0, 7.0, p.z - eyes::CENTRE.z)
}

/// How much of the red of the lips shows; it fades into the skin.
fn lip_amount(p: DVec3, part: Part, ragged: f64) -> f64 {
    let near = p.x < lips::CORNER_X + 4.0 && p.z > lips::front_z(p.x.min(lips::CORNER_X + 2.0)) - 14.0;
    let inside = matches!(part, Part::UpperLip | Part::LowerLip);
    if !near && !inside {
        return 0.0;
    }
    let (upper, lower) = lips::border_y(p.x);
    let outside = (p.y - upper).max(lower - p.y) + 0.9 * (ragged - 0.5);
    if inside { 0.55 + 0.35 * ramp(0.0, -2.2, outside) } else { 0.6 * ramp(1.0, -0.6, outside) }
}

fn byte(share: f64) -> u8 {
    (255.0 * share.clamp(0.0, 1.0)).round() as u8
}

/// For each pixel its place on the template's skin, and for each triangle its corners in pixels.
fn places(template: &Template) -> (Vec<Place>, Vec<[DVec2; 3]>) {
    /// Rows that are filled together.
    const BAND: usize = 128;
    let size = SIZE as usize;
    let base = &template.base;
    let map = uv::skin(base);
    let mut shown = vec![Place::NONE; size * size];
    let Some(indices) = &map.corners else { return (shown, Vec::new()) };
    let corner = |i: usize| map.coordinates[indices[i] as usize].as_dvec2() * size as f64;
    let corners: Vec<[DVec2; 3]> =
        (0..base.triangles.len()).map(|i| std::array::from_fn(|k| corner(3 * i + k))).collect();
    shown.par_chunks_mut(BAND * size).enumerate().for_each(|(band, rows)| {
        let mut painted = vec![false; rows.len()];
        for (triangle, places) in corners.iter().enumerate() {
            if places.iter().all(|p| p.y <= uv::SKIN_HEIGHT * size as f64 + 1.0) {
                fill(rows, &mut painted, band * BAND, triangle as u32, places);
            }
        }
    });
    (shown, corners)
}

/// Fills a triangle's pixels in rows of the texture, the first of which is `top`.
fn fill(rows: &mut [Place], painted: &mut [bool], top: usize, triangle: u32, places: &[DVec2; 3]) {
    let size = SIZE as usize;
    let low = places.iter().fold(places[0], |m, p| m.min(*p)) - 1.5;
    let high = places.iter().fold(places[0], |m, p| m.max(*p)) + 1.5;
    let area = (places[1] - places[0]).perp_dot(places[2] - places[0]);
    let end = (top + rows.len() / size).min(high.y.max(0.0) as usize + 1);
    if area.abs() < 1e-9 {
        return;
    }
    for y in top.max(low.y.max(0.0) as usize)..end {
        for x in low.x.max(0.0) as usize..=high.x.max(0.0) as usize {
            let q = DVec2::new(x as f64 + 0.5, y as f64 + 0.5);
            let b1 = (q - places[0]).perp_dot(places[2] - places[0]) / area;
            let b2 = (places[1] - places[0]).perp_dot(q - places[0]) / area;
            let b = [1.0 - b1 - b2, b1, b2];
            let least = b.iter().fold(f64::MAX, |m, w| m.min(*w));
            let pixel = (y - top) * size + x % size;
            // Triangles bleed a little over their edges, but never into the interior of another one.
            if least < -0.3 || (least < 0.0 && painted[pixel]) {
                continue;
            }
            painted[pixel] |= least >= 0.0;
            rows[pixel] = Place { triangle, weights: b.map(|w| w as f32) };
        }
    }
}
