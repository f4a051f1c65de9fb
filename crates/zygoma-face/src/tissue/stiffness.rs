//! Fits stiffness to the blendshapes, so that the shapes, taken as forces, hold themselves (*Progressive PD*, §4.2).
//!
//! The paper gives no formula. Internal forces at a shape are linear in the weights w of the potentials, so the forces c_b B_b along each
//! shape b balance them best where Σ_b ‖Σ_k w_k g_k(b) − c_b B_b‖² / ‖B_b‖² is smallest. Here k runs over the regions of the tissue and
//! the kinds of potential; the weights are bounded, smooth from region to region, and of mean 1. In that mean each weight counts by its
//! own misfit: otherwise regions that no shape moves, and the kind that does least work, take all weight from the others.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::topology::half_edges;
use zygoma_physics::projective::{Group, Part, Row, ShapedTets, Stencil, position, row};

use super::TissueParams;
use super::contraction::ContractedShape;
use super::elements::shaped_parameters;
use crate::volume::{Tie, TissueMesh, attachment_at, mobility};

/// Kinds of potentials: strain, volume and the attachment to the bone.
const KINDS: usize = 3;
/// Maximum steps of the search for the best weights; each is a product with a matrix of some dozens of rows.
const STEPS: usize = 20_000;
/// The search has converged when a step changes no weight by more than this.
const SETTLED: f64 = 1e-12;

/// Stiffness of the tissue at each vertex of the skin, relative to the parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StiffnessMap {
    pub(super) strain: Vec<f64>,
    pub(super) volume: Vec<f64>,
    pub(super) attachment: Vec<f64>,
}

impl StiffnessMap {
    /// Whether it has as many factors as another map, all finite and not negative.
    pub(super) fn fits(&self, other: &Self) -> bool {
        let pairs = [
            (&self.strain, &other.strain),
            (&self.volume, &other.volume),
            (&self.attachment, &other.attachment),
        ];
        let is_sound = |factor: &f64| factor.is_finite() && *factor >= 0.0;
        pairs.iter().all(|(own, other)| own.len() == other.len() && own.iter().all(is_sound))
    }

    /// The parameters' stiffness everywhere.
    pub(super) fn uniform(count: usize) -> Self {
        Self { strain: vec![1.0; count], volume: vec![1.0; count], attachment: vec![1.0; count] }
    }

    /// Firm attachment where no expression moves the skin, such as on the scalp, and loose attachment where one moves it far, such as at
    /// the cheeks: ligaments hold skin that muscles do not move over the bone. `moves` are displacements by shapes that move no bone, m.
    pub(super) fn by_motion<'a>(moves: impl Iterator<Item = &'a [DVec3]>, count: usize, height: f64) -> Self {
        let attachment = mobility(moves, count, height).into_iter().map(attachment_at).collect();
        Self { attachment, ..Self::uniform(count) }
    }

    /// Factors of strain and volume of an element below vertices of the skin.
    pub(super) fn of_element(&self, skin: &[u32]) -> [f64; 2] {
        [&self.strain, &self.volume]
            .map(|map| skin.iter().map(|v| map[*v as usize]).sum::<f64>() / skin.len() as f64)
    }
}

/// Constraints of a fit. Ours, the paper says nothing of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FitOptions {
    /// Smallest and largest factor.
    pub(super) bounds: [f64; 2],
    /// Weight of the difference between neighbouring regions against the mean misfit of a weight.
    pub(super) smooth: f64,
}

/// Smoothly overlapping regions of a skin.
pub(super) struct Regions {
    /// Region and weight, for each vertex; weights sum to 1.
    pub(super) fractions: Vec<Vec<(u32, f64)>>,
    count: usize,
}

