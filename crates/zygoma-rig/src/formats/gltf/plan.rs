//! Plans which meshes a rig gets from a document, and where the vertices of their primitives lie.
//!
//! Import and export both follow this plan, so that edited vertices are written back to their primitives.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Document;
use super::extensions::check_primitive;
use super::names::unique;
use super::scene::Tree;
use super::schema::{Primitive, Schema};
use crate::Result;
use crate::formats::Limits;

/// One instance of a mesh at a node.
#[derive(Debug)]
pub(super) struct MeshPlan {
    pub(super) name: String,
    pub(super) node: usize,
    pub(super) mesh: usize,
    /// Blocks of vertices, one after the other.
    pub(super) blocks: Vec<Block>,
    /// Number of blendshapes.
    pub(super) targets: usize,
}

/// Vertices that one or more primitives share.
#[derive(Debug)]
pub(super) struct Block {
    /// Primitives with these vertices, in file order.
    pub(super) primitives: Vec<usize>,
    /// The accessor of the positions.
    pub(super) positions: usize,
    /// The accessor of each blendshape's displacements, if it moves anything.
    pub(super) targets: Vec<Option<usize>>,
    /// Where the vertices lie among those of the mesh.
    pub(super) vertices: Range<usize>,
}

impl MeshPlan {
    /// Number of vertices.
    pub(super) fn vertex_count(&self) -> usize {
        self.blocks.last().map_or(0, |block| block.vertices.end)
    }
}

/// The topology of a primitive's indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surface {
    Triangles,
    Strip,
    Fan,
}

impl Surface {
    /// `None` for points and lines.
    pub(super) fn of(primitive: &Primitive) -> Option<Self> {
        match primitive.mode.unwrap_or(4) {
            4 => Some(Self::Triangles),
            5 => Some(Self::Strip),
            6 => Some(Self::Fan),
            _ => None,
        }
    }
}

/// Plans every mesh of the document that has a surface; notes say what has none.
pub(super) fn plan_meshes(
    document: &Document,
    schema: &Schema,
    tree: &Tree,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<Vec<MeshPlan>> {
    let inherited = tree.names(schema);
    let mut plans = Vec::new();
    let mut taken = BTreeMap::new();
    for node in tree.mesh_nodes(schema) {
        let Some(mesh) = schema.nodes[node].mesh else { continue };
        let entry = schema.meshes.get(mesh).ok_or_else(|| {
            document.malformed(format!("node {node} uses mesh {mesh}, which does not exist"))
        })?;
        let own = schema.nodes[node].name.as_deref().filter(|name| !name.is_empty());
        let name = own.or(entry.name.as_deref().filter(|name| !name.is_empty())).or(inherited[node]);
        let name = name.map_or_else(|| format!("mesh {mesh}"), str::to_owned);
        let plan = plan_mesh(document, schema, limits, &name, node, mesh, notes)?;
        if !plan.blocks.is_empty() {
            plans.push(MeshPlan { name: unique(name, &mut taken), ..plan });
        }
    }
    Ok(plans)
}

fn plan_mesh(
    document: &Document,
    schema: &Schema,
    limits: &Limits,
    name: &str,
    node: usize,
    mesh: usize,
    notes: &mut Vec<String>,
) -> Result<MeshPlan> {
    let mut plan = MeshPlan { name: String::new(), node, mesh, blocks: Vec::new(), targets: 0 };
    let mut places: BTreeMap<(usize, Vec<Option<usize>>), usize> = BTreeMap::new();
    for (index, primitive) in schema.meshes[mesh].primitives.iter().enumerate() {
        let Some(positions) = primitive.attributes.get("POSITION").copied() else {
            notes.push(format!("primitive {index} of mesh \"{name}\" has no positions and was left out"));
            continue;
        };
        if Surface::of(primitive).is_none() {
            let note =
                format!("primitive {index} of mesh \"{name}\" consists of points or lines and was left out");
            notes.push(note);
            continue;
        }
        check_primitive(document, schema, primitive)?;
        let targets: Vec<Option<usize>> =
            primitive.targets.iter().map(|target| target.get("POSITION").copied()).collect();
        if plan.blocks.is_empty() {
            plan.targets = targets.len();
        } else if plan.targets != targets.len() {
            return Err(document.malformed(format!(
                "primitive {index} of mesh \"{name}\" has {} morph targets and the ones before it {}; every \
                 primitive of a mesh must have the same",
                targets.len(),
                plan.targets
            )));
        }
        let block = *places.entry((positions, targets.clone())).or_insert(plan.blocks.len());
        if block == plan.blocks.len() {
            let start = plan.vertex_count();
            let accessor = schema.accessors.get(positions).ok_or_else(|| {
                document.malformed(format!("mesh \"{name}\" uses accessor {positions}, which does not exist"))
            })?;
            let count = accessor.count;
            if count > limits.vertices - start {
                let problem =
                    format!("mesh \"{name}\" has more than the limit of {} vertices", limits.vertices);
                return Err(document.malformed(problem));
            }
            let vertices = start..start + count;
            plan.blocks.push(Block { primitives: vec![index], positions, targets, vertices });
        } else {
            plan.blocks[block].primitives.push(index);
        }
    }
    if plan.targets > limits.shapes {
        let problem = format!(
            "mesh \"{name}\" has {} morph targets, more than the limit of {}",
            plan.targets, limits.shapes
        );
        return Err(document.malformed(problem));
    }
    Ok(plan)
}
