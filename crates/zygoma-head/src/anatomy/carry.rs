//! Maps the template's anatomy into a head.

use std::sync::OnceLock;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::tets::TetMesh;

use super::halves::Halves;
use super::{Anatomy, Bone, FillDetail, Surface, Tie, bones, keep, made_fill, nearest, prisms};
use crate::Level;
use crate::template::Template;

impl Anatomy {
    /// The template's anatomy mapped from template space (millimetres) to a head (metres), before any repair. The
    /// map is also given the softness of the tissue at a point, from 0 (bone) to 1 (skin).
    pub(crate) fn carried(detail: FillDetail, map: impl Fn(DVec3, f64) -> DVec3 + Sync) -> Self {
        let kept = keep::kept();
        let surface = |half: &[DVec3], triangles: &[[u32; 3]], softness: f64| {
            let halves = Halves::of(half);
            Surface {
                positions: halves.positions(half).par_iter().map(|p| map(*p, softness)).collect(),
                triangles: halves.triangles(triangles),
                mirror: halves.mirror,
            }
        };
        let bone = |mesh: &TriMesh| {
            let ridge: Vec<bool> = mesh.positions.iter().map(|p| bones::is_ridge(*p)).collect();
            let ridge = Halves::of(&mesh.positions).values(&ridge);
            Bone { surface: surface(&mesh.positions, &mesh.triangles, BONE), ridge }
        };
        let wrap = |layer: usize, softness| surface(&kept.wraps[layer], &kept.wrap_triangles, softness);
        let (skin_wrap, muscle_wrap, skull_wrap) = (wrap(0, SKIN), wrap(1, MUSCLE_WRAP), wrap(2, BONE));
        let fill = HalfFill::of(detail);
        let halves = Halves::of(&fill.mesh.positions);
        Self {
            cranium: bone(&kept.bones[0]),
            mandible: bone(&kept.bones[1]),
            soft_tissue: prisms::tissue(&skin_wrap.positions, &muscle_wrap.positions, &skin_wrap.triangles),
            muscle: prisms::tissue(&muscle_wrap.positions, &skull_wrap.positions, &skin_wrap.triangles),
            skin_wrap,
            muscle_wrap,
            skull_wrap,
            fill: carried_fill(detail, map),
            fill_ties: halves.values(&fill.ties),
            fill_mirror: halves.mirror,
        }
    }
}

/// The template's fill mapped like [`Anatomy::carried`].
pub(crate) fn carried_fill(detail: FillDetail, map: impl Fn(DVec3, f64) -> DVec3 + Sync) -> TetMesh {
    let fill = HalfFill::of(detail);
    let halves = Halves::of(&fill.mesh.positions);
    let (nodes, softness) = (halves.positions(&fill.mesh.positions), halves.values(&fill.softness));
    let positions = nodes.par_iter().zip(&softness).map(|(p, softness)| map(*p, *softness)).collect();
    TetMesh { positions, tets: halves.tets(&fill.mesh.tets) }
}

/// Nodes of the template's whole fill, in template space.
pub(crate) fn template_fill(detail: FillDetail) -> Vec<DVec3> {
    let half = &HalfFill::of(detail).mesh.positions;
    Halves::of(half).positions(half)
}

/// Vertices of the template's whole cranium and mandible, in template space.
pub(crate) fn template_bones() -> [Vec<DVec3>; 2] {
    keep::kept().bones.each_ref().map(|bone| Halves::of(&bone.positions).positions(&bone.positions))
}

/// The template's wraps, in template space.
pub(crate) struct TemplateWraps {
    /// Skin, muscle and skull wrap.
    pub(crate) layers: [Vec<DVec3>; 3],
    /// Their triangles.
    pub(crate) triangles: Vec<[u32; 3]>,
}

/// The template's whole wraps.
pub(crate) fn template_wraps() -> &'static TemplateWraps {
    static WRAPS: OnceLock<TemplateWraps> = OnceLock::new();
    WRAPS.get_or_init(|| {
        let kept = keep::kept();
        let halves = Halves::of(&kept.wraps[0]);
        TemplateWraps {
            layers: kept.wraps.each_ref().map(|layer| halves.positions(layer)),
            triangles: halves.triangles(&kept.wrap_triangles),
        }
    })
}

/// Vertices of the template's whole mandible, in template space.
pub(crate) fn template_mandible() -> Vec<DVec3> {
    let half = &keep::kept().bones[1].positions;
    Halves::of(half).positions(half)
}

/// Softness of bone and of skin.
const BONE: f64 = 0.0;
const SKIN: f64 = 1.0;
/// Softness of the muscle wrap. Ours. A tenth of the fat's effect on the skin-to-skull distance (Thesis ch. 3 §3.1.2) would let the skin of
/// a thin neck pass through its muscles, which `weight` makes thinner too.
const MUSCLE_WRAP: f64 = 0.5;

