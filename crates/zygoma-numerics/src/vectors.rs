//! Long vectors: products and sums in a fixed order, independent of the number of threads.
//!
//! Vectors are processed in pieces that fit into the first-level cache, so that each of many vectors is read from memory only once. Long ones are
//! halved, and their halves again, always at the same places, so that threads can process the parts side by side.

use crate::Real;
use crate::simd::{self, Simd, WithSimd};

/// Numbers of a piece.
const PIECE: usize = 2048;
/// From this length on, another thread pays off. Ours.
const LONG: usize = 16 * PIECE;

/// The place at which a vector is split in two, if it is long.
pub fn middle(length: usize) -> Option<usize> {
    (length >= LONG).then(|| (length / 2).next_multiple_of(PIECE))
}

/// a · b.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    dots(&[a], b)[0]
}

/// The products of some vectors with one.
pub fn dots<T: Real>(vectors: &[&[T]], with: &[T]) -> Vec<f64> {
    dots_from(vectors, with, 0)
}

/// The same where `with` begins at a later place of the vectors.
fn dots_from<T: Real>(vectors: &[&[T]], with: &[T], start: usize) -> Vec<f64> {
    if let Some(middle) = middle(with.len()) {
        let (mut first, second) = rayon::join(
            || dots_from(vectors, &with[..middle], start),
            || dots_from(vectors, &with[middle..], start + middle),
        );
        first.iter_mut().zip(&second).for_each(|(sum, part)| *sum += part);
        return first;
    }
    let mut sums = vec![0.0; vectors.len()];
    for (piece, with) in with.chunks(PIECE).enumerate() {
        let from = start + piece * PIECE;
        for (sum, vector) in sums.iter_mut().zip(vectors) {
            *sum += T::short_dot(&vector[from..from + with.len()], with);
        }
    }
    sums
}

/// y ← x + Σ scale · vector.
pub fn combine<T: Real>(y: &mut [T], x: &[T], vectors: &[(f64, &[T])]) {
    combine_from(y, x, vectors, 0);
}

/// The same where `y` begins at a later place of the others.
fn combine_from<T: Real>(y: &mut [T], x: &[T], vectors: &[(f64, &[T])], start: usize) {
    if let Some(middle) = middle(y.len()) {
        let (first, second) = y.split_at_mut(middle);
        rayon::join(
            || combine_from(first, x, vectors, start),
            || combine_from(second, x, vectors, start + middle),
        );
        return;
    }
    for (piece, y) in y.chunks_mut(PIECE).enumerate() {
        let places = start + piece * PIECE..start + piece * PIECE + y.len();
        y.copy_from_slice(&x[places.clone()]);
        for (scale, vector) in vectors {
            T::add_short(y, *scale, &vector[places.clone()]);
        }
    }
}

