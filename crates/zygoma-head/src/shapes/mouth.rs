//! Lip shapes.

use glam::{DQuat, DVec3};

use super::fold::{Fold, straight};
use super::kelvin::{Pull, pull, pulls};
use super::places::{
    BUCCAL, CHEEK, CHIN, CHIN_SIDE, FOLD, JOWL, MALAR, MASSETER, UNDER_JAW, corner, lower_lip, lower_side,
    sulcus, sulcus_side, upper_lip, upper_side, wing,
};
use super::{Posed, Poser, reflect};
use crate::base::Part;
use crate::sculpt::field::{at, bell, ramp};
use crate::sculpt::lips::{CORNER_X, front_z, line_y, slit_y};

/// A vertex in lip coordinates.
struct LipView {
    p: DVec3,
    /// Height above the line where the lips meet.
    t: f64,
    /// How much it follows the lower lip.
    lower: f64,
    /// 1 in the lips, 0 well outside of them.
    near: f64,
    /// 0 on the lids, 1 away from them.
    off_lids: f64,
    /// 0 deep in the mouth bag, which stays at teeth and gums.
    shallow: f64,
}

impl Poser<'_> {
    fn lip_view(&self, v: usize, p: DVec3) -> LipView {
        let x = p.x.abs();
        let t = p.y - line_y(x.min(CORNER_X));
        let depth = (front_z(x.min(CORNER_X + 4.0)) - p.z).max(0.0);
        let near = bell(x, 34.0).powi(2) * bell(t, 17.0) * (1.0 - ramp(10.0, 34.0, depth));
        // The jaw field separates the lips smoothly up to their corners.
        let lower = self.jaw[v];
        let shallow = match self.base.parts[v] {
            Part::UpperBag | Part::LowerBag => 1.0 - ramp(9.0, 20.0, depth),
            _ => 1.0,
        };
        LipView { p, t, lower, near, off_lids: self.off_lids(v, p), shallow }
    }

    /// A pair of lip shapes.
    fn lip_pair(&self, name: &str, offset: impl Fn(&LipView) -> DVec3) -> [Posed; 2] {
        self.pair(name, |v, p| offset(&self.lip_view(v, p)))
    }

    /// A symmetric lip shape.
    fn lip_middle(&self, name: &str, offset: impl Fn(&LipView) -> DVec3) -> Posed {
        self.middle(name, |v, p| offset(&self.lip_view(v, p)))
    }
}

impl LipView {
    /// 0 at palate, gums and floor of the mouth, which are on bone; 1 elsewhere, also inside the cheeks.
    fn off_bone(&self) -> f64 {
        1.0 - (1.0 - self.shallow) * ramp(26.0, 16.0, self.p.x.abs())
    }

    /// Pulls that leave alone the lids and what is on bone.
    fn pulled(&self, all: &[Pull]) -> DVec3 {
        self.off_lids * self.off_bone() * pulls(all, self.p)
    }

    /// Pulls on both sides.
    fn pulled_evenly(&self, all: &[Pull]) -> DVec3 {
        self.off_lids * self.off_bone() * (pulls(all, self.p) + reflect(pulls(all, reflect(self.p))))
    }

    /// Turns both lips about their own long axes: positive angles roll the red inwards, negative ones outwards.
    fn rolled(&self, upper: f64, lower: f64) -> DVec3 {
        (1.0 - self.lower) * self.turned(upper, 1.0) + self.lower * self.turned(lower, -1.0)
    }

    /// Turns the upper (`side` 1) or lower lip (−1).
    fn turned(&self, angle: f64, side: f64) -> DVec3 {
        /// Radius of a lip at its middle, and how far its turn reaches into the skin around it.
        const RADIUS: f64 = 5.8;
        const REACH: f64 = 11.0;
        /// Depth behind the front of the lips where the upper and the lower lip begin to be held by the teeth behind them.
        const HELD: [f64; 2] = [6.5, 8.5];
        let x = self.p.x.abs();
        let fade = arch(self.p.x);
        let radius = RADIUS * fade.powf(0.5).max(0.15);
        let axis = at(self.p.x, line_y(x) + side * (radius - 0.4), front_z(x) - 5.5);
        let arm = self.p - axis;
        // The inner side stays at the teeth, the nose where it is.
        let depth = if side > 0.0 { HELD[0] } else { HELD[1] };
        let held = ramp(depth + 5.5, depth, front_z(x) - self.p.z) * ramp(18.0, 9.0, side * self.t);
        let share = held * fade.powf(0.6) * (1.0 - ramp(1.05 * radius, radius + REACH, arm.length()));
        let turned = axis + DQuat::from_rotation_x(side * share * angle) * arm;
        turned - self.p
    }

