//! Repairs damage that a warp may have done: bones too near to the skin, inverted prisms.

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::tets::volume;

use super::cover::{is_lip, is_outer};
use super::fit::posed;
use super::nearest::Nearest;
use super::prisms::{split_positions, tissue};
use super::untangle::untangle;
use super::{Anatomy, Bone, Tie};
use crate::Head;
use crate::base::Base;
use crate::parts::jaw_shapes;
use crate::template::Template;

/// Smallest depth of bone, in metres: the required millimetre and some margin.
const COVER: f64 = 1.3e-3;

/// Distance of ridges from the lips, and from the outer skin.
const LIP_GAP: f64 = 0.7e-3;

/// A skin that bones must stay under, with the mandible's motion in that pose.
pub(crate) struct Pose {
    skin: Skin,
    mandible: DAffine3,
}

impl Pose {
    /// The pose of a skin with the template's vertices, in metres.
    pub(crate) fn new(base: &Base, skin: &[DVec3], mandible: DAffine3) -> Self {
        Self { skin: Skin::new(base, skin), mandible }
    }
}

/// Whether the two sides of a head are mirror images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sides {
    /// They are, and bones are kept symmetric.
    Alike,
    /// They differ, as in a head that was fitted.
    Apart,
}

impl Sides {
    /// Distance from bone within which the skin pushes it in, in metres. Dials never press it out of the skin, a fit may.
    fn reach(self) -> f64 {
        match self {
            Self::Alike => COVER,
            Self::Apart => 0.02,
        }
    }
}

/// The poses of a built-in head: at rest, then every shape that moves the jaw.
pub(super) fn poses(head: &Head) -> Vec<Pose> {
    let base = &Template::of(head.options.level).base;
    let mut poses = vec![Pose::new(base, &posed(&head.skin, "neutral"), DAffine3::IDENTITY)];
    poses.par_extend(jaw_shapes().into_par_iter().map(|(name, weights)| {
        Pose::new(base, &posed(&head.skin, name), Anatomy::mandible_motion(head, &weights))
    }));
    poses
}

/// Pushes the cranium under the skin of the first pose, which is at rest, and the mandible under the skin of every pose.
pub(crate) fn cover_bones(anatomy: &mut Anatomy, poses: &[Pose], sides: Sides) {
    const PASSES: usize = 2;
    if let Some(rest) = poses.first() {
        push_in(&mut anatomy.cranium, &rest.skin, DAffine3::IDENTITY, sides);
    }
    for _ in 0..PASSES {
        for pose in poses {
            push_in(&mut anatomy.mandible, &pose.skin, pose.mandible, sides);
        }
    }
}

/// The skin of an expression, ready to be searched.
struct Skin {
    all: Nearest,
    outer: Nearest,
    lips: Nearest,
}

impl Skin {
    fn new(base: &Base, positions: &[DVec3]) -> Self {
        let some = |keep: &dyn Fn(usize) -> bool| {
            Nearest::new(positions, &base.triangles, |t| t.iter().all(|v| keep(*v as usize)))
        };
        Self {
            all: some(&|_| true),
            outer: some(&|v| is_outer(base.parts[v])),
            lips: some(&|v| is_lip(base, v)),
        }
    }

    /// The displacement that restores a bone point's distances; `None` if they hold. Skin farther away than `reach` is ignored.
    fn step(&self, p: DVec3, ridge: bool, reach: f64) -> Option<DVec3> {
        if !ridge {
            let found = self.all.find(p, reach)?;
            return (found.signed > -COVER).then(|| -(found.signed + COVER) * found.normal);
        }
        if let Some(found) = self.outer.find(p, COVER) {
            return Some((found.signed.abs() - COVER) * found.normal);
        }
        let found = self.lips.find(p, LIP_GAP)?;
        Some((LIP_GAP - found.signed.abs()) * DVec3::NEG_Z)
    }
}

