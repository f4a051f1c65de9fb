//! Checks of the anatomy: distances between bone and skin, and inverted elements.

use glam::{DAffine3, DVec3};
use zygoma_geometry::tets::volume;

use super::cover::{is_lip, is_outer};
use super::depths::{DEPTHS, Depth};
use super::fit::{jaw_of, posed};
use super::nearest::Nearest;
use super::prisms::split_positions;
use super::{Anatomy, Bone, FillDetail, Surface};
use crate::Head;
use crate::base::Base;
use crate::dials::Warp;
use crate::sculpt::lips;
use crate::template::Template;

/// Distances between bones and skin in one expression, in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// The expression.
    pub expression: String,
    /// The smallest depth of bone, except ridges, under any skin; negative when bone sticks out.
    pub bone: f64,
    /// Where that is.
    pub bone_at: DVec3,
    /// The smallest distance from ridges to the outer skin.
    pub ridge: f64,
    /// The smallest distance from ridges to the lips.
    pub ridge_to_lips: f64,
    /// The smallest distance from teeth to the lips.
    pub teeth_to_lips: f64,
    /// Where that is.
    pub teeth_at: DVec3,
}

/// Measures bones and teeth against the skin, at rest and in every shape (or at rest only).
pub fn covers(head: &Head, anatomy: &Anatomy, all_shapes: bool) -> Vec<Cover> {
    let mut names = vec!["neutral".to_owned()];
    if all_shapes {
        names.extend(head.skin.shapes.iter().map(|(name, _)| name.clone()));
    }
    names.into_iter().map(|name| cover(head, anatomy, &name)).collect()
}

/// Depths of all bone vertices, except ridges, under a skin with the template's vertices; negative where bone sticks out. Depths
/// beyond 3 cm are left out.
pub(crate) fn skin_covers(base: &Base, skin: &[DVec3], anatomy: &Anatomy) -> Vec<f64> {
    let search = Nearest::new(skin, &base.triangles, |_| true);
    let bones = [&anatomy.cranium, &anatomy.mandible].into_iter();
    let points = bones.flat_map(|bone| bone.surface.positions.iter().zip(&bone.ridge));
    let depth = |(p, _): (&DVec3, &bool)| search.find(*p, FAR).map(|found| -found.signed);
    points.filter(|(_, ridge)| !**ridge).filter_map(depth).collect()
}

/// Largest distance to search, in metres.
const FAR: f64 = 0.03;

fn cover(head: &Head, anatomy: &Anatomy, expression: &str) -> Cover {
    let base = &Template::of(head.options.level).base;
    let parts = &base.parts;
    let skin = posed(&head.skin, expression);
    let triangles = &head.skin.triangles;
    let part = |v: &u32| parts[*v as usize];
    let all = Nearest::new(&skin, triangles, |_| true);
    let outer = Nearest::new(&skin, triangles, |t| t.iter().all(|v| is_outer(part(v))));
    let lips = Nearest::new(&skin, triangles, |t| t.iter().all(|v| is_lip(base, *v as usize)));
    let jaw = Anatomy::mandible_motion(head, &jaw_of(expression));
    let mut cover = Cover {
        expression: expression.to_owned(),
        bone: FAR,
        bone_at: DVec3::ZERO,
        ridge: FAR,
        ridge_to_lips: FAR,
        teeth_to_lips: FAR,
        teeth_at: DVec3::ZERO,
    };
    for (bone, motion) in [(&anatomy.cranium, DAffine3::IDENTITY), (&anatomy.mandible, jaw)] {
        for (p, is_ridge) in bone.surface.positions.iter().zip(&bone.ridge) {
            let p = motion.transform_point3(*p);
            if *is_ridge {
                cover.ridge = cover.ridge.min(outer.find(p, FAR).map_or(FAR, |f| f.signed.abs()));
                cover.ridge_to_lips =
                    cover.ridge_to_lips.min(lips.find(p, FAR).map_or(FAR, |f| f.signed.abs()));
            } else if let Some(found) = all.find(p, FAR)
                && -found.signed < cover.bone
            {
                (cover.bone, cover.bone_at) = (-found.signed, p);
            }
        }
    }
    for teeth in head.parts.iter().filter(|part| part.name.starts_with("teeth")) {
        for p in posed(teeth, expression) {
            if let Some(found) = lips.find(p, cover.teeth_to_lips)
                && found.signed.abs() < cover.teeth_to_lips
            {
                (cover.teeth_to_lips, cover.teeth_at) = (found.signed.abs(), p);
            }
        }
    }
    cover
}

/// A landmark's published depth and that of the template, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredDepth {
    /// The landmark.
    pub name: &'static str,
    /// The published mean.
    pub published: f64,
    /// From the skin at the landmark to the nearest bone of the template.
    pub measured: f64,
}

/// Compares the template's bones with the published depths.
pub fn depths() -> Vec<MeasuredDepth> {
    let base = &Template::of(crate::Level::High).base;
    let skin = Nearest::new(&base.rest, &base.triangles, |_| true);
    let bones =
        super::keep::kept().bones.each_ref().map(|b| Nearest::new(&b.positions, &b.triangles, |_| true));
    let measure = |mark: &Depth| {
        let on_skin =
            skin.find(mark.place, f64::MAX).map_or(mark.place, |f| mark.place - f.signed * f.normal);
        let distance = |bone: &Nearest| bone.find(on_skin, f64::MAX).map_or(f64::MAX, |f| f.signed);
        let measured = bones.iter().map(distance).fold(f64::MAX, f64::min);
        MeasuredDepth { name: mark.name, published: mark.depth, measured }
    };
    DEPTHS.iter().filter(|mark| mark.published).map(measure).collect()
}

