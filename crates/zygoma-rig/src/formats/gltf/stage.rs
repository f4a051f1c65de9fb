//! Locates a rig's meshes and joints in the document that is about to be written.

use std::path::Path;

use glam::DAffine3;
use serde_json::Value;

use super::animate::{AnimationWriter, MotionFrame, WeightKeys, keyed};
use super::import::{facing, joint_of};
use super::plan::{MeshPlan, plan_meshes};
use super::scene::Tree;
use super::schema::Schema;
use super::vrm::Vrm;
use super::{Document, fresh, pack};
use crate::formats::Limits;
use crate::take::MotionTrack;
use crate::{Error, JointRole, Result, Rig, Shape, Take};
use zygoma_geometry::rigid::RigidMotion;

/// A document that can be animated.
pub(super) struct Stage {
    pub(super) document: Document,
    /// From the scene to rig space.
    pub(super) to_rig: DAffine3,
    /// The node of each mesh of the rig.
    pub(super) mesh_nodes: Vec<usize>,
    /// The node that carries the head, and its motion frame.
    head: Option<(usize, MotionFrame)>,
    joints: Vec<StagedJoint>,
}

/// A jaw or eye joint.
struct StagedJoint {
    role: JointRole,
    node: usize,
    frame: MotionFrame,
    /// Whether it is a descendant of the head's node.
    carried: bool,
}

/// The plans of a document's meshes, which a rig must still match.
pub(super) struct Planned {
    pub(super) schema: Schema,
    pub(super) plans: Vec<MeshPlan>,
}

impl Stage {
    /// Sets up a document that the rig came from, made self-contained.
    pub(super) fn of_document(document: &Document, rig: &Rig) -> Result<(Self, Planned)> {
        let document = pack::self_contained(document)?;
        let schema = Schema::read(&document)?;
        let tree = Tree::new(&document, &schema)?;
        // The document was read within limits before.
        let limits = Limits { vertices: usize::MAX, shapes: usize::MAX, ..Limits::default() };
        let plans = plan_meshes(&document, &schema, &tree, &limits, &mut Vec::new())?;
        let matches = plans.len() == rig.meshes.len()
            && plans.iter().zip(&rig.meshes).all(|(plan, mesh)| plan.vertex_count() == mesh.positions.len());
        if !matches {
            return Err(Error::Request(format!(
                "the meshes of rig \"{}\" are no longer those of {}; read it again before writing",
                rig.name,
                document.path().display()
            )));
        }
        let turn = document.turn * facing(Vrm::read(&document.json).as_ref(), &mut Vec::new());
        let to_rig = DAffine3::from_scale(glam::DVec3::splat(rig.units.metres_per_unit)) * turn;
        let frame = |node: usize| MotionFrame {
            to_rig,
            parent: tree.parents[node].map_or(DAffine3::IDENTITY, |parent| tree.globals[parent]),
            rest: tree.globals[node],
        };
        let head = head_carrier(&schema, &tree, rig, &plans[rig.skin]);
        let joint = |joint: &crate::Joint| StagedJoint {
            role: joint.role,
            node: joint.node,
            frame: frame(joint.node),
            carried: tree.ancestors(joint.node).any(|node| Some(node) == head),
        };
        let joints =
            rig.joints.iter().filter(|joint| joint.role != JointRole::Head && joint.node < tree.order.len());
        let stage = Self {
            mesh_nodes: plans.iter().map(|plan| plan.node).collect(),
            head: head.map(|node| (node, frame(node))),
            joints: joints.map(joint).collect(),
            to_rig,
            document,
        };
        Ok((stage, Planned { schema, plans }))
    }

    /// The node that carries what follows a joint, and its transform at rest: the joint, or else what carries the head.
    pub(super) fn carrier(&self, role: JointRole) -> Option<(usize, DAffine3)> {
        let own =
            self.joints.iter().find(|joint| joint.role == role).map(|joint| (joint.node, joint.frame.rest));
        own.or_else(|| self.head.as_ref().map(|(node, frame)| (*node, frame.rest)))
    }

