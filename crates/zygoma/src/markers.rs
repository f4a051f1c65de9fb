//! Reads markers that drive a face from a file.

use std::path::{Path, PathBuf};

use anyhow::Context;
use zygoma_face::anatomical::AnatomicalBody;
use zygoma_face::retarget::{PointSet, carry_points};
use zygoma_face::tissue::{Markers, Tissue};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::markers::{MarkerPlace, MarkerTake, read_markers};
use zygoma_rig::{JointRole, MotionTrack, Rig, Take, WeightCurve, WeightTrack};

use crate::progress::Progress;

/// Markers, and the weights with which the plain rig fits them.
pub(crate) struct FollowedMarkers {
    pub(crate) path: PathBuf,
    pub(crate) take: MarkerTake,
    /// Weights of the rig's shapes at each moment.
    weights: Vec<Vec<f32>>,
}

/// Markers of a file, on a rig's skin.
#[derive(Clone)]
pub(crate) struct TrackedMarkers {
    pub(crate) path: PathBuf,
    pub(crate) take: MarkerTake,
    /// The head's motion, if the markers have it in them.
    pub(crate) head: Option<MotionTrack>,
    /// Points of a set that this head does not have.
    pub(crate) left_out: usize,
}

impl TrackedMarkers {
    /// Reads markers; those of a set are carried from the person on whom they were tracked to the rig.
    pub(crate) fn read(path: &Path, set: Option<PointSet>, rig: &Rig) -> anyhow::Result<Self> {
        let take = read_markers(path, &Limits::default())?;
        let path = path.to_owned();
        let Some(set) = set else { return Ok(Self { path, take, head: None, left_out: 0 }) };
        let bar = Progress::new("finding the points on this head", 1);
        let carried = carry_points(&take, set, rig).with_context(|| path.display().to_string())?;
        drop(bar);
        let head =
            MotionTrack { role: JointRole::Head, times: carried.points.times.clone(), motions: carried.head };
        Ok(Self { path, take: carried.points, head: Some(head), left_out: carried.left_out.len() })
    }
}

impl FollowedMarkers {
    /// Attaches markers to the skin of some tissue.
    pub(crate) fn of_tissue(tracked: &TrackedMarkers, tissue: &Tissue) -> anyhow::Result<Self> {
        let TrackedMarkers { path, take, .. } = tracked.clone();
        let mut followed = Self { path, take, weights: Vec::new() };
        let markers = followed.on(tissue)?;
        followed.weights = followed.take.positions.iter().map(|at| markers.weights(at)).collect();
        Ok(followed)
    }

    /// Takes markers that an anatomical face follows.
    pub(crate) fn of_anatomical(tracked: &TrackedMarkers, body: &AnatomicalBody) -> Self {
        let TrackedMarkers { path, take, .. } = tracked.clone();
        let mut body = body.clone();
        let weights = take.positions.iter().map(|at| body.set_landmarks(at).unwrap_or_default()).collect();
        Self { path, take, weights }
    }

    /// The markers on the skin.
    pub(crate) fn on(&self, tissue: &Tissue) -> anyhow::Result<Markers> {
        let places: Vec<MarkerPlace> = self.take.markers.iter().map(|(_, place)| *place).collect();
        Markers::new(tissue, &places).map_err(|problem| {
            let (name, _) = &self.take.markers[problem.marker()];
            anyhow::anyhow!(problem).context(format!("{}: the marker '{name}'", self.path.display()))
        })
    }

    /// Replaces a take's weights by those with which the plain rig comes closest to the markers.
    pub(crate) fn replace_weights(&self, rig: &Rig, take: &mut Take) {
        take.name.clone_from(&self.take.name);
        let track = |(index, shape): (usize, &zygoma_rig::Shape)| WeightTrack {
            shape: shape.name.clone(),
            curve: WeightCurve::linear(
                self.take.times.clone(),
                self.weights.iter().map(|weights| weights[index]).collect(),
            ),
        };
        take.weights = rig.skin().shapes.iter().enumerate().map(track).collect();
    }
}
