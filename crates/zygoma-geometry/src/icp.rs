//! Alignment of points with a surface by iterated closest points.

use glam::{DQuat, DVec3};
use zygoma_numerics::LuFactor;

use crate::closest::TriangleTree;
use crate::closest::{at_barycentric, closest_on_triangle};
use crate::rigid::fit_rigid_motion;
use crate::similarity::Similarity;

/// A triangle surface that can be asked for its closest point many times.
#[derive(Clone, Debug)]
pub struct IcpTarget {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    single: Vec<glam::Vec3>,
    tree: TriangleTree,
    /// Added before single precision is used, so that surfaces far from the origin lose nothing.
    to_origin: DVec3,
}

/// The closest point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceHit {
    /// The triangle.
    pub triangle: u32,
    /// Its barycentric coordinates.
    pub barycentric: [f64; 3],
    /// The point.
    pub point: DVec3,
    /// The triangle's unit normal; zero if the triangle has no area.
    pub normal: DVec3,
}

impl IcpTarget {
    /// Prepares a surface; `None` without triangles.
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Option<Self> {
        let first = positions[triangles.first()?[0] as usize];
        let single: Vec<_> = positions.iter().map(|p| (*p - first).as_vec3()).collect();
        let tree = TriangleTree::new(&single, triangles);
        let (positions, triangles) = (positions.to_vec(), triangles.to_vec());
        Some(Self { positions, triangles, single, tree, to_origin: -first })
    }

    /// The closest point of the surface; `None` if the query is not finite.
    pub fn closest(&self, point: DVec3) -> Option<SurfaceHit> {
        let query = (point + self.to_origin).as_vec3();
        let found = self.tree.closest(&self.single, &self.triangles, query, f32::MAX)?;
        let corners = self.triangles[found.triangle as usize].map(|v| self.positions[v as usize]);
        let [a, b, c] = corners;
        let barycentric = closest_on_triangle(point, corners);
        Some(SurfaceHit {
            triangle: found.triangle,
            barycentric,
            point: at_barycentric(barycentric, corners),
            normal: (b - a).cross(c - a).normalize_or_zero(),
        })
    }
}

/// How points are aligned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IcpOptions {
    /// Steps at most.
    pub iterations: usize,
    /// Share of the points, the nearest ones, that decide each step; the others may have no counterpart.
    pub kept: f64,
    /// Whether the scale is free.
    pub scale: bool,
}

impl Default for IcpOptions {
    fn default() -> Self {
        Self { iterations: 60, kept: 0.8, scale: true }
    }
}

/// An alignment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// Carries the points to the surface.
    pub similarity: Similarity,
    /// Root mean square distance of the kept points, in the surface's unit.
    pub rms: f64,
}

/// A step smaller than this, as a fraction of the points' radius, ends the iteration.
const CONVERGED: f64 = 1e-7;

/// Aligns points with a surface from a start, by trimmed iterated closest points \[Chetverikov et al. 2005\].
///
/// A third of the steps bring the points themselves closer, which is slow but safe; the others bring them to the tangent
/// planes \[Chen and Medioni 1992\], which is fast and lets them slide. The result is a local optimum.
pub fn align(points: &[DVec3], surface: &IcpTarget, start: Similarity, options: &IcpOptions) -> Alignment {
    let mut similarity = start;
    for iteration in 0..options.iterations {
        let pairs = kept_pairs(points, surface, &similarity, options.kept);
        let is_first_third = 3 * iteration < options.iterations;
        let step = if is_first_third { point_step(&pairs) } else { plane_step(&pairs, options.scale) };
        let Some((step, size)) = step else { break };
        similarity = step.after(&similarity);
        if !is_first_third && size < CONVERGED {
            break;
        }
    }
    let pairs = kept_pairs(points, surface, &similarity, options.kept);
    let squares: f64 = pairs.iter().map(|(p, hit)| p.distance_squared(hit.point)).sum();
    Alignment { similarity, rms: (squares / pairs.len().max(1) as f64).sqrt() }
}

