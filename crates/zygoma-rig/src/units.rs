//! Finds the length of a file's unit.
//!
//! glTF specifies metres and OBJ nothing; real files of both come in metres, centimetres and whatever the artist
//! found handy. A head is always about the same size, so its size reveals the unit.

use glam::Vec3;

use crate::{Joint, JointRole, RigMesh, Units};

/// How tall a head, or the part of it that a face moves, plausibly is, in metres: a small face region to
/// a large cartoon head. Ours.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.12..=0.40;

/// The height that a head without a plausible unit is scaled to, in metres: an adult's, from chin to crown.
const TYPICAL: f64 = 0.24;

/// Units that people model in, the likelier first.
const KNOWN: [(f64, &str); 5] =
    [(1.0, "metres"), (0.01, "centimetres"), (0.001, "millimetres"), (0.0254, "inches"), (0.1, "decimetres")];

/// A shape displacement counts as motion from this fraction of the largest one on.
const MOVED: f32 = 1e-3;

/// A mesh without shapes counts as a scan from this many vertices on; below, as a test object.
pub(crate) const FINE: usize = 1000;

/// Chooses the unit in which something of the size of a head is `height_in_units` tall.
/// `what` names it for the reason: "the face".
pub fn guess(height_in_units: f64, what: &str) -> Units {
    let fits = |(unit, _): &&(f64, &str)| PLAUSIBLE.contains(&(height_in_units * unit));
    if let Some((unit, name)) = KNOWN.iter().find(fits) {
        let reason = format!("{what} is {height_in_units:.3} units tall, which is plausible in {name}");
        return Units { metres_per_unit: *unit, reason };
    }
    if !(height_in_units > 0.0 && height_in_units.is_finite()) {
        return unchanged(format!("{what} has no height from which to guess its unit"));
    }
    let reason = format!(
        "{what} is {height_in_units:.3} units tall, which is plausible in no usual unit, so it was made {TYPICAL} m tall"
    );
    Units { metres_per_unit: TYPICAL / height_in_units, reason }
}

/// The unit of a rig, from the size of its face. The skin and joints are still in the file's unit.
///
/// The face is the part that shapes move, so that the height of a whole body does not count; without shapes it is
/// the part above the head joint, and without that the whole mesh. A file with nothing face-like stays as it is.
pub fn of_rig(skin: &RigMesh, joints: &[Joint]) -> Units {
    let head = joints.iter().find(|joint| joint.role == JointRole::Head);
    let moved = moved_vertices(skin);
    let (height, what) = if !moved.is_empty() {
        (moved_height(skin), "the region that its shapes move")
    } else if let Some(head) = head {
        let top = skin.positions.iter().map(|p| f64::from(p.y)).fold(f64::NEG_INFINITY, f64::max);
        (top - head.position.y, "the head above its joint")
    } else {
        (height(skin.positions.iter().copied()), "the mesh")
    };
    let is_face = if moved.is_empty() {
        head.is_some() || skin.positions.len() >= FINE
    } else {
        !joints.is_empty() || skin.shapes.iter().any(|shape| sounds_facial(&shape.name))
    };
    if is_face || PLAUSIBLE.contains(&height) {
        return guess(height, what);
    }
    unchanged(format!("{what} is {height:.3} units tall and nothing shows that it is a face"))
}

/// Height of the region that the shapes of a mesh move, in its unit; 0 without any.
pub(crate) fn moved_height(mesh: &RigMesh) -> f64 {
    height(moved_vertices(mesh).into_iter().map(|vertex| mesh.positions[vertex]))
}

fn unchanged(reason: String) -> Units {
    Units { metres_per_unit: 1.0, reason }
}

fn height(points: impl Iterator<Item = Vec3>) -> f64 {
    let (low, high) =
        points.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), p| (low.min(p.y), high.max(p.y)));
    if high >= low { f64::from(high) - f64::from(low) } else { 0.0 }
}

/// Vertices that any shape moves noticeably, in order.
fn moved_vertices(mesh: &RigMesh) -> Vec<usize> {
    let largest = mesh.shapes.iter().map(|shape| shape.deltas.largest()).fold(0.0, f32::max);
    let mut moved = vec![false; mesh.positions.len()];
    for (vertex, offset) in mesh.shapes.iter().flat_map(|shape| shape.deltas.iter()) {
        moved[vertex as usize] |= offset.length() > MOVED * largest;
    }
    (0..moved.len()).filter(|vertex| moved[*vertex]).collect()
}

/// Whether a shape's name refers to a face, in any of the usual conventions.
fn sounds_facial(name: &str) -> bool {
    const WORDS: [&str; 17] = [
        "jaw", "mouth", "eye", "brow", "cheek", "lip", "nose", "tongue", "smile", "frown", "blink", "viseme",
        "fcl_", "vrc.", "joy", "angry", "sneer",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likelier_unit_wins() {
        let unit = |height| guess(height, "the head").metres_per_unit;
        assert_eq!(unit(0.236), 1.0);
        assert_eq!(unit(23.6), 0.01);
        assert_eq!(unit(236.0), 0.001);
        assert_eq!(unit(2.36), 0.1);
        assert_eq!(unit(9.3), 0.0254);
    }

    #[test]
    fn a_size_of_no_unit_becomes_a_typical_head() {
        for height in [0.05, 0.8, 3000.0, 1e-9] {
            let units = guess(height, "the head");
            assert!((units.metres_per_unit * height - TYPICAL).abs() < 1e-12, "{height}");
        }
    }

    #[test]
    fn nothing_to_measure_changes_nothing() {
        for height in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(guess(height, "the head").metres_per_unit, 1.0);
        }
    }
}
