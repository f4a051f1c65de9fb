//! Maps the template's anatomy into a head.

use std::sync::OnceLock;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::tets::TetMesh;

use super::halves::Halves;
use super::{Anatomy, Bone, Surface, Tie, bones, keep, nearest, prisms};
use crate::Level;
use crate::template::Template;

impl Anatomy {
    /// The template's anatomy mapped from template space (millimetres) to a head (metres), before any repair. The
    /// map is also given the softness of the tissue at a point, from 0 (bone) to 1 (skin).
    pub(crate) fn carried(map: impl Fn(DVec3, f64) -> DVec3 + Sync) -> Self {
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
        let halves = Halves::of(&kept.fill);
        let (nodes, softness) = (halves.positions(&kept.fill), halves.values(softness()));
        let fill = nodes.par_iter().zip(&softness).map(|(p, softness)| map(*p, *softness)).collect();
        Self {
            cranium: bone(&kept.bones[0]),
            mandible: bone(&kept.bones[1]),
            soft_tissue: prisms::tissue(&skin_wrap.positions, &muscle_wrap.positions, &skin_wrap.triangles),
            muscle: prisms::tissue(&muscle_wrap.positions, &skull_wrap.positions, &skin_wrap.triangles),
            skin_wrap,
            muscle_wrap,
            skull_wrap,
            fill: TetMesh { positions: fill, tets: halves.tets(&kept.tets) },
            fill_ties: halves.values(ties()),
            fill_mirror: halves.mirror,
        }
    }
}

/// Nodes of the template's whole fill, in template space.
pub(crate) fn template_fill() -> Vec<DVec3> {
    let half = &keep::kept().fill;
    Halves::of(half).positions(half)
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

/// Softness of each node of the kept half fill: that of skin and bone at its boundary, smoothed in between.
fn softness() -> &'static [f64] {
    static SOFTNESS: OnceLock<Vec<f64>> = OnceLock::new();
    SOFTNESS.get_or_init(|| find_softness(keep::kept(), ties()))
}

fn find_softness(kept: &keep::Kept, ties: &[Tie]) -> Vec<f64> {
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
    let mut softness: Vec<f64> = kept.fill.par_iter().zip(ties).map(start).collect();
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); softness.len()];
    for t in &kept.tets {
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

/// The attachment of each node of the kept half fill.
fn ties() -> &'static [Tie] {
    static TIES: OnceLock<Vec<Tie>> = OnceLock::new();
    TIES.get_or_init(|| find_ties(keep::kept()))
}

fn find_ties(kept: &keep::Kept) -> Vec<Tie> {
    let mesh = TetMesh { positions: kept.fill.clone(), tets: kept.tets.clone() };
    let mut on_boundary = vec![false; kept.fill.len()];
    let is_middle = |face: &[u32; 3]| face.iter().all(|v| kept.fill[*v as usize].x == 0.0);
    for v in mesh.boundary().iter().filter(|face| !is_middle(face)).flatten() {
        on_boundary[*v as usize] = true;
    }
    let search = |bone: &TriMesh| nearest::Nearest::new(&bone.positions, &bone.triangles, |_| true);
    let [cranium, mandible] = kept.bones.each_ref().map(search);
    const REACH: f64 = 0.75;
    let tie = |(p, boundary): (&DVec3, &bool)| {
        let signed = |bone: &nearest::Nearest| bone.find(*p, 12.0).map_or(f64::MAX, |f| f.signed);
        let (c, m) = (signed(&cranium), signed(&mandible));
        if c.min(m) < REACH {
            return if c <= m { Tie::Cranium } else { Tie::Mandible };
        }
        match boundary {
            true if p.y < crate::sculpt::skull::NECK_END + 0.01 => Tie::Neck,
            true => Tie::Skin,
            false => Tie::Flesh,
        }
    };
    kept.fill.iter().zip(&on_boundary).map(tie).collect()
}
