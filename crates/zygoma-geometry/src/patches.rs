//! Division of a mirrored surface into small patches.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use glam::DVec3;

use crate::topology::half_edges;

/// Rounds in which every patch's seed moves to the middle of the patch.
const ROUNDS: usize = 10;

/// A division of a surface's vertices into patches, each of them connected where the surface is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patches {
    /// For each vertex its patch.
    pub of_vertex: Vec<u32>,
    /// Number of patches.
    pub count: usize,
}

impl Patches {
    /// Divides a surface into `count` patches with about as many vertices each, such that mirrored vertices lie in mirrored patches. `mirror` names the
    /// mirror image of every vertex, which is the vertex itself in the middle. The result depends on the input alone. `None` if there
    /// are too few vertices, or more separate parts than patches.
    pub fn mirrored(
        positions: &[DVec3],
        triangles: &[[u32; 3]],
        mirror: &[u32],
        count: usize,
    ) -> Option<Self> {
        if count == 0 || positions.len() < 2 * count || mirror.len() != positions.len() {
            return None;
        }
        let half = Half::new(positions, triangles, mirror);
        let seeds = half.seeds(positions, count)?;
        let found = half.nearest(&seeds);
        if half.members().any(|v| found[v].1 == u32::MAX) {
            return None;
        }
        // Patches off the middle come twice: numbers above those of all seeds are the mirror images.
        let in_middle = seeds.iter().filter(|v| half.is_middle(**v)).count() as u32;
        let images = seeds.len() as u32 - in_middle;
        let of_vertex = (0..positions.len()).map(|v| {
            let own = half.representative(v);
            let label = found[own].1;
            if own == v || label < in_middle { label } else { label + images }
        });
        let of_vertex = of_vertex.collect();
        Some(Self { of_vertex, count: (in_middle + 2 * images) as usize })
    }

    /// The vertices of each patch, increasing.
    pub fn members(&self) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.count];
        (0u32..).zip(&self.of_vertex).for_each(|(v, patch)| members[*patch as usize].push(v));
        members
    }
}

/// One half of a mirrored surface, its middle included, as a graph: each vertex stands for its mirror image too.
struct Half<'a> {
    mirror: &'a [u32],
    /// Neighbours, with the lengths of edges relative to those around: paths then count vertices.
    around: Vec<Vec<(u32, f64)>>,
}

impl<'a> Half<'a> {
    fn new(positions: &[DVec3], triangles: &[[u32; 3]], mirror: &'a [u32]) -> Self {
        let mut half = Self { mirror, around: vec![Vec::new(); positions.len()] };
        let mut edges: Vec<(usize, usize)> = triangles
            .iter()
            .flat_map(|t| half_edges(*t))
            .flat_map(|(a, b)| [(a as usize, b as usize), (b as usize, a as usize)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let mut sums = vec![(0.0, 0.0); positions.len()];
        for (a, b) in &edges {
            sums[*a].0 += positions[*a].distance(positions[*b]);
            sums[*a].1 += 1.0;
        }
        let local = |v: usize| sums[v].0 / f64::max(sums[v].1, 1.0);
        for (a, b) in &edges {
            let length = positions[*a].distance(positions[*b]);
            let relative = 2.0 * length / (local(*a) + local(*b)).max(f64::MIN_POSITIVE);
            let (from, to) = (half.representative(*a), half.representative(*b));
            if from != to {
                half.around[from].push((to as u32, relative));
            }
        }
        half
    }

    fn representative(&self, v: usize) -> usize {
        v.min(self.mirror[v] as usize)
    }

    fn is_middle(&self, v: usize) -> bool {
        self.mirror[v] as usize == v
    }

    fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.mirror.len()).filter(|v| self.representative(*v) == *v)
    }

    /// For each vertex the distance of the nearest seed and its number. Vertices in the middle belong to seeds in the middle only, so
    /// that a patch is its own mirror image or lies on one side.
    fn nearest(&self, seeds: &[usize]) -> Vec<(f64, u32)> {
        let mut found = vec![(f64::INFINITY, u32::MAX); self.mirror.len()];
        // Distances are not negative, so their bits sort as they do; numbers break ties.
        let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> =
            (0u32..).zip(seeds).map(|(number, v)| Reverse((0, number, *v as u32))).collect();
        while let Some(Reverse((bits, number, vertex))) = queue.pop() {
            let v = vertex as usize;
            let is_refused = self.is_middle(v) && !self.is_middle(seeds[number as usize]);
            if found[v].1 != u32::MAX || is_refused {
                continue;
            }
            found[v] = (f64::from_bits(bits), number);
            for (next, step) in self.around[v].iter().filter(|(next, _)| found[*next as usize].1 == u32::MAX)
            {
                queue.push(Reverse(((f64::from_bits(bits) + step).to_bits(), number, *next)));
            }
        }
        found
    }

