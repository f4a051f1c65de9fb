//! Pictures of hands on a face: the plain rig, ours, and NePHIM's own method with and without its parts.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use glam::Vec3;
use zygoma_face::body::{Body, Touchable};
use zygoma_face::contact::{ColliderFrame, HandId};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::{HandProbe, ScriptedHand, TouchScript};
use zygoma_face::tissue::{Tissue, TissueBody};
use zygoma_geometry::TriMesh;
use zygoma_hand::{HandMesh, HandPose, Joint, Side};
use zygoma_physics::contact::Pose;
use zygoma_picture::{Bounds, Image, View, grid};
use zygoma_rig::Rig;

use super::methods::{Published, VARIANTS};
use super::{RATE, SECONDS};
use crate::pictures::{Portrait, Shot};

/// Pixels of one picture.
const SIZE: usize = 420;
/// Half size of the part that is shown, in heights.
const CLOSE: f32 = 0.3;

/// A gesture to be seen.
struct Scene {
    name: &'static str,
    /// Its `[[hand]]` without the place and its times.
    hand: &'static str,
    at: &'static str,
    /// From the place to where the hand touches, mm.
    aside: Vec3,
    /// How far the hand is led along the skin while it touches, mm.
    led: Vec3,
    view: View,
}

/// The interactions that the figures of NePHIM show.
const SCENES: [Scene; 5] = [
    Scene {
        name: "nose-bent",
        hand: "gesture = \"poke\"\ndepth = 8",
        at: "nose-tip",
        aside: Vec3::new(12.0, 2.0, -10.0),
        led: Vec3::ZERO,
        view: View { yaw: -20.0, pitch: 5.0 },
    },
    Scene {
        name: "lip-pushed-down",
        hand: "gesture = \"poke\"\ndepth = 5\nfriction = 0.8",
        at: "lip-lower",
        aside: Vec3::ZERO,
        led: Vec3::new(0.0, -10.0, 0.0),
        view: View { yaw: 50.0, pitch: 5.0 },
    },
    Scene {
        name: "cheek-pulled",
        hand: "gesture = \"pull\"\nby = [15, 0, 8]",
        at: "cheek-left",
        aside: Vec3::ZERO,
        led: Vec3::ZERO,
        view: View { yaw: -10.0, pitch: 5.0 },
    },
    Scene {
        name: "palm-on-cheek",
        hand: "gesture = \"press\"\ndepth = 8",
        at: "cheek-left",
        aside: Vec3::ZERO,
        led: Vec3::new(0.0, 8.0, 0.0),
        view: View { yaw: 20.0, pitch: 5.0 },
    },
    Scene {
        name: "punch",
        hand: "gesture = \"punch\"\ndepth = 12",
        at: "cheek-left",
        aside: Vec3::ZERO,
        led: Vec3::ZERO,
        view: View { yaw: 0.0, pitch: 5.0 },
    },
];

/// The fraction of the gesture's time in which a hand is led along.
const LED: [f64; 2] = [0.4, 0.6];

/// The hand of a scene on a face.
struct Play {
    hand: ScriptedHand,
    led: Vec3,
    neutral: Vec<Vec3>,
}

impl Play {
    fn new(scene: &Scene, face: &FaceModel) -> anyhow::Result<Self> {
        let places = Landmarks::new(face);
        let place = places.find(scene.at).with_context(|| format!("the rig has no {}", scene.at))?;
        let at = 1e3 * face.neutral[place.vertex as usize] + scene.aside;
        let script =
            format!("[[hand]]\n{}\nat = {:?}\nfrom = 0\nto = {SECONDS}\n", scene.hand, at.to_array());
        let script = TouchScript::parse(&script, face, &places).map_err(anyhow::Error::msg)?;
        let hand = script.hands.into_iter().next().context("the script has a hand")?;
        Ok(Self { hand, led: 1e-3 * scene.led, neutral: face.neutral.clone() })
    }

    fn poses(&self, frame: usize) -> [(Side, HandPose); 1] {
        let time = frame as f64 / RATE;
        let [from, to] = LED.map(|fraction| fraction * SECONDS);
        let gone = ((time - from) / (to - from)).clamp(0.0, 1.0) as f32;
        let pose = self.hand.pose(time, &self.neutral);
        [(self.hand.side, pose.moved(&Pose::at(gone * self.led)))]
    }

