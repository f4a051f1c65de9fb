//! Touch scripts: what presses on a face and pulls at it, when and where. `docs/touch-scripts.md` describes them for
//! their writers.

mod file;
mod play;

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use glam::Vec3;
use toml::Spanned;
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_physics::contact::ColliderShape;
use zygoma_rig::formats::Limits;

use crate::toml_file;
use file::{PullFile, PushFile, ScriptFile, SphereFile, Where};
pub(crate) use play::{Moment, Player, Prop};

/// A fingertip's radius in metres.
const FINGERTIP: f32 = 0.008;

/// Skin held by two fingers: the radius in metres, where a script gives none.
const PINCH: f32 = 0.005;

/// What a push keeps away from the skin before and after, in metres.
const CLEARANCE: f32 = 0.012;

/// Seconds of going in, unless the time is shorter.
const EASE: f64 = 0.3;

/// Everything that happens to a face.
#[derive(Clone, Debug, Default)]
pub(crate) struct TouchScript {
    pub(crate) touches: Vec<ScriptedTouch>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedTouch {
    pub(crate) name: String,
    /// Seconds since the take's start between which it happens.
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Whether it moves with the expression.
    follow: bool,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Push {
        at: Spot,
        /// Which way it presses, in the head's frame; `None`: into the skin.
        direction: Option<Vec3>,
        depth: f32,
        ease: f64,
        collider: ScriptedCollider,
    },
    Pull {
        at: Spot,
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
    /// Radius of the end that touches.
    radius: f32,
    drive: ColliderMotion,
    friction: f32,
}

#[derive(Clone, Debug)]
struct Key {
    time: f64,
    at: Spot,
    offset: Vec3,
    /// Along the skin's normal.
    out: f32,
}

/// A place on or near the skin.
#[derive(Clone, Debug, PartialEq)]
enum Spot {
    /// A vertex, and the triangles around it that tell which way is out.
    Vertex { vertex: u32, triangles: Vec<[u32; 3]> },
    /// A position in the head's frame, and the vertex whose normal counts there.
    Position { position: Vec3, triangles: Vec<[u32; 3]> },
}

impl TouchScript {
    /// Reads a script for a face.
    pub(crate) fn read(path: &Path, face: &FaceModel, places: &Landmarks) -> anyhow::Result<Self> {
        let text = zygoma_files::read_text(path, Limits::default().script_bytes)?;
        Self::parse(&text, face, places).with_context(|| path.display().to_string())
    }

    /// Reads the text of a script for a face. Mistakes name the line.
    pub(crate) fn parse(text: &str, face: &FaceModel, places: &Landmarks) -> anyhow::Result<Self> {
        let script: ScriptFile = toml_file::parse(text).map_err(|problem| anyhow!(problem))?;
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
        Ok(Self { touches })
    }

    /// Whether anything happens at a time, or happened in the last `seconds` before it.
    pub(crate) fn is_touched(&self, time: f64, seconds: f64) -> bool {
        self.touches.iter().any(|touch| time >= touch.from && time <= touch.to + seconds)
    }
}

/// Turns what was written into what is done.
struct Reader<'a> {
    text: &'a str,
    face: &'a FaceModel,
    places: &'a Landmarks,
    /// Metres of the script's unit.
    unit: f32,
}

impl Reader<'_> {
    fn line<T>(&self, at: &Spanned<T>) -> usize {
        toml_file::line(self.text, &at.span())
    }