/// Half of a fill of the template.
struct HalfFill {
    mesh: &'static TetMesh,
    /// The attachment of each node.
    ties: Vec<Tie>,
    /// Softness of each node: that of skin and bone at the boundary, smoothed in between.
    softness: Vec<f64>,
}

impl HalfFill {
    fn of(detail: FillDetail) -> &'static Self {
        static FILLS: [OnceLock<HalfFill>; 3] = [const { OnceLock::new() }; 3];
        FILLS[detail as usize].get_or_init(|| {
            let mesh = made_fill::half_fill(detail);
            let ties = find_ties(mesh, &keep::kept().bones);
            Self { mesh, softness: find_softness(mesh, &ties), ties }
        })
    }
}

fn find_softness(mesh: &TetMesh, ties: &[Tie]) -> Vec<f64> {
    /// Enough sweeps for a field that starts half way to settle: the tissue is some ten elements thick.
    const SWEEPS: usize = 60;
    let template = Template::of(Level::High);
    let at_skin = |p: &DVec3| {
        let Some(point) = template.closest_on_skin(*p) else { return SKIN };
        let corners = template.base.triangles[point.triangle as usize];
        (0..3).map(|i| point.barycentric[i] * template.softness[corners[i] as usize]).sum::<f64>()
    };
    let start = |(p, tie): (&DVec3, &Tie)| match tie {
        Tie::Cranium | Tie::Mandible => BONE,
        Tie::Skin => at_skin(p),
        Tie::Flesh | Tie::Neck => 0.5,
    };
    let mut softness: Vec<f64> = mesh.positions.par_iter().zip(ties).map(start).collect();
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); softness.len()];
    for t in &mesh.tets {
        for v in t {
            neighbours[*v as usize].extend(t.iter().filter(|w| *w != v));
        }
    }
    for _ in 0..SWEEPS {
        for v in (0..softness.len()).filter(|v| matches!(ties[*v], Tie::Flesh | Tie::Neck)) {
            let ring = &neighbours[v];
            softness[v] = ring.iter().map(|w| softness[*w as usize]).sum::<f64>() / ring.len().max(1) as f64;
        }
    }
    softness
}

fn find_ties(mesh: &TetMesh, bones: &[TriMesh; 2]) -> Vec<Tie> {
    let mut on_boundary = vec![false; mesh.positions.len()];
    let is_middle = |face: &[u32; 3]| face.iter().all(|v| mesh.positions[*v as usize].x == 0.0);
    for v in mesh.boundary().iter().filter(|face| !is_middle(face)).flatten() {
        on_boundary[*v as usize] = true;
    }
    let search = |bone: &TriMesh| nearest::Nearest::new(&bone.positions, &bone.triangles, |_| true);
    let [cranium, mandible] = bones.each_ref().map(search);
    let template = Template::of(Level::High);
    const REACH: f64 = 0.75;
    let tie = |(p, is_boundary): (&DVec3, &bool)| {
        let signed = |bone: &nearest::Nearest| bone.find(*p, f64::MAX).map_or(f64::MAX, |f| f.signed);
        let (c, m) = (signed(&cranium), signed(&mandible));
        let nearer_bone = if c <= m { Tie::Cranium } else { Tie::Mandible };
        // In and around the joint bones glide past each other by more than the gap between them: tissue tied to both would turn inside out.
        if c.max(m) < bones::BETWEEN {
            return Tie::Flesh;
        }
        if c.min(m) < REACH {
            return nearer_bone;
        }
        if !is_boundary {
            return Tie::Flesh;
        }
        if p.y < crate::sculpt::skull::NECK_END + 0.01 {
            return Tie::Neck;
        }
        // Under thin tissue the fill goes on through the bone and may end behind it, in the cranial cavity.
        let to_skin = template.closest_on_skin(*p).map_or(0.0, |hit| hit.point.distance(*p));
        if c.min(m) < to_skin { nearer_bone } else { Tie::Skin }
    };
    mesh.positions.par_iter().zip(&on_boundary).map(tie).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes on walls of bone once counted as skin, up to 16 mm below it, and hung loose.
    #[test]
    fn what_is_tied_to_the_skin_lies_on_it() {
        let template = Template::of(Level::High);
        for detail in FillDetail::STORED {
            let fill = HalfFill::of(detail);
            let on_skin = fill.mesh.positions.iter().zip(&fill.ties).filter(|(_, tie)| **tie == Tie::Skin);
            let distance = |(p, _): (&DVec3, &Tie)| template.closest_on_skin(*p).unwrap().point.distance(*p);
            let farthest = on_skin.map(distance).fold(0.0, f64::max);
            assert!(farthest < 1.0, "{detail:?}: {farthest} mm");
        }
    }
}
