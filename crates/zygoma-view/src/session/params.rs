//! Parameters of bodies, as the page sets them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use zygoma_face::body::{BadBodyParam, Body};
use zygoma_face::tissue::STICKY;

/// Parameters that a page may set.
const MOST_PARAMS: usize = 64;

/// Factors within which a step stays solvable and the motion bounded. Ours.
const FACTORS: RangeInclusive<f64> = 0.01..=100.0;

/// Gravity along an axis, m/s²: ten times that of Earth.
const GRAVITY: RangeInclusive<f64> = -100.0..=100.0;

/// Stickiness over the usual one.
const STICKINESS: RangeInclusive<f64> = 0.0..=10.0;

/// Values that the page has set, by name. Each body takes those that it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Params {
    values: BTreeMap<String, f64>,
}

impl Params {
    /// Takes values over, within reason.
    pub(crate) fn set(&mut self, values: Vec<(String, f64)>) {
        for (name, value) in values {
            let is_known = self.values.contains_key(&name);
            if value.is_finite() && (is_known || self.values.len() < MOST_PARAMS) {
                let value = limited(&name, value);
                self.values.insert(name, value);
            }
        }
    }

    /// Gives a body the values that it has parameters for.
    pub(crate) fn apply(&self, body: &mut dyn Body) -> Result<(), BadBodyParam> {
        for param in body.params() {
            if let Some(value) = self.values.get(param.name).filter(|value| **value != param.value) {
                body.set_param(param.name, *value)?;
            }
        }
        Ok(())
    }
}

/// A value within its limits, in the body's unit.
fn limited(name: &str, value: f64) -> f64 {
    let clamped = |range: RangeInclusive<f64>| value.clamp(*range.start(), *range.end());
    match name {
        "stiffness" | "density" | "damping" => clamped(FACTORS),
        "gravity.x" | "gravity.y" | "gravity.z" => clamped(GRAVITY),
        // The page's unit is the usual stickiness.
        "stickiness" => clamped(STICKINESS) * STICKY,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_page_are_few_finite_and_within_limits() {
        let mut params = Params::default();
        params.set(vec![
            ("stiffness".into(), 1e9),
            ("gravity.y".into(), f64::NAN),
            ("stickiness".into(), 2.0),
        ]);
        assert_eq!(params.values.get("stiffness"), Some(&100.0));
        assert_eq!(params.values.get("gravity.y"), None);
        assert_eq!(params.values.get("stickiness"), Some(&(2.0 * STICKY)));
        params.set((0..1000).map(|i| (format!("p{i}"), 0.0)).collect());
        assert_eq!(params.values.len(), MOST_PARAMS);
        params.set(vec![("stiffness".into(), 0.5)]);
        assert_eq!(params.values.get("stiffness"), Some(&0.5), "known ones can still be changed");
    }
}
