//! Keeps bones under the skin in every expression.

use std::collections::HashMap;

use glam::{DAffine3, DVec3};

use super::cover::{is_lip, is_outer};
use super::nearest::Nearest;
use crate::HeadMesh;
use crate::jaw::JawWeights;
use crate::parts::jaw_shapes;
use crate::template::Template;

/// Thickness of tissue over bone in every expression of the template, in millimetres.
const COVER: f64 = 2.0;
/// Gap between ridges and lips.
const LIP_GAP: f64 = 0.9;

/// The jaw's motion in every shape that moves it; `mouthClose` applies over an open jaw.
pub(super) fn jaw_of(shape: &str) -> JawWeights {
    let name = if shape == "mouthClose" { "jawOpen" } else { shape };
    jaw_shapes().into_iter().find(|(other, _)| *other == name).map(|(_, weights)| weights).unwrap_or_default()
}

/// A mesh's positions in an expression; `mouthClose` applies over an open jaw.
pub(super) fn posed(mesh: &HeadMesh, expression: &str) -> Vec<DVec3> {
    let mut positions = mesh.positions.clone();
    for (name, offsets) in &mesh.shapes {
        if name == expression || (expression == "mouthClose" && name == "jawOpen") {
            positions.iter_mut().zip(offsets).for_each(|(p, o)| *p += *o);
        }
    }
    positions
}

/// The skin of the template at rest and in every shape, in template space, with the jaw's motion.
pub(super) fn expressions(template: &Template) -> Vec<(String, Vec<DVec3>, DAffine3)> {
    let rest = &template.base.rest;
    let offsets: HashMap<&str, &Vec<DVec3>> =
        template.shapes.iter().map(|shape| (shape.name.as_str(), &shape.offsets)).collect();
    let mut all = vec![("neutral".to_owned(), rest.clone(), DAffine3::IDENTITY)];
    for shape in &template.shapes {
        let mut skin: Vec<DVec3> = rest.iter().zip(&shape.offsets).map(|(p, o)| *p + *o).collect();
        if let Some(open) = offsets.get("jawOpen").filter(|_| shape.name == "mouthClose") {
            skin.iter_mut().zip(*open).for_each(|(p, o)| *p += *o);
        }
        all.push((shape.name.clone(), skin, jaw_of(&shape.name).motion(1.0)));
    }
    all
}

/// A bone's half mesh that is being fitted.
pub(super) struct Bone<'a> {
    /// Vertices with x ≥ 0.
    pub(super) positions: &'a mut [DVec3],
    /// Which of them belong to an alveolar ridge.
    pub(super) ridge: &'a [bool],
    /// Its triangles.
    pub(super) triangles: &'a [[u32; 3]],
    /// Whether it moves with the jaw.
    pub(super) follows_jaw: bool,
}

/// Pushes bones inwards where the skin of any expression would come too near.
pub(super) fn keep_covered(bones: &mut [Bone<'_>]) {
    let template = Template::of(crate::Level::High);
    let base = &template.base;
    let expressions = expressions(template);
    const PASSES: usize = 7;
    const SPREAD: std::ops::Range<usize> = 1..3;
    let sculpted: Vec<Vec<DVec3>> = bones.iter().map(|bone| bone.positions.to_vec()).collect();
    for pass in 0..PASSES {
        if SPREAD.contains(&pass) {
            // Pushed vertices take their surroundings along, so that no dents are left.
            bones.iter_mut().zip(&sculpted).for_each(|(bone, old)| spread(bone, old));
        }
        for (_, skin, motion) in &expressions {
            let all = Nearest::new(skin, &base.triangles, |_| true);
            let outer =
                Nearest::new(skin, &base.triangles, |t| t.iter().all(|v| is_outer(base.parts[*v as usize])));
            let lips = Nearest::new(skin, &base.triangles, |t| t.iter().all(|v| is_lip(base, *v as usize)));
            for bone in bones.iter_mut() {
                let moved = if bone.follows_jaw { *motion } else { DAffine3::IDENTITY };
                let back = moved.inverse();
                for (p, ridge) in bone.positions.iter_mut().zip(bone.ridge) {
                    let q = moved.transform_point3(*p);
                    let step = if *ridge { ridge_step(q, &outer, &lips) } else { cover_step(q, &all) };
                    if step != DVec3::ZERO {
                        let x = p.x;
                        *p = back.transform_point3(q + step);
                        // Never across the mirror plane, nor so near that it meets its mirror image.
                        p.x = if x == 0.0 { 0.0 } else { p.x.max(0.6 * x) };
                    }
                }
            }
        }
    }
}

/// Smooths the displacement from the sculpted positions.
fn spread(bone: &mut Bone<'_>, sculpted: &[DVec3]) {
    const SWEEPS: usize = 4;
    for _ in 0..SWEEPS {
        let mut sums = vec![(DVec3::ZERO, 0.0); sculpted.len()];
        for t in bone.triangles {
            for i in 0..3 {
                let w = t[(i + 1) % 3] as usize;
                let sum = &mut sums[t[i] as usize];
                *sum = (sum.0 + bone.positions[w] - sculpted[w], sum.1 + 1.0);
            }
        }
        for (v, (sum, count)) in sums.iter().enumerate() {
            let own = bone.positions[v] - sculpted[v];
            let p = sculpted[v] + own.lerp(*sum / f64::max(*count, 1.0), 0.5);
            bone.positions[v] = if sculpted[v].x == 0.0 { DVec3::new(0.0, p.y, p.z) } else { p };
        }
    }
}

/// The displacement that brings a point under enough tissue.
pub(super) fn cover_step(p: DVec3, skin: &Nearest) -> DVec3 {
    match skin.find(p, 12.0) {
        Some(found) if found.signed > -COVER => -(found.signed + COVER) * found.normal,
        _ => DVec3::ZERO,
    }
}

/// The displacement that keeps a ridge behind the lips and under the outer skin.
fn ridge_step(p: DVec3, outer: &Nearest, lips: &Nearest) -> DVec3 {
    if let Some(found) = outer.find(p, COVER) {
        return (COVER - found.signed.abs()) * -found.normal;
    }
    match lips.find(p, LIP_GAP) {
        // All in one direction, or neighbours would cross.
        Some(found) => (LIP_GAP - found.signed.abs()) * DVec3::NEG_Z,
        None => DVec3::ZERO,
    }
}