    /// Sets up a new document for a rig from elsewhere.
    pub(super) fn fresh(rig: &Rig, path: &Path, replaced: &[fresh::Replaced]) -> Self {
        let made = fresh::document(rig, path, replaced);
        let still = DAffine3::IDENTITY;
        let frame = |rest: DAffine3| MotionFrame { to_rig: still, parent: still, rest };
        let joints = rig.joints.iter().zip(&made.joints).filter(|(joint, _)| joint.role != JointRole::Head);
        let joints = joints.map(|(joint, node)| StagedJoint {
            role: joint.role,
            node: *node,
            frame: frame(DAffine3::from_translation(joint.position)),
            carried: true,
        });
        Self {
            head: Some((made.root, frame(still))),
            joints: joints.collect(),
            mesh_nodes: made.meshes,
            to_rig: still,
            document: made.document,
        }
    }

    /// Animates the weights of every mesh whose shapes have curves and that is not animated yet.
    pub(super) fn animate_weights(
        &mut self,
        rig: &Rig,
        take: &Take,
        except: Option<usize>,
        writer: &mut AnimationWriter,
    ) {
        for (index, mesh) in rig.meshes.iter().enumerate() {
            let node = self.mesh_nodes[index];
            if Some(index) == except || writer.has(node, "weights") {
                continue;
            }
            let curve = |shape: &Shape| take.weights.iter().find(|track| track.shape == shape.name);
            let curves: Vec<_> =
                mesh.shapes.iter().map(|shape| curve(shape).map(|track| &track.curve)).collect();
            if let Some(keys) = WeightKeys::together(&curves) {
                writer.weights(&mut self.document, node, &keys);
            }
        }
    }

    /// Animates head, jaw and eyes.
    pub(super) fn animate_joints(&mut self, motions: &[MotionTrack], writer: &mut AnimationWriter) {
        let track = |role| motions.iter().find(|track| track.role == role);
        let head = track(JointRole::Head);
        if let (Some((node, frame)), Some(track)) = (&self.head, head) {
            let keys = keyed(&track.times, &track.motions);
            writer.motion(&mut self.document, *node, &keys, frame);
        }
        for joint in &self.joints {
            let with_head = head.filter(|_| !joint.carried);
            let keys = match (track(joint.role), with_head) {
                (Some(track), None) => keyed(&track.times, &track.motions),
                (Some(track), Some(head)) => together(head, track),
                (None, Some(head)) => keyed(&head.times, &head.motions),
                (None, None) => continue,
            };
            writer.motion(&mut self.document, joint.node, &keys, &joint.frame);
        }
    }

    /// Inserts a finished animation first, where viewers look; an empty one is left out.
    pub(super) fn add_animation(&mut self, writer: AnimationWriter, name: &str) {
        if writer.is_empty() {
            return;
        }
        let animation = writer.finish(name);
        match self.document.json.get_mut("animations").and_then(Value::as_array_mut) {
            Some(animations) => animations.insert(0, animation),
            None => drop(pack::push(&mut self.document, "animations", animation)),
        }
    }
}

/// Combines the head's motion with a joint's own, for a joint that the head's node does not carry.
fn together(head: &MotionTrack, own: &MotionTrack) -> Vec<(f64, RigidMotion)> {
    let mut times: Vec<f64> = head.times.iter().chain(own.times.iter()).copied().collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let motion = |time: f64| {
        let (head, own) = (head.sample(time)?, own.sample(time)?);
        let rotation = head.rotation * own.rotation;
        Some((time, RigidMotion { rotation, translation: head.apply(own.translation) }))
    };
    times.into_iter().filter_map(motion).collect()
}

/// The node to animate when the head moves: the head joint or, if skin, eyes or jaw are not below it, the
/// nearest ancestor that carries them all.
fn head_carrier(schema: &Schema, tree: &Tree, rig: &Rig, skin: &MeshPlan) -> Option<usize> {
    let head = joint_of(&rig.joints, JointRole::Head).map(|joint| joint.node);
    let skinned = schema.nodes[skin.node].skin.is_some();
    let start = head.or((!skinned).then_some(skin.node)).filter(|node| *node < tree.order.len())?;
    let mut carried: Vec<usize> = rig.joints.iter().map(|joint| joint.node).collect();
    carried.extend((!skinned).then_some(skin.node));
    carried.retain(|node| *node < tree.order.len());
    let carries =
        |node: &usize| carried.iter().all(|below| tree.ancestors(*below).any(|above| above == *node));
    tree.ancestors(start).find(carries).or(Some(start))
}