    fn push(&self, written: &Spanned<PushFile>, index: usize) -> anyhow::Result<ScriptedTouch> {
        let line = self.line(written);
        let push = written.get_ref();
        let ease = ease(push.from, push.to, push.ease, 2.0).with_context(|| format!("line {line}"))?;
        let radius = push.radius.map_or(FINGERTIP, |radius| self.unit * radius);
        let length = push.length.map(|length| self.unit * length);
        let collider =
            collider(radius, length, push.force, push.friction).with_context(|| format!("line {line}"))?;
        let direction = push.direction.map(Vec3::from_array);
        if direction.is_some_and(|d| d.try_normalize().is_none()) {
            bail!("line {line}: the direction has no length");
        }
        if !push.depth.is_finite() {
            bail!("line {line}: the depth is no number");
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

    fn pull(&self, written: &Spanned<PullFile>, index: usize) -> anyhow::Result<ScriptedTouch> {
        let line = self.line(written);
        let pull = written.get_ref();
        let here = || format!("line {line}");
        let ease_in = ease(pull.from, pull.to, pull.ease, 1.0).with_context(here)?;
        let by = self.unit * Vec3::from_array(pull.by);
        let radius = pull.radius.map_or(PINCH, |radius| self.unit * radius);
        if !(by.is_finite() && radius > 0.0 && radius.is_finite()) {
            bail!("line {line}: a pull needs finite numbers and a radius above 0");
        }
        if !(pull.ease_out >= 0.0 && pull.ease_out + ease_in <= pull.to - pull.from + 1e-9) {
            bail!("line {line}: ease and ease_out together are longer than from … to");
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

    fn sphere(&self, written: &Spanned<SphereFile>, index: usize) -> anyhow::Result<ScriptedTouch> {
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
        let keys: Vec<Key> = keys.collect::<anyhow::Result<_>>()?;
        let increasing = keys.windows(2).all(|pair| pair[0].time < pair[1].time);
        let finite = keys.iter().all(|k| k.time.is_finite() && k.offset.is_finite() && k.out.is_finite());
        let (Some(first), Some(last), true) = (keys.first(), keys.last(), increasing && finite) else {
            bail!("line {line}: a sphere needs keys whose times increase");
        };
        let collider = collider(self.unit * sphere.radius, None, sphere.force, sphere.friction)
            .with_context(|| format!("line {line}"))?;
        Ok(ScriptedTouch {
            name: sphere.name.clone().unwrap_or_else(|| format!("sphere {}", index + 1)),
            from: first.time,
            to: last.time,
            follow: sphere.follow,
            action: Action::Carry { keys, collider },
        })
    }

    fn spot(&self, at: &Spanned<Where>) -> anyhow::Result<Spot> {
        match at.get_ref() {
            Where::Named(name) => {
                let place = self.places.find(name).ok_or_else(|| self.no_place(name, self.line(at)))?;
                let triangles = around(self.face, place.vertex);
                Ok(Spot::Vertex { vertex: place.vertex, triangles })
            }
            Where::Position(position) => {
                let position = self.unit * *position;
                if !position.is_finite() {
                    bail!("line {}: the position is not finite", self.line(at));
                }
                let nearest = nearest_skin(self.face, position);
                Ok(Spot::Position { position, triangles: around(self.face, nearest) })
            }
        }
    }

    fn no_place(&self, name: &str, line: usize) -> anyhow::Error {
        match self.places.similar(name) {
            Some(place) => {
                anyhow!("line {line}: there is no place '{name}'; did you mean '{}'?", place.name)
            }
            None => {
                let known: Vec<&str> = self.places.iter().map(|place| place.name.as_str()).collect();
                anyhow!("line {line}: there is no place '{name}'; there are {}", known.join(", "))
            }
        }
    }
}

/// Seconds of easing, which must fit `times` into the time between `from` and `to`.
fn ease(from: f64, to: f64, given: Option<f64>, times: f64) -> anyhow::Result<f64> {
    if !(from.is_finite() && to.is_finite() && from < to) {
        bail!("'from' must be before 'to'");
    }
    let most = (to - from) / times;
    match given {
        None => Ok(EASE.min(most)),
        Some(ease) if ease >= 0.0 && ease <= most + 1e-9 => Ok(ease),
        Some(ease) => bail!("an ease of {ease} s does not fit between {from} and {to} s"),
    }
}

fn collider(
    radius: f32,
    length: Option<f32>,
    force: Option<f32>,
    friction: f32,
) -> anyhow::Result<ScriptedCollider> {
    let is_size = |size: f32| size > 0.0 && size.is_finite();
    if !is_size(radius) {
        bail!("the radius must be above 0");
    }
    if !(friction >= 0.0 && friction.is_finite()) {
        bail!("friction must be 0 or more");
    }
    let drive = match force {
        None => ColliderMotion::Kinematic,
        Some(force) if is_size(force) => ColliderMotion::Bounded { force },
        Some(_) => bail!("the force must be above 0"),
    };
    let shape = match length {
        None => ColliderShape::Sphere { radius },
        Some(length) if length.is_finite() && length > 2.0 * radius => {
            ColliderShape::Capsule { half_length: 0.5 * length - radius, radius }
        }
        Some(_) => bail!("a finger must be longer than its diameter"),
    };
    Ok(ScriptedCollider { shape, radius, drive, friction })
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
    // The other side of an ear or lip is near as well, and does not count.
    near.into_iter().filter(|t| normal(t).dot(here) > 0.0).collect()
}

fn nearest_skin(face: &FaceModel, position: Vec3) -> u32 {
    let distance = |v: &&u32| face.neutral[**v as usize].distance_squared(position);
    face.skin.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
