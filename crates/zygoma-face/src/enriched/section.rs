//! Blend volumes as a section of a face file: they take seconds to solve, and are solved once.

use std::hash::{DefaultHasher, Hash, Hasher};

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::projective::Row;
use zygoma_rig::SparseDeltas;

use super::blend_volumes::BlendVolumes;
use super::build::{Enriched, Ground};
use crate::model::{BodySection, FaceCache, FaceModel, Section};
use crate::volume::Tie;

/// The slow part of a build.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedVolumes {
    /// Hash of the mesh, its ties and its shapes.
    key: u64,
    rows: usize,
    /// Displacements of the rows by each shape, m.
    shapes: Vec<SparseDeltas>,
    /// Rows that a turning jaw moves, with their weights.
    jaw_rows: Vec<u32>,
    jaw_fields: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
struct Description {
    key: u64,
    rows: usize,
}

impl SolvedVolumes {
    /// The volumes that a face file has for a volume, if they belong to that very one.
    pub(super) fn of_face(ground: &Ground) -> Option<BlendVolumes> {
        let solved: Self = ground.face.section()?.ok()?;
        let rows = ground.layout.rows.len();
        let is_sound = solved.key == key(ground)
            && solved.rows == rows
            && solved.jaw_fields.len() == 4 * solved.jaw_rows.len()
            && solved.jaw_rows.iter().all(|row| (*row as usize) < rows)
            && solved.jaw_fields.iter().all(|value| value.is_finite())
            && solved.shapes.iter().flat_map(|deltas| &deltas.offsets).all(|offset| offset.is_finite());
        is_sound.then(|| solved.blend_volumes(ground))
    }

    fn blend_volumes(&self, ground: &Ground) -> BlendVolumes {
        let runs = |deltas: &SparseDeltas| {
            let dense = deltas.to_dense(self.rows);
            let rows: Vec<Row<f32>> = dense.iter().map(|d| [d.x, d.y, d.z, 0.0]).collect();
            Runs::from_dense(rows.as_flattened(), 8)
        };
        let fields = self.jaw_rows.iter().copied().zip(self.jaw_fields.as_chunks::<4>().0.iter().copied());
        BlendVolumes::new(
            self.shapes.iter().map(runs).collect(),
            ground.bones.motion().clone(),
            fields.collect(),
        )
    }
}

impl Enriched {
    /// Keeps a face with its newly solved volumes in a cache; nothing if they were solved before.
    pub fn keep_in(&self, cache: &FaceCache, key: u64, face: &FaceModel) {
        if !self.was_solved_before {
            let mut face = face.clone();
            face.add_section(&self.solved());
            cache.keep(key, &face);
        }
    }

    /// The solved part of the build.
    pub fn solved(&self) -> SolvedVolumes {
        let rows = self.rest.len();
        let deltas = |runs: &Runs| {
            let mut dense: Vec<Row<f32>> = vec![[0.0; 4]; rows];
            let fits = accumulate_runs(dense.as_flattened_mut(), &[1.0], std::slice::from_ref(runs));
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
            let vectors: Vec<Vec3> = dense.iter().map(|row| Vec3::from_slice(row)).collect();
            SparseDeltas::from_dense(&vectors)
        };
        SolvedVolumes {
            key: self.key,
            rows,
            shapes: self.volumes.shapes.iter().map(deltas).collect(),
            jaw_rows: self.volumes.fields.iter().map(|(row, _)| *row).collect(),
            jaw_fields: self.volumes.fields.iter().flat_map(|(_, values)| *values).collect(),
        }
    }
}

/// Raised whenever volumes are solved in another way: those of older files are solved again.
const VERSION: u32 = 5;

/// A hash of everything that blend volumes depend on.
pub(super) fn key(ground: &Ground) -> u64 {
    let mut hasher = DefaultHasher::new();
    VERSION.hash(&mut hasher);
    for p in &ground.mesh.mesh.positions {
        p.to_array().map(f64::to_bits).hash(&mut hasher);
    }
    ground.mesh.mesh.tets.hash(&mut hasher);
    for tie in &ground.mesh.ties {
        std::mem::discriminant(tie).hash(&mut hasher);
        if let Tie::Ligaments { jaw } = tie {
            jaw.to_bits().hash(&mut hasher);
        }
    }
    ground.surface.is_held.hash(&mut hasher);
    for moves in &ground.surface.moves {
        moves.iter().for_each(|way| way.to_array().map(f64::to_bits).hash(&mut hasher));
    }
    hasher.finish()
}

impl BodySection for SolvedVolumes {
    const NAME: &'static str = "enriched";

    fn write(&self) -> Section {
        let mut section = Section::new(&Description { key: self.key, rows: self.rows });
        for (index, deltas) in self.shapes.iter().enumerate() {
            section.add_deltas(&format!("shape.{index:04}"), deltas);
        }
        section.add("jaw.rows", 1, &self.jaw_rows);
        section.add("jaw.fields", 4, &self.jaw_fields);
        section
    }

    fn read(section: &Section, model: &FaceModel) -> Result<Self, String> {
        let Description { key, rows } = section.description()?;
        let deltas = |index: usize| section.deltas(&format!("shape.{index:04}"), rows);
        Ok(Self {
            shapes: (0..model.shapes.len()).map(deltas).collect::<Result<_, String>>()?,
            jaw_rows: section.numbers("jaw.rows")?,
            jaw_fields: section.numbers("jaw.fields")?,
            key,
            rows,
        })
    }
}
