//! Batches on the widest registers that the machine has.
//!
//! The instruction set is looked up once. The environment variable `ZYGOMA_SIMD` forces one: `scalar`, `avx2` or `avx512`. On one
//! instruction set results are equal bit for bit; between instruction sets they differ by the rounding of products, which wide registers
//! fuse into the sum: after n terms w·v by at most n · 2⁻²³ · (|output| + Σ |w·v|) per number.

use std::sync::LazyLock;

pub use pulp::{Simd, WithSimd};

/// The environment variable that forces an instruction set.
pub const VARIABLE: &str = "ZYGOMA_SIMD";

/// The names that it understands.
const NAMES: [&str; 3] = ["scalar", "avx2", "avx512"];

static ARCH: LazyLock<Option<pulp::Arch>> =
    LazyLock::new(|| chosen(&wanted()).unwrap_or_else(|_| Some(pulp::Arch::new())));

fn wanted() -> String {
    std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An instruction set that is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForcedSetError {
    /// There is no such name.
    #[error("{VARIABLE} is '{0}'; it must be scalar, avx2 or avx512, or be left out")]
    Unknown(String),
    /// The machine lacks it.
    #[error("{VARIABLE} is '{0}', which this machine does not have; leave it out or choose scalar")]
    Missing(String),
}

/// Whether the environment asks for an instruction set that there is. If not, kernels run on the widest one.
pub fn check_environment() -> Result<(), ForcedSetError> {
    chosen(&wanted()).map(drop)
}

/// The instruction sets of this machine by the names that `ZYGOMA_SIMD` knows, the narrowest first.
pub fn available() -> Vec<&'static str> {
    NAMES.into_iter().filter(|name| chosen(name).is_ok()).collect()
}

/// The instruction set of a name; `None` is the scalar path. Without a name the widest.
fn chosen(name: &str) -> Result<Option<pulp::Arch>, ForcedSetError> {
    let missing = || ForcedSetError::Missing(name.to_owned());
    match name {
        "" => Ok(Some(pulp::Arch::new())),
        "scalar" => Ok(None),
        #[cfg(target_arch = "x86_64")]
        "avx2" => pulp::x86::V3::try_new().map(|simd| Some(pulp::Arch::V3(simd))).ok_or_else(missing),
        #[cfg(target_arch = "x86_64")]
        "avx512" => pulp::x86::V4::try_new().map(|simd| Some(pulp::Arch::V4(simd))).ok_or_else(missing),
        _ if NAMES.contains(&name) => Err(missing()),
        _ => Err(ForcedSetError::Unknown(name.to_owned())),
    }
}

/// Runs a kernel on wide registers (or the scalar path, where that is forced). The instruction set is chosen here, once, so a kernel
/// should hold a whole batch of work.
///
/// AVX-512 is left to [`run_widest`]: memory-bound kernels are faster without it, since unaligned 64-byte loads cross cache lines.
pub fn run<K: WithSimd>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = avx2() {
        return Simd::vectorize(simd, kernel);
    }
    run_widest(kernel)
}

/// Runs a compute-bound kernel on the widest registers available.
pub fn run_widest<K: WithSimd>(kernel: K) -> K::Output {
    match *ARCH {
        Some(arch) => arch.dispatch(kernel),
        None => kernel.with_simd(pulp::Scalar),
    }
}

/// AVX2 and fused products, where kernels run on them or on wider registers: for instructions that the portable interface lacks.
#[cfg(target_arch = "x86_64")]
pub fn avx2() -> Option<pulp::x86::V3> {
    match *ARCH {
        Some(pulp::Arch::V4(simd)) => Some(*simd),
        Some(pulp::Arch::V3(simd)) => Some(simd),
        _ => None,
    }
}

/// AVX-512, where kernels run on it: for instructions that the portable interface lacks.
#[cfg(target_arch = "x86_64")]
pub fn avx512() -> Option<pulp::x86::V4> {
    match *ARCH {
        Some(pulp::Arch::V4(simd)) => Some(simd),
        _ => None,
    }
}

/// The name of the instruction set that kernels run on.
pub fn instruction_set() -> &'static str {
    match *ARCH {
        None | Some(pulp::Arch::Scalar) => "scalar",
        #[cfg(target_arch = "x86_64")]
        Some(pulp::Arch::V4(_)) => "x86-64-v4 (AVX-512)",
        #[cfg(target_arch = "x86_64")]
        Some(pulp::Arch::V3(_)) => "x86-64-v3 (AVX2, FMA)",
        #[cfg(target_arch = "aarch64")]
        Some(pulp::Arch::Neon(_)) => "NEON",
        #[allow(unreachable_patterns, reason = "which variants exist depends on the target")]
        Some(_) => "other",
    }
}

