//! The region of the tetrahedral fill: soft tissue, with the mouth open.

use glam::DVec3;

use super::FillDetail;
use super::bones::Sculptor;
use super::fill::Region;
use crate::sculpt::field::{at, ball, ramp};
use crate::sculpt::{self, ear, eyes, lips, nose};

/// Tissue between the skin with an open mouth and the bones.
///
/// Where tissue is thinner than an element, the fill continues into the bone, and its nodes there move with the bone.
pub(super) struct Flesh<'a> {
    /// The bones, with the mouth closed.
    pub(super) bones: Sculptor<'a>,
    /// How finely it is filled.
    pub(super) detail: FillDetail,
}

/// Smallest thickness of the fill under the skin, as a share of the element size.
const LAYER: f64 = 1.0;

impl Flesh<'_> {
    /// Signed distance to the core that is not filled, at a point with the mouth closed.
    fn core(&self, p: DVec3) -> f64 {
        let layer = (LAYER * self.size(p)).clamp(3.5, 16.0);
        self.bones.filled_bones(p).max(self.bones.outer.depth(p) + layer)
    }
}

impl Region for Flesh<'_> {
    fn field(&self, p: DVec3) -> f64 {
        let skin = sculpt::skin(p);
        if skin > 2.0 {
            return skin;
        }
        skin.max(-self.core(lips::close(p)))
    }

    fn thinnest(&self) -> f64 {
        2.0 * self.detail.coarseness()
    }

    fn size(&self, p: DVec3) -> f64 {
        let coarser = self.detail.coarseness();
        let grow = |distance: f64, at_feature: f64| at_feature + 0.7 * distance.max(0.0);
        let from_eye = p.distance(eyes::CENTRE);
        let behind = (eyes::CENTRE.z + 5.0 - p.z).max(0.0);
        let lid = grow(1.4 * ((from_eye - eyes::MARGIN).abs() - 1.0).max(0.0) + behind, 3.0);
        let inner = (lips::front_z(p.x.min(lips::CORNER_X)) - 14.0 - p.z).max(0.0);
        let slit = grow(
            coarser * ((lips::slot(p).abs() - 1.5).max(0.0) + inner),
            self.detail.at_slit() * lips::slot_half(p.x).clamp(1.3, 3.0),
        );
        let nose = grow(ball(p, nose::WING, 12.0), 6.0);
        let below_lip = grow(ball(p, at(0.0, -64.0, 94.0), 12.0), 5.0);
        let ear = grow(ball(p, ear::CENTRE + at(6.0, 5.0, -12.0), 30.0), 7.5);
        let general = 14.0 + 4.0 * ramp(30.0, 0.0, p.z) + 6.0 * ramp(-80.0, -110.0, p.y);
        slit.min(coarser * lid.min(nose).min(below_lip).min(ear).min(general))
    }
}
