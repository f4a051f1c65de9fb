//! Solved tissue as a section of a face file: the shapes' volumes, which take seconds to solve, are solved once.

use std::hash::{DefaultHasher, Hash, Hasher};

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_physics::projective::Row;
use zygoma_rig::SparseDeltas;

use super::build::Tissue;
use super::params::{Actuation, TissueParams};
use super::shape_targets::ShapeTargets;
use super::stiffness::StiffnessMap;
use crate::model::{BodySection, FaceModel, Section};

/// The slow part of a tissue build.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedTissue {
    /// Hash of the mesh, its ties and the parameters that it was solved with.
    key: u64,
    /// Number of rows of the system.
    rows: usize,
    /// Displacements of the rows by each shape at weight 1, m.
    targets: Vec<SparseDeltas>,
    stiffness: StiffnessMap,
}

impl SolvedTissue {
    /// Whether every displacement is finite. A damaged file may keep its key.
    fn is_finite(&self) -> bool {
        self.targets.iter().flat_map(|deltas| &deltas.offsets).all(|offset| offset.is_finite())
    }
}

#[cfg(test)]
impl SolvedTissue {
    /// Damages it as a cut-off array would.
    pub(super) fn truncate_stiffness(&mut self) {
        self.stiffness.strain.truncate(3);
    }
}

#[derive(Serialize, Deserialize)]
struct Description {
    key: u64,
    rows: usize,
}

impl Tissue {
    /// The solved part of the build; `None` where forces drive the tissue, which are found anew each time.
    pub fn solved(&self) -> Option<SolvedTissue> {
        (self.params.actuation == Actuation::Shapes).then(|| SolvedTissue {
            key: self.key(),
            rows: self.layout.rows.len(),
            targets: self.shape_targets.to_deltas(self.layout.rows.len()),
            stiffness: self.stiffness.clone(),
        })
    }

    /// Takes over an earlier solution if it belongs to this very tissue. Returns whether it does.
    pub(super) fn take_solved(&mut self, face: &FaceModel) -> bool {
        let Some(Ok(solved)) = face.section::<SolvedTissue>() else { return false };
        let fits = solved.rows == self.layout.rows.len() && solved.stiffness.fits(&self.stiffness);
        if solved.key != self.key() || !fits || !solved.is_finite() {
            return false;
        }
        self.shape_targets = ShapeTargets::of_deltas(&solved.targets, solved.rows);
        self.stiffness = solved.stiffness;
        true
    }

    /// A hash of everything that the solution depends on.
    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let params = serde_json::to_string(&self.params.without_motion()).unwrap_or_default();
        params.hash(&mut hasher);
        for p in &self.flesh.mesh.positions {
            p.to_array().map(f64::to_bits).hash(&mut hasher);
        }
        self.flesh.mesh.tets.hash(&mut hasher);
        self.layout.vertices.hash(&mut hasher);
        for tie in &self.flesh.ties {
            format!("{tie:?}").hash(&mut hasher);
        }
        for moves in &self.surface.moves {
            moves.iter().for_each(|way| way.to_array().map(f64::to_bits).hash(&mut hasher));
        }
        hasher.finish()
    }
}

impl ShapeTargets {
    fn to_deltas(&self, rows: usize) -> Vec<SparseDeltas> {
        let mut weights = vec![0.0; self.shape_count()];
        let mut dense: Vec<Row<f32>> = vec![[0.0; 4]; rows];
        let mut of_shape = |shape: usize| {
            weights.fill(0.0);
            weights[shape] = 1.0;
            self.blend(&weights, &mut dense);
            let vectors: Vec<Vec3> = dense.iter().map(|row| Vec3::from_slice(row)).collect();
            SparseDeltas::from_dense(&vectors)
        };
        (0..self.shape_count()).map(&mut of_shape).collect()
    }

    fn of_deltas(deltas: &[SparseDeltas], rows: usize) -> Self {
        let dense = |deltas: &SparseDeltas| -> Vec<Row<f32>> {
            deltas.to_dense(rows).iter().map(|d| [d.x, d.y, d.z, 0.0]).collect()
        };
        Self::of_rows(deltas.iter().map(dense))
    }
}

impl BodySection for SolvedTissue {
    const NAME: &'static str = "tissue";

    fn write(&self) -> Section {
        let mut section = Section::new(&Description { key: self.key, rows: self.rows });
        for (index, deltas) in self.targets.iter().enumerate() {
            section.add_deltas(&format!("shape.{index:04}"), deltas);
        }
        section.add("strain", 1, &self.stiffness.strain);
        section.add("volume", 1, &self.stiffness.volume);
        section.add("attachment", 1, &self.stiffness.attachment);
        section
    }

    fn read(section: &Section, model: &FaceModel) -> Result<Self, String> {
        let Description { key, rows } = section.description()?;
        let deltas = |index: usize| section.deltas(&format!("shape.{index:04}"), rows);
        Ok(Self {
            targets: (0..model.shapes.len()).map(deltas).collect::<Result<_, String>>()?,
            stiffness: StiffnessMap {
                strain: section.numbers("strain")?,
                volume: section.numbers("volume")?,
                attachment: section.numbers("attachment")?,
            },
            key,
            rows,
        })
    }
}

impl TissueParams {
    /// The parameters with those that affect motion only reset to their defaults.
    fn without_motion(&self) -> Self {
        let Self { stickiness, seed, step_time, iterations, contact, gravity, .. } = Self::default();
        Self { stickiness, seed, step_time, iterations, contact, gravity, ..self.clone() }
    }
}
