//! Binds the tracks of a take to the shapes of a rig, by name and never by index.

use std::collections::{HashMap, HashSet};

use crate::arkit::{self, Recognised, Side};
use crate::take::{WeightCurve, WeightTrack};
use crate::{Rig, RigMesh, Take};

/// The weights of a rig as functions of a take's tracks.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// For each mesh of the rig, for each of its shapes: the tracks that drive it.
    pub meshes: Vec<Vec<Vec<Drive>>>,
    /// Tracks that drive nothing, in the take's order.
    pub unmatched: Vec<String>,
}

/// A track's share in a shape's weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Index into [`Take::weights`].
    pub track: usize,
    /// Factor from the track's value to the shape's weight.
    pub gain: f32,
}

/// A track's name in the forms used for matching.
struct TrackName<'a> {
    exact: &'a str,
    key: String,
    arkit: Option<Recognised>,
}

impl Binding {
    /// Binds every track to the shapes of the same name on all meshes.
    ///
    /// A shape takes the track with exactly its name; else one that differs in spelling only; else one that
    /// stands for the same ARKit shape. A track for a whole shape drives both of its halves
    /// (`browInnerUp` → `browInnerUp_L`, `browInnerUp_R`); two half tracks drive a whole shape by their
    /// mean. Tracks named after an expression (VRM) drive the shapes of that expression. Shapes of teeth, tongue and
    /// other meshes that no track names follow the skin's shape of the same name, even when it is spelled
    /// `h_teeth.t_MouthOpen_h` here and `h_expressions.MouthOpen_h` there.
    pub fn new(rig: &Rig, take: &Take) -> Self {
        let tracks: Vec<TrackName> = take.weights.iter().map(|track| TrackName::new(&track.shape)).collect();
        let mut meshes: Vec<Vec<Vec<Drive>>> =
            rig.meshes.iter().map(|mesh| drives_of_mesh(mesh, &tracks)).collect();
        let mut used: HashSet<usize> = meshes.iter().flatten().flatten().map(|drive| drive.track).collect();
        for (index, track) in tracks.iter().enumerate() {
            if used.contains(&index) {
                continue;
            }
            for expression in rig.expressions.iter().filter(|e| track.names(&e.name)) {
                used.insert(index);
                for bind in &expression.binds {
                    meshes[bind.mesh][bind.shape].push(Drive { track: index, gain: bind.weight });
                }
            }
        }
        follow_skin(rig, &mut meshes);
        let idle = |(index, _): &(usize, &TrackName)| !used.contains(index);
        let unmatched =
            tracks.iter().enumerate().filter(idle).map(|(_, track)| track.exact.to_owned()).collect();
        Self { meshes, unmatched }
    }

    /// The take under the names of the rig's own shapes, with all tracks of a shape combined into one.
    pub fn renamed(&self, rig: &Rig, take: &Take) -> Take {
        let mut weights: Vec<WeightTrack> = Vec::new();
        for (mesh, drives_of_shapes) in rig.meshes.iter().zip(&self.meshes) {
            for (shape, drives) in mesh.shapes.iter().zip(drives_of_shapes) {
                let known = weights.iter().any(|track| track.shape == shape.name);
                if !drives.is_empty() && !known {
                    weights.push(WeightTrack { shape: shape.name.clone(), curve: combined(take, drives) });
                }
            }
        }
        Take { weights, ..take.clone() }
    }

    /// The weights of one mesh's shapes at a time.
    pub fn weights_at(&self, take: &Take, mesh: usize, time: f64, weights: &mut [f32]) {
        for (weight, drives) in weights.iter_mut().zip(&self.meshes[mesh]) {
            let value = |drive: &Drive| drive.gain * take.weights[drive.track].curve.sample(time);
            *weight = drives.iter().map(value).sum();
        }
    }
}

/// Makes shapes of other meshes that nothing drives follow the skin's shape of the same name.
fn follow_skin(rig: &Rig, meshes: &mut [Vec<Vec<Drive>>]) {
    let leaders: HashMap<String, Vec<Drive>> = rig
        .skin()
        .shapes
        .iter()
        .zip(&meshes[rig.skin])
        .map(|(shape, drives)| (arkit::bare_key(&shape.name), drives.clone()))
        .collect();
    for (index, mesh) in rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin) {
        for (shape, drives) in
            mesh.shapes.iter().zip(&mut meshes[index]).filter(|(_, drives)| drives.is_empty())
        {
            if let Some(leader) = leaders.get(&arkit::bare_key(&shape.name)) {
                drives.clone_from(leader);
            }
        }
    }
}

