//! A rig made ready to be touched.

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_physics::shell::{Shell, ShellParams, Stiffness};
use zygoma_rig::SparseDeltas;

use super::Origin;
use crate::shell::fit::{Certificate, Certified};

/// A rig made ready to simulate: everything that a build finds out once. Lengths are in units of the face's height.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// The rig's name.
    pub name: String,
    /// The simulated mesh's name in the rig.
    pub mesh: String,
    /// Height of the simulated face in metres: from the crown to the underside of the chin.
    pub height: f64,
    /// Neutral of the whole mesh, in the rig's own order of vertices.
    pub neutral: Vec<Vec3>,
    /// Triangles of the whole mesh.
    pub triangles: Vec<[u32; 3]>,
    /// How the whole mesh follows the shell.
    pub embedding: Embedding,
    /// Vertices of the whole mesh at which contact is decided: one for each point of the simulated skin.
    pub skin: Vec<u32>,
    /// The coarse mesh that is simulated.
    pub shell: Shell,
    /// Where the shell's vertices lie on `triangles`.
    pub places: Vec<SurfacePoint>,
    /// Shell vertices that follow their target exactly: eyelid margins and the edge of the neck (§4.4).
    pub held: Vec<bool>,
    /// δ, how far each shell vertex may be pushed in below its target.
    pub depth: Vec<f32>,
    /// Fitted stiffness.
    pub stiffness: Stiffness,
    /// Parameters of the shell that the stiffness was fitted with.
    pub params: ShellParams,
    /// What the shell at rest differs from the neutral by.
    pub neutral_residual: Vec<DVec3>,
    /// The blendshapes.
    pub shapes: Vec<FaceShape>,
    /// Corrections of shapes that are used together.
    pub pairs: Vec<FacePair>,
    /// What was certified, if the stiffness was fitted.
    pub certified: Option<CertifiedFace>,
    /// The rig that it was built from.
    pub origin: Origin,
}

/// One blendshape of a face.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceShape {
    /// The artist's name for it.
    pub name: String,
    /// Displacements of the shell's targets.
    pub coarse: SparseDeltas,
    /// What the settled shell misses of them; added back before contact is decided.
    pub residual: SparseDeltas,
    /// What it misses at half weight beyond half of that; fades out linearly towards weights 0 and 1.
    pub half: SparseDeltas,
    /// What the warped shell misses of the shape at full resolution (eq. 13).
    pub detail: SparseDeltas,
}

/// A correction of two shapes that are used together, such as `mouthClose` on an open jaw.
#[derive(Clone, Debug, PartialEq)]
pub struct FacePair {
    /// The shapes; the correction is scaled by the product of their weights.
    pub shapes: [u32; 2],
    /// What the settled shell misses of both at once beyond what it misses of each.
    pub residual: SparseDeltas,
}

/// What a build proved about a face: how close the settled shell comes to its targets, tested in double precision on the
/// whole shell; and how close the running face then comes to the rig, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedFace {
    /// The weight at which the shapes were fitted and tested.
    pub weight: f64,
    /// The fitted shapes, one at a time.
    pub shapes: Tally,
    /// Combinations of them: frames of takes, and seeded pairs and triples.
    pub combinations: Tally,
    /// Seed of the combinations.
    pub seed: u64,
    /// Iterations of the fit.
    pub iterations: usize,
    /// What a search for worse combinations found. Faces of older versions do not know it.
    #[serde(default)]
    pub searched: Option<Searched>,
    /// What is shown, if it is corrected and there was time to see. Faces of older versions do not know it.
    #[serde(default)]
    pub output: Option<CertifiedOutput>,
}

/// How far the running face at rest is from the rig as it is shown: at full resolution, with corrections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedOutput {
    /// The fitted shapes, one at a time.
    pub shapes: Tally,
    /// The combinations.
    pub combinations: Tally,
    /// Those of the search.
    pub searched: Tally,
}

/// The pairs and triples of full shapes that should be missed worst, of all that there are. Nobody may ever use them together, so
/// they are not fitted: they say how far the certificate can be trusted beyond what it lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// How they came out on the shell.
    pub tally: Tally,
    /// The worst of them.
    pub worst: String,
}

impl Searched {
    /// None if nothing was searched for.
    pub(crate) fn new(found: &Certificate) -> Option<Self> {
        let miss = |found: &&Certified| found.worst.unwrap_or(f64::INFINITY);
        let worst = found.expressions.iter().max_by(|a, b| miss(a).total_cmp(&miss(b)))?;
        Some(Self { tally: found.tally(), worst: worst.name.clone() })
    }
}

/// How many expressions were tested and how they came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Expressions tested.
    pub count: usize,
    /// How many of them are within ε^r of where they should be at every vertex.
    pub holding: usize,
    /// The worst distance of a vertex over ε^r; none if an expression found no equilibrium.
    pub worst: Option<f64>,
}

impl CertifiedFace {
    /// Whether every fitted shape and every combination holds, on the shell and as it is shown. Without a fitted shape nothing is
    /// proved.
    pub fn holds(&self) -> bool {
        self.gap().is_none()
    }

    /// What keeps the face from being certified, in words; `None` if it is.
    pub fn gap(&self) -> Option<String> {
        let missed = |tally: &Tally, what: &str| {
            let worst = tally.worst.map_or_else(
                || "one found no equilibrium".to_owned(),
                |worst| format!("the worst misses by {:.0} % of it", 100.0 * worst),
            );
            format!("only {} of {} {what} are met within the tolerance ({worst})", tally.holding, tally.count)
        };
        if self.shapes.count == 0 {
            Some("no shape could be fitted".to_owned())
        } else if !self.shapes.holds() {
            Some(missed(&self.shapes, "fitted shapes"))
        } else if !self.combinations.holds() {
            Some(format!("every fitted shape is, but {}", missed(&self.combinations, "combinations of them")))
        } else {
            let shown = |output: &CertifiedOutput| [output.shapes, output.combinations];
            let failing = self.output.iter().flat_map(shown).find(|tally| !tally.holds())?;
            Some(format!("the shell meets all, but as they are shown {}", missed(&failing, "expressions")))
        }
    }
}

impl Tally {
    /// Whether every expression holds.
    pub fn holds(&self) -> bool {
        self.holding == self.count
    }
}

impl Face {
    /// Number of vertices of the whole mesh.
    pub fn vertex_count(&self) -> usize {
        self.neutral.len()
    }

    /// What a shape at weight 1 adds to the neutral, in heights: up to what corrections leave out, the artist's own.
    pub fn displacements(&self, shape: usize) -> Vec<Vec3> {
        let FaceShape { coarse, detail, .. } = &self.shapes[shape];
        let coarse = coarse.to_dense(self.shell.vertex_count());
        let mut moved: Vec<Vec3> =
            (0..self.vertex_count()).map(|v| self.embedding.displacement(v, &coarse)).collect();
        for (vertex, offset) in detail.iter() {
            moved[vertex as usize] += offset;
        }
        moved
    }

    /// The index of a shape.
    pub fn shape(&self, name: &str) -> Option<usize> {
        self.shapes.iter().position(|shape| shape.name == name)
    }
}
