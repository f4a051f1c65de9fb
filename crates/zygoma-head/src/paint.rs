//! The painted texture: skin tone, lips, brows, short hair, eyes, teeth, tongue.

use std::sync::OnceLock;

use glam::{DVec2, DVec3};
use rayon::prelude::*;

use crate::Level;
use crate::base::Part;
use crate::dials::{DialValues, EYE_TONE, HAIR_TONE, SKIN_TONE};
use crate::parts::brows::BrowLine;
use crate::parts::eyes::{angle_at, limbus};
use crate::scalp::above_hairline;
use crate::sculpt::ear::is_ear;
use crate::sculpt::field::{at, bell, ramp};
use crate::sculpt::{eyes, lips};
use crate::template::Template;
use crate::uv::{self, TILES, Tile};

/// A square image, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Width and height in pixels.
    pub size: u32,
    /// Red, green and blue of every pixel in sRGB.
    pub pixels: Vec<[u8; 3]>,
}

/// Width and height of the texture.
const SIZE: u32 = 1024;

type Color = DVec3;

/// The top of the head.
const CROWN: DVec3 = at(0.0, 136.0, 4.0);
const MOUTH: Color = at(0.50, 0.20, 0.20);
const POCKET: Color = at(0.80, 0.48, 0.45);

/// The colours of one person.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    skin: Color,
    blush: Color,
    shade: Color,
    lip: Color,
    hair: Color,
    iris: Color,
}

/// Interpolates three colours at a position between −1 and 1.
fn between(colors: [Color; 3], place: f64) -> Color {
    let place = place.clamp(-1.0, 1.0);
    if place < 0.0 { colors[1].lerp(colors[0], -place) } else { colors[1].lerp(colors[2], place) }
}

impl Palette {
    /// The colours given by the dials.
    pub(crate) fn new(dials: &DialValues) -> Self {
        let tone = dials.get(SKIN_TONE);
        let skin = between([at(0.95, 0.81, 0.74), at(0.89, 0.72, 0.63), at(0.42, 0.27, 0.21)], tone);
        let hair =
            between([at(0.09, 0.07, 0.07), at(0.28, 0.20, 0.16), at(0.66, 0.48, 0.30)], dials.get(HAIR_TONE));
        let iris =
            between([at(0.16, 0.34, 0.46), at(0.26, 0.38, 0.34), at(0.24, 0.13, 0.07)], dials.get(EYE_TONE));
        Self {
            skin,
            blush: skin * at(0.99, 0.83, 0.84),
            shade: skin * at(0.85, 0.79, 0.81),
            lip: skin * at(0.90, 0.71, 0.76),
            hair,
            iris,
        }
    }
}

/// Paints the texture that all meshes of the head share.
pub(crate) fn texture(palette: &Palette) -> Texture {
    let size = SIZE;
    let mut pixels = vec![byte_color(palette.skin); (size * size) as usize];
    // The crown is a whole row of the texture, and triangles around it cover only parts of that row.
    let crown = byte_color(skin_color(palette, CROWN, Part::Outer));
    pixels[..(size * size / 40) as usize].fill(crown);
    paint_tiles(palette, &mut pixels);
    paint_skin(palette, &mut pixels);
    Texture { size, pixels }
}

fn byte_color(color: Color) -> [u8; 3] {
    color.to_array().map(|c| (255.0 * c.clamp(0.0, 1.0)).round() as u8)
}

fn paint_tiles(palette: &Palette, pixels: &mut [[u8; 3]]) {
    let share = |pixel: usize| (pixel as f64 + 0.5) / f64::from(SIZE);
    pixels.par_chunks_mut(SIZE as usize).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            for tile in TILES {
                if let Some((s, t)) = tile.place(share(x), share(y)) {
                    *pixel = byte_color(tile_color(palette, tile, s, t));
                }
            }
        }
    });
}

