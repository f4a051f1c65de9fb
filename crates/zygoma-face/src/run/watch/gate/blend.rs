//! Turns jumps into short blends.
//!
//! As in inertialisation (\[Bollo 2018\]): at a jump the surface continues from where it was shown, and its difference from the goal
//! fades out.

use glam::Vec3;

/// Time in which a difference fades out, s. Ours: eight frames at 60 fps, in which 8 mm fade with 0.8 mm/frame².
const FADE: f64 = 8.0 / 60.0;
/// A blend starts with this fraction of the last frame's motion.
const CARRY: f32 = 0.5;
/// Offsets beyond their limit, such as skin that a finger has left, shrink by this factor in each frame. Ours.
const EASE: f32 = 0.85;
/// Around a jump, vertices that jump by more than this fraction of the limit are blended with it. Ours.
const AROUND: f32 = 0.2;

/// Offsets from the rig as they are shown, blended over jumps. In mm at life size.
#[derive(Clone, Debug)]
pub(super) struct Blend {
    /// The offsets shown in the last frame and in the one before it.
    last: [Vec<Vec3>; 2],
    /// The fading residual, and its remaining time from 1 down to 0.
    residual: Vec<Vec3>,
    /// The residual added to the body's offset in this frame.
    added: Vec<Vec3>,
    left: Vec<f32>,
    frames: usize,
}

impl Blend {
    pub(super) fn new(count: usize) -> Self {
        let zero = vec![Vec3::ZERO; count];
        Self {
            last: [zero.clone(), zero.clone()],
            added: zero.clone(),
            residual: zero,
            left: vec![0.0; count],
            frames: 0,
        }
    }

    /// Replaces a body's offsets by those to show. Where they jump by more than `limit` in a frame of `seconds` they are blended,
    /// together with jumping neighbours (`around`); `farthest` is the maximum length of each. Returns whether any vertex jumps.
    pub(super) fn show(
        &mut self,
        wanted: &mut [Vec3],
        limit: f32,
        seconds: f64,
        farthest: impl Fn(usize) -> f32,
        around: impl Fn(u32, &mut dyn FnMut(u32)),
    ) -> bool {
        let mut jumps = Vec::new();
        let step = (seconds / FADE).min(1.0 / 3.0) as f32;
        for (vertex, wanted) in wanted.iter_mut().enumerate() {
            let left = &mut self.left[vertex];
            if *left > 0.0 {
                *left = (*left - step).max(0.0);
                // During the blend, the body's offset may move back.
                let blended = *wanted + left.powi(2) * (3.0 - 2.0 * *left) * self.residual[vertex];
                let shown =
                    blended.clamp_length_max(farthest(vertex).max(EASE * self.last[0][vertex].length()));
                self.added[vertex] = shown - *wanted;
                *wanted = shown;
            } else {
                self.added[vertex] = Vec3::ZERO;
            }
            let bend = *wanted - 2.0 * self.last[0][vertex] + self.last[1][vertex];
            if bend.length_squared() > limit * limit {
                jumps.push(vertex as u32);
            }
        }
        let jumped = self.frames >= 2 && limit.is_finite() && !jumps.is_empty();
        if jumped {
            self.begin(wanted, jumps, limit, farthest, around);
        }
        let [last, before] = &mut self.last;
        std::mem::swap(last, before);
        last.copy_from_slice(wanted);
        if self.frames == 0 {
            before.copy_from_slice(wanted);
        }
        self.frames += 1;
        jumped
    }

    /// Begins a blend at some vertices and around them.
    fn begin(
        &mut self,
        shown: &mut [Vec3],
        jumps: Vec<u32>,
        limit: f32,
        farthest: impl Fn(usize) -> f32,
        around: impl Fn(u32, &mut dyn FnMut(u32)),
    ) {
        let mut is_found = vec![false; shown.len()];
        jumps.iter().for_each(|v| is_found[*v as usize] = true);
        let mut waiting = jumps;
        while let Some(vertex) = waiting.pop() {
            let v = vertex as usize;
            around(vertex, &mut |next| {
                let n = next as usize;
                let bend = shown[n] - 2.0 * self.last[0][n] + self.last[1][n];
                if !is_found[n] && bend.length() > AROUND * limit {
                    is_found[n] = true;
                    waiting.push(next);
                }
            });
            let went = (self.last[0][v] - self.last[1][v]).clamp_length_max(limit);
            let longest = farthest(v).max(EASE * self.last[0][v].length());
            let onward = (self.last[0][v] + CARRY * went).clamp_length_max(longest);
            // The body's offset without the current blend.
            let wanted = shown[v] - self.added[v];
            self.residual[v] = onward - wanted;
            self.added[v] = self.residual[v];
            self.left[v] = 1.0;
            shown[v] = onward;
        }
    }

    /// Whether the blend of a vertex is visible, mm.
    pub(super) fn is_blending(&self, vertex: usize) -> bool {
        const HAIR: f32 = 0.05;
        self.added[vertex].length_squared() > HAIR * HAIR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_shown_as_a_blend_that_ends_where_it_should() {
        let mut blend = Blend::new(2);
        let mut shown = Vec::new();
        for frame in 0..40 {
            let jumped = if frame < 10 { 0.0 } else { 8.0 };
            let mut offsets = [jumped * Vec3::X, Vec3::ZERO];
            let found = blend.show(&mut offsets, 2.0, 1.0 / 60.0, |_| 9.0, |_, _| ());
            assert_eq!(found, frame == 10, "frame {frame}");
            assert_eq!(offsets[1], Vec3::ZERO);
            shown.push(offsets[0].x);
        }
        assert_eq!(shown[39], 8.0);
        let bends = shown.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs());
        assert!(bends.fold(0.0, f32::max) < 1.0, "{shown:?}");
    }

    #[test]
    fn a_body_that_turns_back_while_it_is_blended_is_not_thrown_the_other_way() {
        let mut blend = Blend::new(1);
        let mut farthest = 0.0_f32;
        for frame in 0..60 {
            let side = if frame % 4 < 2 { 5.0 } else { -5.0 };
            let mut offsets = [side * Vec3::X];
            blend.show(&mut offsets, 2.0, 1.0 / 60.0, |_| 5.0, |_, _| ());
            farthest = farthest.max(offsets[0].length());
        }
        assert!(farthest < 5.001, "{farthest}");
    }
}
