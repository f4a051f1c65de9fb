//! Animated surfaces as GLB: the skin plays a few morph targets, its own shapes, or its own shapes and correctives.

use std::path::Path;

use glam::Vec3;

use super::animate::{AnimationWriter, WeightKeys};
use super::clips::{self, WeightChannel};
use super::export::check_ending;
use super::new_targets::{self, NewTargets};
use super::props::AnimatedProp;
use super::ranged::Ranged;
use super::stage::Stage;
use super::{fresh, prune};
use crate::follow::CorrectedRider;
use crate::formats::Limits;
use crate::{Error, Result, Rig, RigMesh, Source, Take};

/// A surface over time as a sum of few targets: a rest surface + Σ weight · target.
#[derive(Clone, Debug, PartialEq)]
pub struct MorphAnimation {
    /// Frames per second.
    pub fps: f64,
    /// Time of the first frame in seconds.
    pub start: f64,
    /// The targets.
    pub targets: Vec<MorphTarget>,
    /// The weight of every target in every frame, frame after frame.
    pub weights: Vec<f32>,
}

/// One target of a [`MorphAnimation`].
#[derive(Clone, Debug, PartialEq)]
pub struct MorphTarget {
    /// Displacement of every vertex of the skin in rig space.
    pub positions: Vec<Vec3>,
    /// Change of every normal in rig space, if known.
    pub normals: Option<Vec<Vec3>>,
}

/// How the skin of an animated GLB moves.
#[derive(Clone, Copy, Debug)]
pub enum SkinMotion<'a> {
    /// By a few targets about its neutral, which replace its own.
    Baked(&'a MorphAnimation),
    /// By its own shapes, with exactly the take's curves.
    Shapes,
    /// By its own shapes, with the weight of each in every frame, and correctives beside them.
    Corrected {
        /// Weights of all shapes of the skin, frame after frame.
        weights: &'a [f32],
        /// Targets that are added to the shapes.
        correctives: &'a MorphAnimation,
    },
}

/// Meshes and props that move beside the skin of an animated GLB other than by the take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Meshes that follow the skin.
    pub riders: &'a [CorrectedRider],
    /// Colliders that touch the face; they need a skin motion that has frames.
    pub props: &'a [AnimatedProp],
}

/// Writes a rig whose skin plays an animated surface, as one self-contained GLB.
///
/// Other morphing meshes follow the take, whose tracks have exactly the names of the rig's shapes. The take becomes the first
/// animation. Everything else of a glTF document stays, except meshopt compression and data that is no longer referenced; its
/// other clips lose only the weights of targets that were replaced. With `is_own` the take is one of the document's and keeps moving
/// nodes as it did; otherwise the take's head, jaw and eye motion is written.
///
/// Weights of new targets are between 0 and 1, and the mesh's default weights show the neutral.
pub fn write_animated(
    rig: &Rig,
    motion: SkinMotion,
    take: &Take,
    is_own: bool,
    beside: &Beside,
    path: &Path,
) -> Result<()> {
    check_ending(path)?;
    motion.check(rig.skin())?;
    let riders: Vec<(usize, SkinMotion)> =
        beside.riders.iter().map(|rider| (rider.mesh, SkinMotion::of_rider(rider))).collect();
    riders.iter().try_for_each(|(mesh, motion)| motion.check(&rig.meshes[*mesh]))?;
    beside.props.iter().try_for_each(AnimatedProp::check)?;
    let moved: Vec<Moved> = std::iter::once((rig.skin, motion))
        .chain(riders)
        .map(|(mesh, motion)| Moved { mesh, motion, ranged: motion.targets().map(Ranged::new) })
        .collect();
    let targets: Vec<NewTargets> = moved.iter().filter_map(Moved::targets).collect();
    let mut writer = AnimationWriter::default();
    let mut stage = match &rig.source {
        Source::Gltf(document) => {
            // Any viewer should play it, and few decompress. The document was read within limits before.
            let document = document.decompressed(&Limits::default())?;
            let (mut stage, planned) = Stage::of_document(&document, rig)?;
            let own = if is_own { clips::of_take(&planned.schema, &take.name) } else { Vec::new() };
            let channel = |moved: &Moved| {
                WeightChannel::new(
                    stage.mesh_nodes[moved.mesh],
                    &rig.meshes[moved.mesh],
                    moved.targets().as_ref(),
                )
            };
            let anew: Vec<WeightChannel> = moved.iter().map(channel).collect();
            clips::take_over(&stage, &own, &anew, &mut writer);
            clips::keep_others(&mut stage, &planned.schema, &own, &anew)?;
            targets.iter().try_for_each(|new| new_targets::write(&mut stage, &planned, rig, new))?;
            stage.document.note_unit(rig.units.metres_per_unit);
            stage
        }
        _ => {
            let replaced: Vec<_> = targets.iter().map(|new| fresh::Replaced::new(rig, new)).collect();
            Stage::fresh(rig, path, &replaced)
        }
    };
    for moved in &moved {
        if let Some(keys) = moved.motion.keys(moved.ranged.as_ref(), &rig.meshes[moved.mesh]) {
            let node = stage.mesh_nodes[moved.mesh];
            writer.weights(&mut stage.document, node, &keys);
        }
    }
    let by_frames = motion.targets().is_some().then_some(rig.skin);
    stage.animate_weights(rig, take, by_frames, &mut writer);
    let moves_nodes = ["translation", "rotation", "scale"].iter().any(|path| writer.has_path(path));
    if !moves_nodes {
        stage.animate_joints(&take.motions, &mut writer);
    }
    if let Some(timing) = motion.targets() {
        for prop in beside.props {
            prop.add(&mut stage, timing.start, timing.fps, &mut writer);
        }
    }
    stage.add_animation(writer, &take.name);
    prune::prune(&mut stage.document);
    stage.document.write_glb(path)
}

