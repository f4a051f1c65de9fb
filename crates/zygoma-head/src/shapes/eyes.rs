//! Lids and gaze: the lids rotate about the eyeball's horizontal axis, so that they never leave or enter it.

use std::rc::Rc;

use glam::{DQuat, DVec3};

use super::{Posed, Poser};
use crate::base::Base;
use crate::sculpt::eyes::{CENTRE, MARGIN, RADIUS, lid_coordinates};
use crate::sculpt::field::{bell, ramp};

/// The gaze shapes with the eye's rotation at weight 1: down, inwards, outwards, up.
pub(crate) const GAZE: [(&str, f64, f64); 4] = [
    ("eyeLookDown", 0.45, 0.0),
    ("eyeLookIn", 0.0, -0.52),
    ("eyeLookOut", 0.0, 0.52),
    ("eyeLookUp", -0.42, 0.0),
];

/// The left eye's rotation for a gaze: first angle downwards, second outwards.
pub(crate) fn gaze_turn(down: f64, out: f64) -> DQuat {
    DQuat::from_rotation_y(out) * DQuat::from_rotation_x(down)
}

/// Half of the gap between closed lids, in millimetres.
const CLOSED_HALF_GAP: f64 = 0.12;

/// The pose of the left eye's lids.
#[derive(Clone, Copy, Debug, Default)]
struct LidPose {
    /// Upper lid: 1 closes it, negative opens it wider.
    upper: f64,
    /// Lower lid: 1 takes it to the closing line, negative opens it wider.
    lower: f64,
    /// Sideways slide in millimetres, outwards.
    slide: f64,
}

/// The margins of the left eye as functions of the lateral offset.
struct Margins {
    upper: Vec<(f64, f64)>,
    lower: Vec<(f64, f64)>,
}

impl Margins {
    fn new(base: &Base) -> Self {
        let [upper, lower] = base.lids.each_ref().map(|chain| {
            let mut curve: Vec<(f64, f64)> =
                chain.iter().map(|v| lid_coordinates(base.rest[*v as usize])).collect();
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
            curve
        });
        Self { upper, lower }
    }

    /// Angles of the lower and upper margin.
    fn at(&self, xi: f64) -> (f64, f64) {
        (interpolated(&self.lower, xi), interpolated(&self.upper, xi))
    }
}

fn interpolated(curve: &[(f64, f64)], x: f64) -> f64 {
    let after = curve.partition_point(|(cx, _)| *cx < x).clamp(1, curve.len() - 1);
    let ((x0, y0), (x1, y1)) = (curve[after - 1], curve[after]);
    let t = ((x - x0) / (x1 - x0).max(1e-9)).clamp(0.0, 1.0);
    y0 + t * (y1 - y0)
}

/// Angle over which a lid's motion fades out above the upper and below the lower margin.
const UPPER_SPAN: f64 = 1.0;
const LOWER_SPAN: f64 = 0.9;

fn lid_offset(margins: &Margins, pose: LidPose, p: DVec3) -> DVec3 {
    let q = p - CENTRE;
    let distance = q.length();
    let reach = 1.0 - ramp(MARGIN + 1.6, MARGIN + 13.0, distance);
    if reach <= 0.0 || q.z < -6.0 {
        return DVec3::ZERO;
    }
    let (xi, angle) = lid_coordinates(p);
    let (lower, upper) = margins.at(xi);
    // The upper lid moves most of the way; at the corners of the eye there is no gap to close.
    let closing = lower + 0.20 * (upper - lower).max(0.0);
    // A little wider at the corners, where the margins bend around.
    let gap = (CLOSED_HALF_GAP + 0.12 * ramp(0.74, 0.86, xi.abs())) / MARGIN;
    // Beyond the corners of the eye there is nothing to close.
    let corner = 1.0 - ramp(0.93, 1.25, xi.abs());
    let is_upper = angle > 0.5 * (upper + lower);
    let (travel, beyond, span) = if is_upper {
        ((closing + gap - upper).min(0.0) * pose.upper, angle - upper, UPPER_SPAN)
    } else {
        ((closing - gap - lower).max(0.0) * pose.lower, lower - angle, LOWER_SPAN)
    };
    let share = 1.0 - ramp(0.0, span, beyond);
    let turn = travel * share * reach * corner * ramp(-6.0, 0.0, q.z);
    let turned = DQuat::from_rotation_x(-turn) * q;
    let slide = DVec3::X * pose.slide * share * reach * bell(xi, 0.8);
    // Slides stay on the eyeball.
    let moved = turned + slide;
    CENTRE + moved.normalize_or_zero() * distance.max(RADIUS + 0.2) - p
}

/// The lid shapes by name, without the side.
const LIDS: [(&str, LidPose); 7] = [
    ("eyeBlink", LidPose { upper: 1.0, lower: 1.0, slide: 0.0 }),
    ("eyeLookDown", LidPose { upper: 0.48, lower: -0.55, slide: 0.0 }),
    ("eyeLookIn", LidPose { upper: 0.03, lower: 0.0, slide: -0.8 }),
    ("eyeLookOut", LidPose { upper: 0.03, lower: 0.0, slide: 0.8 }),
    ("eyeLookUp", LidPose { upper: -0.25, lower: 0.25, slide: 0.0 }),
    ("eyeSquint", LidPose { upper: 0.22, lower: 0.85, slide: 0.0 }),
    ("eyeWide", LidPose { upper: -0.24, lower: -0.35, slide: 0.0 }),
];

/// The lid shapes of the left eye as displacements of any point near it.
pub(crate) fn lid_shapes(base: &Base) -> Vec<(&'static str, impl Fn(DVec3) -> DVec3)> {
    let margins = Rc::new(Margins::new(base));
    LIDS.map(|(name, pose)| {
        let margins = margins.clone();
        (name, move |p: DVec3| lid_offset(&margins, pose, p))
    })
    .into()
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    for (name, shape) in lid_shapes(poser.base) {
        posed.extend(poser.pair(name, |_, p| shape(p)));
    }
}
