//! Measures hands on a face as NePHIM Table 3 does, at full resolution: the skin's vertices against the skin of the hand.

use glam::Vec3;
use serde::Serialize;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::SignedSurface;
use zygoma_hand::{HandMesh, HandPose, Side};

use crate::model::{Bones, Inside, Teeth};

/// Vertices that are less deep in a hand do not collide, m. Ours: a tenth of a millimetre is invisible, and below what hands are
/// tracked with.
pub const COLLISION: f32 = 1e-4;

/// Skin does not fit between a hand and bone that is nearer than this, m. Ours.
const BONE: f32 = 2e-3;

/// A projection moves a vertex by no more than this, m. Ours.
const FARTHEST: f32 = 0.04;

/// Penetration of a surface into hands in one frame, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penetration {
    /// Number of colliding vertices.
    pub vertices: usize,
    /// Sum of their depths.
    pub sum: f32,
    /// The largest depth.
    pub deepest: f32,
    /// Number of those at which the hand's surface is inside bone or teeth, or just before them: no skin fits in between.
    pub at_bone: usize,
    /// The largest depth of the others.
    pub deepest_free: f32,
    /// The vertex of that depth.
    pub worst: u32,
}

/// Hands on a face in one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HandFrameMeasure {
    /// The plain rig in the hands.
    pub tracked: Penetration,
    /// The simulated face in the hands.
    pub simulated: Penetration,
    /// Mean distance of the face's vertices from the plain rig, m.
    pub deformation: f32,
}

/// Finds penetrations of a face into hands.
pub struct HandProbe {
    /// One for each hand.
    surfaces: Vec<SignedSurface>,
    bones: Vec<SignedSurface>,
}

/// A hand of a [`HandProbe`], by its number, and its vertices.
pub type MeasuredHand = (usize, Vec<Vec3>);

impl HandProbe {
    /// The left and the right built-in hand; `None` if they cannot be measured, which a test excludes.
    pub fn new() -> Option<Self> {
        Self::of([Side::Left, Side::Right].map(|side| HandMesh::built_in(side).rest.clone()))
    }

    /// Hands of any meshes; `None` if one is not closed.
    pub fn of(meshes: impl IntoIterator<Item = TriMesh<Vec3>>) -> Option<Self> {
        let surfaces: Option<_> = meshes.into_iter().map(|mesh| SignedSurface::new(mesh).ok()).collect();
        Some(Self { surfaces: surfaces?, bones: Vec::new() })
    }

    /// Counts apart what is at the bones and teeth of a face at rest, where they are closed.
    pub fn with_inside(mut self, inside: &Inside) -> Self {
        let bones = inside.bones.iter().flat_map(Bones::surfaces);
        let teeth = inside.teeth.iter().flat_map(Teeth::arch_meshes);
        self.bones = bones.chain(teeth).filter_map(|mesh| SignedSurface::new(mesh).ok()).collect();
        self
    }

    /// Measures built-in hands of a frame on the plain and on the simulated surface.
    pub fn measure<'a>(
        &mut self,
        hands: impl Iterator<Item = (Side, &'a HandPose)>,
        skin: &[u32],
        surfaces: (&[Vec3], &[Vec3]),
    ) -> HandFrameMeasure {
        let hands: Vec<MeasuredHand> = hands.map(posed).collect();
        self.measure_meshes(&hands, skin, surfaces)
    }

    /// Measures the hands of a frame on the plain and on the simulated surface.
    pub fn measure_meshes(
        &mut self,
        hands: &[MeasuredHand],
        skin: &[u32],
        (plain, shown): (&[Vec3], &[Vec3]),
    ) -> HandFrameMeasure {
        let apart = |v: &u32| plain[*v as usize].distance(shown[*v as usize]);
        let deformation = skin.iter().map(apart).sum::<f32>() / skin.len().max(1) as f32;
        let mut found = HandFrameMeasure { deformation, ..HandFrameMeasure::default() };
        for (hand, vertices) in hands {
            let surface = &mut self.surfaces[*hand];
            if surface.deform(vertices).is_ok() {
                found.tracked.add(surface, &self.bones, skin, plain);
                found.simulated.add(surface, &self.bones, skin, shown);
            }
        }
        found
    }

    /// Resolves collisions with built-in hands as methods before NePHIM do: every colliding vertex goes inwards along its normal until it is free, up to a
    /// distance.
    pub fn project<'a>(
        &mut self,
        hands: impl Iterator<Item = (Side, &'a HandPose)>,
        skin: &[u32],
        (plain, normals): (&[Vec3], &[Vec3]),
    ) -> Vec<Vec3> {
        let mut moved = plain.to_vec();
        for (hand, vertices) in hands.map(posed) {
            let surface = &mut self.surfaces[hand];
            if surface.deform(&vertices).is_err() {
                continue;
            }
            let (low, high) = surface.bounds();
            for vertex in skin.iter().map(|v| *v as usize) {
                let is_near = |at: Vec3| !(at.cmplt(low).any() || at.cmpgt(high).any());
                let mut gone = 0.0;
                while gone < FARTHEST && is_near(moved[vertex]) {
                    let depth =
                        surface.closest(moved[vertex], 0.0).map_or(0.0, |found| -found.signed_distance);
                    if depth <= 0.0 {
                        break;
                    }
                    let step = depth.max(COLLISION);
                    moved[vertex] -= step * normals[vertex];
                    gone += step;
                }
            }
        }
        moved
    }
}

