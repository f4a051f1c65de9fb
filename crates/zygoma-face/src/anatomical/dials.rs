//! Dials that change a head: its fat, muscles, skin, bones and nerves, and the forces on it (Thesis ch. 3, appendix A).

use serde::{Deserialize, Serialize};
use zygoma_numerics::{BadParam, Checked, Ranged};

use super::dynamics::Oscillator;
use super::local::{LocalDial, LocalKind};
use crate::body::{BodyParam, gravity_axis};

/// Standard gravity, m/s².
pub(super) const EARTH: f64 = 9.81;
/// The gravity under which faces are made, m/s².
const USUAL_GRAVITY: [f64; 3] = [0.0, -EARTH, 0.0];

/// Settings that change a head or the forces on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dials {
    /// Growth of soft tissue as a fraction of its volume: 0.2 is a fifth more.
    pub fat: f64,
    /// Growth of muscles as a fraction of their volume.
    pub muscle: f64,
    /// Growth of the skin as a fraction of its area, which makes it loose.
    pub skin_area: f64,
    /// Factor of the skin's stiffness.
    pub skin_stiffness: f64,
    /// Scale of the lower jaw along x, y and z, about its joint.
    pub jaw: [f64; 3],
    /// Scale of the cranium along x, y and z, about the joint of the jaw.
    pub cranium: [f64; 3],
    /// Weakness of the left and of the right side's nerves: 1 is palsy.
    pub palsy: [f64; 2],
    /// Gravity in addition to that under which the face was made, in g, in the head's frame.
    pub gravity: [f64; 3],
    /// Velocity of wind against the skin, m/s, in the head's frame.
    pub wind: [f64; 3],
    /// Standard deviation of the wind's speed over time, as a fraction of its mean.
    pub gusts: f64,
    /// Seed of the gusts.
    pub seed: u64,
    /// Frequency with which the face swings after a change of expression or of the head's motion, Hz; at 0 it follows at once.
    pub frequency: f64,
    /// Time in which such swings halve, s.
    pub half_life: f64,
    /// α, β and γ of Thesis ch. 3 eq. 9, for frames of 40 ms, instead of frequency and half-life.
    pub dynamics: Option<[f64; 3]>,
    /// Values of dials on parts of the face.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<LocalDial>,
}

impl Default for Dials {
    fn default() -> Self {
        Self {
            fat: 0.0,
            muscle: 0.0,
            skin_area: 0.0,
            skin_stiffness: 1.0,
            jaw: [1.0; 3],
            cranium: [1.0; 3],
            palsy: [0.0; 2],
            gravity: [0.0; 3],
            wind: [0.0; 3],
            gusts: 0.0,
            seed: 1,
            frequency: 0.0,
            half_life: 0.1,
            dynamics: None,
            local: Vec::new(),
        }
    }
}

impl Checked for Dials {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges = vec![
            Ranged::new("fat", self.fat, -0.5..=0.5),
            Ranged::new("muscle", self.muscle, -0.5..=0.5),
            Ranged::new("skin_area", self.skin_area, -0.5..=0.5),
            Ranged::new("skin_stiffness", self.skin_stiffness, 0.001..=100.0),
            Ranged::new("palsy.left", self.palsy[0], 0.0..=1.0),
            Ranged::new("palsy.right", self.palsy[1], 0.0..=1.0),
            Ranged::new("gusts", self.gusts, 0.0..=1.0),
            Ranged::new("frequency", self.frequency, 0.0..=30.0),
            Ranged::new("half_life", self.half_life, 0.001..=10.0),
        ];
        ranges.extend(Ranged::vector("jaw", self.jaw, &(0.5..=1.5)));
        ranges.extend(Ranged::vector("cranium", self.cranium, &(0.5..=1.5)));
        ranges.extend(Ranged::vector("gravity", self.gravity, &(-2.0..=2.0)));
        ranges.extend(Ranged::vector("wind", self.wind, &(-100.0..=100.0)));
        ranges.extend(Ranged::vector("dynamics", self.dynamics.unwrap_or_default(), &(-2.0..=2.0)));
        ranges
    }
}

