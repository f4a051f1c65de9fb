//! The kinds of potentials: W(z) = ½ w ‖z − p(z)‖², where z = G x samples the vertices linearly and p is the closest point
//! of a set (*Progressive PD*, eq. 3).
//!
//! Because p is a closest point, ∂W/∂z = w (z − p), the *stress*. Parameters of an element come as one small array whose first
//! entries are its weights; [`elements`](super::Elements) keeps them in batches.

use zygoma_numerics::svd3::matrix::{dot, product, scale, scale_add, transposed};
use zygoma_numerics::svd3::{Lane, Vec3, svd3};

use super::closest::{
    closest_area_multiplier, closest_on_sphere, closest_product, orthonormal_columns, stretch_of_columns,
};
use super::near::{near_rotation, way_to_volume};

/// A potential over `R` sampled vectors with `P` parameters.
pub trait Kind<const R: usize, const P: usize>: Send + Sync + 'static {
    /// How many of the first parameters are weights.
    const WEIGHTS: usize = 1;

    /// Energy and stress ∂W/∂z.
    fn evaluate<T: Lane>(z: &[Vec3<T>; R], parameters: &[T; P]) -> (T, [Vec3<T>; R]);
}

/// Strain and volume of a solid at once, ½ w_s ‖F − R‖² + ½ w_v ‖F − U Σ* Vᵀ‖² (eq. 14 and 15), from one decomposition.
/// Parameters: w_s, w_v, the determinant aimed at and its cube root.
pub struct Tissue;
/// Strain of a solid, ½ w ‖F − R‖² (eq. 14). Parameter: w.
pub struct Strain;
/// Volume of a solid, ½ w ‖F − U Σ* Vᵀ‖² with det Σ* = v (eq. 15). Parameters: w, v and its cube root.
pub struct Volume;
/// Strain of a solid only where a singular value leaves a range. Parameters: w, lowest and highest value allowed.
pub struct StrainLimit;
/// Shape target ½ w ‖F − R A‖², A given and R free. Parameters: w and A, column after column.
pub struct Shape;
/// Strain towards a shape and volume at once, ½ w_s ‖F − R A‖² + ½ w_v ‖F − U Σ* Vᵀ‖² (GPFM eq. 2, *Progressive PD* eq. 15). Parameters: those
/// of [`Tissue`] and A, column after column. A need not be symmetric: R takes up any rotation in it. Elements whose A is the identity cost no
/// more than tissue.
pub struct ShapedTissue;
/// Target gradient ½ w ‖F − G‖². Parameters: w and G, column after column.
pub struct GradientTarget;
/// Strain of a triangle in its plane, ½ w ‖F − Q‖² with orthonormal columns Q. Parameter: w.
pub struct TriangleStrain;
/// Area of a triangle, ½ w ‖F − F*‖² with singular values of F* that multiply to a. Parameters: w and a.
pub struct TriangleArea;
/// A vector of given length, ½ w (‖z‖ − l)²: springs, distances to a point, and bending, where z is the mean-curvature
/// vector that may rotate. Parameters: w and l.
pub struct Length;
/// A vector with a target, ½ w ‖z − t‖². Parameters: w and t.
pub struct Target;
/// A vector with a target line along which it is free, ½ w ‖z − t − n n·(z − t)‖²: what sticks to a surface. Parameters: w, t and the unit vector n.
pub struct Line;
/// A vector that must not lie behind a plane, ½ w min(n·z − o, 0)². Parameters: w, the unit normal n and o.
pub struct HalfSpace;

/// Energy and stress of singular values pulled to others.
#[inline(always)]
fn pulled<T: Lane>(d: Vec3<T>, goal: Vec3<T>, weight: T) -> (T, Vec3<T>) {
    let off = [d[0] - goal[0], d[1] - goal[1], d[2] - goal[2]];
    (weight * weight.splat(0.5) * dot(off, off), scale(weight, off))
}