/// `y += a x`, as far as both slices reach.
pub fn axpy(y: &mut [f32], a: f32, x: &[f32]) {
    struct Axpy<'a>(&'a mut [f32], f32, &'a [f32]);
    impl WithSimd for Axpy<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let length = self.0.len().min(self.2.len());
            axpy_with(simd, &mut self.0[..length], self.1, &self.2[..length]);
        }
    }
    run(Axpy(y, a, x));
}

/// The scalar twin of [`axpy`], which tests it.
#[cfg(test)]
fn axpy_scalar(y: &mut [f32], a: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// [`axpy`] within a kernel, for slices of equal length.
#[inline(always)]
pub fn axpy_with<S: Simd>(simd: S, y: &mut [f32], a: f32, x: &[f32]) {
    let wide = simd.splat_f32s(a);
    let (y_head, y_tail) = S::as_mut_simd_f32s(y);
    let (x_head, x_tail) = S::as_simd_f32s(x);
    for (y, x) in y_head.iter_mut().zip(x_head) {
        *y = simd.mul_add_e_f32s(wide, *x, *y);
    }
    if !y_tail.is_empty() {
        let sum = simd.mul_add_e_f32s(wide, simd.partial_load_f32s(x_tail), simd.partial_load_f32s(y_tail));
        simd.partial_store_f32s(y_tail, sum);
    }
}

/// Values at some runs of consecutive places of a longer array, such as the offsets of the vertices that one
/// blendshape moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// Start and length of each run, in floats.
    runs: Vec<(u32, u32)>,
    /// The values of all runs, one after the other.
    values: Vec<f32>,
    /// No run reaches this place.
    end: usize,
}

/// Runs that do not fit what they are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunsError {
    /// The lengths of the runs do not add up to the number of values.
    #[error("the runs hold {runs} values, but {values} were given")]
    ValueCount {
        /// Values that the runs ask for.
        runs: u64,
        /// Values given.
        values: usize,
    },
    /// A run ends beyond the array.
    #[error("a run ends at {end}, beyond the {length} numbers that it is added to")]
    Beyond {
        /// End of the last run.
        end: usize,
        /// Length of the array.
        length: usize,
    },
}

impl Runs {
    /// Runs from their starts and lengths (in floats) and all their values.
    pub fn new(runs: Vec<(u32, u32)>, values: Vec<f32>) -> Result<Self, RunsError> {
        let total: u64 = runs.iter().map(|(_, length)| u64::from(*length)).sum();
        if total != values.len() as u64 {
            return Err(RunsError::ValueCount { runs: total, values: values.len() });
        }
        let end = runs.iter().map(|(start, length)| *start as usize + *length as usize).max().unwrap_or(0);
        Ok(Self { runs, values, end })
    }

    /// The runs of non-zero values in `dense`. Up to `gap` zeros between two runs are kept as values, since one
    /// longer run is faster than two short ones; eight is a good choice.
    pub fn from_dense(dense: &[f32], gap: usize) -> Self {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (place, _) in dense.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            match runs.last_mut() {
                Some((start, length)) if place <= *start as usize + *length as usize + gap => {
                    *length = place as u32 + 1 - *start;
                }
                _ => runs.push((place as u32, 1)),
            }
        }
        let values = runs.iter().flat_map(|(start, length)| &dense[*start as usize..][..*length as usize]);
        let end = runs.last().map_or(0, |(start, length)| *start as usize + *length as usize);
        Self { values: values.copied().collect(), runs, end }
    }

    /// Start and length of each run, in floats.
    pub fn runs(&self) -> &[(u32, u32)] {
        &self.runs
    }

    /// The values of all runs, one after the other.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The first place that no run reaches.
    pub fn end(&self) -> usize {
        self.end
    }
}