impl Regions {
    /// Spreads about the wanted number of regions over the skin by farthest-point sampling, each with its mirror image: the fit of a
    /// symmetric face is then as symmetric as the face.
    pub(super) fn spread(skin: &[DVec3], wanted: usize) -> Self {
        let (low, high) =
            skin.iter().fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(*p), high.max(*p)));
        let middle = 0.5 * (low + high);
        let mut seeds: Vec<DVec3> = Vec::new();
        let mut away: Vec<f64> = skin.iter().map(|p| p.distance(middle)).collect();
        while seeds.len() < wanted.min(skin.len()) {
            let Some(farthest) = (0..skin.len()).max_by(|a, b| away[*a].total_cmp(&away[*b])) else { break };
            let DVec3 { x, y, z } = skin[farthest];
            // A seed closer to its mirror image than to all others would crowd it: one on the plane of symmetry replaces both.
            let off = if (x - middle.x).abs() < 0.5 * away[farthest] { 0.0 } else { x - middle.x };
            let sides = if off == 0.0 { &[0.0][..] } else { &[off, -off] };
            seeds.extend(sides.iter().map(|off| DVec3::new(middle.x + off, y, z)));
            let newest = &seeds[seeds.len() - sides.len()..];
            for (away, p) in away.iter_mut().zip(skin) {
                *away = newest.iter().map(|seed| p.distance(*seed)).fold(*away, f64::min);
            }
        }
        let width = away.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let fractions = |p: &DVec3| {
            let bell = |seed: &DVec3| (-(p.distance(*seed) / width).powi(2) * 2.0).exp();
            let all: Vec<(u32, f64)> = (0..).zip(seeds.iter().map(bell)).filter(|(_, w)| *w > 0.01).collect();
            let sum: f64 = all.iter().map(|(_, w)| w).sum();
            all.iter().map(|(seed, w)| (*seed, w / sum)).collect()
        };
        Self { fractions: skin.iter().map(fractions).collect(), count: seeds.len() }
    }

    /// Pairs of adjacent regions.
    fn neighbours(&self, triangles: &[[u32; 3]]) -> Vec<(usize, usize)> {
        let main = |v: u32| {
            let fractions = self.fractions[v as usize].iter();
            fractions.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(region, _)| *region as usize)
        };
        let edges = triangles.iter().flat_map(|t| half_edges(*t)).map(|(a, b)| (main(a), main(b)));
        let mut pairs: Vec<_> = edges.filter(|(a, b)| a < b).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    pub(super) fn spread_out(&self, values: &[f64]) -> Vec<f64> {
        let at = |fractions: &Vec<(u32, f64)>| {
            fractions.iter().map(|(region, w)| w * values[*region as usize]).sum()
        };
        self.fractions.iter().map(at).collect()
    }
}

/// Tissue in the pose of a shape.
pub(super) struct Posed {
    /// All vertices: the skin in the shape, the tissue below it in equilibrium.
    pub(super) positions: Vec<DVec3>,
    /// Attachment of each vertex that ligaments tie to the bone; entries of other vertices are not used.
    pub(super) feet: Vec<DVec3>,
    /// Displacement of the skin, B_b.
    pub(super) moves: Vec<DVec3>,
    /// The target shape of each tetrahedron.
    pub(super) shapes: Vec<ContractedShape>,
}

/// The tissue whose stiffness is fitted.
pub(super) struct StiffnessFit<'a> {
    pub(super) tissue_mesh: &'a TissueMesh,
    pub(super) triangles: &'a [[u32; 3]],
    pub(super) areas: &'a [f64],
    /// Vertices of the skin that take part.
    pub(super) is_counted: &'a [bool],
    pub(super) regions: &'a Regions,
    pub(super) params: &'a TissueParams,
}

