//! Sections of a face file: results that a body has computed for a face, stored so that they are computed only once.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zygoma_rig::SparseDeltas;

use super::FaceModel;

/// The sections of a face by name. Sections of bodies unknown to this version are kept unchanged.
pub type Sections = BTreeMap<String, Section>;

/// A description and named arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// All data other than arrays.
    pub(super) description: serde_json::Value,
    pub(super) arrays: BTreeMap<String, Array>,
}

/// A two-dimensional array of numbers of one type, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

/// An element type of arrays.
pub trait Number: bytemuck::Pod {
    /// Its name in safetensors files.
    const DTYPE: &'static str;
}

impl Number for f32 {
    const DTYPE: &'static str = "F32";
}

impl Number for f64 {
    const DTYPE: &'static str = "F64";
}

impl Number for u32 {
    const DTYPE: &'static str = "U32";
}

impl Number for u8 {
    const DTYPE: &'static str = "U8";
}

/// A body's own data in a face file.
pub trait BodySection: Sized {
    /// The section's name in the file: the body's name.
    const NAME: &'static str;

    /// Serializes the section.
    fn write(&self) -> Section;

    /// Deserializes the section; an error is a sentence about what is wrong with it.
    fn read(section: &Section, model: &FaceModel) -> Result<Self, String>;
}

impl FaceModel {
    /// The section of a body; `None` if the face has none.
    pub fn section<S: BodySection>(&self) -> Option<Result<S, String>> {
        self.sections.get(S::NAME).map(|section| {
            S::read(section, self).map_err(|problem| format!("section {}: {problem}", S::NAME))
        })
    }

    /// Takes a body's section of another model of the same face, if that has one and this one has none.
    pub fn take_section<S: BodySection>(&mut self, mut other: Self) {
        if let Some(section) = other.sections.remove(S::NAME) {
            self.sections.entry(S::NAME.to_owned()).or_insert(section);
        }
    }

    /// Adds a body's section, or replaces it.
    pub fn add_section<S: BodySection>(&mut self, section: &S) {
        self.sections.insert(S::NAME.to_owned(), section.write());
    }
}

impl Section {
    /// A section without arrays.
    pub fn new(description: &impl Serialize) -> Self {
        Self { description: serde_json::to_value(description).unwrap_or_default(), ..Self::default() }
    }

    /// All data other than arrays.
    pub fn description<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_value(self.description.clone())
            .map_err(|error| format!("its description cannot be read: {error}"))
    }

    /// Adds an array with the given number of columns.
    pub fn add<T: Number>(&mut self, name: &str, columns: usize, values: &[T]) {
        let rows = values.len() / columns;
        let shape = if columns == 1 { vec![rows] } else { vec![rows, columns] };
        let array = Array { dtype: T::DTYPE.into(), shape, bytes: bytemuck::cast_slice(values).to_vec() };
        self.arrays.insert(name.into(), array);
    }

    /// Adds vectors.
    pub fn add_vectors(&mut self, name: &str, vectors: &[Vec3]) {
        self.add(name, 3, &vectors.iter().flat_map(Vec3::to_array).collect::<Vec<f32>>());
    }

    /// Adds vectors in double precision.
    pub fn add_vectors64(&mut self, name: &str, vectors: &[DVec3]) {
        self.add(name, 3, &vectors.iter().flat_map(DVec3::to_array).collect::<Vec<f64>>());
    }

    /// Adds sparse vertex displacements.
    pub fn add_deltas(&mut self, name: &str, deltas: &SparseDeltas) {
        self.add(&format!("{name}.vertices"), 1, &deltas.vertices);
        self.add_vectors(&format!("{name}.offsets"), &deltas.offsets);
    }

    /// Adds flags.
    pub fn add_flags(&mut self, name: &str, flags: &[bool]) {
        self.add(name, 1, &flags.iter().map(|flag| u8::from(*flag)).collect::<Vec<u8>>());
    }

    /// The numbers of an array.
    pub fn numbers<T: Number>(&self, name: &str) -> Result<Vec<T>, String> {
        let array = self.arrays.get(name).ok_or_else(|| format!("array {name} is missing"))?;
        let size = std::mem::size_of::<T>();
        let count = array.shape.iter().try_fold(1usize, |product, side| product.checked_mul(*side));
        let is_whole = count.and_then(|count| count.checked_mul(size)) == Some(array.bytes.len());
        if array.dtype != T::DTYPE || !is_whole {
            return Err(format!("array {name} has another size or kind than its header says"));
        }
        Ok(array.bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned).collect())
    }

    /// The numbers of an array, which must have exactly `count` of them.
    pub fn exactly<T: Number>(&self, name: &str, count: usize) -> Result<Vec<T>, String> {
        let numbers = self.numbers(name)?;
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(format!("array {name} has {} numbers where {count} are needed", numbers.len()))
        }
    }

    /// The vectors of an array.
    pub fn vectors(&self, name: &str) -> Result<Vec<Vec3>, String> {
        let numbers: Vec<f32> = self.numbers(name)?;
        Ok(numbers.as_chunks::<3>().0.iter().map(|v| Vec3::from_array(*v)).collect())
    }

    /// The vectors of an array in double precision.
    pub fn vectors64(&self, name: &str) -> Result<Vec<DVec3>, String> {
        let numbers: Vec<f64> = self.numbers(name)?;
        Ok(numbers.as_chunks::<3>().0.iter().map(|v| DVec3::from_array(*v)).collect())
    }

    /// Rows of `N` indices below a limit.
    pub fn indices<const N: usize>(&self, name: &str, limit: usize) -> Result<Vec<[u32; N]>, String> {
        let numbers: Vec<u32> = self.numbers(name)?;
        match numbers.iter().find(|index| **index as usize >= limit) {
            Some(index) => Err(format!("array {name} names element {index} of {limit}")),
            None => Ok(numbers.as_chunks::<N>().0.to_vec()),
        }
    }

    /// Flags, of which there must be exactly `count`.
    pub fn flags(&self, name: &str, count: usize) -> Result<Vec<bool>, String> {
        Ok(self.exactly::<u8>(name, count)?.iter().map(|flag| *flag != 0).collect())
    }

    /// Sparse displacements of vertices with indices below `limit`.
    pub fn deltas(&self, name: &str, limit: usize) -> Result<SparseDeltas, String> {
        let vertices: Vec<u32> = self.numbers(&format!("{name}.vertices"))?;
        let offsets = self.vectors(&format!("{name}.offsets"))?;
        let ordered = vertices.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = vertices.last().is_none_or(|last| (*last as usize) < limit);
        if !(ordered && inside && vertices.len() == offsets.len()) {
            return Err(format!("the displacements {name} do not fit the mesh"));
        }
        Ok(SparseDeltas { vertices, offsets })
    }
}
