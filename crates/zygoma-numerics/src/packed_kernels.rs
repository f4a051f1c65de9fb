//! The inner loops of the packed solve, once in plain Rust and once for AVX2.

use crate::packed::{NARROW, PackedFactor, Pass, Row, WIDE};

/// The operations of a panel on right-hand sides. `values` has one row per entry of `rows`.
pub(crate) trait Kernels {
    /// rhs_r −= V' columns, for a wide panel.
    fn forward_wide(&self, values: &[[f32; WIDE]], rows: &[u32], columns: &[Row; WIDE], rhs: &mut [Row]);
    /// rhs_r −= V' columns, for a narrow panel.
    fn forward_narrow(
        &self,
        values: &[[f32; NARROW]],
        rows: &[u32],
        columns: &[Row; NARROW],
        rhs: &mut [Row],
    );
    /// D⁻¹ own − V'ᵀ rhs_r, for a wide panel.
    fn backward_wide(
        &self,
        diagonal: &[[f32; WIDE]],
        values: &[[f32; WIDE]],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [Row; WIDE];
    /// D⁻¹ own − V'ᵀ rhs_r, for a narrow panel.
    fn backward_narrow(
        &self,
        diagonal: &[[f32; NARROW]],
        values: &[[f32; NARROW]],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [Row; NARROW];
}

/// Plain Rust, for any machine.
pub(crate) struct Plain;

impl Plain {
    #[inline(always)]
    fn forward<const W: usize>(values: &[[f32; W]], rows: &[u32], columns: &[Row; W], rhs: &mut [Row]) {
        for (value, row) in values.iter().zip(rows) {
            let target = &mut rhs[*row as usize];
            for k in 0..W {
                for axis in 0..4 {
                    target[axis] -= value[k] * columns[k][axis];
                }
            }
        }
    }

    #[inline(always)]
    fn backward<const W: usize>(
        diagonal: &[[f32; W]],
        values: &[[f32; W]],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [Row; W] {
        let mut sums = [[0.0; 4]; W];
        for (value, row) in diagonal.iter().zip(own) {
            add_outer(&mut sums, value, *row, 1.0);
        }
        for (value, row) in values.iter().zip(rows) {
            add_outer(&mut sums, value, rhs[*row as usize], -1.0);
        }
        sums
    }
}

#[inline(always)]
fn add_outer<const W: usize>(sums: &mut [Row; W], value: &[f32; W], row: Row, sign: f32) {
    for k in 0..W {
        for axis in 0..4 {
            sums[k][axis] += sign * value[k] * row[axis];
        }
    }
}

impl Kernels for Plain {
    fn forward_wide(&self, values: &[[f32; WIDE]], rows: &[u32], columns: &[Row; WIDE], rhs: &mut [Row]) {
        Self::forward(values, rows, columns, rhs);
    }

    fn forward_narrow(
        &self,
        values: &[[f32; NARROW]],
        rows: &[u32],
        columns: &[Row; NARROW],
        rhs: &mut [Row],
    ) {
        Self::forward(values, rows, columns, rhs);
    }

    fn backward_wide(
        &self,
        diagonal: &[[f32; WIDE]],
        values: &[[f32; WIDE]],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [Row; WIDE] {
        Self::backward(diagonal, values, rows, own, rhs)
    }

    fn backward_narrow(
        &self,
        diagonal: &[[f32; NARROW]],
        values: &[[f32; NARROW]],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [Row; NARROW] {
        Self::backward(diagonal, values, rows, own, rhs)
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{__m128, __m256, __m256i};

    use pulp::cast;
    use pulp::x86::V3;

    use super::{Kernels, NARROW, PackedFactor, Pass, Row, WIDE};

    /// AVX2 with fused multiply-add.
    ///
    /// Forward, one register holds the rows of two columns side by side, and the eight numbers of a panel's
    /// row are spread over it by permutation. Backward, the lanes are the columns of the panel, and x, y and
    /// z have a register each.
    pub(crate) struct Avx2 {
        simd: V3,
        /// Four copies each of two neighbouring lanes: 0 and 1, 2 and 3, and so on.
        spreads: [__m256i; 4],
    }

    impl Avx2 {
        pub(crate) fn new() -> Option<Self> {
            // Unknown to the compiler, or it would replace one permutation by two.
            let spread = |lane: i32| {
                cast(std::hint::black_box([lane, lane, lane, lane, lane + 1, lane + 1, lane + 1, lane + 1]))
            };
            crate::simd::avx2()
                .map(|simd| Self { simd, spreads: [spread(0), spread(2), spread(4), spread(6)] })
        }

        pub(crate) fn run(&self, factor: &PackedFactor, pass: Pass<'_>, rhs: &mut [Row]) {
            struct Run<'a>(&'a Avx2, &'a PackedFactor, Pass<'a>, &'a mut [Row]);
            impl pulp::NullaryFnOnce for Run<'_> {
                type Output = ();
                #[inline(always)]
                fn call(self) {
                    self.1.run_with(self.0, self.2, self.3);
                }
            }
            self.simd.vectorize(Run(self, factor, pass, rhs));
        }

        #[inline(always)]
        fn spread(&self, values: __m256, lanes: __m256i) -> __m256 {
            self.simd.avx2._mm256_permutevar8x32_ps(values, lanes)
        }

        #[inline(always)]
        fn multiply_add(&self, a: __m256, b: __m256, c: __m256) -> __m256 {
            self.simd.fma._mm256_fmadd_ps(a, b, c)
        }

        #[inline(always)]
        fn add_folded(&self, sum: __m256, row: &mut Row) {
            let low: __m128 = self.simd.avx._mm256_castps256_ps128(sum);
            let high: __m128 = self.simd.avx._mm256_extractf128_ps::<1>(sum);
            let both = self.simd.sse._mm_add_ps(low, high);
            *row = cast(self.simd.sse._mm_add_ps(cast(*row), both));
        }

        #[inline(always)]
        fn negated_pair(&self, a: Row, b: Row) -> __m256 {
            cast([-a[0], -a[1], -a[2], -a[3], -b[0], -b[1], -b[2], -b[3]])
        }
    }

    // Loops are written out: a closure would not have the vector instructions of its surroundings, and registers would
    // travel through memory.
    impl Kernels for Avx2 {
        #[inline(always)]
        fn forward_wide(&self, values: &[[f32; WIDE]], rows: &[u32], columns: &[Row; WIDE], rhs: &mut [Row]) {
            let [s0, s1, s2, s3] = self.spreads;
            let p0 = self.negated_pair(columns[0], columns[1]);
            let p1 = self.negated_pair(columns[2], columns[3]);
            let p2 = self.negated_pair(columns[4], columns[5]);
            let p3 = self.negated_pair(columns[6], columns[7]);
            for (value, row) in values.iter().zip(rows) {
                let value: __m256 = cast(*value);
                let even = self.simd.avx._mm256_mul_ps(self.spread(value, s0), p0);
                let odd = self.simd.avx._mm256_mul_ps(self.spread(value, s1), p1);
                let even = self.multiply_add(self.spread(value, s2), p2, even);
                let odd = self.multiply_add(self.spread(value, s3), p3, odd);
                self.add_folded(self.simd.avx._mm256_add_ps(even, odd), &mut rhs[*row as usize]);
            }
        }

        #[inline(always)]
        fn forward_narrow(
            &self,
            values: &[[f32; NARROW]],
            rows: &[u32],
            columns: &[Row; NARROW],
            rhs: &mut [Row],
        ) {
            let [s0, s1, ..] = self.spreads;
            let p0 = self.negated_pair(columns[0], columns[1]);
            let p1 = self.negated_pair(columns[2], columns[3]);
            for (value, row) in values.iter().zip(rows) {
                let half: __m128 = cast(*value);
                let value = self.simd.avx._mm256_castps128_ps256(half);
                let sum = self.simd.avx._mm256_mul_ps(self.spread(value, s0), p0);
                let sum = self.multiply_add(self.spread(value, s1), p1, sum);
                self.add_folded(sum, &mut rhs[*row as usize]);
            }
        }

        #[inline(always)]
        fn backward_wide(
            &self,
            diagonal: &[[f32; WIDE]],
            values: &[[f32; WIDE]],
            rows: &[u32],
            own: &[Row],
            rhs: &[Row],
        ) -> [Row; WIDE] {
            let [x, y, z] = backward::<__m256>(self.simd, diagonal, values, rows, own, rhs);
            let (x, y, z): ([f32; WIDE], [f32; WIDE], [f32; WIDE]) = (cast(x), cast(y), cast(z));
            let mut solved = [[0.0; 4]; WIDE];
            for k in 0..WIDE {
                solved[k] = [x[k], y[k], z[k], 0.0];
            }
            solved
        }

        #[inline(always)]
        fn backward_narrow(
            &self,
            diagonal: &[[f32; NARROW]],
            values: &[[f32; NARROW]],
            rows: &[u32],
            own: &[Row],
            rhs: &[Row],
        ) -> [Row; NARROW] {
            let [x, y, z] = backward::<__m128>(self.simd, diagonal, values, rows, own, rhs);
            let (x, y, z): ([f32; NARROW], [f32; NARROW], [f32; NARROW]) = (cast(x), cast(y), cast(z));
            let mut solved = [[0.0; 4]; NARROW];
            for k in 0..NARROW {
                solved[k] = [x[k], y[k], z[k], 0.0];
            }
            solved
        }
    }

    /// A register whose lanes are the columns of a panel.
    trait Columns: Copy {
        /// The values of one row of the panel.
        type Values: Copy;

        fn load(values: &Self::Values) -> Self;
        fn splat(simd: V3, value: f32) -> Self;
        /// self + a · b
        fn plus(self, simd: V3, a: Self, b: Self) -> Self;
        fn less(self, simd: V3, other: Self) -> Self;
    }

    impl Columns for __m256 {
        type Values = [f32; WIDE];

        #[inline(always)]
        fn load(values: &[f32; WIDE]) -> Self {
            cast(*values)
        }

        #[inline(always)]
        fn splat(simd: V3, value: f32) -> Self {
            simd.avx._mm256_set1_ps(value)
        }

        #[inline(always)]
        fn plus(self, simd: V3, a: Self, b: Self) -> Self {
            simd.fma._mm256_fmadd_ps(a, b, self)
        }

        #[inline(always)]
        fn less(self, simd: V3, other: Self) -> Self {
            simd.avx._mm256_sub_ps(self, other)
        }
    }

    impl Columns for __m128 {
        type Values = [f32; NARROW];

        #[inline(always)]
        fn load(values: &[f32; NARROW]) -> Self {
            cast(*values)
        }

        #[inline(always)]
        fn splat(simd: V3, value: f32) -> Self {
            simd.sse._mm_set1_ps(value)
        }

        #[inline(always)]
        fn plus(self, simd: V3, a: Self, b: Self) -> Self {
            simd.fma._mm_fmadd_ps(a, b, self)
        }

        #[inline(always)]
        fn less(self, simd: V3, other: Self) -> Self {
            simd.sse._mm_sub_ps(self, other)
        }
    }

    /// x, y and z of all columns with one more row.
    #[inline(always)]
    fn with_row<C: Columns>(simd: V3, sums: [C; 3], value: &C::Values, row: &Row) -> [C; 3] {
        let (value, [x, y, z]) = (C::load(value), sums);
        [
            x.plus(simd, value, C::splat(simd, row[0])),
            y.plus(simd, value, C::splat(simd, row[1])),
            z.plus(simd, value, C::splat(simd, row[2])),
        ]
    }

    /// D⁻¹ own − V'ᵀ rhs_r. The nearest rows were solved last, so they are needed last: the others need not wait for them.
    /// Sums of every other row have registers of their own, so that they do not wait for each other.
    #[inline(always)]
    fn backward<C: Columns>(
        simd: V3,
        diagonal: &[C::Values],
        values: &[C::Values],
        rows: &[u32],
        own: &[Row],
        rhs: &[Row],
    ) -> [C; 3] {
        let zero = [C::splat(simd, 0.0); 3];
        let (mut whole, mut even, mut odd) = (zero, zero, zero);
        for (value, row) in diagonal.iter().zip(own) {
            whole = with_row(simd, whole, value, row);
        }
        let (values, last_value) = values.as_chunks::<2>();
        let (rows, last_row) = rows.as_chunks::<2>();
        for (value, row) in last_value.iter().zip(last_row) {
            even = with_row(simd, even, value, &rhs[*row as usize]);
        }
        for ([first, second], [i, j]) in values.iter().zip(rows).rev() {
            odd = with_row(simd, odd, second, &rhs[*j as usize]);
            even = with_row(simd, even, first, &rhs[*i as usize]);
        }
        let [x, y, z] = whole;
        [
            x.less(simd, even[0]).less(simd, odd[0]),
            y.less(simd, even[1]).less(simd, odd[1]),
            z.less(simd, even[2]).less(simd, odd[2]),
        ]
    }
}
