//! Which vertices of the shell are not simulated but follow their targets: eyelid margins and cut edges (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::topology::{DisjointSets, EdgeCounts};
use zygoma_numerics::{Budget, Stop};
use zygoma_physics::shell::Shell;

/// A border whose opposite sides the jaw parts by more than this share of the height is the mouth. Ours.
const PARTED: f64 = 0.04;

/// Borders longer than this share of the height are the edge of the mesh, not an opening of the face. Ours: a mouth
/// measures about half of it around.
const OPENING: f64 = 1.2;

/// Around an eye, lids up to this share of the height from the opening follow their targets: 7 mm. Ours.
const LID: f64 = 0.03;

/// Flags vertices on and around all borders but the mouth's.
pub(crate) fn held_vertices(
    shell: &Shell,
    jaw_moves: &[&[DVec3]],
    budget: &Budget,
) -> Result<Vec<bool>, Stop> {
    let mut held = vec![false; shell.vertex_count()];
    for border in borders(shell) {
        budget.check()?;
        let positions = || border.vertices.iter().map(|v| shell.rest[*v as usize]);
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
                held[v] |= positions().any(|p| p.distance(shell.rest[v]) < LID);
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
fn borders(shell: &Shell) -> Vec<Border> {
    let edges = EdgeCounts::new(&shell.triangles).border();
    let mut sets = DisjointSets::new(shell.vertex_count());
    for (a, b) in &edges {
        sets.join(*a, *b);
    }
    let mut found: std::collections::BTreeMap<u32, Border> = std::collections::BTreeMap::new();
    for (a, b) in &edges {
        let border = found.entry(sets.find(*a)).or_insert(Border { vertices: Vec::new(), length: 0.0 });
        border.vertices.extend([*a, *b]);
        border.length += shell.rest[*a as usize].distance(shell.rest[*b as usize]);
    }
    for border in found.values_mut() {
        border.vertices.sort_unstable();
        border.vertices.dedup();
    }
    found.into_values().collect()
}