/// A mesh that does not move as the take says.
struct Moved<'a> {
    mesh: usize,
    motion: SkinMotion<'a>,
    ranged: Option<Ranged>,
}

impl Moved<'_> {
    fn targets(&self) -> Option<NewTargets<'_>> {
        let keeps_shapes = matches!(self.motion, SkinMotion::Corrected { .. });
        self.ranged.as_ref().map(|ranged| NewTargets { mesh: self.mesh, ranged, keeps_shapes, names: None })
    }
}

impl<'a> SkinMotion<'a> {
    fn of_rider(rider: &'a CorrectedRider) -> Self {
        Self::Corrected { weights: &rider.weights, correctives: &rider.baked.animation }
    }

    /// The new targets of the skin.
    fn targets(&self) -> Option<&'a MorphAnimation> {
        match self {
            Self::Baked(animation) => Some(animation),
            Self::Shapes => None,
            Self::Corrected { correctives, .. } => Some(correctives),
        }
    }

    /// The weights of all of the skin's targets in every frame; `None` if the take's own curves are used, or if nothing
    /// moves.
    fn keys(&self, ranged: Option<&Ranged>, skin: &RigMesh) -> Option<WeightKeys> {
        let (animation, ranged) = (self.targets()?, ranged?);
        let own: &[f32] = if let Self::Corrected { weights, .. } = self { weights } else { &[] };
        let shapes = if own.is_empty() { 0 } else { skin.shapes.len() };
        let (added, count) = (ranged.targets.len(), shapes + ranged.targets.len());
        if count == 0 {
            return None;
        }
        let frames = own.len().checked_div(shapes).unwrap_or_else(|| ranged.weights.len() / added);
        let mut rows = Vec::with_capacity(frames * count);
        for frame in 0..frames {
            rows.extend_from_slice(&own[frame * shapes..][..shapes]);
            rows.extend_from_slice(&ranged.weights[frame * added..][..added]);
        }
        Some(WeightKeys::steady(animation.start, animation.fps, count, &rows))
    }

    fn check(&self, skin: &RigMesh) -> Result<()> {
        let Some(animation) = self.targets() else { return Ok(()) };
        animation.check(skin)?;
        let Self::Corrected { weights, correctives } = self else { return Ok(()) };
        let (shapes, targets) = (skin.shapes.len(), correctives.targets.len());
        let fits = weights.len().is_multiple_of(shapes.max(1))
            && weights.iter().all(|weight| weight.is_finite())
            && (targets == 0 || weights.len() * targets == correctives.weights.len() * shapes);
        if fits {
            return Ok(());
        }
        Err(Error::Request(format!(
            "the animation of \"{}\" cannot be written: its shapes do not have a finite weight in every frame",
            skin.name
        )))
    }
}

impl MorphAnimation {
    fn check(&self, skin: &RigMesh) -> Result<()> {
        let vertices = skin.positions.len();
        let fits = |offsets: &Vec<Vec3>| offsets.len() == vertices && offsets.iter().all(|o| o.is_finite());
        let whole_frames = match self.targets.len() {
            0 => self.weights.is_empty(),
            count => !self.weights.is_empty() && self.weights.len().is_multiple_of(count),
        };
        let problem = if !(self.fps > 0.0 && self.fps.is_finite() && self.start.is_finite()) {
            "its frame rate or start is not a usable number"
        } else if !self.targets.iter().all(|t| fits(&t.positions) && t.normals.as_ref().is_none_or(fits)) {
            "a target does not give every vertex of the skin a finite displacement"
        } else if !whole_frames || self.weights.iter().any(|weight| !weight.is_finite()) {
            "its weights are not a finite number for every target in every frame"
        } else {
            return Ok(());
        };
        Err(Error::Request(format!("the animation of \"{}\" cannot be written: {problem}", skin.name)))
    }
}
