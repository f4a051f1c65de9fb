//! Forces of springs and bending elements, eight at a time.
//!
//! An edge's spring and the bending element across it share two vertices, so they are evaluated together; and the
//! three edges of a triangle need six vertices, where each alone needs four. Triangles without a common edge are
//! chosen as long as there are any, which is nine edges of ten; the others are evaluated one by one.

use glam::{Vec4, Vec4Swizzles};

use super::elements::SIDEWAYS;
use super::{Shell, ShellParams, Stiffness};

/// Triangles or edges that are evaluated together.
pub(super) const LANES: usize = 8;

/// Neighbours in sorted order share vertices, and an addition would wait for the store before it; so each run of `RUN`
/// is processed in steps of `STRIDE`.
const RUN: usize = 256;
const STRIDE: usize = 16;

/// Eight edges, number by number. Those that fill up the last group have no stiffness.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edges {
    /// Parameters of the closest points on the edge and between the opposite vertices.
    pub(super) on_edge: [f32; LANES],
    pub(super) across: [f32; LANES],
    pub(super) spring_stiffness: [f32; LANES],
    pub(super) spring_length: [f32; LANES],
    pub(super) bend_stiffness: [f32; LANES],
    pub(super) bend_length: [f32; LANES],
    /// [`Bend::side`](super::Bend) divided by the sine at which the element counts as bent through.
    pub(super) bend_side: [f32; LANES],
    /// Largest allowed length of the spring, squared.
    pub(super) longest_squared: [f32; LANES],
}

/// Eight triangles with all of their edges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Triangles {
    /// The corners, then the vertices across the edges that start at each.
    pub(super) vertices: [[u32; LANES]; 6],
    pub(super) edges: [Edges; 3],
}

/// Eight edges that are in no chosen triangle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Singles {
    /// Ends of the edge, then the vertices opposite to it.
    pub(super) vertices: [[u32; LANES]; 4],
    pub(super) edges: Edges,
}

/// The four vertices of each of a triangle's edges among its six.
pub(super) const CORNERS: [[usize; 4]; 3] = [[0, 1, 2, 3], [1, 2, 0, 4], [2, 0, 1, 5]];

/// Springs and bending elements in single precision, in the order of the stepper's vertices.
#[derive(Debug, Default)]
pub(super) struct Elastic {
    triangles: Vec<Triangles>,
    singles: Vec<Singles>,
}

/// An edge: its ends and the vertices opposite to it (the ends again on a border).
#[derive(Clone, Copy, Debug)]
struct Element {
    vertices: [u32; 4],
    on_edge: f64,
    across: f64,
    spring_stiffness: f64,
    spring_length: f64,
    bend_stiffness: f64,
    bend_length: f64,
    bend_side: f64,
    longest: f64,
}

impl Element {
    /// The same element seen from a triangle: its edge from one corner to another, the third before the one across.
    fn seen_from(&self, [from, to, third]: [u32; 3]) -> Self {
        let mut seen = *self;
        if seen.vertices[0] != from {
            seen.on_edge = 1.0 - seen.on_edge;
            seen.bend_side = -seen.bend_side;
        }
        if seen.vertices[3] == third {
            seen.vertices.swap(2, 3);
            seen.across = 1.0 - seen.across;
            seen.bend_side = -seen.bend_side;
        }
        // Without a bending element there is nothing across.
        let across = if seen.vertices[2] == third { seen.vertices[3] } else { from };
        seen.vertices = [from, to, third, across];
        seen
    }
}

impl Edges {
    fn set(&mut self, lane: usize, element: &Element) {
        self.on_edge[lane] = element.on_edge as f32;
        self.across[lane] = element.across as f32;
        self.spring_stiffness[lane] = element.spring_stiffness as f32;
        self.spring_length[lane] = element.spring_length as f32;
        self.bend_stiffness[lane] = element.bend_stiffness as f32;
        self.bend_length[lane] = element.bend_length as f32;
        self.bend_side[lane] = element.bend_side as f32;
        self.longest_squared[lane] = (element.longest * element.longest) as f32;
    }

