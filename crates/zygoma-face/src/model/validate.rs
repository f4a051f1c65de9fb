//! Whether the parts of a face fit each other: checked once, when a face is built and when a file is opened, so that nothing
//! later has to.

use glam::Vec3;
use zygoma_numerics::Checked;
use zygoma_rig::SparseDeltas;

use super::Face;

/// Coordinates are in heights of the face; beyond this many, sums of squares in `f32` lose all sense. Ours.
const FARTHEST: f32 = 1e4;

/// Rounding of weights that should be from 0 to 1.
const ROUNDING: f64 = 1e-3;

/// Says what is wrong with a face, as a sentence.
pub(crate) fn check(face: &Face) -> Result<(), String> {
    // Positions in metres are `f32`.
    if !(f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX)).contains(&face.height) {
        return Err(format!("its height of {} m is not that of a face", face.height));
    }
    check_lengths(face)?;
    check_indices(face)?;
    check_numbers(face)?;
    for (index, shape) in face.shapes.iter().enumerate() {
        let parts = [&shape.coarse, &shape.residual, &shape.half, &shape.detail];
        if !parts.iter().all(|deltas| is_sound(deltas)) {
            return Err(format!("shape {index} ({}) has a displacement that is no sound number", shape.name));
        }
    }
    if let Some(index) = face.pairs.iter().position(|pair| !is_sound(&pair.residual)) {
        return Err(format!("pair {index} has a displacement that is no sound number"));
    }
    face.params.check().map_err(|problem| problem.to_string())
}

fn check_lengths(face: &Face) -> Result<(), String> {
    let (vertices, coarse) = (face.neutral.len(), face.shell.vertex_count());
    let empty = [
        ("neutral", vertices),
        ("triangles", face.triangles.len()),
        ("skin", face.skin.len()),
        ("shell.rest", coarse),
        ("shell.triangles", face.shell.triangles.len()),
    ];
    if let Some((name, _)) = empty.iter().find(|(_, length)| *length == 0) {
        return Err(format!("array {name} is empty"));
    }
    let lengths = [
        ("embedding.vertices", face.embedding.vertices.len(), vertices),
        ("embedding.weights", face.embedding.weights.len(), vertices),
        ("places.triangles", face.places.len(), coarse),
        ("shell.depth", face.depth.len(), coarse),
        ("shell.held", face.held.len(), coarse),
        ("shell.residual", face.neutral_residual.len(), coarse),
        ("shell.strain", face.stiffness.strain.len(), coarse),
        ("shell.bending", face.stiffness.bending.len(), coarse),
    ];
    match lengths.iter().find(|(_, found, wanted)| found != wanted) {
        Some((name, found, wanted)) => {
            Err(format!("array {name} has {found} rows where its mesh has {wanted} vertices"))
        }
        None => Ok(()),
    }
}

fn check_indices(face: &Face) -> Result<(), String> {
    let (vertices, coarse) = (face.neutral.len(), face.shell.vertex_count());
    inside("triangles", face.triangles.iter().flatten(), vertices)?;
    inside("skin", &face.skin, vertices)?;
    inside("embedding.vertices", face.embedding.vertices.iter().flatten(), coarse)?;
    inside("places.triangles", face.places.iter().map(|place| &place.triangle), face.triangles.len())?;
    inside("pairs", face.pairs.iter().flat_map(|pair| &pair.shapes), face.shapes.len())
}

fn inside<'a>(name: &str, indices: impl IntoIterator<Item = &'a u32>, limit: usize) -> Result<(), String> {
    match indices.into_iter().find(|index| **index as usize >= limit) {
        Some(index) => Err(format!("array {name} names element {index} of {limit}")),
        None => Ok(()),
    }
}

fn check_numbers(face: &Face) -> Result<(), String> {
    let is_share = |weight: f64| (-ROUNDING..=1.0 + ROUNDING).contains(&weight);
    let is_near = |p: &Vec3| p.is_finite() && p.abs().max_element() <= FARTHEST;
    let sound = [
        ("neutral", face.neutral.iter().all(is_near)),
        ("shell.rest", face.shell.rest.iter().all(|p| is_near(&p.as_vec3()))),
        ("shell.residual", face.neutral_residual.iter().all(|p| is_near(&p.as_vec3()))),
        (
            "embedding.weights",
            face.embedding.weights.iter().all(|weights| {
                let sum = weights.iter().map(|w| f64::from(*w)).sum::<f64>();
                is_share(sum) && weights.iter().all(|w| is_share(f64::from(*w)))
            }),
        ),
        (
            "places.barycentric",
            face.places.iter().all(|place| place.barycentric.iter().all(|weight| is_share(*weight))),
        ),
        ("shell.depth", face.depth.iter().all(|depth| depth.is_finite() && *depth >= 0.0)),
        (
            "shell.strain and shell.bending",
            face.stiffness
                .strain
                .iter()
                .chain(&face.stiffness.bending)
                .all(|value| value.is_finite() && *value >= 0.0),
        ),
    ];
    match sound.iter().find(|(_, sound)| !sound) {
        Some((name, _)) => Err(format!("array {name} has a number that cannot be")),
        None => Ok(()),
    }
}

fn is_sound(deltas: &SparseDeltas) -> bool {
    deltas.offsets.iter().all(|offset| offset.is_finite() && offset.abs().max_element() <= FARTHEST)
}
