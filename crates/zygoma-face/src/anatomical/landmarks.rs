//! A dense face from tracked points (*SparseSoftDECA*, Thesis ch. 4, §3.6).
//!
//! The rig's own shapes say how the skin between the points moves: their weights come from bounded least squares over the points, and the expression that
//! they give is the weak regulariser of Thesis ch. 4 eq. 23. The tissue makes up for the distance that remains at the points.

use glam::{DVec3, Vec3};
use zygoma_geometry::normals::vertex_areas;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_rig::formats::markers::MarkerPlace;

use super::build::Anatomical;
use super::inverse::Carried;

/// Regularisation of weights, as a fraction of the mean squared effect of a shape on the points. Ours, as those below.
const MODEST: f64 = 1e-3;
/// Gauss-Seidel sweeps over the weights of all shapes.
const SWEEPS: usize = 200;
/// Rounds of reweighted least squares.
const ROUNDS: usize = 3;
/// A point that the shapes miss by more than this is pulled no harder than at this distance (Huber), m.
const OUTLIER: f64 = 4e-3;

/// Why points cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("point {point} is not on the simulated skin")]
pub struct LandmarkError {
    /// The point, counted from 0.
    pub point: usize,
}

/// Tracked points on a face.
#[derive(Clone)]
pub(super) struct LandmarkDrive {
    points: Vec<Point>,
    /// Displacement of each point by each shape.
    effects: Vec<Vec<DVec3>>,
    /// Where the surface should be at each point, and what was missed by how many.
    pub(super) targets: Vec<DVec3>,
    pub(super) outliers: usize,
}

#[derive(Clone, Copy)]
struct Point {
    vertex: usize,
    /// The skin's place in the neutral, and that of the point.
    rest: DVec3,
    own: DVec3,
}

