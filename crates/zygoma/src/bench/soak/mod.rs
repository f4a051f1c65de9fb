//! Soak tests: simulated minutes of extreme input.

pub(crate) mod shell;
pub(crate) mod tissue;

use std::path::Path;

use glam::Vec3;
use zygoma_head::{Head, HeadOptions};
use zygoma_numerics::random::Keyed;
use zygoma_rig::Rig;
use zygoma_rig::formats::{self, Limits};

/// The stream of random numbers for soak tests.
const SOAK: u64 = 71;

fn rig_or_head(path: Option<&Path>) -> anyhow::Result<Rig> {
    Ok(match path {
        Some(path) => formats::read_rig(path, &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    })
}

/// A sequence of random numbers.
struct Dice {
    random: Keyed,
    drawn: u64,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Self { random: Keyed::new(seed, SOAK), drawn: 0 }
    }

    /// A number from 0 to 1.
    fn number(&mut self) -> f32 {
        self.drawn += 1;
        self.random.uniform(self.drawn) as f32
    }

    fn chance(&mut self, fraction: f32) -> bool {
        self.number() < fraction
    }

    /// A vector whose components are from -1 to 1.
    fn vector(&mut self) -> Vec3 {
        2.0 * Vec3::new(self.number(), self.number(), self.number()) - 1.0
    }

    /// The length of a frame, s.
    fn frame(&mut self) -> f64 {
        [1.0 / 20.0, 1.0 / 30.0, 1.0 / 60.0, 1.0 / 144.0, 0.001][(5.0 * self.number()) as usize % 5]
    }
}
