//! Grows clumps of hair over the head.

use glam::DVec3;

use crate::parts::strands::Station;
use crate::sculpt::gradient;

/// How a clump grows.
pub(super) struct Clump<'a> {
    pub(super) root: DVec3,
    /// Signed distance to the ground over which it grows.
    pub(super) ground: fn(DVec3) -> f64,
    pub(super) length: f64,
    /// Number of stations, the tip included.
    pub(super) stations: usize,
    /// Half of its width where it is widest, mm.
    pub(super) half: f64,
    /// Height above the skin in which it lies, by the share of its length.
    pub(super) height: &'a dyn Fn(f64) -> f64,
    /// The direction in which it wants to grow, at a point and a fraction of its length.
    pub(super) flow: &'a dyn Fn(DVec3, f64) -> DVec3,
    /// Length of its last step relative to the others: small for hair that was cut straight.
    pub(super) tip: f64,
    /// How far it leans to one side, as a slope.
    pub(super) tilt: f64,
    /// How much it is pulled down onto the skin at a fraction of its length, from 0 to 1.
    pub(super) hugs: &'a dyn Fn(DVec3) -> f64,
}

impl Clump<'_> {
    /// The outward direction at a point near the ground.
    fn outward(&self, p: DVec3) -> DVec3 {
        gradient(self.ground, p).normalize_or(DVec3::Y)
    }

    /// The clump's stations from the root to the tip.
    pub(super) fn grown(&self) -> Vec<Station> {
        const SUNK: f64 = 0.4;
        // Short steps near the root, where hair bends over the head.
        let steps = self.stations - 1;
        let weight = |i: usize| {
            let even = 0.5 + i as f64 / steps as f64;
            if i + 1 == steps { self.tip * even } else { even }
        };
        let whole: f64 = (0..steps).map(weight).sum();
        let mut point = self.root;
        let mut out = self.outward(point);
        let mut heading = (self.flow)(point, 0.0);
        heading = (heading - heading.dot(out) * out).normalize_or_zero();
        let mut stations = Vec::with_capacity(self.stations);
        for i in 0..self.stations {
            let share = i as f64 / (self.stations - 1) as f64;
            let half = self.half * profile(share, self.tip);
            let sunk = if i == 0 { SUNK } else { 0.0 };
            let leaning = (out + self.tilt * share.min(0.5) * 2.0 * heading.cross(out)).normalize_or(out);
            stations.push(Station { point: point - sunk * out, out: leaning, half, rise: 0.24 * half });
            let next = (i + 1) as f64 / (self.stations - 1) as f64;
            heading = (0.9 * heading + 1.1 * (self.flow)(point, next)).normalize_or_zero();
            point += self.length * weight(i) / whole * heading;
            // Out of the skin, and down onto it where the hair lies; free hair is left alone.
            for _ in 0..2 {
                let off = (self.height)(next) - (self.ground)(point);
                let pull = if off > 0.0 { 1.0 } else { (self.hugs)(point) };
                if pull * off.abs() < 0.05 {
                    break;
                }
                out = self.outward(point);
                point += off * pull * out;
            }
        }
        stations
    }
}

/// Width of a clump along its length; it tapers the later, the shorter its tip is.
fn profile(share: f64, tip: f64) -> f64 {
    let rise = (0.45 + 1.8 * share).min(1.0);
    rise * (1.0 - share.powf(6.0 / tip)).max(0.0)
}