    /// Keeps a displaced lip on its own side of the slit and before the teeth, so that a lip that rolls inwards cuts into neither.
    fn kept_apart(&self, offset: DVec3) -> DVec3 {
        /// Height above the slit below which a motion is slowed.
        const SLOWED: f64 = 4.0;
        /// No vertex comes nearer than this share of its own height, so that the lip keeps its order.
        const SHARE: f64 = 0.28;
        let rest = self.p.y - slit_y(self.p);
        if self.p.x.abs() > CORNER_X || rest.abs() > 14.0 || self.p.z < front_z(self.p.x) - 16.0 {
            return offset;
        }
        let moved = self.p + offset;
        let height = rest.signum() * (moved.y - slit_y(moved));
        let from = rest.abs().min(SLOWED);
        let (room, beyond) = (from * (1.0 - SHARE) + 1e-9, from - height);
        let kept = if beyond <= 0.0 { height } else { from - room * (1.0 - (-beyond / room).exp()) };
        at(offset.x, offset.y + rest.signum() * (kept - height), self.before_teeth(offset.z))
    }

    /// Slows a motion backwards, so that it ends before the teeth.
    fn before_teeth(&self, motion: f64) -> f64 {
        /// Depths behind the front of the lips from which on a motion is slowed, and where it ends.
        const SLOWED: f64 = 8.5;
        const END: f64 = 12.6;
        let depth = front_z(self.p.x.abs()) - self.p.z;
        let from = depth.max(SLOWED);
        let (room, beyond) = ((END - from).max(0.3), depth - motion - from);
        if beyond <= 0.0 { motion } else { depth - from - room * (1.0 - (-beyond / room).exp()) }
    }
}

/// Weight of the left half, smooth: with its mirror image it sums to 1.
fn left(x: f64) -> f64 {
    ramp(-9.0, 9.0, x)
}

/// 1 in the middle of the mouth, 0 at its corners.
fn arch(x: f64) -> f64 {
    (1.0 - (x / (CORNER_X - 0.5)).powi(2)).max(0.0)
}

/// The nasolabial fold, from beside the nose to beside the mouth.
fn nasolabial(depth: f64) -> Fold {
    let line = [at(19.0, -17.0, 97.0), at(27.5, -30.0, 92.0), corner() + at(9.0, 1.0, -3.0)];
    Fold { line, by: depth * at(-0.25, 0.0, -0.97), width: 5.0 }
}

/// Upright lines around puckered lips.
fn lip_lines(p: DVec3) -> DVec3 {
    let x = p.x.abs();
    let t = p.y - line_y(x.min(CORNER_X));
    let above = bell(t - 10.5, 4.0) + 0.7 * bell(t + 13.0, 4.0);
    let wave = (x * std::f64::consts::TAU / 7.0).cos() * bell(x, 17.0);
    at(0.0, 0.0, -0.45 * above * wave * ramp(30.0, 12.0, front_z(x) - p.z))
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    round(poser, posed);
    sideways(poser, posed);
    corners(poser, posed);
    rolls(poser, posed);
    shrugs(poser, posed);
    raises(poser, posed);
}

