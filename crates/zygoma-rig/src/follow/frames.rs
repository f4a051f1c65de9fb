//! Frames of meshes that follow the skin, for exporters.

use glam::Vec3;

use super::{Followers, Rider};
use crate::bake::{BakeOptions, Baked, bake_correctives};
use crate::evaluate::{ClampedPerformance, Performance};
use crate::frames::Frames;
use crate::{Result, Rig, Take};

/// A mesh that follows the simulated skin while the rig performs a take.
#[derive(Clone, Debug)]
pub struct Riding<'a, S> {
    rig: &'a Rig,
    take: &'a Take,
    rider: &'a Rider,
    /// The mesh as its own shapes move it.
    own: Performance<'a>,
    shown: S,
    skin: Vec<Vec3>,
    weights: Vec<f32>,
}

impl<'a, S: Frames> Riding<'a, S> {
    /// `shown` are the frames of the simulated skin; the first one is at the take's start.
    pub fn new(rig: &'a Rig, rider: &'a Rider, take: &'a Take, shown: S) -> Self {
        Self {
            own: Performance::new(rig, rider.mesh(), take, shown.fps()),
            skin: rig.skin().positions.clone(),
            weights: vec![0.0; rig.skin().shapes.len()],
            rig,
            take,
            rider,
            shown,
        }
    }
}

impl<S: Frames> Frames for Riding<'_, S> {
    fn count(&self) -> usize {
        self.shown.count()
    }

    fn fps(&self) -> f64 {
        self.shown.fps()
    }

    fn vertex_count(&self) -> usize {
        self.own.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.shown.read(frame, &mut self.skin)?;
        self.own.read(frame, positions)?;
        let time = self.own.time(frame);
        self.own.binding().weights_at(self.take, self.rig.skin, time, &mut self.weights);
        self.rider.ride(&self.weights, &self.skin, positions);
        Ok(())
    }
}

/// A mesh that follows the skin, as its own shapes plus correctives.
#[derive(Clone, Debug)]
pub struct CorrectedRider {
    /// Index into [`Rig::meshes`].
    pub mesh: usize,
    /// Weights of all of its shapes, frame after frame.
    pub weights: Vec<f32>,
    /// Correctives that are added to its shapes.
    pub baked: Baked,
}

/// Compresses the motion that the skin adds to the meshes that follow it. Those to which it adds no more than the allowed error are left out.
///
/// `shown` are the frames of the simulated skin; the first one is at the take's start.
pub fn bake_riders(
    rig: &Rig,
    followers: &Followers,
    take: &Take,
    shown: &mut dyn Frames,
    options: &BakeOptions,
) -> Result<Vec<CorrectedRider>> {
    let mut baked = Vec::new();
    for rider in followers.riders() {
        let mesh = rider.mesh();
        let mut own = ClampedPerformance::new(rig, mesh, take, shown.count(), shown.fps());
        let mut riding = Riding::new(rig, rider, take, &mut *shown);
        let correctives = bake_correctives(&rig.meshes[mesh], &mut riding, &mut own, take.start(), options)?;
        if !correctives.animation.targets.is_empty() {
            baked.push(CorrectedRider { mesh, weights: own.weights, baked: correctives });
        }
    }
    Ok(baked)
}