/// Energies and stresses added.
#[inline(always)]
fn sum<T: Lane>(a: (T, [Vec3<T>; 3]), b: (T, [Vec3<T>; 3])) -> (T, [Vec3<T>; 3]) {
    let mut stress = a.1;
    for r in 0..3 {
        for k in 0..3 {
            stress[r][k] = stress[r][k] + b.1[r][k];
        }
    }
    (a.0 + b.0, stress)
}

/// Energy and stress of a matrix that a way leads to its goal.
#[inline(always)]
fn led<T: Lane>(way: &[Vec3<T>; 3], weight: T) -> (T, [Vec3<T>; 3]) {
    let square = dot(way[0], way[0]) + dot(way[1], way[1]) + dot(way[2], way[2]);
    let stress = [scale(-weight, way[0]), scale(-weight, way[1]), scale(-weight, way[2])];
    (weight * weight.splat(0.5) * square, stress)
}

/// The rotation closest to a matrix.
#[inline(always)]
fn closest_rotation<T: Lane>(f: &[Vec3<T>; 3]) -> [Vec3<T>; 3] {
    match near_rotation(f) {
        Some(rotation) => rotation,
        None => svd3(f).rotation(),
    }
}

impl Kind<3, 4> for Tissue {
    const WEIGHTS: usize = 2;

    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 4]) -> (T, [Vec3<T>; 3]) {
        if let (Some(rotation), Some(way)) = (near_rotation(z), way_to_volume(z, p[2])) {
            return sum(towards(z, &rotation, p[0]), led(&way, p[1]));
        }
        let svd = svd3(z);
        let one = p[0].splat(1.0);
        let (strain, pull) = pulled(svd.d, [one, one, one], p[0]);
        let (volume, push) = pulled(svd.d, closest_product(svd.d, p[2], p[3]), p[1]);
        (strain + volume, svd.with_values([pull[0] + push[0], pull[1] + push[1], pull[2] + push[2]]))
    }
}

impl Kind<3, 1> for Strain {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 1]) -> (T, [Vec3<T>; 3]) {
        towards(z, &closest_rotation(z), p[0])
    }
}

impl Kind<3, 3> for Volume {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 3]) -> (T, [Vec3<T>; 3]) {
        if let Some(way) = way_to_volume(z, p[1]) {
            return led(&way, p[0]);
        }
        let svd = svd3(z);
        let (energy, push) = pulled(svd.d, closest_product(svd.d, p[1], p[2]), p[0]);
        (energy, svd.with_values(push))
    }
}

/// A number within two others.
#[inline(always)]
fn clamped<T: Lane>(x: T, low: T, high: T) -> T {
    let x = T::pick(x.less(low), low, x);
    T::pick(high.less(x), high, x)
}

impl Kind<3, 3> for StrainLimit {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 3]) -> (T, [Vec3<T>; 3]) {
        let svd = svd3(z);
        let d = svd.d;
        let goal = [clamped(d[0], p[1], p[2]), clamped(d[1], p[1], p[2]), clamped(d[2], p[1], p[2])];
        let (energy, pull) = pulled(d, goal, p[0]);
        (energy, svd.with_values(pull))
    }
}

/// The matrix in nine parameters after a weight.
#[inline(always)]
pub(super) fn matrix_of<T: Lane>(p: &[T; 10]) -> [Vec3<T>; 3] {
    [[p[1], p[2], p[3]], [p[4], p[5], p[6]], [p[7], p[8], p[9]]]
}

/// Energy and stress of vectors pulled to others.
#[inline(always)]
fn towards<T: Lane, const R: usize>(z: &[Vec3<T>; R], goal: &[Vec3<T>; R], weight: T) -> (T, [Vec3<T>; R]) {
    let mut stress = *z;
    let mut sum = weight.splat(0.0);
    for r in 0..R {
        let off = [z[r][0] - goal[r][0], z[r][1] - goal[r][1], z[r][2] - goal[r][2]];
        sum = sum + dot(off, off);
        stress[r] = scale(weight, off);
    }
    (weight * weight.splat(0.5) * sum, stress)
}

impl Kind<3, 10> for Shape {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 10]) -> (T, [Vec3<T>; 3]) {
        let shape = matrix_of(p);
        let rotation = closest_rotation(&product(z, &transposed(&shape)));
        towards(z, &product(&rotation, &shape), p[0])
    }
}