fn push_in(bone: &mut Bone, skin: &Skin, motion: DAffine3, sides: Sides) {
    let passes = if sides == Sides::Alike { 3 } else { 10 };
    let back = motion.inverse();
    let mirror = bone.surface.mirror.clone();
    let alike = sides == Sides::Alike;
    let symmetric = alike && motion.matrix3.x_axis.x > 1.0 - 1e-9 && motion.translation.x.abs() < 1e-9;
    // A symmetric pose is checked on one side; others come in pairs, which cover both.
    let mut free: Vec<usize> =
        (0..mirror.len()).filter(|v| !symmetric || mirror[*v] as usize >= *v).collect();
    for _ in 0..passes {
        let positions = &bone.surface.positions;
        let moved: Vec<(usize, DVec3)> = free
            .par_iter()
            .filter_map(|v| {
                let p = motion.transform_point3(positions[*v]);
                let step = skin.step(p, bone.ridge[*v], sides.reach())?;
                Some((*v, back.transform_point3(p + step)))
            })
            .collect();
        if moved.is_empty() {
            break;
        }
        if !alike {
            // No vertex depends on another: those that held their distances still do.
            free = moved.iter().map(|(v, _)| *v).collect();
        }
        for (v, p) in moved {
            let other = mirror[v] as usize;
            if !alike {
                bone.surface.positions[v] = p;
                continue;
            }
            bone.surface.positions[other] = DVec3::new(-p.x, p.y, p.z);
            bone.surface.positions[v] = if other == v { DVec3::new(0.0, p.y, p.z) } else { p };
        }
    }
}

/// Untangles prisms: smooths the layers under inverted ones until none is left or nothing helps.
pub(crate) fn wraps(anatomy: &mut Anatomy) {
    const SWEEPS: usize = 40;
    let triangles = anatomy.skin_wrap.triangles.clone();
    let count = anatomy.skin_wrap.positions.len();
    let mut neighbours: Vec<Vec<u32>> = Vec::new();
    let mut changed = false;
    for _ in 0..SWEEPS {
        let bad: Vec<usize> = (0..triangles.len()).filter(|t| !is_valid(anatomy, triangles[*t])).collect();
        if bad.is_empty() {
            break;
        }
        changed = true;
        if neighbours.is_empty() {
            neighbours = rings(count, &triangles);
        }
        let mut moving: Vec<u32> = bad.iter().flat_map(|t| triangles[*t]).collect();
        moving.extend(moving.clone().iter().flat_map(|v| neighbours[*v as usize].clone()));
        moving.extend(moving.clone().iter().map(|v| anatomy.skin_wrap.mirror[*v as usize]));
        moving.sort_unstable();
        moving.dedup();
        for inner in [1, 2] {
            let skin = &anatomy.skin_wrap.positions;
            let layer =
                if inner == 1 { &anatomy.muscle_wrap.positions } else { &anatomy.skull_wrap.positions };
            let smoothed: Vec<(u32, DVec3)> = moving
                .iter()
                .map(|v| {
                    let ring = &neighbours[*v as usize];
                    let offset = |w: u32| layer[w as usize] - skin[w as usize];
                    let mean = ring.iter().map(|w| offset(*w)).sum::<DVec3>() / ring.len().max(1) as f64;
                    (*v, skin[*v as usize] + offset(*v).lerp(mean, 0.5))
                })
                .collect();
            let layer = if inner == 1 {
                &mut anatomy.muscle_wrap.positions
            } else {
                &mut anatomy.skull_wrap.positions
            };
            for (v, p) in smoothed {
                layer[v as usize] = p;
            }
        }
    }
    changed |= straighten(anatomy, &triangles);
    for _ in 0..UNFOLDINGS {
        if !unfold(anatomy, &triangles) {
            break;
        }
        changed = true;
        straighten(anatomy, &triangles);
    }
    if changed {
        let (skin, muscle, skull) =
            (&anatomy.skin_wrap.positions, &anatomy.muscle_wrap.positions, &anatomy.skull_wrap.positions);
        anatomy.soft_tissue = tissue(skin, muscle, &triangles);
        anatomy.muscle = tissue(muscle, skull, &triangles);
    }
}

/// Rounds of smoothing a skin wrap under which prisms stay inverted.
const UNFOLDINGS: usize = 8;

