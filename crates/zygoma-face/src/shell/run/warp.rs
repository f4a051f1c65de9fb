//! Warps the whole mesh by the shell (IFA eq. 14).

use glam::{Vec3, Vec4, Vec4Swizzles};
use zygoma_numerics::simd::{Simd, WithSimd, run};

use super::targets::Carriers;

/// Adds the shell's displacement `moved` to `base`, all in metres.
pub(super) fn warp(base: &[Vec3], moved: &[Vec4], embedding: &[Carriers], output: &mut [Vec3]) {
    let Some((last, others)) = embedding.split_last() else { return };
    run(Warp(bytemuck::cast_slice(base), moved, others, bytemuck::cast_slice_mut(output)));
    output[others.len()] = base[others.len()] + displacement(last, moved).xyz();
}

#[inline(always)]
fn displacement((corners, weights): &Carriers, moved: &[Vec4]) -> Vec4 {
    let [a, b, c] = *corners;
    weights[0] * moved[a as usize] + weights[1] * moved[b as usize] + weights[2] * moved[c as usize]
}

/// All vertices except the last. Four numbers are read and written for three: the next vertex overwrites the fourth.
struct Warp<'a>(&'a [f32], &'a [Vec4], &'a [Carriers], &'a mut [f32]);

impl WithSimd for Warp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self(base, moved, embedding, output) = self;
        for (vertex, carriers) in embedding.iter().enumerate() {
            let numbers = 3 * vertex..3 * vertex + 4;
            let at = Vec4::from_slice(&base[numbers.clone()]);
            (at + displacement(carriers, moved)).write_to_slice(&mut output[numbers]);
        }
    }
}