/// Computes two differences of vectors, each of a minuend and a subtrahend.
pub(crate) struct Differences<'a, T> {
    pub(crate) found: [&'a mut [T]; 2],
    pub(crate) first: [&'a [T]; 2],
    pub(crate) second: [&'a [T]; 2],
}

/// Products of two differences.
pub(crate) struct Products {
    /// Those of some other vectors with the second.
    pub(crate) others: Vec<f64>,
    /// Those of the first with itself, of both, and of the second with itself.
    pub(crate) own: [f64; 3],
    /// The largest absolute value of the first.
    pub(crate) largest: f64,
}

impl<T: Real> Differences<'_, T> {
    /// Computes the differences and their products.
    pub(crate) fn find(self, others: &[&[T]]) -> Products {
        self.find_from(others, 0)
    }

    /// The same where the differences begin at a later place of the other vectors.
    fn find_from(self, others: &[&[T]], start: usize) -> Products {
        let Some(middle) = middle(self.first[0].len()) else {
            return self.find_part(others, start);
        };
        let (a, b) = self.split_at(middle);
        let (mut sums, more) =
            rayon::join(|| a.find_from(others, start), || b.find_from(others, start + middle));
        sums.others.iter_mut().zip(&more.others).for_each(|(sum, part)| *sum += part);
        sums.own.iter_mut().zip(&more.own).for_each(|(sum, part)| *sum += part);
        sums.largest = sums.largest.max(more.largest);
        sums
    }

    fn split_at(self, middle: usize) -> (Self, Self) {
        let [first, second] = self.found.map(|found| found.split_at_mut(middle));
        let part = |found, from: usize, to: usize| Self {
            found,
            first: self.first.map(|vector| &vector[from..to]),
            second: self.second.map(|vector| &vector[from..to]),
        };
        (part([first.0, second.0], 0, middle), part([first.1, second.1], middle, self.first[0].len()))
    }

    fn find_part(self, others: &[&[T]], start: usize) -> Products {
        let [first, second] = self.found;
        let mut products = Products { others: vec![0.0; others.len()], own: [0.0; 3], largest: 0.0 };
        for (piece, (a, b)) in first.chunks_mut(PIECE).zip(second.chunks_mut(PIECE)).enumerate() {
            let places = piece * PIECE..piece * PIECE + a.len();
            let largest = T::subtract_short(a, self.first.map(|vector| &vector[places.clone()]));
            products.largest = products.largest.max(largest);
            T::subtract_short(b, self.second.map(|vector| &vector[places.clone()]));
            for (sum, vector) in products.others.iter_mut().zip(others) {
                *sum += T::short_dot(&vector[start + places.start..start + places.end], b);
            }
            for (sum, [a, b]) in products.own.iter_mut().zip([[&*a, &*a], [&*a, &*b], [&*b, &*b]]) {
                *sum += T::short_dot(a, b);
            }
        }
        products
    }
}

/// out ← a − b; returns the largest absolute value.
#[inline(always)]
pub(crate) fn plain_subtract<T: Real>(out: &mut [T], [a, b]: [&[T]; 2]) -> f64 {
    const WIDTH: usize = 16;
    let mut largest = [T::default(); WIDTH];
    let (outs, out_rest) = out.as_chunks_mut::<WIDTH>();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<WIDTH>(), b.as_chunks::<WIDTH>());
    for ((out, a), b) in outs.iter_mut().zip(a).zip(b) {
        for k in 0..WIDTH {
            out[k] = a[k] - b[k];
            let size = out[k].abs();
            largest[k] = if size > largest[k] { size } else { largest[k] };
        }
    }
    for ((out, a), b) in out_rest.iter_mut().zip(a_rest).zip(b_rest) {
        *out = *a - *b;
        let size = out.abs();
        largest[0] = if size > largest[0] { size } else { largest[0] };
    }
    let mut most = 0.0;
    for size in largest {
        most = f64::max(most, size.into());
    }
    most
}

/// The same in single precision.
pub(crate) fn wide_subtract(out: &mut [f32], from: [&[f32]; 2]) -> f64 {
    struct Subtract<'a>(&'a mut [f32], [&'a [f32]; 2]);
    impl WithSimd for Subtract<'_> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> f64 {
            plain_subtract(self.0, self.1)
        }
    }
    simd::run(Subtract(out, from))
}

