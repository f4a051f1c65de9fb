//! A face as a shell simulates it, with the results of its build.

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::embedding::Embedding;
use zygoma_numerics::Checked;
use zygoma_physics::shell::{Shell, ShellParams, Stiffness};
use zygoma_rig::SparseDeltas;

use super::corrections::CLIP;
use super::fit::{Certificate, Certified};
use crate::model::{BodySection, FaceModel, Section};

/// A face in the units of its shell: lengths are in face heights, as in IFA.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellModel {
    /// Height of the simulated face in metres: from the crown to the underside of the chin.
    pub height: f64,
    /// Neutral of the whole mesh, in the rig's own order of vertices.
    pub neutral: Vec<Vec3>,
    /// Triangles of the whole mesh.
    pub triangles: Vec<[u32; 3]>,
    /// The embedding of the whole mesh in the shell.
    pub embedding: Embedding,
    /// Vertices of the whole mesh at which contact is detected: one for each point of the simulated skin.
    pub skin: Vec<u32>,
    /// The coarse mesh that is simulated.
    pub shell: Shell,
    /// Positions of the shell's vertices on the whole mesh.
    pub places: Vec<SurfacePoint>,
    /// Shell vertices that follow their target exactly: eyelid margins and the edge of the neck (IFA §4.4).
    pub held: Vec<bool>,
    /// The blendshapes.
    pub shapes: Vec<ShellShape>,
    /// Stiffness, depth and corrections.
    pub fitted: FittedShell,
}

/// One blendshape on a shell.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellShape {
    /// The artist's name for it.
    pub name: String,
    /// Displacements of the shell's targets.
    pub coarse: SparseDeltas,
    /// The part of the shape that warped targets miss at full resolution (IFA eq. 13).
    pub detail: SparseDeltas,
}

/// The results of a build for a shell: a section of the face file.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedShell {
    /// δ, maximum indentation of each shell vertex below its target.
    pub depth: Vec<f32>,
    /// Fitted stiffness.
    pub stiffness: Stiffness,
    /// Shell parameters that the stiffness was fitted with.
    pub params: ShellParams,
    /// Difference between the neutral and the shell at rest.
    pub neutral_residual: Vec<DVec3>,
    /// Corrections of the shapes, in their order.
    pub corrections: Vec<Correction>,
    /// Corrections of combined shapes.
    pub pairs: Vec<PairCorrection>,
    /// The certificate, if the stiffness was fitted.
    pub certified: Option<CertifiedFace>,
}

/// The residual of the settled shell from a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// At weight 1; added back before contact is decided.
    pub residual: SparseDeltas,
    /// At half weight, beyond half of that; fades out linearly towards weights 0 and 1.
    pub half: SparseDeltas,
}

/// A correction of two combined shapes, such as `mouthClose` on an open jaw.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCorrection {
    /// The shapes; the correction is scaled by the product of their weights.
    pub shapes: [u32; 2],
    /// The residual of the settled shell from both at once, beyond those of each.
    pub residual: SparseDeltas,
}

/// The certificate of a build: how close the settled shell comes to its targets, tested in double precision on the whole shell; and how
/// close the running face then comes to the rig, as it is shown.
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
    /// Results of a search for worse combinations. Missing in faces of older versions.
    #[serde(default)]
    pub searched: Option<Searched>,
    /// Results for the surface as shown, if it is corrected and there was time to test it. Missing in faces of older versions.
    #[serde(default)]
    pub output: Option<CertifiedOutput>,
}

/// Distance of the running face at rest from the rig, as shown: at full resolution, with corrections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedOutput {
    /// The fitted shapes, one at a time.
    pub shapes: Tally,
    /// The combinations.
    pub combinations: Tally,
    /// Those of the search.
    pub searched: Tally,
}

/// The pairs and triples of full shapes that are predicted to miss most, of all that exist. They may never be used in practice, so they
/// are not fitted: they show how far the certificate can be trusted beyond what it lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Their results on the shell.
    pub tally: Tally,
    /// The worst of them.
    pub worst: String,
}

