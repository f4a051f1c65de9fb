//! Weights on the surface: how far each vertex follows the jaw.
//!
//! They are the smoothest fields (least squared Laplacian) through known values: skin over bone moves with its
//! bone. The slit between the lips separates them, because the surface does.

use glam::DVec3;
use zygoma_geometry::laplacian::Laplacian;
use zygoma_numerics::{Analysis, Cholesky, SymmetricMatrix};

use crate::base::{Base, Part};
use crate::sculpt::field::{at, ramp, tube};
use crate::sculpt::lips;

/// The share of the jaw's motion that the lips follow when they stay sealed over an open jaw.
const SEALED_LIPS: f64 = 0.40;

/// A target value at a vertex and its strength; strength 0 leaves the vertex free.
type Wish = (f64, f64);

/// The share of the jaw's motion that each vertex follows when the mouth opens.
pub(crate) fn jaw(base: &Base) -> Vec<f64> {
    fitted(base, |v| match base.parts[v] {
        // Towards the corners the lips are free to follow each other, or the open mouth would be a box.
        Part::UpperLip => (0.0, ramp(17.0, 8.0, base.rest[v].x.abs())),
        Part::LowerLip => (1.0, ramp(15.0, 6.0, base.rest[v].x.abs())),
        Part::LowerBag
            if base.rest[v].z > 62.0 && (base.rest[v].x.abs() < 16.0 || base.rest[v].y < -60.0) =>
        {
            (1.0, 1.0)
        }
        Part::UpperBag if base.rest[v].y > -40.0 => (0.0, 1.0),
        _ => bones(base, v),
    })
}

/// The share of the jaw's motion that each vertex follows when the lips stay sealed.
pub(crate) fn seal(base: &Base) -> Vec<f64> {
    fitted(base, |v| {
        let p = base.open[v];
        let deep = p.z > lips::front_z(p.x) - 16.0 && lips::slot(at(p.x.abs(), p.y, p.z)) < 1.5;
        match base.parts[v] {
            Part::UpperLip | Part::LowerLip => (SEALED_LIPS, 40.0),
            Part::UpperBag | Part::LowerBag if deep => (SEALED_LIPS, 40.0),
            Part::LowerBag if p.y < -62.0 => (1.0, 1.0),
            Part::UpperBag if p.y > -36.0 => (0.0, 1.0),
            Part::UpperBag | Part::LowerBag => (0.0, 0.0),
            _ => bones(base, v),
        }
    })
}

/// The share of soft dials that each vertex follows: outer skin does, the mouth bag stays with teeth and bones. Touching lips have
/// the same position and so the same softness.
pub(crate) fn softness(base: &Base) -> Vec<f64> {
    /// The bag stays from this depth on behind the front of the lips.
    const LIP_DEPTH: f64 = 14.0;
    let of = |(p, part): (&DVec3, &Part)| match part {
        Part::UpperBag | Part::LowerBag => {
            let front = lips::front_z(p.x.abs().min(lips::CORNER_X));
            ramp(front - LIP_DEPTH, front - 2.0, p.z)
        }
        _ => 1.0,
    };
    base.rest.iter().zip(&base.parts).map(of).collect()
}

/// Target values of skin over bone.
fn bones(base: &Base, v: usize) -> Wish {
    let p = DVec3::new(base.rest[v].x.abs(), base.rest[v].y, base.rest[v].z);
    if base.parts[v] != Part::Outer {
        return (0.0, 0.0);
    }
    if p.y > -14.0 || p.z < -5.0 || p.y < -128.0 {
        return (0.0, 1.0);
    }
    let nose_and_lip = p.y > -36.0 && p.x < 21.0 && p.z > 86.0;
    if nose_and_lip {
        return (0.0, 8.0);
    }
    let mandible = tube(
        p,
        &[(at(0.0, -78.0, 84.0), 0.0), (at(27.0, -69.0, 52.0), 0.0), (at(38.0, -58.0, 30.0), 0.0)],
        1.0,
    );
    if mandible < 21.0 && p.y < -56.0 && p.y > -98.0 {
        return (1.0, 1.0 - ramp(17.0, 21.0, mandible));
    }
    (0.0, 0.0)
}

/// The smoothest field through the target values.
fn fitted(base: &Base, wish: impl Fn(usize) -> Wish) -> Vec<f64> {
    let laplacian = Laplacian::new(&base.open, &base.triangles);
    let mut entries = laplacian.bilaplacian();
    let mut right = vec![0.0; base.open.len()];
    for v in 0..base.open.len() {
        let (value, strength) = wish(v);
        // Per area, so that the result does not depend on the mesh; the tiny constant keeps the matrix positive definite.
        let weight = laplacian.areas[v] * (0.02 * strength + 1e-9);
        entries.push((v, v, weight));
        right[v] = weight * value;
    }
    entries.retain(|(row, column, _)| row >= column);
    let matrix = SymmetricMatrix::from_entries(base.open.len(), &entries);
    let mut field = right;
    match Cholesky::new(Analysis::new(&matrix), &matrix) {
        Ok(mut factor) => factor.solve_in_place(&mut field),
        Err(_) => return field,
    }
    // Symmetric to the last bit, with the last hundredth cut off at either end: skin over bone does not move.
    let even = |v: usize| 0.5 * (field[v] + field[base.mirror[v] as usize]);
    (0..field.len()).map(|v| ((even(v) - 0.01) / 0.98).clamp(0.0, 1.0)).collect()
}