impl StiffnessFit<'_> {
    /// Finds the stiffness for which the poses hold best, and the remaining misfit relative to that of the parameters' own stiffness.
    pub(super) fn solve(&self, poses: &[Posed], options: &FitOptions) -> (StiffnessMap, f64) {
        let size = KINDS * self.regions.count;
        let parts: Vec<Vec<f64>> = poses.par_iter().filter_map(|pose| self.misfit(pose)).collect();
        let mut matrix = vec![0.0; size * size];
        for part in &parts {
            matrix.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        let even = vec![1.0; size];
        let before = form(&matrix, &even);
        let scale = (0..size).map(|i| matrix[i * size + i]).sum::<f64>() / size.max(1) as f64;
        let mut smoothed = matrix.clone();
        for (a, b) in self.regions.neighbours(self.triangles) {
            for kind in 0..KINDS {
                let (i, j) = (KINDS * a + kind, KINDS * b + kind);
                let weight = options.smooth * scale;
                smoothed[i * size + i] += weight;
                smoothed[j * size + j] += weight;
                smoothed[i * size + j] -= weight;
                smoothed[j * size + i] -= weight;
            }
        }
        let counts: Vec<f64> = (0..size).map(|i| matrix[i * size + i]).collect();
        let found = smallest_form(&smoothed, &counts, options.bounds);
        let map = |kind: usize| {
            let values: Vec<f64> = (0..self.regions.count).map(|r| found[KINDS * r + kind]).collect();
            self.regions.spread_out(&values)
        };
        let gain = if before > 0.0 { form(&matrix, &found) / before } else { 1.0 };
        (StiffnessMap { strain: map(0), volume: map(1), attachment: map(2) }, gain)
    }

    /// The matrix of one pose's quadratic form in the weights, with the best c_b inserted; `None` for a shape that moves nothing.
    fn misfit(&self, pose: &Posed) -> Option<Vec<f64>> {
        let (count, above) = (self.areas.len(), &self.tissue_mesh.above);
        let forces = self.forces(pose);
        let size = forces.len();
        // Forces per area, weighted by area, so that the fit does not depend on the mesh.
        let product = |a: &[DVec3], b: &[DVec3]| -> f64 {
            (0..a.len())
                .filter(|v| self.is_counted[above[*v] as usize])
                .map(|v| a[v].dot(b[v]) / self.areas[above[v] as usize])
                .sum()
        };
        let along: Vec<DVec3> = (0..above.len())
            .map(|v| if v < count { self.areas[v] * pose.moves[v] } else { DVec3::ZERO })
            .collect();
        let length = product(&along, &along);
        if length <= 0.0 {
            return None;
        }
        let kept: Vec<f64> = forces.iter().map(|g| product(g, &along)).collect();
        let mut matrix = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let value = (product(&forces[i], &forces[j]) - kept[i] * kept[j] / length) / length;
                matrix[i * size + j] = value;
                matrix[j * size + i] = value;
            }
        }
        Some(matrix)
    }

    /// g_k: the force of each region and kind at weight 1 on every vertex.
    fn forces(&self, pose: &Posed) -> Vec<Vec<DVec3>> {
        let (rest, above) = (&self.tissue_mesh.mesh.positions, &self.tissue_mesh.above);
        let x: Vec<Row<f64>> = pose.positions.iter().map(|p| row(*p)).collect();
        let mut forces = vec![vec![DVec3::ZERO; rest.len()]; KINDS * self.regions.count];
        let mut gradient: Vec<Row<f64>> = vec![[0.0; 4]; rest.len()];
        let elements = self.tissue_mesh.mesh.tets.iter().zip(&self.tissue_mesh.materials);
        for ((tet, material), goal) in elements.zip(&pose.shapes) {
            let Some(stencil) = Stencil::tetrahedron(rest, *tet) else { continue };
            let whole = material.corotated_volume(stencil.size);
            let only = [[whole.strain_weight, 0.0], [0.0, whole.volume_weight]];
            for (kind, weights) in only.into_iter().enumerate() {
                let mut element = ShapedTets::new();
                element.push(&stencil, shaped_parameters(weights, goal));
                tet.iter().for_each(|v| gradient[*v as usize] = [0.0; 4]);
                element.accumulate(Part::ALL, &x, &mut gradient);
                for corner in tet {
                    for (region, fraction) in &self.regions.fractions[above[*corner as usize] as usize] {
                        for v in tet {
                            forces[KINDS * *region as usize + kind][*v as usize] +=
                                0.25 * fraction * position(&gradient[*v as usize]);
                        }
                    }
                }
            }
        }
        for v in (0..rest.len()).filter(|v| matches!(self.tissue_mesh.ties[*v], Tie::Ligaments { .. })) {
            let skin = above[v] as usize;
            let pull = self.params.attachment() * self.areas[skin] * (pose.positions[v] - pose.feet[v]);
            for (region, fraction) in &self.regions.fractions[skin] {
                forces[KINDS * *region as usize + 2][v] += *fraction * pull;
            }
        }
        forces
    }
}

