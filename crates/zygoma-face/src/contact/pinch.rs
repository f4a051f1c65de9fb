//! Pinches: skin that is held between the thumb and a finger.
//!
//! NePHIM §3.3.2 joins the tips of thumb and finger by a cylinder, which grabs the skin inside when it gets shorter and is short enough, and
//! lets go when it is longer again. Its targets (NePHIM Algorithm 4) project the tracked vertex, so that a pinch that moves sideways leaves the
//! skin behind, and their fold vanishes as the fingers close. Here held skin keeps its coordinates in the frame of the cylinder, which
//! rides on thumb and finger, and folds as a tent of constant length, outside the hand's own bones.

use glam::Vec3;
use zygoma_hand::{Bone, Capsule, Finger, HandPose, Joint};

use super::colliders::{Colliders, GrabId};
use super::grab::Grab;
use super::hand::HandSurface;
use super::samples::Samples;

/// Radius r of a cylinder and its length l_min below which it grabs (NePHIM Table 8), m, for a hand of the size `PALM`.
const RADIUS: f32 = 5e-3;
const SHORTEST: f32 = 25e-3;
/// Held skin is released at l_min and this much, m. Ours: tracking noise must not drop it.
const HYSTERESIS: f32 = 2e-3;
/// The ridge of a fold is rounded over this length, m. Ours.
const RIDGE: f32 = 2e-3;
/// From the wrist to the knuckle of the middle finger of the hand that the lengths above are for, m. Ours.
const PALM: f32 = 0.093;
/// A cylinder gets shorter if it does so by more than this in a step, m. Ours: above rounding.
const SHORTENING: f32 = 1e-7;

/// Bones overlap: a point that leaves one may be in the next. Maximum number of bones that it leaves. Ours.
const LEAVING: usize = 4;

/// The cylinder between the thumb and a finger.
#[derive(Clone, Debug, Default)]
pub(super) struct Pinch {
    /// Its length in the last step; `None` before the first.
    length: Option<f32>,
    held: Option<Held>,
}

/// Skin in a cylinder.
#[derive(Clone, Debug)]
struct Held {
    grab: GrabId,
    /// Held vertices of the body in the cylinder's frame: along the axis, across it, and along the skin's normal.
    places: Vec<(u32, Vec3)>,
    /// Length when the skin was grabbed.
    length: f32,
    /// The cylinder's middle then, in the head's frame.
    origin: Vec3,
    /// The skin's normal then, in the frames of the thumb's and of the finger's tip.
    normals: [Vec3; 2],
}

/// The frame of a cylinder.
struct Cylinder {
    middle: Vec3,
    axis: Vec3,
    normal: Vec3,
    length: f32,
}

impl Cylinder {
    /// Between the pads of thumb and finger, with a normal as close as possible to the given one.
    fn new(hand: &HandPose, finger: Finger, normal: Vec3) -> Option<Self> {
        let [thumb, pad] = hand.pinch_points(finger);
        let axis = (pad - thumb).try_normalize()?;
        let normal = normal.reject_from_normalized(axis).try_normalize()?;
        Some(Self { middle: 0.5 * (thumb + pad), axis, normal, length: thumb.distance(pad) })
    }

    fn coordinates(&self, at: Vec3) -> Vec3 {
        let offset = at - self.middle;
        let across = self.normal.cross(self.axis);
        Vec3::new(offset.dot(self.axis), offset.dot(across), offset.dot(self.normal))
    }

    /// The position of held skin that was at `place` when the cylinder had a length `from`.
    fn fold(&self, place: Vec3, from: f32, ridge: f32) -> Vec3 {
        let Vec3 { x, y, z } = place;
        // A tent of span ℓ has the length ℓ0 of the skin that was flat: its height is ½√(ℓ0² − ℓ²).
        let height = 0.5 * (from * from - self.length * self.length).max(0.0).sqrt();
        let z = z + height * tent(x, 0.5 * from, ridge);
        let x = x * (self.length / from).min(1.0);
        self.middle + x * self.axis + y * self.normal.cross(self.axis) + z * self.normal
    }
}

/// A tent of height 1 over −half … half, rounded at its ridge.
fn tent(x: f32, half: f32, ridge: f32) -> f32 {
    let from_ridge = if x.abs() < ridge { 0.5 * (x * x / ridge + ridge) } else { x.abs() };
    (1.0 - from_ridge / half).max(0.0)
}

