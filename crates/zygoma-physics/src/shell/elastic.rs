//! Forces of springs and bending elements, batched for speed.
//!
//! An edge's spring and the bending element across it share two vertices, so they are evaluated together. Elements are
//! gone through in blocks: differences first, then all square roots and quotients at once on wide registers,
//! then the sums into the vertices.

use glam::{Vec4, Vec4Swizzles};
use zygoma_numerics::simd::{self, Simd, WithSimd};

use super::elements::SIDEWAYS;
use super::{Shell, ShellParams, Stiffness};

/// Elements per block: differences and factors of a block stay in the nearest cache.
const BLOCK: usize = 64;

/// Elements in sorted order share vertices with their neighbours, and an addition would wait for the store before it;
/// so each run of `RUN` elements is gone through in steps of `STRIDE`.
const RUN: usize = 256;
const STRIDE: usize = 16;

/// Springs and bending elements in single precision, in the order of the stepper's vertices.
#[derive(Debug, Default)]
pub(super) struct Elastic {
    /// Ends of the edge, then the vertices opposite to it (the ends again on a border).
    vertices: Vec<[u32; 4]>,
    /// Where the closest points lie on the edge and between the opposite vertices.
    closest: Vec<[f32; 2]>,
    spring_stiffness: Vec<f32>,
    spring_length: Vec<f32>,
    bend_stiffness: Vec<f32>,
    bend_length: Vec<f32>,
    /// Which side q lies on at rest; see [`Bend::side`](super::Bend).
    bend_side: Vec<f32>,
    /// Largest allowed length of the spring, squared.
    longest_squared: Vec<f32>,
}

impl Elastic {
    pub(super) fn new(shell: &Shell, stiffness: &Stiffness, params: &ShellParams, places: &[u32]) -> Self {
        let mut bends = shell.bends.iter().peekable();
        let mut elements: Vec<([u32; 4], [f32; 2], [f32; 6])> = Vec::with_capacity(shell.springs.len());
        for spring in &shell.springs {
            let bend = bends.next_if(|bend| {
                let [a, b] = [bend.vertices[0], bend.vertices[1]];
                [a.min(b), a.max(b)] == spring.ends
            });
            let strain = spring.rest_length * stiffness.of_spring(spring);
            let longest = (1.0 + params.max_strain) * spring.rest_length;
            let (vertices, closest, [hold, length, side]) = match bend {
                Some(bend) => (
                    bend.vertices,
                    [bend.weights[1], -bend.weights[3]],
                    [bend.scale * stiffness.of_bend(bend), bend.rest_distance, bend.side],
                ),
                None => {
                    ([spring.ends[0], spring.ends[1], spring.ends[0], spring.ends[1]], [0.0; 2], [0.0; 3])
                }
            };
            elements.push((
                vertices.map(|v| places[v as usize]),
                closest.map(|c| c as f32),
                [strain, spring.rest_length, hold, length, side, longest * longest].map(|value| value as f32),
            ));
        }
        elements.sort_by_key(|(vertices, ..)| *vertices.iter().min().unwrap_or(&0));
        let mut elastic = Self::default();
        for run in elements.chunks(RUN) {
            for start in 0..STRIDE {
                for (vertices, closest, [strain, length, hold, distance, side, longest]) in
                    run.iter().skip(start).step_by(STRIDE)
                {
                    elastic.vertices.push(*vertices);
                    elastic.closest.push(*closest);
                    elastic.spring_stiffness.push(*strain);
                    elastic.spring_length.push(*length);
                    elastic.bend_stiffness.push(*hold);
                    elastic.bend_length.push(*distance);
                    elastic.bend_side.push(*side);
                    elastic.longest_squared.push(*longest);
                }
            }
        }
        elastic
    }

    /// Adds the forces at `positions` to `forces`, and lists elements whose edge is too long.
    pub(super) fn add_forces(&self, positions: &[Vec4], forces: &mut [Vec4], too_long: &mut Vec<u32>) {
        simd::run(AddForces { elastic: self, positions, forces, too_long });
    }