impl Searched {
    /// None if there was no search.
    pub(super) fn new(found: &Certificate) -> Option<Self> {
        let miss = |found: &&Certified| found.worst.unwrap_or(f64::INFINITY);
        let worst = found.expressions.iter().max_by(|a, b| miss(a).total_cmp(&miss(b)))?;
        Some(Self { tally: found.tally(), worst: worst.name.clone() })
    }
}

/// Number of tested expressions and their results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Expressions tested.
    pub count: usize,
    /// How many of them are within ε^r of their target at every vertex.
    pub holding: usize,
    /// The largest distance of a vertex over ε^r; none if an expression found no equilibrium.
    pub worst: Option<f64>,
}

impl CertifiedFace {
    /// Whether every fitted shape and every combination holds, on the shell and as shown. Without a fitted shape nothing is certified.
    pub fn holds(&self) -> bool {
        self.gap().is_none()
    }

    /// The reason why the face is not certified, as text; `None` if it is.
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
            Some(format!(
                "the shell itself meets all tolerances, but its displayed surface does not: {}",
                missed(&failing, "expressions")
            ))
        }
    }
}

impl Tally {
    /// Whether every expression holds.
    pub fn holds(&self) -> bool {
        self.holding == self.count
    }
}

/// Why a face cannot run as a shell.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoShell {
    /// It was not built for a shell.
    #[error("this face was not built for a shell; build it again with `zygoma build RIG --for shell`")]
    Missing,
    /// Its parts are inconsistent.
    #[error("{0}; build the face again")]
    Unsound(String),
}

impl FittedShell {
    /// The shell section of a face.
    pub fn of(model: &FaceModel) -> Result<Self, NoShell> {
        model.section().ok_or(NoShell::Missing)?.map_err(NoShell::Unsound)
    }
}

impl ShellModel {
    /// A shell model of a face that was built for a shell.
    pub fn new(model: &FaceModel) -> Result<Self, NoShell> {
        Self::with(model, FittedShell::of(model)?)
    }

    /// A shell model with another stiffness or other corrections than the face's own.
    pub(super) fn with(model: &FaceModel, fitted: FittedShell) -> Result<Self, NoShell> {
        fitted.check(model).map_err(NoShell::Unsound)?;
        let rest = model.coarse.positions.iter().map(|p| *p / model.height).collect();
        let shell = Shell::new(rest, model.coarse.triangles.clone())
            .map_err(|problem| NoShell::Unsound(format!("the shell cannot be simulated: {problem}")))?;
        Ok(Self {
            height: model.height,
            neutral: model.neutral_in_heights(),
            triangles: model.triangles.clone(),
            embedding: model.embedding.clone(),
            skin: model.skin.clone(),
            places: model.coarse.on_mesh.clone(),
            held: model.coarse.is_held.clone(),
            shapes: (0..model.shapes.len()).map(|shape| ShellShape::new(model, shape)).collect(),
            shell,
            fitted,
        })
    }

    /// Number of vertices of the whole mesh.
    pub fn vertex_count(&self) -> usize {
        self.neutral.len()
    }
}

impl ShellShape {
    fn new(model: &FaceModel, shape: usize) -> Self {
        let own = &model.shapes[shape];
        let per_metre = 1.0 / model.height;
        let coarse = own.coarse.to_dense(model.coarse.vertex_count());
        let coarse: Vec<DVec3> = coarse.iter().map(|d| per_metre * d.as_dvec3()).collect();
        let missing = |(vertex, delta): (usize, &Vec3)| {
            let missing = per_metre * delta.as_dvec3() - model.embedding.displacement_f64(vertex, &coarse);
            if missing.length() < CLIP { Vec3::ZERO } else { missing.as_vec3() }
        };
        let deltas = own.deltas.to_dense(model.vertex_count());
        let detail: Vec<Vec3> = deltas.iter().enumerate().map(missing).collect();
        let coarse: Vec<Vec3> = coarse.iter().map(|d| d.as_vec3()).collect();
        Self {
            name: own.name.clone(),
            coarse: SparseDeltas::from_dense(&coarse),
            detail: SparseDeltas::from_dense(&detail),
        }
    }
}

/// Lengths beyond this many face heights are rejected: sums of squares in `f32` lose all digits. Ours.
const FARTHEST: f32 = 1e4;

