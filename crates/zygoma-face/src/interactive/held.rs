//! Which vertices of the shell are not simulated but follow their targets: eyelids and the edge of the region (IFA §4.4).

use glam::DVec3;
use zygoma_geometry::topology::{DisjointSets, EdgeCounts};
use zygoma_numerics::{Budget, Stop};
use zygoma_physics::shell::Shell;
use zygoma_rig::{RigMesh, arkit};

/// A border longer than this share of the height is the edge of the region, not an opening of the face such as a mouth or
/// a nostril. Ours: a mouth measures about half of it around.
const OPENING: f64 = 1.2;

/// Skin that a blink moves by at least this share of what it moves most is an eyelid. Ours.
const LID: f64 = 0.25;

/// So is skin within this share of the height, 5 mm, of where a blink takes the rim: the lower lid, which hardly moves. Ours.
const LOWER_LID: f64 = 0.02;

/// The rim of a lid moves by at least this share of what a blink moves most. Ours.
const RIM: f64 = 0.7;

/// Without a shape that blinks, openings of this length in heights are taken for eyes; a nostril measures 0.15, a mouth 0.6.
/// Ours.
const EYE: std::ops::Range<f64> = 0.25..0.45;

/// Without a shape that blinks, skin up to this share of the height from an eye's opening is its lid: 7 mm. Ours.
const AROUND_EYE: f64 = 0.03;

/// The shapes that close an eye, by what they are called: ARKit's, or a word for it.
pub(super) fn blink_shapes(mesh: &RigMesh) -> Vec<usize> {
    const WORDS: [&str; 4] = ["blink", "eyeclose", "eyesclose", "wink"];
    let is_blink = |name: &str| {
        let known = arkit::recognise(name).is_some_and(|found| found.shape.starts_with("eyeBlink"));
        known || WORDS.iter().any(|word| arkit::key(name).contains(word))
    };
    (0..mesh.shapes.len()).filter(|shape| is_blink(&mesh.shapes[*shape].name)).collect()
}

/// Flags the edge of the region and the eyelids. `blinks` are the displacements of shapes that close an eye.
pub(super) fn held_vertices(shell: &Shell, blinks: &[&[DVec3]], budget: &Budget) -> Result<Vec<bool>, Stop> {
    let mut held = vec![false; shell.vertex_count()];
    let borders = borders(shell);
    let edges = borders.iter().filter(|border| border.length >= OPENING);
    edges.flat_map(|border| &border.vertices).for_each(|v| held[*v as usize] = true);
    for blink in blinks {
        budget.check()?;
        hold_lids(shell, blink, &mut held);
    }
    if blinks.is_empty() {
        let eyes = borders.iter().filter(|border| EYE.contains(&border.length));
        let rims: Vec<DVec3> =
            eyes.flat_map(|border| &border.vertices).map(|v| shell.rest[*v as usize]).collect();
        hold_near(shell, &rims, AROUND_EYE, &mut held);
    }
    Ok(held)
}

fn hold_lids(shell: &Shell, blink: &[DVec3], held: &mut [bool]) {
    let most = blink.iter().map(|d| d.length()).fold(0.0, f64::max);
    if most == 0.0 {
        return;
    }
    let closed = (0..held.len()).filter(|v| blink[*v].length() >= RIM * most);
    let closed: Vec<DVec3> = closed.map(|v| shell.rest[v] + blink[v]).collect();
    for (held, d) in held.iter_mut().zip(blink) {
        *held |= d.length() >= LID * most;
    }
    hold_near(shell, &closed, LOWER_LID, held);
}

fn hold_near(shell: &Shell, places: &[DVec3], reach: f64, held: &mut [bool]) {
    for (held, rest) in held.iter_mut().zip(&shell.rest) {
        *held |= places.iter().any(|p| p.distance(*rest) < reach);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    /// A sheet with a nostril and an eye in it, and a blink that takes the upper rim of the eye to the lower one.
    #[test]
    fn lids_are_held_and_a_nostril_is_free() {
        let (positions, triangles) = shapes::square(60);
        let rest: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let (nostril, eye) = (DVec3::new(0.3, 0.3, 0.0), DVec3::new(0.7, 0.7, 0.0));
        let is_open = |p: DVec3| p.distance(nostril) < 0.03 || p.distance(eye) < 0.05;
        let middle = |t: &[u32; 3]| t.iter().map(|v| rest[*v as usize]).sum::<DVec3>() / 3.0;
        let kept: Vec<[u32; 3]> = triangles.iter().filter(|t| !is_open(middle(t))).copied().collect();
        let mut new = vec![u32::MAX; rest.len()];
        let mut used = Vec::new();
        for v in kept.iter().flatten() {
            if new[*v as usize] == u32::MAX {
                new[*v as usize] = used.len() as u32;
                used.push(rest[*v as usize]);
            }
        }
        let triangles = kept.iter().map(|t| t.map(|v| new[v as usize])).collect();
        let shell = Shell::new(used, triangles).unwrap();
        let close = |p: &DVec3| {
            let above = (p.y > eye.y && p.distance(eye) < 0.09).then_some(0.1 * DVec3::NEG_Y);
            above.unwrap_or_default()
        };
        let blink: Vec<DVec3> = shell.rest.iter().map(close).collect();
        let held = held_vertices(&shell, &[&blink], &Budget::default()).unwrap();
        let is_held = |near: DVec3| {
            let distance = |v: &usize| shell.rest[*v].distance(near);
            let nearest = (0..held.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.is_some_and(|v| held[v])
        };
        assert!(is_held(eye + 0.06 * DVec3::Y) && is_held(eye - 0.055 * DVec3::Y), "both lids");
        assert!(is_held(DVec3::ZERO) && is_held(DVec3::X), "the edge");
        assert!(!is_held(nostril + 0.03 * DVec3::X) && !is_held(nostril - 0.03 * DVec3::Y), "the nostril");
        assert!(!is_held(DVec3::new(0.5, 0.5, 0.0)), "skin in between");
    }
}
