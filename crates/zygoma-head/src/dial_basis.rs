//! The dials' effect on fixed points of the template, tabulated: fitting dials evaluates it thousands of times.

use glam::DVec3;
use rayon::prelude::*;

use crate::dials::{DIALS, DialValues, EyeFrame, Warp, eye_share};
use crate::sculpt::field::at;

/// Points of template space with the offset that every dial at 1 gives them.
pub(crate) struct DialBasis {
    points: Vec<Point>,
}

struct Point {
    /// The point, mirrored to the left side.
    left: DVec3,
    side: f64,
    /// How far it follows the eye rather than the dials' fields.
    eye: f64,
    moves: [DVec3; DIALS.len()],
}

impl DialBasis {
    /// Tabulates the dials at points with their softness (see [`Warp::apply`]).
    pub(crate) fn new(points: &[DVec3], softness: &[f64]) -> Self {
        let point = |(p, softness): (&DVec3, &f64)| {
            let left = at(p.x.abs(), p.y, p.z);
            let moves = DIALS.each_ref().map(|d| if d.soft { *softness } else { 1.0 } * d.offset(left));
            let side = if p.x < 0.0 { -1.0 } else { 1.0 };
            Point { left, side, eye: eye_share(left), moves }
        };
        Self { points: points.par_iter().zip(softness).map(point).collect() }
    }

    /// The points moved by dials, in millimetres: the same as [`Warp::apply`] gives.
    pub(crate) fn apply(&self, dials: &DialValues) -> Vec<DVec3> {
        let eye = Warp::new(dials).left_eye();
        let values: [f64; DIALS.len()] = std::array::from_fn(|k| dials.at(k));
        let place = |point: &Point| {
            let moves = point.moves.iter().zip(&values);
            let body = point.left + moves.map(|(by, value)| *value * *by).sum::<DVec3>();
            let p = if point.eye > 0.0 { body.lerp(eye.apply(point.left), point.eye) } else { body };
            at(point.side * p.x.max(0.0), p.y, p.z)
        };
        self.points.par_iter().with_min_len(512).map(place).collect()
    }

    /// Derivatives at a set of dials.
    pub(crate) fn slopes(&self, dials: &DialValues) -> Slopes<'_> {
        let changed = |k: usize| Warp::new(&dials.with(k, dials.at(k) + STEP)).left_eye();
        Slopes { basis: self, eye: Warp::new(dials).left_eye(), changed: std::array::from_fn(changed) }
    }
}

/// Finite-difference step of a dial for the eye's frame, the only thing that is not linear in the dials.
const STEP: f64 = 1e-3;

/// Derivatives of the points by the dials.
pub(crate) struct Slopes<'a> {
    basis: &'a DialBasis,
    eye: EyeFrame,
    /// The eye with each dial turned a little further.
    changed: [EyeFrame; DIALS.len()],
}

impl Slopes<'_> {
    /// The derivative of a point by every dial, in millimetres.
    pub(crate) fn at(&self, point: usize) -> [DVec3; DIALS.len()] {
        let point = &self.basis.points[point];
        let q = point.left;
        std::array::from_fn(|k| {
            let mut slope = point.moves[k];
            if point.eye > 0.0 {
                let by_eye = (self.changed[k].apply(q) - self.eye.apply(q)) / STEP;
                slope = slope.lerp(by_eye, point.eye);
            }
            at(point.side * slope.x, slope.y, slope.z)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::template::Template;

    #[test]
    fn tabulated_dials_move_points_as_the_warp_does() {
        let template = Template::of(Level::Low);
        let (points, softness) = (&template.base.rest, &template.softness);
        let basis = DialBasis::new(points, softness);
        let dials = DialValues::sampled(7);
        let (warp, moved, slopes) = (Warp::new(&dials), basis.apply(&dials), basis.slopes(&dials));
        for v in (0..points.len()).step_by(7) {
            assert!(moved[v].distance(warp.apply(points[v], softness[v])) < 1e-9);
            let slopes = slopes.at(v);
            for k in (0..DIALS.len()).filter(|_| points[v].x.abs() > 1.0) {
                let step =
                    |by: f64| Warp::new(&dials.with(k, dials.at(k) + by)).apply(points[v], softness[v]);
                let measured = (step(1e-4) - step(-1e-4)) / 2e-4;
                assert!(measured.distance(slopes[k]) < 1e-3, "{} at {v}", DIALS[k].name);
            }
        }
    }
}
