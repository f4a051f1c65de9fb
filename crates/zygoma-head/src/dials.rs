//! The identity of a head: named dials, each a smooth warp of space.
//!
//! Skin, parts, shapes and anatomy all go through the same [`Warp`], so they move together. Soft dials stand for fat and
//! sagging skin: they move the skin in full, bones and teeth not at all, and tissue in between by its softness. Around each
//! eye the warp turns into a similarity, so that eyeballs stay round and lids keep closing over them.

use glam::{DQuat, DVec3};

use crate::HeadError;
use crate::sculpt::eyes;
use crate::sculpt::field::{at, bell, ramp};
use crate::sculpt::lips::{CORNER_X, line_y};

/// A displacement of every point.
type Field = fn(DVec3) -> DVec3;

/// A named dial; its value runs from −1 to 1, and 0 is the template.
#[derive(Clone, Copy, Debug)]
pub struct Dial {
    /// Its name on the command line.
    pub name: &'static str,
    /// The effect of turning it up.
    pub about: &'static str,
    /// Whether it moves soft tissue only, and no bone.
    pub soft: bool,
    field: Field,
}

/// Names of the three dials that act on the eye region as a whole.
const EYE_SIZE: &str = "eye_size";
const EYE_SPACING: &str = "eye_spacing";
const EYE_TILT: &str = "eye_tilt";
const EYE_HEIGHT: &str = "eye_height";

/// Names of the dials that affect only the painted texture.
pub(crate) const SKIN_TONE: &str = "skin_tone";
pub(crate) const HAIR_TONE: &str = "hair_tone";
pub(crate) const EYE_TONE: &str = "eye_tone";

impl Dial {
    /// Whether it changes the head's shape, and not only its colours.
    pub(crate) fn shapes_the_head(&self) -> bool {
        ![SKIN_TONE, HAIR_TONE, EYE_TONE].contains(&self.name)
    }

    /// The offset of a point of the left side at a setting of 1; dials of the eyes have none.
    pub(crate) fn offset(&self, p: DVec3) -> DVec3 {
        STRENGTH * (self.field)(p)
    }
}

fn none(_: DVec3) -> DVec3 {
    DVec3::ZERO
}

/// A bell around a point of the left side and its mirror image, with the offset mirrored too.
fn bump(p: DVec3, centre: DVec3, radii: DVec3, by: DVec3) -> DVec3 {
    let one = |p: DVec3| (-((p - centre) / radii).length_squared()).exp() * by;
    if centre.x == 0.0 {
        return one(p);
    }
    let mirrored = one(at(-p.x, p.y, p.z));
    one(p) + at(-mirrored.x, mirrored.y, mirrored.z)
}

/// Follows the value up to a limit, smoothly.
fn soft_clamp(value: f64, limit: f64) -> f64 {
    limit * (value / limit).tanh()
}

/// 1 in front of the ears.
fn face(p: DVec3) -> f64 {
    ramp(-30.0, 40.0, p.z)
}

