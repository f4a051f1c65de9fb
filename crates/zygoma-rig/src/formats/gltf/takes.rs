//! Reads takes from a document's animations: weights by shape name, and the motion of head, jaw and eyes.

use std::collections::BTreeMap;
use std::sync::Arc;

use glam::DAffine3;

use super::animation::{Curve, Mode, Part, PosePart, read_curve};
use super::import::{Reader, joint_of};
use super::plan::MeshPlan;
use super::scene::{Pose, rotation_of};
use super::schema::Schema;
use crate::formats::Limits;
use crate::take::{Interpolation, MotionTrack, WeightCurve, WeightTrack};
use crate::{Joint, JointRole, Result, RigMesh, Take};
use zygoma_geometry::rigid::RigidMotion;

/// The rate in Hz at which motions that are not linear are also sampled between keys.
const BETWEEN_KEYS: f64 = 60.0;

/// Animated parts of nodes.
pub(super) type PoseCurves = BTreeMap<(usize, PosePart), Curve>;

/// Reads every take; one that moves nothing of the rig is left out.
#[expect(clippy::too_many_arguments, reason = "the one place where rig and animations come together")]
pub(super) fn read(
    reader: &Reader,
    plans: &[MeshPlan],
    meshes: &[RigMesh],
    skin: usize,
    joints: &[Joint],
    to_rig: DAffine3,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<Vec<Take>> {
    let mut takes = Vec::new();
    for (name, animations) in groups(reader.schema) {
        let weights = weight_tracks(reader, plans, meshes, skin, &animations, limits, notes)?;
        let curves = pose_curves(reader, &animations, limits)?;
        let body = Body { reader, curves: &curves, to_rig, limits };
        let motions = body.motions(joints, &plans[skin])?;
        if !weights.is_empty() || !motions.is_empty() {
            takes.push(Take { name, weights, motions });
        }
    }
    Ok(takes)
}

/// Animations that make up one take, by its name. Exporters from FBX write one animation per object and layer,
/// named "object|take|layer".
pub(super) fn groups(schema: &Schema) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut layered: BTreeMap<String, usize> = BTreeMap::new();
    for (index, animation) in schema.animations.iter().enumerate() {
        let name = animation.name.clone().filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("take {index}"));
        if let [_, take, _] = name.split('|').collect::<Vec<_>>()[..] {
            let group = *layered.entry(take.to_owned()).or_insert(groups.len());
            if group == groups.len() {
                groups.push((take.to_owned(), Vec::new()));
            }
            groups[group].1.push(index);
        } else {
            groups.push((name, vec![index]));
        }
    }
    groups
}

fn weight_tracks(
    reader: &Reader,
    plans: &[MeshPlan],
    meshes: &[RigMesh],
    skin: usize,
    animations: &[usize],
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<Vec<WeightTrack>> {
    let mut tracks: Vec<WeightTrack> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut clashes = 0;
    let order = std::iter::once(skin).chain((0..plans.len()).filter(|mesh| *mesh != skin));
    for mesh in order.filter(|mesh| plans[*mesh].targets > 0) {
        let Some((animation, sampler)) = weights_channel(reader.schema, animations, plans[mesh].node) else {
            continue;
        };
        let curve = read_curve(reader, animation, sampler, plans[mesh].targets, limits)?;
        for (index, shape) in meshes[mesh].shapes.iter().enumerate() {
            let track = WeightTrack { shape: shape.name.clone(), curve: weight_curve(&curve, index) };
            match places.get(&shape.name) {
                Some(place) if tracks[*place].curve == track.curve => {}
                Some(_) => clashes += 1,
                None => {
                    places.insert(shape.name.clone(), tracks.len());
                    tracks.push(track);
                }
            }
        }
    }
    if clashes > 0 {
        notes.push(format!(
            "{clashes} shapes are animated differently on meshes that share their names; the skin's are kept"
        ));
    }
    Ok(tracks)
}

fn weights_channel(schema: &Schema, animations: &[usize], node: usize) -> Option<(usize, usize)> {
    animations.iter().find_map(|animation| {
        let channels = &schema.animations[*animation].channels;
        let found = channels.iter().find(|c| c.target.node == Some(node) && c.target.path == "weights")?;
        Some((*animation, found.sampler))
    })
}

fn weight_curve(curve: &Curve, shape: usize) -> WeightCurve {
    let interpolation = match curve.mode {
        Mode::Step => Interpolation::Step,
        Mode::Linear => Interpolation::Linear,
        Mode::Cubic => Interpolation::Cubic {
            incoming: curve.column(Part::Incoming, shape),
            outgoing: curve.column(Part::Outgoing, shape),
        },
    };
    WeightCurve { times: curve.times.clone(), values: curve.column(Part::Value, shape), interpolation }
}

fn pose_curves(reader: &Reader, animations: &[usize], limits: &Limits) -> Result<PoseCurves> {
    let mut curves = PoseCurves::new();
    for animation in animations {
        for channel in &reader.schema.animations[*animation].channels {
            let (Some(node), Some(part)) = (channel.target.node, PosePart::from_path(&channel.target.path))
            else {
                continue;
            };
            if node >= reader.schema.nodes.len() {
                let problem = format!("animation {animation} moves node {node}, which does not exist");
                return Err(reader.document.malformed(problem));
            }
            if let std::collections::btree_map::Entry::Vacant(slot) = curves.entry((node, part)) {
                slot.insert(read_curve(reader, *animation, channel.sampler, part.width(), limits)?);
            }
        }
    }
    Ok(curves)
}

/// The moving nodes of one take.
struct Body<'a> {
    reader: &'a Reader<'a>,
    curves: &'a PoseCurves,
    to_rig: DAffine3,
    limits: &'a Limits,
}