    /// The frame that is shown: the last one before the hand leaves in which it is deep in the plain rig.
    fn frame(&self, face: &FaceModel, probe: &mut HandProbe) -> usize {
        let sum = |frame: usize| {
            let poses = self.poses(frame);
            let hands = poses.iter().map(|(side, hand)| (*side, hand));
            probe.measure(hands, &face.skin, (&face.neutral, &face.neutral)).tracked.sum
        };
        let sums: Vec<f32> = (0..(SECONDS * RATE) as usize).map(sum).collect();
        let most = sums.iter().copied().fold(0.0, f32::max);
        sums.iter().rposition(|sum| *sum > 0.9 * most).unwrap_or(0)
    }
}

/// A surface and the name of the method that it comes from.
type Named = (&'static str, Vec<Vec3>);

/// Writes a sheet for each scene into a folder: with the hand above, and without it below.
pub(super) fn write(folder: &Path, rig: &Rig, face: &FaceModel, tissue: &Arc<Tissue>) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let portrait = Portrait::new(rig)?;
    let mut probe = HandProbe::new().context("the built-in hand has no closed surface")?;
    let mut published: Vec<Published> =
        VARIANTS.iter().map(|variant| Published::new(tissue, *variant)).collect::<anyhow::Result<_>>()?;
    for scene in &SCENES {
        let play = Play::new(scene, face)?;
        let last = play.frame(face, &mut probe);
        let mut surfaces: Vec<Named> = vec![("the plain rig", face.neutral.clone())];
        surfaces.push(("ours", ours(&play, tissue, last)?));
        for (other, (name, _)) in published.iter_mut().zip(VARIANTS) {
            other.begin(&play.poses(0));
            let shown = (1..=last).map(|frame| other.frame(&play.poses(frame))).last();
            surfaces.extend(shown.map(|shown| (name, shown)));
        }
        let sheet = sheet(&portrait, rig, scene, (&play.poses(last)[0], &surfaces), face)?;
        sheet.save(&folder.join(format!("{}.png", scene.name)))?;
    }
    Ok(())
}

/// The surface of live tissue after some frames.
fn ours(play: &Play, tissue: &Arc<Tissue>, last: usize) -> anyhow::Result<Vec<Vec3>> {
    let mut body = TissueBody::new(tissue.clone())?;
    Body::settle(&mut body);
    let mut hand: Option<HandId> = None;
    for frame in 0..=last {
        let [(_, pose)] = play.poses(frame);
        let colliders = body.colliders_mut();
        let id =
            *hand.get_or_insert_with(|| colliders.add_hand(ColliderFrame::Head, &pose, play.hand.friction));
        colliders.move_hand(id, &pose);
        body.run(1.0 / RATE);
    }
    Ok(body.show(0.0).to_vec())
}

fn sheet(
    portrait: &Portrait,
    rig: &Rig,
    scene: &Scene,
    ((side, pose), surfaces): (&(Side, HandPose), &[Named]),
    face: &FaceModel,
) -> anyhow::Result<Image> {
    let skin = HandMesh::built_in(*side);
    let hand = TriMesh { positions: skin.posed(pose), triangles: skin.rest.triangles.clone() };
    let at = pose.at(Joint::IndexTip).lerp(pose.at(Joint::MiddleProximal), 0.3);
    let around = Vec3::splat(CLOSE * face.height as f32);
    let focus = Some(Bounds { low: at - around, high: at + around });
    let mut meshes: Vec<Vec<Vec3>> = rig.meshes.iter().map(|mesh| mesh.positions.clone()).collect();
    let mut pictures: Vec<(Image, &str)> = Vec::new();
    for props in [&[hand][..], &[]] {
        for (name, surface) in surfaces {
            meshes[rig.skin].clone_from(surface);
            let shot = Shot { surfaces: &meshes, props, view: scene.view, focus, size: SIZE };
            pictures.push((portrait.shoot(&shot)?, name));
        }
    }
    Ok(grid(&pictures, surfaces.len()))
}
