//! The template's anatomy carried into a head by a map of space.

use std::sync::OnceLock;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::tets::TetMesh;

use super::halves::Halves;
use super::{Anatomy, Bone, Surface, Tie, bones, keep, nearest, prisms};

impl Anatomy {
    /// The template's anatomy carried by a map from template space (millimetres) to a head (metres), before any repair.
    pub(crate) fn carried(map: impl Fn(DVec3) -> DVec3 + Sync) -> Self {
        let kept = keep::kept();
        let carry = |halves: &Halves, half: &[DVec3]| -> Vec<DVec3> {
            halves.positions(half).par_iter().map(|p| map(*p)).collect()
        };
        let surface = |half: &[DVec3], triangles: &[[u32; 3]]| {
            let halves = Halves::of(half);
            Surface {
                positions: carry(&halves, half),
                triangles: halves.triangles(triangles),
                mirror: halves.mirror,
            }
        };
        let bone = |mesh: &keep::HalfMesh| {
            let ridge: Vec<bool> = mesh.positions.iter().map(|p| bones::is_ridge(*p)).collect();
            let ridge = Halves::of(&mesh.positions).values(&ridge);
            Bone { surface: surface(&mesh.positions, &mesh.triangles), ridge }
        };
        let [skin_wrap, muscle_wrap, skull_wrap] =
            kept.wraps.each_ref().map(|layer| surface(layer, &kept.wrap_triangles));
        let halves = Halves::of(&kept.fill);
        Self {
            cranium: bone(&kept.bones[0]),
            mandible: bone(&kept.bones[1]),
            soft_tissue: prisms::tissue(&skin_wrap.positions, &muscle_wrap.positions, &skin_wrap.triangles),
            muscle: prisms::tissue(&muscle_wrap.positions, &skull_wrap.positions, &skin_wrap.triangles),
            skin_wrap,
            muscle_wrap,
            skull_wrap,
            fill: TetMesh { positions: carry(&halves, &kept.fill), tets: halves.tets(&kept.tets) },
            fill_ties: halves.values(ties()),
            fill_mirror: halves.mirror,
        }
    }
}
/// What each node of the kept half fill hangs on.
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
    let search = |bone: &keep::HalfMesh| nearest::Nearest::new(&bone.positions, &bone.triangles, |_| true);
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