/// The matrix in nine parameters after those of [`Tissue`].
#[inline(always)]
pub(super) fn shape_of<T: Lane>(p: &[T; 13]) -> [Vec3<T>; 3] {
    [[p[4], p[5], p[6]], [p[7], p[8], p[9]], [p[10], p[11], p[12]]]
}

impl Kind<3, 13> for ShapedTissue {
    const WEIGHTS: usize = 2;

    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 13]) -> (T, [Vec3<T>; 3]) {
        let one = p[0].splat(1.0);
        let along = (p[4] - one).abs() + (p[8] - one).abs() + (p[12] - one).abs();
        let across = p[5].abs() + p[6].abs() + p[7].abs() + p[9].abs() + p[10].abs() + p[11].abs();
        // Neighbours are shaped together, so that most registers are either all shaped or not at all.
        if !(along + across).any_above(0.0) {
            return Tissue::evaluate(z, &[p[0], p[1], p[2], p[3]]);
        }
        let shape = shape_of(p);
        let rotation = closest_rotation(&product(z, &transposed(&shape)));
        let strain = towards(z, &product(&rotation, &shape), p[0]);
        sum(strain, Volume::evaluate(z, &[p[1], p[2], p[3]]))
    }
}

impl Kind<3, 10> for GradientTarget {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 3], p: &[T; 10]) -> (T, [Vec3<T>; 3]) {
        towards(z, &matrix_of(p), p[0])
    }
}

impl Kind<2, 1> for TriangleStrain {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 2], p: &[T; 1]) -> (T, [Vec3<T>; 2]) {
        let (stretch, determinant) = stretch_of_columns(z);
        towards(z, &orthonormal_columns(z, stretch, determinant), p[0])
    }
}

impl Kind<2, 2> for TriangleArea {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 2], p: &[T; 2]) -> (T, [Vec3<T>; 2]) {
        let (stretch, determinant) = stretch_of_columns(z);
        let q = orthonormal_columns(z, stretch, determinant);
        let l = closest_area_multiplier(stretch, determinant, p[1]);
        // Q (S + λ cof S) / (1 − λ²), with Q S = Z.
        let inverse = l.splat(1.0) / (l.splat(1.0) - l * l);
        let [a, b, c] = stretch;
        let cofactor = [scale_add(c, q[0], scale(-b, q[1])), scale_add(a, q[1], scale(-b, q[0]))];
        let goal = [
            scale(inverse, scale_add(l, cofactor[0], z[0])),
            scale(inverse, scale_add(l, cofactor[1], z[1])),
        ];
        towards(z, &goal, p[0])
    }
}

impl Kind<1, 2> for Length {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 1], p: &[T; 2]) -> (T, [Vec3<T>; 1]) {
        towards(z, &[closest_on_sphere(z[0], p[1])], p[0])
    }
}

impl Kind<1, 4> for Target {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 1], p: &[T; 4]) -> (T, [Vec3<T>; 1]) {
        towards(z, &[[p[1], p[2], p[3]]], p[0])
    }
}

impl Kind<1, 7> for Line {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 1], p: &[T; 7]) -> (T, [Vec3<T>; 1]) {
        let (target, along) = ([p[1], p[2], p[3]], [p[4], p[5], p[6]]);
        let off = [z[0][0] - target[0], z[0][1] - target[1], z[0][2] - target[2]];
        towards(z, &[scale_add(dot(along, off), along, target)], p[0])
    }
}

impl Kind<1, 5> for HalfSpace {
    #[inline(always)]
    fn evaluate<T: Lane>(z: &[Vec3<T>; 1], p: &[T; 5]) -> (T, [Vec3<T>; 1]) {
        let normal = [p[1], p[2], p[3]];
        let zero = p[0].splat(0.0);
        let height = dot(normal, z[0]) - p[4];
        let depth = T::pick(height.less(zero), height, zero);
        (p[0] * p[0].splat(0.5) * depth * depth, [scale(p[0] * depth, normal)])
    }
}
