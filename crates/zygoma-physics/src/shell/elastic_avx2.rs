//! Forces of springs and bending elements with AVX2: eight elements side by side, one register per coordinate.

use glam::Vec4;
use pulp::x86::V3;
use pulp::{cast, f32x8};
use std::arch::x86_64::{__m128, __m256};

use super::elastic::{CORNERS, Edges, LANES, Singles, Triangles};

/// Adds the forces of triangles at `positions` to `forces`, and lists edges that are too long.
pub(super) fn add_forces(
    simd: V3,
    triangles: &[Triangles],
    positions: &[Vec4],
    forces: &mut [Vec4],
    too_long: &mut Vec<u32>,
) {
    struct AddForces<'a>(V3, &'a [Triangles], &'a [Vec4], &'a mut [Vec4], &'a mut Vec<u32>);
    impl pulp::NullaryFnOnce for AddForces<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(simd, triangles, positions, forces, too_long) = self;
            for (index, group) in triangles.iter().enumerate() {
                let i = gather(simd, &group.vertices[0], positions);
                let j = gather(simd, &group.vertices[1], positions);
                let k = gather(simd, &group.vertices[2], positions);
                let across = gather(simd, &group.vertices[3], positions);
                let first = forces_of(simd, &group.edges[0], &i, &j, &k, &across);
                add(simd, &group.vertices[3], &first.at[3], forces);
                let across = gather(simd, &group.vertices[4], positions);
                let second = forces_of(simd, &group.edges[1], &j, &k, &i, &across);
                add(simd, &group.vertices[4], &second.at[3], forces);
                let across = gather(simd, &group.vertices[5], positions);
                let third = forces_of(simd, &group.edges[2], &k, &i, &j, &across);
                add(simd, &group.vertices[5], &third.at[3], forces);
                let sum = first.at[0].and(simd, &second.at[2]).and(simd, &third.at[1]);
                add(simd, &group.vertices[0], &sum, forces);
                let sum = first.at[1].and(simd, &second.at[0]).and(simd, &third.at[2]);
                add(simd, &group.vertices[1], &sum, forces);
                let sum = first.at[2].and(simd, &second.at[1]).and(simd, &third.at[0]);
                add(simd, &group.vertices[2], &sum, forces);
                if first.is_too_long | second.is_too_long | third.is_too_long {
                    let start = CORNERS.len() * LANES * index;
                    list_long(&group.edges[0], &first, start, too_long);
                    list_long(&group.edges[1], &second, start + LANES, too_long);
                    list_long(&group.edges[2], &third, start + 2 * LANES, too_long);
                }
            }
        }
    }
    simd.vectorize(AddForces(simd, triangles, positions, forces, too_long));
}

/// The same for edges in no triangle; their numbers start at `start`.
pub(super) fn add_single_forces(
    simd: V3,
    singles: &[Singles],
    start: usize,
    positions: &[Vec4],
    forces: &mut [Vec4],
    too_long: &mut Vec<u32>,
) {
    struct AddForces<'a>(V3, &'a [Singles], usize, &'a [Vec4], &'a mut [Vec4], &'a mut Vec<u32>);
    impl pulp::NullaryFnOnce for AddForces<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(simd, singles, start, positions, forces, too_long) = self;
            for (index, group) in singles.iter().enumerate() {
                let a = gather(simd, &group.vertices[0], positions);
                let b = gather(simd, &group.vertices[1], positions);
                let c = gather(simd, &group.vertices[2], positions);
                let d = gather(simd, &group.vertices[3], positions);
                let found = forces_of(simd, &group.edges, &a, &b, &c, &d);
                add(simd, &group.vertices[0], &found.at[0], forces);
                add(simd, &group.vertices[1], &found.at[1], forces);
                add(simd, &group.vertices[2], &found.at[2], forces);
                add(simd, &group.vertices[3], &found.at[3], forces);
                if found.is_too_long {
                    list_long(&group.edges, &found, start + LANES * index, too_long);
                }
            }
        }
    }
    simd.vectorize(AddForces(simd, singles, start, positions, forces, too_long));
}

fn list_long(edges: &Edges, found: &Found, start: usize, too_long: &mut Vec<u32>) {
    let squared: [f32; LANES] = cast(found.edge_squared);
    let listed = (0..LANES).filter(|k| squared[*k] > edges.longest_squared[*k]);
    too_long.extend(listed.map(|k| (start + k) as u32));
}

