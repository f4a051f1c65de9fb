//! A user's map from tracks to shapes, for rigs with unusual names.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::arkit;
use crate::binding::{Drive, combined};
use crate::take::WeightTrack;
use crate::{Error, Result, Rig, Take};

/// Which shapes each track drives: `jawOpen = "MouthOpen"`, `cheekPuff = ["BlowLeft", "BlowRight"]`,
/// `mouthSmileLeft = { SmileLeft = 0.8, CheekUpLeft = 0.3 }`, or `eyeLookUpLeft = []` for a track that should drive nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct NameMap {
    /// The shapes of each track.
    pub tracks: BTreeMap<String, MappedShapes>,
}

/// The shapes that a track drives.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum MappedShapes {
    /// One shape.
    One(String),
    /// Several, all with the track's own weight.
    Several(Vec<String>),
    /// Several, each with a factor.
    Weighted(BTreeMap<String, f32>),
}

impl MappedShapes {
    /// Names of the shapes and the factor of each.
    pub fn shapes(&self) -> Vec<(&str, f32)> {
        match self {
            Self::One(shape) => vec![(shape.as_str(), 1.0)],
            Self::Several(shapes) => shapes.iter().map(|shape| (shape.as_str(), 1.0)).collect(),
            Self::Weighted(shapes) => shapes.iter().map(|(shape, gain)| (shape.as_str(), *gain)).collect(),
        }
    }
}

impl NameMap {
    /// Checks that a rig has all shapes of the map.
    pub fn check(&self, rig: &Rig) -> Result<()> {
        let names = self.tracks.values().flat_map(MappedShapes::shapes);
        names.map(|(name, _)| own_name(rig, name)).collect::<Result<Vec<_>>>().map(drop)
    }

    /// The take with the mapped tracks renamed to the rig's shapes. Other tracks are unchanged.
    pub fn apply(&self, rig: &Rig, take: &Take) -> Result<Take> {
        let mut drives: BTreeMap<String, Vec<Drive>> = BTreeMap::new();
        let mut is_mapped = vec![false; take.weights.len()];
        for (track, shapes) in &self.tracks {
            let shapes = shapes.shapes().into_iter().map(|(name, gain)| Ok((own_name(rig, name)?, gain)));
            let shapes: Vec<(String, f32)> = shapes.collect::<Result<_>>()?;
            let Some(index) = take.weights.iter().position(|found| same_track(&found.shape, track)) else {
                continue;
            };
            is_mapped[index] = true;
            for (shape, gain) in shapes {
                drives.entry(shape).or_default().push(Drive { track: index, gain });
            }
        }
        if !self.tracks.is_empty() && !is_mapped.contains(&true) {
            let (first, name) = (self.tracks.keys().next().map_or("", String::as_str), &take.name);
            let problem = format!("the take '{name}' has no track of the map's names ('{first}' and so on)");
            return Err(Error::Request(problem));
        }
        let kept = take.weights.iter().zip(&is_mapped);
        let kept = kept.filter(|(track, is_mapped)| !**is_mapped && !drives.contains_key(&track.shape));
        let mut weights: Vec<WeightTrack> = kept.map(|(track, _)| track.clone()).collect();
        let mapped = drives.iter();
        weights.extend(
            mapped.map(|(shape, drives)| WeightTrack { shape: shape.clone(), curve: combined(take, drives) }),
        );
        Ok(Take { weights, ..take.clone() })
    }
}

/// The rig's spelling of a shape's name.
fn own_name(rig: &Rig, name: &str) -> Result<String> {
    let shapes = || rig.meshes.iter().flat_map(|mesh| &mesh.shapes).map(|shape| shape.name.as_str());
    let exact = shapes().find(|shape| *shape == name);
    let found = exact.or_else(|| shapes().find(|shape| arkit::key(shape) == arkit::key(name)));
    found.map(str::to_owned).ok_or_else(|| {
        Error::Request(format!(
            "the map names the shape '{name}', which {} does not have; 'zygoma info -v' lists its shapes",
            rig.name
        ))
    })
}

fn same_track(track: &str, wanted: &str) -> bool {
    let arkit = arkit::recognise(track);
    track == wanted
        || arkit::key(track) == arkit::key(wanted)
        || (arkit.is_some() && arkit == arkit::recognise(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Binding;
    use crate::take::WeightCurve;
    use crate::test_rigs::rig_with_shapes;

    fn take() -> Take {
        let track = |(name, value): &(&str, f32)| WeightTrack {
            shape: (*name).into(),
            curve: WeightCurve::linear([0.0].into(), vec![*value]),
        };
        let tracks = [("JawOpen", 0.5), ("CheekPuff", 0.25), ("Ooh", 1.0), ("eyeBlinkLeft", 0.75)];
        Take { weights: tracks.iter().map(track).collect(), ..Take::default() }
    }

    fn map(entries: &[(&str, MappedShapes)]) -> NameMap {
        NameMap { tracks: entries.iter().map(|(track, shapes)| ((*track).into(), shapes.clone())).collect() }
    }

    #[test]
    fn tracks_drive_the_shapes_that_the_map_says() {
        let rig = rig_with_shapes(&["h.Open_h", "blowL", "blowR", "ooh", "eyeBlink_L"]);
        let blow = MappedShapes::Several(vec!["blowL".into(), "blowR".into()]);
        let weighted = MappedShapes::Weighted([("h.Open_h".to_owned(), 0.5)].into());
        // Tracks match in other spellings, two may drive one shape, and an empty list drives nothing.
        let map = map(&[
            ("jawOpen", MappedShapes::One("h.Open_h".into())),
            ("cheekPuff", blow),
            ("eyeBlink_L", MappedShapes::Several(vec![])),
            ("ooh", weighted),
        ]);
        let mapped = map.apply(&rig, &take()).unwrap();
        let mut weights = [0.0; 5];
        let binding = Binding::new(&rig, &mapped);
        binding.weights_at(&mapped, 0, 0.0, &mut weights);
        assert_eq!(weights, [1.0, 0.25, 0.25, 0.0, 0.0]);
        assert!(binding.unmatched.is_empty());
    }

    #[test]
    fn a_map_for_another_rig_or_take_is_refused() {
        let rig = rig_with_shapes(&["open"]);
        let error = map(&[("jawOpen", MappedShapes::One("shut".into()))]).apply(&rig, &take());
        assert!(error.unwrap_err().to_string().contains("'shut'"));
        let error = map(&[("tongue", MappedShapes::One("open".into()))]).apply(&rig, &take());
        assert!(error.unwrap_err().to_string().contains("'tongue'"));
    }
}
