//! NePHIM's own method on the same interactions, whole and with parts left out.

use std::sync::Arc;
use std::time::Instant;

use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::HandId;
use zygoma_face::model::FaceModel;
use zygoma_face::run::{HandFrameMeasure, HandProbe};
use zygoma_face::tissue::{PublishedBody, PublishedOptions, Tissue};
use zygoma_hand::{HandPose, Side};

use super::sizes::FrameTimes;
use super::{MethodRow, RATE, follow, summary};

const WHOLE: PublishedOptions = PublishedOptions { bones: 1.0, paths: true, correction: true };

/// The method, and what its figures 7 to 9 leave out.
pub(super) const VARIANTS: [(&str, PublishedOptions); 5] = [
    ("published", WHOLE),
    ("published, without paths", PublishedOptions { paths: false, ..WHOLE }),
    ("published, without correction", PublishedOptions { correction: false, ..WHOLE }),
    ("published, bones at 50 %", PublishedOptions { bones: 0.5, ..WHOLE }),
    ("published, bones at 0 %", PublishedOptions { bones: 0.0, ..WHOLE }),
];

/// The published method, or a part of it, on interactions.
pub(super) struct Published {
    name: &'static str,
    body: PublishedBody,
    hands: Vec<HandId>,
    measures: Vec<Option<HandFrameMeasure>>,
    times: Vec<f64>,
}

impl Published {
    pub(super) fn new(
        tissue: &Arc<Tissue>,
        (name, options): (&'static str, PublishedOptions),
    ) -> anyhow::Result<Self> {
        let body = PublishedBody::new(tissue.clone(), options)?;
        Ok(Self { name, body, hands: Vec::new(), measures: Vec::new(), times: Vec::new() })
    }

    /// Begins an interaction with hands at their first poses.
    pub(super) fn begin(&mut self, poses: &[(Side, HandPose)]) {
        self.hands.clear();
        let colliders = self.body.colliders_mut();
        colliders.clear();
        follow(colliders, &mut self.hands, poses);
        self.body.settle();
    }

    /// Plays a frame, and returns its surface.
    pub(super) fn frame(&mut self, poses: &[(Side, HandPose)]) -> Vec<glam::Vec3> {
        follow(self.body.colliders_mut(), &mut self.hands, poses);
        let began = Instant::now();
        let shown = self.body.advance(1.0 / RATE).positions.to_vec();
        self.times.push(1e3 * began.elapsed().as_secs_f64());
        shown
    }

    /// Plays a frame and measures it.
    pub(super) fn measure(&mut self, poses: &[(Side, HandPose)], face: &FaceModel, probe: &mut HandProbe) {
        let shown = self.frame(poses);
        let hands = poses.iter().map(|(side, hand)| (*side, hand));
        self.measures.push(Some(probe.measure(hands, &face.skin, (&face.neutral, &shown))));
    }

    pub(super) fn row(self) -> MethodRow {
        MethodRow { name: self.name, found: summary(&self.measures), frames: FrameTimes::new(self.times) }
    }
}
