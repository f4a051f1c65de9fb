//! Touch scripts: the colliders and grabs of a face, when and where. `docs/touch-scripts.md` describes them for their authors.

mod file;
mod hand;
mod play;

use std::path::Path;

use crate::contact::ColliderMotion;
use crate::model::{FaceModel, Landmarks};
use glam::Vec3;
use toml::Spanned;
use zygoma_physics::contact::ColliderShape;
use zygoma_rig::Error;
use zygoma_rig::formats::Limits;

use super::toml_file;
use file::{PullFile, PushFile, ScriptFile, SphereFile, Where};
pub use hand::ScriptedHand;
pub use play::{Moment, Player, Prop};

/// A fingertip's radius in metres.
const FINGERTIP: f32 = 0.008;

/// Radius of skin pinched by two fingers, in metres, where a script gives none.
const PINCH: f32 = 0.005;

/// Distance that a push keeps from the skin before and after, in metres.
const CLEARANCE: f32 = 0.012;

/// Duration of the approach in seconds, unless the touch is shorter.
const EASE: f64 = 0.3;

/// All touches of a script.
#[derive(Clone, Debug, Default)]
pub struct TouchScript {
    /// The touches, in the order of the file.
    pub touches: Vec<ScriptedTouch>,
    /// The gestures of hands.
    pub hands: Vec<ScriptedHand>,
}

/// One scripted touch.
#[derive(Clone, Debug)]
pub struct ScriptedTouch {
    /// Its name.
    pub name: String,
    /// Start, in seconds since the start of the take.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Whether it moves with the expression.
    follow: bool,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Push {
        at: Place,
        /// Direction of the push, in the head's frame; `None`: into the skin.
        direction: Option<Vec3>,
        depth: f32,
        ease: f64,
        collider: ScriptedCollider,
    },
    Pull {
        at: Place,
        by: Vec3,
        radius: f32,
        ease: f64,
        ease_out: f64,
    },
    Carry {
        keys: Vec<Key>,
        collider: ScriptedCollider,
    },
}

#[derive(Clone, Debug)]
struct ScriptedCollider {
    shape: ColliderShape,
    /// Radius of the tip.
    radius: f32,
    motion: ColliderMotion,
    friction: f32,
}

#[derive(Clone, Debug)]
struct Key {
    time: f64,
    at: Place,
    offset: Vec3,
    /// Along the skin's normal.
    out: f32,
}

/// A point on or near the skin.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// A vertex, and the triangles around it that define the outward normal.
    Vertex { vertex: u32, triangles: Vec<[u32; 3]> },
    /// A position in the head's frame, and the triangles that define its normal.
    Position { position: Vec3, triangles: Vec<[u32; 3]> },
}

impl TouchScript {
    /// Reads a script for a face.
    pub fn read(path: &Path, face: &FaceModel, places: &Landmarks) -> zygoma_rig::Result<Self> {
        let text = zygoma_files::read_text(path, Limits::default().script_bytes)?;
        Self::parse(&text, face, places).map_err(|problem| Error::malformed(path, problem))
    }

    /// Parses the text of a script for a face. Errors name the line.
    pub fn parse(text: &str, face: &FaceModel, places: &Landmarks) -> Result<Self, String> {
        let script: ScriptFile = toml_file::parse(text)?;
        let reader = Reader { text, face, places, unit: script.unit.metres(face.height) };
        let mut touches = Vec::new();
        for (index, push) in script.push.iter().enumerate() {
            touches.push(reader.push(push, index)?);
        }
        for (index, pull) in script.pull.iter().enumerate() {
            touches.push(reader.pull(pull, index)?);
        }
        for (index, sphere) in script.sphere.iter().enumerate() {
            touches.push(reader.sphere(sphere, index)?);
        }
        let mut hands = Vec::new();
        for (index, hand) in script.hand.iter().enumerate() {
            hands.push(reader.hand(hand, index)?);
        }
        Ok(Self { touches, hands })
    }

    /// Whether nothing touches the face.
    pub fn is_empty(&self) -> bool {
        self.touches.is_empty() && self.hands.is_empty()
    }

