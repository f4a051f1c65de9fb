//! Plays hands on a face: those of a hand take and of point caches, in the world, and gestures of a touch script, which the head takes along.

use std::sync::Arc;

use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_hand::{CachedHand, HandMesh, HandPose, HandTake, Joint, Side};
use zygoma_physics::contact::{ColliderMesh, ColliderShape, MeshError, Pose};

use super::hand_measure::MeasuredHand;
use super::touch_script::{Moment, ScriptedHand};
use crate::body::Body;
use crate::contact::{
    ColliderFrame, ColliderId, ColliderMotion, Colliders, HAND_FRICTION, HandBody, HandId, HandSurface,
};

/// Hands that touch a face besides those of a touch script, and the skin of them all.
#[derive(Clone, Debug, Default)]
pub struct Hands {
    /// Joints over time.
    pub take: HandTake,
    /// Meshes over time.
    pub cached: Vec<Arc<CachedHand>>,
    /// Skins of the left and of the right hand; those of the built-in hand where there is none.
    pub skins: [Option<Arc<HandMesh>>; 2],
    /// Whether hands with joints press with their skin, instead of with capsules on their bones.
    pub press_with_skin: bool,
}

impl Hands {
    /// The skin of a hand.
    pub fn skin(&self, side: Side) -> Arc<HandMesh> {
        let own = self.skins[side as usize].clone();
        own.unwrap_or_else(|| Arc::new(HandMesh::built_in(side).clone()))
    }

    /// Whether there is no hand, though there may be skins for the hands of a touch script.
    pub fn is_empty(&self) -> bool {
        self.take.left.is_empty() && self.take.right.is_empty() && self.cached.is_empty()
    }

    /// Whether a hand is there at a time, or was up to some seconds before.
    pub(super) fn is_there(&self, time: f64, aftermath: f64) -> bool {
        let tracked = |side: Side| {
            let frames = self.take.frames(side);
            let before = frames.partition_point(|frame| frame.time <= time);
            before.checked_sub(1).is_some_and(|last| time <= frames[last].time + aftermath)
        };
        let cached = |hand: &Arc<CachedHand>| {
            let [from, to] = hand.times();
            (from..=to + aftermath).contains(&time)
        };
        [Side::Left, Side::Right].into_iter().any(tracked) || self.cached.iter().any(cached)
    }
}

/// A hand to be displayed, in the head's frame, in metres.
#[derive(Clone, Debug)]
pub struct HandProp {
    /// Its name.
    pub name: String,
    /// Its pose in each frame; `None` while it is away, and for a hand without joints.
    pub poses: Vec<Option<HandPose>>,
    /// Number of frames in which it holds skin.
    pub holding: usize,
    skin: Skin,
    /// The vertices in each frame of a hand without joints.
    vertices: Vec<Option<Vec<Vec3>>>,
}

#[derive(Clone, Debug)]
enum Skin {
    Bound(Arc<HandMesh>),
    Cached(Arc<CachedHand>),
}

impl HandProp {
    /// Its mesh in a frame; `None` while it is away.
    pub fn mesh(&self, frame: usize) -> Option<TriMesh<Vec3>> {
        let positions = self.positions(frame)?;
        Some(TriMesh { positions, triangles: self.triangles().to_vec() })
    }

    fn positions(&self, frame: usize) -> Option<Vec<Vec3>> {
        match &self.skin {
            Skin::Bound(skin) => Some(skin.posed(self.poses.get(frame)?.as_ref()?)),
            Skin::Cached(_) => self.vertices.get(frame)?.clone(),
        }
    }

    fn triangles(&self) -> &[[u32; 3]] {
        match &self.skin {
            Skin::Bound(skin) => &skin.rest.triangles,
            Skin::Cached(hand) => &hand.triangles,
        }
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.poses.len()
    }