/// `output += Σ weight · values` at the runs of all shapes, in their order. Nothing is allocated; shapes of
/// weight 0, or without a weight, cost nothing. On an error `output` is as it was.
pub fn accumulate_runs(output: &mut [f32], weights: &[f32], shapes: &[Runs]) -> Result<(), RunsError> {
    struct Accumulate<'a>(&'a mut [f32], &'a [f32], &'a [Runs]);
    impl WithSimd for Accumulate<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for (weight, shape) in self.1.iter().zip(self.2).filter(|(weight, _)| **weight != 0.0) {
                let mut values = shape.values.as_slice();
                for (start, length) in &shape.runs {
                    let (now, later) = values.split_at(*length as usize);
                    axpy_with(simd, &mut self.0[*start as usize..][..*length as usize], *weight, now);
                    values = later;
                }
            }
        }
    }
    let end = shapes.iter().map(|shape| shape.end).max().unwrap_or(0);
    if end > output.len() {
        return Err(RunsError::Beyond { end, length: output.len() });
    }
    run(Accumulate(output, weights, shapes));
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Keyed;

    fn numbers(count: usize, what: u64) -> Vec<f32> {
        (0..count).map(|i| Keyed::new(1, what).normal(i as u64) as f32).collect()
    }

    #[test]
    fn axpy_agrees_with_its_scalar_twin_at_every_length() {
        for length in 0..70 {
            let (x, start) = (numbers(length, 0), numbers(length, 1));
            let (mut wide, mut plain) = (start.clone(), start.clone());
            axpy(&mut wide, 0.7, &x);
            axpy_scalar(&mut plain, 0.7, &x);
            for i in 0..length {
                let bound = 2_f32.powi(-23) * (start[i].abs() + (0.7 * x[i]).abs());
                assert!((wide[i] - plain[i]).abs() <= bound, "{length}: {} {}", wide[i], plain[i]);
            }
        }
    }

    #[test]
    fn instruction_sets_have_names() {
        assert_eq!(available()[0], "scalar");
        assert!(chosen("").is_ok());
        let message = chosen("sse9").unwrap_err().to_string();
        assert_eq!(message, "ZYGOMA_SIMD is 'sse9'; it must be scalar, avx2 or avx512, or be left out");
        for name in NAMES.into_iter().filter(|name| !available().contains(name)) {
            assert!(chosen(name).unwrap_err().to_string().contains("does not have"), "{name}");
        }
    }

    #[test]
    fn axpy_stops_at_the_shorter_slice() {
        let mut y = [1.0, 1.0, 1.0];
        axpy(&mut y, 2.0, &[1.0, 1.0]);
        assert_eq!(y, [3.0, 3.0, 1.0]);
        axpy(&mut y[..1], 1.0, &[1.0, 9.0]);
        assert_eq!(y, [4.0, 3.0, 1.0]);
    }

    #[test]
    fn runs_that_do_not_fit_are_refused_and_nothing_is_written() {
        assert!(Runs::new(vec![(0, 2), (5, 2)], vec![1.0; 3]).is_err());
        assert!(Runs::new(vec![(0, u32::MAX), (0, u32::MAX)], vec![1.0; 3]).is_err());
        let runs = Runs::new(vec![(0, 1), (8, 2)], vec![1.0; 3]).unwrap();
        let mut output = [0.0; 9];
        let problem = accumulate_runs(&mut output, &[1.0], std::slice::from_ref(&runs)).unwrap_err();
        assert_eq!(problem, RunsError::Beyond { end: 10, length: 9 });
        assert_eq!(output, [0.0; 9]);
    }

    proptest! {
        #[test]
        fn runs_of_a_dense_array_give_it_back(
            dense in prop::collection::vec(prop_oneof![2 => Just(0.0_f32), 1 => -1.0_f32..1.0], 0..200),
            gap in 0_usize..12,
        ) {
            let runs = Runs::from_dense(&dense, gap);
            prop_assert_eq!(&Runs::new(runs.runs().to_vec(), runs.values().to_vec()).unwrap(), &runs);
            let mut output = vec![0.0; dense.len()];
            accumulate_runs(&mut output, &[1.0], std::slice::from_ref(&runs)).unwrap();
            prop_assert_eq!(output, dense);
        }

        #[test]
        fn accumulated_shapes_agree_with_plain_sums(
            weights in prop::collection::vec(-1.0_f32..1.0, 1..6),
            length in 1_usize..150,
        ) {
            let shapes: Vec<Vec<f32>> = (0..weights.len() as u64)
                .map(|s| numbers(length, s).iter().map(|v| if v.abs() < 0.6 { 0.0 } else { *v }).collect())
                .collect();
            let runs: Vec<Runs> = shapes.iter().map(|shape| Runs::from_dense(shape, 4)).collect();
            let mut output = vec![0.5; length];
            accumulate_runs(&mut output, &weights, &runs).unwrap();
            for i in 0..length {
                let terms = || shapes.iter().zip(&weights).map(|(shape, w)| f64::from(shape[i]) * f64::from(*w));
                let size = 0.5 + terms().map(f64::abs).sum::<f64>();
                let bound = weights.len() as f64 * 2_f64.powi(-23) * size;
                prop_assert!((f64::from(output[i]) - 0.5 - terms().sum::<f64>()).abs() <= bound);
            }
        }
    }
}
