//! Plain deformation transfer between the skins of two fitted heads \[Sumner and Popović 2004\].

use glam::{DMat3, DVec3};
use zygoma_geometry::deformation::{Transfer, TransferError, deformation_gradients};
use zygoma_head::fit::SharedSkin;

/// Carries surfaces from one skin to another, dt(S_i, S, T) of AnaConDaR eq. 16.
pub(super) struct SurfaceTransfer {
    source: Vec<DVec3>,
    target: Vec<DVec3>,
    transfer: Transfer,
    /// Vertices that are placed rather than solved for: skin on the cranium and the end of the neck.
    held: Vec<u32>,
    /// Size of the target relative to the source.
    ratio: f64,
}

impl SurfaceTransfer {
    /// Prepares the transfer between two neutral skins.
    pub(super) fn new(source: &[DVec3], target: &[DVec3], ratio: f64) -> Result<Self, TransferError> {
        let shared = SharedSkin::get();
        let mut held: Vec<u32> =
            shared.region("cranium_rigid").iter().chain(&shared.places.neck).copied().collect();
        held.sort_unstable();
        held.dedup();
        let transfer = Transfer::new(target, shared.triangles, &held)?;
        Ok(Self { source: source.to_vec(), target: target.to_vec(), transfer, held, ratio })
    }

    /// The target's skin from the source's. Held vertices move as in the source, at the target's size.
    pub(super) fn carry(&mut self, posed: &[DVec3]) -> Vec<DVec3> {
        let gradients = self.gradients(posed);
        self.carry_changed(posed, &gradients)
    }

    /// The deformation gradient of every triangle of the source.
    pub(super) fn gradients(&self, posed: &[DVec3]) -> Vec<DMat3> {
        deformation_gradients(&self.source, posed, SharedSkin::get().triangles)
    }

    /// The target's skin with given gradients; held vertices move as in the posed source.
    pub(super) fn carry_changed(&mut self, posed: &[DVec3], gradients: &[DMat3]) -> Vec<DVec3> {
        let mut places = self.target.clone();
        for v in self.held.iter().map(|v| *v as usize) {
            places[v] += self.ratio * (posed[v] - self.source[v]);
        }
        self.transfer.apply(gradients, &places)
    }

    /// The neutral skin of the target.
    pub(super) fn target(&self) -> &[DVec3] {
        &self.target
    }

    /// The source's skin with displacements.
    pub(super) fn posed_source(&self, displacements: &[DVec3]) -> Vec<DVec3> {
        self.source.iter().zip(displacements).map(|(p, by)| *p + *by).collect()
    }
}
