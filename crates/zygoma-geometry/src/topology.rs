//! Connectivity of triangles: edges, borders, connected components.

use std::collections::{HashMap, HashSet};

/// Every undirected edge with the number of triangles on it.
#[derive(Clone, Debug, Default)]
pub struct EdgeCounts {
    counts: HashMap<(u32, u32), u32>,
}

impl EdgeCounts {
    /// Counts the edges of triangles. Edges from a vertex to itself do not count.
    pub fn new(triangles: &[[u32; 3]]) -> Self {
        let mut counts = HashMap::with_capacity(triangles.len() * 3 / 2);
        for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
            if a != b {
                *counts.entry((a.min(b), a.max(b))).or_insert(0) += 1;
            }
        }
        Self { counts }
    }

    /// Number of triangles on an edge, whichever way it is written.
    pub fn count(&self, a: u32, b: u32) -> u32 {
        self.counts.get(&(a.min(b), a.max(b))).copied().unwrap_or(0)
    }

    /// Edges with exactly one triangle, sorted.
    pub fn border(&self) -> Vec<(u32, u32)> {
        self.with(|count| count == 1)
    }

    /// Edges with three or more triangles, sorted.
    pub fn non_manifold(&self) -> Vec<(u32, u32)> {
        self.with(|count| count > 2)
    }

    fn with(&self, wanted: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let mut edges: Vec<_> =
            self.counts.iter().filter(|(_, count)| wanted(**count)).map(|(edge, _)| *edge).collect();
        edges.sort_unstable();
        edges
    }
}

/// The three directed edges of a triangle.
pub fn half_edges([a, b, c]: [u32; 3]) -> [(u32, u32); 3] {
    [(a, b), (b, c), (c, a)]
}

/// The places in `triangles` of those that have three different vertices, each set of three once, whichever way round: the
/// first one stays. Doubled triangles and the back of a double-sided surface are left out.
pub fn distinct_triangles(triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut seen = HashSet::with_capacity(triangles.len());
    let mut is_new = |t: &[u32; 3]| {
        let mut corners = *t;
        corners.sort_unstable();
        corners[0] != corners[1] && corners[1] != corners[2] && seen.insert(corners)
    };
    (0u32..).zip(triangles).filter(|(_, t)| is_new(t)).map(|(index, _)| index).collect()
}

/// The connected component of each vertex, numbered in order of first appearance, and their count.
/// A vertex in no triangle is a component of its own.
pub fn connected_parts(vertex_count: usize, triangles: &[[u32; 3]]) -> (Vec<u32>, usize) {
    let mut sets = DisjointSets::new(vertex_count);
    for [a, b, c] in triangles {
        sets.join(*a, *b);
        sets.join(*b, *c);
    }
    sets.numbered()
}

/// Disjoint sets with union by smallest member, so that the result does not depend on the order of joins.
#[derive(Clone, Debug)]
pub struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    /// `count` sets of one member each.
    pub fn new(count: usize) -> Self {
        Self { parent: (0..count as u32).collect() }
    }

    /// The smallest member of the set that holds `member`.
    pub fn find(&mut self, mut member: u32) -> u32 {
        while self.parent[member as usize] != member {
            let grandparent = self.parent[self.parent[member as usize] as usize];
            self.parent[member as usize] = grandparent;
            member = grandparent;
        }
        member
    }

    /// Makes two sets one.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }

    /// The number of each member's set, counted in the order of smallest members, and the number of sets.
    pub fn numbered(mut self) -> (Vec<u32>, usize) {
        let mut numbers = vec![0; self.parent.len()];
        let mut count = 0;
        for member in 0..self.parent.len() as u32 {
            let root = self.find(member);
            if root == member {
                numbers[member as usize] = count;
                count += 1;
            } else {
                numbers[member as usize] = numbers[root as usize];
            }
        }
        (numbers, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAN_OF_THREE: [[u32; 3]; 3] = [[0, 1, 2], [1, 0, 3], [0, 1, 4]];

    #[test]
    fn borders_and_non_manifold_edges_are_distinguished() {
        let edges = EdgeCounts::new(&FAN_OF_THREE);
        assert_eq!(edges.non_manifold(), [(0, 1)]);
        assert_eq!(edges.border(), [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]);
        assert_eq!(edges.count(1, 0), 3);
    }

    #[test]
    fn doubles_backs_and_lines_are_left_out() {
        let triangles = [[0, 1, 2], [3, 2, 1], [1, 2, 0], [0, 2, 1], [4, 4, 1], [2, 3, 4]];
        assert_eq!(distinct_triangles(&triangles), [0, 1, 5]);
    }

    #[test]
    fn parts_are_numbered_by_first_vertex() {
        let (parts, count) = connected_parts(7, &[[4, 5, 6], [0, 2, 3]]);
        assert_eq!((parts, count), (vec![0, 1, 0, 0, 2, 2, 2], 3));
    }
}
