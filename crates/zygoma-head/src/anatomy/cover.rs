//! The depth of a point under the skin of the template, measured on its triangles.

use glam::DVec3;

use super::flesh::{filled_face, skin_at_rest};
use super::nearest::Nearest;
use crate::base::{Base, Part};
use crate::sculpt::field::at;
use crate::sculpt::lips;

/// A symmetric piece of the skin, with signed distances that are negative under it.
pub(super) struct Cover {
    surface: Nearest,
    inside: fn(DVec3) -> bool,
}

/// Whether skin is visible when mouth and eyes are closed.
pub(super) fn is_outer(part: Part) -> bool {
    matches!(part, Part::Outer | Part::UpperLip | Part::LowerLip)
}

/// Whether a vertex belongs to the lips: their red, or the wall of the mouth bag close behind them.
pub(super) fn is_lip(base: &Base, vertex: usize) -> bool {
    const THICKNESS: f64 = 14.0;
    let p = base.rest[vertex];
    match base.parts[vertex] {
        Part::UpperLip | Part::LowerLip => true,
        Part::UpperBag | Part::LowerBag => p.z > lips::front_z(p.x.abs().min(lips::CORNER_X)) - THICKNESS,
        _ => false,
    }
}

impl Cover {
    /// The skin that is visible when mouth and eyes are closed; tissue, mouth and eyes are all below it.
    pub(super) fn outer(base: &Base) -> Self {
        let keep = |t: &[u32; 3]| t.iter().all(|v| is_outer(base.parts[*v as usize]));
        Self { surface: Nearest::new(&base.rest, &base.triangles, keep), inside: |p| filled_face(p) < 0.0 }
    }

    /// All of the skin.
    pub(super) fn all(base: &Base) -> Self {
        Self {
            surface: Nearest::new(&base.rest, &base.triangles, |_| true),
            inside: |p| skin_at_rest(p) < 0.0,
        }
    }

    /// Signed distance: negative under the skin.
    pub(super) fn depth(&self, p: DVec3) -> f64 {
        let p = at(p.x.abs(), p.y, p.z);
        let distance = self.surface.find(p, f64::MAX).map_or(f64::MAX, |f| f.signed.abs());
        if (self.inside)(p) { -distance } else { distance }
    }
}
