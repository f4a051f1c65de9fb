//! Distances from the plain rig.

use glam::Vec3;

/// Width of a histogram bin, mm: finer than any goal.
const BIN: f32 = 0.005;
/// Number of bins: distances up to 60 mm are resolved, larger ones are counted together.
const BINS: usize = 12_000;
/// Vertices count for the percentile while the plain rig moves them by more than this from the neutral, mm.
const MOVED: f32 = 1.0;

/// The largest of some values, and where and when it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// The value.
    pub value: f32,
    /// The vertex with this value.
    pub vertex: u32,
    /// The frame with this value.
    pub frame: usize,
}

impl Peak {
    /// Keeps the larger value; NaN counts as infinite.
    pub fn raise(&mut self, value: f32, vertex: usize, frame: usize) {
        let value = if value.is_nan() { f32::INFINITY } else { value };
        if value > self.value {
            *self = Self { value, vertex: vertex as u32, frame };
        }
    }
}

/// Distances of a surface from the plain rig over the frames of a take, in mm at life size.
#[derive(Clone, Debug)]
pub struct Deviations {
    scale: f32,
    frames: usize,
    /// Histogram of the distances in all frames, over the vertices that the rig moves.
    bins: Vec<u64>,
    worst: Peak,
}

impl Deviations {
    /// Without frames yet; `scale` is [`life_mm`](super::life_mm).
    pub fn new(scale: f32) -> Self {
        Self { scale, frames: 0, bins: vec![0; BINS + 1], worst: Peak::default() }
    }

    /// Adds a frame.
    pub fn add(&mut self, neutral: &[Vec3], plain: &[Vec3], shown: &[Vec3]) {
        for (vertex, ((rest, plain), shown)) in neutral.iter().zip(plain).zip(shown).enumerate() {
            let distance = self.scale * shown.distance(*plain);
            self.worst.raise(distance, vertex, self.frames);
            if self.scale * plain.distance(*rest) > MOVED {
                // A NaN distance lands in the last bin.
                let bin = if distance.is_nan() { BINS } else { ((distance / BIN) as usize).min(BINS) };
                self.bins[bin] += 1;
            }
        }
        self.frames += 1;
    }

    /// The largest distance.
    pub fn worst(&self) -> Peak {
        self.worst
    }

    /// The 95th percentile of the distances, over all vertices in all frames that the rig moves by more than 1 mm; 0 if it moves none.
    pub fn p95(&self) -> f32 {
        let count: u64 = self.bins.iter().sum();
        let mut below = 0;
        for (bin, within) in self.bins.iter().enumerate() {
            below += within;
            if below * 20 >= count * 19 {
                return if count == 0 { 0.0 } else { (bin + 1) as f32 * BIN };
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_counts_only_what_the_rig_moves() {
        let neutral = vec![Vec3::ZERO; 200];
        // The rig moves the first hundred by 2 mm; they are off by 0.00 to 0.99 mm, and all vertices at rest are off by 9 mm.
        let plain: Vec<Vec3> = (0..200).map(|v| if v < 100 { 2e-3 * Vec3::X } else { Vec3::ZERO }).collect();
        let off = |v: usize| if v < 100 { 1e-5 * v as f32 } else { 9e-3 };
        let shown: Vec<Vec3> = plain.iter().enumerate().map(|(v, p)| *p + off(v) * Vec3::Y).collect();
        let mut found = Deviations::new(1e3);
        found.add(&neutral, &plain, &shown);
        assert!((found.p95() - 0.945).abs() < 0.01, "{}", found.p95());
        assert!((found.worst().value - 9.0).abs() < 1e-3 && found.worst().vertex >= 100);
    }

    #[test]
    fn a_place_that_is_not_a_number_is_the_worst() {
        let rest = [Vec3::ZERO, Vec3::X];
        let mut found = Deviations::new(1e3);
        found.add(&rest, &rest, &rest);
        found.add(&rest, &rest, &[Vec3::ZERO, Vec3::NAN]);
        assert_eq!(found.worst(), Peak { value: f32::INFINITY, vertex: 1, frame: 1 });
    }
}