/// A built-in hand in a pose.
fn posed((side, pose): (Side, &HandPose)) -> MeasuredHand {
    (side as usize, HandMesh::built_in(side).posed(pose))
}

impl Penetration {
    fn add(&mut self, hand: &SignedSurface, bones: &[SignedSurface], skin: &[u32], positions: &[Vec3]) {
        let (low, high) = hand.bounds();
        for vertex in skin {
            let at = positions[*vertex as usize];
            if at.cmplt(low).any() || at.cmpgt(high).any() {
                continue;
            }
            let Some(found) = hand.closest(at, 0.0).filter(|found| -found.signed_distance > COLLISION) else {
                continue;
            };
            let depth = -found.signed_distance;
            self.vertices += 1;
            self.sum += depth;
            self.deepest = self.deepest.max(depth);
            let is_at_bone = |bone: &SignedSurface| {
                bone.closest(found.nearest.point, BONE).is_some_and(|found| found.signed_distance < BONE)
            };
            if bones.iter().any(is_at_bone) {
                self.at_bone += 1;
            } else {
                if depth > self.deepest_free {
                    (self.worst, self.deepest_free) = (*vertex, depth);
                }
            }
        }
    }
}

/// One row of NePHIM Table 3.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct HandRow {
    /// Share of frames without collisions, %.
    pub free_percent: f64,
    /// Mean depth of colliding vertices, mm.
    pub depth_mm: f64,
    /// The largest depth, mm.
    pub deepest_mm: f64,
    /// Share of colliding vertices at which the hand's surface is inside bone or just before it, %.
    pub at_bone_percent: f64,
    /// The largest depth of the others, mm.
    pub deepest_free_mm: f64,
    /// Mean deformation, mm.
    pub deformation_mm: f64,
}

/// Hands on a face over a performance.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct HandSummary {
    /// Frames with a hand.
    pub frames: usize,
    /// Frames in which the plain rig is in a hand.
    pub touching: usize,
    /// Share of these in which the simulated face is in no hand except at bone, %.
    pub resolved_percent: f64,
    /// The plain rig.
    pub tracked: HandRow,
    /// The simulated face.
    pub simulated: HandRow,
}

impl HandSummary {
    /// Sums up frames; `None` entries are frames without a hand.
    pub fn new<'a>(measures: impl Iterator<Item = &'a Option<HandFrameMeasure>> + Clone) -> Self {
        let frames = measures.flatten().copied().collect::<Vec<_>>();
        let row = |of: &dyn Fn(&HandFrameMeasure) -> Penetration, is_simulated: bool| {
            let all: Vec<Penetration> = frames.iter().map(of).collect();
            let vertices: usize = all.iter().map(|found| found.vertices).sum();
            let at_bone: usize = all.iter().map(|found| found.at_bone).sum();
            let depth: f64 = all.iter().map(|found| f64::from(found.sum)).sum();
            let deformation = frames.iter().map(|frame| f64::from(frame.deformation)).sum::<f64>();
            HandRow {
                free_percent: percent(all.iter().filter(|found| found.vertices == 0).count(), all.len()),
                depth_mm: 1e3 * depth / vertices.max(1) as f64,
                deepest_mm: 1e3 * f64::from(all.iter().map(|found| found.deepest).fold(0.0, f32::max)),
                at_bone_percent: if vertices == 0 { 0.0 } else { percent(at_bone, vertices) },
                deepest_free_mm: 1e3
                    * f64::from(all.iter().map(|found| found.deepest_free).fold(0.0, f32::max)),
                deformation_mm: if is_simulated {
                    1e3 * deformation / frames.len().max(1) as f64
                } else {
                    0.0
                },
            }
        };
        let touching: Vec<&HandFrameMeasure> =
            frames.iter().filter(|frame| frame.tracked.vertices > 0).collect();
        let is_free = |found: &Penetration| found.vertices == found.at_bone;
        let resolved = touching.iter().filter(|frame| is_free(&frame.simulated)).count();
        Self {
            frames: frames.len(),
            touching: touching.len(),
            resolved_percent: percent(resolved, touching.len()),
            tracked: row(&|frame| frame.tracked, false),
            simulated: row(&|frame| frame.simulated, true),
        }
    }
}

/// A fraction in %; all of nothing is 100 %.
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_hand::{Joint, Posture};

    #[test]
    fn a_vertex_in_a_finger_collides_and_one_beside_it_does_not() {
        let hand = Posture::open().pose(Side::Right);
        let inside = 0.5 * (hand.at(Joint::IndexIntermediate) + hand.at(Joint::IndexDistal));
        let beside = inside + 0.012 * Vec3::Y;
        let mut probe = HandProbe::new().expect("the built-in hand is closed");
        let hands = [(Side::Right, &hand)];
        let found = probe.measure(hands.into_iter(), &[0, 1], (&[inside, beside], &[beside, beside]));
        assert_eq!((found.tracked.vertices, found.simulated.vertices), (1, 0));
        assert!((found.tracked.deepest - 0.0085).abs() < 1.5e-3, "{found:?}");
        let summary = HandSummary::new([Some(found), None].iter());
        assert_eq!((summary.frames, summary.touching), (1, 1));
        assert_eq!((summary.tracked.free_percent, summary.resolved_percent), (0.0, 100.0));
        assert!((summary.simulated.deformation_mm - 6.0).abs() < 0.01);
    }
}
