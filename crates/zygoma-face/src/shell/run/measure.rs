//! Measurements of the last frame, computed only on demand.

use std::sync::Arc;

use glam::{DVec3, Vec3, Vec4Swizzles};
use zygoma_physics::shell::{StepMatrices, StepOrder};

use super::ShellBody;

/// Distance of a frame from the plain rig, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    /// Distance of the worst vertex.
    pub worst: f32,
    /// Mean over all vertices that follow the shell.
    pub mean: f32,
}

impl ShellBody {
    /// Distance of the last frame from the plain rig with the same weights or target surface, at full resolution. The rig's own
    /// displacements below the clipping threshold of the detail (IFA eq. 13) count as zero.
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

    /// The surface shown when the shell is at `rested`, in face heights, with these weights: corrected and warped, in metres. The shell
    /// itself does not move.
    pub(in crate::shell) fn shown_at_rest(&mut self, weights: &[f32], rested: &[DVec3]) -> &[Vec3] {
        self.now.set_weights(&self.rig, weights, self.params.detail);
        let vertices = &self.stepper.order().vertices;
        for ((shown, vertex), residual) in self.shown.iter_mut().zip(vertices).zip(&self.now.residual) {
            *shown = rested[*vertex as usize].as_vec3().extend(0.0) + *residual;
        }
        self.warp();
        &self.output
    }

    /// Data that other shells of the same face can share: the order of the steps and their matrices.
    pub(in crate::shell) fn shared(&self) -> (Arc<StepOrder>, Arc<StepMatrices>) {
        (self.stepper.order().clone(), self.stepper.matrices().clone())
    }

    /// A vertex of the plain rig in the last frame, in metres.
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

    /// The largest speed of any simulated vertex of the shell, in face heights per second.
    pub fn top_speed(&self) -> f32 {
        let free = self.stepper.order().free;
        self.stepper.velocities()[..free].iter().map(|v| v.length()).fold(0.0, f32::max)
    }
}
