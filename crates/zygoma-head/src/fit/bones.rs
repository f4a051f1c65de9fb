//! Predicts the bones under a registered skin, by one of several models.

use glam::{DQuat, DVec3};
use rayon::prelude::*;
use zygoma_geometry::rbf::{RbfWarp, farthest_points};
use zygoma_geometry::similarity::Similarity;
use zygoma_numerics::DenseFactor;

use super::population::{COEFFICIENTS, DIAL_STEP, Moves, of_dial, pose_columns};
use super::register::{data_weights, vertex_normals};
use super::{FitError, METRE};
use crate::anatomy::template_bones;
use crate::dials::Warp;
use crate::sculpt::ear;
use crate::template::Template;

/// How bones are found under a skin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoneModel {
    /// The template's bones carried by the space warp that carries the template's skin to the head's.
    SpaceWarp,
    /// The same warp, from the head that the dials alone make: fat that soft dials stand for moves no bone.
    Dials,
    /// The best linear prediction from skin to bone, over the heads that a fit expects.
    #[default]
    Linear,
    /// Wraps at regressed distances (Thesis eq. 2–5).
    Wraps,
}

/// How fat a head is: the dial `weight`, which bone does not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fat {
    /// Estimated from the skin.
    #[default]
    Auto,
    /// As given, from −1 to 1.
    Given(f64),
}

/// A registered skin in the head's own frame, in metres.
pub(super) struct Skin<'a> {
    pub(super) template: &'a Template,
    pub(super) warp: &'a Warp,
    /// The skin of the head that the dials alone make.
    pub(super) by_dials: &'a [DVec3],
    pub(super) skin: &'a [DVec3],
}

/// Bones in metres: cranium and mandible.
pub(super) type Bones = [Vec<DVec3>; 2];

/// Centres of the space warps (the number is ours).
const CENTRES: usize = 800;

