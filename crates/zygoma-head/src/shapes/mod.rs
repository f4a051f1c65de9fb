//! The 52 ARKit shapes of the template's skin.
//!
//! Every shape is a motion of tissue posed where its muscle pulls: jaw shapes are a rigid motion weighted by the jaw
//! field, lid shapes rotate the lids about the eyeball, the others pull handles in an elastic medium at named `places` and press `fold`s
//! into the skin. Directions and lengths of the pulls were chosen so that the skin moves as it does on average in ICT-FaceKit and in the people
//! of MPFB; `zygoma bench head --rig` compares them.

mod brow;
mod cheek;
mod eyes;
mod fold;
mod jaw;
pub(crate) mod kelvin;
mod mouth;
mod nose;
mod places;

use glam::DVec3;

use crate::base::{Base, Part};
use crate::sculpt::eyes as lids;
use crate::sculpt::field::ramp;

pub(crate) use eyes::{GAZE, gaze_turn, lid_shapes};

/// A named displacement of every vertex, in template space.
#[derive(Clone, Debug)]
pub(crate) struct Posed {
    pub(crate) name: String,
    pub(crate) offsets: Vec<DVec3>,
}

/// The template surface with the fields that posing needs.
pub(crate) struct Poser<'a> {
    pub(crate) base: &'a Base,
    /// The share of the jaw's motion that each vertex follows.
    pub(crate) jaw: &'a [f64],
    /// The same with sealed lips.
    pub(crate) seal: &'a [f64],
}

/// All shapes of the skin in ARKit's order.
pub(crate) fn all(poser: &Poser<'_>) -> Vec<Posed> {
    let mut posed = Vec::new();
    eyes::pose(poser, &mut posed);
    jaw::pose(poser, &mut posed);
    mouth::pose(poser, &mut posed);
    brow::pose(poser, &mut posed);
    cheek::pose(poser, &mut posed);
    nose::pose(poser, &mut posed);
    jaw::pose_tongue(poser, &mut posed);
    posed
}

pub(crate) fn reflect(v: DVec3) -> DVec3 {
    DVec3::new(-v.x, v.y, v.z)
}

impl Poser<'_> {
    /// A symmetric shape.
    fn middle(&self, name: &str, offset: impl Fn(usize, DVec3) -> DVec3) -> Posed {
        let base = self.base;
        let one = |v: usize| self.kept_off_eyes(v, offset(v, base.rest[v]));
        let mut offsets: Vec<DVec3> = (0..base.rest.len()).map(one).collect();
        for v in 0..offsets.len() {
            let other = base.mirror[v] as usize;
            if other == v {
                offsets[v].x = 0.0;
            } else if other > v {
                offsets[other] = reflect(offsets[v]);
            }
        }
        Posed { name: name.to_owned(), offsets: trimmed(offsets) }
    }

    /// A pair of shapes: `name` with "Left", and its mirror image with "Right".
    fn pair(&self, name: &str, offset: impl Fn(usize, DVec3) -> DVec3) -> [Posed; 2] {
        let base = self.base;
        let left: Vec<DVec3> =
            (0..base.rest.len()).map(|v| self.kept_off_eyes(v, offset(v, base.rest[v]))).collect();
        let left = trimmed(left);
        let right = (0..left.len()).map(|v| reflect(left[base.mirror[v] as usize])).collect();
        [
            Posed { name: format!("{name}Left"), offsets: left },
            Posed { name: format!("{name}Right"), offsets: right },
        ]
    }

    /// Shortens a displacement that would push skin into an eyeball.
    fn kept_off_eyes(&self, v: usize, offset: DVec3) -> DVec3 {
        if offset == DVec3::ZERO || matches!(self.base.parts[v], Part::UpperBag | Part::LowerBag) {
            return offset;
        }
        let moved = self.base.rest[v] + offset;
        let centre = if moved.x < 0.0 { reflect(lids::CENTRE) } else { lids::CENTRE };
        let away = moved - centre;
        let least = lids::RADIUS + 0.25;
        if away.length() < least {
            centre + away.normalize_or_zero() * least - self.base.rest[v]
        } else {
            offset
        }
    }

    /// 1 away from the lids, 0 on them: pulls at brow and cheek do not move the lids' margins.
    fn off_lids(&self, v: usize, p: DVec3) -> f64 {
        if matches!(self.base.parts[v], Part::LeftPocket | Part::RightPocket) {
            return 0.0;
        }
        let centre = if p.x < 0.0 { reflect(lids::CENTRE) } else { lids::CENTRE };
        ramp(lids::MARGIN + 0.5, lids::MARGIN + 13.0, p.distance(centre))
    }
}

/// Sets invisibly small displacements to zero, so that shapes stay local.
fn trimmed(mut offsets: Vec<DVec3>) -> Vec<DVec3> {
    const UNSEEN: f64 = 0.03;
    for offset in &mut offsets {
        let length = offset.length();
        *offset *= ramp(UNSEEN, 4.0 * UNSEEN, length);
    }
    offsets
}
