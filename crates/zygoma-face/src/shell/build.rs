//! Fits a shell to a rig: its stiffness, its maximum indentation, and its corrections.

use std::sync::Arc;
use std::time::Instant;

use glam::DVec3;
use serde::{Deserialize, Serialize};
use zygoma_numerics::{BadParam, Budget, Checked, NotPositiveDefinite, Ranged, Stop};
use zygoma_physics::shell::{Shell, ShellError, Stiffness};
use zygoma_rig::RigMesh;

use super::build_report::BuildReport;
use super::corrections::{Corrections, Uncorrected};
use super::depth::largest_depth;
use super::fit::{self, Combinations, FitError, FitParams, FitProgress, Stage};
use super::model::{CertifiedFace, FittedShell, NoShell, Searched, ShellModel};
use super::output::certify_output;
use super::run::RunError;
use super::targets::{ShapesOnShell, Targets, base_shapes};
use super::thin::thin_places;
use crate::model::{Continue, FaceModel, PrepareError, Prepared, SIZES};

/// Of the time left after meshing, the fit may use the first fraction, and certification ends at the second: the rest is for corrections,
/// without which a face would not look like its rig. Ours.
const FIT_SHARE: f64 = 0.5;
const CERTIFY_FRACTION: f64 = 0.75;

/// Build parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BuildParams {
    /// Target number of triangles of the shell.
    pub triangles: usize,
    /// Shapes are fitted at this weight (IFA §5.2: 1.2 where exaggerated weights are expected).
    pub exaggerate: f64,
    /// Shapes whose name contains one of these are correctives: not fitted.
    pub corrective: Vec<String>,
    /// Number of shape combinations that are certified, and fitted where they fail: frames of takes, then seeded ones.
    pub combinations: usize,
    /// Seed of the combinations.
    pub seed: u64,
    /// Stiffness reconstruction and shell.
    pub fit: FitParams,
    /// If given, skips the fit: the same stiffness everywhere, N/m.
    pub uniform_stiffness: Option<f64>,
    /// Whether the settled shell's residual from each shape is computed and added back. Without, a build takes seconds: for a first
    /// impression.
    pub corrected: bool,
    /// Seconds for the whole build; none: unlimited. The fit ends early with the best stiffness so far, and expressions that there is no
    /// time for count as not certified; a build whose mesh or corrections take longer fails.
    pub seconds: Option<f64>,
    /// Cancels the build.
    #[serde(skip)]
    pub budget: Budget,
}

/// Build progress.
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
    /// The rig cannot be prepared for any body.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A parameter lies outside its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// The coarse mesh cannot be a shell.
    #[error("the coarse mesh cannot be simulated: {0}")]
    Shell(#[from] ShellError),
    /// The matrix of a time step cannot be factored.
    #[error("the shell cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
    /// The stiffness could not be fitted.
    #[error("the stiffness could not be fitted: {0}")]
    Fit(FitError),
    /// The face cannot run as a shell.
    #[error(transparent)]
    NoShell(#[from] NoShell),
}

impl BuildError {
    /// Why the build was stopped from outside; `None` if it failed by itself.
    pub fn stopped(&self) -> Option<Stop> {
        match self {
            Self::Prepare(PrepareError::Stopped(stop)) => Some(*stop),
            _ => None,
        }
    }
}

impl From<Stop> for BuildError {
    fn from(stop: Stop) -> Self {
        Self::Prepare(stop.into())
    }
}

impl From<RunError> for BuildError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Matrix(error) => error.into(),
            RunError::Param(error) => error.into(),
            RunError::NoShell(error) => error.into(),
        }
    }
}

impl From<FitError> for BuildError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Abandoned => Stop::Cancelled.into(),
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

/// The input of a build.
#[derive(Clone, Copy, Debug)]
pub struct BuildInput<'a> {
    /// The rig's name.
    pub name: &'a str,
    /// The mesh to be simulated.
    pub mesh: &'a RigMesh,
    /// Weights of the mesh's shapes that must be reached as well as single shapes: frames of takes.
    pub poses: &'a [Vec<f32>],
}

