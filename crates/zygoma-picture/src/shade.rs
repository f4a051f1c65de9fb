//! Light and material: a portrait studio that moves with the camera.
//!
//! A warm key light from the upper left, a weak cool fill from the right, two rims from behind, and a sky
//! over a warm ground. Skin is lit by wrapped diffuse light, wider in red than in blue, which gives the soft
//! red terminator of light that has travelled under the surface, at the price of one more multiplication.

use glam::Vec3;

use crate::scene::Finish;
use crate::soften::Arrival;

/// A directional light: the direction it comes from, in view coordinates, and its linear colour.
struct Light {
    from: Vec3,
    color: Vec3,
}

/// The direction of the key light, in view coordinates (not normalised).
pub(crate) const KEY_FROM: Vec3 = Vec3::new(-0.62, 0.72, 0.80);
const KEY: Light = Light { from: KEY_FROM, color: Vec3::new(1.28, 1.20, 1.12) };
const FILL: Light = Light { from: Vec3::new(0.95, 0.10, 0.65), color: Vec3::new(0.30, 0.33, 0.38) };
const RIMS: [Light; 2] = [
    Light { from: Vec3::new(0.85, 0.45, -0.75), color: Vec3::new(0.90, 0.95, 1.05) },
    Light { from: Vec3::new(-0.90, 0.30, -0.85), color: Vec3::new(0.55, 0.52, 0.50) },
];
const SKY: Vec3 = Vec3::new(0.37, 0.40, 0.44);
const GROUND: Vec3 = Vec3::new(0.215, 0.185, 0.17);

/// How a finish reflects light.
struct Material {
    /// How far diffuse light reaches around the terminator, per channel.
    wrap: Vec3,
    /// How quickly occlusion and shadows darken, per channel: red stays longest in skin.
    hollow: Vec3,
    /// Gloss exponent and strength of a broad and a narrow lobe.
    gloss: [(f32, f32); 2],
    /// Strength of the rim light at outlines.
    rim: f32,
}

const SKIN: Material = Material {
    wrap: Vec3::new(0.38, 0.20, 0.14),
    hollow: Vec3::new(0.72, 1.05, 1.15),
    gloss: [(14.0, 0.10), (60.0, 0.055)],
    rim: 0.34,
};
const MATTE: Material =
    Material { wrap: Vec3::splat(0.18), hollow: Vec3::ONE, gloss: [(10.0, 0.03), (1.0, 0.0)], rim: 0.30 };
const WET: Material = Material {
    wrap: Vec3::new(0.28, 0.22, 0.20),
    hollow: Vec3::new(0.8, 1.0, 1.05),
    gloss: [(40.0, 0.10), (400.0, 0.9)],
    rim: 0.15,
};

/// A point to be shaded.
pub(crate) struct Lit {
    /// Linear colour of the paint.
    pub(crate) albedo: Vec3,
    /// Unit normal towards the eye, in view coordinates.
    pub(crate) normal: Vec3,
    /// Unit direction towards the eye.
    pub(crate) to_eye: Vec3,
    /// The scene's up in view coordinates.
    pub(crate) up: Vec3,
    /// The light that arrives there.
    pub(crate) arrival: Arrival,
}

/// Linear light reflected from a point towards the eye.
pub(crate) fn shade(finish: Finish, lit: &Lit) -> Vec3 {
    match finish {
        Finish::Skin => studio(&SKIN, lit),
        Finish::Matte => studio(&MATTE, lit),
        Finish::Wet => studio(&WET, lit),
        Finish::Chart => chart(lit),
    }
}

fn studio(material: &Material, lit: &Lit) -> Vec3 {
    let ambient = power(lit.arrival.ambient, material.hollow);
    let key_arrives = power(lit.arrival.key, material.hollow) * Vec3::ONE.lerp(ambient, 0.5);
    let up = 0.5 + 0.5 * lit.normal.dot(lit.up);
    let mut diffuse = GROUND.lerp(SKY, up) * ambient;
    diffuse += KEY.color * key_arrives * wrapped(lit.normal, KEY.from, material.wrap);
    diffuse += FILL.color * ambient * wrapped(lit.normal, FILL.from, material.wrap);
    let mut gloss = KEY.color * key_arrives * glossy(material, lit, KEY.from);
    gloss += FILL.color * ambient * glossy(material, lit, FILL.from);
    // Outlines catch the rims: grazing reflection grows as Schlick's fifth power, here the third for softness.
    let grazing = (1.0 - lit.normal.dot(lit.to_eye).clamp(0.0, 1.0)).powi(3);
    for rim in &RIMS {
        let facing = (lit.normal.dot(rim.from.normalize()) + 0.25).max(0.0);
        gloss += rim.color * ambient * (material.rim * grazing * facing);
    }
    shoulder(lit.albedo * diffuse + gloss)
}

/// Shading that stays comparable with a legend: one soft white light from near the eye.
fn chart(lit: &Lit) -> Vec3 {
    let facing = lit.normal.dot(Vec3::new(-0.25, 0.35, 0.9).normalize()).max(0.0);
    let ambient = 0.45 + 0.55 * lit.arrival.ambient;
    lit.albedo * (ambient * (0.42 + 0.58 * facing))
}

/// Diffuse light that wraps around the terminator by `wrap`, and falls to zero without a kink.
fn wrapped(normal: Vec3, from: Vec3, wrap: Vec3) -> Vec3 {
    let facing = normal.dot(from.normalize());
    wrap.map(|w| ((facing + w) / (1.0 + w)).max(0.0).powf(1.0 + w))
}

fn glossy(material: &Material, lit: &Lit, from: Vec3) -> f32 {
    let half = (from.normalize() + lit.to_eye).normalize_or_zero();
    let across = lit.normal.dot(half).max(0.0);
    let facing = lit.normal.dot(from).clamp(0.0, 1.0);
    let lobes = material.gloss.iter().map(|(exponent, strength)| strength * across.powf(*exponent));
    lobes.sum::<f32>() * facing
}

fn power(share: f32, exponents: Vec3) -> Vec3 {
    exponents.map(|exponent| share.max(0.0).powf(exponent))
}

/// Tone curve: leaves dark and middle tones alone and compresses the brightest ones towards white, so that none clips.
fn shoulder(light: Vec3) -> Vec3 {
    const START: f32 = 0.62;
    light.map(|x| if x <= START { x } else { 1.0 - (1.0 - START) * (-(x - START) / (1.0 - START)).exp() })
}