/// Eight vectors.
#[derive(Clone, Copy)]
struct Vectors {
    x: f32x8,
    y: f32x8,
    z: f32x8,
}

struct Found {
    at: [Vectors; 4],
    edge_squared: f32x8,
    is_too_long: bool,
}

impl Vectors {
    #[inline(always)]
    fn minus(&self, simd: V3, other: &Self) -> Self {
        Self {
            x: simd.sub_f32x8(self.x, other.x),
            y: simd.sub_f32x8(self.y, other.y),
            z: simd.sub_f32x8(self.z, other.z),
        }
    }

    #[inline(always)]
    fn and(&self, simd: V3, other: &Self) -> Self {
        Self {
            x: simd.add_f32x8(self.x, other.x),
            y: simd.add_f32x8(self.y, other.y),
            z: simd.add_f32x8(self.z, other.z),
        }
    }

    /// self + by · other
    #[inline(always)]
    fn plus(&self, simd: V3, by: f32x8, other: &Self) -> Self {
        Self {
            x: simd.mul_add_f32x8(by, other.x, self.x),
            y: simd.mul_add_f32x8(by, other.y, self.y),
            z: simd.mul_add_f32x8(by, other.z, self.z),
        }
    }

    /// self − by · other
    #[inline(always)]
    fn less(&self, simd: V3, by: f32x8, other: &Self) -> Self {
        Self {
            x: simd.negate_mul_add_f32x8(by, other.x, self.x),
            y: simd.negate_mul_add_f32x8(by, other.y, self.y),
            z: simd.negate_mul_add_f32x8(by, other.z, self.z),
        }
    }

    #[inline(always)]
    fn times(&self, simd: V3, by: f32x8) -> Self {
        Self { x: simd.mul_f32x8(by, self.x), y: simd.mul_f32x8(by, self.y), z: simd.mul_f32x8(by, self.z) }
    }

    #[inline(always)]
    fn dot(&self, simd: V3, other: &Self) -> f32x8 {
        let sum = simd.mul_f32x8(self.x, other.x);
        simd.mul_add_f32x8(self.z, other.z, simd.mul_add_f32x8(self.y, other.y, sum))
    }

    #[inline(always)]
    fn cross(&self, simd: V3, other: &Self) -> Self {
        Self {
            x: simd.negate_mul_add_f32x8(self.z, other.y, simd.mul_f32x8(self.y, other.z)),
            y: simd.negate_mul_add_f32x8(self.x, other.z, simd.mul_f32x8(self.z, other.x)),
            z: simd.negate_mul_add_f32x8(self.y, other.x, simd.mul_f32x8(self.x, other.y)),
        }
    }
}

/// Forces of eight edges from `a` to `b`, with `c` and `d` opposite.
#[inline(always)]
fn forces_of(simd: V3, edges: &Edges, a: &Vectors, b: &Vectors, c: &Vectors, d: &Vectors) -> Found {
    let (one, zero, least) =
        (simd.splat_f32x8(1.0), simd.splat_f32x8(0.0), simd.splat_f32x8(f32::MIN_POSITIVE));
    let (s, t): (f32x8, f32x8) = (cast(edges.on_edge), cast(edges.across));
    let edge = b.minus(simd, a);
    let across = d.minus(simd, c);
    // q = (1 − s) a + s b − (1 − t) c − t d
    let span = a.minus(simd, c).plus(simd, s, &edge).less(simd, t, &across);
    let edge_squared = edge.dot(simd, &edge);
    let span_squared = span.dot(simd, &span);
    let normal = edge.cross(simd, &across);
    let edge_length = simd.max_f32x8(simd.sqrt_f32x8(edge_squared), least);
    let span_length = simd.sqrt_f32x8(span_squared);
    // Bent through where q points to the wrong side. Hardly any element is, and then a root and a division are saved.
    let wrong = simd.mul_f32x8(span.dot(simd, &normal), cast(edges.bend_side));
    let is_wrong: __m256 = cast(simd.cmp_gt_f32x8(wrong, zero));
    let mut free: f32x8 = cast(edges.bend_length);
    if simd.avx._mm256_movemask_ps(is_wrong) != 0 {
        let normal_length = simd.sqrt_f32x8(normal.dot(simd, &normal));
        let product = simd.max_f32x8(simd.mul_f32x8(span_length, normal_length), least);
        let lift = simd.div_f32x8(wrong, product);
        let shown = simd.min_f32x8(simd.max_f32x8(simd.sub_f32x8(one, lift), zero), one);
        free = simd.mul_f32x8(shown, free);
    }
    let stretch = simd.sub_f32x8(one, simd.div_f32x8(cast(edges.spring_length), edge_length));
    // Slack while flatter than at rest.
    let bent = simd.sub_f32x8(one, simd.div_f32x8(free, simd.max_f32x8(span_length, least)));
    let bent = simd.max_f32x8(bent, zero);
    let pull = edge.times(simd, simd.mul_f32x8(cast(edges.spring_stiffness), stretch));
    let bend = span.times(simd, simd.mul_f32x8(cast(edges.bend_stiffness), bent));
    let at_b = bend.times(simd, s);
    let at_d = bend.times(simd, t);
    let both = pull.plus(simd, one, &at_b);
    let long: __m256 = cast(simd.cmp_gt_f32x8(edge_squared, cast(edges.longest_squared)));
    Found {
        at: [
            both.minus(simd, &bend),
            both.times(simd, simd.splat_f32x8(-1.0)),
            bend.minus(simd, &at_d),
            at_d,
        ],
        edge_squared,
        is_too_long: simd.avx._mm256_movemask_ps(long) != 0,
    }
}

