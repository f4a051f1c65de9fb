//! Forces of springs and bending elements, eight at a time.
//!
//! An edge's spring and the bending element across it share two vertices, so they are evaluated together.

use glam::{Vec4, Vec4Swizzles};

use super::elements::SIDEWAYS;
use super::{Shell, ShellParams, Stiffness};

/// Elements that are evaluated together.
pub(super) const LANES: usize = 8;

/// Elements in sorted order share vertices with their neighbours, and an addition would wait for the store before it;
/// so each run of `RUN` elements is gone through in steps of `STRIDE`.
const RUN: usize = 256;
const STRIDE: usize = 16;

/// Eight elements, number by number. Those that fill up the last group have no stiffness.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Ends of the edge, then the vertices opposite to it (the ends again on a border).
    pub(super) vertices: [[u32; LANES]; 4],
    /// Where the closest points lie on the edge and between the opposite vertices.
    pub(super) on_edge: [f32; LANES],
    pub(super) across: [f32; LANES],
    pub(super) spring_stiffness: [f32; LANES],
    pub(super) spring_length: [f32; LANES],
    pub(super) bend_stiffness: [f32; LANES],
    pub(super) bend_length: [f32; LANES],
    /// Which side q lies on at rest, see [`Bend::side`](super::Bend), over the sine at which it is bent through.
    pub(super) bend_side: [f32; LANES],
    /// Largest allowed length of the spring, squared.
    pub(super) longest_squared: [f32; LANES],
}

/// Springs and bending elements in single precision, in the order of the stepper's vertices.
#[derive(Debug, Default)]
pub(super) struct Elastic {
    groups: Vec<Group>,
}

impl Elastic {
    pub(super) fn new(shell: &Shell, stiffness: &Stiffness, params: &ShellParams, places: &[u32]) -> Self {
        let mut bends = shell.bends.iter().peekable();
        let mut elements: Vec<([u32; 4], [f32; 8])> = Vec::with_capacity(shell.springs.len());
        for spring in &shell.springs {
            let bend = bends.next_if(|bend| {
                let [a, b] = [bend.vertices[0], bend.vertices[1]];
                [a.min(b), a.max(b)] == spring.ends
            });
            let strain = spring.rest_length * stiffness.of_spring(spring);
            let longest = (1.0 + params.max_strain) * spring.rest_length;
            let (vertices, [on_edge, across, hold, length, side]) = match bend {
                Some(bend) => (
                    bend.vertices,
                    [
                        bend.weights[1],
                        -bend.weights[3],
                        bend.scale * stiffness.of_bend(bend),
                        bend.rest_distance,
                        bend.side / SIDEWAYS,
                    ],
                ),
                None => ([spring.ends[0], spring.ends[1], spring.ends[0], spring.ends[1]], [0.0; 5]),
            };
            let numbers =
                [on_edge, across, strain, spring.rest_length, hold, length, side, longest * longest];
            elements.push((vertices.map(|v| places[v as usize]), numbers.map(|number| number as f32)));
        }
        elements.sort_by_key(|(vertices, _)| *vertices.iter().min().unwrap_or(&0));
        let strided = elements
            .chunks(RUN)
            .flat_map(|run| (0..STRIDE).flat_map(move |start| run.iter().skip(start).step_by(STRIDE)));
        let mut groups = vec![Group::default(); elements.len().div_ceil(LANES)];
        for (index, (vertices, numbers)) in strided.enumerate() {
            let (group, lane) = (&mut groups[index / LANES], index % LANES);
            for (corner, vertex) in vertices.iter().enumerate() {
                group.vertices[corner][lane] = *vertex;
            }
            let [on_edge, across, strain, length, hold, distance, side, longest] = *numbers;
            group.on_edge[lane] = on_edge;
            group.across[lane] = across;
            group.spring_stiffness[lane] = strain;
            group.spring_length[lane] = length;
            group.bend_stiffness[lane] = hold;
            group.bend_length[lane] = distance;
            group.bend_side[lane] = side;
            group.longest_squared[lane] = longest;
        }
        Self { groups }
    }

    /// Adds the forces at `positions` to `forces`, and lists elements whose edge is too long.
    pub(super) fn add_forces(&self, positions: &[Vec4], forces: &mut [Vec4], too_long: &mut Vec<u32>) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = super::elastic_avx2::available() {
            super::elastic_avx2::add_forces(simd, &self.groups, positions, forces, too_long);
            return;
        }
        self.add_forces_plainly(positions, forces, too_long);
    }

    /// The same, one element at a time.
    fn add_forces_plainly(&self, positions: &[Vec4], forces: &mut [Vec4], too_long: &mut Vec<u32>) {
        for (index, group) in self.groups.iter().enumerate() {
            for k in 0..LANES {
                let vertices = group.vertices.map(|corner| corner[k] as usize);
                let [a, b, c, d] = vertices.map(|v| positions[v]);
                let (s, t) = (group.on_edge[k], group.across[k]);
                let (edge, across) = (b - a, d - c);
                // q = (1 − s) a + s b − (1 − t) c − t d
                let span = (a - c) + s * edge - t * across;
                let edge_squared = edge.dot(edge);
                if edge_squared > group.longest_squared[k] {
                    too_long.push((LANES * index + k) as u32);
                }
                let normal = edge.xyz().cross(across.xyz());
                let span_length = span.length();
                let product = (span_length * normal.length()).max(f32::MIN_POSITIVE);
                let lift = -span.xyz().dot(normal) * group.bend_side[k] / product;
                let free = group.bend_length[k] * (1.0 + lift).clamp(0.0, 1.0);
                let stretch = 1.0 - group.spring_length[k] / edge_squared.sqrt().max(f32::MIN_POSITIVE);
                // Slack while flatter than at rest.
                let bent = (1.0 - free / span_length.max(f32::MIN_POSITIVE)).max(0.0);
                let pull = group.spring_stiffness[k] * stretch * edge;
                let bend = group.bend_stiffness[k] * bent * span;
                let (at_b, at_d) = (s * bend, t * bend);
                let [a, b, c, d] = vertices;
                forces[a] += pull - bend + at_b;
                forces[b] -= pull + at_b;
                forces[c] += bend - at_d;
                forces[d] += at_d;
            }
        }
    }

    /// Pulls the ends of listed edges together until they are no longer than allowed, or than `wanted` has them; only the
    /// first `free` vertices move.
    pub(super) fn limit_strain(&self, listed: &[u32], positions: &mut [Vec4], wanted: &[Vec4], free: usize) {
        for element in listed {
            let [a, b, ..] = self.vertices_of(*element);
            let edge = positions[b] - positions[a];
            let allowed = self.longest_squared(*element).max(wanted[a].distance_squared(wanted[b]));
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

    fn vertices_of(&self, element: u32) -> [usize; 4] {
        let (group, lane) = (&self.groups[element as usize / LANES], element as usize % LANES);
        group.vertices.map(|corner| corner[lane] as usize)
    }

    fn longest_squared(&self, element: u32) -> f32 {
        self.groups[element as usize / LANES].longest_squared[element as usize % LANES]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let pull = spring.rest_length
                * stiffness.of_spring(spring)
                * (1.0 - spring.rest_length / edge.length())
                * edge;
            wanted[a] += pull;
            wanted[b] -= pull;
        }
        for bend in &shell.bends {
            let pull = bend.scale * stiffness.of_bend(bend) * bend.pull(&moved);
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
            let [a, b, ..] = elastic.vertices_of(*element).map(|v| positions[v]);
            assert!(a.distance_squared(b) < 1.01 * elastic.longest_squared(*element));
        }
    }
}
