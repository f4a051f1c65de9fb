//! Many frames as few basis vectors, under a bound on the largest error.
//!
//! The rows of a matrix are frames, its columns the coordinates of vertices, three in a row. [`compress`] finds
//! basis vectors and coefficients whose products stay within a given distance of every vertex in every frame.
//! Least squares alone bounds only the mean; here the error of every rank is measured at every vertex and the
//! smallest rank that keeps the bound is returned.
//!
//! The basis comes from a randomised subspace iteration about zero ([Halko et al. 2011] *Finding
//! structure with randomness*, Alg. 4.4) that reads the rows block by block and grows until the bound holds, so
//! frames need not be in memory. Sums are taken in a fixed order: the result depends on the input and the seed
//! only, not on the number of threads.

mod measure;
mod rows;
mod subspace;

use faer::Mat;

use measure::Trial;
use rows::{Layout, Rows};
use subspace::{grow, ritz};

/// Parameters of a compression.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressOptions {
    /// The largest distance of any vertex in any frame, in the unit of the data.
    pub max_error: f32,
    /// At most this many basis vectors, whatever the error.
    pub max_rank: Option<usize>,
    /// Seed of the random sketch.
    pub seed: u64,
}

/// Frames as products: frame `r` is the sum over `i` of `coefficients[r * rank + i] * basis[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// The basis vectors, strongest first, each as long as a row.
    pub basis: Vec<Vec<f32>>,
    /// One row of coefficients a frame. Of each basis vector the largest coefficient is 1.
    pub coefficients: Vec<f32>,
    /// The largest distance of any vertex in any frame between the data and the sum in `f32`, in the order of the
    /// basis, by [`axpy`](crate::simd::axpy).
    pub max_error: f64,
    /// The root mean square of all those distances.
    pub rms_error: f64,
}

impl LowRank {
    /// Number of basis vectors.
    pub fn rank(&self) -> usize {
        self.basis.len()
    }
}

/// Frames that cannot be compressed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CompressError {
    /// A number is NaN or infinite.
    #[error("number {column} of frame {row} is not finite; remove or repair that frame")]
    NotFinite {
        /// The frame.
        row: usize,
        /// The coordinate.
        column: usize,
    },
    /// The bound is not a number from zero up.
    #[error("the largest error must be zero or more, not {0}")]
    Bound(f32),
    /// The eigenvalues of a small matrix were not found.
    #[error("the eigenvalues of the frames did not converge; are their numbers close to the limits of f32?")]
    NoConvergence,
}

/// Basis vectors of the first attempt.
const FIRST: usize = 32;
/// Vectors beyond the rank that keep the last wanted ones accurate.
const SPARE: usize = 8;

/// Compresses `rows` frames of `columns` numbers, which `read_row` writes into its slice, several times each and
/// always the same.
///
/// Where `max_rank` (or the precision of `f32`) prevents the bound, the result is the best that was found, with its
/// measured error. Data that are zero, or within the bound of zero, have rank 0. Memory: about three matrices of
/// `columns` × twice the rank in `f64`.
pub fn compress(
    rows: usize,
    columns: usize,
    read_row: &mut dyn FnMut(usize, &mut [f32]),
    options: &CompressOptions,
) -> Result<LowRank, CompressError> {
    if options.max_error.is_nan() || options.max_error < 0.0 {
        return Err(CompressError::Bound(options.max_error));
    }
    if rows == 0 || columns == 0 {
        return Ok(LowRank { basis: Vec::new(), coefficients: Vec::new(), max_error: 0.0, rms_error: 0.0 });
    }
    let layout = Layout::new(columns);
    let mut source = Rows::new(rows, layout, read_row);
    let most = rows.min(columns);
    let limit = options.max_rank.unwrap_or(most).min(most);
    let largest = limit.saturating_add(SPARE).min(most);
    let mut basis = Mat::zeros(layout.width(), 0);
    let mut size = FIRST.min(largest);
    loop {
        basis = grow(&mut source, &basis, size, options.seed)?;
        let (vectors, coefficients) = ritz(&mut source, &basis)?;
        let trial = Trial::new(&vectors, &coefficients, layout);
        let errors = trial.error_of_every_rank(&mut source, limit)?;
        let enough = errors.iter().position(|error| *error <= f64::from(options.max_error));
        let spare = SPARE.max(size / 8);
        match enough {
            Some(rank) if size == largest || rank + spare <= size => {
                return settle(&trial, &mut source, &errors, rank, options);
            }
            None if size == largest => return settle(&trial, &mut source, &errors, lowest(&errors), options),
            // The last vectors of a subspace are not yet the strongest that there are: a little more room may
            // show that fewer suffice.
            Some(_) => size = (size + 2 * spare).min(largest),
            None => size = next_size(&errors, options.max_error).min(largest),
        }
    }
}

/// A size at which the bound may hold, where errors keep falling as they did over the upper half of the ranks:
/// fewer attempts, and so fewer passes over the frames, than by doubling alone.
fn next_size(errors: &[f64], bound: f32) -> usize {
    let size = errors.len() - 1;
    let (middle, last) = (errors[size / 2], errors[size]);
    let fall = (middle / last).ln() / (size - size / 2) as f64;
    let missing = (last / f64::from(bound)).ln() / fall;
    // Without a fall, or with a bound of zero, the guess is infinite or NaN: `max` and `min` pass over those.
    let guess = (1.2 * (size as f64 + missing)).max(1.5 * size as f64).min(4.0 * size as f64);
    guess as usize + SPARE
}

/// Measures the chosen rank as a player computes it, and a few higher ones where rounding breaks the bound.
fn settle(
    trial: &Trial,
    source: &mut Rows,
    errors: &[f64],
    first: usize,
    options: &CompressOptions,
) -> Result<LowRank, CompressError> {
    let mut best = trial.measured(source, first)?;
    let mut step = 1;
    let mut rank = first;
    while best.max_error > f64::from(options.max_error) && rank + step < errors.len() {
        rank += step;
        step *= 2;
        let other = trial.measured(source, rank)?;
        if other.max_error < best.max_error {
            best = other;
        }
    }
    Ok(best)
}

/// The smallest rank of the lowest error.
fn lowest(errors: &[f64]) -> usize {
    let better = |best: usize, rank: usize| if errors[rank] < errors[best] { rank } else { best };
    (0..errors.len()).fold(0, better)
}
