//! Untangles inverted tetrahedra by moving a few nodes a little.

use glam::DVec3;
use zygoma_geometry::tets::{TetMesh, volume};

/// Moves nodes of inverted tetrahedra, other than those `held`, to where the worst tetrahedron around them is best, until none
/// is inverted or nothing helps. Returns how many are left.
pub(crate) fn untangle(mesh: &mut TetMesh, held: &[bool]) -> usize {
    const SWEEPS: usize = 60;
    /// Sweeps without progress after which it gives up.
    const PATIENCE: usize = 5;
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); mesh.positions.len()];
    for (t, tet) in (0u32..).zip(&mesh.tets) {
        tet.iter().for_each(|v| around[*v as usize].push(t));
    }
    let (mut fewest, mut since) = (usize::MAX, 0);
    for _ in 0..SWEEPS {
        let bad: Vec<usize> =
            (0..mesh.tets.len()).filter(|t| shape(mesh.corners(*t)) <= LEAST_SHAPE).collect();
        if bad.is_empty() {
            break;
        }
        since = if bad.len() < fewest { 0 } else { since + 1 };
        fewest = fewest.min(bad.len());
        if since > 2 * PATIENCE {
            break;
        }
        let mut moving: Vec<u32> = bad.iter().flat_map(|t| mesh.tets[*t]).collect();
        if since > PATIENCE {
            // The nodes themselves were not enough: move their neighbours too.
            let ring = moving.iter().flat_map(|v| &around[*v as usize]).flat_map(|t| mesh.tets[*t as usize]);
            moving = ring.collect();
        }
        moving.sort_unstable();
        moving.dedup();
        for v in moving.into_iter().filter(|v| !held[*v as usize]) {
            improve(mesh, v as usize, &around[v as usize]);
        }
    }
    mesh.inverted()
}

/// Tetrahedra with a quality below this count as inverted while untangling: a margin against rounding.
const LEAST_SHAPE: f64 = 1e-3;

/// Signed volume over the cube of the root mean square edge: 1 for a regular tetrahedron, negative when inverted.
fn shape(p: [DVec3; 4]) -> f64 {
    let squares: f64 =
        (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j))).map(|(i, j)| p[i].distance_squared(p[j])).sum();
    let mean = squares / 6.0;
    6.0 * std::f64::consts::SQRT_2 * volume(p) / (mean * mean.sqrt()).max(f64::MIN_POSITIVE)
}

/// Tries steps of one node in directions that improve its inverted tetrahedra, and towards the centre of its neighbours.
fn improve(mesh: &mut TetMesh, v: usize, around: &[u32]) {
    let worst =
        |mesh: &TetMesh| around.iter().map(|t| shape(mesh.corners(*t as usize))).fold(f64::MAX, f64::min);
    let old = mesh.positions[v];
    let mut best = (worst(mesh), old);
    let mut candidates = Vec::new();
    let mut mean = (DVec3::ZERO, 0.0);
    for t in around {
        let tet = mesh.tets[*t as usize];
        let Some(place) = tet.iter().position(|w| *w as usize == v) else { continue };
        let others: Vec<DVec3> =
            (0..4).filter(|i| *i != place).map(|i| mesh.positions[tet[i] as usize]).collect();
        others.iter().for_each(|p| mean = (mean.0 + *p, mean.1 + 1.0));
        let corners = mesh.corners(*t as usize);
        if shape(corners) > 0.1 {
            continue;
        }
        // Away from the opposite face, on the side where the volume is positive.
        let face = (others[1] - others[0]).cross(others[2] - others[0]);
        let edge = face.length().sqrt();
        let positive = if place % 2 == 1 { face } else { -face }.normalize_or_zero();
        candidates.extend([0.05, 0.15, 0.4].map(|step| old + step * edge * positive));
    }
    candidates.extend([0.2, 0.5, 1.0].map(|step| old.lerp(mean.0 / f64::max(mean.1, 1.0), step)));
    for p in candidates {
        mesh.positions[v] = p;
        let found = worst(mesh);
        if found > best.0 {
            best = (found, p);
        }
    }
    mesh.positions[v] = best.1;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sign of "away from the face" agrees with the volume, for every corner.
    #[test]
    fn an_inverted_corner_is_put_back() {
        for flipped in 0..4 {
            let mut positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
            let middle = positions.iter().sum::<DVec3>() / 4.0;
            positions[flipped] = positions[flipped] + 2.5 * (middle - positions[flipped]);
            let mut mesh = TetMesh { positions, tets: vec![[0, 1, 2, 3]] };
            assert_eq!(mesh.inverted(), 1);
            let held: Vec<bool> = (0..4).map(|v| v != flipped).collect();
            assert_eq!(untangle(&mut mesh, &held), 0, "corner {flipped}");
        }
    }
}
