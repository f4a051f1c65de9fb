//! Parameters of a fit.

use serde::{Deserialize, Serialize};
use zygoma_numerics::{Budget, Checked, Ranged};
use zygoma_physics::shell::ShellParams;

/// Parameters of the stiffness reconstruction (IFA Table 3), in units where the face is 1 m high.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitParams {
    /// The shell; ε^r and p^max matter here.
    pub shell: ShellParams,
    /// κ^ts, target strain stiffness, N/m.
    pub target_strain: f64,
    /// κ^tb, target bending stiffness, N/m.
    pub target_bending: f64,
    /// λ^r, weight of the barrier. IFA eq. 17.
    pub barrier: f64,
    /// λ^ts and λ^tb, weight of the distance from the target stiffness. IFA eq. 18.
    pub target_weight: f64,
    /// λ^l, weight of smoothness. IFA eq. 19.
    pub smoothness: f64,
    /// Weight of ½ A (ln κ/κ^t)², the mild penalty on extremes that IFA §4.3 recommends without a formula. Ours.
    pub extremes: f64,
    /// The strain up to which skin may resist stretching with κ^ts. Skin that an expression stretches further has a softer target, by the
    /// square of the strain: the same energy.
    ///
    /// Ours, and not in the paper, whose loss targets κ^ts everywhere. Actuation can stretch a cheek by a tenth against κ^ts, so that on
    /// our rigs the barrier alone left cheeks and lips nearly as stiff as ears and scalp (medians 1.2 to 1.5 apart). The value was chosen
    /// on the built-in head, facecap and ICT so that they come out at least 10 apart: that they do is no evidence that it suits other
    /// rigs. A large value (1 and more) gives the paper's loss.
    pub stretch: f64,
    /// ε_opt: the fit has converged when an iteration lowers the loss by a smaller fraction than this.
    pub tolerance: f64,
    /// ε_sim: largest residual force at a vertex, as the displacement at which actuation balances it, m. The paper bounds the force
    /// itself (10⁻³ N), which depends on the size of the triangles.
    pub settle_tolerance: f64,
    /// The fraction of ε^r that the fit uses. The rest is for effects that certification includes and the fit does not: the skin beyond
    /// the region of an expression. Ours.
    pub margin: f64,
    /// Displacements below this are outside an expression's region, m. Ours.
    pub still: f64,
    /// Number of rings of triangles simulated around the moved part of an expression. Ours.
    pub rings: usize,
    /// Largest change of a logarithm of the stiffness in one iteration. The paper's 0.5 suits its L-BFGS.
    pub step_cap: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
    /// Seconds after which the best stiffness so far is taken; none: unlimited.
    pub seconds: Option<f64>,
    /// Vertices that follow their target exactly, such as the margins of the eyelids (IFA §4.4).
    pub held: Vec<u32>,
    /// Ends the whole fit, unlike `seconds`, after which the best stiffness so far is still made feasible and certified.
    #[serde(skip)]
    pub budget: Budget,
}

impl Default for FitParams {
    fn default() -> Self {
        Self {
            shell: ShellParams::default(),
            target_strain: 1e2,
            target_bending: 1e2,
            barrier: 0.002,
            target_weight: 1.0,
            smoothness: 5e-7,
            extremes: 5.0,
            stretch: 0.025,
            tolerance: 1e-3,
            settle_tolerance: 1e-6,
            margin: 0.99,
            still: 2e-4,
            rings: 2,
            step_cap: 1.0,
            max_iterations: 200,
            seconds: None,
            held: Vec::new(),
            budget: Budget::default(),
        }
    }
}

impl Checked for FitParams {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges: Vec<Ranged> = self.shell.ranges().into_iter().map(|p| p.within("shell")).collect();
        ranges.extend([
            Ranged::new("target_strain", self.target_strain, 1e-6..=1e9),
            Ranged::new("target_bending", self.target_bending, 1e-6..=1e9),
            Ranged::new("barrier", self.barrier, 1e-12..=1e6),
            Ranged::new("target_weight", self.target_weight, 0.0..=1e6),
            Ranged::new("smoothness", self.smoothness, 0.0..=1e6),
            Ranged::new("extremes", self.extremes, 0.0..=1e6),
            Ranged::new("stretch", self.stretch, 1e-6..=1e9),
            Ranged::new("tolerance", self.tolerance, 0.0..=1.0),
            Ranged::new("settle_tolerance", self.settle_tolerance, 1e-12..=1e-2),
            Ranged::new("margin", self.margin, 0.01..=1.0),
            Ranged::new("still", self.still, 0.0..=1.0),
            Ranged::count("rings", self.rings, 0..=1000),
            Ranged::new("step_cap", self.step_cap, 1e-6..=100.0),
            Ranged::count("max_iterations", self.max_iterations, 0..=1_000_000),
        ]);
        ranges.extend(self.seconds.map(|seconds| Ranged::new("seconds", seconds, 0.0..=1e9)));
        ranges
    }
}