/// wᵀ Q w.
fn form(matrix: &[f64], w: &[f64]) -> f64 {
    w.iter().zip(applied(matrix, w)).map(|(w, q)| w * q).sum()
}

fn applied(matrix: &[f64], w: &[f64]) -> Vec<f64> {
    matrix.chunks(w.len().max(1)).map(|line| line.iter().zip(w).map(|(q, w)| q * w).sum()).collect()
}

/// The weights of mean 1 within bounds for which wᵀ Q w is smallest, by projected gradients with momentum (\[Beck and Teboulle 2009\]),
/// each weight scaled by its own diagonal entry of Q. `counts` are the weights of that mean.
fn smallest_form(matrix: &[f64], counts: &[f64], bounds: [f64; 2]) -> Vec<f64> {
    let size = counts.len();
    let start = vec![1.0; size];
    let total: f64 = counts.iter().sum();
    let largest = (0..size).map(|i| matrix[i * size + i]).fold(0.0, f64::max);
    if largest <= 0.0 || total <= 0.0 {
        return start;
    }
    // Weights that nothing depends on do not move.
    let scale: Vec<f64> = (0..size).map(|i| matrix[i * size + i].max(1e-12 * largest)).collect();
    // The largest row sum bounds the eigenvalues of the scaled matrix.
    let entry = |i: usize, j: usize| matrix[i * size + j].abs() / (scale[i] * scale[j]).sqrt();
    let steepest = (0..size).map(|i| (0..size).map(|j| entry(i, j)).sum()).fold(0.0, f64::max);
    let counts: Vec<f64> = counts.iter().map(|count| count / total).collect();
    let shifts: Vec<f64> = counts.iter().zip(&scale).map(|(count, scale)| count * largest / scale).collect();
    let (mut w, mut ahead, mut momentum) = (start.clone(), start, 1.0_f64);
    for _ in 0..STEPS {
        let slope = applied(matrix, &ahead);
        let stepped: Vec<f64> = (0..size).map(|i| ahead[i] - slope[i] / (steepest * scale[i])).collect();
        let next = projected(&stepped, &counts, &shifts, bounds);
        let later = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let rising: f64 = slope.iter().zip(next.iter().zip(&w)).map(|(s, (n, w))| s * (n - w)).sum();
        let push = if rising > 0.0 { 0.0 } else { (momentum - 1.0) / later };
        momentum = if rising > 0.0 { 1.0 } else { later };
        let change = next.iter().zip(&w).map(|(n, w)| (n - w).abs()).fold(0.0, f64::max);
        ahead = next.iter().zip(&w).map(|(n, w)| n + push * (n - w)).collect();
        w = next;
        if change < SETTLED {
            break;
        }
    }
    w
}

/// The closest weights of mean 1 within bounds: each shifted in proportion, then clamped; bisection finds the shift.
fn projected(w: &[f64], counts: &[f64], shifts: &[f64], [low, high]: [f64; 2]) -> Vec<f64> {
    let shifted = |shift: f64| w.iter().zip(shifts).map(move |(w, s)| (w + shift * s).clamp(low, high));
    let most = shifts.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let far = 10.0 * w.iter().map(|w| w.abs()).fold(high, f64::max) * counts.len() as f64 / most;
    let (mut from, mut to) = (-far, far);
    for _ in 0..100 {
        let middle = 0.5 * (from + to);
        let mean: f64 = shifted(middle).zip(counts).map(|(w, count)| w * count).sum();
        if mean < 1.0 { from = middle } else { to = middle }
    }
    shifted(0.5 * (from + to)).collect()
}