    /// Adds the forces of one edge; returns whether it is too long.
    fn add_forces(&self, lane: usize, vertices: [usize; 4], positions: &[Vec4], forces: &mut [Vec4]) -> bool {
        let [a, b, c, d] = vertices.map(|v| positions[v]);
        let (s, t) = (self.on_edge[lane], self.across[lane]);
        let (edge, across) = (b - a, d - c);
        // q = (1 − s) a + s b − (1 − t) c − t d
        let span = (a - c) + s * edge - t * across;
        let edge_squared = edge.dot(edge);
        let normal = edge.xyz().cross(across.xyz());
        let span_length = span.length();
        let product = (span_length * normal.length()).max(f32::MIN_POSITIVE);
        let lift = -span.xyz().dot(normal) * self.bend_side[lane] / product;
        let free = self.bend_length[lane] * (1.0 + lift).clamp(0.0, 1.0);
        let stretch = 1.0 - self.spring_length[lane] / edge_squared.sqrt().max(f32::MIN_POSITIVE);
        // Slack while flatter than at rest.
        let bent = (1.0 - free / span_length.max(f32::MIN_POSITIVE)).max(0.0);
        let pull = self.spring_stiffness[lane] * stretch * edge;
        let bend = self.bend_stiffness[lane] * bent * span;
        let (at_b, at_d) = (s * bend, t * bend);
        let [a, b, c, d] = vertices;
        forces[a] += pull - bend + at_b;
        forces[b] -= pull + at_b;
        forces[c] += bend - at_d;
        forces[d] += at_d;
        edge_squared > self.longest_squared[lane]
    }
}

impl Elastic {
    pub(super) fn new(shell: &Shell, stiffness: &Stiffness, params: &ShellParams, places: &[u32]) -> Self {
        let elements = elements(shell, stiffness, params);
        let (chosen, rest) = choose(shell, &elements);
        let place = |v: u32| places[v as usize];
        let mut patches: Vec<([u32; 6], [Element; 3])> = chosen
            .iter()
            .map(|(corners, edges)| {
                let [i, j, k] = *corners;
                let seen = [[i, j, k], [j, k, i], [k, i, j]];
                let seen = [0, 1, 2].map(|e| elements[edges[e]].seen_from(seen[e]));
                let [p, q, r] = [0, 1, 2].map(|e| seen[e].vertices[3]);
                ([i, j, k, p, q, r].map(place), seen)
            })
            .collect();
        let mut lone: Vec<([u32; 4], Element)> =
            rest.iter().map(|e| (elements[*e].vertices.map(place), elements[*e])).collect();
        patches.sort_by_key(|(vertices, _)| vertices.iter().copied().min());
        lone.sort_by_key(|(vertices, _)| vertices.iter().copied().min());
        let mut triangles = vec![Triangles::default(); patches.len().div_ceil(LANES)];
        for (index, (vertices, edges)) in strided(&patches).enumerate() {
            let (group, lane) = (&mut triangles[index / LANES], index % LANES);
            for (own, vertex) in group.vertices.iter_mut().zip(vertices) {
                own[lane] = *vertex;
            }
            for (own, edge) in group.edges.iter_mut().zip(edges) {
                own.set(lane, edge);
            }
        }
        let mut singles = vec![Singles::default(); lone.len().div_ceil(LANES)];
        for (index, (vertices, edge)) in strided(&lone).enumerate() {
            let (group, lane) = (&mut singles[index / LANES], index % LANES);
            for (own, vertex) in group.vertices.iter_mut().zip(vertices) {
                own[lane] = *vertex;
            }
            group.edges.set(lane, edge);
        }
        Self { triangles, singles }
    }

    /// Adds the forces at `positions` to `forces`, and lists edges that are too long.
    pub(super) fn add_forces(&self, positions: &[Vec4], forces: &mut [Vec4], too_long: &mut Vec<u32>) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = zygoma_numerics::simd::avx2() {
            super::elastic_avx2::add_forces(simd, &self.triangles, positions, forces, too_long);
            let before = 3 * LANES * self.triangles.len();
            super::elastic_avx2::add_single_forces(simd, &self.singles, before, positions, forces, too_long);
            return;
        }
        self.add_forces_plainly(positions, forces, too_long);
    }

    /// The same, one edge at a time.
    fn add_forces_plainly(&self, positions: &[Vec4], forces: &mut [Vec4], too_long: &mut Vec<u32>) {
        let count = 3 * LANES * self.triangles.len() + LANES * self.singles.len();
        for edge in 0..count as u32 {
            let (edges, lane, vertices) = self.edge(edge);
            if edges.add_forces(lane, vertices, positions, forces) {
                too_long.push(edge);
            }
        }
    }

    /// Pulls the ends of listed edges together until they are no longer than allowed, or than in the `wanted` positions; only the
    /// first `free` vertices move.
    pub(super) fn limit_strain(&self, listed: &[u32], positions: &mut [Vec4], wanted: &[Vec4], free: usize) {
        for element in listed {
            let (edges, lane, [a, b, ..]) = self.edge(*element);
            let edge = positions[b] - positions[a];
            let allowed = edges.longest_squared[lane].max(wanted[a].distance_squared(wanted[b]));
            let (length, longest) = (edge.length(), allowed.sqrt());
            let movable = [a, b].map(|v| f32::from(u8::from(v < free)));
            if length <= longest || movable == [0.0; 2] {
                continue;
            }
            let correction = edge * ((length - longest) / (length * (movable[0] + movable[1])));
            positions[a] += movable[0] * correction;
            positions[b] -= movable[1] * correction;
        }
    }

    /// An edge by its number: first those of the triangles, group by group, then the others.
    fn edge(&self, edge: u32) -> (&Edges, usize, [usize; 4]) {
        let (edge, before) = (edge as usize, 3 * LANES * self.triangles.len());
        if let Some(single) = edge.checked_sub(before) {
            let (group, lane) = (&self.singles[single / LANES], single % LANES);
            return (&group.edges, lane, group.vertices.map(|corner| corner[lane] as usize));
        }
        let (group, which) = (&self.triangles[edge / (3 * LANES)], edge / LANES % 3);
        let lane = edge % LANES;
        (&group.edges[which], lane, CORNERS[which].map(|corner| group.vertices[corner][lane] as usize))
    }
}