/// The weighted sum of the tracks: a single one as it is, several as line segments between all of their keys.
pub(crate) fn combined(take: &Take, drives: &[Drive]) -> WeightCurve {
    let curve = |drive: &Drive| &take.weights[drive.track].curve;
    if let [Drive { gain: 1.0, .. }] = drives {
        return curve(&drives[0]).clone();
    }
    let mut times: Vec<f64> = drives.iter().flat_map(|drive| curve(drive).times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let value = |time: &f64| drives.iter().map(|drive| drive.gain * curve(drive).sample(*time)).sum();
    let values = times.iter().map(value).collect();
    WeightCurve::linear(times.into(), values)
}

impl<'a> TrackName<'a> {
    fn new(exact: &'a str) -> Self {
        Self { exact, key: arkit::key(exact), arkit: arkit::recognise(exact) }
    }

    fn names(&self, other: &str) -> bool {
        self.exact == other || self.key == arkit::key(other)
    }
}

fn drives_of_mesh(mesh: &RigMesh, tracks: &[TrackName]) -> Vec<Vec<Drive>> {
    mesh.shapes.iter().map(|shape| drives_of_shape(&shape.name, tracks)).collect()
}

fn drives_of_shape(shape: &str, tracks: &[TrackName]) -> Vec<Drive> {
    let whole = |track| vec![Drive { track, gain: 1.0 }];
    if let Some(track) = tracks.iter().position(|track| track.exact == shape) {
        return whole(track);
    }
    let key = arkit::key(shape);
    if let Some(track) = tracks.iter().position(|track| track.key == key) {
        return whole(track);
    }
    let Some(wanted) = arkit::recognise(shape) else { return Vec::new() };
    let find = |half| {
        let wanted = Recognised { half, ..wanted };
        tracks.iter().position(|track| track.arkit == Some(wanted))
    };
    if let Some(track) = find(wanted.half).or_else(|| find(None)) {
        return whole(track);
    }
    let halves = [Side::Left, Side::Right].into_iter().filter_map(|side| find(Some(side)));
    if wanted.half.is_some() { Vec::new() } else { halves.map(|track| Drive { track, gain: 0.5 }).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rigs::rig_with_shapes;
    use crate::{Expression, ExpressionBind};

    fn take(names: &[&str]) -> Take {
        let track = |(value, name): (usize, &&str)| WeightTrack {
            shape: (*name).into(),
            curve: WeightCurve::linear([0.0].into(), vec![1.0 + value as f32]),
        };
        Take { weights: names.iter().enumerate().map(track).collect(), ..Take::default() }
    }

    fn weights(rig: &Rig, take: &Take) -> Vec<f32> {
        let mut weights = vec![0.0; rig.meshes[0].shapes.len()];
        Binding::new(rig, take).weights_at(take, 0, 0.0, &mut weights);
        weights
    }

    #[test]
    fn spellings_meet_and_strangers_are_listed() {
        let rig = rig_with_shapes(&["eyeBlink_L", "Smug", "jawOpen"]);
        let take = take(&["JawOpen", "smug", "EyeBlinkLeft", "HeadWobble"]);
        assert_eq!(weights(&rig, &take), [3.0, 2.0, 1.0]);
        assert_eq!(Binding::new(&rig, &take).unmatched, ["HeadWobble"]);
    }

    #[test]
    fn whole_tracks_drive_halves_and_halves_drive_wholes() {
        let halves = rig_with_shapes(&["browInnerUp_L", "browInnerUp_R"]);
        assert_eq!(weights(&halves, &take(&["BrowInnerUp"])), [1.0, 1.0]);
        let whole = rig_with_shapes(&["browInnerUp"]);
        assert_eq!(weights(&whole, &take(&["browInnerUp_L", "browInnerUp_R"])), [1.5]);
    }

    #[test]
    fn a_renamed_take_has_the_rigs_own_names() {
        let rig = rig_with_shapes(&["browInnerUp", "eyeBlink_L", "cheekPuff_R"]);
        let take = take(&["browInnerUp_L", "browInnerUp_R", "EyeBlinkLeft", "cheekPuff", "stranger"]);
        let renamed = Binding::new(&rig, &take).renamed(&rig, &take);
        let found: Vec<(&str, f32)> =
            renamed.weights.iter().map(|track| (track.shape.as_str(), track.curve.sample(0.0))).collect();
        assert_eq!(found, [("browInnerUp", 1.5), ("eyeBlink_L", 3.0), ("cheekPuff_R", 4.0)]);
    }

    #[test]
    fn exact_names_win_over_spellings() {
        let rig = rig_with_shapes(&["jaw_open"]);
        assert_eq!(weights(&rig, &take(&["jawOpen", "jaw_open"])), [2.0]);
    }

    #[test]
    fn teeth_do_what_the_skin_does_in_another_spelling() {
        let mut rig = rig_with_shapes(&["h_expressions.MouthOpen_h", "h_expressions.Kiss_h"]);
        let teeth = rig_with_shapes(&["h_teeth.t_MouthOpen_h", "h_teeth.CurlUp_tg_h"]);
        rig.meshes.extend(teeth.meshes);
        let take = take(&["h_expressions.MouthOpen_h", "h_expressions.Kiss_h"]);
        let mut weights = [0.0; 2];
        Binding::new(&rig, &take).weights_at(&take, 1, 0.0, &mut weights);
        assert_eq!(weights, [1.0, 0.0]);
    }

    #[test]
    fn expressions_drive_their_shapes() {
        let mut rig = rig_with_shapes(&["Fcl_Joy", "Fcl_Eyes"]);
        rig.expressions.push(Expression {
            name: "happy".into(),
            binds: vec![
                ExpressionBind { mesh: 0, shape: 0, weight: 1.0 },
                ExpressionBind { mesh: 0, shape: 1, weight: 0.25 },
            ],
        });
        assert_eq!(weights(&rig, &take(&["Happy"])), [1.0, 0.25]);
    }
}
