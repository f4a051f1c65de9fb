//! From a rig to a [`Face`].

use std::ops::RangeInclusive;
use std::time::Instant;

use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::SurfacePoint;
use zygoma_geometry::coarsen::{CoarseMesh, CoarsenError, coarsen_within};
use zygoma_geometry::embedding::Embedding;
use zygoma_geometry::geodesic::{Source, nearest_sources};
use zygoma_numerics::{BadParam, Budget, Checked, NotPositiveDefinite, Ranged, Stop};
use zygoma_physics::shell::{Shell, ShellError, Stiffness};
use zygoma_rig::RigMesh;

use super::build_report::BuildReport;
use super::corrections::{Corrections, Uncorrected};
use super::depth::largest_depth;
use super::fit::{self, Combinations, FitError, FitParams, FitProgress, Stage};
use super::output::certify_output;
use super::run::RunError;
use super::targets::{ShapesOnShell, Targets, base_shapes};
use super::thin::thin_places;
use crate::model::Origin;
use crate::model::Region;
use crate::model::held_vertices;
use crate::model::{CertifiedFace, Face, Searched};
use crate::model::{Continue, check};

/// Beyond the simulated skin, what hangs on it follows it over this share of the height. Ours: far enough for the
/// inner lips, not so far that teeth would move.
const FADE: f64 = 0.08;

/// Triangles that a shell may have: with fewer there is no face left, and more are finer than any mesh of a face.
const SIZES: RangeInclusive<usize> = 100..=200_000;

/// Of the time that a build has left after meshing, the fit may take the first share, and certifying ends at the second: the
/// rest is for corrections, without which a face would not look like its rig. Ours.
const FIT_SHARE: f64 = 0.5;
const CERTIFY_SHARE: f64 = 0.75;

/// Build parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildParams {
    /// Wanted number of triangles of the shell.
    pub triangles: usize,
    /// Shapes are fitted at this weight (§5.2: 1.2 where exaggerated weights are expected).
    pub exaggerate: f64,
    /// Shapes whose name contains one of these are corrective: not fitted.
    pub corrective: Vec<String>,
    /// How many combinations of shapes are certified, and fitted where they fail: frames of takes, then seeded ones.
    pub combinations: usize,
    /// Seed of the combinations.
    pub seed: u64,
    /// Stiffness reconstruction and shell.
    pub fit: FitParams,
    /// With a value, no fit: the same stiffness everywhere, N/m.
    pub uniform_stiffness: Option<f64>,
    /// Whether what the settled shell misses of each shape is found out and added back. Without, a build is a matter of
    /// seconds: for a first impression.
    pub corrected: bool,
    /// Seconds for all of the build; none: as long as it takes. The fit ends early with the best stiffness so far and
    /// expressions that there is no time for count as not certified; a build whose mesh or corrections take longer fails.
    pub seconds: Option<f64>,
    /// Cancels the build.
    #[serde(skip)]
    pub budget: Budget,
}

/// Where a build stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BuildProgress {
    /// The coarse mesh is being made.
    Meshing,
    /// The stiffness is being fitted.
    Fitting(FitProgress),
    /// The fitted shapes are being tested.
    Certifying,
    /// Corrections are being computed.
    Correcting,
}

/// Why a face could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// So many triangles are too few to be a face, or too many.
    #[error("{0} triangles are no mesh to simulate; ask for {least} to {most}", least = SIZES.start(), most = SIZES.end())]
    Size(usize),
    /// A parameter lies outside its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// No skin or no height was found.
    #[error("the mesh has no part that looks like the skin of a face; name the mesh with --mesh")]
    NoFace,
    /// The surface cannot be meshed.
    #[error("the skin cannot be meshed: {0}")]
    Mesh(CoarsenError),
    /// The coarse mesh cannot be a shell.
    #[error("the coarse mesh cannot be simulated: {0}")]
    Shell(#[from] ShellError),
    /// The matrix of a time step has no factor.
    #[error("the shell cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// The stiffness could not be fitted.
    #[error("the stiffness could not be fitted: {0}")]
    Fit(FitError),
    /// The parts of the face do not fit each other.
    #[error(
        "the rig gives no face that can be simulated: {0}; check its scale and its shapes with `zygoma info`"
    )]
    Unsound(String),
    /// It was cancelled, or took too long.
    #[error("the build did not end: {0}")]
    Stopped(#[from] Stop),
}

impl From<CoarsenError> for BuildError {
    fn from(error: CoarsenError) -> Self {
        match error {
            CoarsenError::Stopped(stop) => Self::Stopped(stop),
            other => Self::Mesh(other),
        }
    }
}

impl From<RunError> for BuildError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Matrix(error) => error.into(),
            RunError::Param(error) => error.into(),
        }
    }
}

impl From<FitError> for BuildError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Abandoned => Self::Stopped(Stop::Cancelled),
            other => Self::Fit(other),
        }
    }
}

