//! How far the running face is from the rig: the very steps, at full resolution, with corrections.
//!
//! The stiffness is certified on the shell ([`fit`](super::fit)); users see the warped mesh with what is added back
//! (IFA eq. 14). This compares that with the artist's own surface, for single shapes, for combinations, and for those that
//! a search finds to be worse.

use glam::Vec3;
use rayon::prelude::*;
use zygoma_numerics::random::Keyed;
use zygoma_numerics::{Budget, Stop};
use zygoma_rig::RigMesh;
use zygoma_rig::evaluate::Evaluator;

use super::face::{CertifiedOutput, Face, Tally};
use super::{BuildError, InteractiveFace, RunParams};

/// Of the combinations, so many are compared: those that the shell meets worst. Ours.
pub(super) const COMPARED: usize = 60;

/// The search for the worst combination starts from so many poses, and tries so many changes of each. Ours.
const STARTS: usize = 4;
const TRIALS: u64 = 30;

/// What the random numbers of the search are for.
const SEARCH: u64 = 0x0e44;

/// Weights of a mesh's shapes, with a name for reports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pose {
    pub(super) name: String,
    pub(super) weights: Vec<f32>,
}

/// What is compared.
pub(super) struct Compared<'a> {
    pub(super) face: &'a Face,
    pub(super) mesh: &'a RigMesh,
    /// Shapes that a search may use, each with the shape that it is used on top of.
    pub(super) shapes: &'a [(usize, Option<usize>)],
    /// The weight of a shape that is fully on.
    pub(super) full: f32,
    pub(super) seed: u64,
    pub(super) budget: &'a Budget,
}

impl Compared<'_> {
    /// Compares single shapes and combinations, and searches for worse ones. None if there is no time for it.
    pub(super) fn certify(
        &self,
        singles: &[Pose],
        combinations: &[Pose],
    ) -> Result<Option<CertifiedOutput>, BuildError> {
        let evaluator = Evaluator::new(self.mesh);
        let params = RunParams { normals: false, ..RunParams::default().awake().weightless() };
        // Matrices are factored once; a face is made for every thread.
        let mould = InteractiveFace::new(self.face, params)?.mould();
        let runner = || Runner {
            running: InteractiveFace::from_mould(&mould),
            evaluator: &evaluator,
            plain: vec![Vec3::ZERO; self.mesh.positions.len()],
        };
        let deviation = |runner: &mut Runner, pose: &Pose| {
            self.budget.check()?;
            Ok(runner.deviation(&pose.weights))
        };
        let deviations = |poses: &[Pose]| -> Result<Vec<f64>, Stop> {
            poses.par_iter().map_init(runner, deviation).collect()
        };
        let (of_singles, of_combinations) = match (deviations(singles), deviations(combinations)) {
            (Ok(of_singles), Ok(of_combinations)) => (of_singles, of_combinations),
            _ if !self.budget.is_cancelled() => return Ok(None),
            _ => return Err(Stop::Cancelled.into()),
        };
        let mut known: Vec<(f64, &Pose)> = of_singles
            .iter()
            .copied()
            .zip(singles)
            .chain(of_combinations.iter().copied().zip(combinations))
            .collect();
        known.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let starts: Vec<(f64, &Pose)> = known.iter().take(STARTS).copied().collect();
        let search = |runner: &mut Runner, (number, start): (usize, &(f64, &Pose))| {
            self.search(runner, number, *start)
        };
        let found: Vec<(f64, Vec<f32>)> = starts.par_iter().enumerate().map_init(runner, search).collect();
        let searched: Vec<f64> = found.iter().map(|(deviation, _)| *deviation).collect();
        let worst = found.iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
        let tally = |deviations: &[f64]| tally(deviations, self.face.params.tolerance);
        Ok(Some(CertifiedOutput {
            shapes: tally(&of_singles),
            combinations: tally(&of_combinations),
            searched: tally(&searched),
            worst: worst.map_or_else(String::new, |(_, weights)| self.describe(weights)),
        }))
    }

    /// Changes the weights of one shape after the other, and keeps what makes the deviation larger.
    fn search(&self, runner: &mut Runner, number: usize, start: (f64, &Pose)) -> (f64, Vec<f32>) {
        let random = Keyed::new(self.seed, SEARCH + number as u64);
        let (mut worst, mut weights) = (start.0, start.1.weights.clone());
        for trial in (0..TRIALS).take_while(|_| !self.budget.is_over()) {
            let pick = |salt: u64, count: usize| {
                ((random.uniform(2 * trial + salt) * count as f64) as usize).min(count.saturating_sub(1))
            };
            let Some((shape, base)) = self.shapes.get(pick(0, self.shapes.len())) else { break };
            let mut tried = weights.clone();
            tried[*shape] = [0.0, 0.5 * self.full, self.full][pick(1, 3)];
            if let Some(base) = base {
                tried[*base] = tried[*base].max(tried[*shape]);
            }
            let deviation = runner.deviation(&tried);
            if deviation > worst {
                (worst, weights) = (deviation, tried);
            }
        }
        (worst, weights)
    }

    fn describe(&self, weights: &[f32]) -> String {
        let used = weights.iter().zip(&self.mesh.shapes).filter(|(weight, _)| **weight != 0.0);
        used.map(|(weight, shape)| format!("{weight:.2} {}", shape.name)).collect::<Vec<_>>().join(" + ")
    }
}

/// A running face beside the plain rig.
struct Runner<'a> {
    running: InteractiveFace,
    evaluator: &'a Evaluator,
    plain: Vec<Vec3>,
}

impl Runner<'_> {
    /// How far the worst vertex of the face at rest is from the rig, in heights.
    fn deviation(&mut self, weights: &[f32]) -> f64 {
        self.evaluator.evaluate(weights, &mut self.plain);
        let shown = self.running.rest_with(weights);
        let worst = shown.iter().zip(&self.plain).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        f64::from(worst) / self.running.face().height
    }
}

fn tally(deviations: &[f64], tolerance: f64) -> Tally {
    let holding = deviations.iter().filter(|d| **d <= tolerance).count();
    let worst = deviations.iter().copied().reduce(f64::max).map(|worst| worst / tolerance);
    Tally { count: deviations.len(), holding, worst }
}