/// The colour at a position in a tile.
pub(crate) fn tile_color(palette: &Palette, tile: Tile, s: f64, t: f64) -> Color {
    match tile {
        uv::BAG => MOUTH,
        uv::HAIR => hair_color(palette, s, t),
        uv::POCKET => palette.skin.lerp(POCKET, 0.8),
        uv::WET => at(0.93, 0.86, 0.83),
        uv::EYE => eye_color(palette, s, t),
        uv::NOSTRIL => (palette.skin * at(0.70, 0.56, 0.54)).lerp(at(0.28, 0.12, 0.10), ramp(1.0, 0.4, t)),
        uv::TEETH => at(0.93, 0.90, 0.84).lerp(at(0.86, 0.78, 0.66), ramp(0.5, 1.0, t)),
        uv::GUMS => at(0.78, 0.42, 0.42),
        uv::TONGUE => at(0.80, 0.42, 0.42).lerp(at(0.66, 0.30, 0.31), bell(s - 0.5, 0.07)),
        _ => at(0.10, 0.07, 0.06),
    }
}

/// Hair along the tile's height, from the root to the tip, with fine strands side by side.
fn hair_color(palette: &Palette, s: f64, t: f64) -> Color {
    let strand = noise(at(70.0 * s, 1.5 * t, 3.0)) + 0.6 * noise(at(31.0 * s, 0.8 * t, 9.0)) - 0.8;
    // Dark between the roots, a sheen where clumps bend, lighter tips.
    let along = 0.70 + 0.45 * ramp(0.0, 0.4, t) + 0.22 * bell(t - 0.42, 0.14) + 0.1 * t;
    1.15 * palette.hair * along * (1.0 + 0.5 * strand) + 0.012 * Color::ONE
}

/// The eyeball seen along its axis, with the tile's middle at the pupil.
fn eye_color(palette: &Palette, s: f64, t: f64) -> Color {
    let (x, y) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    let angle = angle_at(x.hypot(y).min(1.0));
    let (around, edge) = (y.atan2(x), limbus());
    let place = angle / edge;
    // Under the upper lid it is darker; the other side of the iris catches the light that the cornea gathers.
    let up = -y.atan2(x).sin() * angle;
    let lid = 1.0 - 0.30 * ramp(0.10, 0.55, up);
    let color = iris_color(palette, around, place).lerp(white_color(x, y, angle), ramp(0.97, 1.09, place));
    let rim = bell(place - 1.0, 0.09);
    let color = color.lerp(palette.iris * 0.25, 0.55 * rim) * lid;
    let glint = 0.65 * bell(angle * around.cos(), 0.045) * bell(up - 0.19, 0.055);
    color.lerp(Color::ONE, glint)
}

/// The iris at an angle around the pupil and a share of its radius: fibres, a collarette around the pupil, a dark rim.
fn iris_color(palette: &Palette, around: f64, place: f64) -> Color {
    let spoke = |count: f64, depth: f64| {
        let turn = DVec2::from_angle(around) * count;
        noise(at(turn.x + 40.0, turn.y + 40.0, depth * place))
    };
    let fibres = 0.55 * spoke(9.0, 1.2) + 0.45 * spoke(22.0, 2.0);
    let ring = 0.52 + 0.08 * (spoke(4.0, 0.0) - 0.5);
    let inner = palette.iris * at(1.55, 1.35, 1.05) + at(0.07, 0.05, 0.02);
    let outer = palette.iris * 1.25 + 0.02 * Color::ONE;
    let color = inner.lerp(outer, ramp(ring - 0.10, ring + 0.08, place)) * (0.62 + 0.75 * fibres);
    let color = color * (1.0 + 0.25 * bell(place - ring, 0.05));
    let caught = 0.28 * ramp(-0.2, 0.9, around.sin()) * bell(place - 0.68, 0.22);
    let color = color * (1.0 + caught) * (1.0 - 0.62 * ramp(0.74, 1.0, place));
    color.lerp(at(0.015, 0.012, 0.012), ramp(0.40, 0.34, place))
}

