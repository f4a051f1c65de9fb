//! The expressions that the shell must be able to reach: single shapes and combinations.

use std::collections::BTreeSet;

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
    /// The shapes of the single expressions.
    pub(super) fitted: Vec<usize>,
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
    /// All targets of a build. Combinations are the given poses, and seeded ones up to the requested number.
    pub(super) fn targets(&self, poses: &[Vec<f32>], params: &BuildParams) -> Targets {
        let fitted: Vec<usize> =
            (0..self.moves.len()).filter(|shape| self.is_fitted(*shape, params)).collect();
        let single = |shape: &usize| {
            let parts = self.bases[*shape].into_iter().chain([*shape]);
            let parts: Vec<(usize, f64)> = parts.map(|part| (part, params.exaggerate)).collect();
            self.expression(self.name(*shape).to_owned(), &parts)
        };
        let pose = |(index, weights): (usize, &Vec<f32>)| {
            let parts: Vec<(usize, f64)> =
                weights.iter().enumerate().map(|(shape, weight)| (shape, f64::from(*weight))).collect();
            self.combination(format!("pose {index} of the takes"), &parts, &fitted, params)
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
        let seeded = seeded.iter().map(|parts| self.together(parts, &fitted, params));
        Targets {
            singles: fitted.iter().map(single).collect(),
            combinations: poses.into_iter().chain(seeded).collect(),
            fitted,
        }
    }

    /// Combines some of the fitted expressions, by index, all at full weight. A shape that is used on top of another one includes that
    /// one.
    pub(super) fn in_full(&self, singles: &[usize], fitted: &[usize], params: &BuildParams) -> Combination {
        let shapes = singles.iter().map(|single| fitted[*single]);
        let with_bases: BTreeSet<usize> = shapes.flat_map(|s| self.bases[s].into_iter().chain([s])).collect();
        let parts: Vec<(usize, f64)> = with_bases.into_iter().map(|shape| (shape, 1.0)).collect();
        self.together(&parts, fitted, params)
    }

    /// Combines shapes, at fractions of their fitted weights.
    fn together(&self, parts: &[(usize, f64)], fitted: &[usize], params: &BuildParams) -> Combination {
        let parts: Vec<(usize, f64)> =
            parts.iter().map(|(shape, weight)| (*shape, params.exaggerate * weight)).collect();
        let names: Vec<String> =
            parts.iter().map(|(shape, weight)| format!("{weight:.2} {}", self.name(*shape))).collect();
        self.combination(names.join(" + "), &parts, fitted, params)
    }

    fn combination(
        &self,
        name: String,
        parts: &[(usize, f64)],
        fitted: &[usize],
        params: &BuildParams,
    ) -> Combination {
        let expression = self.expression(name, parts);
        Combination { expression, parts: self.singles_in(parts, fitted, params) }
    }

    fn expression(&self, name: String, parts: &[(usize, f64)]) -> Expression {
        let (mut positions, mut weights) = (self.shell.rest.clone(), vec![0.0; self.moves.len()]);
        for (shape, weight) in parts.iter().filter(|(_, weight)| *weight != 0.0) {
            weights[*shape] = *weight as f32;
            for (position, moved) in positions.iter_mut().zip(&self.moves[*shape]) {
                *position += *weight * *moved;
            }
        }
        Expression { name, positions, weights }
    }

    /// The weight of each fitted expression in a combination of shapes. A shape that is fitted on top of another one represents both.
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
}
