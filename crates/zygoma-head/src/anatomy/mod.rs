//! The anatomy under the skin: bones, the layered wraps with their tissue, and the fill between skin and bone.
//!
//! Everything is sculpted once in template space and stored; a head's anatomy is that template deformed by the
//! head's own map, then repaired against its skin.

mod arches;
mod bones;
mod carry;
pub mod checks;
mod cover;
pub mod cut_away;
pub mod depths;
mod fill;
mod fill_cut;
mod fill_smooth;
mod fingerprint;
mod fit;
mod flesh;
mod flesh_region;
mod halves;
mod keep;
mod made_fill;
mod meshing;
mod nearest;
mod prisms;
mod repair;
mod rig;
mod untangle;
mod wraps;

use glam::{DAffine3, DVec3};
use zygoma_geometry::rigid::fit_rigid_motion;
use zygoma_geometry::similarity::Similarity;
use zygoma_geometry::tets::TetMesh;

use crate::{Head, JawWeights};
pub(crate) use carry::{
    TemplateWraps, carried_fill, template_bones, template_fill, template_mandible, template_wraps,
};
use halves::Halves;
pub use keep::{bake, fingerprint};
pub(crate) use prisms::tissue;
pub(crate) use repair::{Pose, Sides, cover_bones, wraps as repair_wraps};
pub(crate) use rig::jaw_meshes;
pub(crate) use untangle::untangle;

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

/// The attachment of a node of the fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// Free tissue.
    Flesh,
    /// On the skin, including mouth bag and eye pockets.
    Skin,
    /// On or in the cranium.
    Cranium,
    /// On or in the mandible.
    Mandible,
    /// On the cut through the neck.
    Neck,
}

/// How finely the tissue between skin and bone is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillDetail {
    /// About 9,000 nodes, for bodies that are simulated live.
    Coarse,
    /// About 26,000 nodes.
    #[default]
    Fine,
    /// About 44,000 nodes and 168,000 tetrahedra, nearly as many as published (Thesis Table C.3). It is not stored; making it takes about a minute.
    Finest,
}

impl FillDetail {
    /// Those that are stored, in their order there.
    pub const STORED: [Self; 2] = [Self::Fine, Self::Coarse];

    /// Factor of element sizes.
    fn coarseness(self) -> f64 {
        match self {
            Self::Coarse => 1.95,
            Self::Fine => 1.0,
            Self::Finest => 0.8,
        }
    }

    /// Largest size of an element at the slit between the lips, as a multiple of the slit's half height when open: larger
    /// ones would bridge it.
    fn at_slit(self) -> f64 {
        match self {
            Self::Coarse => 2.1,
            Self::Fine | Self::Finest => 1.5,
        }
    }

    /// Its place in [`FillDetail::STORED`]; `None` if it is made when it is asked for.
    fn place(self) -> Option<usize> {
        Self::STORED.iter().position(|stored| *stored == self)
    }
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
    /// The attachment of each node of the fill.
    pub fill_ties: Vec<Tie>,
    /// For each node of the fill its mirror image.
    pub fill_mirror: Vec<u32>,
}

impl Anatomy {
    /// The anatomy of a head, finely filled.
    pub fn new(head: &Head) -> Self {
        Self::filled(head, FillDetail::Fine)
    }

    /// The anatomy of a head with a fill of the given detail.
    pub fn filled(head: &Head, detail: FillDetail) -> Self {
        let mut anatomy = Self::carried(detail, |p, softness| head.warp.apply(p, softness) / METRE);
        repair::cover_bones(&mut anatomy, &repair::poses(head), Sides::Alike);
        repair::wraps(&mut anatomy);
        repair::fill(&mut anatomy);
        anatomy
    }

    /// The anatomy transformed by a similarity.
    pub(crate) fn moved(mut self, by: &Similarity) -> Self {
        let surfaces = [
            &mut self.cranium.surface,
            &mut self.mandible.surface,
            &mut self.skin_wrap,
            &mut self.muscle_wrap,
            &mut self.skull_wrap,
        ];
        let volumes = [&mut self.soft_tissue, &mut self.muscle, &mut self.fill];
        let lists = surfaces.map(|surface| &mut surface.positions).into_iter();
        for positions in lists.chain(volumes.map(|volume| &mut volume.positions)) {
            positions.iter_mut().for_each(|p| *p = by.apply(*p));
        }
        self
    }

    /// The rigid motion of a head's mandible for a set of jaw weights, in metres.
    ///
    /// Skin and teeth follow the jaw in template space and then go through the head's warp, which bends that motion a
    /// little; this is the closest rigid motion, over the whole bone.
    pub fn mandible_motion(head: &Head, weights: &JawWeights) -> DAffine3 {
        if *weights == JawWeights::default() {
            return DAffine3::IDENTITY;
        }
        const EVERY: usize = 4;
        let half = &keep::kept().bones[1].positions;
        let halves = Halves::of(half);
        let motion = weights.motion(1.0);
        let carry = |p: DVec3| head.warp.apply(p, 0.0) / METRE;
        let sample: Vec<DVec3> = halves.positions(half).into_iter().step_by(EVERY).collect();
        let from: Vec<DVec3> = sample.iter().map(|p| carry(*p)).collect();
        let to: Vec<DVec3> = sample.iter().map(|p| carry(motion.transform_point3(*p))).collect();
        fit_rigid_motion(&from, &to).to_affine()
    }
}
