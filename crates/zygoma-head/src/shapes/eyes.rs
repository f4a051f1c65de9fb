//! Lids and gaze: the lids rotate about the eyeball's horizontal axis, so that they never leave or enter it.

use std::rc::Rc;

use glam::{DQuat, DVec3};

use super::cheek::crows_feet;
use super::fold::folds;
use super::kelvin::{pull, pulls};
use super::places::{CHEEK, MALAR, crow, under_eye};
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
    /// Sideways slide of the upper and the lower lid in millimetres, outwards.
    slide: [f64; 2],
}

impl LidPose {
    const fn new(upper: f64, lower: f64, slide: [f64; 2]) -> Self {
        Self { upper, lower, slide }
    }
}

/// The left eye's lids at rest: their margins as functions of the lateral offset.
struct Lids {
    upper: Vec<(f64, f64)>,
    lower: Vec<(f64, f64)>,
}

impl Lids {
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

    /// Displacement of a point near the eye in a pose of the lids.
    fn offset(&self, pose: LidPose, p: DVec3) -> DVec3 {
        let q = p - CENTRE;
        let distance = q.length();
        let reach = 1.0 - ramp(MARGIN + 1.6, MARGIN + 13.0, distance);
        if reach <= 0.0 || q.z < -6.0 {
            return DVec3::ZERO;
        }
        let (xi, angle) = lid_coordinates(p);
        let (lower, upper) = self.at(xi);
        // The upper lid moves most of the way; at the corners of the eye there is no gap to close.
        let closing = lower + 0.20 * (upper - lower).max(0.0);
        let gap = CLOSED_HALF_GAP / MARGIN;
        // A little wider at the corners, where the lower margin bends up around them.
        let upper_gap = gap + 0.40 * ramp(0.66, 0.80, xi.abs()) / MARGIN;
        // Beyond the corners of the eye there is nothing to close.
        let corner = 1.0 - ramp(0.93, 1.25, xi.abs());
        let is_upper = angle > 0.5 * (upper + lower);
        // A lid that moves a little takes the skin up to its fold along; one that closes unfolds it.
        let whole = PLATEAU * (1.0 - pose.upper.abs());
        let (travel, beyond, fade, slide) = if is_upper {
            (
                (closing + upper_gap - upper).min(0.0) * pose.upper,
                angle - upper,
                [whole, UPPER_SPAN],
                pose.slide[0],
            )
        } else {
            ((closing - gap - lower).max(0.0) * pose.lower, lower - angle, [0.0, LOWER_SPAN], pose.slide[1])
        };
        let share = 1.0 - ramp(fade[0], fade[1], beyond);
        let turn = travel * share * reach * corner * ramp(-6.0, 0.0, q.z);
        let turned = DQuat::from_rotation_x(-turn) * q;
        // At the corners of the eye the lids slide together.
        let together = 0.5 * (pose.slide[0] + pose.slide[1]);
        let slide = together * bell(xi, 0.8) + (slide - together) * ramp(0.9, 0.45, xi.abs());
        let slide = DVec3::X * slide * share * reach;
        // Slides stay on the eyeball.
        let moved = turned + slide;
        let offset = CENTRE + moved.normalize_or_zero() * distance.max(RADIUS + 0.2) - p;
        // Only the lid follows the eyeball; the skin beyond slides along the socket instead of being pushed out or in.
        offset - DVec3::Z * offset.z * 0.7 * ramp(0.15, 0.6, beyond)
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
/// Angle above the upper margin up to which a small motion is the margin's own.
const PLATEAU: f64 = 0.45;

/// The lids in the shapes that move them, by name without the side.
const LIDS: [(&str, LidPose); 9] = [
    ("cheekSquint", LidPose::new(0.0, 1.0, [0.0, 0.4])),
    ("eyeBlink", LidPose::new(1.0, 1.0, [0.0, 0.0])),
    ("eyeLookDown", LidPose::new(0.52, -0.50, [0.0, 0.0])),
    ("eyeLookIn", LidPose::new(0.04, 0.0, [-1.9, -1.9])),
    ("eyeLookOut", LidPose::new(0.03, 0.0, [1.9, 1.9])),
    ("eyeLookUp", LidPose::new(-0.36, 0.50, [0.0, 0.0])),
    ("eyeSquint", LidPose::new(0.08, 1.0, [0.0, -1.6])),
    ("eyeWide", LidPose::new(-0.38, -0.12, [0.0, 0.0])),
    ("noseSneer", LidPose::new(0.0, 0.55, [0.0, 0.0])),
];

/// The lid shapes of the left eye as displacements of any point near it.
pub(crate) fn lid_shapes(base: &Base) -> Vec<(&'static str, impl Fn(DVec3) -> DVec3)> {
    let lids = Rc::new(Lids::new(base));
    LIDS.map(|(name, pose)| {
        let lids = lids.clone();
        (name, move |p: DVec3| lids.offset(pose, p))
    })
    .into()
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    for (name, _) in LIDS.iter().filter(|(name, _)| name.starts_with("eye")) {
        let is_squint = *name == "eyeSquint";
        posed.extend(lid_pair(poser, name, |_, p| if is_squint { squint(p) } else { DVec3::ZERO }));
    }
}

/// A pair of shapes that move the lids and the skin around them.
pub(super) fn lid_pair(poser: &Poser<'_>, name: &str, around: impl Fn(usize, DVec3) -> DVec3) -> [Posed; 2] {
    let shapes = lid_shapes(poser.base);
    let lids = shapes.iter().find(|(lid, _)| *lid == name).map(|(_, shape)| shape);
    let lid = |p: DVec3| lids.map_or(DVec3::ZERO, |shape| shape(p));
    poser.pair(name, |v, p| lid(p) + poser.off_lids(v, p) * around(v, p))
}

/// The ring of muscle around the eye draws cheek and temple towards the inner corner.
fn squint(p: DVec3) -> DVec3 {
    let drawn = [
        pull(MALAR, [-2.4, 2.2, 0.1], 26.0),
        pull(CHEEK, [-0.9, 1.9, -0.6], 26.0),
        pull(under_eye(), [-1.0, 1.2, 0.0], 17.0),
        pull(crow(), [-0.8, 0.2, 0.6], 26.0),
    ];
    pulls(&drawn, p) + folds(&crows_feet(0.8), p)
}
