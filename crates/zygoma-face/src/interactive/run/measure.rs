//! What can be said about the last frame; nothing here is done unless it is asked for.

use std::sync::Arc;

use glam::{Vec3, Vec4Swizzles};
use zygoma_physics::shell::Stepper;

use super::{InteractiveFace, RunParams};
use crate::interactive::Face;

/// How far a frame is from the plain rig, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// Of the worst vertex.
    pub worst: f32,
    /// Over all vertices that follow the shell.
    pub mean: f32,
}

/// What several running faces of the same kind share.
pub(crate) struct Mould {
    face: Arc<Face>,
    params: RunParams,
    stepper: Stepper,
}

/// A face that moves slower than this is at rest, in heights per second; and so many frames of so many seconds are waited
/// for it. Ours.
const STILL: f32 = 2e-4;
const FRAME: f64 = 0.02;
const FRAMES: usize = 50;

impl InteractiveFace {
    /// What is costly to make of this face, for others like it on other threads.
    pub(crate) fn mould(&self) -> Mould {
        Mould { face: self.face.clone(), params: self.params.clone(), stepper: self.stepper.clone() }
    }

    /// A face as it was when the first of its kind was made.
    pub(crate) fn from_mould(mould: &Mould) -> Self {
        Self::with_stepper(mould.face.clone(), mould.params.clone(), &mould.stepper)
    }

    /// Lets the face come to rest with some weights, whatever it did before, and gives the surface in metres.
    pub(crate) fn rest_with(&mut self, weights: &[f32]) -> &[Vec3] {
        self.set_weights(weights);
        self.is_first = true;
        (self.frame_time, self.step_time) = (0, 0);
        self.advance(0.0);
        for _ in 0..FRAMES {
            self.advance(FRAME);
            if self.top_speed() < STILL {
                break;
            }
        }
        &self.output
    }

    /// How far the last frame is from the plain rig with the same weights or target surface, at full resolution. The
    /// rig's own displacements below the clip of the detail (eq. 13) count as nothing.
    pub fn deviation(&self) -> Deviation {
        let (mut sum, mut count) = (0.0f64, 0usize);
        let mut worst = 0.0f32;
        for vertex in 0..self.output.len() {
            if self.embedding[vertex].1 == [0.0; 3] {
                continue;
            }
            let distance = self.output[vertex].distance(self.plain(vertex));
            worst = worst.max(distance);
            sum += f64::from(distance);
            count += 1;
        }
        Deviation { worst, mean: (sum / count.max(1) as f64) as f32 }
    }

    /// Where the plain rig has a vertex in the last frame, in metres.
    pub fn plain(&self, vertex: usize) -> Vec3 {
        let (corners, weights) = self.embedding[vertex];
        let rest = self.rig.rest();
        let moved: Vec3 = (0..3)
            .map(|i| {
                let corner = corners[i] as usize;
                weights[i] * (self.before.target[corner] - rest[corner]).xyz()
            })
            .sum();
        self.before.base[vertex] + self.face.height as f32 * moved
    }

    /// How deep the skin of the last frame is inside a collider at its worst, in metres: at vertices, middles of edges
    /// and middles of triangles.
    pub fn penetration(&self) -> f32 {
        let follows = |v: &u32| self.embedding[*v as usize].1.iter().sum::<f32>() > 0.999;
        let followed = self.face.triangles.iter().filter(|t| t.iter().all(follows));
        self.touches.penetration(&self.output, &followed)
    }

    /// The fastest that any simulated vertex of the shell moves, in heights per second.
    pub fn top_speed(&self) -> f32 {
        let free = self.stepper.order().free;
        self.stepper.velocities()[..free].iter().map(|v| v.length()).fold(0.0, f32::max)
    }
}