/// Builds a face with a shell from a rig's mesh.
pub fn build(
    name: &str,
    mesh: &RigMesh,
    params: &BuildParams,
    progress: &mut dyn FnMut(BuildProgress) -> Continue,
) -> Result<FaceModel, BuildError> {
    let input = BuildInput { name, mesh, poses: &[] };
    build_with_report(&input, params, progress).map(|(face, _)| face)
}

/// [`build`] that also returns a report.
pub fn build_with_report(
    input: &BuildInput,
    params: &BuildParams,
    progress: &mut dyn FnMut(BuildProgress) -> Continue,
) -> Result<(FaceModel, BuildReport), BuildError> {
    let BuildInput { name, mesh, .. } = *input;
    let mut report = BuildReport::default();
    let mut began = Instant::now();
    if !SIZES.contains(&params.triangles) {
        return Err(PrepareError::Size(params.triangles).into());
    }
    params.check()?;
    let budget = params.budget.within(params.seconds);
    if progress(BuildProgress::Meshing) == Continue::Abandon {
        return Err(Stop::Cancelled.into());
    }
    let prepared = Prepared::new(mesh, params.triangles, &budget)?;
    let Prepared { region, coarse, moves, is_held } = &prepared;
    let shell = Shell::new(coarse.positions.clone(), coarse.triangles.clone())?;
    let soft_moves: Vec<&[DVec3]> =
        (0..moves.len()).filter(|shape| !region.jaw.contains(shape)).map(|shape| &moves[shape][..]).collect();
    let is_thin = thin_places(&region.points, &region.triangles, &shell.rest, &budget)?;
    let depth = largest_depth(&shell, &soft_moves, &is_thin, &params.fit.shell, &budget)?;
    let bases = base_shapes(mesh);
    report.end_phase("mesh", &mut began);

    let (stiffness, mut certified, rested) = match params.uniform_stiffness {
        Some(value) => (Stiffness::uniform(shell.vertex_count(), value, value), None, Default::default()),
        None => {
            let on_shell = ShapesOnShell { mesh, shell: &shell, moves, bases: &bases };
            let Targets { singles, combinations, fitted } = on_shell.targets(input.poses, params);
            let in_full = |singles: &[usize]| on_shell.in_full(singles, &fitted, params);
            let combinations = Combinations {
                given: &combinations,
                together: if params.combinations > 0 { Some(&in_full) } else { None },
            };
            let mut fit_params = params.fit.clone();
            fit_params.held = (0..is_held.len() as u32).filter(|v| is_held[*v as usize]).collect();
            fit_params.budget = budget.fraction(CERTIFY_FRACTION);
            let for_fit = budget.seconds_left().map(|left| FIT_SHARE * left);
            fit_params.seconds = [params.fit.seconds, for_fit].into_iter().flatten().reduce(f64::min);
            let mut relay = |now: Stage| {
                progress(match now {
                    Stage::Fitting(now) => BuildProgress::Fitting(now),
                    Stage::Certifying => BuildProgress::Certifying,
                })
            };
            let mut found =
                fit::reconstruct_certified(&shell, &singles, combinations, &fit_params, &mut relay)?;
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
    let uncorrected = Uncorrected {
        shell: &shell,
        held: is_held,
        stiffness: &stiffness,
        params: &params.fit.shell,
        moves,
        bases: &bases,
        budget: &budget,
    };
    let Corrections { neutral_residual, corrections, pairs } =
        if params.corrected { uncorrected.correct()? } else { uncorrected.without() };
    report.end_phase("correct", &mut began);

    let mut model = prepared.model(name, mesh)?;
    let mut fitted = FittedShell {
        depth,
        stiffness,
        params: params.fit.shell.clone(),
        neutral_residual,
        corrections,
        pairs,
        certified: None,
    };
    let face = Arc::new(ShellModel::with(&model, fitted.clone())?);
    if let (true, Some(certified)) = (params.corrected, &mut certified) {
        certified.output = certify_output(&face, mesh, &rested, &budget)?;
        report.end_phase("output", &mut began);
    }
    fitted.certified = certified;
    model.add_section(&fitted);
    Ok((model, report))
}
