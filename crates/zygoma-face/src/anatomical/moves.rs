//! Displacements of the tissue's surface that were read at the wrong place of a rig.
//!
//! Each vertex of the surface moves as the rig's skin nearest to it. Where lips touch, and where a fitted head is not quite the rig's, that can be the other
//! lip: then two neighbours of the surface part by centimetres when the mouth opens, which tears the tissue between them. Such vertices move as the
//! surface around them does instead.

use std::collections::BTreeSet;

use glam::DVec3;

/// An edge that a shape makes longer than this many times its length, and then some, is torn: skin at a corner of the mouth stretches to
/// about three times its length. Ours, as those below.
const TORN: f64 = 4.0;
const SLACK: f64 = 1e-3;
/// Vertices within this many edges of a torn one are in doubt: where lips touch is a strip a few vertices wide.
const RINGS: usize = 2;
/// Sweeps of the interpolation.
const SWEEPS: usize = 200;

/// Gives vertices in doubt displacements that are harmonic between those of the others. Held vertices are never in doubt.
/// Returns the number of vertices in doubt.
pub(super) fn mend(
    rest: &[DVec3],
    triangles: &[[u32; 3]],
    is_held: &[bool],
    moves: &mut [Vec<DVec3>],
) -> usize {
    let edges: BTreeSet<[u32; 2]> = triangles
        .iter()
        .flat_map(|t| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    let length = |[a, b]: [u32; 2]| rest[a as usize].distance(rest[b as usize]);
    let is_torn = |edge: &[u32; 2]| {
        let [a, b] = edge.map(|v| v as usize);
        let parted = |own: &Vec<DVec3>| (rest[a] + own[a]).distance(rest[b] + own[b]);
        moves.iter().any(|own| parted(own) > TORN * length(*edge) + SLACK)
    };
    let mut is_doubtful = vec![false; rest.len()];
    edges.iter().filter(|edge| is_torn(edge)).flatten().for_each(|v| is_doubtful[*v as usize] = true);
    for _ in 0..RINGS {
        let before = is_doubtful.clone();
        for edge in edges.iter().filter(|edge| edge.iter().any(|v| before[*v as usize])) {
            edge.iter().for_each(|v| is_doubtful[*v as usize] = true);
        }
    }
    is_doubtful.iter_mut().zip(is_held).for_each(|(doubt, held)| *doubt &= !held);
    let mut around: Vec<Vec<(usize, f64)>> = vec![Vec::new(); rest.len()];
    for edge in &edges {
        let [a, b] = edge.map(|v| v as usize);
        let weight = 1.0 / length(*edge).max(1e-6);
        around[a].push((b, weight));
        around[b].push((a, weight));
    }
    let doubtful: Vec<usize> = (0..rest.len()).filter(|v| is_doubtful[*v]).collect();
    for own in moves.iter_mut() {
        for _ in 0..SWEEPS {
            for v in &doubtful {
                let all: f64 = around[*v].iter().map(|(_, weight)| weight).sum();
                own[*v] = around[*v].iter().map(|(other, weight)| *weight / all * own[*other]).sum();
            }
        }
    }
    doubtful.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of skin, 12 vertices long and 5 wide with 1 mm between them, that is stretched along its length.
    #[test]
    fn a_vertex_that_moves_with_the_other_lip_is_mended() {
        let at = |i: u32, j: u32| 5 * i + j;
        let rest: Vec<DVec3> =
            (0..60).map(|v| 1e-3 * DVec3::new(f64::from(v / 5), f64::from(v % 5), 0.0)).collect();
        let mut triangles = Vec::new();
        for (i, j) in (0..11).flat_map(|i| (0..4).map(move |j| (i, j))) {
            triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
        let stretched: Vec<DVec3> = rest.iter().map(|p| DVec3::new(0.5 * p.x, 0.0, 0.0)).collect();
        let is_held = vec![false; rest.len()];
        let mut moves = vec![stretched.clone()];
        assert_eq!(mend(&rest, &triangles, &is_held, &mut moves), 0);
        assert_eq!(moves[0], stretched);
        let wrong = at(6, 2) as usize;
        moves[0][wrong] += DVec3::new(0.0, -0.02, 0.0);
        assert!(mend(&rest, &triangles, &is_held, &mut moves) > 1);
        let off = moves[0].iter().zip(&stretched).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(off < 5e-4, "{off}");
        // A held vertex follows the rig, wherever that is.
        let mut held = is_held;
        held[wrong] = true;
        moves[0][wrong] = DVec3::new(0.0, -0.02, 0.0);
        mend(&rest, &triangles, &held, &mut moves);
        assert_eq!(moves[0][wrong].y, -0.02);
    }
}
