//! What the settled and warped shell misses of the artist's shapes, to be added back (IFA eq. 13).

use std::sync::Arc;

use glam::{DVec3, Vec3, Vec4, Vec4Swizzles};
use rayon::prelude::*;
use zygoma_geometry::embedding::Embedding;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::shell::{
    FrameMotion, NewtonParams, Settled, Shell, ShellParams, Statics, StepMatrices, StepOrder, Stepper,
    Stiffness,
};
use zygoma_rig::{RigMesh, SparseDeltas};

use super::face::FaceShape;
use super::region::Region;

/// Corrections below this share of the height are left out (eq. 13).
pub(super) const CLIP: f64 = 1e-4;

/// Steps in which a shell near its equilibrium comes to rest: 0.6 s. Ours.
const SETTLING_STEPS: usize = 300;

/// A face that lacks nothing but its corrections.
pub(super) struct Uncorrected<'a> {
    pub(super) mesh: &'a RigMesh,
    pub(super) region: &'a Region,
    pub(super) shell: &'a Shell,
    pub(super) held: &'a [bool],
    pub(super) stiffness: &'a Stiffness,
    pub(super) params: &'a ShellParams,
    /// Displacements of all points, per shape.
    pub(super) deltas: &'a [Vec<DVec3>],
    /// Displacements of the shell's targets, per shape.
    pub(super) moves: &'a [Vec<DVec3>],
    /// The shape on top of which a shape is used, if it is not used alone.
    pub(super) bases: &'a [Option<usize>],
    /// How the points follow the shell.
    pub(super) embedding: &'a Embedding,
}

/// What is added back.
pub(super) struct Corrections {
    /// What the shell at rest misses of the neutral.
    pub(super) neutral_residual: Vec<DVec3>,
    pub(super) shapes: Vec<FaceShape>,
}

impl Uncorrected<'_> {
    /// Settles every shape and keeps what is missing.
    pub(super) fn correct(&self) -> Result<Corrections, NotPositiveDefinite> {
        let free: Vec<bool> = self.held.iter().map(|held| !held).collect();
        let order = Arc::new(StepOrder::new(self.shell, &free));
        let matrices = Arc::new(StepMatrices::new(self.shell, self.stiffness, self.params, &order)?);
        let miss = |moved: &dyn Fn(usize) -> DVec3| self.miss(moved, &free, &order, &matrices);
        let moves = self.moves;
        let neutral_residual = miss(&|_| DVec3::ZERO);
        let residuals: Vec<Vec<DVec3>> = (0..moves.len())
            .into_par_iter()
            .map(|shape| match self.bases[shape] {
                None => difference(&miss(&|v| moves[shape][v]), &neutral_residual),
                Some(base) => {
                    difference(&miss(&|v| moves[base][v] + moves[shape][v]), &miss(&|v| moves[base][v]))
                }
            })
            .collect();
        let shapes = (0..moves.len())
            .into_par_iter()
            .map(|shape| FaceShape {
                name: self.mesh.shapes[shape].name.clone(),
                coarse: sparse(&moves[shape], 0.0),
                residual: sparse(&residuals[shape], 0.1 * CLIP),
                detail: self.detail(shape),
            })
            .collect();
        Ok(Corrections { neutral_residual, shapes })
    }

    /// What the settled shell misses of a target.
    fn miss(
        &self,
        moved: &dyn Fn(usize) -> DVec3,
        free: &[bool],
        order: &Arc<StepOrder>,
        matrices: &Arc<StepMatrices>,
    ) -> Vec<DVec3> {
        let shell = self.shell;
        let target: Vec<DVec3> = (0..shell.vertex_count()).map(|v| shell.rest[v] + moved(v)).collect();
        let mut settled = target.clone();
        let statics = Statics::new(shell, self.params, &target, free);
        let weights = statics.weights(self.stiffness);
        if let Ok(found) = Settled::new(&statics, &weights, &NewtonParams::default()) {
            for (vertex, x) in statics.vertices().iter().zip(&found.x) {
                settled[*vertex as usize] = *x;
            }
        }
        let rested = rest_at(Stepper::new(shell, order.clone(), matrices.clone()), &settled, &target);
        difference(&target, &rested)
    }

    /// What the warped targets of a shape miss of it at full resolution.
    fn detail(&self, shape: usize) -> SparseDeltas {
        let missing = |point: usize| {
            let missing =
                self.deltas[shape][point] - self.embedding.displacement_f64(point, &self.moves[shape]);
            if missing.length() < CLIP { Vec3::ZERO } else { missing.as_vec3() }
        };
        let points: Vec<Vec3> = (0..self.region.points.len()).map(missing).collect();
        SparseDeltas::from_dense(&self.region.weld.spread(&points))
    }
}

/// Where the shell comes to rest when it starts near its equilibrium: the very steps of a running face, so that what
/// is corrected is what it will miss.
fn rest_at(mut stepper: Stepper, start: &[DVec3], target: &[DVec3]) -> Vec<DVec3> {
    let order = stepper.order().clone();
    let in_order = |positions: &[DVec3]| -> Vec<Vec4> {
        order.vertices.iter().map(|v| positions[*v as usize].as_vec3().extend(0.0)).collect()
    };
    let (start, target) = (in_order(start), in_order(target));
    stepper.place(&start, &vec![Vec4::ZERO; start.len()]);
    for _ in 0..SETTLING_STEPS {
        stepper.assemble(&target, &FrameMotion::default());
        stepper.solve(&target);
        stepper.finish();
    }
    let mut rested = vec![DVec3::ZERO; start.len()];
    for (vertex, position) in order.vertices.iter().zip(stepper.positions()) {
        rested[*vertex as usize] = position.xyz().as_dvec3();
    }
    rested
}

fn sparse(dense: &[DVec3], clip: f64) -> SparseDeltas {
    let kept = dense.iter().map(|d| if d.length() < clip { Vec3::ZERO } else { d.as_vec3() });
    SparseDeltas::from_dense(&kept.collect::<Vec<_>>())
}

fn difference(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a - *b).collect()
}