    /// Whether any touch is active at a time, or was in the last `seconds` before it.
    pub fn is_touched(&self, time: f64, seconds: f64) -> bool {
        let is_during = |from: f64, to: f64| time >= from && time <= to + seconds;
        self.touches.iter().any(|touch| is_during(touch.from, touch.to))
            || self.hands.iter().any(|hand| is_during(hand.from, hand.to))
    }
}

/// Converts the parsed file into touches.
struct Reader<'a> {
    text: &'a str,
    face: &'a FaceModel,
    places: &'a Landmarks,
    /// The script's unit in metres.
    unit: f32,
}

impl Reader<'_> {
    fn line<T>(&self, at: &Spanned<T>) -> usize {
        toml_file::line(self.text, &at.span())
    }

    fn push(&self, written: &Spanned<PushFile>, index: usize) -> Result<ScriptedTouch, String> {
        let line = self.line(written);
        let push = written.get_ref();
        let ease =
            ease(push.from, push.to, push.ease, 2.0).map_err(|problem| format!("line {line}: {problem}"))?;
        let radius = push.radius.map_or(FINGERTIP, |radius| self.unit * radius);
        let length = push.length.map(|length| self.unit * length);
        let collider = collider(radius, length, push.force, push.friction)
            .map_err(|problem| format!("line {line}: {problem}"))?;
        let direction = push.direction.map(Vec3::from_array);
        if direction.is_some_and(|d| d.try_normalize().is_none()) {
            return Err(format!("line {line}: the direction has no length"));
        }
        if !push.depth.is_finite() {
            return Err(format!("line {line}: the depth is not a number"));
        }
        Ok(ScriptedTouch {
            name: push.name.clone().unwrap_or_else(|| format!("push {}", index + 1)),
            from: push.from,
            to: push.to,
            follow: push.follow,
            action: Action::Push {
                at: self.spot(&push.at)?,
                direction: direction.map(Vec3::normalize_or_zero),
                depth: self.unit * push.depth,
                ease,
                collider,
            },
        })
    }

    fn pull(&self, written: &Spanned<PullFile>, index: usize) -> Result<ScriptedTouch, String> {
        let line = self.line(written);
        let pull = written.get_ref();
        let ease_in =
            ease(pull.from, pull.to, pull.ease, 1.0).map_err(|problem| format!("line {line}: {problem}"))?;
        let by = self.unit * Vec3::from_array(pull.by);
        let radius = pull.radius.map_or(PINCH, |radius| self.unit * radius);
        if !(by.is_finite() && radius > 0.0 && radius.is_finite()) {
            return Err(format!("line {line}: a pull needs finite numbers and a radius above 0"));
        }
        if !(pull.ease_out >= 0.0 && pull.ease_out + ease_in <= pull.to - pull.from + 1e-9) {
            return Err(format!("line {line}: ease and ease_out together are longer than from … to"));
        }
        Ok(ScriptedTouch {
            name: pull.name.clone().unwrap_or_else(|| format!("pull {}", index + 1)),
            from: pull.from,
            to: pull.to,
            follow: pull.follow,
            action: Action::Pull {
                at: self.spot(&pull.at)?,
                by,
                radius,
                ease: ease_in,
                ease_out: pull.ease_out,
            },
        })
    }

    fn sphere(&self, written: &Spanned<SphereFile>, index: usize) -> Result<ScriptedTouch, String> {
        let line = self.line(written);
        let sphere = written.get_ref();
        let keys = sphere.keys.iter().map(|key| {
            Ok(Key {
                time: key.time,
                at: self.spot(&key.at)?,
                offset: self.unit * Vec3::from_array(key.offset),
                out: self.unit * key.out,
            })
        });
        let keys: Vec<Key> = keys.collect::<Result<_, String>>()?;
        let increasing = keys.windows(2).all(|pair| pair[0].time < pair[1].time);
        let finite = keys.iter().all(|k| k.time.is_finite() && k.offset.is_finite() && k.out.is_finite());
        let (Some(first), Some(last), true) = (keys.first(), keys.last(), increasing && finite) else {
            return Err(format!("line {line}: a sphere needs keys whose times increase"));
        };
        let collider = collider(self.unit * sphere.radius, None, sphere.force, sphere.friction)
            .map_err(|problem| format!("line {line}: {problem}"))?;
        Ok(ScriptedTouch {
            name: sphere.name.clone().unwrap_or_else(|| format!("sphere {}", index + 1)),
            from: first.time,
            to: last.time,
            follow: sphere.follow,
            action: Action::Carry { keys, collider },
        })
    }

    fn spot(&self, at: &Spanned<Where>) -> Result<Place, String> {
        match at.get_ref() {
            Where::Named(name) => {
                let place = self.places.find(name).ok_or_else(|| self.no_place(name, self.line(at)))?;
                let triangles = around(self.face, place.vertex);
                Ok(Place::Vertex { vertex: place.vertex, triangles })
            }
            Where::Position(position) => {
                let position = self.unit * *position;
                if !position.is_finite() {
                    return Err(format!("line {}: the position is not finite", self.line(at)));
                }
                let nearest = nearest_skin(self.face, position);
                Ok(Place::Position { position, triangles: around(self.face, nearest) })
            }
        }
    }

    fn no_place(&self, name: &str, line: usize) -> String {
        match self.places.similar(name) {
            Some(place) => {
                format!("line {line}: there is no place '{name}'; did you mean '{}'?", place.name)
            }
            None => {
                let known: Vec<&str> = self.places.iter().map(|place| place.name.as_str()).collect();
                format!("line {line}: there is no place '{name}'; there are {}", known.join(", "))
            }
        }
    }
}