/// Every edge of a shell with its bending element, if it has one, in the order of the springs.
fn elements(shell: &Shell, stiffness: &Stiffness, params: &ShellParams) -> Vec<Element> {
    let mut bends = shell.bends.iter().peekable();
    let element = |spring: &super::Spring| {
        let bend = bends.next_if(|bend| {
            let [a, b] = [bend.vertices[0], bend.vertices[1]];
            [a.min(b), a.max(b)] == spring.ends
        });
        let [a, b] = spring.ends;
        Element {
            vertices: bend.map_or([a, b, a, b], |bend| bend.vertices),
            on_edge: bend.map_or(0.0, |bend| bend.weights[1]),
            across: bend.map_or(0.0, |bend| -bend.weights[3]),
            spring_stiffness: spring.rest_length * stiffness.of_spring(spring),
            spring_length: spring.rest_length,
            bend_stiffness: bend.map_or(0.0, |bend| bend.scale * stiffness.of_bend(bend)),
            bend_length: bend.map_or(0.0, |bend| bend.rest_distance),
            bend_side: bend.map_or(0.0, |bend| bend.side / SIDEWAYS),
            longest: (1.0 + params.max_strain) * spring.rest_length,
        }
    };
    shell.springs.iter().map(element).collect()
}

/// The vertices and the edges of a triangle.
type WithEdges = ([u32; 3], [usize; 3]);

/// Chooses triangles without common edges; returns them with their edges, and the remaining edges. A breadth-first order leaves
/// the fewest.
fn choose(shell: &Shell, elements: &[Element]) -> (Vec<WithEdges>, Vec<usize>) {
    let mut by_ends: Vec<([u32; 2], usize)> =
        shell.springs.iter().enumerate().map(|(edge, spring)| (spring.ends, edge)).collect();
    by_ends.sort_unstable();
    let edges: Vec<[usize; 3]> = shell
        .triangles
        .iter()
        .map(|[i, j, k]| {
            [(*i, *j), (*j, *k), (*k, *i)].map(|(a, b)| {
                let found = by_ends.binary_search_by_key(&[a.min(b), a.max(b)], |(ends, _)| *ends);
                by_ends[found.expect("every edge of a triangle has a spring")].1
            })
        })
        .collect();
    let mut sides = vec![Vec::new(); elements.len()];
    for (triangle, edges) in edges.iter().enumerate() {
        edges.iter().for_each(|edge| sides[*edge].push(triangle));
    }
    let (mut seen, mut taken) = (vec![false; edges.len()], vec![false; elements.len()]);
    let mut chosen = Vec::new();
    for start in 0..edges.len() {
        let mut queue = std::collections::VecDeque::new();
        if !std::mem::replace(&mut seen[start], true) {
            queue.push_back(start);
        }
        while let Some(triangle) = queue.pop_front() {
            let own = edges[triangle];
            if own.iter().all(|edge| !taken[*edge]) {
                own.iter().for_each(|edge| taken[*edge] = true);
                chosen.push((shell.triangles[triangle], own));
            }
            for side in own.iter().flat_map(|edge| &sides[*edge]) {
                if !std::mem::replace(&mut seen[*side], true) {
                    queue.push_back(*side);
                }
            }
        }
    }
    (chosen, (0..elements.len()).filter(|edge| !taken[*edge]).collect())
}

