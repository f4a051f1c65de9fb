//! Reads typed arrays from accessors: every component type, normalised or not, strided, sparse, compressed.

use super::Document;
use super::schema::{Accessor, Schema, Sparse};
use super::views::Views;
use crate::Result;
use crate::formats::Limits;

/// Reads accessors of one document. Every range is checked before it is read.
pub(super) struct Accessors<'a> {
    document: &'a Document,
    schema: &'a Schema,
    views: Views<'a>,
}

/// The number type of a component (glTF 2.0, section 3.6.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// The value that stands for 1 when normalised.
    fn largest(self) -> f32 {
        match self {
            Self::I8 => 127.0,
            Self::U8 => 255.0,
            Self::I16 => 32767.0,
            Self::U16 => 65535.0,
            Self::U32 => u32::MAX as f32,
            Self::F32 => 1.0,
        }
    }

    fn raw(self, bytes: &[u8]) -> f32 {
        match self {
            Self::I8 => f32::from(bytes[0] as i8),
            Self::U8 => f32::from(bytes[0]),
            Self::I16 => f32::from(i16::from_le_bytes([bytes[0], bytes[1]])),
            Self::U16 => f32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            Self::U32 => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as f32,
            Self::F32 => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        }
    }

    /// Decodes a component. Both ends of a signed range are −1: `max(c / 127, −1)`.
    fn value(self, bytes: &[u8], normalized: bool) -> f32 {
        let raw = self.raw(bytes);
        if normalized && self != Self::F32 { (raw / self.largest()).max(-1.0) } else { raw }
    }
}

/// Rows of one shape inside a view, checked to lie there.
struct Rows<'a> {
    bytes: &'a [u8],
    stride: usize,
    count: usize,
    component: Component,
    normalized: bool,
}

impl Rows<'_> {
    fn row<const N: usize>(&self, index: usize) -> [f32; N] {
        let size = self.component.size();
        let start = index * self.stride;
        std::array::from_fn(|k| self.component.value(&self.bytes[start + k * size..], self.normalized))
    }
}

fn components(shape: &str) -> Option<usize> {
    Some(match shape {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" | "MAT2" => 4,
        "MAT3" => 9,
        "MAT4" => 16,
        _ => return None,
    })
}

impl<'a> Accessors<'a> {
    /// Decompresses the document's views for reading.
    pub(super) fn new(document: &'a Document, schema: &'a Schema, limits: &Limits) -> Result<Self> {
        Ok(Self { document, schema, views: Views::new(document, schema, limits)? })
    }

    /// Counts bytes against the limit on what the file may ask for.
    pub(super) fn charge(&self, bytes: u64) -> Result<()> {
        self.views.charge(bytes)
    }

    /// The number of elements of an accessor.
    pub(super) fn count(&self, index: usize) -> Result<usize> {
        self.get(index).map(|accessor| accessor.count).map_err(|problem| self.error(index, &problem))
    }

    /// The smallest step between two values of an accessor: none for floats.
    pub(super) fn step(&self, index: usize) -> Option<f64> {
        let accessor = self.get(index).ok()?;
        match Component::from_code(accessor.component_type)? {
            Component::F32 => None,
            component if accessor.normalized => Some(1.0 / f64::from(component.largest())),
            _ => Some(1.0),
        }
    }

    /// Vectors as floats; `expected` is how many there must be, if that is known.
    pub(super) fn vectors<const N: usize>(
        &self,
        index: usize,
        expected: Option<usize>,
    ) -> Result<Vec<[f32; N]>> {
        self.read_vectors(index, expected).map_err(|problem| self.error(index, &problem))
    }

    /// The non-zero vectors of an accessor, with their indices. Elements that a sparse accessor leaves out
    /// cost nothing, so a file cannot use it to demand memory.
    pub(super) fn nonzero<const N: usize>(
        &self,
        index: usize,
        expected: usize,
    ) -> Result<Vec<(u32, [f32; N])>> {
        self.read_nonzero(index, expected).map_err(|problem| self.error(index, &problem))
    }

    /// Vertex or joint indices.
    pub(super) fn indices<const N: usize>(&self, index: usize) -> Result<Vec<[u32; N]>> {
        self.read_indices(index).map_err(|problem| self.error(index, &problem))
    }

    fn error(&self, index: usize, problem: &str) -> crate::Error {
        self.document.malformed(format!("accessors[{index}]: {problem}"))
    }