/// Funnel and pucker.
fn round(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.push(poser.lip_middle("mouthFunnel", |m| {
        let sign = 1.0 - 2.0 * m.lower;
        let open = arch(m.p.x).powf(0.6) * 7.0 * sign * bell(m.t, 17.0);
        let out = 3.5 + 0.006 * m.p.x * m.p.x;
        let drawn = [
            pull(corner(), [-1.0, -0.4, 2.0], 24.0),
            pull(lower_side(), [-0.4, -1.6, 2.0], 26.0),
            pull(JOWL, [-2.0, -0.1, 2.8], 26.0),
            pull(BUCCAL, [-2.0, -1.0, 1.4], 26.0),
            pull(CHIN_SIDE, [-0.7, -1.2, 1.0], 26.0),
        ];
        let held = (1.0 - m.lower) * m.pulled_evenly(&[pull(FOLD, [-0.6, -1.6, -0.5], 24.0)]);
        m.near * at(-0.32 * m.p.x, 0.0, out)
            + bell(m.p.x, 40.0) * (1.0 - ramp(12.0, 34.0, front_z(0.0) - m.p.z)) * at(0.0, open, 0.0)
            + m.pulled_evenly(&drawn)
            + held
            + m.rolled(-0.35, -0.35)
    }));
    posed.push(poser.lip_middle("mouthPucker", |m| {
        let drawn = [
            pull(corner(), [-5.6, 0.6, 5.4], 20.0),
            pull(lower_side(), [-0.6, 0.2, 3.0], 22.0),
            pull(JOWL, [-1.6, 0.8, 3.4], 26.0),
            pull(BUCCAL, [-2.4, 0.8, 2.8], 26.0),
            pull(CHIN_SIDE, [-0.8, 1.5, 1.2], 26.0),
        ];
        let narrowed = m.near * at(-0.34 * m.p.x, 0.14 * m.t * bell(m.t, 14.0), 1.5);
        m.shallow * (narrowed + m.pulled_evenly(&drawn) + m.rolled(-0.32, -0.32)) + lip_lines(m.p)
    }));
}

/// The whole mouth to one side.
fn sideways(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.lip_pair("mouth", |m| {
        m.pulled(&[
            pull(reflect(lower_side()), [10.6, 1.0, 0.0], 26.0),
            pull(corner(), [6.0, 3.8, -6.6], 26.0),
            pull(reflect(BUCCAL), [4.6, 0.3, 5.0], 26.0),
            pull(BUCCAL, [-0.4, 6.0, -0.4], 26.0),
            pull(reflect(JOWL), [4.8, 0.1, 4.4], 26.0),
            pull(reflect(FOLD), [4.8, -0.8, 3.2], 26.0),
            pull(CHIN_SIDE, [4.0, 1.5, -2.0], 26.0),
        ])
    }));
}

/// Shapes that pull at the corners.
fn corners(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.lip_pair("mouthSmile", |m| {
        let drawn = m.pulled(&[
            pull(corner(), [5.6, 12.4, -6.4], 25.0),
            pull(BUCCAL, [3.1, 7.8, 1.0], 26.0),
            pull(MASSETER, [2.4, 3.8, 1.2], 26.0),
            pull(JOWL, [2.0, 3.6, -3.2], 26.0),
            pull(lower_lip(), [-0.8, 2.8, 0.4], 24.0),
            pull(CHEEK, [0.5, 2.4, 2.8], 20.0),
        ]);
        drawn + m.off_lids * nasolabial(0.8).offset(m.p)
    }));
    posed.extend(poser.lip_pair("mouthFrown", |m| {
        let drawn = m.pulled(&[
            pull(corner(), [1.7, -5.9, -0.8], 24.0),
            pull(BUCCAL, [0.6, -2.7, 0.3], 26.0),
            pull(JOWL, [0.8, -1.0, 1.3], 26.0),
            pull(CHIN_SIDE, [0.5, 0.4, 1.4], 22.0),
        ]);
        let marionette = straight(
            corner() + at(4.0, -5.0, 0.0),
            corner() + at(7.0, -18.0, -4.0),
            at(-0.2, 0.0, -0.8),
            4.4,
        );
        drawn + marionette.offset(m.p)
    }));
    posed.extend(poser.lip_pair("mouthDimple", |m| {
        let drawn = m.pulled(&[
            pull(corner(), [4.0, 3.6, -5.4], 22.0),
            pull(JOWL, [0.5, 2.2, -1.2], 26.0),
            pull(CHIN_SIDE, [2.0, 2.6, -0.5], 19.0),
            pull(BUCCAL, [1.3, 1.5, 1.0], 26.0),
            pull(MASSETER, [0.9, 0.9, 0.3], 26.0),
            pull(FOLD, [1.0, -0.4, 0.9], 26.0),
        ]);
        let dimple =
            straight(corner() + at(8.0, 6.0, -3.0), corner() + at(8.0, -4.0, -3.0), at(-0.3, 0.0, -0.6), 4.6);
        drawn + dimple.offset(m.p)
    }));
    posed.extend(poser.lip_pair("mouthStretch", |m| {
        m.pulled(&[
            pull(corner(), [6.6, -3.0, -5.4], 32.0),
            pull(JOWL, [3.3, 0.4, -2.1], 32.0),
            pull(BUCCAL, [1.2, -0.6, 3.0], 32.0),
            pull(UNDER_JAW, [2.3, -0.3, 0.8], 32.0),
            pull(MASSETER, [1.2, 0.2, 0.9], 32.0),
        ])
    }));
}

