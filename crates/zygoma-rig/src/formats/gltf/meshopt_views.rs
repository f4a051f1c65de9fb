//! Buffer views compressed by `EXT_meshopt_compression` or `KHR_meshopt_compression`.
//!
//! The decoder is C++ behind a safe interface that trusts its caller with sizes: every precondition that its
//! sources assert is checked here first.

use std::path::Path;

use super::schema::Meshopt;
use crate::{Error, Result};

/// One byte of the vertex codec's second version can stand for a block of 256 rows of four byte channels that
/// are all zero; nothing compresses further.
const MOST_RATIO: usize = 1024;

/// The kind of data that is compressed.
#[derive(Clone, Copy)]
enum Mode {
    Attributes(Filter),
    Triangles,
    Indices,
}

/// The filter to undo after decompression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filter {
    None,
    Octahedral,
    Quaternion,
    Exponential,
    Color,
}

/// A compressed view whose sizes have been checked.
pub(super) struct Plan<'a> {
    mode: Mode,
    stride: usize,
    count: usize,
    encoded: &'a [u8],
}

/// Checks a compressed view against the decoder's preconditions. The error is a clause.
pub(super) fn plan<'a>(meshopt: &Meshopt, buffers: &'a [Vec<u8>]) -> Result<Plan<'a>, String> {
    let buffer =
        buffers.get(meshopt.buffer).ok_or_else(|| format!("there is no buffer {}", meshopt.buffer))?;
    let end = meshopt.byte_offset.checked_add(meshopt.byte_length);
    let encoded = end.and_then(|end| buffer.get(meshopt.byte_offset..end)).ok_or_else(|| {
        format!("its compressed bytes lie outside buffer {} of {} bytes", meshopt.buffer, buffer.len())
    })?;
    let mode = mode(meshopt)?;
    let (stride, count) = (meshopt.byte_stride, meshopt.count);
    let most = match mode {
        Mode::Attributes(_) => encoded.len().saturating_mul(MOST_RATIO) / stride,
        Mode::Triangles => encoded.len().saturating_mul(3),
        Mode::Indices => encoded.len(),
    };
    if count > most {
        return Err(format!("{} compressed bytes cannot hold {count} entries", encoded.len()));
    }
    Ok(Plan { mode, stride, count, encoded })
}

fn mode(meshopt: &Meshopt) -> Result<Mode, String> {
    let stride = meshopt.byte_stride;
    let filter = meshopt.filter.as_deref().unwrap_or("NONE");
    let (mode, fits) = match meshopt.mode.as_str() {
        "ATTRIBUTES" => {
            let (filter, fits) = match filter {
                "NONE" => (Filter::None, true),
                "OCTAHEDRAL" => (Filter::Octahedral, stride == 4 || stride == 8),
                "QUATERNION" => (Filter::Quaternion, stride == 8),
                "EXPONENTIAL" => (Filter::Exponential, true),
                "COLOR" => (Filter::Color, stride == 4 || stride == 8),
                other => return Err(format!("its meshopt filter \"{other}\" is unknown")),
            };
            (Mode::Attributes(filter), fits && stride.is_multiple_of(4) && (4..=256).contains(&stride))
        }
        "TRIANGLES" => (Mode::Triangles, (stride == 2 || stride == 4) && meshopt.count.is_multiple_of(3)),
        "INDICES" => (Mode::Indices, stride == 2 || stride == 4),
        other => return Err(format!("its meshopt mode \"{other}\" is unknown")),
    };
    if !fits {
        return Err(format!(
            "{} rows of {stride} bytes do not fit mode {} with filter {filter}",
            meshopt.count, meshopt.mode
        ));
    }
    Ok(mode)
}

impl Plan<'_> {
    /// Bytes after decompression.
    pub(super) fn decoded_bytes(&self) -> u64 {
        self.stride as u64 * self.count as u64
    }

    /// Decompresses the view.
    pub(super) fn decode(&self, path: &Path, view: usize) -> Result<Vec<u8>> {
        let broken = |_| {
            Error::malformed(
                path,
                format!("bufferViews[{view}]: its meshopt data is damaged; get the file again"),
            )
        };
        match (self.mode, self.stride) {
            (Mode::Attributes(filter), _) => {
                let mut words = decode_rows(self.encoded, self.count, self.stride).map_err(broken)?;
                apply(filter, self.stride, &mut words);
                Ok(bytemuck::cast_slice(&words).to_vec())
            }
            (Mode::Triangles, 2) => {
                to_bytes(meshopt::decode_index_buffer::<u16>(self.encoded, self.count)).map_err(broken)
            }
            (Mode::Triangles, _) => {
                to_bytes(meshopt::decode_index_buffer::<u32>(self.encoded, self.count)).map_err(broken)
            }
            (Mode::Indices, 2) => {
                to_bytes(meshopt::decode_index_sequence::<u16>(self.encoded, self.count)).map_err(broken)
            }
            (Mode::Indices, _) => {
                to_bytes(meshopt::decode_index_sequence::<u32>(self.encoded, self.count)).map_err(broken)
            }
        }
    }
}

fn to_bytes<T: bytemuck::NoUninit>(indices: meshopt::Result<Vec<T>>) -> meshopt::Result<Vec<u8>> {
    indices.map(|indices| bytemuck::cast_slice(&indices).to_vec())
}

/// A row of the vertex codec, in words; arrays of any length have no `Default` of their own.
#[derive(Clone)]
struct Row<const WORDS: usize>([u32; WORDS]);

impl<const WORDS: usize> Default for Row<WORDS> {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

/// The decoder takes the size of a row from its type, so there is one instance for every size that occurs.
macro_rules! decode_rows_of {
    ($encoded:expr, $count:expr, $words:expr; $($size:literal)*) => {
        match $words {
            $($size => rows::<$size>($encoded, $count),)*
            _ => Ok(Vec::new()),
        }
    };
}

fn rows<const WORDS: usize>(encoded: &[u8], count: usize) -> meshopt::Result<Vec<u32>> {
    let rows = meshopt::decode_vertex_buffer::<Row<WORDS>>(encoded, count)?;
    Ok(rows.into_iter().flat_map(|row| row.0).collect())
}

fn decode_rows(encoded: &[u8], count: usize, stride: usize) -> meshopt::Result<Vec<u32>> {
    decode_rows_of!(encoded, count, stride / 4;
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
}

fn apply(filter: Filter, stride: usize, words: &mut [u32]) {
    match (filter, stride) {
        (Filter::None, _) => {}
        (Filter::Octahedral, 4) => meshopt::decode_filter_oct::<i8>(bytemuck::cast_slice_mut(words)),
        (Filter::Octahedral, _) => meshopt::decode_filter_oct::<i16>(bytemuck::cast_slice_mut(words)),
        (Filter::Quaternion, _) => meshopt::decode_filter_quat(bytemuck::cast_slice_mut(words)),
        (Filter::Exponential, _) => meshopt::decode_filter_exp::<1>(bytemuck::cast_slice_mut(words)),
        (Filter::Color, 4) => meshopt::decode_filter_color::<u8>(bytemuck::cast_slice_mut(words)),
        (Filter::Color, _) => meshopt::decode_filter_color::<u16>(bytemuck::cast_slice_mut(words)),
    }
}