    fn get(&self, index: usize) -> Result<&'a Accessor, String> {
        self.schema.accessors.get(index).ok_or_else(|| "there is no such accessor".to_owned())
    }

    fn read_vectors<const N: usize>(
        &self,
        index: usize,
        expected: Option<usize>,
    ) -> Result<Vec<[f32; N]>, String> {
        let accessor = self.checked::<N>(index, expected)?;
        self.charge_rows::<N>(accessor.count)?;
        let mut values = match self.base_rows::<N>(accessor)? {
            Some(rows) => (0..rows.count).map(|row| rows.row(row)).collect(),
            None => vec![[0.0; N]; accessor.count],
        };
        if let Some(sparse) = &accessor.sparse {
            for (place, value) in self.overrides(accessor, sparse)? {
                values[place as usize] = value;
            }
        }
        Ok(values)
    }

    fn read_nonzero<const N: usize>(
        &self,
        index: usize,
        expected: usize,
    ) -> Result<Vec<(u32, [f32; N])>, String> {
        let accessor = self.checked::<N>(index, Some(expected))?;
        let moves = |(_, value): &(u32, [f32; N])| value.iter().any(|c| *c != 0.0);
        if accessor.buffer_view.is_some() {
            let dense = self.read_vectors::<N>(index, Some(expected))?;
            return Ok((0..).zip(dense).filter(moves).collect());
        }
        let Some(sparse) = &accessor.sparse else { return Ok(Vec::new()) };
        let mut overrides = self.overrides::<N>(accessor, sparse)?;
        // The specification asks for increasing indices; in files that break this, the last value counts.
        overrides.sort_by_key(|(place, _)| *place);
        overrides.reverse();
        overrides.dedup_by_key(|(place, _)| *place);
        overrides.reverse();
        overrides.retain(moves);
        Ok(overrides)
    }

    /// The accessor, if it has the expected shape and count.
    fn checked<const N: usize>(&self, index: usize, expected: Option<usize>) -> Result<&'a Accessor, String> {
        let accessor = self.get(index)?;
        if components(&accessor.shape) != Some(N) {
            return Err(format!("its type is \"{}\" where {N} components are needed", accessor.shape));
        }
        if let Some(expected) = expected
            && accessor.count != expected
        {
            return Err(format!("it has {} elements where {expected} are needed", accessor.count));
        }
        if u32::try_from(accessor.count).is_err() {
            return Err(format!("{} elements are more than 32-bit indices can count", accessor.count));
        }
        Ok(accessor)
    }

    fn charge_rows<const N: usize>(&self, count: usize) -> Result<(), String> {
        let too_much = |_| format!("{count} elements are more than the limit allows");
        self.views.charge(count as u64 * N as u64 * 4).map_err(too_much)
    }

    fn base_rows<const N: usize>(&self, accessor: &Accessor) -> Result<Option<Rows<'_>>, String> {
        let component = component(accessor.component_type)?;
        let Some(view) = accessor.buffer_view else { return Ok(None) };
        let stride = self.views.stride(view);
        let rows = self.rows(view, accessor.byte_offset, stride, accessor.count, component, N)?;
        Ok(Some(Rows { normalized: accessor.normalized, ..rows }))
    }

    /// The values of a sparse accessor that replace others.
    fn overrides<const N: usize>(
        &self,
        accessor: &Accessor,
        sparse: &Sparse,
    ) -> Result<Vec<(u32, [f32; N])>, String> {
        if sparse.count > accessor.count {
            return Err(format!("{} sparse values for {} elements", sparse.count, accessor.count));
        }
        let places = component(sparse.indices.component_type)?;
        if !matches!(places, Component::U8 | Component::U16 | Component::U32) {
            return Err("its sparse indices are not unsigned integers".into());
        }
        let (indices, values) = (&sparse.indices, &sparse.values);
        let places = self.rows(indices.buffer_view, indices.byte_offset, None, sparse.count, places, 1)?;
        let kind = component(accessor.component_type)?;
        let values = self.rows(values.buffer_view, values.byte_offset, None, sparse.count, kind, N)?;
        let values = Rows { normalized: accessor.normalized, ..values };
        self.charge_rows::<N>(sparse.count)?;
        let place = |row: usize| {
            let place = unsigned(&places, row, 0);
            let inside = (place as usize) < accessor.count;
            inside.then(|| (place, values.row(row))).ok_or_else(|| {
                format!("sparse index {place} is past the end of its {} elements", accessor.count)
            })
        };
        (0..sparse.count).map(place).collect()
    }

    fn read_indices<const N: usize>(&self, index: usize) -> Result<Vec<[u32; N]>, String> {
        let accessor = self.checked::<N>(index, None)?;
        let component = component(accessor.component_type)?;
        if !matches!(component, Component::U8 | Component::U16 | Component::U32) {
            return Err("indices are not unsigned integers".into());
        }
        self.charge_rows::<N>(accessor.count)?;
        let Some(view) = accessor.buffer_view else { return Ok(vec![[0; N]; accessor.count]) };
        let stride = self.views.stride(view);
        let rows = self.rows(view, accessor.byte_offset, stride, accessor.count, component, N)?;
        Ok((0..rows.count).map(|row| std::array::from_fn(|k| unsigned(&rows, row, k))).collect())
    }

    /// Rows inside a view, if they fit.
    fn rows(
        &self,
        view: usize,
        offset: usize,
        stride: Option<usize>,
        count: usize,
        component: Component,
        width: usize,
    ) -> Result<Rows<'_>, String> {
        let bytes = self.views.bytes(view)?;
        let size = component.size() * width;
        let stride = stride.unwrap_or(size);
        if stride < size {
            return Err(format!("rows of {size} bytes overlap at a stride of {stride}"));
        }
        let needed = match count {
            0 => Some(0),
            _ => (count - 1).checked_mul(stride).and_then(|last| last.checked_add(size)),
        };
        let end = needed.and_then(|needed| needed.checked_add(offset));
        let bytes = end.and_then(|end| bytes.get(offset..end)).ok_or_else(|| {
            format!(
                "{count} rows of {size} bytes from byte {offset} do not fit bufferView {view} of {} bytes",
                bytes.len()
            )
        })?;
        Ok(Rows { bytes, stride, count, component, normalized: false })
    }
}

fn component(code: u32) -> Result<Component, String> {
    Component::from_code(code).ok_or_else(|| format!("its component type {code} is unknown"))
}

fn unsigned(rows: &Rows, row: usize, k: usize) -> u32 {
    let start = row * rows.stride + k * rows.component.size();
    let bytes = &rows.bytes[start..];
    match rows.component {
        Component::U8 => u32::from(bytes[0]),
        Component::U16 => u32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
        _ => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}