impl Skin<'_> {
    /// The bones by a model, and the fat that it assumes.
    pub(super) fn bones(&self, model: BoneModel, fat: Fat) -> Result<(Bones, f64), FitError> {
        let given = |estimate: f64| if let Fat::Given(value) = fat { value } else { estimate };
        let template = template_bones();
        match model {
            BoneModel::SpaceWarp => {
                let start: Vec<DVec3> = self.template.base.rest.iter().map(|p| *p / METRE).collect();
                let space = self.space_warp(&start)?;
                Ok((template.map(|bone| bone.iter().map(|p| space.apply(*p / METRE)).collect()), given(0.0)))
            }
            BoneModel::Dials => {
                let space = self.space_warp(self.by_dials)?;
                let place = |p: &DVec3| space.apply(self.warp.apply(*p, 0.0) / METRE);
                Ok((template.map(|bone| bone.iter().map(place).collect()), given(0.0)))
            }
            BoneModel::Linear => {
                let mut found = self.coefficients(fat)?;
                if found.fat.abs() > 1.0 {
                    // The estimate leaves the dial's range: take the nearest value in it.
                    found = self.coefficients(Fat::Given(found.fat.clamp(-1.0, 1.0)))?;
                }
                let place = |bone: Vec<DVec3>| {
                    let offsets = Moves::new(&bone, &vec![0.0; bone.len()]).offsets(&found.coefficients);
                    bone.iter()
                        .zip(offsets)
                        .map(|(p, offset)| found.pose.apply((*p + offset) / METRE))
                        .collect()
                };
                Ok((template.map(place), found.fat.clamp(-1.0, 1.0)))
            }
            BoneModel::Wraps => super::wraps::bones(self, fat),
        }
    }

    /// The warp that carries a skin to the registered one. Ears have no relation to the inside, and their folds would disturb it.
    pub(super) fn space_warp(&self, start: &[DVec3]) -> Result<RbfWarp, FitError> {
        let rest = &self.template.base.rest;
        let centres: Vec<usize> =
            (0..start.len()).filter(|v| !ear::is_ear(rest[*v].with_x(rest[*v].x.abs()))).collect();
        let pick = |points: &[DVec3]| centres.iter().map(|v| points[*v]).collect::<Vec<DVec3>>();
        RbfWarp::sampled(&pick(start), &pick(self.skin), CENTRES).map_err(|_| FitError::Unsolvable)
    }

    /// Points of the outer skin, without ears and neck.
    pub(super) fn samples(&self, count: usize) -> Vec<usize> {
        let weights = data_weights(&self.template.base);
        let outer: Vec<usize> = (0..weights.len()).filter(|v| weights[*v] == 1.0).collect();
        let places: Vec<DVec3> = outer.iter().map(|v| self.template.base.rest[*v]).collect();
        farthest_points(&places, count).into_iter().map(|i| outer[i as usize]).collect()
    }

    /// The most probable head with this skin: least squares for all coefficients with their priors.
    pub(super) fn coefficients(&self, fat: Fat) -> Result<Latent, FitError> {
        /// Sampled skin points.
        const POINTS: usize = 500;
        /// Errors of a registered point across and along the skin, in millimetres. Those of neighbours are alike, so they count for more
        /// than the noise of one point. Ours: chosen on six generated heads.
        const ACROSS: f64 = 1.0;
        const ALONG: f64 = 3.0;
        /// Standard deviation of the pose that is left, as turn, millimetres and change of size.
        const POSE: [f64; 7] = [0.05, 0.05, 0.05, 5.0, 5.0, 5.0, 0.05];
        let base = &self.template.base;
        let samples = self.samples(POINTS);
        let points: Vec<DVec3> = samples.iter().map(|v| base.rest[*v]).collect();
        let softness: Vec<f64> = samples.iter().map(|v| self.template.softness[*v]).collect();
        let moves = Moves::new(&points, &softness);
        let normals = vertex_normals(self.skin, &base.triangles);
        let size = COEFFICIENTS + POSE.len();
        let mut rows: Vec<(Vec<f64>, f64)> = Vec::with_capacity(3 * POINTS);
        for (i, v) in samples.iter().enumerate() {
            let (p, normal) = (points[i], normals[*v]);
            let residual = METRE * self.skin[*v] - p;
            let side = normal.any_orthonormal_vector();
            let pose = pose_columns(p).into_iter().zip(POSE).map(|(column, size)| size * column);
            let columns: Vec<DVec3> = moves.columns(i).chain(pose).collect();
            for (axis, error) in [(normal, ACROSS), (side, ALONG), (normal.cross(side), ALONG)] {
                let row = columns.iter().map(|column| column.dot(axis) / error).collect();
                rows.push((row, residual.dot(axis) / error));
            }
        }
        let fat_number = of_dial(WEIGHT).ok_or(FitError::Unsolvable)?;
        let (mut prior, mut wanted) = (1.0, 0.0);
        if let Fat::Given(value) = fat {
            /// Certain, as far as the solve can be.
            const CERTAIN: f64 = 1e8;
            (prior, wanted) = (CERTAIN, value / DIAL_STEP);
        }
        let matrix = normal_matrix(&rows, size);
        let diagonal = |i: usize| if i == fat_number { prior } else { 1.0 };
        let entry = |i: usize, j: usize| matrix[i * size + j] + if i == j { diagonal(i) } else { 0.0 };
        let factor = DenseFactor::new(size, entry).ok_or(FitError::Unsolvable)?;
        let mut x = vec![[0.0; 4]; size];
        for (row, residual) in &rows {
            row.iter().zip(&mut x).for_each(|(value, x)| x[0] += value * residual);
        }
        x[fat_number][0] += prior * wanted;
        factor.solve(&mut x);
        let pose: Vec<f64> = (0..POSE.len()).map(|k| POSE[k] * x[COEFFICIENTS + k][0]).collect();
        Ok(Latent {
            coefficients: x[..COEFFICIENTS].iter().map(|x| x[0]).collect(),
            pose: Similarity {
                scale: 1.0 + pose[6],
                rotation: DQuat::from_scaled_axis(DVec3::new(pose[0], pose[1], pose[2])),
                translation: DVec3::new(pose[3], pose[4], pose[5]) / METRE,
            },
            fat: DIAL_STEP * x[fat_number][0],
        })
    }
}

/// The dial that stands for fat.
const WEIGHT: &str = "weight";

/// A head of the population with its pose.
pub(super) struct Latent {
    pub(super) coefficients: Vec<f64>,
    /// In metres.
    pub(super) pose: Similarity,
    pub(super) fat: f64,
}

/// The upper triangle of RᵀR, row by row in a full matrix.
fn normal_matrix(rows: &[(Vec<f64>, f64)], size: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; size * size];
    matrix.par_chunks_mut(size).enumerate().for_each(|(i, line)| {
        for (row, _) in rows {
            let factor = row[i];
            if factor != 0.0 {
                line[i..].iter_mut().zip(&row[i..]).for_each(|(sum, value)| *sum += factor * value);
            }
        }
    });
    matrix
}
