//! How much tissue changes its volume.

use glam::DVec3;
use serde::Serialize;
use zygoma_geometry::tets::volume;
use zygoma_numerics::NotPositiveDefinite;

use super::build::Anatomical;
use super::inverse::{Inverse, Setup};

/// Changes of volume over all tetrahedra, as a fraction of the volume that each should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct VolumeChange {
    /// Mean of |det F − 1|, weighted by volume.
    pub mean: f64,
    /// The change that 95 % of the volume stays below.
    pub p95: f64,
    /// Inverted tetrahedra.
    pub inverted: usize,
}

impl VolumeChange {
    /// The change from rest to other positions of the same vertices.
    pub(super) fn between(rest: &[DVec3], now: &[DVec3], tets: &[[u32; 4]]) -> Self {
        let change = |tet: &[u32; 4]| {
            let at = |positions: &[DVec3]| volume(tet.map(|v| positions[v as usize]));
            (at(rest), at(now) / at(rest) - 1.0)
        };
        let mut changes: Vec<(f64, f64)> = tets.iter().map(change).collect();
        let all: f64 = changes.iter().map(|(volume, _)| volume).sum();
        let mean = changes.iter().map(|(volume, change)| volume * change.abs()).sum::<f64>() / all;
        let inverted = changes.iter().filter(|(_, change)| *change <= -1.0).count();
        changes.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let mut below = 0.0;
        let p95 = changes.iter().find(|(volume, _)| {
            below += volume;
            below >= 0.95 * all
        });
        Self { mean, p95: p95.map_or(0.0, |(_, change)| change.abs()), inverted }
    }
}

/// The plain rig over the same tissue: bones are posed, the skin is exactly the rig's, and the interior is solved for.
pub struct PlainVolume {
    inverse: Inverse,
}

/// Most iterations of the interior, and the motion that ends them, m. Ours.
const ITERATIONS: usize = 200;
const LEAST_MOTION: f64 = 1e-5;

impl PlainVolume {
    /// The plain rig of a head at rest.
    pub fn new(head: &Anatomical) -> Result<Self, NotPositiveDefinite> {
        Ok(Self { inverse: Inverse::new(head, &Setup::held(head))? })
    }

    /// The change of volume for some weights of the rig's shapes.
    pub fn change(&mut self, head: &Anatomical, weights: &[f32]) -> VolumeChange {
        self.inverse.aim(head, &head.targets(weights), &head.jaw.pose(weights));
        self.inverse.solve_to(ITERATIONS, LEAST_MOTION);
        let now = self.inverse.positions(head.node_count());
        VolumeChange::between(&head.rest, &now, &head.tets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squeezed_tetrahedron_has_lost_its_volume() {
        let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X];
        let tets = [[0, 1, 2, 3], [0, 2, 4, 3]];
        let squeezed = rest.map(|p| if p.x > 0.0 { 0.6 * p } else { p });
        let change = VolumeChange::between(&rest, &squeezed, &tets);
        assert!((change.mean - 0.2).abs() < 1e-12 && (change.p95 - 0.4).abs() < 1e-12, "{change:?}");
        let turned = rest.map(|p| if p.x > 0.0 { -0.5 * p } else { p });
        assert_eq!(VolumeChange::between(&rest, &turned, &tets).inverted, 1);
    }
}