/// Why a dial cannot be set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadDial {
    /// There is no such dial.
    #[error(
        "there is no dial '{0}'; there are fat, muscle, skin_area, skin_stiffness, jaw.x, jaw.y, jaw.z, cranium.x, cranium.y, cranium.z, palsy, gravity, wind, gusts, seed, frequency, half_life and dynamics"
    )]
    Unknown(String),
    /// The value has another form.
    #[error("the dial {name} is set as {form}, not as '{value}'")]
    Form {
        /// The dial.
        name: String,
        /// An example of its form.
        form: &'static str,
        /// The value given.
        value: String,
    },
    /// The dial has one value for the whole face.
    #[error("{name} has one value for the whole face; {known} may be set at a place")]
    NotLocal {
        /// The dial.
        name: String,
        /// Those that may differ.
        known: String,
    },
    /// The recursion of Thesis ch. 3 eq. 9 is of no use with these values.
    #[error("dynamics={alpha},{beta},{gamma}: {why}")]
    Dynamics {
        /// α.
        alpha: f64,
        /// β.
        beta: f64,
        /// γ.
        gamma: f64,
        /// The consequence, and the way out.
        why: &'static str,
    },
    /// The value is out of range.
    #[error(transparent)]
    Range(#[from] BadParam),
}

impl Dials {
    /// Sets a dial by name, such as `fat` to `0.2`, `jaw.y` to `1.1`, `palsy` to `left:0.8`, or `gravity` and `wind` to `x,y,z`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), BadDial> {
        let bad = |form| BadDial::Form { name: name.to_owned(), form, value: value.to_owned() };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let vector = || -> Option<[f64; 3]> {
            let parts: Option<Vec<f64>> = value.split(',').map(number).collect();
            parts?.try_into().ok()
        };
        let mut changed = self.clone();
        if let Some(own) = changed.number_mut(name) {
            *own = number(value).ok_or_else(|| bad("a number"))?;
        } else if name == "palsy" {
            let (side, weakness) = value.split_once(':').ok_or_else(|| bad("left:0.8"))?;
            let weakness = number(weakness).ok_or_else(|| bad("left:0.8"))?;
            match side {
                "left" => changed.palsy[0] = weakness,
                "right" => changed.palsy[1] = weakness,
                _ => return Err(bad("left:0.8")),
            }
        } else if name == "gravity" {
            changed.gravity = vector().ok_or_else(|| bad("x,y,z"))?;
        } else if name == "wind" {
            changed.wind = vector().ok_or_else(|| bad("x,y,z"))?;
        } else if name == "seed" {
            changed.seed = value.trim().parse().map_err(|_| bad("a whole number"))?;
        } else if name == "dynamics" {
            changed.dynamics = Some(vector().ok_or_else(|| bad("alpha,beta,gamma"))?);
        } else {
            return Err(BadDial::Unknown(name.to_owned()));
        }
        changed.check()?;
        Oscillator::of(&changed)?;
        *self = changed;
        Ok(())
    }

    pub(super) fn number_mut(&mut self, name: &str) -> Option<&mut f64> {
        if let Some((of, part)) = name.split_once('.') {
            let axis = |names: &[&str]| names.iter().position(|own| *own == part);
            return match of {
                "jaw" => Some(&mut self.jaw[axis(&["x", "y", "z"])?]),
                "cranium" => Some(&mut self.cranium[axis(&["x", "y", "z"])?]),
                "palsy" => Some(&mut self.palsy[axis(&["left", "right"])?]),
                _ => None,
            };
        }
        match name {
            "fat" => Some(&mut self.fat),
            "muscle" => Some(&mut self.muscle),
            "skin_area" => Some(&mut self.skin_area),
            "skin_stiffness" => Some(&mut self.skin_stiffness),
            "gusts" => Some(&mut self.gusts),
            "frequency" => Some(&mut self.frequency),
            "half_life" => Some(&mut self.half_life),
            _ => None,
        }
    }

    /// The value of a dial that is one number.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.clone().number_mut(name).map_or(f64::NAN, |own| *own)
    }

    /// The dials as parameters of a body, with sensible values. Gravity is all of it in m/s², as for other bodies.
    pub(super) fn params(&self) -> Vec<BodyParam> {
        let growth = |name, value| BodyParam::new(name, value, -0.4..=0.4);
        let scale = |name, value| BodyParam::new(name, value, 0.8..=1.2);
        let gravity = |axis: usize| {
            let (name, usual) = (["gravity.x", "gravity.y", "gravity.z"][axis], USUAL_GRAVITY[axis]);
            let most = 2.0 * EARTH;
            BodyParam::new(name, EARTH * self.gravity[axis] + usual, usual - most..=usual + most)
        };
        vec![
            growth("fat", self.fat),
            growth("muscle", self.muscle),
            growth("skin_area", self.skin_area),
            BodyParam::factor("skin_stiffness", self.skin_stiffness),
            scale("jaw.x", self.jaw[0]),
            scale("jaw.y", self.jaw[1]),
            scale("jaw.z", self.jaw[2]),
            BodyParam::new("palsy.left", self.palsy[0], 0.0..=1.0),
            BodyParam::new("palsy.right", self.palsy[1], 0.0..=1.0),
            BodyParam::new("frequency", self.frequency, 0.0..=10.0),
            BodyParam::new("half_life", self.half_life, 0.02..=1.0),
            gravity(0),
            gravity(1),
            gravity(2),
        ]
    }

    /// Sets a dial by the name of its [parameter](Self::params); false if there is none.
    pub(super) fn set_param(&mut self, name: &str, value: f64) -> Result<bool, BadParam> {
        let mut changed = self.clone();
        if let Some(axis) = gravity_axis(name) {
            changed.gravity[axis] = (value - USUAL_GRAVITY[axis]) / EARTH;
        } else if let Some(own) = changed.number_mut(name) {
            *own = value;
        } else {
            return Ok(false);
        }
        changed.check()?;
        *self = changed;
        Ok(true)
    }

    /// Whether the neutral changes: something grows or a bone has another shape.
    pub(super) fn changes_head(&self) -> bool {
        self.changes_bones()
            || self.fat != 0.0
            || self.muscle != 0.0
            || self.skin_area != 0.0
            || self.has_local(&[LocalKind::Fat, LocalKind::Muscle, LocalKind::SkinArea])
    }

    /// Whether a bone has another shape.
    pub fn changes_bones(&self) -> bool {
        let usual = Self::default();
        self.jaw != usual.jaw || self.cranium != usual.cranium
    }

    /// Whether something pushes the passive face.
    pub(super) fn has_load(&self) -> bool {
        self.gravity != [0.0; 3] || self.wind != [0.0; 3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dials_are_set_by_name_and_refused_with_a_reason() {
        let mut dials = Dials::default();
        for (name, value) in [
            ("fat", "0.2"),
            ("jaw.y", "1.1"),
            ("palsy", "left:0.8"),
            ("gravity", "1,0,-0.5"),
            ("wind", "0, 0, -30"),
        ] {
            dials.set(name, value).unwrap();
        }
        let wanted = Dials {
            fat: 0.2,
            jaw: [1.0, 1.1, 1.0],
            palsy: [0.8, 0.0],
            gravity: [1.0, 0.0, -0.5],
            wind: [0.0, 0.0, -30.0],
            ..Dials::default()
        };
        assert_eq!(dials, wanted);
        for (name, value, message) in [
            ("fatt", "0.2", "there is no dial"),
            ("jaw.w", "1", "there is no dial"),
            ("fat", "much", "a number"),
            ("fat", "0.9", "fat"),
            ("palsy", "0.8", "left:0.8"),
            ("gravity", "1,2", "x,y,z"),
            ("palsy", "left:2", "palsy.left"),
            ("half_life", "0", "half_life"),
            ("gusts", "2", "gusts"),
            ("seed", "-1", "whole number"),
            ("dynamics", "1.2,0.9,0.5", "swings grow"),
        ] {
            let refused = dials.set(name, value).unwrap_err().to_string();
            assert!(refused.contains(message), "{name}={value}: {refused}");
        }
        assert_eq!(dials, wanted);
    }
}
