//! Contact of an anatomical face: between its lips, with its teeth, and of its skin with colliders.

use glam::Vec3;
use zygoma_physics::projective::Row;

use super::aim::Aim;
use super::build::Anatomical;
use super::inverse::Inverse;
use super::run::AnatomicalBody;
use crate::body::{Touchable, weights_of_carriers};
use crate::contact::{Colliders, GrabId, HeadWay};
use crate::volume::contact::{ContactMode, ContactStep, Stiffness, Surface, VolumeContact};

/// Stiffness of contact, N/m per m² of skin: a hundred times the usual pull of the skin, as for tissue. Ours, as those below.
const FIRM: f64 = 3e7;
/// Length of the step for which driven colliders are tuned, s.
const STEP: f64 = 0.01;
/// Detections in a solve after the first.
const RENEWALS: usize = 2;

/// The contact of a head at rest.
pub(super) fn contact_of(model: &Anatomical, inverse: &mut Inverse) -> VolumeContact {
    let output = &model.output;
    let mut contact = VolumeContact::new(
        &model.skin_points,
        (output.lips.clone(), &output.neutral),
        (&output.embedding, &inverse.skin_rows(model)),
        (ContactMode::Absolute, FIRM, STEP),
        &mut inverse.system,
    );
    if let Some(teeth) = model.teeth.clone() {
        contact.set_teeth(teeth);
    }
    contact.set_bones(&model.solid_bones);
    let lips = contact.lip_rows(inverse.system.free_count());
    inverse.global.add_candidates(&lips, lips.len());
    contact
}

impl AnatomicalBody {
    /// The head's motion in the present frame.
    pub(super) fn head_way(&self) -> HeadWay {
        let [before, now] = self.path.ends();
        HeadWay { before, now }
    }

    /// Solves for a surface and a pose of the jaw while lips, teeth and colliders keep apart (Thesis ch. 3, §3.3.2). Skin moves up to some way. The step
    /// ends at a fraction of the frame and takes some seconds. Returns the number of iterations.
    pub(super) fn solve_in_contact(&mut self, aim: &Aim, way: f64, fraction: f64, seconds: f64) -> usize {
        let model = self.model.clone();
        let skin = &*model.skin_points;
        self.inverse.aim(&model, &aim.targets, &aim.pose);
        let goal = self.inverse.rows_at(&aim.targets);
        let step = ContactStep {
            way: self.head_way(),
            fraction: fraction as f32,
            seconds: seconds as f32,
            stiffness: Stiffness { contact: FIRM, sticky: 0.0 },
        };
        let Self { inverse, contact, .. } = self;
        contact.place_teeth(&aim.weights, &aim.pose);
        contact.follow_rig(&surface(aim, &goal, &goal));
        contact.place_held(skin, &goal, &mut inverse.x);
        let fastest = (way / seconds) as f32;
        let (system, factor) = (&mut inverse.system, &mut inverse.global);
        contact.begin(skin, &step, (&surface(aim, &goal, &inverse.x), &goal), fastest, (system, factor));
        let mut report = inverse.solve();
        for _ in 0..RENEWALS {
            inverse.release_transients();
            let (system, factor) = (&mut inverse.system, &mut inverse.global);
            contact.renew(skin, &step, &surface(aim, &goal, &inverse.x), (system, factor));
            if inverse.system.transient_rows().is_empty() {
                break;
            }
            report = report.followed_by(&inverse.solve_on());
        }
        contact.end(skin, &step, &surface(aim, &goal, &[]), &mut inverse.global, &mut inverse.x);
        contact.clear(&mut inverse.system);
        // Cannot fail: no constraint needs no candidate.
        let _ = inverse.global.set_transient(&[]);
        self.times.contact += std::mem::take(&mut contact.times).total();
        report.iterations()
    }

    /// Forgets all contacts, as if the face came from its rest pose.
    pub(super) fn forget_contact(&mut self) {
        let way = self.head_way();
        self.contact.place_teeth(&self.reached.weights, &self.reached.pose);
        self.contact.forget(&way);
    }

    /// Blends back to the rig, by a weight for each vertex of the whole mesh.
    pub(super) fn return_skin(&mut self, weights: &[f32]) {
        let embedding = &self.model.output.embedding;
        let weights = weights_of_carriers(embedding.iter(), weights, self.model.skin_count());
        for (v, weight) in weights.iter().enumerate() {
            let (at, target) = (self.inverse.at(v), self.reached.targets[v]);
            let weight = f64::from(weight.clamp(0.0, 1.0));
            self.inverse.place(v, if at.is_finite() { at.lerp(target, weight) } else { target });
        }
    }
}

impl Touchable for AnatomicalBody {
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
        let (model, inverse) = (&self.model, &self.inverse);
        let rows = inverse.skin_rows(model);
        let goal = inverse.rows_at(&self.reached.targets);
        let state = surface(&self.reached, &goal, &inverse.x);
        let carriers = (&model.output.embedding, &rows[..]);
        Some(self.contact.grab(&model.skin_points, (at, radius), &self.positions, carriers, &state))
    }
}

/// A state of the tissue and of the whole mesh that is embedded in it, as contact sees it.
fn surface<'a>(aim: &'a Aim, goal: &'a [Row<f32>], x: &'a [Row<f32>]) -> Surface<'a> {
    Surface { base: &aim.plain, rest: goal, x, origins: &[] }
}
