//! Points matched by position and normal together: closest points alone slide from eye to cheek unnoticed.

use glam::{DVec3, Vec3};

/// A unit difference between normals counts as this distance, in metres. Ours: a third of the size of a face's features.
const NORMAL: f32 = 0.02;
/// Points in a leaf of the tree.
const LEAF: usize = 8;

/// A point with its unit normal.
#[derive(Clone, Copy, Debug)]
struct Partner {
    place: Vec3,
    normal: Vec3,
}

impl Partner {
    /// The square of the distance to another, in position and normal.
    fn cost(&self, other: &Self) -> f32 {
        self.place.distance_squared(other.place)
            + NORMAL * NORMAL * self.normal.distance_squared(other.normal)
    }

    /// One of six coordinates, all in metres.
    fn coordinate(&self, axis: usize) -> f32 {
        if axis < 3 { self.place[axis] } else { NORMAL * self.normal[axis - 3] }
    }
}

/// Points and their normals, searched by a tree over both.
pub(super) struct Partners {
    /// In the order of the tree: of every range, the middle one divides the others along an axis.
    points: Vec<Partner>,
    axes: Vec<u8>,
}

impl Partners {
    pub(super) fn new(points: impl Iterator<Item = (DVec3, DVec3)>) -> Self {
        let partner = |(p, normal): (DVec3, DVec3)| Partner { place: p.as_vec3(), normal: normal.as_vec3() };
        let mut points: Vec<Partner> = points.map(partner).collect();
        let mut axes = vec![0; points.len()];
        divide(&mut points, &mut axes);
        Self { points, axes }
    }

    /// The partner nearest in position and normal, and its normal.
    pub(super) fn best(&self, place: DVec3, normal: DVec3) -> Option<(DVec3, DVec3)> {
        let query = Partner { place: place.as_vec3(), normal: normal.as_vec3() };
        let mut best = (f32::MAX, None);
        self.search(&query, 0, self.points.len(), &mut best);
        best.1.map(|found: &Partner| (found.place.as_dvec3(), found.normal.as_dvec3()))
    }

    fn search<'a>(&'a self, query: &Partner, from: usize, to: usize, best: &mut (f32, Option<&'a Partner>)) {
        let mut consider = |i: usize| {
            let cost = self.points[i].cost(query);
            if cost < best.0 {
                *best = (cost, Some(&self.points[i]));
            }
        };
        if to - from <= LEAF {
            (from..to).for_each(consider);
            return;
        }
        let middle = from.midpoint(to);
        consider(middle);
        let axis = usize::from(self.axes[middle]);
        let beyond = query.coordinate(axis) - self.points[middle].coordinate(axis);
        let (near, far) = match beyond < 0.0 {
            true => ((from, middle), (middle + 1, to)),
            false => ((middle + 1, to), (from, middle)),
        };
        self.search(query, near.0, near.1, best);
        if beyond * beyond <= best.0 {
            self.search(query, far.0, far.1, best);
        }
    }
}

/// Orders points for the search, along their longest extent first.
fn divide(points: &mut [Partner], axes: &mut [u8]) {
    if points.len() <= LEAF {
        return;
    }
    let extent = |axis: &usize| {
        let all = points.iter().map(|p| p.coordinate(*axis));
        all.clone().fold(f32::MIN, f32::max) - all.fold(f32::MAX, f32::min)
    };
    let axis = (0..6).max_by(|a, b| extent(a).total_cmp(&extent(b))).unwrap_or(0);
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |a, b| a.coordinate(axis).total_cmp(&b.coordinate(axis)));
    axes[middle] = axis as u8;
    let (low, high) = points.split_at_mut(middle);
    let (low_axes, high_axes) = axes.split_at_mut(middle);
    divide(low, low_axes);
    divide(&mut high[1..], &mut high_axes[1..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_numerics::random::Keyed;

    #[test]
    fn the_tree_finds_what_a_search_through_all_points_finds() {
        let random = Keyed::new(3, 0);
        let draw = |i: u64| {
            let vector = |k: u64| DVec3::from_array([0, 1, 2].map(|j| random.normal(6 * i + 3 * k + j)));
            (0.05 * vector(0), vector(1).normalize_or_zero())
        };
        let points: Vec<(DVec3, DVec3)> = (0..700).map(draw).collect();
        let partners = Partners::new(points.iter().copied());
        for i in 700..900 {
            let (place, normal) = draw(i);
            let query = Partner { place: place.as_vec3(), normal: normal.as_vec3() };
            let cost =
                |(p, n): (DVec3, DVec3)| Partner { place: p.as_vec3(), normal: n.as_vec3() }.cost(&query);
            let least = points.iter().map(|point| cost(*point)).fold(f32::MAX, f32::min);
            assert_eq!(partners.best(place, normal).map(cost), Some(least));
        }
        assert!(Partners::new(std::iter::empty()).best(DVec3::ZERO, DVec3::Z).is_none());
    }
}