impl Default for BuildParams {
    fn default() -> Self {
        Self {
            triangles: 4000,
            exaggerate: 1.0,
            corrective: Vec::new(),
            combinations: 500,
            seed: 0,
            fit: FitParams::default(),
            uniform_stiffness: None,
            corrected: true,
            seconds: None,
            budget: Budget::default(),
        }
    }
}

impl Checked for BuildParams {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges: Vec<Ranged> = self.fit.ranges().into_iter().map(|p| p.within("fit")).collect();
        ranges.extend([
            Ranged::count("triangles", self.triangles, SIZES),
            Ranged::new("exaggerate", self.exaggerate, 0.01..=100.0),
            Ranged::count("combinations", self.combinations, 0..=1_000_000),
        ]);
        ranges.extend(self.seconds.map(|value| Ranged::new("seconds", value, 0.0..=1e6)));
        ranges
            .extend(self.uniform_stiffness.map(|value| Ranged::new("uniform_stiffness", value, 1e-9..=1e9)));
        ranges
    }
}

/// What a face is built from.
#[derive(Clone, Copy, Debug)]
pub struct BuildInput<'a> {
    /// The rig's name.
    pub name: &'a str,
    /// The mesh to be simulated.
    pub mesh: &'a RigMesh,
    /// Weights of the mesh's shapes that must be met as well as single shapes: frames of takes.
    pub poses: &'a [Vec<f32>],
}

/// Makes a rig's mesh ready to be touched.
pub fn build(
    name: &str,
    mesh: &RigMesh,
    params: &BuildParams,
    progress: &mut dyn FnMut(BuildProgress) -> Continue,
) -> Result<Face, BuildError> {
    let input = BuildInput { name, mesh, poses: &[] };
    build_with_report(&input, params, progress).map(|(face, _)| face)
}

/// [`build`] that also tells how it went.
pub fn build_with_report(
    input: &BuildInput,
    params: &BuildParams,
    progress: &mut dyn FnMut(BuildProgress) -> Continue,
) -> Result<(Face, BuildReport), BuildError> {
    let BuildInput { name, mesh, .. } = *input;
    let mut report = BuildReport::default();
    let mut began = Instant::now();
    if !SIZES.contains(&params.triangles) {
        return Err(BuildError::Size(params.triangles));
    }
    params.check()?;
    let budget = params.budget.within(params.seconds);
    if progress(BuildProgress::Meshing) == Continue::Abandon {
        return Err(Stop::Cancelled.into());
    }
    let region = Region::choose(mesh, &budget)?;
    let coarse = coarsen_within(&region.points, &region.triangles, params.triangles, &budget)?;
    let shell = Shell::new(coarse.positions.clone(), coarse.triangles.clone())?;
    let deltas: Vec<Vec<DVec3>> =
        mesh.shapes.par_iter().map(|shape| region.point_deltas(mesh, &shape.deltas)).collect();
    let on_shell = |dense: &Vec<DVec3>| -> Vec<DVec3> {
        coarse.places.iter().map(|place| place.interpolate(&region.triangles, dense)).collect()
    };
    let moves: Vec<Vec<DVec3>> = deltas.par_iter().map(on_shell).collect();
    let jaw_moves: Vec<&[DVec3]> = region.jaw.iter().map(|shape| &moves[*shape][..]).collect();
    let held = held_vertices(&shell, &jaw_moves, &budget)?;
    let flesh: Vec<&[DVec3]> =
        (0..moves.len()).filter(|shape| !region.jaw.contains(shape)).map(|shape| &moves[shape][..]).collect();
    let is_thin = thin_places(&region.points, &region.triangles, &shell.rest, &budget)?;
    let depth = largest_depth(&shell, &flesh, &is_thin, &params.fit.shell, &budget)?;
    let bases = base_shapes(mesh);
    report.end_phase("mesh", &mut began);

    let (stiffness, mut certified, rested) = match params.uniform_stiffness {
        Some(value) => (Stiffness::uniform(shell.vertex_count(), value, value), None, Default::default()),
        None => {
            let on_shell = ShapesOnShell { mesh, shell: &shell, moves: &moves, bases: &bases };
            let Targets { singles, combinations, fitted } = on_shell.targets(input.poses, params);
            let in_full = |singles: &[usize]| on_shell.in_full(singles, &fitted, params);
            let combinations = Combinations {
                given: &combinations,
                together: if params.combinations > 0 { Some(&in_full) } else { None },
            };
            let mut fit_params = params.fit.clone();
            fit_params.held = (0..held.len() as u32).filter(|v| held[*v as usize]).collect();
            fit_params.budget = budget.share(CERTIFY_SHARE);
            let for_fit = budget.seconds_left().map(|left| FIT_SHARE * left);
            fit_params.seconds = [params.fit.seconds, for_fit].into_iter().flatten().reduce(f64::min);
            let mut tell = |now: Stage| {
                progress(match now {
                    Stage::Fitting(now) => BuildProgress::Fitting(now),
                    Stage::Certifying => BuildProgress::Certifying,
                })
            };
            let mut found =
                fit::reconstruct_certified(&shell, &singles, combinations, &fit_params, &mut tell)?;
            let certified = CertifiedFace {
                weight: params.exaggerate,
                shapes: found.shapes.tally(),
                combinations: found.combinations.tally(),
                seed: params.seed,
                iterations: found.rounds.iter().map(|(_, history, _)| history.len()).sum(),
                searched: Searched::new(&found.searched),
                output: None,
            };
            let stiffness = found.fit.stiffness.clone();
            let rested = std::mem::take(&mut found.rested);
            report.add_fit(shell.triangles.len(), found, &mut began);
            (stiffness, Some(certified), rested)
        }
    };
    if progress(BuildProgress::Correcting) == Continue::Abandon {
        return Err(Stop::Cancelled.into());
    }
    let embedding = embed(&region, &coarse);
    let uncorrected = Uncorrected {
        mesh,
        region: &region,
        shell: &shell,
        held: &held,
        stiffness: &stiffness,
        params: &params.fit.shell,
        deltas: &deltas,
        moves: &moves,
        bases: &bases,
        embedding: &embedding,
        budget: &budget,
    };
    let corrections = if params.corrected { uncorrected.correct()? } else { uncorrected.without() };
    let Corrections { neutral_residual, shapes, pairs } = corrections;
    report.end_phase("correct", &mut began);

    let skin = skin_vertices(&region);
    let mut face = Face {
        name: name.to_owned(),
        mesh: mesh.name.clone(),
        height: region.height,
        neutral: mesh.positions.iter().map(|p| (p.as_dvec3() / region.height).as_vec3()).collect(),
        triangles: region.mesh_triangles.clone(),
        embedding: Embedding {
            vertices: region.weld.spread(&embedding.vertices),
            weights: region.weld.spread(&embedding.weights),
        },
        skin,
        places: places_on_mesh(&region, &coarse),
        shell,
        held,
        depth,
        stiffness,
        params: params.fit.shell.clone(),
        neutral_residual,
        shapes,
        pairs,
        certified: None,
        origin: Origin::of_mesh(mesh),
    };
    check(&face).map_err(BuildError::Unsound)?;
    if let (true, Some(certified)) = (params.corrected, &mut certified) {
        certified.output = certify_output(&face, mesh, &rested, &budget)?;
        report.end_phase("output", &mut began);
    }
    face.certified = certified;
    Ok((face, report))
}

