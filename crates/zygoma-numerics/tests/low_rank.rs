//! Laws of compression.

use proptest::prelude::*;
use zygoma_numerics::low_rank::{CompressError, CompressOptions, LowRank, compress};
use zygoma_numerics::random::Keyed;

/// Rows × columns numbers, row after row.
#[derive(Clone)]
struct Frames {
    columns: usize,
    values: Vec<f32>,
}

impl Frames {
    /// Products of `rank` random factors whose strength falls by `decay` from one to the next.
    fn random(rows: usize, columns: usize, rank: usize, decay: f64, seed: u64) -> Self {
        let left = |row: usize, i: usize| Keyed::new(seed, 1).normal((row * rank + i) as u64);
        let right: Vec<f64> = (0..rank * columns).map(|n| Keyed::new(seed, 2).normal(n as u64)).collect();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            let weights: Vec<f64> = (0..rank).map(|i| left(row, i) * decay.powi(i as i32)).collect();
            let value =
                |column: usize| (0..rank).map(|i| weights[i] * right[i * columns + column]).sum::<f64>();
            values.extend((0..columns).map(|column| value(column) as f32));
        }
        Self { columns, values }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    fn compress(&self, max_error: f32, max_rank: Option<usize>) -> LowRank {
        let options = CompressOptions { max_error, max_rank, seed: 5 };
        let mut read = |row: usize, line: &mut [f32]| line.copy_from_slice(self.row(row));
        compress(self.rows(), self.columns, &mut read, &options).expect("the frames are finite")
    }

    /// Largest and root mean square distance of any vertex, computed anew and plainly.
    fn distance(&self, product: &LowRank) -> (f64, f64) {
        let (mut most, mut total, mut count) = (0.0_f64, 0.0, 0);
        for row in 0..self.rows() {
            let mut sum = vec![0.0_f64; self.columns];
            for (i, vector) in product.basis.iter().enumerate() {
                let weight = f64::from(product.coefficients[row * product.rank() + i]);
                sum.iter_mut().zip(vector).for_each(|(s, v)| *s += weight * f64::from(*v));
            }
            for (data, sum) in self.row(row).chunks(3).zip(sum.chunks(3)) {
                let square: f64 = data.iter().zip(sum).map(|(d, s)| (f64::from(*d) - s).powi(2)).sum();
                most = most.max(square);
                total += square;
                count += 1;
            }
        }
        (most.sqrt(), (total / f64::from(count.max(1))).sqrt())
    }
}

/// Rounding of sums in `f32` against `f64` for numbers of about size ten.
const ROUNDING: f64 = 2e-5;

#[test]
fn data_of_exact_rank_are_found_with_that_rank() {
    for (rows, columns, rank) in [(300, 600, 1), (200, 999, 7), (400, 1500, 52), (60, 300, 33), (500, 90, 20)]
    {
        let frames = Frames::random(rows, columns, rank, 0.97, rank as u64);
        let product = frames.compress(1e-3, None);
        assert_eq!(product.rank(), rank, "{rows} × {columns}");
        assert!(product.max_error <= 1e-3);
    }
}

#[test]
fn the_stated_error_is_the_measured_one() {
    for bound in [3.0, 0.5, 0.05] {
        let frames = Frames::random(150, 3 * 211, 80, 0.9, 3);
        let product = frames.compress(bound, None);
        let (most, rms) = frames.distance(&product);
        assert!(product.max_error <= f64::from(bound));
        assert!((product.max_error - most).abs() < ROUNDING, "{} {most}", product.max_error);
        assert!((product.rms_error - rms).abs() < ROUNDING, "{} {rms}", product.rms_error);
        // One vector less does not keep the bound.
        let less = frames.compress(bound, Some(product.rank() - 1));
        assert!(less.max_error > f64::from(bound));
    }
}

#[test]
fn the_rank_is_close_to_what_the_singular_values_demand() {
    // The bound on the largest distance implies one on every singular value that is dropped:
    // σ² ≤ rows · vertices · bound². So no compression can have a rank below this count.
    let frames = Frames::random(200, 3 * 150, 120, 0.93, 9);
    let bound = 0.2_f32;
    let matrix = faer::Mat::from_fn(200, 450, |i, j| f64::from(frames.row(i)[j]));
    let values = matrix.singular_values().unwrap();
    let least = values.iter().filter(|value| **value > f64::from(bound) * (200.0 * 150.0_f64).sqrt()).count();
    let rank = frames.compress(bound, None).rank();
    // The truncated singular value decomposition of all of them, by the same measure.
    let svd = matrix.thin_svd().unwrap();
    let error = |rank: usize| {
        let left = matrix.as_ref() * svd.V().subcols(0, rank) * svd.V().subcols(0, rank).transpose();
        let square = |i: usize, v: usize| {
            (0..3).map(|a| (matrix[(i, 3 * v + a)] - left[(i, 3 * v + a)]).powi(2)).sum::<f64>()
        };
        (0..200)
            .flat_map(|i| (0..150).map(move |v| (i, v)))
            .map(|(i, v)| square(i, v))
            .fold(0.0, f64::max)
            .sqrt()
    };
    let exact = (0..=120).find(|rank| error(*rank) <= f64::from(bound)).unwrap();
    assert!(least <= rank && rank.abs_diff(exact) <= 1, "{least} ≤ {rank}, exactly {exact}");
}

