//! The transform of a skinned mesh in bind pose.

use glam::{DAffine3, DMat4};

use super::Document;
use super::accessor::Accessors;
use super::plan::MeshPlan;
use super::scene::Tree;
use super::schema::Schema;
use crate::Result;

/// The transform from mesh to scene of a skinned mesh. Its own node is ignored (glTF 2.0, section 3.7.3.3);
/// the joint matrices count, and in bind pose they all agree. If a file's rest pose differs, the mesh follows
/// the head, or the joint with the most weight.
pub(super) fn bind_transform(
    document: &Document,
    schema: &Schema,
    tree: &Tree,
    accessors: &Accessors,
    plan: &MeshPlan,
    head: Option<usize>,
) -> Result<DAffine3> {
    let Some(skin) = schema.nodes[plan.node].skin else { return Ok(tree.globals[plan.node]) };
    let joints = checked_joints(document, schema, plan.node, skin)?;
    let loads = joint_loads(document, schema, accessors, plan, joints.len())?;
    let carries_head = |(joint, load): &(usize, &f64)| Some(joints[*joint]) == head && **load > 0.0;
    let heaviest = || loads.iter().enumerate().rev().max_by(|(_, a), (_, b)| a.total_cmp(b));
    let Some((joint, _)) = loads.iter().enumerate().find(carries_head).or_else(heaviest) else {
        return Ok(tree.globals[plan.node]);
    };
    let (node, inverse_bind) = inverse_binds(document, schema, accessors, plan)?[joint];
    Ok(tree.globals[node] * inverse_bind)
}

/// The joints of a node's skin, which all exist.
fn checked_joints<'a>(
    document: &Document,
    schema: &'a Schema,
    node: usize,
    skin: usize,
) -> Result<&'a [usize]> {
    let entry = schema
        .skins
        .get(skin)
        .ok_or_else(|| document.malformed(format!("node {node} uses skin {skin}, which does not exist")))?;
    if let Some(lost) = entry.joints.iter().find(|joint| **joint >= schema.nodes.len()) {
        return Err(
            document.malformed(format!("skin {skin} has node {lost} as a joint, which does not exist"))
        );
    }
    Ok(&entry.joints)
}

/// The node and the inverse bind matrix of each joint of a mesh; none for a mesh without a skin.
pub(super) fn inverse_binds(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
) -> Result<Vec<(usize, DAffine3)>> {
    let Some(skin) = schema.nodes[plan.node].skin else { return Ok(Vec::new()) };
    let joints = checked_joints(document, schema, plan.node, skin)?;
    let Some(accessor) = schema.skins[skin].inverse_bind_matrices else {
        return Ok(joints.iter().map(|joint| (*joint, DAffine3::IDENTITY)).collect());
    };
    let matrices = accessors.vectors::<16>(accessor, None)?;
    if matrices.len() < joints.len() {
        let (have, need) = (matrices.len(), joints.len());
        let problem = format!("skin {skin} has {have} inverse bind matrices for {need} joints");
        return Err(document.malformed(problem));
    }
    let affine = |matrix: &[f32; 16]| DAffine3::from_mat4(DMat4::from_cols_array(&matrix.map(f64::from)));
    Ok(joints.iter().zip(&matrices).map(|(joint, matrix)| (*joint, affine(matrix))).collect())
}

/// The vertices of a mesh that a node moves, with the share of its motion that each follows: all of a mesh below the node, or the vertices
/// bound to the node and its descendants.
pub(super) fn carried(
    schema: &Schema,
    tree: &Tree,
    accessors: &Accessors,
    plan: &MeshPlan,
    node: usize,
) -> Result<Vec<(u32, f32)>> {
    let hangs = |below: usize| tree.ancestors(below).any(|above| above == node);
    let Some(skin) = schema.nodes[plan.node].skin else {
        let all = if hangs(plan.node) { plan.vertex_count() } else { 0 };
        return Ok((0..all as u32).map(|vertex| (vertex, 1.0)).collect());
    };
    let joints = schema.skins.get(skin).map_or(&[][..], |skin| &skin.joints);
    let follows: Vec<bool> = joints.iter().map(|joint| hangs(*joint)).collect();
    if !follows.contains(&true) {
        return Ok(Vec::new());
    }
    let mut fractions = vec![0.0; plan.vertex_count()];
    for_bindings(schema, accessors, plan, |vertex, joint, weight| {
        if follows.get(joint as usize).is_some_and(|follows| *follows) {
            fractions[vertex] += weight;
        }
        Ok(())
    })?;
    Ok((0u32..).zip(fractions).filter(|(_, fraction)| *fraction > 0.0).collect())
}

/// The summed skin weights of each joint over the vertices of a mesh.
fn joint_loads(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
    joint_count: usize,
) -> Result<Vec<f64>> {
    let mut loads = vec![0.0; joint_count];
    for_bindings(schema, accessors, plan, |_, joint, weight| {
        let load = loads.get_mut(joint as usize).ok_or_else(|| {
            document.malformed(format!("mesh \"{}\" is bound to joint {joint} of {joint_count}", plan.name))
        })?;
        *load += f64::from(weight);
        Ok(())
    })?;
    Ok(loads)
}

/// Visits each vertex, joint and weight above 0 of a skinned mesh.
pub(super) fn for_bindings(
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
    mut bound: impl FnMut(usize, u32, f32) -> Result<()>,
) -> Result<()> {
    for block in &plan.blocks {
        let attributes = &schema.meshes[plan.mesh].primitives[block.primitives[0]].attributes;
        for set in 0.. {
            let accessor = |kind: &str| attributes.get(&format!("{kind}_{set}")).copied();
            let (Some(joints), Some(weights)) = (accessor("JOINTS"), accessor("WEIGHTS")) else { break };
            let joints = accessors.indices::<4>(joints)?;
            let weights = accessors.vectors::<4>(weights, Some(block.vertices.len()))?;
            for ((vertex, joints), weights) in block.vertices.clone().zip(&joints).zip(&weights) {
                for (joint, weight) in joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                    bound(vertex, *joint, *weight)?;
                }
            }
        }
    }
    Ok(())
}