/// The rows of two vertices side by side. A closure would not have the vector instructions of its surroundings.
#[inline(always)]
fn pair(simd: V3, first: u32, second: u32, positions: &[Vec4]) -> __m256 {
    let first: __m128 = cast(positions[first as usize].to_array());
    let second: __m128 = cast(positions[second as usize].to_array());
    simd.avx._mm256_insertf128_ps::<1>(simd.avx._mm256_castps128_ps256(first), second)
}

/// The rows of eight vertices as columns.
#[inline(always)]
fn gather(simd: V3, vertices: &[u32; LANES], positions: &[Vec4]) -> Vectors {
    let avx = simd.avx;
    let m0 = pair(simd, vertices[0], vertices[4], positions);
    let m1 = pair(simd, vertices[1], vertices[5], positions);
    let m2 = pair(simd, vertices[2], vertices[6], positions);
    let m3 = pair(simd, vertices[3], vertices[7], positions);
    let low = (avx._mm256_unpacklo_ps(m0, m1), avx._mm256_unpacklo_ps(m2, m3));
    let high = (avx._mm256_unpackhi_ps(m0, m1), avx._mm256_unpackhi_ps(m2, m3));
    Vectors {
        x: cast(avx._mm256_shuffle_ps::<0x44>(low.0, low.1)),
        y: cast(avx._mm256_shuffle_ps::<0xEE>(low.0, low.1)),
        z: cast(avx._mm256_shuffle_ps::<0x44>(high.0, high.1)),
    }
}

/// Adds columns to the rows of eight vertices.
#[inline(always)]
fn add(simd: V3, vertices: &[u32; LANES], vectors: &Vectors, forces: &mut [Vec4]) {
    let avx = simd.avx;
    let (x, y, z): (__m256, __m256, __m256) = (cast(vectors.x), cast(vectors.y), cast(vectors.z));
    let zero = avx._mm256_setzero_ps();
    let (low, high) = (avx._mm256_unpacklo_ps(x, y), avx._mm256_unpackhi_ps(x, y));
    let (low_z, high_z) = (avx._mm256_unpacklo_ps(z, zero), avx._mm256_unpackhi_ps(z, zero));
    let rows = [
        avx._mm256_shuffle_ps::<0x44>(low, low_z),
        avx._mm256_shuffle_ps::<0xEE>(low, low_z),
        avx._mm256_shuffle_ps::<0x44>(high, high_z),
        avx._mm256_shuffle_ps::<0xEE>(high, high_z),
    ];
    for k in 0..4 {
        let first: [f32; 4] = cast(avx._mm256_castps256_ps128(rows[k]));
        forces[vertices[k] as usize] += Vec4::from_array(first);
    }
    for k in 0..4 {
        let second: [f32; 4] = cast(avx._mm256_extractf128_ps::<1>(rows[k]));
        forces[vertices[k + 4] as usize] += Vec4::from_array(second);
    }
}
