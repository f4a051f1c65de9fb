//! What lies under the skin: bones, the layered wraps with their tissue, and the fill between skin and bone.
//!
//! Everything is sculpted once in template space and kept; a head's anatomy is that template carried along by the
//! head's own [`Warp`], then checked and repaired.

mod arches;
mod bones;
pub mod checks;
mod cover;
pub mod cut_away;
pub mod depths;
mod fill;
mod fill_cut;
mod fill_smooth;
mod fit;
mod flesh;
mod flesh_region;
mod halves;
mod keep;
mod meshing;
mod nearest;
mod prisms;
mod repair;
mod rig;
mod wraps;

use std::sync::OnceLock;

use glam::{DAffine3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::rigid::fit_rigid_motion;
use zygoma_geometry::tets::TetMesh;

use crate::dials::Warp;
use crate::{Head, JawWeights};
use halves::Halves;
pub use keep::bake;

/// Millimetres of template space in a metre.
const METRE: f64 = 1000.0;

/// A closed triangle surface, in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Vertices.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// For each vertex its mirror image.
    pub mirror: Vec<u32>,
}

/// A bone.
#[derive(Clone, Debug, PartialEq)]
pub struct Bone {
    /// Its surface.
    pub surface: Surface,
    /// Which vertices belong to the alveolar ridge, which stands in the mouth.
    pub ridge: Vec<bool>,
}

/// What a node of the fill hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// Free flesh.
    Flesh,
    /// On the skin, with mouth bag and eye pockets.
    Skin,
    /// On or in the cranium.
    Cranium,
    /// On or in the mandible.
    Mandible,
    /// On the cut through the neck.
    Neck,
}

/// The anatomy of one head, in metres, face to +Z.
#[derive(Clone, Debug)]
pub struct Anatomy {
    /// Skull without the lower jaw.
    pub cranium: Bone,
    /// Lower jaw; it moves with [`Anatomy::mandible_motion`].
    pub mandible: Bone,
    /// Encloses the skin; all wraps have the same triangles.
    pub skin_wrap: Surface,
    /// Encloses the muscles.
    pub muscle_wrap: Surface,
    /// Encloses the bones.
    pub skull_wrap: Surface,
    /// Between skin wrap and muscle wrap: the skin wrap's vertices, then the muscle wrap's.
    pub soft_tissue: TetMesh,
    /// Between muscle wrap and skull wrap: the muscle wrap's vertices, then the skull wrap's.
    pub muscle: TetMesh,
    /// Between skin and bone, with a mouth that opens.
    pub fill: TetMesh,
    /// What each node of the fill hangs on.
    pub fill_ties: Vec<Tie>,
    /// For each node of the fill its mirror image.
    pub fill_mirror: Vec<u32>,
}

impl Anatomy {
    /// The anatomy of a head.
    pub fn new(head: &Head) -> Self {
        let mut anatomy = Self::warped(&head.warp);
        repair::cover_bones(&mut anatomy, head);
        repair::wraps(&mut anatomy);
        anatomy
    }

    /// The rigid motion of a head's mandible for a set of jaw weights, in metres.
    ///
    /// Skin and teeth follow the jaw in template space and then go through the head's warp, which bends that motion a
    /// little; this is the rigid motion that stays nearest to theirs, over the whole bone.
    pub fn mandible_motion(head: &Head, weights: &JawWeights) -> DAffine3 {
        if *weights == JawWeights::default() {
            return DAffine3::IDENTITY;
        }
        const EVERY: usize = 4;
        let half = &keep::kept().bones[1].positions;
        let halves = Halves::of(half);
        let motion = weights.motion(1.0);
        let carry = |p: DVec3| head.warp.apply(p) / METRE;
        let sample: Vec<DVec3> = halves.positions(half).into_iter().step_by(EVERY).collect();
        let from: Vec<DVec3> = sample.iter().map(|p| carry(*p)).collect();
        let to: Vec<DVec3> = sample.iter().map(|p| carry(motion.transform_point3(*p))).collect();
        fit_rigid_motion(&from, &to).to_affine()
    }

    /// The template's anatomy carried along by a warp, before any repair.
    fn warped(warp: &Warp) -> Self {
        let kept = keep::kept();
        let carry =
            |half: &[DVec3]| -> Vec<DVec3> { half.par_iter().map(|p| warp.apply(*p) / METRE).collect() };
        let surface = |half: &[DVec3], triangles: &[[u32; 3]]| {
            let halves = Halves::of(half);
            Surface {
                positions: halves.positions(&carry(half)),
                triangles: halves.triangles(triangles),
                mirror: halves.mirror,
            }
        };
        let bone = |mesh: &TriMesh| {
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
            fill: TetMesh { positions: halves.positions(&carry(&kept.fill)), tets: halves.tets(&kept.tets) },
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
