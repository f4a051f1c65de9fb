//! The painted texture: skin, lips, the shade under hair, eyes, teeth, tongue.
//!
//! `layers` holds all that is the same for everyone, pixel by pixel; painting a person only mixes colours by it. `spots` are
//! freckles and moles.

mod eye;
mod layers;
mod noise;
mod skin;
mod spots;

use glam::DVec3;
use rayon::prelude::*;

use crate::dials::{DialValues, EYE_TONE, HAIR_TONE, SKIN_TONE};
use crate::dice::Dice;
use crate::parts::hair::Hair;
use crate::sculpt::field::{at, bell, ramp};
use crate::uv::{self, TILES, Tile};
use layers::{Layer, Layers};
use noise::noise;
use skin::Skin;

/// A square image, rows from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texture {
    /// Width and height in pixels.
    pub size: u32,
    /// Red, green and blue of every pixel in sRGB.
    pub pixels: Vec<[u8; 3]>,
}

/// Width and height of the texture.
const SIZE: u32 = 2048;

type Color = DVec3;

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
    /// How much the scalp is tinted by hair, and the lower face by stubble.
    scalp: f64,
    stubble: f64,
    /// Strength of redness and of uneven tone, around 1.
    redness: f64,
    uneven: f64,
    /// Seed and number of freckles and moles.
    seed: u64,
    freckles: usize,
    moles: usize,
}

/// Interpolates three colours at a position between −1 and 1.
fn between(colors: [Color; 3], place: f64) -> Color {
    let place = place.clamp(-1.0, 1.0);
    if place < 0.0 { colors[1].lerp(colors[0], -place) } else { colors[1].lerp(colors[2], place) }
}

impl Palette {
    /// The colours given by the dials; blemishes and stubble by the seed.
    pub(crate) fn new(dials: &DialValues, hair_style: Hair, seed: u64) -> Self {
        let tone = dials.get(SKIN_TONE);
        let skin = between([at(0.94, 0.80, 0.73), at(0.87, 0.70, 0.61), at(0.42, 0.27, 0.21)], tone);
        let hair =
            between([at(0.09, 0.07, 0.07), at(0.30, 0.21, 0.16), at(0.66, 0.48, 0.30)], dials.get(HAIR_TONE));
        let iris =
            between([at(0.24, 0.36, 0.46), at(0.34, 0.37, 0.29), at(0.27, 0.15, 0.08)], dials.get(EYE_TONE));
        let mut dice = Dice::new(seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ 0x5C1);
        let mut drawn = |from: f64, to: f64, sculpted: f64| {
            let value = dice.between(from, to);
            if seed == 0 { sculpted } else { value }
        };
        let cropped = matches!(hair_style, Hair::Short | Hair::Bald);
        let freckled = drawn(-1.5, 1.0, -1.0) - 1.2 * tone.max(0.0);
        Self {
            skin,
            blush: skin * at(1.0, 0.80, 0.79),
            shade: skin * at(0.86, 0.79, 0.82),
            // The blood under thin skin, over its own tone.
            lip: (skin * at(0.93, 0.76, 0.77)).lerp(at(0.66, 0.36, 0.35), 0.30),
            hair,
            iris,
            scalp: if hair_style == Hair::Bald { 0.10 } else { 0.50 },
            stubble: if cropped { drawn(-0.5, 1.0, 0.35).max(0.0) } else { 0.0 },
            redness: drawn(0.7, 1.4, 1.0),
            uneven: drawn(0.6, 1.5, 1.0),
            seed,
            freckles: (420.0 * freckled.max(0.0)) as usize,
            moles: drawn(0.0, 9.0, 3.0) as usize,
        }
    }
}

/// Paints the texture that all meshes of the head share.
pub(crate) fn texture(palette: &Palette) -> Texture {
    let size = SIZE;
    let layers = Layers::get();
    let skin = Skin::new(palette);
    let mut pixels = vec![byte_color(palette.skin); (size * size) as usize];
    // The crown is a whole row of the texture, and triangles around it cover only parts of that row.
    let crown = Layer { hair: 255, grain: 128, mottle: 128, cloud: 128, ..Layer::default() };
    pixels[..(size * size / 40) as usize].fill(skin.color(&crown));
    paint_tiles(palette, &mut pixels);
    pixels.par_iter_mut().zip(&layers.pixels).for_each(|(pixel, layer)| {
        if layer.shown {
            *pixel = skin.color(layer);
        }
    });
    spots::paint(palette, layers, &mut pixels);
    Texture { size, pixels }
}

fn byte_color(color: Color) -> [u8; 3] {
    color.to_array().map(|c| (255.0 * c.clamp(0.0, 1.0)).round() as u8)
}

fn paint_tiles(palette: &Palette, pixels: &mut [[u8; 3]]) {
    let share = |pixel: usize| (pixel as f64 + 0.5) / f64::from(SIZE);
    // All tiles lie below the skin.
    let first = (uv::SKIN_HEIGHT * f64::from(SIZE)) as usize;
    pixels.par_chunks_mut(SIZE as usize).enumerate().skip(first).for_each(|(y, row)| {
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
        uv::EYE => eye::eye_color(palette, s, t),
        uv::NOSTRIL => (palette.skin * at(0.70, 0.56, 0.54)).lerp(at(0.28, 0.12, 0.10), ramp(1.0, 0.4, t)),
        uv::TEETH => tooth_color(s, t),
        uv::GUMS => at(0.70, 0.37, 0.36) * (0.9 + 0.2 * noise(at(9.0 * s, 9.0 * t, 0.0))),
        uv::TONGUE => tongue_color(s, t),
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

/// A tooth across its width, from the biting edge to the root: ivory, greyish where the edge lets light through, darker towards its
/// neighbours and the gum.
fn tooth_color(s: f64, t: f64) -> Color {
    let ivory = at(0.93, 0.89, 0.80).lerp(at(0.84, 0.73, 0.57), ramp(0.35, 0.95, t));
    let clear = ivory.lerp(at(0.80, 0.81, 0.78), 0.6 * ramp(0.20, 0.02, t));
    let between = ramp(0.36, 0.5, (s - 0.5).abs());
    clear * (1.0 - 0.24 * between) * (0.97 + 0.05 * noise(at(5.0 * s, 12.0 * t, 2.0)))
}

/// The tongue across its width, from the root to the tip: a groove, papillae, and a pale coat in the middle.
fn tongue_color(s: f64, t: f64) -> Color {
    let flesh =
        at(0.68, 0.34, 0.34).lerp(at(0.74, 0.50, 0.47), 0.7 * bell(s - 0.5, 0.26) * ramp(1.0, 0.6, t));
    let papillae = noise(at(48.0 * s, 90.0 * t, 1.0)) - 0.5;
    let groove = bell(s - 0.5 - 0.015 * (14.0 * t).sin(), 0.025) * ramp(0.96, 0.8, t);
    flesh * (1.0 + 0.22 * papillae) * (1.0 - 0.32 * groove)
}