    /// Pulls the ends of listed edges together until they are no longer than allowed, or than `wanted` has them; only the
    /// first `free` vertices move.
    pub(super) fn limit_strain(&self, listed: &[u32], positions: &mut [Vec4], wanted: &[Vec4], free: usize) {
        for element in listed {
            let [a, b, ..] = self.vertices[*element as usize].map(|v| v as usize);
            let edge = positions[b] - positions[a];
            let allowed = self.longest_squared[*element as usize].max(wanted[a].distance_squared(wanted[b]));
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
}

struct AddForces<'a> {
    elastic: &'a Elastic,
    positions: &'a [Vec4],
    forces: &'a mut [Vec4],
    too_long: &'a mut Vec<u32>,
}

impl WithSimd for AddForces<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { elastic, positions, forces, too_long } = self;
        let mut edges = [Vec4::ZERO; BLOCK];
        let mut spans = [Vec4::ZERO; BLOCK];
        let mut edge_squared = [1.0f32; BLOCK];
        let mut span_squared = [1.0f32; BLOCK];
        let mut lifts = [0.0f32; BLOCK];
        let mut normal_squared = [1.0f32; BLOCK];
        let mut edge_factor = [0.0f32; BLOCK];
        let mut span_factor = [0.0f32; BLOCK];
        for start in (0..elastic.vertices.len()).step_by(BLOCK) {
            let count = BLOCK.min(elastic.vertices.len() - start);
            let vertices = &elastic.vertices[start..start + count];
            let closest = &elastic.closest[start..start + count];
            for k in 0..count {
                let [a, b, c, d] = vertices[k].map(|v| positions[v as usize]);
                let [s, t] = closest[k];
                let (edge, across) = (b - a, d - c);
                // q = (1 − s) a + s b − (1 − t) c − t d
                let span = (a - c) + s * edge - t * across;
                edges[k] = edge;
                spans[k] = span;
                edge_squared[k] = edge.dot(edge);
                span_squared[k] = span.dot(span);
                let normal = edge.xyz().cross(across.xyz());
                lifts[k] = -span.xyz().dot(normal);
                normal_squared[k] = normal.dot(normal);
            }
            let tables = [
                &elastic.spring_stiffness,
                &elastic.spring_length,
                &elastic.bend_stiffness,
                &elastic.bend_length,
                &elastic.bend_side,
                &elastic.longest_squared,
            ];
            let [strain, length, hold, distance, side, longest] =
                tables.map(|table| &table[start..start + count]);
            let mut is_too_long = false;
            for k in 0..count {
                edge_factor[k] =
                    strain[k] * (1.0 - length[k] / edge_squared[k].sqrt().max(f32::MIN_POSITIVE));
                let product = (span_squared[k] * normal_squared[k]).sqrt();
                let sine = lifts[k] * side[k] / product.max(f32::MIN_POSITIVE);
                let wanted = distance[k] * (1.0 + sine * const { 1.0 / SIDEWAYS as f32 }).clamp(0.0, 1.0);
                // Slack while flatter than at rest.
                span_factor[k] =
                    hold[k] * (1.0 - wanted / span_squared[k].sqrt().max(f32::MIN_POSITIVE)).max(0.0);
                is_too_long |= edge_squared[k] > longest[k];
            }
            if is_too_long {
                let listed = (0..count).filter(|k| edge_squared[*k] > longest[*k]);
                too_long.extend(listed.map(|k| (start + k) as u32));
            }
            for k in 0..count {
                let [a, b, c, d] = vertices[k].map(|v| v as usize);
                let [s, t] = closest[k];
                let pull = edge_factor[k] * edges[k];
                let bend = span_factor[k] * spans[k];
                let (at_b, at_d) = (s * bend, t * bend);
                forces[a] += pull - bend + at_b;
                forces[b] -= pull + at_b;
                forces[c] += bend - at_d;
                forces[d] += at_d;
            }
        }
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
            let [a, b, ..] = elastic.vertices[*element as usize].map(|v| positions[v as usize]);
            assert!(a.distance_squared(b) < 1.01 * elastic.longest_squared[*element as usize]);
        }
    }
}
