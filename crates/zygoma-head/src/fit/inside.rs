//! The anatomy under a fitted skin: bones and wraps mapped along and pushed under it, and the fill between them.

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::rbf::RbfWarp;
use zygoma_geometry::tets::TetMesh;

use super::{FitError, METRE, fill};
use crate::anatomy::{Anatomy, Bone, Pose, Sides, Tie, cover_bones, repair_wraps, template_fill, untangle};
use crate::dials::Warp;
use crate::sculpt::ear;
use crate::template::Template;

/// Centres of the space warp (the number is ours).
const CENTRES: usize = 800;

/// A fitted anatomy, and how many tetrahedra of its fill were inverted on the way.
pub(super) struct Inside {
    pub(super) anatomy: Anatomy,
    /// After mapping, with the boundary on skin and bone, before the interior was relaxed.
    pub(super) inverted_carried: usize,
}

/// Maps the template's anatomy under a fitted skin. `start` is the skin of the head with the dials of `warp`, which
/// soft dials moved away from bone; `skin` is the fitted one.
pub(super) fn fit_inside(
    template: &Template,
    warp: &Warp,
    start: &[DVec3],
    skin: &[DVec3],
) -> Result<Inside, FitError> {
    let base = &template.base;
    // Ears have no relation to the inside, and their folds would disturb it.
    let is_ear = |v: usize| ear::is_ear(base.rest[v].with_x(base.rest[v].x.abs()));
    let centres: Vec<usize> = (0..start.len()).filter(|v| !is_ear(*v)).collect();
    let pick = |points: &[DVec3]| centres.iter().map(|v| points[*v]).collect::<Vec<DVec3>>();
    let space = RbfWarp::sampled(&pick(start), &pick(skin), CENTRES).map_err(|_| FitError::Unsolvable)?;
    let by_dials = |p: DVec3, softness: f64| warp.apply(p, softness) / METRE;
    let mut anatomy = Anatomy::carried(|p, softness| space.apply(by_dials(p, softness)));
    let carried = [&anatomy.cranium, &anatomy.mandible].map(|bone| bone.surface.positions.clone());
    cover_bones(&mut anatomy, &[Pose::new(base, skin, DAffine3::IDENTITY)], Sides::Apart);
    repair_wraps(&mut anatomy);

    let reference = Anatomy::carried(by_dials).fill;
    let bones = [(&anatomy.cranium, &carried[0]), (&anatomy.mandible, &carried[1])];
    let bones = bones.map(|(bone, carried)| Pushed::new(bone, carried));
    let on_skin = SkinNodes { template, start, skin };
    let nodes = template_fill();
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
    Ok(Inside { anatomy, inverted_carried })
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
