//! Finds skin that is folded over.

use glam::Vec3;

/// Triangles with a smaller altitude are slivers that any motion flips, mm at life size. Ours.
const NEEDLE: f32 = 0.3;

/// Triangles that face away from their direction in the plain rig; `scale` is [`life_mm`](super::life_mm). Slivers are ignored.
pub fn folded(triangles: &[[u32; 3]], plain: &[Vec3], shown: &[Vec3], scale: f32) -> Vec<u32> {
    let area = |t: &[u32; 3], at: &[Vec3]| {
        let [a, b, c] = t.map(|v| at[v as usize]);
        (b - a).cross(c - a)
    };
    let is_folded = |t: &[u32; 3]| {
        let faces = area(t, plain);
        let [a, b, c] = t.map(|v| plain[v as usize]);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        scale * faces.length() > NEEDLE * longest && faces.dot(area(t, shown)) < 0.0
    };
    (0u32..).zip(triangles).filter(|(_, t)| is_folded(t)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_that_is_turned_over_is_folded_and_a_needle_is_not() {
        let plain = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(0.5, 1e-5, 0.0)].map(|p| 1e-2 * p);
        let mut shown = plain;
        (shown[2].y, shown[3].y) = (-1e-2, -1e-7);
        let triangles = [[0, 1, 2], [0, 1, 3]];
        assert_eq!(folded(&triangles, &plain, &shown, 1e3), [0]);
        assert!(folded(&triangles, &plain, &plain, 1e3).is_empty());
    }
}
