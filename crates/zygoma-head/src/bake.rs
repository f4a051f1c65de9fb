//! The sculpted half heads as bytes: extracting and remeshing takes seconds, so the result is stored in the repository
//! (`assets/template.bin`, written by `cargo run --release -p zygoma-head --example bake`).

use glam::DVec3;
use zygoma_geometry::remesh::FeatureMesh;

use crate::base::Base;
use crate::fields;
use crate::surface::{fine_surface, half_surface};

/// Sizes relative to the sculpture's own, for about 3.5k, 7k and 14k vertices.
const SCALES: [f64; 3] = [2.0, 1.24, 0.82];
/// Coordinates are stored in steps of this many millimetres, so that rounding is the same everywhere.
const STEP: f64 = 1e-4;

/// Weights are stored in steps of this size.
const FIELD_STEP: f64 = 1e-7;

/// One stored level: the half surface and its weights.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    /// The half surface.
    pub(crate) half: FeatureMesh,
    /// How far each vertex follows the jaw.
    pub(crate) jaw: Vec<f64>,
    /// How far each vertex follows the jaw with sealed lips.
    pub(crate) seal: Vec<f64>,
}

/// The stored template.
const KEPT: &[u8] = include_bytes!("../assets/template.bin");

/// Sculpts and remeshes all levels.
pub fn bake() -> Vec<u8> {
    let fine = fine_surface();
    let levels = SCALES.map(|scale| half_surface(fine.clone(), scale));
    let mut bytes = Vec::new();
    for mesh in &levels {
        let base = Base::from_half(mesh);
        let fields = [fields::jaw(&base), fields::seal(&base)];
        let mut put = |value: i32| bytes.extend(value.to_le_bytes());
        put(mesh.positions.len() as i32);
        put(mesh.triangles.len() as i32);
        put(mesh.features.len() as i32);
        for coordinate in mesh.positions.iter().flat_map(DVec3::to_array) {
            put((coordinate / STEP).round() as i32);
        }
        for corner in mesh.triangles.iter().flatten() {
            put(*corner as i32);
        }
        for (a, b, curve) in &mesh.features {
            put(*a as i32);
            put(*b as i32);
            put(*curve as i32);
        }
        for weight in fields.iter().flat_map(|field| &field[..mesh.positions.len()]) {
            put((weight / FIELD_STEP).round() as i32);
        }
    }
    bytes
}

/// The stored half head of one level, coarsest first.
pub(crate) fn kept(level: usize) -> Kept {
    let mut words = KEPT.chunks_exact(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    let mut kept = Kept::default();
    for _ in 0..=level {
        let mut next = || words.next().unwrap_or(0);
        let (vertices, triangles, features) = (next(), next(), next());
        kept.half = FeatureMesh {
            positions: (0..vertices)
                .map(|_| STEP * DVec3::new(f64::from(next()), f64::from(next()), f64::from(next())))
                .collect(),
            triangles: (0..triangles).map(|_| [next() as u32, next() as u32, next() as u32]).collect(),
            features: (0..features).map(|_| (next() as u32, next() as u32, next() as u32)).collect(),
        };
        kept.jaw = (0..vertices).map(|_| FIELD_STEP * f64::from(next())).collect();
        kept.seal = (0..vertices).map(|_| FIELD_STEP * f64::from(next())).collect();
    }
    kept
}