/// Iterates over every run with the stride.
fn strided<T>(list: &[T]) -> impl Iterator<Item = &T> {
    list.chunks(RUN).flat_map(|run| (0..STRIDE).flat_map(move |start| run.iter().skip(start).step_by(STRIDE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::length_energy::LengthEnergy;
    use crate::shell::test_shells::bumpy_sheet;
    use glam::DVec3;

    #[test]
    fn forces_are_those_of_the_elements() {
        let shell = bumpy_sheet(8, 6);
        let count = shell.vertex_count();
        let mut stiffness = Stiffness::uniform(count, 3.0, 2.0);
        for v in 0..count {
            stiffness.strain[v] += (v as f64).sin();
            stiffness.bending[v] += (v as f64).cos();
        }
        let places: Vec<u32> = (0..count as u32).rev().collect();
        let moved: Vec<DVec3> = (0..count)
            .map(|v| {
                shell.rest[v]
                    + 0.05
                        * DVec3::new((3.0 * v as f64).sin(), (5.0 * v as f64).cos(), (7.0 * v as f64).sin())
            })
            .collect();
        let mut wanted = vec![DVec3::ZERO; count];
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let edge = moved[b] - moved[a];
            let energy = LengthEnergy::spring(spring.rest_length);
            let pull = spring.rest_length * stiffness.of_spring(spring) * energy.gradient(edge);
            wanted[a] += pull;
            wanted[b] -= pull;
        }
        for bend in &shell.bends {
            let energy = LengthEnergy::bend(bend.free_distance(&moved));
            let pull = bend.scale * stiffness.of_bend(bend) * energy.gradient(bend.span(&moved));
            for i in 0..4 {
                wanted[bend.vertices[i] as usize] -= bend.weights[i] * pull;
            }
        }
        let elastic = Elastic::new(
            &shell,
            &stiffness,
            &ShellParams { max_strain: 0.3, ..ShellParams::default() },
            &places,
        );
        let mut positions = vec![Vec4::ZERO; count];
        for v in 0..count {
            positions[places[v] as usize] = moved[v].as_vec3().extend(0.0);
        }
        let mut forces = vec![Vec4::ZERO; count];
        let mut too_long = Vec::new();
        elastic.add_forces(&positions, &mut forces, &mut too_long);
        let scale = wanted.iter().map(|f| f.length()).fold(0.0, f64::max);
        let (mut plain, mut listed) = (vec![Vec4::ZERO; count], Vec::new());
        elastic.add_forces_plainly(&positions, &mut plain, &mut listed);
        assert_eq!(listed, too_long);
        for (plain, fast) in plain.iter().zip(&forces) {
            assert!(plain.distance(*fast) < 1e-5 * scale as f32, "{plain} {fast}");
        }
        for v in 0..count {
            let found = forces[places[v] as usize].xyz().as_dvec3();
            assert!(found.distance(wanted[v]) < 1e-5 * scale, "{v}: {found} {}", wanted[v]);
        }
        let stretched = shell
            .springs
            .iter()
            .filter(|s| moved[s.ends[0] as usize].distance(moved[s.ends[1] as usize]) > 1.3 * s.rest_length);
        assert_eq!(too_long.len(), stretched.count());
        assert!(!too_long.is_empty());
        let stretched = positions.clone();
        elastic.limit_strain(&too_long, &mut positions, &stretched, count);
        assert_eq!(positions, stretched, "what is wanted is allowed");
        let together = vec![Vec4::ZERO; count];
        for _ in 0..200 {
            elastic.limit_strain(&too_long, &mut positions, &together, count);
        }
        for element in &too_long {
            let (edges, lane, vertices) = elastic.edge(*element);
            let [a, b, ..] = vertices.map(|v| positions[v]);
            assert!(a.distance_squared(b) < 1.01 * edges.longest_squared[lane]);
        }
    }

    #[test]
    fn most_edges_are_in_chosen_triangles() {
        let shell = bumpy_sheet(40, 30);
        let elements =
            elements(&shell, &Stiffness::uniform(shell.vertex_count(), 1.0, 1.0), &ShellParams::default());
        let (chosen, rest) = choose(&shell, &elements);
        let mut all: Vec<usize> = chosen.iter().flat_map(|(_, edges)| *edges).chain(rest.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..elements.len()).collect::<Vec<_>>(), "every edge once");
        assert!(rest.len() < elements.len() / 5, "{} of {}", rest.len(), elements.len());
    }
}