/// The moved points with their closest points, the nearest fraction of them.
fn kept_pairs(
    points: &[DVec3],
    surface: &IcpTarget,
    similarity: &Similarity,
    kept: f64,
) -> Vec<(DVec3, SurfaceHit)> {
    let mut pairs: Vec<(DVec3, SurfaceHit)> = points
        .iter()
        .map(|p| similarity.apply(*p))
        .filter_map(|p| surface.closest(p).map(|hit| (p, hit)))
        .collect();
    let distance = |(p, hit): &(DVec3, SurfaceHit)| p.distance_squared(hit.point);
    pairs.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let count = ((kept.clamp(0.0, 1.0) * pairs.len() as f64).ceil() as usize).min(pairs.len());
    pairs.truncate(count);
    pairs
}

/// The rigid motion that brings the points closest to their partners. The scale stays: closest points alone would shrink it.
fn point_step(pairs: &[(DVec3, SurfaceHit)]) -> Option<(Similarity, f64)> {
    let (from, to): (Vec<DVec3>, Vec<DVec3>) = pairs.iter().map(|(p, hit)| (*p, hit.point)).unzip();
    let motion = fit_rigid_motion(&from, &to);
    let similarity = Similarity { scale: 1.0, rotation: motion.rotation, translation: motion.translation };
    (from.len() > 2).then_some((similarity, f64::MAX))
}