/// The position outside all bones of a hand nearest to a given one, or nearly so.
fn outside(bones: &[Capsule; Bone::COUNT], mut at: Vec3) -> Vec3 {
    for _ in 0..LEAVING {
        let depth = |capsule: &Capsule| -capsule.distance(at);
        let deepest = bones.iter().max_by(|a, b| depth(a).total_cmp(&depth(b)));
        let Some(capsule) = deepest.filter(|capsule| depth(capsule) > 0.0) else { break };
        at = capsule.leave(at);
    }
    at
}

/// The size of a hand over that of the hand that lengths are given for, times the unit that it is given in.
fn scale_of(hand: &HandPose) -> f32 {
    hand.at(Joint::Wrist).distance(hand.at(Joint::MiddleProximal)) / PALM
}

/// The skin as pinches see it, in a step of a body.
pub(crate) struct PinchedSkin<'a> {
    pub(crate) samples: &'a Samples,
    /// Number of vertices of the body that can move: the first ones.
    pub(crate) free: usize,
    /// Position of a contact point.
    pub(crate) sample: &'a dyn Fn(u32) -> Vec3,
    /// Position of a vertex of the body.
    pub(crate) vertex: &'a dyn Fn(u32) -> Vec3,
}

impl Pinch {
    /// A cylinder that holds nothing.
    pub(super) fn open(hand: &HandPose, finger: Finger) -> Self {
        let [thumb, pad] = hand.pinch_points(finger);
        Self { length: Some(thumb.distance(pad)), held: None }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    pub(super) fn grab(&self) -> Option<GrabId> {
        self.held.as_ref().map(|held| held.grab)
    }
}

impl Held {
    /// The cylinder's frame: its normal turns with the mean of thumb and finger.
    fn cylinder(&self, hand: &HandPose, finger: Finger) -> Option<Cylinder> {
        let [thumb, other] = self.normals;
        let normal = hand[Joint::ThumbTip].rotation * thumb + hand[finger.tip()].rotation * other;
        Cylinder::new(hand, finger, normal)
    }
}

impl Colliders {
    /// Lets fingers grab, hold and release skin, after a step has moved them.
    pub(crate) fn update_pinches(&mut self, skin: &PinchedSkin<'_>) {
        for index in 0..self.hands.len() {
            let before: [bool; 4] = self.hands[index].1.pinches.each_ref().map(Pinch::is_holding);
            for finger in Finger::ALL {
                self.update_pinch(index, finger, skin);
            }
            if before != self.hands[index].1.pinches.each_ref().map(Pinch::is_holding) {
                self.spare_held(index);
            }
        }
    }

    fn update_pinch(&mut self, index: usize, finger: Finger, skin: &PinchedSkin<'_>) {
        let hand = self.hands[index].1.now;
        let scale = scale_of(&hand);
        let [thumb, pad] = hand.pinch_points(finger);
        let length = thumb.distance(pad);
        let pinch = &mut self.hands[index].1.pinches[finger as usize];
        let is_shortening = pinch.length.is_some_and(|before| length < before - scale * SHORTENING);
        pinch.length = Some(length);
        match &pinch.held {
            Some(held) => {
                let cylinder =
                    held.cylinder(&hand, finger).filter(|_| length < scale * (SHORTEST + HYSTERESIS));
                // Skin that is pulled farther than it stretches slips out of the fingers.
                let cylinder = cylinder.filter(|c| c.middle.distance(held.origin) < self.scale.longest_grab);
                let grab = held.grab;
                match cylinder {
                    Some(cylinder) => {
                        let bones = Bone::ALL.map(|bone| bone.capsule(&hand));
                        let fold = |(vertex, place): &(u32, Vec3)| {
                            let folded = cylinder.fold(*place, held.length, scale * RIDGE);
                            (*vertex, outside(&bones, folded))
                        };
                        let places: Vec<(u32, Vec3)> = held.places.iter().map(fold).collect();
                        if let Some((_, pull)) = self.grabs.iter_mut().find(|(name, _)| *name == grab) {
                            pull.pin(places);
                        }
                    }
                    None => {
                        pinch.held = None;
                        self.release(grab);
                    }
                }
            }
            None if is_shortening && length < scale * SHORTEST => {
                if let Some(held) = self.grab_between(&hand, finger, skin) {
                    self.hands[index].1.pinches[finger as usize].held = Some(held);
                }
            }
            None => {}
        }
    }

