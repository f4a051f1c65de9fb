//! The anatomy under a fitted skin: bones and wraps mapped along and pushed under it, and the fill between them.

use std::time::Instant;

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::rbf::{RbfWarp, farthest_points};
use zygoma_geometry::tets::TetMesh;

use super::bones::{Bones, Skin};
use super::{FitError, METRE, fill};
use crate::anatomy::{
    Anatomy, Bone, FillDetail, Pose, Sides, Surface, Tie, carried_fill, cover_bones, repair_wraps,
    template_bones, template_fill, template_wraps, tissue, untangle,
};
use crate::sculpt::ear;
use crate::template::Template;

/// Centres of the space warp on skin and on bone (the numbers are ours).
const SKIN_CENTRES: usize = 600;
const BONE_CENTRES: usize = 250;

/// A fitted anatomy, and how many tetrahedra of its fill were inverted on the way.
pub(super) struct Inside {
    pub(super) anatomy: Anatomy,
    /// After mapping, with the boundary on skin and bone, before the interior was relaxed.
    pub(super) inverted_carried: usize,
    /// Seconds for the fill.
    pub(super) fill_seconds: f64,
}

/// Maps the template's anatomy under a fitted skin, around the given bones.
pub(super) fn fit_inside(under: &Skin<'_>, found: Bones, detail: FillDetail) -> Result<Inside, FitError> {
    let Skin { template, warp, by_dials: start, skin } = *under;
    let base = &template.base;
    let by_dials = |p: DVec3, softness: f64| warp.apply(p, softness) / METRE;
    let space = tissue_warp(under, &found)?;
    let mut anatomy = Anatomy::carried(detail, |p, softness| space.apply(by_dials(p, softness)));
    let carried = [&anatomy.cranium, &anatomy.mandible].map(|bone| bone.surface.positions.clone());
    let [cranium, mandible] = found;
    (anatomy.cranium.surface.positions, anatomy.mandible.surface.positions) = (cranium, mandible);
    cover_bones(&mut anatomy, &[Pose::new(base, skin, DAffine3::IDENTITY)], Sides::Apart);
    place_muscles(&mut anatomy);
    repair_wraps(&mut anatomy);

    let started = Instant::now();
    let reference = carried_fill(detail, by_dials);
    let bones = [(&anatomy.cranium, &carried[0]), (&anatomy.mandible, &carried[1])];
    let bones = bones.map(|(bone, carried)| Pushed::new(bone, carried));
    let on_skin = SkinNodes { template, start, skin };
    let nodes = template_fill(detail);
    let place = |v: usize| match anatomy.fill_ties[v] {
        Tie::Skin => on_skin.place(nodes[v], reference.positions[v]),
        Tie::Cranium => Some(bones[0].place(anatomy.fill.positions[v])),
        Tie::Mandible => Some(bones[1].place(anatomy.fill.positions[v])),
        Tie::Flesh | Tie::Neck => None,
    };
    let placed: Vec<Option<DVec3>> = (0..nodes.len()).into_par_iter().map(place).collect();
    for (p, placed) in anatomy.fill.positions.iter_mut().zip(&placed) {
        *p = placed.unwrap_or(*p);
    }
    let inverted_carried = anatomy.fill.inverted();
    settle(&reference, &mut anatomy)?;
    Ok(Inside { anatomy, inverted_carried, fill_seconds: started.elapsed().as_secs_f64() })
}

/// The warp that carries the head that dials alone make to the fitted skin and bones.
pub(super) fn tissue_warp(under: &Skin<'_>, bones: &Bones) -> Result<RbfWarp, FitError> {
    let rest = &under.template.base.rest;
    let mut pairs: [Vec<DVec3>; 2] = [Vec::new(), Vec::new()];
    let mut add = |from: &[DVec3], to: &[DVec3], count: usize| {
        for i in farthest_points(from, count) {
            pairs[0].push(from[i as usize]);
            pairs[1].push(to[i as usize]);
        }
    };
    // Ears have no relation to the inside, and their folds would disturb it.
    let skin: Vec<usize> =
        (0..rest.len()).filter(|v| !ear::is_ear(rest[*v].with_x(rest[*v].x.abs()))).collect();
    let pick = |points: &[DVec3]| skin.iter().map(|v| points[*v]).collect::<Vec<DVec3>>();
    add(&pick(under.by_dials), &pick(under.skin), SKIN_CENTRES);
    for (template, bone) in template_bones().iter().zip(bones) {
        let start: Vec<DVec3> = template.iter().map(|p| under.warp.apply(*p, 0.0) / METRE).collect();
        add(&start, bone, BONE_CENTRES);
    }
    RbfWarp::new(&pairs[0], &pairs[1]).map_err(|_| FitError::Unsolvable)
}

