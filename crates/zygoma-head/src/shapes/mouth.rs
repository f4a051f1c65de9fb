//! Lip shapes.

use glam::DVec3;

use super::kelvin::{pull, pulls};
use super::{Posed, Poser};
use crate::sculpt::field::{at, bell, ramp};
use crate::sculpt::lips::{CORNER_X, front_z, line_y};

/// A vertex in lip coordinates.
struct LipView {
    p: DVec3,
    /// Height above the line where the lips meet.
    t: f64,
    /// How much it follows the lower lip.
    lower: f64,
    /// 1 in the lips, 0 well outside of them.
    near: f64,
}

impl Poser<'_> {
    fn lip_view(&self, v: usize, p: DVec3) -> LipView {
        let x = p.x.abs();
        let t = p.y - line_y(x.min(CORNER_X));
        let depth = (front_z(x.min(CORNER_X + 4.0)) - p.z).max(0.0);
        let near = bell(x, 34.0).powi(2) * bell(t, 17.0) * (1.0 - ramp(10.0, 34.0, depth));
        // The jaw field separates the lips smoothly up to their corners.
        let lower = self.jaw[v];
        LipView { p, t, lower, near }
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

/// Weight of the left half, smooth: with its mirror image it sums to 1.
fn left(x: f64) -> f64 {
    ramp(-9.0, 9.0, x)
}

/// 1 in the middle of the mouth, 0 at its corners.
fn arch(x: f64) -> f64 {
    (1.0 - (x / (CORNER_X - 0.5)).powi(2)).max(0.0)
}

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    const CORNER: [f64; 3] = [25.0, -44.5, 92.0];
    posed.push(poser.lip_middle("mouthFunnel", |m| {
        let sign = 1.0 - 2.0 * m.lower;
        let open = arch(m.p.x).powf(0.6) * 5.5 * sign * bell(m.t, 22.0);
        let out = 6.0 + 0.006 * m.p.x * m.p.x;
        m.near * at(-0.30 * m.p.x, 0.0, out)
            + bell(m.p.x, 40.0) * (1.0 - ramp(12.0, 34.0, 108.0 - m.p.z)) * at(0.0, open, 0.0)
    }));
    posed.push(poser.lip_middle("mouthPucker", |m| {
        let out = 7.0 + 0.010 * m.p.x * m.p.x;
        m.near * at(-0.44 * m.p.x, 0.22 * m.t * bell(m.t, 14.0), out)
    }));
    let [to_left, to_right] = poser.pair("mouth", |_, p| {
        pulls(&[pull([0.0, -46.0, 100.0], [9.0, 0.0, -1.0], 24.0), pull(CORNER, [0.0, 0.5, -4.0], 14.0)], p)
    });
    posed.extend([to_left, to_right]);
    posed.extend(poser.lip_pair("mouthSmile", |m| {
        pulls(
            &[
                pull(CORNER, [7.0, 9.5, -7.0], 15.0),
                pull([38.0, -20.0, 70.0], [1.5, 4.0, 1.5], 16.0),
                pull([20.0, -26.0, 96.0], [1.0, 1.5, 0.5], 9.0),
            ],
            m.p,
        )
    }));
    posed.extend(poser.lip_pair("mouthFrown", |m| {
        pulls(&[pull(CORNER, [1.5, -9.0, -2.5], 14.0), pull([14.0, -66.0, 98.0], [0.0, 2.0, 1.5], 10.0)], m.p)
    }));
    posed.extend(poser.lip_pair("mouthDimple", |m| {
        pulls(&[pull(CORNER, [5.0, 1.0, -6.5], 9.5), pull([36.0, -44.0, 82.0], [1.0, 0.0, -2.0], 9.0)], m.p)
    }));
    posed.extend(poser.lip_pair("mouthStretch", |m| {
        pulls(
            &[pull(CORNER, [9.0, -5.5, -7.5], 15.0), pull([34.0, -74.0, 62.0], [2.0, -3.0, 0.0], 16.0)],
            m.p,
        )
    }));
    posed.push(poser.lip_middle("mouthRollLower", |m| {
        let near =
            m.lower * arch(m.p.x).powf(0.7) * bell(m.t + 3.0, 9.0) * (1.0 - ramp(8.0, 26.0, 106.0 - m.p.z));
        near * at(0.0, -0.42 * m.t.min(0.0) - 1.2, -3.6)
    }));
    posed.push(poser.lip_middle("mouthRollUpper", |m| {
        let near = (1.0 - m.lower)
            * arch(m.p.x).powf(0.7)
            * bell(m.t - 2.0, 8.0)
            * (1.0 - ramp(8.0, 26.0, 106.0 - m.p.z));
        near * at(0.0, -0.38 * m.t.max(0.0) - 0.4, -3.1)
    }));
    posed.push(poser.lip_middle("mouthShrugLower", |m| {
        pulls(
            &[
                pull([0.0, -64.0, 99.0], [0.0, 4.6, 2.0], 15.0),
                pull([0.0, -50.0, 103.0], [0.0, 1.5, 2.0], 11.0),
            ],
            m.p,
        )
    }));
    posed.push(poser.lip_middle("mouthShrugUpper", |m| {
        let lift = pulls(&[pull([0.0, -38.0, 104.0], [0.0, 4.5, 2.0], 14.0)], m.p);
        lift * (1.0 - 0.12 * m.lower * m.near)
    }));
    posed.extend(poser.lip_pair("mouthPress", |m| {
        let side = left(m.p.x);
        let squash = at(0.0, -0.42 * m.t * bell(m.t, 13.0), -2.2 * bell(m.t, 12.0)) * m.near;
        side * squash + pulls(&[pull(CORNER, [1.5, 0.3, -1.0], 9.0)], m.p)
    }));
    posed.extend(poser.lip_pair("mouthLowerDown", |m| {
        let reach = (1.0 - ramp(12.0, 34.0, 108.0 - m.p.z)) * bell(m.p.x - 11.0, 15.0) * left(m.p.x);
        m.lower * reach * bell(m.t, 24.0) * at(1.0, -6.5, 0.3)
    }));
    posed.extend(poser.lip_pair("mouthUpperUp", |m| {
        let reach = (1.0 - ramp(12.0, 34.0, 108.0 - m.p.z)) * bell(m.p.x - 9.0, 18.0) * left(m.p.x);
        let lip = (1.0 - m.lower) * reach * bell(m.t, 20.0) * at(0.6, 5.5, 0.8);
        let fold = (1.0 - m.lower) * pull([22.0, -24.0, 94.0], [0.5, 2.2, 0.8], 9.0).offset(m.p);
        lip + fold
    }));
}
