//! Bones under the skin of a posed head: how deep they lie, and pushed in where they would stick out.

use std::collections::BTreeMap;

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::{SignedSurface, TriangleTree};

use super::poses::{HeadPose, PosedCover};
use super::{FittedHead, SharedSkin};

/// Depths beyond this are not measured, in metres.
const DEEP: f64 = 0.03;
/// Skin that moves less than this relative to a bone leaves that bone as deep as it was, in metres.
const UNMOVED: f64 = 2e-4;
/// Depth to which bone is pushed that a pose would leave outside, in metres. Ours: less than at rest, for skin slides over bone.
const COVER: f64 = 5e-4;
/// Rounds of pushing: one pose may push bone out of another's skin.
const ROUNDS: usize = 8;
/// Steps that bring a vertex under the skin of one pose: beyond a fold another part of the skin may be nearer.
const STEPS: usize = 8;

/// A bone at rest in the head's own frame.
pub(super) struct PosedBone {
    pub(super) positions: Vec<DVec3>,
    ridge: Vec<bool>,
    /// Depth of each vertex under the skin at rest.
    depths: Vec<f64>,
}

/// Bones and skin of a fitted head in its own frame, in metres.
pub(super) struct PosedBones {
    pub(super) bones: [PosedBone; 2],
    pub(super) rest: Vec<DVec3>,
    /// Triangles of the skin, closed over the neck.
    triangles: Vec<[u32; 3]>,
    /// The skin at rest, which poses deform; `None` if it has no inside.
    surface: Option<SignedSurface<DVec3>>,
}

/// Bones in one pose.
pub(super) struct Covered {
    pub(super) cover: PosedCover,
    pushes: Vec<Push>,
}

/// A step that brings a vertex of a bone back under the skin, in the bone's frame at rest.
struct Push {
    bone: usize,
    vertex: usize,
    step: DVec3,
}

impl PosedBones {
    pub(super) fn new(fitted: &FittedHead) -> Self {
        let back = fitted.to_mesh.inverse();
        let home = |points: &[DVec3]| points.iter().map(|p| back.apply(*p)).collect::<Vec<DVec3>>();
        let (rest, triangles) = (home(&fitted.skin), closed_triangles());
        let bones = [&fitted.anatomy.cranium, &fitted.anatomy.mandible].map(|bone| PosedBone {
            positions: home(&bone.surface.positions),
            ridge: bone.ridge.clone(),
            depths: Vec::new(),
        });
        let mesh = TriMesh { positions: rest.clone(), triangles: triangles.clone() };
        let mut all = Self { bones, rest, triangles, surface: SignedSurface::new(mesh).ok() };
        all.measure_depths();
        all
    }

    fn measure_depths(&mut self) {
        let tree = TriangleTree::new(&self.rest, &self.triangles);
        for bone in &mut self.bones {
            let depth = |p: &DVec3| {
                tree.closest(&self.rest, &self.triangles, *p, DEEP).map_or(DEEP, |found| found.distance)
            };
            bone.depths = bone.positions.par_iter().map(depth).collect();
        }
    }

    /// How deep the bones lie in each of some poses, and the steps that bring what sticks out back under the skin.
    pub(super) fn covers(&self, poses: &[HeadPose]) -> Vec<Covered> {
        poses.par_iter().map(|pose| self.cover(pose, &|_, _| true)).collect()
    }

    /// The same in one pose, for some vertices of both bones.
    fn cover(&self, pose: &HeadPose, is_tested: &(dyn Fn(usize, usize) -> bool + Sync)) -> Covered {
        let mut covered =
            Covered { cover: PosedCover { outside: 0, least: DEEP, place: DVec3::ZERO }, pushes: Vec::new() };
        let motions = [DAffine3::IDENTITY, pose.jaw];
        let in_doubt = [0, 1].map(|index| {
            self.in_doubt(&self.bones[index], &motions[index], &pose.skin, &|v| is_tested(index, v))
        });
        if in_doubt.iter().all(Vec::is_empty) {
            return covered;
        }
        let Some(mut surface) = self.surface.clone() else { return covered };
        if surface.deform(&pose.skin).is_err() {
            return covered;
        }
        for (bone, in_doubt) in in_doubt.into_iter().enumerate() {
            let back = motions[bone].matrix3.transpose();
            for (vertex, p) in in_doubt {
                let Some(found) = surface.closest(p, DEEP) else { continue };
                if -found.signed_distance < covered.cover.least {
                    (covered.cover.least, covered.cover.place) = (-found.signed_distance, p);
                }
                covered.cover.outside += usize::from(found.signed_distance > 0.0);
                if found.signed_distance > -COVER {
                    let step = back * (under(&surface, p) - p);
                    covered.pushes.push(Push { bone, vertex, step });
                }
            }
        }
        covered
    }