/// Depths at the published landmarks of the template's bones after a head's warp, in metres; `map_skin` maps a point of the template's
/// skin, in millimetres.
pub(crate) fn landmark_depths(warp: &Warp, map_skin: impl Fn(DVec3) -> DVec3) -> Vec<f64> {
    let base = &Template::of(crate::Level::High).base;
    let skin = Nearest::new(&base.rest, &base.triangles, |_| true);
    let moved = super::keep::kept().bones.each_ref().map(|bone| {
        let positions: Vec<DVec3> = bone.positions.iter().map(|p| warp.apply(*p, 0.0)).collect();
        Nearest::new(&positions, &bone.triangles, |_| true)
    });
    let depth = |mark: &Depth| {
        let on_skin =
            skin.find(mark.place, f64::MAX).map_or(mark.place, |f| mark.place - f.signed * f.normal);
        let p = map_skin(on_skin);
        moved.iter().filter_map(|bone| bone.find(p, f64::MAX)).map(|f| f.signed).fold(f64::MAX, f64::min)
            / 1e3
    };
    DEPTHS.iter().filter(|mark| mark.published).map(depth).collect()
}

/// Elements that are inverted or flat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inverted {
    /// Prisms between skin wrap and muscle wrap, and between muscle wrap and skull wrap.
    pub prisms: usize,
    /// Tetrahedra of the soft tissue.
    pub soft_tissue: usize,
    /// Tetrahedra of the muscle tissue.
    pub muscle: usize,
    /// Tetrahedra of the fill.
    pub fill: usize,
}

/// Counts inverted elements.
pub fn inverted(anatomy: &Anatomy) -> Inverted {
    let layer = |surface: &Surface, t: [u32; 3]| t.map(|v| surface.positions[v as usize]);
    let layers = [(&anatomy.skin_wrap, &anatomy.muscle_wrap), (&anatomy.muscle_wrap, &anatomy.skull_wrap)];
    let bad = |(outer, inner): (&Surface, &Surface)| {
        let valid = |t: &[u32; 3]| {
            split_positions(*t, layer(outer, *t), layer(inner, *t)).into_iter().all(|tet| volume(tet) > 0.0)
        };
        outer.triangles.iter().filter(|t| !valid(t)).count()
    };
    Inverted {
        prisms: layers.into_iter().map(bad).sum(),
        soft_tissue: anatomy.soft_tissue.inverted(),
        muscle: anatomy.muscle.inverted(),
        fill: anatomy.fill.inverted(),
    }
}

/// The smallest distances between corresponding vertices: skin wrap to muscle wrap, muscle wrap to skull wrap.
pub fn wrap_gaps(anatomy: &Anatomy) -> [f64; 2] {
    let gap = |a: &Surface, b: &Surface| {
        a.positions.iter().zip(&b.positions).map(|(p, q)| p.distance(*q)).fold(f64::MAX, f64::min)
    };
    [gap(&anatomy.skin_wrap, &anatomy.muscle_wrap), gap(&anatomy.muscle_wrap, &anatomy.skull_wrap)]
}

/// The largest distance by which a point sticks out of a closed surface; 0 if all are inside.
pub fn sticks_out(points: &[DVec3], surface: &Surface) -> f64 {
    let search = Nearest::new(&surface.positions, &surface.triangles, |_| true);
    points.iter().filter_map(|p| search.find(*p, 0.05)).map(|f| f.signed).fold(0.0, f64::max)
}

/// The largest difference between a bone, a wrap or the fill and its own mirror image.
pub fn asymmetry(anatomy: &Anatomy) -> f64 {
    let one = |positions: &[DVec3], mirror: &[u32]| {
        let reflected = |v: usize| {
            let p = positions[mirror[v] as usize];
            DVec3::new(-p.x, p.y, p.z)
        };
        (0..positions.len()).map(|v| positions[v].distance(reflected(v))).fold(0.0, f64::max)
    };
    let bone = |bone: &Bone| one(&bone.surface.positions, &bone.surface.mirror);
    let wraps = [&anatomy.skin_wrap, &anatomy.muscle_wrap, &anatomy.skull_wrap];
    let wraps = wraps.into_iter().map(|w| one(&w.positions, &w.mirror)).fold(0.0, f64::max);
    let fill = one(&anatomy.fill.positions, &anatomy.fill_mirror);
    bone(&anatomy.cranium).max(bone(&anatomy.mandible)).max(wraps).max(fill)
}

/// Tetrahedra of a fill with an edge that crosses the slit between the lips. It is the same for all heads: a warp
/// moves both lips together.
pub fn across_the_slit(detail: FillDetail) -> usize {
    // Tissue begins beside the corners of the mouth and behind its bag.
    const SIDE: f64 = lips::CORNER_X - 2.5;
    const BACK: f64 = 66.0;
    let fill = super::made_fill::half_fill(detail);
    let height = |p: DVec3| p.y - lips::slit_y(p);
    let crosses = |a: DVec3, b: DVec3| {
        let (ha, hb) = (height(a), height(b));
        let p = a.lerp(b, ha / (ha - hb));
        ha * hb < 0.0 && p.x < SIDE && p.z > BACK
    };
    let bridges = |t: &&[u32; 4]| {
        let p = t.map(|v| fill.positions[v as usize]);
        (0..4).any(|i| (i + 1..4).any(|j| crosses(p[i], p[j])))
    };
    fill.tets.iter().filter(bridges).count()
}
