//! Points in an order that keeps neighbours together.

use glam::DVec3;

/// Bits of each coordinate that count.
const BITS: u32 = 10;

/// The order of points along a space-filling curve (Morton's), which keeps neighbours in the same few cache lines. Points that are not finite come
/// anywhere.
pub fn along_curve(points: &[DVec3]) -> Vec<u32> {
    let finite = || points.iter().filter(|p| p.is_finite());
    let low = finite().fold(DVec3::INFINITY, |low, p| low.min(*p));
    let high = finite().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p));
    let cells = f64::from((1_u32 << BITS) - 1);
    let scale = cells / (high - low).max_element().max(f64::MIN_POSITIVE);
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    order.sort_by_cached_key(|index| {
        let cell = (scale * (points[*index as usize] - low)).as_uvec3();
        spread(cell.x) | spread(cell.y) << 1 | spread(cell.z) << 2
    });
    order
}

/// The lowest bits of a number with two zeros after each.
fn spread(number: u32) -> u32 {
    (0..BITS).map(|bit| (number >> bit & 1) << (3 * bit)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_comes_once_and_next_to_its_neighbours() {
        // A sheet of 40 × 40 points, scattered over the list.
        let at = |k: usize| DVec3::new((k * 611 % 1600 / 40) as f64, (k * 611 % 40) as f64, 0.3);
        let points: Vec<DVec3> = (0..1600).map(at).collect();
        let order = along_curve(&points);
        let mut all = order.clone();
        all.sort_unstable();
        assert_eq!(all, (0..1600).collect::<Vec<_>>());
        let way = |order: &[u32]| -> f64 {
            order.windows(2).map(|w| points[w[0] as usize].distance(points[w[1] as usize])).sum()
        };
        let scattered = way(&(0..1600).collect::<Vec<_>>());
        assert!(way(&order) < 2.0 * 1600.0 && scattered > 10.0 * 1600.0, "{} {scattered}", way(&order));
    }

    #[test]
    fn no_points_and_points_in_one_place_have_an_order_too() {
        assert!(along_curve(&[]).is_empty());
        assert_eq!(along_curve(&[DVec3::ONE; 3]), [0, 1, 2]);
        assert_eq!(along_curve(&[DVec3::NAN, DVec3::ZERO]).len(), 2);
    }
}
