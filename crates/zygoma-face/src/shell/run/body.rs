//! The shell as a [`Body`].

use glam::{Vec3, Vec4Swizzles};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::Checked;

use super::{RunParams, ShellBody};
use crate::body::{BadBodyParam, BadDrive, Body, BodyParam, Drive, Frame, Stage, Touchable, gravity_axis};
use crate::contact::{Colliders, Grab, GrabId};

/// Longest interval between inputs of a shell, s: it interpolates linearly between them. Ours.
const LONGEST_INPUT: f64 = 1.0 / 60.0;

impl Body for ShellBody {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        match drive {
            Drive::Weights(weights) => self.set_weights(weights),
            Drive::Surface(surface) => {
                if !self.set_target(surface) {
                    return Err(BadDrive::Surface(self.face().vertex_count()));
                }
            }
            Drive::Markers(_) | Drive::Materials(_) => return Err(drive.unsupported("a shell")),
        }
        Ok(())
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        if pose.is_finite() {
            self.pose = *pose;
        }
    }

    fn settle(&mut self) {
        self.advance(0.0);
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        let frame = self.advance(seconds);
        Frame { positions: frame.positions, asleep: frame.asleep }
    }

    fn latency(&self) -> f64 {
        self.latency()
    }

    fn touchable(&self) -> Option<&dyn Touchable> {
        Some(self)
    }

    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        Some(self)
    }

    /// Stiffness, density and damping are factors on the values that the face was built with.
    fn params(&self) -> Vec<BodyParam> {
        let built = &self.face().fitted.params;
        let now = self.params().shell.as_ref().unwrap_or(built);
        let factors = [
            BodyParam::factor("stiffness", self.params().stiffness_scale),
            BodyParam::factor("density", now.density / built.density),
            BodyParam::factor("damping", now.damping / built.damping),
        ];
        factors.into_iter().chain(BodyParam::gravity(&self.params().gravity)).collect()
    }

    fn set_param(&mut self, name: &str, value: f64) -> Result<(), BadBodyParam> {
        let built = self.face().fitted.params.clone();
        let mut params: RunParams = self.params().clone();
        let mut shell = params.shell.clone().unwrap_or_else(|| built.clone());
        match (name, gravity_axis(name)) {
            ("stiffness", _) => params.stiffness_scale = value,
            ("density", _) => shell.density = value * built.density,
            ("damping", _) => shell.damping = value * built.damping,
            (_, Some(axis)) => params.gravity[axis] = value,
            _ => return Err(BadBodyParam::unknown("a shell", name, &Body::params(self))),
        }
        params.shell = (shell != built).then_some(shell);
        params.check()?;
        self.set_params(params);
        Ok(())
    }

    fn finish_params(&mut self) {
        if let Some(made) = self.pending.wait() {
            self.pending.retire(self.stepper.replace_matrices(made));
        }
    }

    fn stages(&self) -> Vec<Stage> {
        let stages = self.stages();
        Stage::list([
            ("rig", stages.rig),
            ("gradient", stages.gradient),
            ("solve", stages.solve),
            ("contact", stages.constraints),
            ("warp", stages.warp),
        ])
    }

    fn next_input(&self, known: f64, frame: f64) -> Option<f64> {
        // Its surface is always one step old.
        let missing = frame + self.latency() - known;
        let parts = (missing / LONGEST_INPUT - 1e-6).ceil();
        (missing > 1e-9).then(|| known + missing / parts.max(1.0))
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        let frame = self.last_frame();
        Frame { positions: frame.positions, asleep: frame.asleep }
    }

    fn return_to_rig(&mut self, weights: &[f32]) {
        self.blend_to_rig(weights);
    }
}

impl Touchable for ShellBody {
    fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    fn colliders_mut(&mut self) -> &mut Colliders {
        &mut self.colliders
    }

    fn shown(&self) -> &[Vec3] {
        &self.output
    }

    fn grab(&mut self, at: Vec3, radius: f32) -> Option<GrabId> {
        self.wake(0.0);
        let distance = |v: &&u32| self.output[**v as usize].distance_squared(at);
        let nearest = self.face.skin.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let carriers = nearest.map_or([0; 3], |v| self.embedding[*v as usize].0);
        let per_metre = (1.0 / self.face.height) as f32;
        let (free, positions) = (self.stepper.order().free, self.stepper.positions());
        let (at, radius) = (per_metre * at, per_metre * radius);
        let at_vertex = |v: u32| positions[v as usize].xyz();
        let grab = Grab::new(at, radius, &carriers, &at_vertex, &self.triangles, free);
        Some(self.colliders.add_grab(grab))
    }
}