/// a · b of short vectors, in partial sums that a compiler can keep in one register.
pub(crate) fn plain_dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    const WIDTH: usize = 16;
    let mut sums = [T::default(); WIDTH];
    let (a, a_rest) = a.as_chunks::<WIDTH>();
    let (b, b_rest) = b.as_chunks::<WIDTH>();
    for (a, b) in a.iter().zip(b) {
        for k in 0..WIDTH {
            sums[k] = a[k].mul_add(b[k], sums[k]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (*a).into() * (*b).into()).sum();
    sums.iter().map(|sum| (*sum).into()).sum::<f64>() + rest
}

/// a · b in single precision, for vectors so short that partial sums stay accurate.
pub(crate) fn wide_dot(a: &[f32], b: &[f32]) -> f64 {
    struct Dot<'a>(&'a [f32], &'a [f32]);
    impl WithSimd for Dot<'_> {
        type Output = f64;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let (a, a_rest) = S::as_simd_f32s(self.0);
            let (b, b_rest) = S::as_simd_f32s(self.1);
            let zero = simd.splat_f32s(0.0);
            let mut sums = [zero; 4];
            let (a, a_last) = a.as_chunks::<4>();
            let (b, b_last) = b.as_chunks::<4>();
            for (a, b) in a.iter().zip(b) {
                for k in 0..4 {
                    sums[k] = simd.mul_add_e_f32s(a[k], b[k], sums[k]);
                }
            }
            for (a, b) in a_last.iter().zip(b_last) {
                sums[0] = simd.mul_add_e_f32s(*a, *b, sums[0]);
            }
            let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let total: f64 = sums.iter().map(|sum| f64::from(simd.reduce_sum_f32s(*sum))).sum();
            total + rest
        }
    }
    simd::run(Dot(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sums_of_single_precision_are_accurate() {
        let tenths = vec![0.1_f32; 3_000_017];
        let exact = 3_000_017.0 * f64::from(0.1_f32) * f64::from(0.1_f32);
        assert!((dot(&tenths, &tenths) / exact - 1.0).abs() < 1e-6);
        let doubles = vec![0.1_f64; 100_003];
        assert!((dot(&doubles, &doubles) / 1000.03 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn every_length_is_covered() {
        for length in [0, 1, 7, 8, 40, PIECE, PIECE + 5, LONG, LONG + 3] {
            let numbers: Vec<f32> = (0..length).map(|i| (i % 7) as f32).collect();
            let ones = vec![1.0_f32; length];
            let exact: f64 = numbers.iter().map(|n| f64::from(*n)).sum();
            assert_eq!(dots(&[&numbers, &ones], &ones), [exact, length as f64]);
            let mut sum = ones.clone();
            combine(&mut sum, &numbers, &[(2.0, &ones), (-1.0, &numbers)]);
            assert!(sum.iter().all(|value| *value == 2.0));
            // Seven less each number, and nothing less one.
            let (sevens, zeros) = (vec![7.0_f32; length], vec![0.0; length]);
            let (mut first, mut second) = (zeros.clone(), zeros.clone());
            let products = Differences {
                found: [&mut first, &mut second],
                first: [&numbers, &sevens],
                second: [&zeros, &ones],
            }
            .find(&[&numbers]);
            assert!(first.iter().zip(&numbers).all(|(found, number)| *found == number - 7.0));
            assert!(second.iter().all(|found| *found == -1.0));
            let square: f64 = numbers.iter().map(|n| f64::from(*n - 7.0).powi(2)).sum();
            assert_eq!(products.others, [-exact]);
            assert_eq!(products.own, [square, 7.0 * length as f64 - exact, length as f64]);
            assert_eq!(products.largest, if length == 0 { 0.0 } else { 7.0 });
        }
    }

    #[test]
    fn any_number_of_threads_adds_up_alike() {
        let numbers: Vec<f32> = (0..5 * LONG).map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0).collect();
        let others: Vec<f32> = numbers.iter().map(|n| (n * 17.0).sin()).collect();
        let add_up = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut first, mut second) = (others.clone(), others.clone());
                let differences = Differences {
                    found: [&mut first, &mut second],
                    first: [&numbers, &others],
                    second: [&others, &numbers],
                };
                let products = differences.find(&[&numbers]);
                let mut sum = others.clone();
                combine(&mut sum, &numbers, &[(0.7, &others)]);
                (dot(&numbers, &others), products.others, products.own, first, sum)
            })
        };
        let one = add_up(1);
        assert!(one == add_up(2) && one == add_up(4), "the sums differ");
        let exact: f64 = numbers.iter().zip(&others).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        assert!((one.0 - exact).abs() < 1e-3 * (numbers.len() as f64).sqrt(), "{} {exact}", one.0);
    }

    #[test]
    fn both_ways_to_add_up_agree() {
        let numbers: Vec<f32> = (0..1003).map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0).collect();
        assert!((wide_dot(&numbers, &numbers) - plain_dot(&numbers, &numbers)).abs() < 1e-4);
    }
}