/// The white of the eye: not white, with faint veins towards the corners.
fn white_color(x: f64, y: f64, angle: f64) -> Color {
    let side = ramp(0.55, 1.15, angle) * (x / x.hypot(y).max(1e-9)).abs().powi(2);
    let inner = side * if x < 0.0 { 1.0 } else { 0.6 };
    let thread = |scale: f64, z: f64| {
        let n = noise(at(scale * 0.6 * x + 7.0, scale * y + 7.0, z));
        (1.0 - (2.0 * n - 1.0).abs()).powi(14)
    };
    let veins = (thread(13.0, 0.5) + 0.7 * thread(24.0, 4.5)) * ramp(0.5, 0.95, angle);
    let white = at(0.905, 0.885, 0.865).lerp(at(0.84, 0.66, 0.61), 0.55 * inner);
    white.lerp(at(0.74, 0.36, 0.32), (0.30 * veins).min(0.4)).lerp(at(0.80, 0.52, 0.48), ramp(1.2, 1.7, angle))
}

/// Deterministic noise between 0 and 1.
fn noise(p: DVec3) -> f64 {
    let cell = p.floor();
    let f = p - cell;
    let smooth = f * f * (DVec3::splat(3.0) - 2.0 * f);
    let value = |dx: f64, dy: f64, dz: f64| {
        let c = cell + at(dx, dy, dz);
        let n = (c.x as i64).wrapping_mul(374_761_393)
            ^ (c.y as i64).wrapping_mul(668_265_263)
            ^ (c.z as i64).wrapping_mul(2_147_483_647);
        let n = (n ^ (n >> 13)).wrapping_mul(1_274_126_177);
        ((n ^ (n >> 16)) & 0xFFFF) as f64 / 65535.0
    };
    let mix = |a: f64, b: f64, t: f64| a + t * (b - a);
    let plane = |dz: f64| {
        mix(
            mix(value(0.0, 0.0, dz), value(1.0, 0.0, dz), smooth.x),
            mix(value(0.0, 1.0, dz), value(1.0, 1.0, dz), smooth.x),
            smooth.y,
        )
    };
    mix(plane(0.0), plane(1.0), smooth.z)
}

/// The colour of the skin at a point of the template at rest.
pub(crate) fn skin_color(palette: &Palette, p: DVec3, part: Part) -> Color {
    let p = at(p.x.abs(), p.y, p.z);
    match part {
        Part::UpperBag | Part::LowerBag => return MOUTH,
        Part::LeftPocket | Part::RightPocket => return POCKET,
        _ => {}
    }
    let spot = |centre: DVec3, radius: f64| bell(p.distance(centre), radius);
    let mut color = palette.skin * (0.97 + 0.05 * noise(0.9 * p)) * (0.98 + 0.04 * noise(0.12 * p));
    let blush = 0.50 * spot(at(42.0, -16.0, 76.0), 19.0)
        + 0.45 * spot(at(0.0, -14.0, 116.0), 13.0)
        + 0.45 * ramp(70.0, 84.0, p.x) * bell(p.y - 6.0, 40.0)
        + 0.25 * spot(at(0.0, -84.0, 102.0), 14.0);
    color = color.lerp(palette.blush, blush.min(0.7));
    // Skin is darker around the eyes and beneath the jaw.
    let from_eye = p.distance(eyes::CENTRE);
    color =
        color.lerp(palette.shade, 0.25 * bell(from_eye - eyes::MARGIN - 2.0, 6.0) * ramp(66.0, 72.0, p.z));
    let (xi, angle) = eyes::lid_coordinates(p);
    let (_, upper) = eyes::margins(xi);
    let liner = bell((angle - upper) * eyes::MARGIN, 1.0)
        * bell(from_eye - eyes::MARGIN - 0.3, 1.8)
        * ramp(1.0, 0.8, xi.abs());
    color = color.lerp(at(0.22, 0.14, 0.12), 0.75 * liner * ramp(72.0, 76.0, p.z));

    color = color
        .lerp(palette.lip * (0.96 + 0.08 * noise(at(2.2 * p.x, 0.5 * p.y, 0.5 * p.z))), lip_amount(p, part));
    color = color.lerp(palette.hair, 0.30 * brow_amount(p));
    let stubble = 0.75 + 0.25 * noise(2.0 * p);
    color.lerp(palette.hair, 0.62 * hair_amount(p) * stubble)
}

