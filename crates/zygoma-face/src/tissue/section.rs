//! Solved tissue as a section of a face file: the shapes' volumes, which take seconds to solve, are solved once.

use std::hash::{DefaultHasher, Hash, Hasher};

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};
use zygoma_physics::projective::Row;
use zygoma_rig::SparseDeltas;

use super::build::Tissue;
use super::params::{Actuation, TissueParams};
use super::shape_targets::ShapeTargets;
use super::stiffness::StiffnessMap;
use crate::model::{BodySection, FaceCache, FaceModel, Section};

/// The slow part of a tissue build.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedTissue {
    /// Hash of the mesh, its ties and the parameters that it was solved with.
    key: u64,
    /// Number of rows of the system.
    rows: usize,
    drive: SolvedDrive,
    stiffness: StiffnessMap,
    misfit: Option<f64>,
}

/// The drive of solved tissue.
#[derive(Clone, Debug, PartialEq)]
enum SolvedDrive {
    /// Displacements of the rows by each shape at weight 1, m.
    Targets(Vec<SparseDeltas>),
    Forces(SolvedForces),
}

/// Blendforces, and the layer as it was thinned for them.
#[derive(Clone, Debug, PartialEq)]
struct SolvedForces {
    /// For each shape, rows with a force.
    shapes: Vec<(Vec<u32>, Vec<DVec3>)>,
    /// Thickness below each vertex of the skin, m; empty for tissue that is not a layer.
    thickness: Vec<f64>,
    /// Triangles of the skin without tissue; empty likewise.
    left_out: Vec<bool>,
}

impl SolvedTissue {
    /// Whether every number is finite. A damaged file may keep its key.
    fn is_finite(&self) -> bool {
        match &self.drive {
            SolvedDrive::Targets(targets) => {
                targets.iter().flat_map(|deltas| &deltas.offsets).all(|offset| offset.is_finite())
            }
            SolvedDrive::Forces(solved) => {
                solved.shapes.iter().flat_map(|(_, forces)| forces).all(|force| force.is_finite())
                    && solved.thickness.iter().all(|thickness| TissueParams::THICKNESS.contains(thickness))
            }
        }
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
    actuation: Actuation,
    misfit: Option<f64>,
}

impl Tissue {
    /// The solved part of the build.
    pub fn solved(&self) -> SolvedTissue {
        let rows = self.layout.rows.len();
        SolvedTissue {
            key: self.key,
            rows,
            drive: match self.params.actuation {
                Actuation::Shapes => SolvedDrive::Targets(self.shape_targets.to_deltas(rows)),
                Actuation::Forces => SolvedDrive::Forces(self.solved_forces()),
            },
            stiffness: self.stiffness.clone(),
            misfit: self.misfit,
        }
    }

    /// Keeps newly solved tissue in a cache, as a section of its face.
    pub fn keep_in(&self, cache: &FaceCache, key: u64, face: &FaceModel) {
        if !self.was_solved_before() {
            let mut face = face.clone();
            face.add_section(&self.solved());
            cache.keep(key, &face);
        }
    }

    fn solved_forces(&self) -> SolvedForces {
        let sparse = |forces: &Vec<DVec3>| -> (Vec<u32>, Vec<DVec3>) {
            (0..)
                .zip(forces)
                .filter(|(_, force)| **force != DVec3::ZERO)
                .map(|(row, force)| (row, *force))
                .unzip()
        };
        let layer = self.layer.as_ref();
        SolvedForces {
            shapes: self.forces.iter().map(sparse).collect(),
            thickness: layer.map_or_else(Vec::new, |layer| layer.thickness.clone()),
            left_out: layer.map_or_else(Vec::new, |layer| layer.left_out.clone()),
        }
    }

    /// Takes over an earlier solution if it belongs to this very tissue. Returns whether it does.
    pub(super) fn take_solved(&mut self, face: &FaceModel) -> bool {
        let Some(Ok(solved)) = face.section::<SolvedTissue>() else { return false };
        let fits = solved.rows == self.layout.rows.len() && solved.stiffness.fits(&self.stiffness);
        if solved.key != self.key || !fits || !solved.is_finite() {
            return false;
        }
        match solved.drive {
            SolvedDrive::Targets(targets) => {
                self.shape_targets = ShapeTargets::of_deltas(&targets, solved.rows);
            }
            SolvedDrive::Forces(forces) if self.take_forces(&forces) => {}
            SolvedDrive::Forces(_) => return false,
        }
        (self.stiffness, self.misfit) = (solved.stiffness, solved.misfit);
        true
    }