/// Places the muscle wrap between skin wrap and skull wrap: muscles follow a tenth of the relative change of the distance between
/// the two (Thesis ch. 3 §3.1.2).
fn place_muscles(anatomy: &mut Anatomy) {
    const SHARE: f64 = 0.1;
    /// The largest fraction of the tissue that may be muscle. Ours.
    const MOST: f64 = 0.8;
    let template = template_wraps();
    let [skin, muscle, skull] = &template.layers;
    for v in 0..skin.len() {
        let (thickness_there, muscle_there) = (skin[v].distance(skull[v]), muscle[v].distance(skull[v]));
        let (outer, inner) = (anatomy.skin_wrap.positions[v], anatomy.skull_wrap.positions[v]);
        let thickness = METRE * outer.distance(inner);
        let muscle = muscle_there * (1.0 + SHARE * (thickness / thickness_there - 1.0));
        anatomy.muscle_wrap.positions[v] = inner.lerp(outer, (muscle / thickness.max(1e-9)).min(MOST));
    }
    let layer = |surface: &Surface| surface.positions.clone();
    let (skin, muscle, skull) =
        (layer(&anatomy.skin_wrap), layer(&anatomy.muscle_wrap), layer(&anatomy.skull_wrap));
    anatomy.soft_tissue = tissue(&skin, &muscle, &anatomy.skin_wrap.triangles);
    anatomy.muscle = tissue(&muscle, &skull, &anatomy.skin_wrap.triangles);
}

/// Relaxes the interior of the fill. If inverted tetrahedra remain, the boundary next to them is freed, in growing
/// neighbourhoods.
fn settle(reference: &TetMesh, anatomy: &mut Anatomy) -> Result<(), FitError> {
    const MOST_RINGS: usize = 6;
    let held: Vec<bool> = anatomy.fill_ties.iter().map(|tie| *tie != Tie::Flesh).collect();
    fill::relax(reference, &mut anatomy.fill.positions, &held)?;
    if untangle(&mut anatomy.fill, &held) == 0 {
        return Ok(());
    }
    for rings in 1..=MOST_RINGS {
        let held = fill::far_from_inverted(&anatomy.fill, rings);
        fill::relax(reference, &mut anatomy.fill.positions, &held)?;
        if untangle(&mut anatomy.fill, &held) == 0 {
            break;
        }
    }
    Ok(())
}

/// Nodes of the fill that lie on the skin.
struct SkinNodes<'a> {
    template: &'a Template,
    start: &'a [DVec3],
    skin: &'a [DVec3],
}

impl SkinNodes<'_> {
    /// Maps a node of template space with the skin next to it. `carried` is its position by dials alone.
    fn place(&self, node: DVec3, carried: DVec3) -> Option<DVec3> {
        let point = self.template.closest_on_skin(node)?;
        let corners = self.template.base.triangles[point.triangle as usize];
        let mix = |points: &[DVec3]| -> DVec3 {
            (0..3).map(|i| point.barycentric[i] * points[corners[i] as usize]).sum()
        };
        Some(mix(self.skin) + carried - mix(self.start))
    }
}

/// A bone that was pushed under the skin.
struct Pushed<'a> {
    search: Option<IcpTarget>,
    bone: &'a Bone,
    carried: &'a [DVec3],
}

impl<'a> Pushed<'a> {
    fn new(bone: &'a Bone, carried: &'a [DVec3]) -> Self {
        Self { search: IcpTarget::new(carried, &bone.surface.triangles), bone, carried }
    }

    /// Maps a node in or on the bone with the bone's surface next to it.
    fn place(&self, p: DVec3) -> DVec3 {
        let Some(hit) = self.search.as_ref().and_then(|search| search.closest(p)) else { return p };
        let corners = self.bone.surface.triangles[hit.triangle as usize].map(|v| v as usize);
        let pushed = |v: usize| self.bone.surface.positions[v] - self.carried[v];
        p + (0..3).map(|i| hit.barycentric[i] * pushed(corners[i])).sum::<DVec3>()
    }
}