/// Binds all points: the skin to the shell, and what hangs on the skin to the skin's nearest point, fading out.
fn embed(region: &Region, coarse: &CoarseMesh) -> Embedding {
    let mut embedding = Embedding::new(&region.points, &region.triangles, coarse);
    let mut is_skin = vec![false; region.points.len()];
    for p in region.triangles.iter().flatten() {
        is_skin[*p as usize] = true;
    }
    let sources: Vec<Source> = (0..region.points.len() as u32)
        .filter(|p| is_skin[*p as usize])
        .map(|p| Source { vertex: p, distance: 0.0, label: p })
        .collect();
    for (point, nearest) in
        nearest_sources(&region.points, &region.all_triangles, &sources).iter().enumerate()
    {
        if let (false, Some(nearest)) = (is_skin[point], nearest) {
            let share = (1.0 - nearest.distance / FADE).max(0.0) as f32;
            let smooth = share * share * (3.0 - 2.0 * share);
            embedding.vertices[point] = embedding.vertices[nearest.label as usize];
            embedding.weights[point] = embedding.weights[nearest.label as usize].map(|w| smooth * w);
        }
    }
    embedding
}

fn skin_vertices(region: &Region) -> Vec<u32> {
    let mut is_skin = vec![false; region.points.len()];
    for p in region.triangles.iter().flatten() {
        is_skin[*p as usize] = true;
    }
    let points = (0..region.points.len()).filter(|p| is_skin[*p]);
    points.map(|p| region.weld.vertices_of_point(p)[0]).collect()
}

/// Where the shell's vertices lie on the whole mesh's own triangles.
fn places_on_mesh(region: &Region, coarse: &CoarseMesh) -> Vec<SurfacePoint> {
    let welded: std::collections::HashMap<[u32; 3], u32> = (0u32..)
        .zip(&region.mesh_triangles)
        .map(|(index, t)| (t.map(|v| region.weld.point_of_vertex[v as usize]), index))
        .collect();
    let on_mesh = |place: &SurfacePoint| SurfacePoint {
        triangle: welded.get(&region.triangles[place.triangle as usize]).copied().unwrap_or(0),
        ..*place
    };
    coarse.places.iter().map(on_mesh).collect()
}
