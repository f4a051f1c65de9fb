//! Meshes that follow the skin: lashes, brows, beards, glasses and hats.
//!
//! A rig moves them with shapes of their own, or not at all. Where physics moves the skin, they have to move with it.
//! [`Followers`] finds them in the neutral; each [`Rider`] then moves its mesh from frame to frame, and [`Riding`] does so for
//! exporters.

mod find;
mod frames;
mod patch;
mod rider;
#[cfg(test)]
mod tests;

use crate::Rig;
use find::Finder;
pub use frames::{CorrectedRider, Riding, bake_riders};
pub use rider::Rider;

/// The meshes of a rig that follow its skin.
#[derive(Clone, Debug, Default)]
pub struct Followers {
    riders: Vec<Rider>,
}

impl Followers {
    /// Finds the meshes that follow a rig's skin.
    pub fn new(rig: &Rig) -> Self {
        let Some(finder) = Finder::new(rig.skin()) else { return Self::default() };
        let follows = |mesh: &usize| {
            *mesh != rig.skin
                && !find::is_inside(rig, *mesh)
                && !find::moves_with_head(&rig.meshes[*mesh].name)
        };
        let others = (0..rig.meshes.len()).filter(follows);
        let riders = others.filter_map(|mesh| Rider::new(rig, mesh, &finder.parts(&rig.meshes[mesh])));
        Self { riders: riders.collect() }
    }

    /// The meshes that follow the skin, in the order of the rig.
    pub fn riders(&self) -> &[Rider] {
        &self.riders
    }
}
