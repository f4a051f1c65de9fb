//! Colours: display sRGB in the crate's interface, linear light inside, OKLab for interpolation.
//!
//! OKLab is the perceptual space of [Ottosson 2020] *A perceptual color space for image processing*; its
//! matrices are those of that text.

use glam::{Mat3, Vec3};

use crate::Rgb;

/// Light skin, the default paint of heads.
pub const SKIN: Rgb = [0.83, 0.65, 0.575];
/// Warm grey sculptor's clay.
pub const CLAY: Rgb = [0.74, 0.69, 0.65];
/// The white of the eye.
pub const EYE: Rgb = [0.93, 0.92, 0.90];
/// Teeth.
pub const TEETH: Rgb = [0.92, 0.89, 0.82];
/// Gums, tongue and the inside of the mouth.
pub const GUMS: Rgb = [0.70, 0.38, 0.36];
/// Dry bone.
pub const BONE: Rgb = [0.88, 0.84, 0.74];

/// Linear light of the grey that stands for a missing colour.
pub(crate) const UNKNOWN_LIGHT: Vec3 = Vec3::splat(0.26);

/// Linear light of one sRGB channel (IEC 61966-2-1).
pub fn linear_from_srgb(channel: f32) -> f32 {
    if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
}

/// The inverse of [`linear_from_srgb`].
pub fn srgb_from_linear(light: f32) -> f32 {
    if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

/// Linear light of an sRGB colour.
pub fn to_linear(color: Rgb) -> Vec3 {
    Vec3::from_array(color.map(linear_from_srgb))
}

/// sRGB colour of linear light, clamped to the display's range.
pub fn to_srgb(light: Vec3) -> Rgb {
    light.to_array().map(|channel| srgb_from_linear(channel.clamp(0.0, 1.0)))
}

/// The eight-bit form of a colour; a NaN becomes 0.
pub fn to_bytes(color: Rgb) -> [u8; 3] {
    color.map(|channel| (channel.clamp(0.0, 1.0) * 255.0).round() as u8)
}

/// Linear light to OKLab (lightness, green to red, blue to yellow).
pub fn oklab_from_linear(light: Vec3) -> Vec3 {
    let to_cones = Mat3::from_cols(
        Vec3::new(0.412_221_46, 0.211_903_5, 0.088_302_46),
        Vec3::new(0.536_332_55, 0.680_699_5, 0.281_718_85),
        Vec3::new(0.051_445_995, 0.107_396_96, 0.629_978_7),
    );
    let to_lab = Mat3::from_cols(
        Vec3::new(0.210_454_26, 1.977_998_5, 0.025_904_037),
        Vec3::new(0.793_617_8, -2.428_592_2, 0.782_771_77),
        Vec3::new(-0.004_072_047, 0.450_593_7, -0.808_675_77),
    );
    to_lab * (to_cones * light).map(f32::cbrt)
}

/// The inverse of [`oklab_from_linear`]; channels may leave 0..1 outside the display's gamut.
pub fn linear_from_oklab(lab: Vec3) -> Vec3 {
    let to_cones = Mat3::from_cols(
        Vec3::new(1.0, 1.0, 1.0),
        Vec3::new(0.396_337_78, -0.105_561_346, -0.089_484_18),
        Vec3::new(0.215_803_76, -0.063_854_17, -1.291_485_5),
    );
    let to_light = Mat3::from_cols(
        Vec3::new(4.076_741_7, -1.268_438, -0.004_196_086_3),
        Vec3::new(-3.307_711_6, 2.609_757_4, -0.703_418_6),
        Vec3::new(0.230_969_94, -0.341_319_38, 1.707_614_7),
    );
    to_light * (to_cones * lab).map(|cone| cone * cone * cone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_round_trips_every_byte() {
        for byte in 0..=255_u8 {
            let light = to_linear([f32::from(byte) / 255.0; 3]);
            assert_eq!(to_bytes(to_srgb(light)), [byte; 3]);
        }
    }

    #[test]
    fn oklab_inverts_and_gives_white_lightness_one() {
        let white = oklab_from_linear(Vec3::ONE);
        assert!(white.abs_diff_eq(Vec3::X, 1e-4), "{white}");
        for light in [Vec3::new(0.2, 0.5, 0.9), Vec3::X, Vec3::Y, Vec3::Z] {
            assert!(linear_from_oklab(oklab_from_linear(light)).abs_diff_eq(light, 1e-4));
        }
    }
}
