//! The inside of a face as a section of its file.

use glam::{DMat3, DVec3, Vec3};
use serde::{Deserialize, Serialize};
use zygoma_geometry::TriMesh;

use super::jaw_motion::JawMotion;
use super::section::Section;
use super::teeth::{DentalRow, Teeth};
use super::{BoneSource, Bones, FreePart, Inside};

/// All data other than arrays.
#[derive(Serialize, Deserialize)]
struct Description {
    bone_source: BoneSource,
    has_bones: bool,
    teeth: Vec<RowDescription>,
    free_parts: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RowDescription {
    follows_jaw: bool,
    shapes: Vec<usize>,
}

impl Inside {
    /// The section's name in the file.
    pub(super) const NAME: &'static str = "inside";

    pub(super) fn write(&self) -> Section {
        let rows = self.teeth.as_ref().map_or(&[][..], |teeth| &teeth.rows);
        let described = |row: &DentalRow| RowDescription {
            follows_jaw: row.rides,
            shapes: row.moves.iter().map(|(shape, _)| *shape).collect(),
        };
        let mut section = Section::new(&Description {
            bone_source: self.bone_source,
            has_bones: self.bones.is_some(),
            teeth: rows.iter().map(described).collect(),
            free_parts: self.free_parts.iter().map(|part| part.name.clone()).collect(),
        });
        section.add("jaw_shapes", 1, &indices(&self.jaw_shapes));
        if let Some(bones) = &self.bones {
            add_mesh(&mut section, "cranium", &bones.cranium);
            add_mesh(&mut section, "mandible", &bones.mandible);
            bones.jaw.write(&mut section);
        }
        for (index, row) in rows.iter().enumerate() {
            row.write(&mut section, &format!("teeth.{index}"));
        }
        for (index, part) in self.free_parts.iter().enumerate() {
            section.add(&format!("free.{index:04}"), 1, &part.vertices);
        }
        section
    }

    /// Reads the inside of a face with some numbers of shapes and vertices.
    pub(super) fn read(section: &Section, shapes: usize, vertices: usize) -> Result<Self, String> {
        let described: Description = section.description()?;
        let bones = match described.has_bones {
            true => Some(Bones {
                cranium: mesh(section, "cranium")?,
                mandible: mesh(section, "mandible")?,
                jaw: JawMotion::read(section, shapes)?,
            }),
            false => None,
        };
        let row = |(index, row): (usize, &RowDescription)| {
            DentalRow::read(section, &format!("teeth.{index}"), row, shapes)
        };
        let rows: Vec<DentalRow> =
            described.teeth.iter().enumerate().map(row).collect::<Result<_, String>>()?;
        let part = |(index, name): (usize, &String)| -> Result<FreePart, String> {
            let vertices = section.indices::<1>(&format!("free.{index:04}"), vertices)?;
            Ok(FreePart { name: name.clone(), vertices: vertices.as_flattened().to_vec() })
        };
        Ok(Self {
            jaw_shapes: places(section, "jaw_shapes", shapes)?,
            bones,
            bone_source: described.bone_source,
            teeth: (!rows.is_empty()).then_some(Teeth { rows }),
            free_parts: described.free_parts.iter().enumerate().map(part).collect::<Result<_, String>>()?,
        })
    }
}

impl JawMotion {
    /// A row of twelve numbers for the points, and one for each shape: a vector and the columns of a matrix.
    fn write(&self, section: &mut Section) {
        let row = |vector: DVec3, matrix: DMat3| vector.to_array().into_iter().chain(matrix.to_cols_array());
        let moved = self.shapes.iter().flat_map(|moved| row(moved.shift, moved.turn));
        let rows: Vec<f64> = row(self.centre, self.spread).chain(moved).collect();
        section.add("jaw_motion.rows", 12, &rows);
        let shapes: Vec<usize> = self.shapes.iter().map(|moved| moved.shape).collect();
        section.add("jaw_motion.shapes", 1, &indices(&shapes));
    }

