//! Distances along a surface.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use glam::DVec3;

use crate::topology::half_edges;

/// A source of distances along a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// The vertex.
    pub vertex: u32,
    /// Its initial distance.
    pub distance: f64,
    /// Label of the vertices that are nearest to this source.
    pub label: u32,
}

/// The nearest source of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Length of the shortest path along edges.
    pub distance: f64,
    /// The source's label.
    pub label: u32,
}

/// For every vertex the nearest source along the edges of the mesh; `None` where no path leads.
pub fn nearest_sources(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    sources: &[Source],
) -> Vec<Option<Nearest>> {
    let mut around = vec![Vec::new(); positions.len()];
    for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
        around[a as usize].push(b);
        around[b as usize].push(a);
    }
    let mut found: Vec<Option<Nearest>> = vec![None; positions.len()];
    // Distances are not negative, so their bits sort as they do; labels break ties.
    let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> =
        sources.iter().map(|s| Reverse((s.distance.max(0.0).to_bits(), s.label, s.vertex))).collect();
    while let Some(Reverse((bits, label, vertex))) = queue.pop() {
        if found[vertex as usize].is_some() {
            continue;
        }
        let distance = f64::from_bits(bits);
        found[vertex as usize] = Some(Nearest { distance, label });
        for next in &around[vertex as usize] {
            if found[*next as usize].is_none() {
                let step = positions[vertex as usize].distance(positions[*next as usize]);
                queue.push(Reverse(((distance + step).to_bits(), label, *next)));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;

    #[test]
    fn paths_follow_edges_and_gaps_are_not_crossed() {
        let (positions, triangles) = shapes::square(10);
        let mut positions: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        positions.push(DVec3::new(0.5, 0.5, 0.0));
        let corner = positions.iter().position(|p| p.length() < 1e-9).unwrap() as u32;
        let far = positions.iter().position(|p| p.distance(DVec3::X) < 1e-9).unwrap() as u32;
        let sources = [
            Source { vertex: corner, distance: 0.0, label: 4 },
            Source { vertex: far, distance: 0.25, label: 9 },
        ];
        let found = nearest_sources(&positions, &triangles, &sources);
        for (position, nearest) in positions.iter().zip(&found).filter(|(p, _)| p.y.abs() < 1e-9) {
            let wanted = position.x.min(1.25 - position.x);
            assert!((nearest.unwrap().distance - wanted).abs() < 1e-6);
            assert_eq!(nearest.unwrap().label, if position.x < 0.62 { 4 } else { 9 });
        }
        assert_eq!(found.last(), Some(&None));
    }
}