/// All dials.
pub const DIALS: [Dial; 36] = [
    Dial { name: "size", about: "the whole head larger", soft: false, field: |p| 0.05 * p },
    Dial {
        name: "face_width",
        about: "a wider face",
        soft: false,
        field: |p| at(0.06 * p.x * ramp(110.0, 30.0, p.y), 0.0, 0.0),
    },
    Dial {
        name: "face_length",
        about: "a longer face below the eyes",
        soft: false,
        field: |p| {
            at(
                0.0,
                0.075 * soft_clamp((p.y - 13.0).min(0.0) + 4.0 * bell(p.y - 13.0, 14.0), 110.0) * face(p),
                0.0,
            )
        },
    },
    Dial {
        name: "cranium_width",
        about: "a wider skull",
        soft: false,
        field: |p| at(0.06 * p.x * ramp(0.0, 70.0, p.y), 0.0, 0.0),
    },
    Dial {
        name: "cranium_height",
        about: "a higher crown",
        soft: false,
        field: |p| at(0.0, 0.11 * (p.y - 40.0).max(0.0) * ramp(40.0, 90.0, p.y), 0.0),
    },
    Dial {
        name: "cranium_depth",
        about: "a deeper back of the head",
        soft: false,
        field: |p| at(0.0, 0.0, 0.09 * (p.z + 10.0).min(0.0) * ramp(-70.0, 20.0, p.y)),
    },
    Dial {
        name: "forehead",
        about: "a fuller, steeper forehead",
        soft: false,
        field: |p| bump(p, at(0.0, 78.0, 84.0), at(55.0, 32.0, 40.0), at(0.0, 0.0, 5.5)),
    },
    Dial {
        name: "brow_ridge",
        about: "a stronger brow ridge",
        soft: false,
        field: |p| bump(p, at(24.0, 38.0, 86.0), at(18.0, 11.0, 22.0), at(0.0, -0.5, 2.6)),
    },
    Dial {
        name: "brow_height",
        about: "higher brows",
        soft: false,
        field: |p| bump(p, at(26.0, 40.0, 86.0), at(20.0, 13.0, 25.0), at(0.0, 2.6, 0.0)),
    },
    Dial { name: EYE_SIZE, about: "larger eyes", soft: false, field: none },
    Dial { name: EYE_SPACING, about: "eyes further apart", soft: false, field: none },
    Dial { name: EYE_TILT, about: "outer corners of the eyes higher", soft: false, field: none },
    Dial { name: EYE_HEIGHT, about: "eyes higher", soft: false, field: none },
    Dial {
        name: "nose_length",
        about: "a longer nose",
        soft: false,
        field: |p| bump(p, at(0.0, -16.0, 104.0), at(17.0, 16.0, 22.0), at(0.0, -3.4, 0.6)),
    },
    Dial {
        name: "nose_width",
        about: "wider wings of the nose",
        soft: false,
        field: |p| {
            at(0.20 * soft_clamp(p.x, 18.0), 0.0, 0.0)
                * bell(p.x, 26.0)
                * bell(p.y + 16.0, 12.0)
                * ramp(78.0, 98.0, p.z)
        },
    },
    Dial {
        name: "nose_bridge",
        about: "a higher bridge of the nose",
        soft: false,
        field: |p| bump(p, at(0.0, 8.0, 98.0), at(11.0, 15.0, 18.0), at(0.0, 0.0, 3.2)),
    },
    Dial {
        name: "nose_tip",
        about: "a tip that points up",
        soft: false,
        field: |p| bump(p, at(0.0, -15.0, 114.0), at(13.0, 11.0, 13.0), at(0.0, 3.2, 0.8)),
    },
    Dial {
        name: "nose_protrusion",
        about: "a nose that stands out",
        soft: false,
        field: |p| bump(p, at(0.0, -13.0, 110.0), at(15.0, 17.0, 20.0), at(0.0, 0.0, 3.6)),
    },
    Dial {
        name: "cheekbones",
        about: "wider, higher cheekbones",
        soft: false,
        field: |p| bump(p, at(54.0, -4.0, 52.0), at(18.0, 15.0, 28.0), at(3.6, 1.0, 1.4)),
    },
    Dial {
        name: "cheeks",
        about: "fuller cheeks",
        soft: true,
        field: |p| bump(p, at(46.0, -36.0, 58.0), at(20.0, 22.0, 28.0), at(4.2, 0.0, 2.2)),
    },
    Dial {
        name: "mouth_width",
        about: "a wider mouth",
        soft: false,
        field: |p| {
            let near = bell(p.y + 46.0, 17.0) * ramp(55.0, 85.0, p.z) * bell(p.x, 40.0);
            at(0.17 * p.x, 0.0, -0.0012 * p.x * p.x) * near
        },
    },
    Dial {
        name: "lip_fullness",
        about: "fuller lips",
        soft: false,
        field: |p| {
            let t = p.y - line_y(p.x.abs().min(CORNER_X));
            let near = bell(p.x, 22.0) * bell(t, 10.0) * ramp(84.0, 100.0, p.z + 0.02 * p.x * p.x);
            at(0.0, 0.28 * t, 1.6) * near
        },
    },
    Dial {
        name: "mouth_height",
        about: "a higher mouth",
        soft: false,
        field: |p| bump(p, at(0.0, -47.0, 96.0), at(34.0, 17.0, 34.0), at(0.0, 2.4, 0.0)),
    },
    Dial {
        name: "muzzle",
        about: "a mouth that stands out",
        soft: false,
        field: |p| bump(p, at(0.0, -46.0, 104.0), at(30.0, 20.0, 30.0), at(0.0, 0.0, 3.2)),
    },
    Dial {
        name: "jaw_width",
        about: "a wider jaw",
        soft: false,
        field: |p| {
            at(
                0.11 * p.x * ramp(-5.0, -50.0, p.y) * ramp(-118.0, -86.0, p.y) * ramp(-35.0, 5.0, p.z),
                0.0,
                0.0,
            )
        },
    },
    Dial {
        name: "jaw_angle",
        about: "a lower, squarer corner of the jaw",
        soft: false,
        field: |p| bump(p, at(50.0, -54.0, 16.0), at(18.0, 18.0, 24.0), at(2.4, -3.6, -1.0)),
    },
    Dial {
        name: "chin_width",
        about: "a broader chin",
        soft: false,
        field: |p| {
            at(0.22 * soft_clamp(p.x, 22.0), 0.0, 0.0) * bell(p.y + 82.0, 17.0) * ramp(50.0, 80.0, p.z)
        },
    },
    Dial {
        name: "chin_length",
        about: "a longer chin",
        soft: false,
        field: |p| bump(p, at(0.0, -90.0, 86.0), at(30.0, 20.0, 34.0), at(0.0, -4.2, 0.0)),
    },
    Dial {
        name: "chin_protrusion",
        about: "a chin that stands out",
        soft: false,
        field: |p| bump(p, at(0.0, -84.0, 96.0), at(24.0, 17.0, 28.0), at(0.0, 0.0, 4.2)),
    },
    Dial {
        name: "ear_size",
        about: "larger ears",
        soft: false,
        field: |p| {
            let near = |x: f64| ramp(64.0, 76.0, x) * bell(p.y - 6.0, 44.0) * bell(p.z + 16.0, 40.0);
            0.10 * (p - at(68.0 * p.x.signum(), 2.0, -8.0)) * near(p.x.abs())
        },
    },
    Dial {
        name: "neck_width",
        about: "a thicker neck",
        soft: false,
        field: |p| {
            let near = ramp(-60.0, -125.0, p.y);
            at(0.12 * p.x, 0.0, 0.12 * (p.z + 26.0)) * near
        },
    },
    Dial {
        name: "weight",
        about: "more fat under the skin",
        soft: true,
        field: |p| {
            bump(p, at(46.0, -42.0, 48.0), at(24.0, 28.0, 34.0), at(5.0, -1.0, 2.0))
                + bump(p, at(0.0, -102.0, 58.0), at(34.0, 18.0, 30.0), at(0.0, -5.0, 0.5))
                + at(0.07 * p.x, 0.0, 0.05 * (p.z + 26.0)) * ramp(-60.0, -125.0, p.y)
        },
    },
    Dial {
        name: "age",
        about: "older: sunken temples, sagging cheeks, thinner lips, a longer nose and ears",
        soft: true,
        field: |p| {
            let t = p.y - line_y(p.x.abs().min(CORNER_X));
            let lips = bell(p.x, 22.0) * bell(t, 10.0) * ramp(84.0, 100.0, p.z + 0.02 * p.x * p.x);
            bump(p, at(62.0, 34.0, 52.0), at(16.0, 20.0, 26.0), at(-2.0, 0.0, -0.6))
                + bump(p, at(42.0, -52.0, 56.0), at(16.0, 16.0, 24.0), at(1.8, -2.4, 0.6))
                + bump(p, at(36.0, -24.0, 74.0), at(13.0, 12.0, 18.0), at(-0.6, -1.0, -1.8))
                + bump(p, at(0.0, -16.0, 106.0), at(15.0, 13.0, 18.0), at(0.0, -1.4, 0.0))
                + at(0.0, -0.14 * t, -0.8) * lips
        },
    },
    Dial { name: SKIN_TONE, about: "darker skin", soft: false, field: none },
    Dial { name: HAIR_TONE, about: "lighter hair", soft: false, field: none },
    Dial { name: EYE_TONE, about: "from blue over green to brown eyes", soft: false, field: none },
];

