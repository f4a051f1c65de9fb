//! Checks that the parts of a face are consistent, once when a face is built and when a file is opened, so that later code need not.

use glam::Vec3;
use zygoma_rig::SparseDeltas;

use super::FaceModel;

/// Coordinates beyond this many face heights are rejected: sums of squares in `f32` lose all digits. Ours.
const FARTHEST: f64 = 1e4;

/// Rounding tolerance for weights between 0 and 1.
const ROUNDING: f64 = 1e-3;

/// Returns a sentence about the first inconsistency of a face.
pub(crate) fn check(face: &FaceModel) -> Result<(), String> {
    // Positions are `f32`.
    if !(f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&face.height) {
        return Err(format!("its height of {} m is not that of a face", face.height));
    }
    check_lengths(face)?;
    check_indices(face)?;
    check_numbers(face)?;
    let is_sound = |deltas: &SparseDeltas| deltas.offsets.iter().all(|offset| is_near(face, *offset));
    match face.shapes.iter().position(|shape| !(is_sound(&shape.deltas) && is_sound(&shape.coarse))) {
        Some(index) => Err(format!(
            "shape {index} ({}) has a displacement that is not finite or far too large",
            face.shapes[index].name
        )),
        None => Ok(()),
    }
}

fn check_lengths(face: &FaceModel) -> Result<(), String> {
    let (vertices, coarse) = (face.neutral.len(), face.coarse.vertex_count());
    let empty = [
        ("neutral", vertices),
        ("triangles", face.triangles.len()),
        ("skin", face.skin.len()),
        ("coarse.positions", coarse),
        ("coarse.triangles", face.coarse.triangles.len()),
    ];
    if let Some((name, _)) = empty.iter().find(|(_, length)| *length == 0) {
        return Err(format!("array {name} is empty"));
    }
    let lengths = [
        ("embedding.vertices", face.embedding.vertices.len(), vertices),
        ("embedding.weights", face.embedding.weights.len(), vertices),
        ("coarse.on_mesh.triangles", face.coarse.on_mesh.len(), coarse),
        ("coarse.held", face.coarse.is_held.len(), coarse),
    ];
    match lengths.iter().find(|(_, found, wanted)| found != wanted) {
        Some((name, found, wanted)) => {
            Err(format!("array {name} has {found} rows where its mesh has {wanted} vertices"))
        }
        None => Ok(()),
    }
}

fn check_indices(face: &FaceModel) -> Result<(), String> {
    let (vertices, coarse) = (face.neutral.len(), face.coarse.vertex_count());
    inside("triangles", face.triangles.iter().flatten(), vertices)?;
    inside("skin", &face.skin, vertices)?;
    inside("coarse.triangles", face.coarse.triangles.iter().flatten(), coarse)?;
    inside("embedding.vertices", face.embedding.vertices.iter().flatten(), coarse)?;
    let on_mesh = face.coarse.on_mesh.iter().map(|point| &point.triangle);
    inside("coarse.on_mesh.triangles", on_mesh, face.triangles.len())
}

fn inside<'a>(name: &str, indices: impl IntoIterator<Item = &'a u32>, limit: usize) -> Result<(), String> {
    match indices.into_iter().find(|index| **index as usize >= limit) {
        Some(index) => Err(format!("array {name} names element {index} of {limit}")),
        None => Ok(()),
    }
}

fn check_numbers(face: &FaceModel) -> Result<(), String> {
    let is_weight = |weight: f64| (-ROUNDING..=1.0 + ROUNDING).contains(&weight);
    let sound = [
        ("neutral", face.neutral.iter().all(|p| is_near(face, *p))),
        ("coarse.positions", face.coarse.positions.iter().all(|p| is_near(face, p.as_vec3()))),
        (
            "embedding.weights",
            face.embedding.weights.iter().all(|weights| {
                let sum = weights.iter().map(|w| f64::from(*w)).sum::<f64>();
                is_weight(sum) && weights.iter().all(|w| is_weight(f64::from(*w)))
            }),
        ),
        (
            "coarse.on_mesh.barycentric",
            face.coarse.on_mesh.iter().all(|point| point.barycentric.iter().all(|weight| is_weight(*weight))),
        ),
    ];
    match sound.iter().find(|(_, sound)| !sound) {
        Some((name, _)) => Err(format!("array {name} has a number that cannot be")),
        None => Ok(()),
    }
}

fn is_near(face: &FaceModel, p: Vec3) -> bool {
    p.is_finite() && f64::from(p.abs().max_element()) <= FARTHEST * face.height
}