/// Seconds of easing, which must fit `times` into the time between `from` and `to`.
fn ease(from: f64, to: f64, given: Option<f64>, times: f64) -> Result<f64, String> {
    if !(from.is_finite() && to.is_finite() && from < to) {
        return Err("'from' must be before 'to'".to_owned());
    }
    let most = (to - from) / times;
    match given {
        None => Ok(EASE.min(most)),
        Some(ease) if ease >= 0.0 && ease <= most + 1e-9 => Ok(ease),
        Some(ease) => Err(format!("an ease of {ease} s does not fit between {from} and {to} s")),
    }
}

fn collider(
    radius: f32,
    length: Option<f32>,
    force: Option<f32>,
    friction: f32,
) -> Result<ScriptedCollider, String> {
    let is_size = |size: f32| size > 0.0 && size.is_finite();
    if !is_size(radius) {
        return Err("the radius must be above 0".to_owned());
    }
    if !(friction >= 0.0 && friction.is_finite()) {
        return Err("friction must be 0 or more".to_owned());
    }
    let motion = match force {
        None => ColliderMotion::Kinematic,
        Some(force) if is_size(force) => ColliderMotion::Bounded { force },
        Some(_) => return Err("the force must be above 0".to_owned()),
    };
    let shape = match length {
        None => ColliderShape::Sphere { radius },
        Some(length) if length.is_finite() && length > 2.0 * radius => {
            ColliderShape::Capsule { half_length: 0.5 * length - radius, radius }
        }
        Some(_) => return Err("a finger must be longer than its diameter".to_owned()),
    };
    Ok(ScriptedCollider { shape, radius, motion, friction })
}

/// Triangles near a vertex, whose mean normal a fingertip would feel.
fn around(face: &FaceModel, vertex: u32) -> Vec<[u32; 3]> {
    let centre = face.neutral[vertex as usize];
    let own = |t: &&[u32; 3]| {
        t.contains(&vertex) || t.iter().all(|v| face.neutral[*v as usize].distance(centre) < FINGERTIP)
    };
    let normal = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| face.neutral[v as usize]);
        (b - a).cross(c - a)
    };
    let near: Vec<[u32; 3]> = face.triangles.iter().filter(own).copied().collect();
    let here: Vec3 = near.iter().filter(|t| t.contains(&vertex)).map(normal).sum();
    // The other side of an ear or lip is near as well, and is ignored.
    near.into_iter().filter(|t| normal(t).dot(here) > 0.0).collect()
}

fn nearest_skin(face: &FaceModel, position: Vec3) -> u32 {
    let distance = |v: &&u32| face.neutral[**v as usize].distance_squared(position);
    face.skin.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
