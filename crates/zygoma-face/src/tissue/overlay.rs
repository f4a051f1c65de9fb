//! Data for pictures of tissue beside its skin: elements, their changes of volume, and contact between the lips.

use glam::{DVec3, Vec3};
use zygoma_geometry::tets::volume;
use zygoma_physics::projective::position;

use super::build::Tissue;
use super::run::TissueBody;
use crate::volume::Tie;

impl Tissue {
    /// The tetrahedra, as vertex indices; vertices of the skin come first.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tissue_mesh.mesh.tets
    }

    /// The tie of each vertex.
    pub fn ties(&self) -> &[Tie] {
        &self.tissue_mesh.ties
    }

    /// Thickness of the tissue below each vertex of the skin at rest, m: the distance to the farthest vertex below it.
    pub fn thickness(&self) -> Vec<f64> {
        let mut thickness = vec![0.0_f64; self.skin_count()];
        for (at, above) in self.tissue_mesh.mesh.positions.iter().zip(&self.tissue_mesh.above) {
            let depth = self.surface.positions[*above as usize].distance(*at);
            thickness[*above as usize] = thickness[*above as usize].max(depth);
        }
        thickness
    }

    /// Vertices of the tissue at rest, m.
    pub fn rest(&self) -> &[DVec3] {
        &self.tissue_mesh.mesh.positions
    }
}

impl TissueBody {
    /// The simulated tissue.
    pub fn tissue(&self) -> &Tissue {
        &self.tissue
    }

    /// Vertices of the tissue after the last step, m, in the head's frame.
    pub fn tissue_positions(&self) -> Vec<DVec3> {
        let rows = &self.tissue.layout.rows;
        rows.iter().map(|row| position(&self.dynamics.positions[*row as usize])).collect()
    }

    /// Volume of each tetrahedron at rest and now.
    fn volumes(&self) -> impl Iterator<Item = [f64; 2]> {
        let now = self.tissue_positions();
        let of = |positions: &[DVec3], tet: &[u32; 4]| volume(tet.map(|v| positions[v as usize]));
        self.tissue.tets().iter().map(move |tet| [of(self.tissue.rest(), tet), of(&now, tet)])
    }

    /// det F − 1 of each tetrahedron: its relative change of volume.
    pub fn volume_changes(&self) -> Vec<f32> {
        self.volumes().map(change).collect()
    }

    /// The mean relative change of volume around each vertex of the whole mesh; NaN where there is no tissue.
    pub fn skin_volume_changes(&self) -> Vec<f32> {
        let count = self.tissue.skin_count();
        let mut around = vec![[0.0; 2]; count];
        for (tet, [before, after]) in self.tissue.tets().iter().zip(self.volumes()) {
            for vertex in tet {
                let sums = &mut around[self.tissue.tissue_mesh.above[*vertex as usize] as usize];
                *sums = [sums[0] + before, sums[1] + after];
            }
        }
        let coarse: Vec<f32> = around.into_iter().map(change).collect();
        let embedding = &self.tissue.skin.embedding;
        let at = |(corners, weights): (&[u32; 3], &[f32; 3])| {
            let whole: f32 = weights.iter().sum();
            let parts =
                (0..3).filter(|k| weights[*k] > 0.0).map(|k| weights[k] * coarse[corners[k] as usize]);
            if whole < 0.5 { f32::NAN } else { parts.sum::<f32>() / whole }
        };
        embedding.vertices.iter().zip(&embedding.weights).map(at).collect()
    }

    /// The ends of the sticky springs on the upper and the lower lip of the shown surface.
    pub fn sticky_springs(&self) -> Vec<[Vec3; 2]> {
        let Some(lips) = &self.contact.lips else { return Vec::new() };
        let at = |v: u32| lips.positions[v as usize];
        lips.sticky.iter().map(|sticky| [sticky.upper.of(at), sticky.lower.of(at)]).collect()
    }

    /// Contacts between the lips in the last step: the midpoint of each contact pair.
    pub fn lip_contacts(&self) -> Vec<Vec3> {
        let Some(lips) = &self.contact.lips else { return Vec::new() };
        let at = |v: u32| lips.positions[v as usize];
        let kept = lips.kept();
        kept.map(|(meeting, _)| 0.5 * (meeting.upper.of(at) + meeting.lower.of(at))).collect()
    }
}

fn change([before, after]: [f64; 2]) -> f32 {
    (after / before - 1.0) as f32
}
