//! Thinning: a few contact points stand for all that press on the same tissue.

use super::point::ContactPoint;
use super::samples::Samples;

/// Number of points kept among those that press on the same tissue: the deepest. Ours, as below.
const ALIKE: usize = 3;
/// Maximum number of points kept in all, of colliders that the rig moves and of others.
const MOST: usize = 300;

/// A contact point that may stand for others, and the area of skin that it then represents.
pub(crate) trait Thinned: Copy {
    fn point(&self) -> &ContactPoint;

    /// Signed distance from the collider, negative inside.
    fn distance(&self) -> f32;

    fn represent(&mut self, area: f32);
}

/// Keeps, of the points that press on the same tissue, sticking ones and the deepest. Points of colliders that the rig moves come last,
/// the deepest first in both kinds.
pub(crate) fn thin<T: Thinned>(points: &mut Vec<T>, samples: &Samples) {
    let heaviest = |point: &T| {
        let follows = samples.follows(point.point().sample);
        follows.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(row, _)| *row)
    };
    let key = |point: &T| (point.point().touch, heaviest(point));
    let sticks = |point: &T| {
        let hold = &point.point().hold;
        hold.pressing > 0.0 && hold.anchor.is_some()
    };
    points.sort_by(|a, b| {
        key(a).cmp(&key(b)).then(sticks(b).cmp(&sticks(a))).then(a.distance().total_cmp(&b.distance()))
    });
    let mut kept = Vec::with_capacity(points.len());
    for same in points.chunk_by(|a, b| key(a) == key(b)) {
        let count = same.len().min(ALIKE);
        let area = same.iter().map(|point| samples.area(point.point().sample)).sum::<f32>() / count as f32;
        kept.extend(same[..count].iter().map(|point| {
            let mut point = *point;
            point.represent(area);
            point
        }));
    }
    let is_home = |point: &T| point.point().home.is_some();
    kept.sort_by(|a, b| {
        is_home(a).cmp(&is_home(b)).then(a.distance().total_cmp(&b.distance())).then(key(a).cmp(&key(b)))
    });
    let mut counts = [0; 2];
    kept.retain(|point| {
        let count = &mut counts[usize::from(is_home(point))];
        *count += 1;
        *count <= MOST
    });
    *points = kept;
}
