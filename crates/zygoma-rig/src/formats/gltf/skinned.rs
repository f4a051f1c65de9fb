//! Reads a mesh together with the joints that it is skinned to.

use std::path::Path;

use glam::DAffine3;

use super::accessor::Accessors;
use super::import::Reader;
use super::plan::plan_meshes;
use super::scene::Tree;
use super::schema::Schema;
use super::{Document, extensions, skinning};
use crate::formats::Limits;
use crate::{Result, RigMesh};

/// A mesh in bind pose, in the file's scene and its unit, with its joints.
#[derive(Clone, Debug)]
pub struct SkinnedMesh {
    /// The mesh.
    pub mesh: RigMesh,
    /// The joints of its skin.
    pub joints: Vec<SkinJoint>,
    /// Joints that each vertex follows, with their weights.
    pub weights: Vec<Vec<(u32, f32)>>,
}

/// A joint of a skin.
#[derive(Clone, Debug)]
pub struct SkinJoint {
    /// The name of its node; empty if it has none.
    pub name: String,
    /// Its pose in bind pose.
    pub bind: DAffine3,
}

/// Reads the skinned mesh with the most vertices of a `.glb`, `.vrm` or `.gltf` file.
///
/// # Errors
/// If the file cannot be read, or no mesh in it is skinned.
pub fn read_skinned(path: &Path, limits: &Limits) -> Result<SkinnedMesh> {
    let document = Document::read(path, limits)?;
    extensions::check_required(&document)?;
    let schema = Schema::read(&document)?;
    let tree = Tree::new(&document, &schema)?;
    let accessors = Accessors::new(&document, &schema, limits)?;
    let plans = plan_meshes(&document, &schema, &tree, limits, &mut Vec::new())?;
    let skinned = plans.iter().filter(|plan| schema.nodes[plan.node].skin.is_some());
    let plan = skinned.max_by_key(|plan| plan.vertex_count()).ok_or_else(|| {
        document.malformed("no mesh in it is bound to joints; export the mesh with its armature")
    })?;
    let reader = Reader { document: &document, schema: &schema, tree: &tree, accessors: &accessors };
    let mesh = reader.mesh(plan, None, None, DAffine3::IDENTITY, &mut Vec::new())?;
    let inverse_binds = skinning::inverse_binds(&document, &schema, &accessors, plan)?;
    let joint = |(node, inverse_bind): (usize, DAffine3)| SkinJoint {
        name: schema.nodes[node].name.clone().unwrap_or_default(),
        bind: mesh.to_rig * inverse_bind.inverse(),
    };
    let joints: Vec<SkinJoint> = inverse_binds.into_iter().map(joint).collect();
    let mut weights = vec![Vec::new(); mesh.positions.len()];
    skinning::for_bindings(&schema, &accessors, plan, |vertex, joint, weight| {
        if joint as usize >= joints.len() {
            let problem = format!("mesh \"{}\" is bound to joint {joint} of {}", plan.name, joints.len());
            return Err(document.malformed(problem));
        }
        weights[vertex].push((joint, weight));
        Ok(())
    })?;
    Ok(SkinnedMesh { mesh, joints, weights })
}
