//! Measures of tissue: preservation of volume, inverted elements, and crossing lips.

use glam::{DVec3, Vec3};
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::tets::volume;
use zygoma_physics::projective::{Row, position};

use super::build::Tissue;
use super::params::Actuation;
use super::run::TissueBody;

/// Preservation of volume.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VolumeReport {
    /// Total volume relative to rest.
    pub total: f64,
    /// Mean of |det F − 1| over the elements, weighted by their volume at rest.
    pub mean: f64,
    /// The 95th percentile of |det F − 1|.
    pub p95: f64,
    /// Number of inverted elements.
    pub inverted: usize,
}

impl Tissue {
    /// Number of pairs of triangles, one of the upper and one of the lower lip, that cross on a surface of the whole mesh: the test is at
    /// full resolution and independent of contact detection.
    pub fn lip_crossings(&self, surface: &[Vec3]) -> usize {
        let positions: Vec<DVec3> =
            self.lips.vertices.iter().map(|v| surface[*v as usize].as_dvec3()).collect();
        let [upper, lower] = &self.lips.triangles;
        let triangles: Vec<[u32; 3]> = upper.iter().chain(lower).copied().collect();
        let is_upper = |triangle: u32| (triangle as usize) < upper.len();
        crossing_pairs(&positions, &triangles).iter().filter(|(a, b)| is_upper(*a) != is_upper(*b)).count()
    }

    /// The volume of tissue whose skin follows the rig, and whose inside follows the bone.
    pub fn plain_volume(&self, weights: &[f32]) -> VolumeReport {
        self.volume_report(&self.on_bone(weights))
    }

    /// All vertices: the skin in the rig, the tissue below it on the bone.
    fn on_bone(&self, weights: &[f32]) -> Vec<DVec3> {
        let (moved, pose) = (self.moved(weights), self.jaw_pose(weights));
        let place = |vertex: usize| self.attached_place(weights, &moved, &pose, vertex);
        (0..self.tissue_mesh.mesh.positions.len()).map(place).collect()
    }

    /// All vertices in the rig: tissue below the skin in the shapes, or, where forces drive it, on the bone.
    pub(super) fn of_rig(&self, weights: &[f32]) -> Vec<DVec3> {
        if self.params.actuation == Actuation::Forces {
            return self.on_bone(weights);
        }
        let mut displacements: Vec<Row<f32>> = vec![[0.0; 4]; self.layout.rows.len()];
        self.shape_targets.blend(weights, &mut displacements);
        self.move_bones(weights, &mut displacements);
        let moved = self.layout.rows.iter().map(|row| position(&displacements[*row as usize]));
        self.tissue_mesh.mesh.positions.iter().zip(moved).map(|(rest, moved)| *rest + moved).collect()
    }

    fn volume_report(&self, positions: &[DVec3]) -> VolumeReport {
        let rest = self.tissue_mesh.mesh.volumes();
        let now: Vec<f64> =
            self.tissue_mesh.mesh.tets.iter().map(|tet| volume(tet.map(|v| positions[v as usize]))).collect();
        let total: f64 = rest.iter().sum();
        let mut changes: Vec<f64> =
            now.iter().zip(&rest).map(|(now, rest)| (now / rest - 1.0).abs()).collect();
        let mean = changes.iter().zip(&rest).map(|(change, rest)| change * rest).sum::<f64>() / total;
        changes.sort_by(f64::total_cmp);
        VolumeReport {
            total: now.iter().sum::<f64>() / total,
            mean,
            p95: changes.get(changes.len() * 95 / 100).copied().unwrap_or(0.0),
            inverted: now.iter().filter(|volume| **volume <= 0.0).count(),
        }
    }
}

impl Tissue {
    /// Elements that are inverted in the rig.
    pub fn plain_inverted(&self, weights: &[f32]) -> Vec<u32> {
        let places = self.of_rig(weights);
        self.inverted(|vertex| places[vertex])
    }

    fn inverted(&self, at: impl Fn(usize) -> DVec3) -> Vec<u32> {
        let is_inverted = |tet: &[u32; 4]| {
            // NaN counts as inverted.
            let volume = volume(tet.map(|v| at(v as usize)));
            volume.is_nan() || volume <= 0.0
        };
        (0u32..)
            .zip(&self.tissue_mesh.mesh.tets)
            .filter(|(_, tet)| is_inverted(tet))
            .map(|(index, _)| index)
            .collect()
    }
}

impl TissueBody {
    /// Elements that are inverted at the end of the last step.
    pub fn inverted(&self) -> Vec<u32> {
        let rows = &self.tissue.layout.rows;
        self.tissue.inverted(|vertex| position(&self.dynamics.positions[rows[vertex] as usize]))
    }

    /// The present preservation of volume.
    pub fn volume(&self) -> VolumeReport {
        let layout = &self.tissue.layout;
        let place = |row: &u32| position(&self.dynamics.positions[*row as usize]);
        self.tissue.volume_report(&layout.rows.iter().map(place).collect::<Vec<_>>())
    }
}
