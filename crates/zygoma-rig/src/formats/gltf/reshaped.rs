//! A rig with other shapes or another neutral than its file has: corrected, or taken over from another rig.

use std::path::Path;

use glam::Vec3;
use zygoma_geometry::normals::vertex_normals;

use super::animated::MorphTarget;
use super::clips::{self, WeightChannel};
use super::export::{check_ending, write_rig};
use super::new_targets::{self, NewTargets};
use super::prune;
use super::ranged::Ranged;
use super::stage::Stage;
use crate::formats::Limits;
use crate::weld::Weld;
use crate::{Result, Rig, RigMesh, Source};

/// Writes a rig whose neutral or shapes have changed since it was read, as one self-contained GLB.
///
/// `before` is the rig as it was read. Shapes of a mesh that it had are in the same places, with other displacements maybe; new ones come after
/// them. The number of vertices is the same. Everything else of a glTF document stays, except meshopt compression: its clips keep their weights, and the expressions of a VRM file
/// keep their binds.
pub fn write_reshaped(before: &Rig, rig: &Rig, path: &Path) -> Result<()> {
    check_ending(path)?;
    let Source::Gltf(document) = &before.source else { return write_rig(rig, path) };
    // The document was read within limits before.
    let document = document.decompressed(&Limits::default())?;
    let (mut stage, planned) = Stage::of_document(&document, before)?;
    let changed: Vec<usize> = (0..before.meshes.len())
        .filter(|mesh| {
            let (before, mesh) = (&before.meshes[*mesh], &rig.meshes[*mesh]);
            before.shapes != mesh.shapes || before.positions != mesh.positions
        })
        .collect();
    let channel = |mesh: &usize| {
        let (own, all) = (before.meshes[*mesh].shapes.len(), rig.meshes[*mesh].shapes.len());
        WeightChannel::widened(stage.mesh_nodes[*mesh], own, all.saturating_sub(own))
    };
    let channels: Vec<WeightChannel> = changed.iter().map(channel).collect();
    clips::keep_others(&mut stage, &planned.schema, &[], &channels)?;
    for mesh in changed {
        let shift = shift(&before.meshes[mesh], &rig.meshes[mesh]);
        let ranged = Ranged { shift, ..Ranged::at_rest(targets(&rig.meshes[mesh])) };
        let names: Vec<String> = rig.meshes[mesh].shapes.iter().map(|shape| shape.name.clone()).collect();
        let new = NewTargets { mesh, ranged: &ranged, keeps_shapes: false, names: Some(&names) };
        new_targets::write(&mut stage, &planned, rig, &new)?;
    }
    stage.document.note_unit(rig.units.metres_per_unit);
    prune::prune(&mut stage.document);
    stage.document.write_glb(path)
}

/// The change of a mesh's neutral and of its normals; none if it has not moved.
fn shift(before: &RigMesh, mesh: &RigMesh) -> Option<MorphTarget> {
    let surface = Surface::new(mesh);
    let moved = mesh.positions != before.positions;
    moved.then(|| surface.target(&before.positions, &mesh.positions))
}

/// The shapes of a mesh with the change of normals that belongs to each.
fn targets(mesh: &RigMesh) -> Vec<MorphTarget> {
    let surface = Surface::new(mesh);
    let target = |shape: &crate::Shape| {
        let offsets = shape.deltas.to_dense(mesh.positions.len());
        let posed: Vec<Vec3> = mesh.positions.iter().zip(&offsets).map(|(p, by)| *p + *by).collect();
        MorphTarget { positions: offsets, ..surface.target(&mesh.positions, &posed) }
    };
    mesh.shapes.iter().map(target).collect()
}

/// A mesh without its seams, for smooth normals.
struct Surface {
    weld: Weld,
    triangles: Vec<[u32; 3]>,
}

impl Surface {
    fn new(mesh: &RigMesh) -> Self {
        let weld = Weld::new(mesh);
        Self { triangles: weld.triangles(mesh), weld }
    }

    fn normals(&self, positions: &[Vec3]) -> Vec<Vec3> {
        self.weld.spread(&vertex_normals(&self.weld.gather(positions), &self.triangles))
    }

    /// The change of positions and normals from one state to another.
    fn target(&self, from: &[Vec3], to: &[Vec3]) -> MorphTarget {
        let change = |to: &[Vec3], from: &[Vec3]| to.iter().zip(from).map(|(to, from)| *to - *from).collect();
        MorphTarget {
            positions: change(to, from),
            normals: Some(change(&self.normals(to), &self.normals(from))),
        }
    }
}