    /// Seeds far from each other, those in the middle first, then moved to the middles of their patches.
    fn seeds(&self, positions: &[DVec3], count: usize) -> Option<Vec<usize>> {
        let middle: Vec<usize> = self.members().filter(|v| self.is_middle(*v)).collect();
        let side: Vec<usize> = self.members().filter(|v| !self.is_middle(*v)).collect();
        // A patch is about as wide as long, and those off the middle come in pairs.
        let width = (positions.len() as f64 / count as f64).sqrt();
        let mut in_middle = (middle.len() as f64 / width).round() as usize;
        in_middle = in_middle.clamp(usize::from(!middle.is_empty()), count);
        if (count - in_middle) % 2 == 1 {
            in_middle = if in_middle < count.min(middle.len()) { in_middle + 1 } else { in_middle - 1 };
        }
        let pairs = (count - in_middle) / 2;
        if in_middle > middle.len() || pairs > side.len() {
            return None;
        }
        let mut seeds = Vec::new();
        for (candidates, wanted) in [(&middle, in_middle), (&side, pairs)] {
            for _ in 0..wanted {
                let found = self.nearest(&seeds);
                let farthest = candidates
                    .iter()
                    .filter(|v| !seeds.contains(v))
                    .max_by(|a, b| found[**a].0.total_cmp(&found[**b].0).then(b.cmp(a)));
                seeds.push(*farthest?);
            }
        }
        for _ in 0..ROUNDS {
            self.centre(positions, &mut seeds);
        }
        Some(seeds)
    }

    /// Moves every seed to the vertex nearest to the mean of its patch; those in the middle stay in the middle.
    fn centre(&self, positions: &[DVec3], seeds: &mut [usize]) {
        let found = self.nearest(seeds);
        let mut sums = vec![(DVec3::ZERO, 0.0); seeds.len()];
        for v in self.members().filter(|v| found[*v].1 != u32::MAX) {
            let (sum, count) = &mut sums[found[v].1 as usize];
            *sum += positions[v];
            *count += 1.0;
        }
        let mut best = vec![f64::INFINITY; seeds.len()];
        let olds = seeds.to_vec();
        for v in self.members().filter(|v| found[*v].1 != u32::MAX) {
            let number = found[v].1 as usize;
            let (sum, count) = sums[number];
            let distance = positions[v].distance(sum / count);
            if self.is_middle(v) == self.is_middle(olds[number]) && distance < best[number] {
                best[number] = distance;
                seeds[number] = v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::DisjointSets;

    /// A mirrored bent sheet of `2 n + 1` by `n` vertices.
    fn sheet(n: u32) -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<u32>) {
        let wide = 2 * n + 1;
        let point = |v: u32| {
            let (i, j) = (f64::from(v % wide) - f64::from(n), f64::from(v / wide));
            DVec3::new(i, j, 0.02 * i * i)
        };
        let mut triangles = Vec::new();
        for (i, j) in (0..n - 1).flat_map(|j| (0..wide - 1).map(move |i| (i, j))) {
            let v = j * wide + i;
            // Diagonals are mirrored, too.
            triangles.extend(match i < n {
                true => [[v, v + 1, v + wide], [v + 1, v + wide + 1, v + wide]],
                false => [[v, v + 1, v + wide + 1], [v, v + wide + 1, v + wide]],
            });
        }
        let mirror = (0..wide * n).map(|v| v / wide * wide + (wide - 1 - v % wide)).collect();
        ((0..wide * n).map(point).collect(), triangles, mirror)
    }

    #[test]
    fn patches_are_mirrored_connected_and_of_like_size() {
        let (positions, triangles, mirror) = sheet(20);
        let patches = Patches::mirrored(&positions, &triangles, &mirror, 24).unwrap();
        assert_eq!(patches.count, 24);
        assert_eq!(Patches::mirrored(&positions, &triangles, &mirror, 24).unwrap(), patches);
        let members = patches.members();
        let mean = positions.len() / 24;
        for (patch, vertices) in members.iter().enumerate() {
            assert!(vertices.len() > mean / 4 && vertices.len() < 3 * mean, "{patch}: {}", vertices.len());
            let image = patches.of_vertex[mirror[vertices[0] as usize] as usize];
            assert!(vertices.iter().all(|v| patches.of_vertex[mirror[*v as usize] as usize] == image));
        }
        let mut sets = DisjointSets::new(positions.len());
        for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)) {
            if patches.of_vertex[a as usize] == patches.of_vertex[b as usize] {
                sets.join(a, b);
            }
        }
        assert_eq!(sets.numbered().1, 24, "each patch is connected");
    }

    #[test]
    fn a_surface_that_cannot_be_divided_so_is_refused() {
        let (positions, triangles, mirror) = sheet(4);
        assert!(Patches::mirrored(&positions, &triangles, &mirror, 0).is_none());
        assert!(Patches::mirrored(&positions, &triangles, &mirror, 30).is_none());
        assert!(Patches::mirrored(&positions, &triangles, &mirror[1..], 4).is_none());
    }
}
