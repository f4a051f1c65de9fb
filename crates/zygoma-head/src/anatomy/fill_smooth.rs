//! Smooths the nodes of a fill to improve its worst tetrahedra.

use glam::DVec3;
use zygoma_geometry::tets::{TetMesh, volume};

use super::fill::{LOW, Region};
use super::meshing::around;
use crate::sculpt::gradient;

const SWEEPS: usize = 8;

/// Volume over the cube of the mean edge: 1 for a regular tetrahedron, 0 for a flat one.
fn quality(p: [DVec3; 4]) -> f64 {
    let edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let mean_square = edges.iter().map(|(i, j)| p[*i].distance_squared(p[*j])).sum::<f64>() / 6.0;
    6.0 * 2f64.sqrt() * volume(p) / mean_square.powf(1.5).max(1e-12)
}

/// Moves inner nodes (negative values) freely, nodes of the boundary on it and nodes of a plane in it; each only if the
/// worst tetrahedron around it improves.
pub(super) fn smooth(fill: &mut TetMesh, values: &[f64], region: &impl Region) {
    let count = fill.positions.len();
    let (around, neighbours) = around(&fill.tets, count);
    for _ in 0..SWEEPS {
        for v in 0..count {
            let worst = |positions: &[DVec3]| {
                let one = |t: &u32| quality(fill.tets[*t as usize].map(|w| positions[w as usize]));
                around[v].iter().map(one).fold(f64::MAX, f64::min)
            };
            let old = fill.positions[v];
            let before = worst(&fill.positions);
            let on_boundary = values[v] == 0.0;
            let same_kind = |w: &&u32| !on_boundary || values[**w as usize] == 0.0;
            let ring: Vec<DVec3> =
                neighbours[v].iter().filter(same_kind).map(|w| fill.positions[*w as usize]).collect();
            if before > 0.5 || ring.is_empty() {
                continue;
            }
            let mean = ring.iter().sum::<DVec3>() / ring.len() as f64;
            for share in [0.6, 0.25] {
                let mut p = old.lerp(mean, share);
                keep_planes(&mut p, old);
                if on_boundary {
                    p = projected(p, old, region);
                    if region.field(p).abs() > 0.03 {
                        continue;
                    }
                }
                fill.positions[v] = p;
                if worst(&fill.positions) > before + 1e-6 {
                    break;
                }
                fill.positions[v] = old;
            }
        }
    }
}

fn keep_planes(p: &mut DVec3, old: DVec3) {
    p.x = if old.x == 0.0 { 0.0 } else { p.x.max(0.05) };
    if old.y == LOW.y {
        p.y = old.y;
    }
}

fn projected(mut p: DVec3, old: DVec3, region: &impl Region) -> DVec3 {
    for _ in 0..3 {
        let mut slope = gradient(|q| region.field(q), p);
        if old.x == 0.0 {
            slope.x = 0.0;
        }
        if old.y == LOW.y {
            slope.y = 0.0;
        }
        p -= slope * (region.field(p) / slope.length_squared().max(0.05)).clamp(-1.0, 1.0);
    }
    keep_planes(&mut p, old);
    p
}
