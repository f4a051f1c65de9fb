//! Parameters of bodies, as the page sets them.

use std::collections::BTreeMap;

use zygoma_face::body::{BadBodyParam, Body};

/// Parameters that a page may set.
const MOST_PARAMS: usize = 64;

/// Values that the page has set, by name. Each body takes those that it has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Params {
    values: BTreeMap<String, f64>,
}

impl Params {
    /// Takes over values that are finite.
    pub(crate) fn set(&mut self, values: Vec<(String, f64)>) {
        for (name, value) in values {
            let is_known = self.values.contains_key(&name);
            if value.is_finite() && (is_known || self.values.len() < MOST_PARAMS) {
                self.values.insert(name, value);
            }
        }
    }

    /// Gives a body the values that it has parameters for, within their ranges.
    pub(crate) fn apply(&self, body: &mut dyn Body) -> Result<(), BadBodyParam> {
        for param in body.params() {
            let value = self.values.get(param.name).map(|value| param.limited(*value));
            if let Some(value) = value.filter(|value| *value != param.value) {
                body.set_param(param.name, value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_face::body::{BadDrive, BodyParam, Drive, Frame};
    use zygoma_geometry::rigid::RigidMotion;

    /// A body with one parameter.
    #[derive(Clone)]
    struct Soft(f64);

    impl Body for Soft {
        fn name(&self) -> &'static str {
            "soft"
        }

        fn drive(&mut self, _drive: Drive<'_>) -> Result<(), BadDrive> {
            Ok(())
        }

        fn set_head_pose(&mut self, _pose: &RigidMotion) {}

        fn settle(&mut self) {}

        fn advance(&mut self, _seconds: f64) -> Frame<'_> {
            self.frame_before(0.0)
        }

        fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
            Frame { positions: &[], asleep: true }
        }

        fn params(&self) -> Vec<BodyParam> {
            vec![BodyParam::factor("stiffness", self.0)]
        }

        fn set_param(&mut self, _name: &str, value: f64) -> Result<(), BadBodyParam> {
            self.0 = value;
            Ok(())
        }
    }

    #[test]
    fn values_of_a_page_are_few_finite_and_within_their_ranges() {
        let mut params = Params::default();
        params.set(vec![("stiffness".into(), 1e9), ("gravity.y".into(), f64::NAN)]);
        assert_eq!(params.values.get("gravity.y"), None);
        let mut body = Soft(1.0);
        params.apply(&mut body).unwrap();
        assert_eq!(body.0, 32.0);
        params.set((0..1000).map(|i| (format!("p{i}"), 0.0)).collect());
        assert_eq!(params.values.len(), MOST_PARAMS);
        params.set(vec![("stiffness".into(), 0.5)]);
        params.apply(&mut body).unwrap();
        assert_eq!(body.0, 0.5, "known ones can still be changed");
    }
}