/// Smooths the skin wrap, and the layers with it, around prisms that stay inverted because the skin wrap itself is folded there.
/// Returns whether there were any.
fn unfold(anatomy: &mut Anatomy, triangles: &[[u32; 3]]) -> bool {
    const SWEEPS: usize = 4;
    let bad: Vec<u32> = triangles.iter().filter(|t| !is_valid(anatomy, **t)).flatten().copied().collect();
    if bad.is_empty() {
        return false;
    }
    let neighbours = rings(anatomy.skin_wrap.positions.len(), triangles);
    let mut moving: Vec<u32> =
        bad.iter().flat_map(|v| neighbours[*v as usize].clone()).chain(bad.clone()).collect();
    moving.sort_unstable();
    moving.dedup();
    for _ in 0..SWEEPS {
        for v in &moving {
            let ring = &neighbours[*v as usize];
            let v = *v as usize;
            let skin = &anatomy.skin_wrap.positions;
            let mean = ring.iter().map(|w| skin[*w as usize]).sum::<DVec3>() / ring.len().max(1) as f64;
            let step = 0.5 * (mean - skin[v]);
            for layer in [&mut anatomy.skin_wrap, &mut anatomy.muscle_wrap, &mut anatomy.skull_wrap] {
                layer.positions[v] += step;
            }
        }
    }
    true
}

/// Turns the offsets under prisms that are still inverted towards the skin's normal and shortens them, which eventually makes any
/// prism valid. Returns whether there was anything to do.
fn straighten(anatomy: &mut Anatomy, triangles: &[[u32; 3]]) -> bool {
    const SWEEPS: usize = 60;
    const SHORTER: f64 = 0.93;
    let skin = anatomy.skin_wrap.positions.clone();
    let mut normals = vec![DVec3::ZERO; skin.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| skin[v as usize]);
        t.iter().for_each(|v| normals[*v as usize] += (b - a).cross(c - a));
    }
    let mut changed = false;
    for _ in 0..SWEEPS {
        let bad = triangles.iter().filter(|t| !is_valid(anatomy, **t));
        let mut moving: Vec<usize> = bad.flatten().map(|v| *v as usize).collect();
        if moving.is_empty() {
            break;
        }
        changed = true;
        moving.sort_unstable();
        moving.dedup();
        for v in moving {
            let normal = normals[v].normalize_or_zero();
            for layer in [&mut anatomy.muscle_wrap.positions, &mut anatomy.skull_wrap.positions] {
                let offset = layer[v] - skin[v];
                let straight = -offset.length() * normal;
                layer[v] = skin[v] + SHORTER * offset.lerp(straight, 0.3);
            }
        }
    }
    changed
}

/// Repairs inverted tetrahedra of a symmetric fill on one side, and mirrors them.
pub(super) fn fill(anatomy: &mut Anatomy) {
    if anatomy.fill.inverted() == 0 {
        return;
    }
    let mirror = &anatomy.fill_mirror;
    let is_free = |v: usize| mirror[v] as usize > v && anatomy.fill_ties[v] == Tie::Flesh;
    let held: Vec<bool> = (0..mirror.len()).map(|v| !is_free(v)).collect();
    untangle(&mut anatomy.fill, &held);
    for v in (0..mirror.len()).filter(|v| !held[*v]) {
        let p = anatomy.fill.positions[v];
        anatomy.fill.positions[mirror[v] as usize] = DVec3::new(-p.x, p.y, p.z);
    }
}

fn rings(count: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut rings = vec![Vec::new(); count];
    for t in triangles {
        for i in 0..3 {
            rings[t[i] as usize].push(t[(i + 1) % 3]);
        }
    }
    rings
}

fn is_valid(anatomy: &Anatomy, t: [u32; 3]) -> bool {
    let at = |layer: &super::Surface| t.map(|v| layer.positions[v as usize]);
    let (skin, muscle, skull) = (at(&anatomy.skin_wrap), at(&anatomy.muscle_wrap), at(&anatomy.skull_wrap));
    let positive = |tets: [[DVec3; 4]; 3]| tets.into_iter().all(|tet| volume(tet) > 0.0);
    positive(split_positions(t, skin, muscle)) && positive(split_positions(t, muscle, skull))
}