    /// Whether it is there in a frame.
    pub fn is_there(&self, frame: usize) -> bool {
        let has_vertices = self.vertices.get(frame).is_some_and(Option::is_some);
        has_vertices || self.poses.get(frame).is_some_and(Option::is_some)
    }

    /// The tip of its index finger, or its middle, and the direction from there to its wrist.
    pub fn reach(&self, frame: usize) -> Option<[Vec3; 2]> {
        if let Some(Some(pose)) = self.poses.get(frame) {
            let tip = pose.at(Joint::IndexTip);
            return Some([tip, pose.at(Joint::Wrist) - tip]);
        }
        let positions = self.positions(frame)?;
        let middle = positions.iter().sum::<Vec3>() / positions.len().max(1) as f32;
        Some([middle, middle])
    }
}

/// Hands that are being played.
pub(super) struct HandPlayer<'a> {
    sources: Vec<Source<'a>>,
    hands: Vec<Option<Played>>,
    props: Vec<HandProp>,
    press_with_skin: bool,
}

enum Source<'a> {
    Take(&'a HandTake, Side),
    Script(&'a ScriptedHand),
    Cached(&'a Arc<CachedHand>),
}

/// A hand on the face.
#[derive(Clone, Copy)]
enum Played {
    Jointed(HandId),
    Cached(ColliderId),
}

impl Source<'_> {
    /// The hand at a moment; `None` while it is away.
    fn pose(&self, moment: &Moment<'_>) -> Option<HandPose> {
        match self {
            Self::Take(take, side) => take.sample(*side, moment.time),
            Self::Script(hand) => {
                let is_now = moment.time >= hand.from - 1e-9 && moment.time <= hand.to + 1e-9;
                is_now.then(|| hand.pose(moment.time, moment.plain))
            }
            Self::Cached(_) => None,
        }
    }

    fn prop(&self, hands: &Hands) -> HandProp {
        let (name, skin) = match self {
            Self::Take(_, side) => (format!("{} hand", side.name()), Skin::Bound(hands.skin(*side))),
            Self::Script(hand) => (hand.name.clone(), Skin::Bound(hands.skin(hand.side))),
            Self::Cached(hand) => ("mesh of a hand".to_owned(), Skin::Cached(Arc::clone(hand))),
        };
        HandProp { name, skin, poses: Vec::new(), vertices: Vec::new(), holding: 0 }
    }
}

impl<'a> HandPlayer<'a> {
    pub(super) fn new(hands: &'a Hands, script: &'a [ScriptedHand]) -> Self {
        let sides = [Side::Left, Side::Right].into_iter();
        let taken = sides.filter(|side| !hands.take.frames(*side).is_empty());
        let sources: Vec<Source<'a>> = taken
            .map(|side| Source::Take(&hands.take, side))
            .chain(hands.cached.iter().map(Source::Cached))
            .chain(script.iter().map(Source::Script))
            .collect();
        Self {
            hands: vec![None; sources.len()],
            props: sources.iter().map(|source| source.prop(hands)).collect(),
            sources,
            press_with_skin: hands.press_with_skin,
        }
    }

    /// The meshes of all hands.
    pub(super) fn meshes(&self) -> impl Iterator<Item = TriMesh<Vec3>> {
        self.props.iter().map(|prop| {
            let positions = match &prop.skin {
                Skin::Bound(skin) => skin.rest.positions.clone(),
                Skin::Cached(hand) => hand.first().to_vec(),
            };
            TriMesh { positions, triangles: prop.triangles().to_vec() }
        })
    }

    /// Prepares the frame that ends at a moment.
    pub(super) fn before(&mut self, body: &mut dyn Body, moment: &Moment<'_>) -> Result<(), MeshError> {
        let Some(colliders) = body.colliders_mut() else { return Ok(()) };
        for ((source, hand), prop) in self.sources.iter().zip(&mut self.hands).zip(&self.props) {
            *hand = match source {
                Source::Cached(cached) => follow_mesh(colliders, cached.sample(moment.time), *hand, prop)?,
                source => {
                    let surface = match &prop.skin {
                        Skin::Bound(skin) if self.press_with_skin => HandSurface::Skin(Arc::clone(skin)),
                        _ => HandSurface::Capsules,
                    };
                    follow_joints(colliders, source, source.pose(moment), *hand, &surface)?
                }
            };
        }
        Ok(())
    }

    /// Records the hands after a frame.
    pub(super) fn after(&mut self, body: &dyn Body) {
        for (prop, hand) in self.props.iter_mut().zip(&self.hands) {
            let found = hand.and_then(|hand| Some((hand, body.colliders()?)));
            let (mut pose, mut vertices) = (None, None);
            match found {
                Some((Played::Jointed(id), colliders)) => {
                    pose = colliders.hand_pose(id);
                    prop.holding += usize::from(colliders.hand(id).is_some_and(HandBody::is_holding));
                }
                Some((Played::Cached(id), colliders)) => vertices = placed_vertices(colliders, id),
                None => {}
            }
            prop.poses.push(pose);
            prop.vertices.push(vertices);
        }
    }

    /// The hands of the last recorded frame.
    pub(super) fn shown(&self) -> Vec<MeasuredHand> {
        let last = |prop: &HandProp| prop.positions(prop.frame_count().checked_sub(1)?);
        (0..).zip(&self.props).filter_map(|(index, prop)| Some((index, last(prop)?))).collect()
    }

    pub(super) fn into_props(self) -> Vec<HandProp> {
        self.props
    }
}

/// Adds, moves or removes a hand with joints.
fn follow_joints(
    colliders: &mut Colliders,
    source: &Source<'_>,
    pose: Option<HandPose>,
    hand: Option<Played>,
    surface: &HandSurface,
) -> Result<Option<Played>, MeshError> {
    match (pose, hand) {
        (Some(pose), Some(Played::Jointed(id))) => colliders.move_hand(id, &pose),
        (Some(pose), _) => {
            let (frame, friction) = match source {
                Source::Script(hand) => (ColliderFrame::Head, hand.friction),
                _ => (ColliderFrame::World, HAND_FRICTION),
            };
            let added = colliders.add_hand_with(frame, &pose, friction, surface)?;
            return Ok(Some(Played::Jointed(added)));
        }
        (None, Some(Played::Jointed(id))) => {
            colliders.remove_hand(id);
            return Ok(None);
        }
        (None, _) => {}
    }
    Ok(hand)
}

/// Adds, deforms or removes a hand that is a mesh.
fn follow_mesh(
    colliders: &mut Colliders,
    vertices: Option<Vec<Vec3>>,
    hand: Option<Played>,
    prop: &HandProp,
) -> Result<Option<Played>, MeshError> {
    match (vertices, hand) {
        (Some(vertices), Some(Played::Cached(id))) => {
            colliders.deform(id, &vertices)?;
            Ok(hand)
        }
        (Some(vertices), _) => {
            let mesh = ColliderMesh::new(vertices, prop.triangles().to_vec())?;
            let shape = ColliderShape::Mesh(Box::new(mesh));
            let id = colliders.add_in(ColliderFrame::World, shape, Pose::IDENTITY, ColliderMotion::Kinematic);
            if let Some(added) = colliders.get_mut(id) {
                added.friction = HAND_FRICTION;
            }
            Ok(Some(Played::Cached(id)))
        }
        (None, Some(Played::Cached(id))) => {
            colliders.remove(id);
            Ok(None)
        }
        (None, _) => Ok(hand),
    }
}

/// Vertices of a mesh at the end of the last frame, in the head's frame.
fn placed_vertices(colliders: &Colliders, id: ColliderId) -> Option<Vec<Vec3>> {
    let touch = colliders.get(id)?;
    let ColliderShape::Mesh(mesh) = touch.shape() else { return None };
    let place = touch.place();
    Some(mesh.positions().iter().map(|p| place.apply(*p)).collect())
}