#[test]
fn a_largest_rank_is_respected_and_the_error_told() {
    let frames = Frames::random(120, 300, 60, 0.95, 4);
    let mut last = f64::INFINITY;
    for most in [0, 1, 5, 20, 59] {
        let product = frames.compress(1e-6, Some(most));
        assert!(product.rank() <= most);
        let (distance, _) = frames.distance(&product);
        assert!((product.max_error - distance).abs() < ROUNDING);
        assert!(product.max_error <= last);
        last = product.max_error;
    }
}

#[test]
fn the_largest_coefficient_of_every_vector_is_one() {
    let product = Frames::random(90, 240, 12, 0.8, 6).compress(0.01, None);
    assert!(product.rank() > 3);
    for i in 0..product.rank() {
        let column = product.coefficients.iter().skip(i).step_by(product.rank());
        assert_eq!(column.copied().fold(f32::NEG_INFINITY, f32::max), 1.0);
    }
    assert!(product.coefficients.iter().all(|c| c.abs() <= 1.0));
}

#[test]
fn zero_and_missing_data_have_rank_zero() {
    for (rows, columns) in [(0, 0), (0, 30), (5, 0), (1, 3), (50, 400)] {
        let frames = Frames { columns, values: vec![0.0; rows * columns] };
        let options = CompressOptions { max_error: 0.0, max_rank: None, seed: 0 };
        let mut read = |row: usize, line: &mut [f32]| line.copy_from_slice(frames.row(row));
        let product = compress(rows, columns, &mut read, &options).unwrap();
        assert_eq!((product.rank(), product.coefficients.len()), (0, 0));
        assert_eq!((product.max_error, product.rms_error), (0.0, 0.0));
    }
}

#[test]
fn frames_of_zeros_among_others_do_no_harm() {
    let mut frames = Frames::random(40, 60, 3, 1.0, 8);
    for row in (0..40).step_by(3) {
        frames.values[row * 60..][..60].fill(0.0);
    }
    let product = frames.compress(1e-4, None);
    assert_eq!(product.rank(), 3);
    assert!(product.coefficients[..3].iter().all(|c| c.abs() < 1e-5));
}

#[test]
fn small_units_are_no_obstacle() {
    // Metres: offsets of micrometres, a bound of nanometres.
    let mut frames = Frames::random(80, 150, 6, 0.9, 2);
    frames.values.iter_mut().for_each(|value| *value *= 1e-6);
    let product = frames.compress(1e-9, None);
    assert_eq!(product.rank(), 6);
    assert!(product.max_error <= 1e-9);
}

#[test]
fn results_are_equal_bit_for_bit_for_any_number_of_threads() {
    let frames = Frames::random(200, 3 * 5000, 45, 0.9, 1);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| frames.compress(0.05, None))
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(3));
}

#[test]
fn odd_input_is_refused_in_a_sentence() {
    let options = CompressOptions { max_error: 0.1, max_rank: None, seed: 0 };
    let mut read = |row: usize, line: &mut [f32]| line.fill(if row == 3 { f32::NAN } else { 1.0 });
    let problem = compress(5, 9, &mut read, &options).unwrap_err();
    assert_eq!(problem, CompressError::NotFinite { row: 3, column: 0 });
    for bound in [-1.0, f32::NAN] {
        let options = CompressOptions { max_error: bound, ..options.clone() };
        assert!(matches!(compress(5, 9, &mut read, &options), Err(CompressError::Bound(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_bound_holds_for_any_shape_of_data(
        rows in 1_usize..70, columns in 1_usize..90, rank in 1_usize..12, seed in 0_u64..1000,
    ) {
        let frames = Frames::random(rows, columns, rank, 0.8, seed);
        let product = frames.compress(0.01, None);
        prop_assert!(product.max_error <= 0.01);
        prop_assert!(product.rank() <= rank.min(rows).min(columns));
        prop_assert!((frames.distance(&product).0 - product.max_error).abs() < ROUNDING);
    }
}
