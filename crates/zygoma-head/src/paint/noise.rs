//! Deterministic noise.

use glam::DVec3;

/// Smooth noise between 0 and 1, with cells of size 1.
pub(super) fn noise(p: DVec3) -> f64 {
    let cell = p.floor();
    let f = p - cell;
    let smooth = f * f * (DVec3::splat(3.0) - 2.0 * f);
    let [x, y, z] = [cell.x as i32, cell.y as i32, cell.z as i32];
    let value = |dx: i32, dy: i32, dz: i32| {
        let mut n = (x + dx).wrapping_mul(374_761_393)
            ^ (y + dy).wrapping_mul(668_265_263)
            ^ (z + dz).wrapping_mul(1_442_695_041);
        n = (n ^ (n >> 13)).wrapping_mul(1_274_126_177);
        n = (n ^ (n >> 15)).wrapping_mul(739_982_445);
        f64::from((n >> 8) & 0xFFFF) / 65535.0
    };
    let mix = |a: f64, b: f64, t: f64| a + t * (b - a);
    let plane = |dz: i32| {
        mix(
            mix(value(0, 0, dz), value(1, 0, dz), smooth.x),
            mix(value(0, 1, dz), value(1, 1, dz), smooth.x),
            smooth.y,
        )
    };
    mix(plane(0), plane(1), smooth.z)
}

/// Thin lines where the noise passes its middle.
pub(super) fn threads(p: DVec3, thin: i32) -> f64 {
    (1.0 - (2.0 * noise(p) - 1.0).abs()).powi(thin)
}
