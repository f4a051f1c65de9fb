//! Keeps bones under the skin in every expression.

use std::collections::HashMap;

use glam::{DAffine3, DVec3};

use super::cover::{is_lip, is_outer};
use super::nearest::Nearest;
use crate::jaw::JawWeights;
use crate::parts::jaw_shapes;
use crate::template::Template;

/// Flesh that stays over bone in every expression of the template, in millimetres.
const COVER: f64 = 2.0;
/// What stays between ridges and lips.
const LIP_GAP: f64 = 0.9;

/// The jaw's motion in every shape that moves it; `mouthClose` is meant over an open jaw.
pub(super) fn jaw_of(shape: &str) -> JawWeights {
    let name = if shape == "mouthClose" { "jawOpen" } else { shape };
    jaw_shapes().into_iter().find(|(other, _)| *other == name).map(|(_, weights)| weights).unwrap_or_default()
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
    /// Whether it moves with the jaw.
    pub(super) follows_jaw: bool,
}

/// Pushes bones inwards where the skin of any expression would come too near.
pub(super) fn keep_covered(bones: &mut [Bone<'_>]) {
    let template = Template::of(crate::Level::High);
    let base = &template.base;
    let expressions = expressions(template);
    const PASSES: usize = 3;
    for _ in 0..PASSES {
        for (_, skin, motion) in &expressions {
            let all = Nearest::new(skin, &base.triangles, |_| true);
            let outer = Nearest::new(skin, &base.triangles, |t| t.iter().all(|v| is_outer(base.parts[*v as usize])));
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
                        p.x = if x == 0.0 { 0.0 } else { p.x.max(0.05) };
                    }
                }
            }
        }
    }
}

/// The way from a point to where enough flesh is over it.
pub(super) fn cover_step(p: DVec3, skin: &Nearest) -> DVec3 {
    match skin.find(p, 12.0) {
        Some(found) if found.signed > -COVER => -(found.signed + COVER) * found.normal,
        _ => DVec3::ZERO,
    }
}

/// Ridges keep off the lips from behind, and under the outer skin.
fn ridge_step(p: DVec3, outer: &Nearest, lips: &Nearest) -> DVec3 {
    if let Some(found) = outer.find(p, COVER) {
        return (COVER - found.signed.abs()) * -found.normal;
    }
    match lips.find(p, LIP_GAP) {
        Some(found) => {
            let away = (p - found.point).normalize_or_zero();
            let away = if away.z < 0.0 { away } else { DVec3::NEG_Z };
            (LIP_GAP - found.signed.abs()) * away
        }
        None => DVec3::ZERO,
    }
}
