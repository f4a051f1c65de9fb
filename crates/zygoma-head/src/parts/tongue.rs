//! The tongue.

use glam::DVec3;
use zygoma_rig::UvMap;

use super::{Part, following_jaw, grid};
use crate::sculpt::field::{at, ramp};
use crate::uv::TONGUE;

const STATIONS: u32 = 22;
const AROUND: u32 = 18;
/// Z coordinates of the root and of the tip.
const ROOT: f64 = 38.0;
const TIP: f64 = 86.0;

/// The tongue, resting behind the lower teeth.
pub(super) fn tongue() -> Part {
    let (mut positions, mut coordinates) = (Vec::new(), Vec::new());
    for station in 0..STATIONS {
        let share = f64::from(station) / f64::from(STATIONS - 1);
        let middle = at(0.0, -55.5 - 5.0 * (1.0 - share).powi(2) + 1.0 * share, ROOT + (TIP - ROOT) * share);
        let end = (1.0 - (2.0 * share - 1.0).abs().powi(5)).max(0.0).sqrt();
        let half_width = (13.5 - 3.5 * share * share) * end;
        let half_height = (6.0 - 2.2 * share) * end;
        for step in 0..AROUND {
            let around = std::f64::consts::TAU * f64::from(step) / f64::from(AROUND);
            let groove =
                if around.sin() > 0.0 { 1.0 - 0.25 * (-(around.cos() / 0.3).powi(2)).exp() } else { 1.0 };
            positions.push(middle + at(half_width * around.cos(), half_height * around.sin() * groove, 0.0));
            coordinates.push(TONGUE.at(0.5 + 0.48 * around.cos(), share));
        }
    }
    let triangles = grid(STATIONS, AROUND, true).into_iter().map(|t| [t[0], t[2], t[1]]).collect();
    let share = |p: DVec3| (p.z - ROOT) / (TIP - ROOT);
    let mut shapes = following_jaw(&positions, |p| 0.35 + 0.65 * ramp(0.0, 0.6, share(p)));
    for (name, offsets) in &mut shapes {
        if name == "tongueOut" {
            for (p, offset) in positions.iter().zip(offsets) {
                let s = share(*p);
                // Over the lower teeth and lip, then hanging.
                *offset += at(
                    -0.10 * p.x * s,
                    6.5 * ramp(0.2, 0.7, s) - 9.0 * ramp(0.75, 1.0, s),
                    36.0 * s.powf(1.3),
                );
            }
        }
    }
    Part { name: "tongue", positions, triangles, uvs: UvMap { coordinates, corners: None }, shapes }
}
