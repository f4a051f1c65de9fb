//! Contact of an enriched face: of its skin with colliders, between its lips, and with its teeth.
//!
//! The unknowns are displacements from the rest shape, so contact acts on the whole mesh as the artist has it, plus what displacements add.

use glam::Vec3;
use zygoma_physics::projective::{Row, row};
use zygoma_physics::rebalanced::{Constrained, Transients};

use super::build::Enriched;
use super::run::EnrichedBody;
use crate::body::Touchable;
use crate::contact::{Colliders, GrabId, HeadWay};
use crate::volume::contact::{ContactMode, ContactStep, Stiffness, Surface, VolumeContact};

/// The rest shape as contact sees it.
#[derive(Clone)]
pub(super) struct RestSurface {
    /// The whole mesh.
    base: Vec<Vec3>,
    /// Positions of the rows.
    origins: Vec<Row<f32>>,
    /// One row of zeros for each row.
    undisplaced: Vec<Row<f32>>,
}

impl RestSurface {
    /// The surface of a neutral whose volume has some rows.
    pub(super) fn new(neutral: &[Vec3], rows: usize) -> Self {
        let none = vec![[0.0; 4]; rows];
        Self { base: neutral.to_vec(), origins: none.clone(), undisplaced: none }
    }

    /// The surface with some displacements.
    fn displaced<'a>(&'a self, x: &'a [Row<f32>]) -> Surface<'a> {
        Surface { base: &self.base, rest: &self.undisplaced, x, origins: &self.origins }
    }
}

/// The contact of one step.
pub(super) struct StepContact<'a> {
    pub(super) contact: &'a mut VolumeContact,
    pub(super) enriched: &'a Enriched,
    pub(super) surface: &'a RestSurface,
    pub(super) step: ContactStep,
}

impl Transients for StepContact<'_> {
    fn may_push(&self) -> bool {
        self.contact.is_touched() || self.enriched.params.contact_mode == ContactMode::Absolute
    }

    fn begin(&mut self, solid: &mut Constrained<'_>) {
        let skin = &self.enriched.skin_points;
        self.contact.place_held(skin, &self.surface.undisplaced, solid.displacements);
        let length = |v: &Row<f32>| Vec3::from_slice(v).length_squared();
        let fastest = solid.velocities.iter().map(length).fold(0.0, f32::max).sqrt();
        let states = (&self.surface.displaced(solid.displacements), &self.surface.undisplaced[..]);
        let parts = (&mut *solid.system, &mut *solid.factor);
        self.contact.begin(skin, &self.step, states, fastest, parts);
    }

    fn renew(&mut self, solid: &mut Constrained<'_>) -> bool {
        let state = self.surface.displaced(solid.displacements);
        let parts = (&mut *solid.system, &mut *solid.factor);
        self.contact.renew(&self.enriched.skin_points, &self.step, &state, parts);
        !solid.system.transient_rows().is_empty()
    }

    fn end(&mut self, solid: &mut Constrained<'_>) {
        let state = self.surface.displaced(&[]);
        self.contact.end(&self.enriched.skin_points, &self.step, &state, solid.factor, solid.displacements);
    }

    fn clear(&mut self, solid: &mut Constrained<'_>) {
        self.contact.clear(solid.system);
        // Cannot fail: no constraint needs no candidate.
        let _ = solid.factor.set_transient(&[]);
    }
}

impl EnrichedBody {
    /// The head's motion in the present frame.
    pub(super) fn head_way(&self) -> HeadWay {
        let [before, now] = self.path.ends();
        HeadWay { before, now }
    }

    /// A step that ends at a fraction of the frame, as contact sees it.
    pub(super) fn contact_step(&self, fraction: f64) -> ContactStep {
        ContactStep {
            way: self.head_way(),
            fraction: fraction as f32,
            seconds: self.step_time() as f32,
            stiffness: Stiffness { contact: self.enriched.params.contact, sticky: 0.0 },
        }
    }

    /// Brings teeth, lips and the whole mesh to the present rest shape.
    pub(super) fn follow_rest(&mut self) {
        let enriched = &self.enriched;
        let surface = &mut self.surface;
        if !std::mem::take(&mut self.surface_is_stale) {
            return;
        }
        surface.base.copy_from_slice(&enriched.skin.neutral);
        enriched.skin.add_shapes(&self.rest_weights, &mut surface.base);
        self.contact.place_teeth(&self.rest_weights, &enriched.bones.pose(&self.rest_weights));
        for (origin, place) in surface.origins.iter_mut().zip(self.solid.rest().positions()) {
            *origin = row(*place);
        }
        self.contact.follow_rig(&surface.displaced(&surface.undisplaced));
    }
}

impl Touchable for EnrichedBody {
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
        self.follow_rest();
        let enriched = &self.enriched;
        let carriers = (&enriched.skin.embedding, &enriched.skin_rows[..]);
        let state = self.surface.displaced(&self.solid.displacements);
        Some(self.contact.grab(&enriched.skin_points, (at, radius), &self.positions, carriers, &state))
    }
}
