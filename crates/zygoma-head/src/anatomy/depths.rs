//! Depth of the bone under the skin.
//!
//! Means of adults, pooled over the published studies by \[Stephan and Simpson 2008\] (Facial soft tissue depths in
//! craniofacial identification, part I, J. Forensic Sci. 53:6, the "T-table"), rounded to half millimetres and quoted at
//! second hand: check a value against the paper before relying on it. Places that the table does not list (scalp,
//! temple, neck) are ours.

use glam::DVec3;

use crate::sculpt::field::at;

/// A landmark on the skin of the template, and the depth of the bone below it.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Name of the landmark.
    pub name: &'static str,
    /// Where it is, in template space (millimetres, left side).
    pub place: DVec3,
    /// Depth in millimetres.
    pub depth: f64,
    /// Whether the depth is the table's; otherwise it is ours.
    pub published: bool,
}

const fn table(name: &'static str, place: DVec3, depth: f64) -> Depth {
    Depth { name, place, depth, published: true }
}

const fn ours(name: &'static str, place: DVec3, depth: f64) -> Depth {
    Depth { name, place, depth, published: false }
}

/// All landmarks; those with x > 0 stand for both sides.
pub const DEPTHS: [Depth; 39] = [
    table("glabella", at(0.0, 38.0, 92.0), 5.5),
    table("nasion", at(0.0, 25.0, 92.0), 6.5),
    table("mid-nasal", at(0.0, 12.0, 97.0), 4.0),
    table("rhinion", at(0.0, 3.0, 103.0), 3.0),
    table("subnasale", at(0.0, -26.0, 101.0), 13.0),
    table("mid-philtrum", at(0.0, -31.0, 103.0), 11.0),
    table("labrale superius", at(0.0, -38.0, 108.0), 11.5),
    table("labrale inferius", at(0.0, -55.0, 107.0), 13.0),
    table("mentolabial sulcus", at(0.0, -63.5, 99.0), 11.0),
    table("pogonion", at(0.0, -76.5, 101.0), 11.5),
    table("gnathion", at(0.0, -86.0, 95.0), 8.5),
    table("menton", at(0.0, -91.0, 86.0), 7.0),
    table("mid-supraorbital", at(30.0, 40.0, 86.0), 6.0),
    table("mid-infraorbital", at(32.0, -9.0, 83.0), 7.0),
    table("alare curvature point", at(20.0, -18.0, 95.0), 9.5),
    table("gonion", at(50.0, -57.0, 14.0), 10.0),
    table("zygion", at(74.0, -2.0, 18.0), 6.0),
    table("supra canine", at(17.0, -32.0, 99.0), 9.5),
    table("infra canine", at(16.0, -60.5, 97.0), 10.5),
    table("supra M2", at(47.0, -30.0, 64.0), 26.0),
    table("infra M2", at(44.0, -56.0, 52.0), 19.5),
    table("mid-ramus", at(61.0, -30.0, 22.0), 17.5),
    table("mid-mandibular border", at(34.0, -78.0, 48.0), 10.5),
    ours("cheekbone", at(46.0, -6.0, 74.0), 8.0),
    ours("lateral orbit", at(54.0, 14.0, 62.0), 4.5),
    ours("temple", at(60.0, 34.0, 40.0), 10.0),
    ours("side of the skull", at(73.0, 60.0, -5.0), 6.5),
    ours("behind the ear", at(66.0, 20.0, -40.0), 7.0),
    ours("mastoid", at(62.0, -22.0, -20.0), 9.0),
    ours("frontal eminence", at(30.0, 70.0, 82.0), 5.0),
    ours("forehead", at(0.0, 70.0, 89.0), 5.0),
    ours("vertex", at(0.0, 137.0, -8.0), 6.0),
    ours("parietal", at(50.0, 115.0, -15.0), 6.0),
    ours("back of the head", at(0.0, 60.0, -100.0), 7.0),
    ours("side of the back of the head", at(50.0, 40.0, -78.0), 7.0),
    ours("nape", at(0.0, -20.0, -80.0), 22.0),
    ours("under the jaw", at(0.0, -100.0, 50.0), 13.0),
    ours("throat", at(0.0, -140.0, 24.0), 26.0),
    ours("side of the neck", at(44.0, -110.0, -20.0), 24.0),
];

/// Depth of the bone under the nearest skin, smoothly interpolated over the landmarks (inverse-distance weights).
pub fn depth(p: DVec3) -> f64 {
    const SOFTNESS: f64 = 36.0;
    let p = at(p.x.abs(), p.y, p.z);
    let (mut sum, mut weights) = (0.0, 0.0);
    for mark in &DEPTHS {
        let mut add = |place: DVec3| {
            let weight = (p.distance_squared(place) + SOFTNESS).powi(-2);
            sum += weight * mark.depth;
            weights += weight;
        };
        add(mark.place);
        if mark.place.x > 0.0 {
            add(at(-mark.place.x, mark.place.y, mark.place.z));
        }
    }
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_met_and_all_depths_lie_between_them() {
        for mark in DEPTHS {
            let found = depth(mark.place);
            assert!((found - mark.depth).abs() < 0.25 * mark.depth + 1.5, "{} {found}", mark.name);
        }
        for i in 0..1000 {
            let t = f64::from(i) * 0.1;
            let found = depth(at(70.0 * t.sin(), 140.0 * (0.3 * t).cos(), 100.0 * (0.7 * t).cos()));
            assert!((3.0..=26.0).contains(&found));
        }
    }
}
