//! The file format of touch scripts: TOML tables whose errors are reported with their line.

use glam::Vec3;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use toml::Spanned;

use super::hand::HandFile;

/// A whole script.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ScriptFile {
    pub(super) unit: Unit,
    pub(super) push: Vec<Spanned<PushFile>>,
    pub(super) pull: Vec<Spanned<PullFile>>,
    pub(super) sphere: Vec<Spanned<SphereFile>>,
    pub(super) hand: Vec<Spanned<HandFile>>,
}

/// The unit of lengths.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
pub(super) enum Unit {
    #[default]
    #[serde(rename = "mm")]
    Millimetre,
    #[serde(rename = "cm")]
    Centimetre,
    #[serde(rename = "m")]
    Metre,
    /// The height of the face.
    #[serde(rename = "height")]
    Height,
}

impl Unit {
    /// Its length in metres on a face of the given height.
    pub(super) fn metres(self, height: f64) -> f32 {
        match self {
            Self::Millimetre => 1e-3,
            Self::Centimetre => 1e-2,
            Self::Metre => 1.0,
            Self::Height => height as f32,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushFile {
    pub(super) name: Option<String>,
    pub(super) at: Spanned<Where>,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) depth: f32,
    pub(super) radius: Option<f32>,
    pub(super) length: Option<f32>,
    pub(super) direction: Option<[f32; 3]>,
    pub(super) ease: Option<f64>,
    pub(super) force: Option<f32>,
    #[serde(default)]
    pub(super) friction: f32,
    #[serde(default = "yes")]
    pub(super) follow: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PullFile {
    pub(super) name: Option<String>,
    pub(super) at: Spanned<Where>,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) by: [f32; 3],
    pub(super) radius: Option<f32>,
    pub(super) ease: Option<f64>,
    #[serde(default)]
    pub(super) ease_out: f64,
    #[serde(default = "yes")]
    pub(super) follow: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SphereFile {
    pub(super) name: Option<String>,
    pub(super) radius: f32,
    pub(super) force: Option<f32>,
    #[serde(default)]
    pub(super) friction: f32,
    #[serde(default = "yes")]
    pub(super) follow: bool,
    pub(super) keys: Vec<KeyFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyFile {
    pub(super) time: f64,
    pub(super) at: Spanned<Where>,
    #[serde(default)]
    pub(super) offset: [f32; 3],
    #[serde(default)]
    pub(super) out: f32,
}

fn yes() -> bool {
    true
}

/// A landmark by its name, or a position.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Where {
    Named(String),
    Position(Vec3),
}

impl<'de> Deserialize<'de> for Where {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WhereVisitor;
        impl<'de> Visitor<'de> for WhereVisitor {
            type Value = Where;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a place, such as \"chin\", or a position [x, y, z]")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Where, E> {
                Ok(Where::Named(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Where, A::Error> {
                let mut position = Vec3::ZERO;
                for axis in 0..3 {
                    let number = numbers.next_element::<f32>()?;
                    position[axis] = number.ok_or_else(|| A::Error::invalid_length(axis, &self))?;
                }
                match numbers.next_element::<f32>()? {
                    None => Ok(Where::Position(position)),
                    Some(_) => Err(A::Error::invalid_length(4, &self)),
                }
            }
        }
        deserializer.deserialize_any(WhereVisitor)
    }
}