fn lip_amount(p: DVec3, part: Part) -> f64 {
    if matches!(part, Part::UpperLip | Part::LowerLip) {
        return 1.0;
    }
    let (upper, lower) = lips::border_y(p.x);
    let outside = (p.y - upper).max(lower - p.y);
    ramp(1.0, -0.2, outside) * ramp(86.0, 91.0, p.z) * ramp(27.5, 25.5, p.x)
}

/// How much brow hair grows at a point: the shade under it.
fn brow_amount(p: DVec3) -> f64 {
    static LINE: OnceLock<BrowLine> = OnceLock::new();
    let line = LINE.get_or_init(|| BrowLine::new(Template::of(Level::High)));
    let along = line.along(p.x);
    if p.z < 0.0 || !(-0.1..1.1).contains(&along) {
        return 0.0;
    }
    let across = (p.y - line.point(along).y).abs() / BrowLine::half(along);
    ramp(1.5, 0.2, across) * ramp(-0.04, 0.1, along) * ramp(1.04, 0.85, along)
}

/// How much hair grows at a point: the shade of the scalp under it.
fn hair_amount(p: DVec3) -> f64 {
    let ear = if is_ear(p) { 0.0 } else { 1.0 };
    ramp(-3.0, 7.0, above_hairline(p) + 5.0 * (noise(0.35 * p) - 0.5)) * ear
}

fn paint_skin(palette: &Palette, pixels: &mut [[u8; 3]]) {
    static PLACES: OnceLock<Vec<Option<(DVec3, Part)>>> = OnceLock::new();
    let places = PLACES.get_or_init(|| skin_places(SIZE));
    pixels.par_iter_mut().zip(places).for_each(|(pixel, place)| {
        if let Some((p, part)) = place {
            *pixel = byte_color(skin_color(palette, *p, *part));
        }
    });
}

/// For each pixel its point on the template's skin; the same for everyone.
fn skin_places(size: u32) -> Vec<Option<(DVec3, Part)>> {
    let mut shown = vec![None; (size * size) as usize];
    let base = &Template::of(Level::Middle).base;
    let map = uv::skin(base);
    let Some(corners) = &map.corners else { return shown };
    let mut painted = vec![false; shown.len()];
    for (i, t) in base.triangles.iter().enumerate() {
        let places: [_; 3] = std::array::from_fn(|k| {
            map.coordinates[corners[3 * i + k] as usize].as_dvec2() * f64::from(size)
        });
        if places.iter().any(|p| p.y > uv::SKIN_HEIGHT * f64::from(size) + 1.0) {
            continue;
        }
        let area = (places[1] - places[0]).perp_dot(places[2] - places[0]);
        if area.abs() < 1e-9 {
            continue;
        }
        let part = t.map(|v| base.parts[v as usize]).into_iter().find(|part| *part != Part::Outer);
        let low = places.iter().fold(places[0], |m, p| m.min(*p)) - 1.5;
        let high = places.iter().fold(places[0], |m, p| m.max(*p)) + 1.5;
        for y in low.y.max(0.0) as u32..=(high.y.max(0.0) as u32).min(size - 1) {
            for x in low.x.max(0.0) as u32..=high.x.max(0.0) as u32 {
                let q = glam::DVec2::new(f64::from(x) + 0.5, f64::from(y) + 0.5);
                let b1 = (q - places[0]).perp_dot(places[2] - places[0]) / area;
                let b2 = (places[1] - places[0]).perp_dot(q - places[0]) / area;
                let b = [1.0 - b1 - b2, b1, b2];
                let least = b.iter().fold(f64::MAX, |m, w| m.min(*w));
                let pixel = (y * size + x % size) as usize;
                // Triangles bleed a little over their edges, but never into the interior of another one.
                if least < -0.3 || (least < 0.0 && painted[pixel]) {
                    continue;
                }
                painted[pixel] |= least >= 0.0;
                let p: DVec3 = (0..3).map(|k| b[k] * base.rest[t[k] as usize]).sum();
                shown[pixel] = Some((p, part.unwrap_or(Part::Outer)));
            }
        }
    }
    shown
}
