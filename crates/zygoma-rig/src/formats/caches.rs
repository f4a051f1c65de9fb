//! Point caches, PC2 and MDD: the positions of every frame, for the cache modifiers of other programs.
//!
//! Positions are in metres in rig space, so that the caches of all meshes of a face fit together whatever unit, nodes
//! and quantisation their file has. `docs/caches.md` explains how to play them in Blender and Maya.

use std::path::Path;

use glam::Vec3;
use zygoma_files::OutputFile;

use super::input::read_bytes;
use super::{check_timing, read_frame};
use crate::formats::Limits;
use crate::frames::Frames;
use crate::{Error, Result};

/// The contents of a point cache.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCache {
    /// The time of each frame: in frames for PC2, in seconds for MDD.
    pub times: Vec<f32>,
    /// Vertices of every frame.
    pub vertex_count: usize,
    /// All positions, frame after frame.
    pub positions: Vec<Vec3>,
}

const PC2_MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const PC2_HEADER: usize = 32;

/// Writes a PC2 cache: little-endian, one sample per frame from frame 0.
pub fn write_pc2(frames: &mut dyn Frames, path: &Path) -> Result<()> {
    let (frame_count, vertex_count) = check_counts(frames, path)?;
    let mut file = OutputFile::create(path)?;
    file.bytes(PC2_MAGIC)?;
    file.bytes(&1i32.to_le_bytes())?;
    file.bytes(&vertex_count.to_le_bytes())?;
    let (first_frame, frames_per_sample) = (0f32, 1f32);
    file.bytes(&first_frame.to_le_bytes())?;
    file.bytes(&frames_per_sample.to_le_bytes())?;
    file.bytes(&frame_count.to_le_bytes())?;
    write_positions(frames, &mut file, f32::to_le_bytes)?;
    Ok(file.finish()?)
}

/// Writes an MDD cache: big-endian, with the time of each frame in seconds from 0.
pub fn write_mdd(frames: &mut dyn Frames, path: &Path) -> Result<()> {
    let (frame_count, vertex_count) = check_counts(frames, path)?;
    let mut file = OutputFile::create(path)?;
    file.bytes(&frame_count.to_be_bytes())?;
    file.bytes(&vertex_count.to_be_bytes())?;
    for frame in 0..frames.count() {
        let time = frame as f64 / frames.fps();
        file.bytes(&(time as f32).to_be_bytes())?;
    }
    write_positions(frames, &mut file, f32::to_be_bytes)?;
    Ok(file.finish()?)
}

/// Checks the counts, which both formats store as signed 32-bit integers.
fn check_counts(frames: &dyn Frames, path: &Path) -> Result<(i32, i32)> {
    check_timing(frames, &path.display().to_string())?;
    let fits = |count: usize, what: &str| {
        i32::try_from(count).map_err(|_| {
            let problem = format!("{count} {what} are more than this format can count; write fewer");
            Error::malformed(path, problem)
        })
    };
    Ok((fits(frames.count(), "frames")?, fits(frames.vertex_count(), "vertices")?))
}

fn write_positions(frames: &mut dyn Frames, file: &mut OutputFile, encode: fn(f32) -> [u8; 4]) -> Result<()> {
    let mut positions = vec![Vec3::ZERO; frames.vertex_count()];
    let mut bytes = Vec::with_capacity(12 * positions.len());
    for frame in 0..frames.count() {
        read_frame(frames, frame, &mut positions)?;
        bytes.clear();
        bytes.extend(positions.iter().flat_map(Vec3::to_array).flat_map(encode));
        file.bytes(&bytes)?;
    }
    Ok(())
}

/// Reads a PC2 cache.
pub fn read_pc2(path: &Path, limits: &Limits) -> Result<PointCache> {
    let bytes = read_bytes(path, limits)?;
    if bytes.len() < PC2_HEADER || !bytes.starts_with(PC2_MAGIC) {
        return Err(Error::malformed(path, "not a PC2 point cache (its first bytes are not POINTCACHE2)"));
    }
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let (vertices, samples) = (i32::from_le_bytes(word(16)), i32::from_le_bytes(word(28)));
    let (first, step) = (f32::from_le_bytes(word(20)), f32::from_le_bytes(word(24)));
    let (vertex_count, frame_count) = check_size(path, vertices, samples, PC2_HEADER, 0, bytes.len())?;
    let times = (0..frame_count).map(|frame| first + step * frame as f32).collect();
    Ok(PointCache { times, vertex_count, positions: decode(&bytes[PC2_HEADER..], f32::from_le_bytes) })
}

/// Reads an MDD cache.
pub fn read_mdd(path: &Path, limits: &Limits) -> Result<PointCache> {
    let bytes = read_bytes(path, limits)?;
    let Some((counts, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(Error::malformed(path, "not an MDD point cache (it is shorter than the header)"));
    };
    let [a, b, c, d, e, f, g, h] = *counts;
    let (samples, vertices) = (i32::from_be_bytes([a, b, c, d]), i32::from_be_bytes([e, f, g, h]));
    let (vertex_count, frame_count) = check_size(path, vertices, samples, 8, 4, bytes.len())?;
    let (times, positions) = rest.split_at(4 * frame_count);
    let times = times.as_chunks().0.iter().map(|bytes| f32::from_be_bytes(*bytes)).collect();
    Ok(PointCache { times, vertex_count, positions: decode(positions, f32::from_be_bytes) })
}

/// Compares the counts in a header with the size of the file.
fn check_size(
    path: &Path,
    vertices: i32,
    samples: i32,
    header: usize,
    bytes_per_time: u64,
    file_size: usize,
) -> Result<(usize, usize)> {
    let wrong = |problem: String| Error::malformed(path, problem);
    let (Ok(vertices), Ok(samples)) = (u64::try_from(vertices), u64::try_from(samples)) else {
        return Err(wrong(format!("the header gives {samples} frames of {vertices} vertices")));
    };
    // Neither product nor sum can overflow: both factors are below 2³¹.
    let expected =
        u128::from(samples) * (12 * u128::from(vertices) + u128::from(bytes_per_time)) + header as u128;
    if expected != file_size as u128 {
        return Err(wrong(format!(
            "the header gives {samples} frames of {vertices} vertices, which takes {expected} bytes, but the \
             file has {file_size}"
        )));
    }
    if vertices == 0 && samples > file_size as u64 {
        return Err(wrong(format!("the header gives {samples} frames of no vertices")));
    }
    Ok((vertices as usize, samples as usize))
}

fn decode(bytes: &[u8], decode: fn([u8; 4]) -> f32) -> Vec<Vec3> {
    let position = |bytes: &[u8; 12]| {
        let [x, y, z] = [0, 4, 8].map(|at| decode([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        Vec3::new(x, y, z)
    };
    bytes.as_chunks().0.iter().map(position).collect()
}