impl FittedShell {
    /// Returns a sentence about the first inconsistency with a face.
    fn check(&self, model: &FaceModel) -> Result<(), String> {
        let coarse = model.coarse.vertex_count();
        let lengths = [
            ("depth", self.depth.len(), coarse),
            ("residual", self.neutral_residual.len(), coarse),
            ("strain", self.stiffness.strain.len(), coarse),
            ("bending", self.stiffness.bending.len(), coarse),
            ("corrections", self.corrections.len(), model.shapes.len()),
        ];
        if let Some((name, found, wanted)) = lengths.iter().find(|(_, found, wanted)| found != wanted) {
            return Err(format!("array {name} has {found} rows where {wanted} are needed"));
        }
        let is_near = |p: &Vec3| p.is_finite() && p.abs().max_element() <= FARTHEST;
        let is_sound = |deltas: &SparseDeltas| deltas.offsets.iter().all(is_near);
        let is_positive = |value: &f64| value.is_finite() && *value >= 0.0;
        let mut corrections = self.corrections.iter().flat_map(|c| [&c.residual, &c.half]);
        let sound = [
            ("depth", self.depth.iter().all(|depth| depth.is_finite() && *depth >= 0.0)),
            ("residual", self.neutral_residual.iter().all(|p| is_near(&p.as_vec3()))),
            (
                "strain and bending",
                self.stiffness.strain.iter().chain(&self.stiffness.bending).all(is_positive),
            ),
            ("corrections", corrections.all(is_sound)),
            ("pairs", self.pairs.iter().all(|pair| is_sound(&pair.residual))),
            (
                "pairs",
                self.pairs.iter().flat_map(|pair| pair.shapes).all(|s| (s as usize) < model.shapes.len()),
            ),
        ];
        if let Some((name, _)) = sound.iter().find(|(_, sound)| !sound) {
            return Err(format!("array {name} has a number that cannot be"));
        }
        self.params.check().map_err(|problem| problem.to_string())
    }
}

/// The section's data other than arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    params: ShellParams,
    pairs: Vec<[u32; 2]>,
    certified: Option<CertifiedFace>,
}

impl BodySection for FittedShell {
    const NAME: &'static str = "shell";

    fn write(&self) -> Section {
        let description = Description {
            params: self.params.clone(),
            pairs: self.pairs.iter().map(|pair| pair.shapes).collect(),
            certified: self.certified.clone(),
        };
        let mut section = Section::new(&description);
        section.add("strain", 1, &self.stiffness.strain);
        section.add("bending", 1, &self.stiffness.bending);
        section.add("depth", 1, &self.depth);
        section.add_vectors64("residual", &self.neutral_residual);
        for (index, correction) in self.corrections.iter().enumerate() {
            section.add_deltas(&format!("shape.{index:04}.residual"), &correction.residual);
            section.add_deltas(&format!("shape.{index:04}.half"), &correction.half);
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            section.add_deltas(&format!("pair.{index:04}"), &pair.residual);
        }
        section
    }

    fn read(section: &Section, model: &FaceModel) -> Result<Self, String> {
        let Description { params, pairs, certified } = section.description()?;
        let coarse = model.coarse.vertex_count();
        let deltas = |name: String| section.deltas(&name, coarse);
        let correction = |index: usize| {
            Ok(Correction {
                residual: deltas(format!("shape.{index:04}.residual"))?,
                half: deltas(format!("shape.{index:04}.half"))?,
            })
        };
        let pair = |(index, shapes): (usize, [u32; 2])| {
            Ok(PairCorrection { shapes, residual: deltas(format!("pair.{index:04}"))? })
        };
        let fitted = Self {
            depth: section.numbers("depth")?,
            stiffness: Stiffness { strain: section.numbers("strain")?, bending: section.numbers("bending")? },
            neutral_residual: section.vectors64("residual")?,
            corrections: (0..model.shapes.len()).map(correction).collect::<Result<_, String>>()?,
            pairs: pairs.into_iter().enumerate().map(pair).collect::<Result<_, String>>()?,
            params,
            certified,
        };
        fitted.check(model)?;
        Ok(fitted)
    }
}
