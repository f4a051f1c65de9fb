//! Contraction, as of muscle, of tissue that an expression compresses.
//!
//! External forces that hold a lip at a third of its length press on tissue that would rather fold: the expression is an equilibrium, but
//! not a stable one, and the lip snaps away from it. So beyond a limit the tissue contracts by itself: the target shape of its elements,
//! ‖F − R A‖², becomes shorter by A, and thicker, so that its volume stays.

use std::ops::Range;

use glam::{DMat2, DMat3, DVec2, DVec3};
use zygoma_physics::projective::Stencil;

use crate::volume::TissueMesh;

/// Fraction of its length to which skin is compressed by force alone. Ours: in most expressions skin is compressed less, and does not
/// contract.
const BORNE: f64 = 0.95;
/// Smallest fraction of its length to which an element contracts, whatever a rig does to its skin. Ours.
const SHORTEST: f64 = 0.05;
/// Largest factor of thickness by contraction: below a crushed fold there is no room for more. Ours.
const THICKEST: f64 = 1.3;

/// The tissue that the shapes of a face compress.
#[derive(Default)]
pub(super) struct MuscleContraction {
    prisms: Vec<Prism>,
    /// Tetrahedra of these prisms, in their order, and a flag for each tetrahedron of the mesh.
    pub(super) tets: Vec<u32>,
    has: Vec<bool>,
}

/// Tissue right under a triangle of the skin.
struct Prism {
    corners: [u32; 3],
    /// Axes of the triangle at rest: two in its plane and the normal.
    axes: DMat3,
    /// Maps differences of corners to gradients in that plane.
    inverse: DMat2,
    tets: Range<usize>,
}

/// The target shape of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ContractedShape {
    /// A, symmetric.
    pub(super) shape: DMat3,
    /// Its determinant, and the cube root of that.
    pub(super) volume: f64,
    pub(super) edge: f64,
}

impl ContractedShape {
    /// No contraction.
    pub(super) const NOT: Self = Self { shape: DMat3::IDENTITY, volume: 1.0, edge: 1.0 };
}

impl MuscleContraction {
    /// Finds the tissue that some shape compresses beyond the limit; its first vertices are the skin.
    pub(super) fn find(tissue_mesh: &TissueMesh, triangles: &[[u32; 3]], moves: &[Vec<DVec3>]) -> Self {
        let rest = &tissue_mesh.mesh.positions;
        let mut found = Self { has: vec![false; tissue_mesh.mesh.tets.len()], ..Self::default() };
        let mut first = 0;
        for under_one in tissue_mesh.triangle_above.chunk_by(|a, b| a == b) {
            let tets = first..first + under_one.len() as u32;
            first = tets.end;
            let Some(triangle) = under_one[0] else { continue };
            let corners = triangles[triangle as usize];
            let Some(mut prism) = Prism::new(corners, rest) else { continue };
            let squeezes = |moved: &Vec<DVec3>| {
                let at = corners.map(|v| rest[v as usize] + moved[v as usize]);
                prism.metric(at).squeezes()
            };
            if moves.iter().any(squeezes) {
                let is_sound =
                    |tet: &u32| Stencil::tetrahedron(rest, tissue_mesh.mesh.tets[*tet as usize]).is_some();
                let begin = found.tets.len();
                found.tets.extend(tets.filter(is_sound));
                prism.tets = begin..found.tets.len();
                found.prisms.push(prism);
            }
        }
        found.tets.iter().for_each(|tet| found.has[*tet as usize] = true);
        found
    }

    /// Whether a tetrahedron contracts in some shape.
    pub(super) fn has(&self, tet: usize) -> bool {
        self.has[tet]
    }

    /// Number of prisms.
    pub(super) fn prism_count(&self) -> usize {
        self.prisms.len()
    }

    /// Visits the target shape of each prism for a skin, with the range of its tetrahedra among [those squeezed](Self::tets).
    pub(super) fn each(
        &self,
        skin: impl Fn(u32) -> DVec3,
        mut visit: impl FnMut(usize, Range<usize>, &ContractedShape),
    ) {
        for (index, prism) in self.prisms.iter().enumerate() {
            visit(index, prism.tets.clone(), &prism.shortened(prism.corners.map(&skin)));
        }
    }
}

impl Prism {
    fn new(corners: [u32; 3], rest: &[DVec3]) -> Option<Self> {
        let [a, b, c] = corners.map(|v| rest[v as usize]);
        let normal = (b - a).cross(c - a).try_normalize()?;
        let along = (b - a).try_normalize()?;
        let axes = DMat3::from_cols(along, normal.cross(along), normal);
        let flat = |edge: DVec3| DVec2::new(edge.dot(axes.x_axis), edge.dot(axes.y_axis));
        let inverse = DMat2::from_cols(flat(b - a), flat(c - a)).inverse();
        Some(Self { corners, axes, inverse, tets: 0..0 })
    }

    /// The metric of the skin: products of the columns of its deformation gradient.
    fn metric(&self, [a, b, c]: [DVec3; 3]) -> Metric {
        let [p, q] = self.inverse.to_cols_array_2d();
        let (u, v) = (p[0] * (b - a) + p[1] * (c - a), q[0] * (b - a) + q[1] * (c - a));
        let (uu, uv, vv) = (u.dot(u), u.dot(v), v.dot(v));
        let half = 0.5 * (uu - vv);
        Metric { middle: 0.5 * (uu + vv), half, across: uv, radius: (half * half + uv * uv).sqrt() }
    }

