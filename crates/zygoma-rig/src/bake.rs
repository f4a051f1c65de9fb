//! Compresses animated surfaces to a few morph targets, so that any glTF viewer plays them.

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;
use zygoma_numerics::low_rank::{CompressOptions, LowRank, compress};

use crate::formats::gltf::{MorphAnimation, MorphTarget};
use crate::frames::Frames;
use crate::weld::Weld;
use crate::{Error, Result, RigMesh};

/// How closely a baked animation follows the true surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BakeOptions {
    /// Largest distance of any vertex in any frame, in metres. Ours: 0.05 mm, invisible at life size.
    pub max_error: f64,
    /// Maximum number of morph targets, whatever error that leaves.
    pub max_targets: Option<usize>,
}

impl Default for BakeOptions {
    fn default() -> Self {
        Self { max_error: 0.05e-3, max_targets: None }
    }
}

/// A baked animation and its error.
#[derive(Clone, Debug, PartialEq)]
pub struct Baked {
    /// Morph targets and their weights.
    pub animation: MorphAnimation,
    /// Largest distance of any vertex in any frame, measured on the targets and weights as they are written,
    /// in metres.
    pub max_error: f64,
    /// Root mean square of the same distances.
    pub rms_error: f64,
}

/// Compresses the frames of a mesh to morph targets about its neutral. The first frame is at time `start`, in
/// seconds.
pub fn bake(mesh: &RigMesh, frames: &mut dyn Frames, start: f64, options: &BakeOptions) -> Result<Baked> {
    bake_from(mesh, frames, None, start, options)
}

/// Compresses the differences of a mesh's frames from as many other frames, such as those of its plain rig.
pub fn bake_correctives(
    mesh: &RigMesh,
    frames: &mut dyn Frames,
    plain: &mut dyn Frames,
    start: f64,
    options: &BakeOptions,
) -> Result<Baked> {
    bake_from(mesh, frames, Some(plain), start, options)
}

/// Compresses the differences of frames from others, or from the neutral if there are none.
fn bake_from(
    mesh: &RigMesh,
    frames: &mut dyn Frames,
    mut plain: Option<&mut dyn Frames>,
    start: f64,
    options: &BakeOptions,
) -> Result<Baked> {
    let (count, fps) = (frames.count(), frames.fps());
    let mut failure = None;
    let mut from = mesh.positions.clone();
    let mut read_offsets = |frame: usize, row: &mut [f32]| {
        let offsets: &mut [Vec3] = bytemuck::cast_slice_mut(row);
        let read_plain = |plain: &mut &mut dyn Frames| plain.read(frame, &mut from);
        let read = frames.read(frame, offsets);
        if let Err(error) = read.and_then(|()| plain.as_mut().map_or(Ok(()), read_plain)) {
            failure.get_or_insert(error);
        }
        for (offset, from) in offsets.iter_mut().zip(&from) {
            *offset -= *from;
        }
    };
    let options =
        CompressOptions { max_error: options.max_error as f32, max_rank: options.max_targets, seed: 0 };
    let columns = 3 * mesh.positions.len();
    let compressed = compress(count, columns, &mut read_offsets, &options);
    if let Some(error) = failure {
        return Err(error);
    }
    let low_rank = compressed.map_err(|error| {
        Error::Request(format!("the frames of '{}' cannot be compressed: {error}", mesh.name))
    })?;
    let normals = normal_targets(mesh, frames, plain, &low_rank)?;
    let target = |(positions, normals): (&Vec<f32>, Vec<Vec3>)| MorphTarget {
        positions: bytemuck::cast_slice(positions).to_vec(),
        normals: Some(normals),
    };
    Ok(Baked {
        animation: MorphAnimation {
            fps,
            start,
            targets: low_rank.basis.iter().zip(normals).map(target).collect(),
            weights: low_rank.coefficients,
        },
        max_error: low_rank.max_error,
        rms_error: low_rank.rms_error,
    })
}

/// The change of normals that belongs to each target: the least-squares fit of the frames' normals with the
/// weights of their positions. The weights of different targets are orthogonal over the frames, so each
/// target is a projection of its own.
fn normal_targets(
    mesh: &RigMesh,
    frames: &mut dyn Frames,
    mut plain: Option<&mut dyn Frames>,
    low_rank: &LowRank,
) -> Result<Vec<Vec<Vec3>>> {
    let weld = Weld::new(mesh);
    let triangles = weld.triangles(mesh);
    let normals = |positions: &[Vec3]| vertex_normals(&weld.gather(positions), &triangles);
    let mut rest = normals(&mesh.positions);
    let rank = low_rank.basis.len();
    let mut targets = vec![vec![Vec3::ZERO; rest.len()]; rank];
    let mut squares = vec![0.0f32; rank];
    let mut positions = mesh.positions.clone();
    if rank == 0 {
        return Ok(targets);
    }
    for frame in 0..frames.count() {
        frames.read(frame, &mut positions)?;
        let moved = normals(&positions);
        if let Some(plain) = &mut plain {
            plain.read(frame, &mut positions)?;
            rest = normals(&positions);
        }
        let changed: Vec<Vec3> = moved.iter().zip(&rest).map(|(moved, rest)| *moved - *rest).collect();
        let weights = &low_rank.coefficients[frame * rank..][..rank];
        for ((target, square), weight) in targets.iter_mut().zip(&mut squares).zip(weights) {
            *square += weight * weight;
            for (sum, change) in target.iter_mut().zip(&changed) {
                *sum += *weight * *change;
            }
        }
    }
    let finish = |(target, square): (Vec<Vec3>, f32)| {
        let scaled: Vec<Vec3> = target.iter().map(|sum| *sum / square.max(f32::MIN_POSITIVE)).collect();
        weld.spread(&scaled)
    };
    Ok(targets.into_iter().zip(squares).map(finish).collect())
}
