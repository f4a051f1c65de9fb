//! Vertices of the coarse skin that are not simulated but follow their targets: eyelid margins and cut edges (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::coarsen::CoarseMesh;
use zygoma_geometry::topology::{DisjointSets, EdgeCounts};
use zygoma_numerics::{Budget, Stop};

/// A border whose opposite sides are separated by the jaw by more than this fraction of the height is the mouth. Ours.
const PARTED: f64 = 0.04;

/// Borders longer than this fraction of the height are the edge of the mesh, not an opening of the face. Ours: the border of a mouth is
/// about half as long.
const OPENING: f64 = 1.2;

/// Around an eye, lids up to this fraction of the height from the opening follow their targets: 7 mm. Ours.
const LID: f64 = 0.03;

/// Flags vertices on and around all borders except the mouth.
pub(crate) fn held_vertices(
    skin: &CoarseMesh,
    jaw_moves: &[&[DVec3]],
    budget: &Budget,
) -> Result<Vec<bool>, Stop> {
    let mut held = vec![false; skin.positions.len()];
    for border in borders(skin) {
        budget.check()?;
        let positions = || border.vertices.iter().map(|v| skin.positions[*v as usize]);
        let is_opening = border.length < OPENING;
        let parts = |moves: &&[DVec3]| {
            let lengths = || border.vertices.iter().map(|v| moves[*v as usize].length());
            lengths().fold(0.0, f64::max) - lengths().fold(f64::MAX, f64::min) > PARTED
        };
        if is_opening && jaw_moves.iter().any(parts) {
            continue;
        }
        for v in &border.vertices {
            held[*v as usize] = true;
        }
        if is_opening {
            for v in 0..held.len() {
                held[v] |= positions().any(|p| p.distance(skin.positions[v]) < LID);
            }
        }
    }
    Ok(held)
}

struct Border {
    vertices: Vec<u32>,
    length: f64,
}

/// Connected border edges, in the order of their smallest vertex.
fn borders(skin: &CoarseMesh) -> Vec<Border> {
    let edges = EdgeCounts::new(&skin.triangles).border();
    let mut sets = DisjointSets::new(skin.positions.len());
    for (a, b) in &edges {
        sets.join(*a, *b);
    }
    let mut found: std::collections::BTreeMap<u32, Border> = std::collections::BTreeMap::new();
    for (a, b) in &edges {
        let border = found.entry(sets.find(*a)).or_insert(Border { vertices: Vec::new(), length: 0.0 });
        border.vertices.extend([*a, *b]);
        border.length += skin.positions[*a as usize].distance(skin.positions[*b as usize]);
    }
    for border in found.values_mut() {
        border.vertices.sort_unstable();
        border.vertices.dedup();
    }
    found.into_values().collect()
}