    /// Vertices of a posed bone that skin has moved to, relative to the bone. All others are as deep as at rest.
    fn in_doubt(
        &self,
        bone: &PosedBone,
        motion: &DAffine3,
        skin: &[DVec3],
        is_tested: &dyn Fn(usize) -> bool,
    ) -> Vec<(usize, DVec3)> {
        let moved = |v: usize| skin[v].distance(motion.transform_point3(self.rest[v]));
        let moved: Vec<f64> = (0..skin.len()).map(moved).collect();
        let way = |t: &[u32; 3]| t.iter().map(|v| moved[*v as usize]).fold(0.0, f64::max);
        let farthest = moved.iter().copied().fold(0.0, f64::max);
        let is_near = |v: &usize| !bone.ridge[*v] && bone.depths[*v] < farthest.min(DEEP) && is_tested(*v);
        let posed = (0..bone.positions.len()).filter(is_near);
        let posed: Vec<(usize, DVec3)> =
            posed.map(|v| (v, motion.transform_point3(bone.positions[v]))).collect();
        // Only skin around those vertices matters, which is often a small part of it.
        let reach = DVec3::splat(farthest + UNMOVED);
        let (low, high) =
            posed.iter().fold((DVec3::MAX, DVec3::MIN), |(low, high), (_, p)| (low.min(*p), high.max(*p)));
        let (low, high) = (low - reach, high + reach);
        let is_around = |t: &[u32; 3]| {
            let corners = t.map(|v| skin[v as usize]);
            let (least, most) =
                (corners[0].min(corners[1]).min(corners[2]), corners[0].max(corners[1]).max(corners[2]));
            least.cmple(high).all() && most.cmpge(low).all()
        };
        let matters = |t: &&[u32; 3]| way(t) > UNMOVED && is_around(t);
        let triangles: Vec<[u32; 3]> = self.triangles.iter().filter(matters).copied().collect();
        if triangles.is_empty() {
            return Vec::new();
        }
        let tree = TriangleTree::new(skin, &triangles);
        // Skin that has passed a vertex came from as far outside as the vertex lay deep, and is no farther beyond it than it went.
        let is_in_doubt = |v: usize, p: DVec3| {
            let near = tree.closest(skin, &triangles, p, farthest + UNMOVED);
            near.is_some_and(|near| bone.depths[v] < way(&triangles[near.triangle as usize]) + UNMOVED)
        };
        posed.into_iter().filter(|(v, p)| is_in_doubt(*v, *p)).collect()
    }

    /// Pushes the bones under the skin of every pose, from what was found there.
    pub(super) fn push_under(&mut self, poses: &[HeadPose], mut found: Vec<Covered>) {
        let mut touched = self.bones.each_ref().map(|bone| vec![false; bone.positions.len()]);
        for _ in 0..ROUNDS {
            if found.iter().all(|covered| covered.cover.outside == 0) {
                break;
            }
            // Of several poses that push a vertex, the one that pushes it farthest is enough.
            let mut farthest: BTreeMap<(usize, usize), DVec3> = BTreeMap::new();
            for push in found.iter().flat_map(|covered| &covered.pushes) {
                let step = farthest.entry((push.bone, push.vertex)).or_default();
                if push.step.length() > step.length() {
                    *step = push.step;
                }
            }
            for ((bone, vertex), step) in farthest {
                self.bones[bone].positions[vertex] += step;
                touched[bone][vertex] = true;
            }
            self.measure_depths();
            let is_touched = |bone: usize, vertex: usize| touched[bone][vertex];
            found = poses.par_iter().map(|pose| self.cover(pose, &is_touched)).collect();
        }
    }
}

/// A point moved so far that it lies under a surface.
fn under(surface: &SignedSurface<DVec3>, p: DVec3) -> DVec3 {
    let mut p = p;
    for _ in 0..STEPS {
        let Some(found) = surface.closest(p, DEEP) else { break };
        if found.signed_distance <= -COVER {
            break;
        }
        p -= (found.signed_distance + COVER) * found.normal;
    }
    p
}

/// The triangles of the shared skin, closed over the open end of the neck.
fn closed_triangles() -> Vec<[u32; 3]> {
    let shared = SharedSkin::get();
    let mut triangles = shared.triangles.to_vec();
    let Some((first, others)) = shared.places.neck.split_first() else { return triangles };
    let has_edge =
        |a: u32, b: u32| shared.triangles.iter().any(|t| (0..3).any(|i| t[i] == a && t[(i + 1) % 3] == b));
    let forward = others.first().is_some_and(|second| has_edge(*first, *second));
    let fan = others.windows(2).map(|pair| match forward {
        true => [*first, pair[1], pair[0]],
        false => [*first, pair[0], pair[1]],
    });
    triangles.extend(fan);
    triangles
}