    fn read(section: &Section, shapes: usize) -> Result<Self, String> {
        let shapes = places(section, "jaw_motion.shapes", shapes)?;
        let rows: Vec<f64> = section.exactly("jaw_motion.rows", 12 * (shapes.len() + 1))?;
        check_finite("jaw_motion.rows", rows.iter().all(|number| number.is_finite()))?;
        let mut rows = rows.as_chunks::<12>().0.iter().map(|row| {
            let matrix = std::array::from_fn(|k| row[k + 3]);
            (DVec3::from_slice(&row[..3]), DMat3::from_cols_array(&matrix))
        });
        let (centre, spread) = rows.next().unwrap_or_default();
        let shapes = shapes.into_iter().zip(rows);
        Ok(Self {
            centre,
            spread,
            shapes: shapes
                .map(|(shape, (shift, turn))| super::jaw_motion::JawShape { shape, shift, turn })
                .collect(),
        })
    }
}

impl DentalRow {
    fn write(&self, section: &mut Section, name: &str) {
        section.add_vectors(&format!("{name}.arch.positions"), self.arch.positions());
        section.add(&format!("{name}.arch.triangles"), 3, self.arch.triangles().as_flattened());
        section.add_vectors(&format!("{name}.middle"), &[self.middle]);
        section.add_vectors64(&format!("{name}.guides"), &self.guides);
        let moves: Vec<DVec3> = self.moves.iter().flat_map(|(_, moves)| moves.iter().copied()).collect();
        section.add_vectors64(&format!("{name}.moves"), &moves);
    }

    fn read(section: &Section, name: &str, row: &RowDescription, shapes: usize) -> Result<Self, String> {
        let positions = section.vectors(&format!("{name}.arch.positions"))?;
        let triangles = section.indices(&format!("{name}.arch.triangles"), positions.len())?;
        let middle = section.vectors(&format!("{name}.middle"))?;
        let guides = section.vectors64(&format!("{name}.guides"))?;
        let moves = section.vectors64(&format!("{name}.moves"))?;
        let is_finite = positions.iter().chain(&middle).all(|p: &Vec3| p.is_finite())
            && guides.iter().chain(&moves).all(|p| p.is_finite());
        check_finite(name, is_finite)?;
        let fits = moves.len() == guides.len() * row.shapes.len() && !guides.is_empty();
        if !fits || row.shapes.iter().any(|shape| *shape >= shapes) {
            return Err(format!("the arrays {name} do not fit each other"));
        }
        let moves = row.shapes.iter().copied().zip(moves.chunks(guides.len()).map(<[DVec3]>::to_vec));
        Ok(Self {
            arch: zygoma_physics::contact::ColliderMesh::new(positions, triangles)
                .map_err(|problem| format!("the arrays {name}: {problem}"))?,
            middle: middle.first().copied().unwrap_or_default(),
            moves: moves.collect(),
            guides,
            rides: row.follows_jaw,
        })
    }
}

fn add_mesh(section: &mut Section, name: &str, mesh: &TriMesh) {
    section.add_vectors64(&format!("{name}.positions"), &mesh.positions);
    section.add(&format!("{name}.triangles"), 3, mesh.triangles.as_flattened());
}

fn mesh(section: &Section, name: &str) -> Result<TriMesh, String> {
    let positions = section.vectors64(&format!("{name}.positions"))?;
    check_finite(name, positions.iter().all(|p| p.is_finite()))?;
    let triangles = section.indices(&format!("{name}.triangles"), positions.len())?;
    Ok(TriMesh { positions, triangles })
}

fn check_finite(name: &str, is_finite: bool) -> Result<(), String> {
    if is_finite { Ok(()) } else { Err(format!("array {name} has a number that is not finite")) }
}

fn indices(values: &[usize]) -> Vec<u32> {
    values.iter().map(|value| *value as u32).collect()
}

fn places(section: &Section, name: &str, limit: usize) -> Result<Vec<usize>, String> {
    Ok(section.indices::<1>(name, limit)?.iter().map(|[index]| *index as usize).collect())
}