    /// Grabs the skin in a cylinder; `None` if there is none, or if another finger holds it.
    fn grab_between(&mut self, hand: &HandPose, finger: Finger, skin: &PinchedSkin<'_>) -> Option<Held> {
        let [thumb, pad] = hand.pinch_points(finger);
        let (length, radius) = (thumb.distance(pad), scale_of(hand) * RADIUS);
        let axis = (pad - thumb).try_normalize()?;
        let is_inside = |at: Vec3| {
            let along = (at - thumb).dot(axis);
            (0.0..=length).contains(&along) && (at - thumb - along * axis).length() <= radius
        };
        let middle = 0.5 * (thumb + pad);
        let is_close = |vertex: &u32| {
            let (group, spread) = skin.samples.group(*vertex as usize);
            !group.is_empty()
                && (skin.vertex)(*vertex).distance(middle) < 0.5 * length + radius + 1.5 * spread
        };
        let is_held =
            |vertex: u32| self.grabs.iter().any(|(_, pull)| pull.vertices().any(|own| own == vertex));
        let vertices: Vec<u32> = (0..skin.free as u32)
            .filter(is_close)
            .filter(|vertex| {
                skin.samples.group(*vertex as usize).0.any(|sample| is_inside((skin.sample)(sample)))
            })
            .filter(|vertex| !is_held(*vertex))
            .collect();
        if vertices.is_empty() {
            return None;
        }
        // Fingers that pinch come from outside, so skin faces back along them.
        let outward = -(hand.forward(Joint::ThumbTip) + hand.forward(finger.tip()));
        let cylinder = Cylinder::new(hand, finger, outward)?;
        let places: Vec<(u32, Vec3)> =
            vertices.iter().map(|v| (*v, cylinder.coordinates((skin.vertex)(*v)))).collect();
        let normals =
            [Joint::ThumbTip, finger.tip()].map(|tip| hand[tip].rotation.inverse() * cylinder.normal);
        let pins = vertices.iter().map(|v| (*v, (skin.vertex)(*v))).collect();
        let grab = self.add_grab(Grab::pinned(pins));
        Some(Held { grab, places, length, origin: cylinder.middle, normals })
    }

    /// Lets the ends of pinching fingers not push the skin of a shell that the hand holds.
    fn spare_held(&mut self, index: usize) {
        let hand = &self.hands[index].1;
        let held = |pinch: &Pinch| -> Vec<u32> {
            pinch.held.iter().flat_map(|held| held.places.iter().map(|(vertex, _)| *vertex)).collect()
        };
        let mut all: Vec<u32> = hand.pinches.iter().flat_map(held).collect();
        all.sort_unstable();
        let spares = |joint: Joint| {
            let pinching = Finger::ALL.into_iter().filter(|finger| hand.holds(*finger));
            let mut ends = pinching.flat_map(|finger| {
                [Joint::ThumbProximal, Joint::ThumbDistal, finger.joints()[2], finger.joints()[3]]
            });
            ends.any(|end| end == joint)
        };
        let spared: Vec<_> = match hand.surface() {
            HandSurface::Skin(_) => hand.colliders().iter().map(|id| (*id, all.clone())).collect(),
            HandSurface::Capsules => Bone::ALL
                .iter()
                .zip(hand.colliders())
                .map(|(bone, id)| (*id, if spares(bone.from) { all.clone() } else { Vec::new() }))
                .collect(),
        };
        for (id, vertices) in spared {
            if let Some(collider) = self.get_mut(id) {
                collider.spared = vertices;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_keeps_the_length_of_the_skin() {
        let from = 0.024;
        for length in [0.023, 0.018, 0.012, 0.006] {
            let cylinder = Cylinder { middle: Vec3::ZERO, axis: Vec3::X, normal: Vec3::Z, length };
            let at = |k: usize| cylinder.fold(Vec3::X * from * (k as f32 / 400.0 - 0.5), from, 1e-6);
            let arc: f32 = (0..400).map(|k| at(k).distance(at(k + 1))).sum();
            assert!((arc - from).abs() < 2e-4, "{length}: {arc}");
            assert!((at(0).distance(at(400)) - length).abs() < 1e-5);
        }
    }

    #[test]
    fn skin_is_where_it_was_when_it_is_grabbed() {
        let cylinder = Cylinder { middle: Vec3::Y, axis: Vec3::X, normal: Vec3::Z, length: 0.02 };
        for at in [Vec3::new(0.004, 1.002, -0.001), Vec3::new(-0.009, 0.997, 0.003)] {
            let again = cylinder.fold(cylinder.coordinates(at), 0.02, 2e-3);
            assert!(at.distance(again) < 1e-6);
        }
    }
}