    /// Takes over blendforces and the layer that they belong to, if they fit.
    fn take_forces(&mut self, solved: &SolvedForces) -> bool {
        let free = self.layout.free;
        if solved.shapes.iter().any(|(rows, _)| rows.last().is_some_and(|last| *last as usize >= free)) {
            return false;
        }
        if let Some(layer) = &self.layer {
            let Some(thinned) = layer.thinned(&solved.thickness, &solved.left_out) else { return false };
            let Ok(tissue_mesh) = thinned.make(&self.surface) else { return false };
            self.layer = Some(thinned);
            self.set_tissue_mesh(tissue_mesh);
        }
        let dense = |(rows, forces): &(Vec<u32>, Vec<DVec3>)| {
            let mut dense = vec![DVec3::ZERO; free];
            rows.iter().zip(forces).for_each(|(row, force)| dense[*row as usize] = *force);
            dense
        };
        self.forces = solved.shapes.iter().map(dense).collect();
        true
    }

    /// A hash of everything that the solution depends on.
    pub(super) fn solution_key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let params = serde_json::to_string(&self.params.without_motion()).unwrap_or_default();
        params.hash(&mut hasher);
        for p in &self.tissue_mesh.mesh.positions {
            p.to_array().map(f64::to_bits).hash(&mut hasher);
        }
        self.tissue_mesh.mesh.tets.hash(&mut hasher);
        self.layout.vertices.hash(&mut hasher);
        for tie in &self.tissue_mesh.ties {
            format!("{tie:?}").hash(&mut hasher);
        }
        for moves in &self.surface.moves {
            moves.iter().for_each(|way| way.to_array().map(f64::to_bits).hash(&mut hasher));
        }
        format!("{:?} {:?}", self.bones, self.carrying).hash(&mut hasher);
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
        let &Self { key, rows, misfit, .. } = self;
        let actuation = match self.drive {
            SolvedDrive::Targets(_) => Actuation::Shapes,
            SolvedDrive::Forces(_) => Actuation::Forces,
        };
        let mut section = Section::new(&Description { key, rows, actuation, misfit });
        match &self.drive {
            SolvedDrive::Targets(targets) => {
                for (index, deltas) in targets.iter().enumerate() {
                    section.add_deltas(&format!("shape.{index:04}"), deltas);
                }
            }
            SolvedDrive::Forces(solved) => solved.write(&mut section),
        }
        section.add("strain", 1, &self.stiffness.strain);
        section.add("volume", 1, &self.stiffness.volume);
        section.add("attachment", 1, &self.stiffness.attachment);
        section
    }

    fn read(section: &Section, model: &FaceModel) -> Result<Self, String> {
        let Description { key, rows, actuation, misfit } = section.description()?;
        let deltas = |index: usize| section.deltas(&format!("shape.{index:04}"), rows);
        let drive = match actuation {
            Actuation::Shapes => {
                SolvedDrive::Targets((0..model.shapes.len()).map(deltas).collect::<Result<_, String>>()?)
            }
            Actuation::Forces => SolvedDrive::Forces(SolvedForces::read(section, model, rows)?),
        };
        Ok(Self {
            drive,
            stiffness: StiffnessMap {
                strain: section.numbers("strain")?,
                volume: section.numbers("volume")?,
                attachment: section.numbers("attachment")?,
            },
            misfit,
            key,
            rows,
        })
    }
}

impl SolvedForces {
    fn write(&self, section: &mut Section) {
        for (index, (rows, forces)) in self.shapes.iter().enumerate() {
            section.add(&format!("force.{index:04}.rows"), 1, rows);
            section.add_vectors64(&format!("force.{index:04}.forces"), forces);
        }
        section.add("thickness", 1, &self.thickness);
        section.add_flags("left_out", &self.left_out);
    }

    fn read(section: &Section, model: &FaceModel, rows: usize) -> Result<Self, String> {
        let shape = |index: usize| -> Result<(Vec<u32>, Vec<DVec3>), String> {
            let rows = section.indices::<1>(&format!("force.{index:04}.rows"), rows)?.as_flattened().to_vec();
            let forces = section.vectors64(&format!("force.{index:04}.forces"))?;
            if rows.len() != forces.len() || !rows.is_sorted() {
                return Err(format!("the forces of shape {index} do not fit the tissue"));
            }
            Ok((rows, forces))
        };
        let left_out: Vec<u8> = section.numbers("left_out")?;
        Ok(Self {
            shapes: (0..model.shapes.len()).map(shape).collect::<Result<_, String>>()?,
            thickness: section.numbers("thickness")?,
            left_out: left_out.iter().map(|flag| *flag != 0).collect(),
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