    fn shortened(&self, skin: [DVec3; 3]) -> ContractedShape {
        let metric = self.metric(skin);
        if !metric.squeezes() {
            return ContractedShape::NOT;
        }
        let (stretches, directions) = metric.stretches();
        let kept = (stretches / BORNE).min(DVec2::ONE).max(DVec2::splat(SHORTEST));
        let thicker = (1.0 / (kept.x * kept.y)).min(THICKEST);
        let flat = directions * DMat2::from_diagonal(kept) * directions.transpose();
        let local = DMat3::from_cols(flat.x_axis.extend(0.0), flat.y_axis.extend(0.0), thicker * DVec3::Z);
        let shape = self.axes * local * self.axes.transpose();
        let volume = kept.x * kept.y * thicker;
        ContractedShape { shape, volume, edge: volume.cbrt() }
    }
}

/// Squared stretches in the plane of a triangle: from `middle` − `radius` to `middle` + `radius`, depending on the direction.
struct Metric {
    middle: f64,
    half: f64,
    across: f64,
    radius: f64,
}

impl Metric {
    /// Whether the skin is compressed beyond the limit in some direction.
    fn squeezes(&self) -> bool {
        self.middle - self.radius < BORNE * BORNE
    }

    /// Principal stretches of the skin, and their directions in its plane.
    fn stretches(&self) -> (DVec2, DMat2) {
        let Self { middle, half, across, radius } = *self;
        // Cosine and sine of half the angle that has this cosine and sine, the larger one first.
        let (c, s) = if radius > 0.0 { (half / radius, across / radius) } else { (1.0, 0.0) };
        let large = (0.5 + 0.5 * c.abs()).sqrt();
        let small = 0.5 * s / large;
        let (cos, sin) = if c >= 0.0 { (large, small) } else { (small, large) };
        let squares = DVec2::new(middle + radius, (middle - radius).max(0.0));
        (
            DVec2::new(squares.x.sqrt(), squares.y.sqrt()),
            DMat2::from_cols(DVec2::new(cos, sin), DVec2::new(-sin, cos)),
        )
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;

    const REST: [DVec3; 3] = [DVec3::ZERO, DVec3::new(0.003, 0.0, 0.001), DVec3::new(0.001, 0.002, -0.001)];

    /// The skin of a prism stretched by two factors along two directions of its plane, and then rotated.
    fn stretched(prism: &Prism, angle: f64, factors: [f64; 2], turn: DQuat) -> [DVec3; 3] {
        let (sin, cos) = angle.sin_cos();
        let [u, v] = [DVec3::new(cos, sin, 0.0), DVec3::new(-sin, cos, 0.0)].map(|d| prism.axes * d);
        REST.map(|p| turn * (p + (factors[0] - 1.0) * p.dot(u) * u + (factors[1] - 1.0) * p.dot(v) * v))
    }

    #[test]
    fn squeezed_tissue_shortens_and_keeps_its_volume() {
        let prism = Prism::new([0, 1, 2], &REST).unwrap();
        let turn = DQuat::from_scaled_axis(DVec3::new(0.4, -1.0, 0.7));
        for angle in [0.0, 0.3, 1.1, 2.5] {
            let found = prism.shortened(stretched(&prism, angle, [1.2, 0.8], turn));
            let short = prism.axes * DVec3::new(-angle.sin(), angle.cos(), 0.0);
            let along = prism.axes * DVec3::new(angle.cos(), angle.sin(), 0.0);
            assert!((found.shape * short - 0.8 / BORNE * short).length() < 1e-12);
            assert!(
                (found.shape * along - along).length() < 1e-12,
                "what is pulled stays as long as at rest"
            );
            let normal = prism.axes.z_axis;
            assert!((found.shape * normal - BORNE / 0.8 * normal).length() < 1e-12);
            assert!((found.volume - 1.0).abs() < 1e-12 && (found.shape.determinant() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn tissue_that_is_pulled_turned_or_squeezed_little_stays_as_it_is() {
        let prism = Prism::new([0, 1, 2], &REST).unwrap();
        for factors in [[1.0, 1.0], [1.5, 1.1], [0.96, 0.97]] {
            let turn = DQuat::from_scaled_axis(DVec3::new(2.0, 0.1, -0.3));
            let found = prism.shortened(stretched(&prism, 0.7, factors, turn));
            assert!((found.shape - DMat3::IDENTITY).to_cols_array().iter().all(|e| e.abs() < 1e-12));
        }
    }

    #[test]
    fn a_crushed_skin_gives_a_shape_that_is_still_sound() {
        let prism = Prism::new([0, 1, 2], &REST).unwrap();
        let found = prism.shortened([DVec3::ONE; 3]);
        assert!(found.shape.is_finite() && found.volume > 0.0);
        assert!((found.shape.determinant() - found.volume).abs() < 1e-12);
        assert!((found.volume - SHORTEST * SHORTEST * THICKEST).abs() < 1e-12);
    }
}
