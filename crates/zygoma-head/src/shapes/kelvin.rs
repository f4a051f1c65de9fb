//! Pulling at a point of an elastic medium: regularised Kelvinlets (\[de Goes and James 2017\]).

use glam::DVec3;

/// A pull at a point, spread over a ball.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull {
    /// Where.
    pub(crate) at: DVec3,
    /// Displacement of that point.
    pub(crate) by: DVec3,
    /// Size of the ball.
    pub(crate) size: f64,
}

/// Poisson's ratio: soft tissue nearly preserves its volume.
const POISSON: f64 = 0.45;

/// A pull at a point.
pub(crate) const fn pull(at: DVec3, by: [f64; 3], size: f64) -> Pull {
    Pull { at, by: DVec3::from_array(by), size }
}

impl Pull {
    /// Displacement of a point. Three scales are mixed so that it decays with the fifth power of the distance
    /// (\[de Goes and James 2017\] eq. 10): a local pull stays local.
    pub(crate) fn offset(&self, p: DVec3) -> DVec3 {
        let [e1, e2, e3] = [self.size, 1.2 * self.size, 1.44 * self.size];
        let w1 = 1.0;
        let w2 = -(e3 * e3 - e1 * e1) / (e3 * e3 - e2 * e2);
        let w3 = (e2 * e2 - e1 * e1) / (e3 * e3 - e2 * e2);
        let r = p - self.at;
        let centre = w1 / e1 + w2 / e2 + w3 / e3;
        let mixed = w1 * one(r, self.by, e1) + w2 * one(r, self.by, e2) + w3 * one(r, self.by, e3);
        mixed / ((1.5 - B) * centre)
    }
}

/// b/a of \[de Goes and James 2017\] eq. 1.
const B: f64 = 1.0 / (4.0 * (1.0 - POISSON));

/// \[de Goes and James 2017\] eq. 6 with a = 1.
fn one(r: DVec3, force: DVec3, e: f64) -> DVec3 {
    let length = (r.length_squared() + e * e).sqrt();
    let cube = length.powi(3);
    force * ((1.0 - B) / length + 0.5 * e * e / cube) + r * (B * r.dot(force) / cube)
}

/// Several pulls at once.
pub(crate) fn pulls(all: &[Pull], p: DVec3) -> DVec3 {
    all.iter().map(|pull| pull.offset(p)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grabbed_point_goes_where_it_is_pulled_and_far_points_stay() {
        let pull = pull(DVec3::new(1.0, 2.0, 3.0), [4.0, -1.0, 2.0], 10.0);
        assert!(pull.offset(pull.at).distance(pull.by) < 1e-12);
        assert!(pull.offset(pull.at + DVec3::X * 60.0).length() < 0.02 * pull.by.length());
    }
}
