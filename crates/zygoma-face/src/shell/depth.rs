//! Maximum indentation of the skin, from the rig's own expressions (IFA §4.4).

use std::collections::{BTreeMap, VecDeque};

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::normals::vertex_normals;
use zygoma_numerics::{Budget, Stop};
use zygoma_physics::shell::{Shell, ShellParams};

/// Minimum depth everywhere, as a fraction of the tolerance: 0.5 mm on a life-size face. The depth is measured from the corrected shell's
/// rest position, so that the shell needs no room to settle. Ours.
const LEAST: f64 = 0.2;

/// The tissue's depth varies smoothly: between neighbours it falls by at most this fraction of their distance. Ours.
const SLOPE: f64 = 0.3;

/// Between skin that moves out and skin that moves in there is a line without motion along its normal, often in the middle of a cheek.
/// Tissue has no such pits: those narrower than twice this fraction of the height are filled, 18 mm on a life-size face. Ours.
const PIT: f64 = 0.08;

/// The maximum depth of each vertex: how far any expression moves it or its surroundings along the normal, and δ^thin where the skin is
/// thin.
pub(super) fn largest_depth(
    shell: &Shell,
    shapes: &[&[DVec3]],
    is_thin: &[bool],
    params: &ShellParams,
    budget: &Budget,
) -> Result<Vec<f32>, Stop> {
    let positions: Vec<glam::Vec3> = shell.rest.iter().map(|p| p.as_vec3()).collect();
    let normals = vertex_normals(&positions, &shell.triangles);
    let moved = |v: usize| {
        let normal = normals[v].as_dvec3();
        shapes.iter().map(|shape| shape[v].dot(normal).abs()).fold(0.0, f64::max)
    };
    let moves: Vec<f64> = (0..shell.vertex_count()).map(moved).collect();
    let soft = with_surroundings(shell, without_pits(shell, &moves, budget)?, budget)?;
    let depth = |v: usize| {
        let thin = if is_thin[v] { params.thin_depth } else { 0.0 };
        soft[v].max(thin).max(LEAST * params.tolerance) as f32
    };
    Ok((0..shell.vertex_count()).map(depth).collect())
}

/// Fills narrow pits of a field, along the edges of the shell: the closing of mathematical morphology, the neighbourhood's minimum of the
/// neighbourhood's maximum. Slopes beside a hill, rather than between hills, stay as they are.
fn without_pits(shell: &Shell, field: &[f64], budget: &Budget) -> Result<Vec<f64>, Stop> {
    let around = within(shell, PIT, budget)?;
    let over = |field: &[f64], start: f64, pick: fn(f64, f64) -> f64| -> Vec<f64> {
        around.iter().map(|near| near.iter().map(|v| field[*v as usize]).fold(start, pick)).collect()
    };
    let highest = over(field, f64::MIN, f64::max);
    Ok(over(&highest, f64::MAX, f64::min))
}

/// The vertices within a distance of each vertex along the shell's edges, including itself.
fn within(shell: &Shell, reach: f64, budget: &Budget) -> Result<Vec<Vec<u32>>, Stop> {
    let mut next: Vec<Vec<(u32, f64)>> = vec![Vec::new(); shell.vertex_count()];
    for spring in &shell.springs {
        let [a, b] = spring.ends;
        next[a as usize].push((b, spring.rest_length));
        next[b as usize].push((a, spring.rest_length));
    }
    let around = |start: usize| {
        budget.check()?;
        let mut distances: BTreeMap<u32, f64> = BTreeMap::from([(start as u32, 0.0)]);
        let mut queue = VecDeque::from([start as u32]);
        while let Some(v) = queue.pop_front() {
            let so_far = distances[&v];
            for (other, length) in &next[v as usize] {
                let distance = so_far + length;
                if distance <= reach && distances.get(other).is_none_or(|known| distance < *known) {
                    distances.insert(*other, distance);
                    queue.push_back(*other);
                }
            }
        }
        Ok(distances.into_keys().collect())
    };
    (0..shell.vertex_count()).into_par_iter().map(around).collect()
}

/// Raises a field to cones of limited slope below its peaks, along the edges of the shell.
///
/// A peak spreads over at least one edge in each pass, so there are at most as many passes as vertices.
fn with_surroundings(shell: &Shell, mut field: Vec<f64>, budget: &Budget) -> Result<Vec<f64>, Stop> {
    let mut changed = true;
    while changed {
        budget.check()?;
        changed = false;
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let fall = SLOPE * spring.rest_length;
            for (low, high) in [(a, b), (b, a)] {
                if field[low] < field[high] - fall {
                    field[low] = field[high] - fall;
                    changed = true;
                }
            }
        }
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    /// A flat sheet with a wave of one length across its left half.
    #[test]
    fn pits_between_hills_are_filled_and_the_plain_beside_them_is_not() {
        let (positions, triangles) = shapes::square(50);
        let rest: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let wave = |p: &DVec3| if p.x < 0.4 { 0.02 * (p.x / 0.2 * std::f64::consts::TAU).cos() } else { 0.0 };
        let moves: Vec<DVec3> = rest.iter().map(|p| wave(p) * DVec3::Z).collect();
        let shell = Shell::new(rest, triangles).unwrap();
        let is_thin = vec![false; shell.vertex_count()];
        let depth =
            largest_depth(&shell, &[&moves], &is_thin, &ShellParams::default(), &Budget::default()).unwrap();
        for (p, depth) in shell.rest.iter().zip(depth) {
            if p.x > 0.06 && p.x < 0.34 {
                // The wave has a node at every twentieth.
                assert!(depth > 0.019, "{p}: {depth}");
            } else if p.x > 0.4 + 0.02 / SLOPE {
                assert!(depth <= 0.002 + 1e-6, "{p}: {depth}");
            }
        }
    }
}