/// The dial settings of one head, in the order of [`DIALS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DialValues(DialArray<f64>);

impl Default for DialValues {
    fn default() -> Self {
        Self([0.0; DIALS.len()])
    }
}

impl DialValues {
    /// Random settings: most heads lie near the template, none leaves the plausible range.
    pub fn sampled(seed: u64) -> Self {
        const SPREAD: f64 = 1.7;
        let unit = |i: usize, draw: u64| {
            let bits = mixed(seed ^ mixed(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(4 * i as u64 + draw + 1)));
            (bits >> 11) as f64 / (1u64 << 53) as f64
        };
        // The mean of four uniform samples is nearly normal, and bounded.
        Self(std::array::from_fn(|i| {
            let sum: f64 = (0..4).map(|draw| unit(i, draw)).sum();
            (SPREAD * (0.5 * sum - 1.0)).clamp(-1.0, 1.0)
        }))
    }

    /// The value of the dial at an index of [`DIALS`].
    pub(crate) fn at(&self, index: usize) -> f64 {
        self.0[index]
    }

    /// The same settings with another value for the dial at an index of [`DIALS`].
    pub(crate) fn with(mut self, index: usize, value: f64) -> Self {
        self.0[index] = value;
        self
    }

    /// A dial's value; 0 for an unknown name.
    pub fn get(&self, name: &str) -> f64 {
        DIALS.iter().position(|dial| dial.name == name).map_or(0.0, |index| self.0[index])
    }
}

/// Dials set by the caller; the others come from the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DialSettings(DialArray<Option<f64>>);

type DialArray<T> = [T; DIALS.len()];

impl Default for DialSettings {
    fn default() -> Self {
        Self([None; DIALS.len()])
    }
}