impl LandmarkDrive {
    /// Finds points on the skin of a head.
    pub(super) fn new(head: &Anatomical, places: &[MarkerPlace]) -> Result<Self, LandmarkError> {
        let output = &head.output;
        let follows = |v: usize| output.embedding.weights[v].iter().sum::<f32>() > 0.5;
        let find = |(point, place): (usize, &MarkerPlace)| {
            let (vertex, own) = match place {
                MarkerPlace::Vertex(vertex) => (*vertex as usize, None),
                MarkerPlace::At(at) => {
                    let distance = |v: &usize| output.neutral[*v].distance_squared(*at);
                    let nearest = (0..output.neutral.len()).filter(|v| follows(*v));
                    let nearest = nearest.min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    (nearest.ok_or(LandmarkError { point })?, Some(*at))
                }
            };
            let rest = *output.neutral.get(vertex).ok_or(LandmarkError { point })?;
            Ok(Point { vertex, rest: rest.as_dvec3(), own: own.unwrap_or(rest).as_dvec3() })
        };
        let points: Vec<Point> = places.iter().enumerate().map(find).collect::<Result<_, _>>()?;
        let count = output.shapes.len();
        let effect = |shape: usize| {
            let mut drawn = vec![Vec3::ZERO; output.neutral.len()];
            let one: Vec<f32> = (0..count).map(|other| f32::from(u8::from(other == shape))).collect();
            let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut drawn), &one, &output.shapes);
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
            points.iter().map(|point| drawn[point.vertex].as_dvec3()).collect()
        };
        Ok(Self {
            effects: (0..count).map(effect).collect(),
            targets: points.iter().map(|point| point.rest).collect(),
            outliers: 0,
            points,
        })
    }

    /// The points as the tissue carries them, each pulled by the area of skin around it; those beyond the tissue only take part in the weights.
    pub(super) fn carried(&self, head: &Anatomical) -> Vec<Carried> {
        let embedding = &head.output.embedding;
        let areas = vertex_areas(&head.rest[..head.skin_count()], &head.surface.triangles);
        let carried = |point: &Point| {
            let (corners, weights) = (embedding.vertices[point.vertex], embedding.weights[point.vertex]);
            let mut carried = Carried { vertices: [corners[0]; 3], barycentric: [0.0; 3], weight: 0.0 };
            for k in 0..3 {
                carried.vertices[k] = corners[k];
                carried.barycentric[k] = weights[k].into();
                carried.weight += f64::from(weights[k]) * areas[corners[k] as usize];
            }
            carried.weight *= head.params.landmark_weight();
            carried
        };
        self.points.iter().map(carried).collect()
    }

    /// Takes positions of the points, in metres in the head's frame. Those that are not finite go where the shapes take them, or stay where they were if
    /// there are no others. Returns the weights of the rig's shapes that come closest to them.
    pub(super) fn set(&mut self, positions: &[Vec3]) -> Vec<f32> {
        let is_seen: Vec<bool> = (0..self.points.len())
            .map(|point| positions.get(point).is_some_and(|at| at.is_finite()))
            .collect();
        let is_seen = if is_seen.contains(&true) { is_seen } else { vec![true; self.points.len()] };
        for ((target, point), at) in self.targets.iter_mut().zip(&self.points).zip(positions) {
            if at.is_finite() {
                *target = point.rest + at.as_dvec3() - point.own;
            }
        }
        let moved: Vec<DVec3> = self.targets.iter().zip(&self.points).map(|(to, p)| *to - p.rest).collect();
        let mut trust: Vec<f64> = is_seen.iter().map(|seen| f64::from(u8::from(*seen))).collect();
        let mut weights = Vec::new();
        for _ in 0..ROUNDS {
            weights = self.fit(&moved, &trust);
            for ((trust, left), _) in
                trust.iter_mut().zip(self.left(&moved, &weights)).zip(&is_seen).filter(|(_, seen)| **seen)
            {
                *trust = (OUTLIER / left.length().max(f64::MIN_POSITIVE)).min(1.0);
            }
        }
        self.outliers = 0;
        let left = self.left(&moved, &weights);
        for ((target, left), seen) in self.targets.iter_mut().zip(left).zip(is_seen) {
            if !seen {
                *target -= left;
            } else if left.length() > OUTLIER {
                *target -= left * (1.0 - OUTLIER / left.length());
                self.outliers += 1;
            }
        }
        weights.iter().map(|weight| *weight as f32).collect()
    }

    /// The displacement that some weights of the shapes leave at each point.
    fn left(&self, moved: &[DVec3], weights: &[f64]) -> Vec<DVec3> {
        let mut left = moved.to_vec();
        for (weight, effects) in weights.iter().zip(&self.effects).filter(|(weight, _)| **weight != 0.0) {
            left.iter_mut().zip(effects).for_each(|(left, effect)| *left -= *weight * *effect);
        }
        left
    }

    /// Weights from 0 to 1 by least squares.
    fn fit(&self, moved: &[DVec3], trust: &[f64]) -> Vec<f64> {
        let sum = |a: &[DVec3], b: &[DVec3]| -> f64 {
            a.iter().zip(b).zip(trust).map(|((a, b), trust)| trust * a.dot(*b)).sum()
        };
        let count = self.effects.len();
        let products: Vec<Vec<f64>> =
            self.effects.iter().map(|a| self.effects.iter().map(|b| sum(a, b)).collect()).collect();
        let pulls: Vec<f64> = self.effects.iter().map(|effects| sum(effects, moved)).collect();
        let mean = (0..count).map(|k| products[k][k]).sum::<f64>() / count.max(1) as f64;
        let modesty = MODEST * mean.max(f64::MIN_POSITIVE);
        let mut weights = vec![0.0; count];
        for _ in 0..SWEEPS {
            for k in 0..count {
                let line = &products[k];
                let other: f64 =
                    line.iter().zip(&weights).map(|(p, w)| p * w).sum::<f64>() - line[k] * weights[k];
                weights[k] = ((pulls[k] - other) / (line[k] + modesty)).clamp(0.0, 1.0);
            }
        }
        weights
    }

    /// Where the surface's carriers should be for the targets, given the plain surface and the targets of the carriers.
    pub(super) fn carrier_targets(&self, carried: &[Carried], plain: &[Vec3], skin: &[DVec3]) -> Vec<DVec3> {
        let target = |((point, carried), target): ((&Point, &Carried), &DVec3)| {
            let own: DVec3 = carried
                .vertices
                .iter()
                .zip(carried.barycentric)
                .map(|(v, fraction)| fraction * skin[*v as usize])
                .sum();
            *target - plain[point.vertex].as_dvec3() + own
        };
        self.points.iter().zip(carried).zip(&self.targets).map(target).collect()
    }

    /// Distances of a surface from the targets: mean and worst, m.
    pub(super) fn miss(&self, surface: &[Vec3]) -> [f64; 2] {
        let misses = self.points.iter().zip(&self.targets);
        let misses: Vec<f64> =
            misses.map(|(point, target)| surface[point.vertex].as_dvec3().distance(*target)).collect();
        [misses.iter().sum::<f64>() / misses.len().max(1) as f64, misses.iter().copied().fold(0.0, f64::max)]
    }
}
