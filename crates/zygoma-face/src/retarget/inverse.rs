//! The inverse simulation: how the tissue of a head deforms under a posed skin and posed bones (AnaConDaR eq. 11 to 14).

use glam::{DAffine3, DVec3};
use zygoma_head::anatomy::Tie;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{
    CorotatedTets, CorotatedVolume, Prefactored, SolveOptions, Solver, Stencil, System, VolumeTarget,
};

use super::params::RetargetParams;
use super::volume::{HeadVolume, from_rows, to_rows};

/// Strain of muscles relative to soft tissue. Ours: AnaConDaR eq. 12 has volume alone, which does not resist shear.
const MUSCLE_STRAIN: f64 = 0.05;
/// Length of the L-BFGS history.
const HISTORY: usize = 8;
/// Rounds in which displacements spread into the tissue before a simulation. Ours: nodes are some ten edges from skin or bone at most.
const SPREAD: usize = 60;
/// Iterations end when nothing moves by more, m.
const STILL: f64 = 2e-6;

/// An inverse simulation of one head, ready to solve any number of expressions, each from rest.
pub(super) struct Inverse {
    system: System<f32>,
    global: Prefactored<f32>,
    solver: Solver<f32>,
    rows: Vec<u32>,
    /// Free nodes with their neighbours.
    free: Vec<(u32, Vec<u32>)>,
    options: SolveOptions,
}

impl Inverse {
    /// Prepares a head. Its skin is held exactly, in place of the pull of AnaConDaR eq. 13, so that a head gets back its own expressions.
    pub(super) fn new(volume: &HeadVolume, params: &RetargetParams) -> Result<Self, NotPositiveDefinite> {
        let is_free = |v: usize| match volume.ties[v] {
            Tie::Flesh => true,
            // Most meshes lack the inside of mouth and eye pockets: the tissue decides there.
            Tie::Skin => !volume.is_seen[v],
            Tie::Cranium | Tie::Mandible | Tie::Neck => false,
        };
        let (rows, free) = volume.order(is_free);
        let mut system = System::new(rows.len(), free);
        let mut tets = CorotatedTets::new();
        for (tet, is_muscle) in volume.tets.iter().zip(&volume.is_muscle) {
            let Some(mut stencil) = Stencil::tetrahedron(&volume.rest, *tet) else { continue };
            let fraction = stencil.size / volume.mean_volume;
            stencil.vertices = tet.map(|v| rows[v as usize]);
            let (strain, volume_weight) = match is_muscle {
                true => (MUSCLE_STRAIN * params.tissue, params.muscle),
                false => (params.tissue, params.tissue),
            };
            tets.push(
                &stencil,
                CorotatedVolume {
                    strain_weight: strain * fraction,
                    volume_weight: volume_weight * fraction,
                    volume: VolumeTarget::REST,
                },
            );
        }
        system.add(tets).expect("every row is one of the system's");
        let around = volume.neighbours();
        let free_nodes = (0..rows.len()).filter(|v| (rows[*v] as usize) < free);
        let free_nodes = free_nodes.map(|v| (v as u32, around[v].clone())).collect();
        let global = Prefactored::new(&system.matrix(&vec![0.0; free]), &[])?;
        let options = SolveOptions {
            iterations: params.iterations,
            history: HISTORY,
            least_motion: STILL,
            ..SolveOptions::default()
        };
        Ok(Self { solver: Solver::new(&system), system, global, rows, free: free_nodes, options })
    }

    /// Solves for all nodes. `displacements` are those of the shared skin.
    pub(super) fn solve(
        &mut self,
        volume: &HeadVolume,
        displacements: &[DVec3],
        jaw: &DAffine3,
    ) -> Vec<DVec3> {
        let mut start = volume.placed(displacements, jaw);
        self.spread(volume, &mut start);
        let mut x = vec![[0.0; 4]; self.rows.len()];
        to_rows(&self.rows, &start, &mut x);
        self.solver.minimise(&self.system, None, &mut self.global, &self.options, &mut x);
        from_rows(&self.rows, &x)
    }

    /// Lets displacements spread from skin and bones into the tissue: a start that depends on this expression alone, with hardly any inverted
    /// tetrahedron.
    fn spread(&self, volume: &HeadVolume, x: &mut [DVec3]) {
        let mut moved: Vec<DVec3> = x.iter().zip(&volume.rest).map(|(p, rest)| *p - *rest).collect();
        for _ in 0..SPREAD {
            for (v, around) in &self.free {
                let sum: DVec3 = around.iter().map(|other| moved[*other as usize]).sum();
                moved[*v as usize] = sum / around.len().max(1) as f64;
            }
        }
        self.free.iter().for_each(|(v, _)| x[*v as usize] = volume.rest[*v as usize] + moved[*v as usize]);
    }
}
