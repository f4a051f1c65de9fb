//! Mixes the colours of one person's skin. In single precision, since it runs for millions of pixels.

use glam::Vec3;

use super::layers::Layer;
use super::{MOUTH, POCKET, Palette};

/// The skin's colours of one person.
pub(super) struct Skin {
    skin: Vec3,
    blush: Vec3,
    shade: Vec3,
    lip: Vec3,
    hair: Vec3,
    bristle: Vec3,
    mouth: [Vec3; 2],
    scalp: f32,
    stubble: f32,
    redness: f32,
    uneven: f32,
}

const LINER: Vec3 = Vec3::new(0.30, 0.17, 0.15);
/// Veins are bluish.
const VEIN: Vec3 = Vec3::new(0.90, 0.94, 1.0);
const BRISTLE: Vec3 = Vec3::new(0.75, 0.80, 0.90);

/// An amount of a layer, from 0 to 1.
fn share(byte: u8) -> f32 {
    f32::from(byte) * (1.0 / 255.0)
}

/// The same from −1 to 1.
fn swing(byte: u8) -> f32 {
    f32::from(byte) * (2.0 / 255.0) - 1.0
}

impl Skin {
    pub(super) fn new(palette: &Palette) -> Self {
        let hair = palette.hair.as_vec3();
        Self {
            skin: palette.skin.as_vec3(),
            blush: palette.blush.as_vec3(),
            shade: palette.shade.as_vec3(),
            lip: palette.lip.as_vec3(),
            hair,
            bristle: hair * BRISTLE,
            mouth: [MOUTH, POCKET].map(|inside| palette.skin.lerp(inside, 0.9).as_vec3()),
            scalp: palette.scalp as f32,
            stubble: palette.stubble as f32,
            redness: palette.redness as f32,
            uneven: palette.uneven as f32,
        }
    }

    /// The colour of a pixel.
    pub(super) fn color(&self, layer: &Layer) -> [u8; 3] {
        let color = match layer.mouth {
            0 => self.outer(layer),
            inside => self.mouth[usize::from(inside - 1)],
        };
        (color * 255.0 + 0.5).to_array().map(|c| c as u8)
    }

    fn outer(&self, layer: &Layer) -> Vec3 {
        let tone = 0.045 * swing(layer.cloud) + 0.035 * swing(layer.mottle);
        let mut color = self.skin * (1.0 + self.uneven * tone);
        let red = self.redness * (share(layer.blush) + 0.10 * self.uneven * swing(layer.mottle));
        color = color.lerp(self.blush, red.clamp(0.0, 0.9));
        color = color.lerp(self.shade, share(layer.shade));
        color = color.lerp(color * VEIN, share(layer.vein));
        color *= (1.0 - 0.15 * share(layer.pores)) * (1.0 + 0.022 * swing(layer.grain));
        if layer.beard > 0 && self.stubble > 0.0 {
            let bristle = 0.30 + 0.70 * ((share(layer.grain) - 0.55) * 4.0).clamp(0.0, 1.0);
            color = color.lerp(self.bristle, 0.42 * self.stubble * share(layer.beard) * bristle);
        }
        if layer.lip > 0 {
            color = color.lerp(self.lip * (0.97 + 0.05 * swing(layer.grain)), share(layer.lip));
        }
        if layer.liner > 0 {
            color = color.lerp(LINER, share(layer.liner));
        }
        color = color.lerp(self.hair, 0.30 * share(layer.brow));
        color.lerp(self.hair, self.scalp * share(layer.hair) * (0.7 + 0.3 * share(layer.grain)))
    }
}
