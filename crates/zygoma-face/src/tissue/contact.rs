//! Contact of tissue: colliders and grabs, teeth, and the contact of a step.

use glam::Vec3;
use zygoma_physics::projective::Row;

use super::run::TissueBody;
use crate::body::Touchable;
use crate::contact::{Colliders, GrabId, HeadWay};
use crate::model::Teeth;
use crate::volume::contact::{ContactStep, Stiffness, Surface, TeethReport};

impl Touchable for TissueBody {
    fn colliders(&self) -> &Colliders {
        &self.contact.colliders
    }

    fn colliders_mut(&mut self) -> &mut Colliders {
        &mut self.contact.colliders
    }

    fn shown(&self) -> &[Vec3] {
        &self.positions
    }

    fn grab(&mut self, at: Vec3, radius: f32) -> Option<GrabId> {
        let tissue = &self.tissue;
        let carriers = (&tissue.skin.embedding, &tissue.layout.rows[..]);
        let state = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions, origins: &[] };
        Some(self.contact.grab(&tissue.skin_points, (at, radius), &self.positions, carriers, &state))
    }
}

impl TissueBody {
    /// Keeps lips and cheeks out of the given teeth from now on, which replace earlier ones. Resolves only the penetrations by touch and
    /// motion: where the expression itself has the skin in the teeth, or they stand before it, the skin stays there. Artists let lips
    /// roll over teeth that they have not made thin enough, and to resolve all of it would tear the lips from their shapes.
    pub fn set_teeth(&mut self, teeth: Teeth) {
        self.contact.set_teeth(teeth);
    }

    /// State of the contact between tissue and teeth.
    pub fn teeth(&self) -> TeethReport {
        self.contact.teeth()
    }

    /// The head's motion in the present frame.
    fn head_way(&self) -> HeadWay {
        let [before, now] = self.head.path.ends();
        HeadWay { before, now }
    }

    /// Forgets all contacts after the face was teleported.
    pub(super) fn forget_contact(&mut self, weights: &[f32]) {
        self.contact.place_teeth(weights, &self.tissue.jaw_pose(weights));
        self.contact.forget(&self.head_way());
        self.report.sticky = 0;
    }

    /// Begins a step that ends at a fraction of the frame: moves colliders and teeth, and detects contacts.
    pub(super) fn begin_contact(&mut self, weights: &[f32], fraction: f32) {
        let step = self.contact_step(fraction);
        self.contact.place_teeth(weights, &self.tissue.jaw_pose(weights));
        let speed = |v: &Row<f32>| Vec3::from_slice(v).length_squared();
        let fastest = self.dynamics.velocities.iter().map(speed).fold(0.0, f32::max).sqrt();
        let state = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions, origins: &[] };
        self.contact.follow_rig(&Surface { x: &self.goal, ..state });
        let parts = (&mut self.system, &mut self.step_factor);
        self.contact.begin(&self.tissue.skin_points, &step, (&state, &self.goal), fastest, parts);
        self.count_contacts();
    }

    /// Re-detects contacts in mid-solve.
    pub(super) fn renew_contact(&mut self, fraction: f32) {
        let step = self.contact_step(fraction);
        let state = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions, origins: &[] };
        let parts = (&mut self.system, &mut self.step_factor);
        self.contact.renew(&self.tissue.skin_points, &step, &state, parts);
        self.count_contacts();
    }

    /// Ends the solve: colliders feel the skin, and remaining penetrations are resolved.
    pub(super) fn end_contact(&mut self, fraction: f32) {
        let step = self.contact_step(fraction);
        let state = Surface { base: &self.base, rest: &self.rest, x: &[], origins: &[] };
        let (skin, factor) = (&self.tissue.skin_points, &mut self.step_factor);
        self.contact.end(skin, &step, &state, factor, &mut self.dynamics.positions);
        self.stages.add_contact(std::mem::take(&mut self.contact.times));
    }

    /// Resolves the remaining penetrations, in a limited number of rounds.
    pub(super) fn part(&mut self, rounds: usize) {
        let state = Surface { base: &self.base, rest: &self.rest, x: &[], origins: &[] };
        let (skin, factor) = (&self.tissue.skin_points, &mut self.step_factor);
        self.contact.part(skin, rounds, &state, factor, &mut self.dynamics.positions);
    }

    fn count_contacts(&mut self) {
        self.report.contacts = self.contact.lips.as_ref().map_or(0, |lips| lips.contact_count(&self.system));
    }

    fn contact_step(&self, fraction: f32) -> ContactStep {
        let params = &self.tissue.params;
        ContactStep {
            way: self.head_way(),
            fraction,
            seconds: params.step_time as f32,
            stiffness: Stiffness { contact: params.contact, sticky: self.live.stickiness },
        }
    }
}
