//! Animation samplers: values of any width over time.

use std::sync::Arc;

use glam::{DQuat, DVec3, DVec4};

use super::import::Reader;
use super::scene::{Pose, normalized};
use crate::Result;
use crate::formats::Limits;

/// Interpolation between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Step,
    Linear,
    Cubic,
}

/// Values of one width over time. For cubics every key has an incoming tangent, a value and an outgoing tangent.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) times: Arc<[f64]>,
    pub(super) mode: Mode,
    width: usize,
    values: Vec<f32>,
}

/// The three parts of a cubic key.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Incoming,
    Value,
    Outgoing,
}

impl Curve {
    /// Number `k` of a key.
    pub(super) fn at(&self, key: usize, part: Part, k: usize) -> f32 {
        let row = match (self.mode, part) {
            (Mode::Cubic, Part::Incoming) => 3 * key,
            (Mode::Cubic, Part::Value) => 3 * key + 1,
            (Mode::Cubic, Part::Outgoing) => 3 * key + 2,
            _ => key,
        };
        self.values[row * self.width + k]
    }

    /// Number `k` of every key.
    pub(super) fn column(&self, part: Part, k: usize) -> Vec<f32> {
        (0..self.times.len()).map(|key| self.at(key, part, k)).collect()
    }

    fn four(&self, key: usize, part: Part) -> DVec4 {
        let number = |k: usize| if k < self.width { f64::from(self.at(key, part, k)) } else { 0.0 };
        DVec4::new(number(0), number(1), number(2), number(3))
    }

    /// The value at a time, as up to four numbers (glTF 2.0, appendix C).
    fn sample(&self, time: f64, is_rotation: bool) -> DVec4 {
        let after = self.times.partition_point(|key| *key <= time);
        if after == 0 || after == self.times.len() {
            return self.four(after.saturating_sub(1), Part::Value);
        }
        let (from, to) = (after - 1, after);
        let length = self.times[to] - self.times[from];
        let t = (time - self.times[from]) / length;
        let (start, end) = (self.four(from, Part::Value), self.four(to, Part::Value));
        match self.mode {
            Mode::Step => start,
            Mode::Linear if is_rotation => {
                let (start, end) = (quaternion(start), quaternion(end));
                DVec4::from(start.slerp(end, t))
            }
            Mode::Linear => start.lerp(end, t),
            Mode::Cubic => {
                let leave = length * self.four(from, Part::Outgoing);
                let arrive = length * self.four(to, Part::Incoming);
                let (t2, t3) = (t * t, t * t * t);
                (2.0 * t3 - 3.0 * t2 + 1.0) * start
                    + (t3 - 2.0 * t2 + t) * leave
                    + (3.0 * t2 - 2.0 * t3) * end
                    + (t3 - t2) * arrive
            }
        }
    }
}

fn quaternion(v: DVec4) -> DQuat {
    normalized(DQuat::from_vec4(v))
}

/// The property of a node's pose that an animation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PosePart {
    Translation,
    Rotation,
    Scale,
}

impl PosePart {
    /// The property that an animation path names.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        Some(match path {
            "translation" => Self::Translation,
            "rotation" => Self::Rotation,
            "scale" => Self::Scale,
            _ => return None,
        })
    }

    /// Numbers per key.
    pub(super) fn width(self) -> usize {
        if self == Self::Rotation { 4 } else { 3 }
    }

    /// Writes the curve's value at a time into a pose.
    pub(super) fn apply(self, curve: &Curve, time: f64, pose: &mut Pose) {
        let value = curve.sample(time, self == Self::Rotation);
        let vector = DVec3::new(value.x, value.y, value.z);
        *pose = pose.without_shear();
        match self {
            Self::Translation => pose.translation = vector,
            Self::Rotation => pose.rotation = quaternion(value),
            Self::Scale => pose.scale = vector,
        }
    }
}

/// Reads a sampler whose keys hold `width` numbers each.
pub(super) fn read_curve(
    reader: &Reader,
    animation: usize,
    sampler: usize,
    width: usize,
    limits: &Limits,
) -> Result<Curve> {
    let error = |problem: String| {
        reader.document.malformed(format!("sampler {sampler} of animation {animation}: {problem}"))
    };
    let entry = reader.schema.animations[animation]
        .samplers
        .get(sampler)
        .ok_or_else(|| error("there is no such sampler".into()))?;
    let mode = match entry.interpolation.as_deref().unwrap_or("LINEAR") {
        "LINEAR" => Mode::Linear,
        "STEP" => Mode::Step,
        "CUBICSPLINE" => Mode::Cubic,
        other => return Err(error(format!("its interpolation \"{other}\" is unknown"))),
    };
    let keys = reader.accessors.count(entry.input)?;
    if keys == 0 || keys > limits.keys {
        return Err(error(format!("it has {keys} keys, and from 1 to {} are allowed", limits.keys)));
    }
    let times = reader.accessors.vectors::<1>(entry.input, None)?;
    let times: Arc<[f64]> = times.into_iter().map(|[time]| f64::from(time)).collect();
    if let Some(key) =
        (0..keys).find(|key| !times[*key].is_finite() || *key > 0 && times[*key] <= times[key - 1])
    {
        return Err(error(format!("key {key} at {} s does not come after the one before it", times[key])));
    }
    let rows = keys * if mode == Mode::Cubic { 3 } else { 1 };
    let values: Vec<f32> = match width {
        3 if is_vector(reader, entry.output) => flat::<3>(reader, entry.output, rows)?,
        4 if is_vector(reader, entry.output) => flat::<4>(reader, entry.output, rows)?,
        _ => {
            let found = reader.accessors.count(entry.output)?;
            if Some(found) != rows.checked_mul(width) {
                let problem =
                    format!("it has {found} values where {keys} keys of {width} weights need another number");
                return Err(error(problem));
            }
            flat::<1>(reader, entry.output, found)?
        }
    };
    if let Some(broken) = values.iter().position(|value| !value.is_finite()) {
        return Err(error(format!("value {broken} is not finite")));
    }
    Ok(Curve { times, mode, width, values })
}

fn is_vector(reader: &Reader, accessor: usize) -> bool {
    reader.schema.accessors.get(accessor).is_some_and(|accessor| accessor.shape != "SCALAR")
}

fn flat<const N: usize>(reader: &Reader, accessor: usize, count: usize) -> Result<Vec<f32>> {
    Ok(reader.accessors.vectors::<N>(accessor, Some(count))?.into_iter().flatten().collect())
}