impl DialSettings {
    /// Settings of all dials.
    pub(crate) fn of(values: &DialValues) -> Self {
        Self(values.0.map(Some))
    }

    /// Sets a dial by name, to a value from −1 to 1.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), HeadError> {
        let Some(index) = DIALS.iter().position(|dial| dial.name == name) else {
            return Err(HeadError::UnknownDial(name.to_owned()));
        };
        if !(-1.0..=1.0).contains(&value) {
            return Err(HeadError::DialRange { name: name.to_owned(), value });
        }
        self.0[index] = Some(value);
        Ok(())
    }

    /// The values of all dials: as set, or else drawn from a seed. Seed 0 is the template itself.
    pub fn resolved(&self, seed: u64) -> DialValues {
        let drawn = if seed == 0 { DialValues::default() } else { DialValues::sampled(seed) };
        DialValues(std::array::from_fn(|i| self.0[i].unwrap_or(drawn.0[i])))
    }
}

/// A 64-bit hash (splitmix64's finaliser).
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Scale of the dials' fields at a setting of 1; the fields are written down for an ordinary difference between people.
const STRENGTH: f64 = 1.4;

/// The smooth map of template space that makes one particular head, in millimetres.
#[derive(Clone, Debug)]
pub struct Warp {
    /// Dials that move bone and skin alike, with their strengths.
    firm: Vec<(f64, Field)>,
    /// Dials that move soft tissue only.
    soft: Vec<(f64, Field)>,
    eye: EyeFrame,
}

/// The similarity that carries the template's left eye to this head's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EyeFrame {
    /// Centre of the left eyeball.
    pub centre: DVec3,
    /// Its size relative to the template's.
    pub scale: f64,
    /// Rotation of the lids about the viewing axis.
    pub tilt: f64,
}

impl EyeFrame {
    /// Maps a point of template space with the left eye.
    pub(crate) fn apply(&self, p: DVec3) -> DVec3 {
        self.centre + self.scale * (DQuat::from_rotation_z(self.tilt) * (p - eyes::CENTRE))
    }
}

/// The share by which a point of the left side follows the eye rather than the dials' fields.
pub(crate) fn eye_share(left: DVec3) -> f64 {
    let near = 1.0 - ramp(eyes::MARGIN + 3.0, eyes::MARGIN + 24.0, left.distance(eyes::CENTRE));
    // The mirror plane maps to itself.
    near * ramp(0.0, 9.0, left.x)
}

impl Warp {
    /// The warp of a set of dials.
    pub fn new(dials: &DialValues) -> Self {
        let turned = |soft: bool| {
            let dials = DIALS.iter().zip(dials.0).filter(move |(d, value)| d.soft == soft && *value != 0.0);
            dials.map(|(d, v)| (STRENGTH * v, d.field)).collect()
        };
        let eye = EyeFrame { centre: eyes::CENTRE, scale: 1.0, tilt: 0.0 };
        let mut warp = Self { firm: turned(false), soft: turned(true), eye };
        let centre = warp.body(eyes::CENTRE, 0.0);
        const STEP: f64 = 8.0;
        let across = |axis: DVec3| {
            warp.body(eyes::CENTRE + STEP * axis, 0.0).distance(warp.body(eyes::CENTRE - STEP * axis, 0.0))
        };
        let mean = (across(DVec3::X) * across(DVec3::Y) * across(DVec3::Z)).cbrt() / (2.0 * STEP);
        warp.eye = EyeFrame {
            centre: centre + at(2.6 * dials.get(EYE_SPACING), 2.6 * dials.get(EYE_HEIGHT), 0.0),
            scale: mean * (1.0 + 0.10 * dials.get(EYE_SIZE)),
            tilt: 0.12 * dials.get(EYE_TILT),
        };
        warp
    }

    /// This head's left eye.
    pub fn left_eye(&self) -> EyeFrame {
        self.eye
    }

    fn body(&self, p: DVec3, softness: f64) -> DVec3 {
        let sum =
            |dials: &[(f64, Field)]| dials.iter().map(|(value, field)| *value * field(p)).sum::<DVec3>();
        let firm = p + sum(&self.firm);
        if softness == 0.0 { firm } else { firm + softness * sum(&self.soft) }
    }

    /// Maps a point of template space; `softness` runs from 0 for bone to 1 for skin.
    pub fn apply(&self, p: DVec3, softness: f64) -> DVec3 {
        let side = if p.x < 0.0 { -1.0 } else { 1.0 };
        let left = at(p.x.abs(), p.y, p.z);
        let body = self.body(left, softness);
        let warped = body.lerp(self.eye.apply(left), eye_share(left));
        at(side * warped.x.max(0.0), warped.y, warped.z)
    }
}
