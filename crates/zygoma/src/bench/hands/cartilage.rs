//! How far a nose bends under a finger, with cartilage and without it.

use std::sync::Arc;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::body::Touchable;
use zygoma_face::contact::{ColliderFrame, ColliderMotion};
use zygoma_face::model::{Continue, FaceModel, Landmarks};
use zygoma_face::tissue::{Tissue, TissueBody, TissueInput, TissueParams};
use zygoma_physics::contact::{ColliderShape, Pose};

/// Force of the finger, N, and radius of its tip, m.
const FORCE: f32 = 1.0;
const TIP: f32 = 8e-3;
/// Where the finger starts, and how far it would go, m: from the character's left, just behind the tip of the nose.
const FROM: Vec3 = Vec3::new(20e-3, 0.0, -4e-3);
const FAR: f32 = 40e-3;
/// Frames of 1/60 s until the nose is at rest.
const FRAMES: usize = 40;

/// Motion of the tip of a nose that is pushed aside with one newton, mm.
#[derive(Serialize)]
pub(crate) struct NoseRow {
    /// By how much stiffer cartilage is than soft tissue.
    pub(crate) factor: f64,
    pub(crate) with_mm: f32,
    pub(crate) without_mm: f32,
}

/// Bends the nose of a face.
pub(super) fn nose(face: &FaceModel) -> anyhow::Result<NoseRow> {
    let tip = Landmarks::new(face).find("nose-tip").context("the rig has no nose-tip")?.vertex as usize;
    let at = face.neutral[tip];
    let bent = |cartilage: f64| -> anyhow::Result<f32> {
        let params = TissueParams { cartilage, ..TissueParams::default() };
        let tissue = Tissue::build(&TissueInput::new(face), &params, &mut |_| Continue::Yes)?;
        let mut body = TissueBody::new(Arc::new(tissue))?;
        body.settle();
        let colliders = body.colliders_mut();
        let finger = ColliderShape::Sphere { radius: TIP };
        let motion = ColliderMotion::Bounded { force: FORCE };
        let id = colliders.add_in(ColliderFrame::Head, finger, Pose::at(at + FROM), motion);
        if let Some(finger) = colliders.get_mut(id) {
            finger.pose = Pose::at(at + FROM - FAR * Vec3::X);
        }
        let moved = (0..FRAMES).map(|_| body.advance(1.0 / 60.0)[tip].distance(at));
        Ok(1e3 * moved.fold(0.0, f32::max))
    };
    let factor = TissueParams::default().cartilage;
    Ok(NoseRow { factor, with_mm: bent(factor)?, without_mm: bent(1.0)? })
}
