//! Detects jumps: the second difference over frames of a body's offsets from the rig.

use glam::Vec3;

use super::{Peak, REPORTED_FPS};

/// The largest jump relative to the plain rig, in mm per frame² at life size and at 60 frames per second.
#[derive(Clone, Debug)]
pub struct Pops {
    scale: f32,
    /// Offsets from the rig in the last frame and in the one before it.
    last: [Vec<Vec3>; 2],
    frames: usize,
    worst: Peak,
}

impl Pops {
    /// Without frames yet, at a frame rate; `scale` is [`life_mm`](super::life_mm).
    pub fn new(scale: f32, fps: f64) -> Self {
        // The second difference of a smooth motion scales with the square of the frame's length.
        let rate = (fps / REPORTED_FPS).powi(2) as f32;
        Self { scale: scale * rate, last: [Vec::new(), Vec::new()], frames: 0, worst: Peak::default() }
    }

    /// Adds a frame.
    pub fn add(&mut self, plain: &[Vec3], shown: &[Vec3]) {
        let offset = |vertex: usize| shown[vertex] - plain[vertex];
        let [last, before] = &mut self.last;
        if self.frames >= 2 {
            for vertex in 0..plain.len() {
                let now = offset(vertex);
                let bend = (now - last[vertex]) - (last[vertex] - before[vertex]);
                self.worst.raise(self.scale * bend.length(), vertex, self.frames);
            }
        }
        std::mem::swap(last, before);
        last.clear();
        last.extend((0..plain.len()).map(offset));
        self.frames += 1;
    }

    /// The largest jump.
    pub fn worst(&self) -> Peak {
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_motion_does_not_pop_and_a_jump_does_at_any_rate() {
        for fps in [30.0, 60.0] {
            let mut pops = Pops::new(1e3, fps);
            for frame in 0..10 {
                let plain = [Vec3::ZERO, frame as f32 * Vec3::X];
                // The first vertex drifts steadily away; the second jumps off the rig by 3 mm.
                let jumped = if frame == 6 { 3e-3 } else { 0.0 };
                pops.add(&plain, &[1e-4 * frame as f32 * Vec3::Z, plain[1] + jumped * Vec3::Y]);
            }
            let (worst, rate) = (pops.worst(), (fps / 60.0_f64).powi(2) as f32);
            // Jumping off and back gives twice the jump.
            assert!((worst.value - 6.0 * rate).abs() < 1e-2 && worst.vertex == 1, "{worst:?}");
        }
    }
}
