//! Reads markers that drive a face from a file.

use std::path::{Path, PathBuf};

use zygoma_face::anatomical::AnatomicalBody;
use zygoma_face::tissue::{Markers, Tissue};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::markers::{MarkerPlace, MarkerTake, read_markers};
use zygoma_rig::{Rig, Take};
use zygoma_rig::{WeightCurve, WeightTrack};

/// Markers, and the weights with which the plain rig fits them.
pub(crate) struct FollowedMarkers {
    pub(crate) path: PathBuf,
    pub(crate) take: MarkerTake,
    /// Weights of the rig's shapes at each moment.
    weights: Vec<Vec<f32>>,
}

impl FollowedMarkers {
    /// Reads markers that are attached to the skin of some tissue.
    pub(crate) fn read(path: &Path, tissue: &Tissue) -> anyhow::Result<Self> {
        let take = read_markers(path, &Limits::default())?;
        let mut followed = Self { path: path.to_owned(), take, weights: Vec::new() };
        let markers = followed.on(tissue)?;
        followed.weights = followed.take.positions.iter().map(|at| markers.weights(at)).collect();
        Ok(followed)
    }

    /// Takes markers that an anatomical face follows.
    pub(crate) fn of_anatomical(path: &Path, take: MarkerTake, body: &AnatomicalBody) -> Self {
        let mut body = body.clone();
        let weights = take.positions.iter().map(|at| body.set_landmarks(at).unwrap_or_default()).collect();
        Self { path: path.to_owned(), take, weights }
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