/// Lips rolled over the teeth.
fn rolls(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.push(poser.lip_middle("mouthRollLower", |m| {
        let drawn = [
            pull(sulcus(), [0.0, 3.6, 3.0], 22.0),
            pull(sulcus_side(), [0.0, 1.6, 2.0], 19.0),
            pull(lower_side(), [-0.4, 0.2, -0.8], 24.0),
            pull(CHIN_SIDE, [0.3, 0.8, 1.3], 26.0),
            pull(JOWL, [0.0, 0.7, 0.0], 26.0),
        ];
        m.kept_apart(m.rolled(0.0, 0.8) + m.lower * m.shallow * m.pulled_evenly(&drawn))
    }));
    posed.push(poser.lip_middle("mouthRollUpper", |m| {
        let drawn = [
            pull(upper_lip(), [0.0, -2.4, -1.2], 20.0),
            pull(upper_side(), [-0.3, -2.0, -2.2], 24.0),
            pull(FOLD, [0.9, -1.2, 1.0], 19.0),
        ];
        m.kept_apart(m.rolled(0.92, 0.0) + (1.0 - m.lower) * m.shallow * m.pulled_evenly(&drawn))
    }));
}

/// Chin and lips pushed up, lips pressed together.
fn shrugs(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.push(poser.lip_middle("mouthShrugLower", |m| {
        let raised = [
            pull(sulcus(), [0.0, 2.9, 0.8], 26.0),
            pull(CHIN_SIDE, [-0.2, 2.6, 1.2], 26.0),
            pull(lower_side(), [-0.2, 1.9, 2.2], 16.0),
            pull(JOWL, [0.0, 1.2, 0.8], 26.0),
            pull(lower_lip(), [0.0, 0.8, 1.4], 12.0),
        ];
        m.shallow * m.pulled_evenly(&raised)
    }));
    posed.push(poser.lip_middle("mouthShrugUpper", |m| {
        let raised = [
            pull(upper_side(), [-0.4, 2.7, 0.2], 22.0),
            pull(upper_lip(), [0.0, 1.5, 0.4], 13.0),
            pull(lower_lip(), [0.0, 0.4, 0.6], 19.0),
        ];
        (1.0 - m.lower) * m.pulled_evenly(&raised)
    }));
    posed.extend(poser.lip_pair("mouthPress", |m| {
        let side = left(m.p.x);
        let squash = at(0.0, -0.42 * m.t * bell(m.t, 13.0), -1.2 * bell(m.t, 12.0)) * m.near;
        let pushed = [
            pull(sulcus_side(), [2.2, 4.2, 1.6], 26.0),
            pull(CHIN, [-0.5, 1.0, 1.2], 26.0),
            pull(BUCCAL, [1.7, 1.7, 0.6], 26.0),
            pull(FOLD, [1.7, -0.2, 1.0], 26.0),
            pull(MASSETER, [0.3, 0.7, 0.3], 26.0),
            pull(JOWL, [0.6, 1.5, 0.8], 26.0),
        ];
        side * squash + m.pulled(&pushed)
    }));
}

/// Lips drawn up and down on one side.
fn raises(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    posed.extend(poser.lip_pair("mouthLowerDown", |m| {
        let drawn = [
            pull(sulcus_side(), [1.5, -3.0, 0.0], 26.0),
            pull(lower_side(), [1.0, -3.2, 0.5], 20.0),
            pull(CHIN, [0.6, -1.5, -0.5], 26.0),
        ];
        m.lower * m.pulled(&drawn)
    }));
    posed.extend(poser.lip_pair("mouthUpperUp", |m| {
        let drawn = [
            pull(upper_side(), [0.9, 5.6, 0.0], 22.0),
            pull(FOLD, [1.2, 3.2, 0.0], 24.0),
            pull(BUCCAL, [-0.6, 2.0, 0.8], 26.0),
            pull(MALAR, [-0.4, 0.8, 0.8], 26.0),
            pull(wing(), [0.3, 0.8, 0.0], 12.0),
        ];
        let fold = m.off_lids * nasolabial(0.7).offset(m.p);
        (1.0 - m.lower) * (m.pulled(&drawn) + fold)
    }));
}
