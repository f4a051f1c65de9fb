//! Range checks of parameters, the same for every parameter struct.

use std::ops::RangeInclusive;

/// A parameter that lies outside its range, or is not a number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}; it must be from {} to {}", range.start(), range.end())]
pub struct BadParam {
    name: String,
    value: f64,
    range: RangeInclusive<f64>,
}

/// One number of a parameter struct, with its allowed range.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranged {
    name: String,
    value: f64,
    range: RangeInclusive<f64>,
}

impl Ranged {
    /// A parameter, by the name that a user knows.
    pub fn new(name: impl Into<String>, value: f64, range: RangeInclusive<f64>) -> Self {
        Self { name: name.into(), value, range }
    }

    /// A count.
    pub fn count(name: impl Into<String>, value: usize, range: RangeInclusive<usize>) -> Self {
        Self::new(name, value as f64, *range.start() as f64..=*range.end() as f64)
    }

    /// The three components of a vector, each in the same range.
    pub fn vector(name: &str, value: [f64; 3], range: &RangeInclusive<f64>) -> [Self; 3] {
        [0, 1, 2].map(|axis| Self::new(format!("{name}[{axis}]"), value[axis], range.clone()))
    }

    /// The same parameter within a table: `fit` makes `fit.tolerance` of `tolerance`.
    pub fn within(mut self, table: &str) -> Self {
        self.name = format!("{table}.{}", self.name);
        self
    }
}

/// A struct of user-settable parameters. Ranges are ours unless stated otherwise, and far wider than sensible values: they only reject numbers that
/// cannot be computed with.
pub trait Checked {
    /// Every number of the set, with its range.
    fn ranges(&self) -> Vec<Ranged>;

    /// Checks every number; the error names the first one outside its range. NaN is outside every range.
    fn check(&self) -> Result<(), BadParam> {
        match self.ranges().into_iter().find(|param| !param.range.contains(&param.value)) {
            Some(Ranged { name, value, range }) => Err(BadParam { name, value, range }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Params([f64; 3], usize);

    impl Checked for Params {
        fn ranges(&self) -> Vec<Ranged> {
            let mut ranges = Ranged::vector("gravity", self.0, &(-1e3..=1e3)).to_vec();
            ranges.push(Ranged::count("steps", self.1, 1..=10).within("solver"));
            ranges
        }
    }

    #[test]
    fn a_number_outside_its_range_is_named() {
        assert_eq!(Params([0.0; 3], 1).check(), Ok(()));
        let message = |params: Params| params.check().unwrap_err().to_string();
        assert_eq!(
            message(Params([0.0, f64::NAN, 0.0], 1)),
            "gravity[1] is NaN; it must be from -1000 to 1000"
        );
        assert_eq!(message(Params([0.0; 3], 11)), "solver.steps is 11; it must be from 1 to 10");
        assert!(Params([f64::INFINITY, 0.0, 0.0], 1).check().is_err());
    }
}