/// One Gauss–Newton step on the distances to the tangent planes: the similarity to apply next, and its size as a fraction of the
/// points' radius. `None` if there are too few pairs.
fn plane_step(pairs: &[(DVec3, SurfaceHit)], free_scale: bool) -> Option<(Similarity, f64)> {
    const UNKNOWNS: usize = 7;
    // A surface that can slide along itself leaves some motions undetermined; these are not used then.
    const DAMPING: f64 = 1e-9;
    if pairs.len() < UNKNOWNS {
        return None;
    }
    let middle = pairs.iter().map(|(p, _)| *p).sum::<DVec3>() / pairs.len() as f64;
    let radius = pairs.iter().map(|(p, _)| p.distance(middle)).fold(0.0, f64::max);
    if !(radius > 0.0 && radius.is_finite()) {
        return None;
    }
    let mut matrix = [[0.0; UNKNOWNS]; UNKNOWNS];
    let mut right = [0.0; UNKNOWNS];
    for (p, hit) in pairs {
        let arm = (*p - middle) / radius;
        let turn = arm.cross(hit.normal);
        let stretch = if free_scale { arm.dot(hit.normal) } else { 0.0 };
        let n = hit.normal;
        let row = [turn.x, turn.y, turn.z, n.x, n.y, n.z, stretch];
        let residual = (hit.point - *p).dot(n) / radius;
        for i in 0..UNKNOWNS {
            right[i] += row[i] * residual;
            for j in 0..UNKNOWNS {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    let damping = DAMPING * pairs.len() as f64;
    let factor = LuFactor::new(UNKNOWNS, |i, j| matrix[i][j] + if i == j { damping } else { 0.0 }).ok()?;
    factor.solve_in_place(&mut right);
    let turn = DVec3::new(right[0], right[1], right[2]);
    let shift = radius * DVec3::new(right[3], right[4], right[5]);
    // Never more than doubles or halves at once.
    let scale = (1.0 + right[6]).clamp(0.5, 2.0);
    let rotation = DQuat::from_scaled_axis(turn);
    let similarity =
        Similarity { scale, rotation, translation: middle + shift - scale * (rotation * middle) };
    let size = turn.length() + shift.length() / radius + (scale - 1.0).abs();
    size.is_finite().then_some((similarity, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_numerics::random::Keyed;

    /// A lopsided bumpy ball, which no motion but the identity carries onto itself.
    fn bumpy(steps: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut positions = Vec::new();
        for i in 0..=steps {
            for j in 0..2 * steps {
                let (t, u) = (
                    std::f64::consts::PI * f64::from(i) / f64::from(steps),
                    std::f64::consts::PI * f64::from(j) / f64::from(steps),
                );
                let d = DVec3::new(t.sin() * u.cos(), t.cos(), t.sin() * u.sin());
                let bumps = 1.0 + 0.25 * d.x * d.y + 0.2 * (3.0 * d.z + d.x).sin() + 0.1 * d.y;
                positions.push(bumps * d * DVec3::new(0.8, 1.2, 1.0));
            }
        }
        let mut triangles = Vec::new();
        for i in 0..steps {
            for j in 0..2 * steps {
                let at = |i: u32, j: u32| i * 2 * steps + j % (2 * steps);
                triangles.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
                triangles.push([at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
            }
        }
        (positions, triangles)
    }

    fn truth() -> Similarity {
        Similarity {
            scale: 1.3,
            rotation: DQuat::from_axis_angle(DVec3::new(0.3, 1.0, -0.2).normalize(), 0.4),
            translation: DVec3::new(10.2, -0.1, 0.3),
        }
    }

    #[test]
    fn a_known_similarity_is_recovered_exactly() {
        let (positions, triangles) = bumpy(24);
        let surface = IcpTarget::new(&positions, &triangles).unwrap();
        let back = truth().inverse();
        let points: Vec<DVec3> = positions.iter().map(|p| back.apply(*p)).collect();
        let start = Similarity { scale: 1.2, rotation: DQuat::IDENTITY, translation: DVec3::X * 10.0 };
        let found = align(&points, &surface, start, &IcpOptions { kept: 1.0, ..IcpOptions::default() });
        assert!(found.rms < 1e-6, "{found:?}");
        for (p, q) in points.iter().zip(&positions) {
            assert!(found.similarity.apply(*p).distance(*q) < 1e-5);
        }
    }

    #[test]
    fn noise_and_missing_parts_hardly_move_the_result() {
        let (positions, triangles) = bumpy(24);
        // The surface lacks its lower quarter; the points keep theirs.
        let cut: Vec<[u32; 3]> =
            triangles.iter().copied().filter(|t| positions[t[0] as usize].y > -0.6).collect();
        let surface = IcpTarget::new(&positions, &cut).unwrap();
        let random = Keyed::new(11, 0);
        const NOISE: f64 = 0.004;
        let back = truth().inverse();
        let noisy = |(i, p): (usize, &DVec3)| {
            let at = |k: usize| NOISE * random.normal((3 * i + k) as u64);
            back.apply(*p + DVec3::new(at(0), at(1), at(2)))
        };
        let points: Vec<DVec3> = positions.iter().enumerate().map(noisy).collect();
        let start = Similarity { scale: 1.2, rotation: DQuat::IDENTITY, translation: DVec3::X * 10.0 };
        let found = align(&points, &surface, start, &IcpOptions { kept: 0.65, ..IcpOptions::default() });
        let exact: Vec<DVec3> = positions.iter().map(|p| back.apply(*p)).collect();
        let errors = exact.iter().zip(&positions).map(|(p, q)| found.similarity.apply(*p).distance(*q));
        let mean = errors.sum::<f64>() / positions.len() as f64;
        assert!(mean < NOISE, "{mean}");
        // Without trimming the missing part pulls.
        let plain = align(&points, &surface, start, &IcpOptions { kept: 1.0, ..IcpOptions::default() });
        let pulled = exact.iter().zip(&positions).map(|(p, q)| plain.similarity.apply(*p).distance(*q));
        assert!(pulled.sum::<f64>() / positions.len() as f64 > 3.0 * mean);
    }

    #[test]
    fn degenerate_input_gives_the_start_back() {
        assert!(IcpTarget::new(&[], &[]).is_none());
        let surface = IcpTarget::new(&[DVec3::ZERO; 3], &[[0, 1, 2]]).unwrap();
        let found = align(&[DVec3::NAN, DVec3::ONE], &surface, truth(), &IcpOptions::default());
        assert_eq!(found.similarity, truth());
    }
}