impl Body<'_> {
    /// The motion of each joint that moves: the head's in rig space, the others' relative to the head.
    fn motions(&self, joints: &[Joint], skin: &MeshPlan) -> Result<Vec<MotionTrack>> {
        let mut tracks = Vec::new();
        let head = joint_of(joints, JointRole::Head).map(|joint| joint.node).or_else(|| self.carrier(skin));
        let head = head.filter(|node| self.is_posed(*node));
        let head_chain = head.map_or_else(Vec::new, |node| self.chain(node));
        if let Some(node) = head.filter(|_| self.moves(&head_chain)) {
            let times = self.times(&head_chain)?;
            let motions = times.iter().map(|time| self.motion(node, None, *time)).collect();
            tracks.push(MotionTrack { role: JointRole::Head, times, motions });
        }
        for joint in joints.iter().filter(|joint| joint.role != JointRole::Head && self.is_posed(joint.node))
        {
            let chain = self.chain(joint.node);
            let mut apart: Vec<usize> =
                chain.iter().copied().filter(|node| !head_chain.contains(node)).collect();
            apart.extend(head_chain.iter().filter(|node| !chain.contains(node)));
            if self.moves(&apart) {
                apart.extend(chain.iter().filter(|node| head_chain.contains(node)));
                let times = self.times(&apart)?;
                let motions = times.iter().map(|time| self.motion(joint.node, head, *time)).collect();
                tracks.push(MotionTrack { role: joint.role, times, motions });
            }
        }
        Ok(tracks)
    }

    /// Without a head joint, the nearest animated node that carries the skin is the head.
    fn carrier(&self, skin: &MeshPlan) -> Option<usize> {
        let skinned = self.reader.schema.nodes[skin.node].skin.is_some();
        let mut chain = self.reader.tree.ancestors(skin.node).filter(|_| !skinned);
        chain.find(|node| self.moves(&[*node]))
    }

    /// Whether a node's rest pose is invertible; a zero scale is not.
    fn is_posed(&self, node: usize) -> bool {
        let inverse = self.reader.tree.globals[node].inverse();
        inverse.is_finite() && self.reader.tree.globals[node].matrix3.determinant() != 0.0
    }

    fn chain(&self, node: usize) -> Vec<usize> {
        self.reader.tree.ancestors(node).collect()
    }

    fn moves(&self, nodes: &[usize]) -> bool {
        self.curves_of(nodes).next().is_some()
    }

    fn curves_of(&self, nodes: &[usize]) -> impl Iterator<Item = &Curve> {
        self.curves.iter().filter(|((node, _), _)| nodes.contains(node)).map(|(_, curve)| curve)
    }

    /// Sampling times for a chain of nodes, so that no key is missed.
    fn times(&self, nodes: &[usize]) -> Result<Arc<[f64]>> {
        let mut times: Vec<f64> = Vec::new();
        for curve in self.curves_of(nodes) {
            times.extend_from_slice(&curve.times);
            if curve.mode == Mode::Linear {
                continue;
            }
            let (start, end) = (curve.times[0], curve.times[curve.times.len() - 1]);
            let steps = ((end - start) * BETWEEN_KEYS).ceil();
            if steps > self.limits.keys as f64 {
                let problem =
                    format!("an animation runs for {} s, which is more than the limit allows", end - start);
                return Err(self.reader.document.malformed(problem));
            }
            times.extend((0..steps as usize).map(|step| start + step as f64 / BETWEEN_KEYS));
        }
        times.sort_by(f64::total_cmp);
        times.dedup();
        if times.len() > self.limits.keys {
            let problem = format!("an animation has more than the limit of {} keys", self.limits.keys);
            return Err(self.reader.document.malformed(problem));
        }
        self.reader.accessors.charge((times.len() * size_of::<RigidMotion>()) as u64)?;
        Ok(times.into())
    }

    fn global(&self, node: usize, time: f64) -> DAffine3 {
        let mut global = DAffine3::IDENTITY;
        for node in self.reader.tree.ancestors(node) {
            global = self.pose(node, time).affine() * global;
        }
        global
    }

    fn pose(&self, node: usize, time: f64) -> Pose {
        let mut pose = self.reader.tree.locals[node];
        for part in [PosePart::Translation, PosePart::Rotation, PosePart::Scale] {
            if let Some(curve) = self.curves.get(&(node, part)) {
                part.apply(curve, time, &mut pose);
            }
        }
        pose
    }

    /// The motion of a node from rest, in rig space; relative to the head's own motion, if that is given.
    fn motion(&self, node: usize, head: Option<usize>, time: f64) -> RigidMotion {
        let moved = |node: usize| self.global(node, time) * self.reader.tree.globals[node].inverse();
        let mut motion = moved(node);
        if let Some(head) = head.map(moved).filter(|head| head.inverse().is_finite()) {
            motion = head.inverse() * motion;
        }
        let motion = self.to_rig * motion * self.to_rig.inverse();
        let rest = self.to_rig.transform_point3(self.reader.tree.globals[node].translation);
        let rotation = rotation_of(motion.matrix3);
        // If a scale is animated as well, the joint itself still reaches its correct position.
        RigidMotion { rotation, translation: motion.transform_point3(rest) - rotation * rest }
    }
}
