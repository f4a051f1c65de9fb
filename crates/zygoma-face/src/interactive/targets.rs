//! Which expressions the shell must be able to take: single shapes, and shapes together.

use glam::DVec3;
use zygoma_physics::shell::Shell;
use zygoma_rig::{RigMesh, arkit};

use super::BuildParams;
use super::corrections::CLIP;
use super::fit::{Combination, Expression, seeded_combinations};

/// Single shapes and combinations.
pub(super) struct Targets {
    pub(super) singles: Vec<Expression>,
    pub(super) combinations: Vec<Combination>,
}

/// The shapes of a rig on its shell.
pub(super) struct ShapesOnShell<'a> {
    pub(super) mesh: &'a RigMesh,
    pub(super) shell: &'a Shell,
    /// Displacements of the shell's vertices, per shape.
    pub(super) moves: &'a [Vec<DVec3>],
    /// The shape on top of which a shape is used, if it is not used alone.
    pub(super) bases: &'a [Option<usize>],
}

/// `mouthClose` is made to be used on an open jaw: it is fitted and corrected on top of it.
pub(super) fn base_shapes(mesh: &RigMesh) -> Vec<Option<usize>> {
    let is = |index: usize, wanted: &str| {
        arkit::recognise(&mesh.shapes[index].name).is_some_and(|recognised| recognised.shape == wanted)
    };
    let count = mesh.shapes.len();
    let jaw = (0..count).find(|index| is(*index, "jawOpen"));
    (0..count).map(|shape| jaw.filter(|_| is(shape, "mouthClose"))).collect()
}

impl ShapesOnShell<'_> {
    /// All targets of a build. Combinations are the given poses, and seeded ones up to the wanted number.
    pub(super) fn targets(&self, poses: &[Vec<f32>], params: &BuildParams) -> Targets {
        let fitted: Vec<usize> =
            (0..self.moves.len()).filter(|shape| self.is_fitted(*shape, params)).collect();
        let single = |shape: &usize| {
            let parts: Vec<(usize, f64)> = self.bases[*shape]
                .into_iter()
                .chain([*shape])
                .map(|part| (part, params.exaggerate))
                .collect();
            Expression { name: self.name(*shape).to_owned(), positions: self.positions(&parts) }
        };
        let combine = |name: String, parts: &[(usize, f64)]| Combination {
            expression: Expression { name, positions: self.positions(parts) },
            parts: self.singles_in(parts, &fitted, params),
        };
        let pose = |(index, weights): (usize, &Vec<f32>)| {
            let parts: Vec<(usize, f64)> =
                weights.iter().enumerate().map(|(shape, weight)| (shape, f64::from(*weight))).collect();
            combine(format!("pose {index} of the takes"), &parts)
        };
        let poses: Vec<Combination> = poses
            .iter()
            .filter(|weights| weights.len() == self.moves.len())
            .take(params.combinations)
            .enumerate()
            .map(pose)
            .collect();
        let seeded = seeded_combinations(
            &fitted,
            &|shape| self.bases[shape],
            params.combinations - poses.len(),
            params.seed,
        );
        let together = |parts: Vec<(usize, f64)>| {
            let parts: Vec<(usize, f64)> =
                parts.into_iter().map(|(shape, weight)| (shape, params.exaggerate * weight)).collect();
            let names: Vec<String> =
                parts.iter().map(|(shape, weight)| format!("{weight:.2} {}", self.name(*shape))).collect();
            combine(names.join(" + "), &parts)
        };
        Targets {
            singles: fitted.iter().map(single).collect(),
            combinations: poses.into_iter().chain(seeded.into_iter().map(together)).collect(),
        }
    }

    /// How much of each fitted expression is in some shapes together. A shape that is fitted on top of another one stands
    /// for both.
    fn singles_in(
        &self,
        parts: &[(usize, f64)],
        fitted: &[usize],
        params: &BuildParams,
    ) -> Vec<(usize, f64)> {
        let mut weights = vec![0.0; self.moves.len()];
        for (shape, weight) in parts.iter().filter(|(_, weight)| *weight != 0.0) {
            weights[*shape] += weight / params.exaggerate;
            if let Some(base) = self.bases[*shape] {
                weights[base] -= weight / params.exaggerate;
            }
        }
        (0..)
            .zip(fitted)
            .map(|(single, shape)| (single, weights[*shape]))
            .filter(|(_, w)| *w != 0.0)
            .collect()
    }

    fn name(&self, shape: usize) -> &str {
        &self.mesh.shapes[shape].name
    }

    fn is_fitted(&self, shape: usize, params: &BuildParams) -> bool {
        let moves_skin = self.moves[shape].iter().any(|d| d.length() > CLIP);
        moves_skin && !params.corrective.iter().any(|pattern| self.name(shape).contains(pattern.as_str()))
    }

    fn positions(&self, parts: &[(usize, f64)]) -> Vec<DVec3> {
        let mut positions = self.shell.rest.clone();
        for (shape, weight) in parts.iter().filter(|(_, weight)| *weight != 0.0) {
            for (position, moved) in positions.iter_mut().zip(&self.moves[*shape]) {
                *position += *weight * *moved;
            }
        }
        positions
    }
}
