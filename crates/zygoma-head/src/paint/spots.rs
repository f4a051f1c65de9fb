//! Freckles and moles, scattered over the face by the seed.

use glam::DVec2;

use super::layers::Layers;
use super::{Palette, SIZE};
use crate::dice::Dice;
use crate::sculpt::field::{at, ramp};

/// Paints freckles, most of them where cheeks and nose redden in the sun, and moles anywhere.
pub(super) fn paint(palette: &Palette, layers: &Layers, pixels: &mut [[u8; 3]]) {
    if layers.face.is_empty() {
        return;
    }
    let mut dice = Dice::new(palette.seed ^ 0xF4EC);
    let place = |dice: &mut Dice| {
        let triangle = layers.face[(dice.unit() * layers.face.len() as f64) as usize % layers.face.len()];
        let (a, b) = (dice.unit(), dice.unit());
        let (a, b) = if a + b > 1.0 { (1.0 - a, 1.0 - b) } else { (a, b) };
        triangle[0] + a * (triangle[1] - triangle[0]) + b * (triangle[2] - triangle[0])
    };
    for _ in 0..palette.freckles {
        let middle = place(&mut dice);
        let sun = layers.pixels.get(index(middle)).map_or(0.0, |layer| f64::from(layer.blush) / 255.0);
        let (radius, strength) = (dice.between(1.6, 4.2), dice.between(0.1, 0.45) * (0.25 + 1.3 * sun));
        dot(palette, layers, pixels, middle, radius, strength);
    }
    for _ in 0..palette.moles {
        let middle = place(&mut dice);
        let (radius, strength) = (dice.between(2.5, 6.0), dice.between(0.4, 0.75));
        dot(palette, layers, pixels, middle, radius, strength);
    }
}

fn index(p: DVec2) -> usize {
    p.y as usize * SIZE as usize + p.x as usize % SIZE as usize
}

fn dot(
    palette: &Palette,
    layers: &Layers,
    pixels: &mut [[u8; 3]],
    middle: DVec2,
    radius: f64,
    strength: f64,
) {
    let brown = palette.skin * at(0.62, 0.48, 0.40);
    let reach = radius.ceil() as i64 + 1;
    for dy in -reach..=reach {
        for dx in -reach..=reach {
            let p = middle + DVec2::new(dx as f64, dy as f64);
            let index = index(p);
            // Neither on lips nor over hair.
            let bare = layers
                .pixels
                .get(index)
                .is_some_and(|l| l.shown && l.lip < 20 && l.hair < 40 && l.mouth == 0);
            if !bare {
                continue;
            }
            let off = (p.floor() + 0.5 - middle).length();
            let share = strength * ramp(radius, 0.4 * radius, off);
            let wanted = brown * 255.0;
            for (channel, to) in pixels[index].iter_mut().zip(wanted.to_array()) {
                *channel = (f64::from(*channel) * (1.0 - share) + to * share) as u8;
            }
        }
    }
}
