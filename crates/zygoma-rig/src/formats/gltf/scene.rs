//! The node tree: parents, and transforms at rest.

use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};
use serde_json::{Value, json};

use super::Document;
use super::pack::push;
use super::schema::{Node, Schema};
use crate::Result;

/// The node tree of a document, checked to be a tree.
#[derive(Debug)]
pub(super) struct Tree {
    /// The parent of each node.
    pub(super) parents: Vec<Option<usize>>,
    /// Nodes in an order with every parent before its children.
    pub(super) order: Vec<usize>,
    /// Rest transform of each node relative to its parent.
    pub(super) locals: Vec<Pose>,
    /// Rest transform of each node relative to the scene.
    pub(super) globals: Vec<DAffine3>,
}

/// Translation, rotation and scale of a node; animations replace one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pose {
    pub(super) translation: DVec3,
    pub(super) rotation: DQuat,
    pub(super) scale: DVec3,
    /// The original matrix, if it is not a product of the three.
    sheared: Option<DAffine3>,
}

impl Pose {
    fn of(node: &Node) -> Self {
        if let Some(matrix) = node.matrix {
            let matrix = DMat4::from_cols_array(&matrix);
            let affine = DAffine3::from_mat4(matrix);
            let (scale, rotation, translation) = affine.to_scale_rotation_translation();
            let pose = Self { translation, rotation: normalized(rotation), scale, sheared: None };
            let error = (pose.affine().matrix3 - affine.matrix3).to_cols_array();
            let size = affine.matrix3.to_cols_array().iter().fold(0.0, |m: f64, c| m.max(c.abs()));
            // Exact if the parts suffice; a shear or a zero scale needs the matrix itself.
            let exact = error.iter().all(|e| e.abs() <= 1e-12 * size);
            return Self { sheared: (!exact).then_some(affine), ..pose };
        }
        Self {
            translation: node.translation.map_or(DVec3::ZERO, DVec3::from),
            rotation: node.rotation.map_or(DQuat::IDENTITY, |q| normalized(DQuat::from_array(q))),
            scale: node.scale.map_or(DVec3::ONE, DVec3::from),
            sheared: None,
        }
    }

    /// The pose without shear, which no animation of its parts can keep.
    pub(super) fn without_shear(self) -> Self {
        Self { sheared: None, ..self }
    }

    /// The same pose as a transform.
    pub(super) fn affine(&self) -> DAffine3 {
        self.sheared.unwrap_or_else(|| {
            DAffine3::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
        })
    }
}

/// Normalises a rotation, which files hold in single precision, some of them rounded coarsely; length zero becomes the identity.
pub(super) fn normalized(rotation: DQuat) -> DQuat {
    let length = rotation.length();
    if length.is_finite() && length > 1e-9 { rotation / length } else { DQuat::IDENTITY }
}

impl Tree {
    /// Reads the tree; a node with two parents or inside a loop is an error.
    pub(super) fn new(document: &Document, schema: &Schema) -> Result<Self> {
        let parents = parents(document, &schema.nodes)?;
        let mut roots: Vec<usize> = (0..parents.len()).filter(|node| parents[*node].is_none()).collect();
        let order = depth_first(&schema.nodes, &mut roots);
        if order.len() < schema.nodes.len() {
            let mut reached = vec![false; parents.len()];
            order.iter().for_each(|node| reached[*node] = true);
            let lost = reached.iter().position(|reached| !reached).unwrap_or(0);
            return Err(document.malformed(format!("node {lost} is its own ancestor; the nodes form a loop")));
        }
        let locals: Vec<Pose> = schema.nodes.iter().map(Pose::of).collect();
        let mut globals = vec![DAffine3::IDENTITY; parents.len()];
        for node in &order {
            let parent = parents[*node].map_or(DAffine3::IDENTITY, |parent| globals[parent]);
            globals[*node] = parent * locals[*node].affine();
            if !globals[*node].is_finite() {
                return Err(document.malformed(format!("node {node} has a transform that is not finite")));
            }
        }
        Ok(Self { parents, order, locals, globals })
    }

    /// Nodes with a mesh, depth first from the scene that is shown; all of them if it shows none.
    pub(super) fn mesh_nodes(&self, schema: &Schema) -> Vec<usize> {
        let scene = schema.scenes.get(schema.scene.unwrap_or(0)).or(schema.scenes.first());
        let mut roots: Vec<usize> = scene.map(|scene| scene.nodes.clone()).unwrap_or_default();
        roots.retain(|node| *node < schema.nodes.len());
        let shown = depth_first(&schema.nodes, &mut roots);
        let has_mesh = |node: &usize| schema.nodes[*node].mesh.is_some();
        let found: Vec<usize> = shown.into_iter().filter(has_mesh).collect();
        if found.is_empty() { self.order.iter().copied().filter(has_mesh).collect() } else { found }
    }

    /// For each node its own name or that of the nearest ancestor that has one.
    pub(super) fn names<'a>(&self, schema: &'a Schema) -> Vec<Option<&'a str>> {
        let mut names = vec![None; schema.nodes.len()];
        for node in &self.order {
            let own = schema.nodes[*node].name.as_deref().filter(|name| !name.is_empty());
            names[*node] = own.or_else(|| self.parents[*node].and_then(|parent| names[parent]));
        }
        names
    }

    /// A node and its ancestors, nearest first.
    pub(super) fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |node| self.parents[*node])
    }
}

fn parents(document: &Document, nodes: &[Node]) -> Result<Vec<Option<usize>>> {
    let mut parents = vec![None; nodes.len()];
    for (parent, node) in nodes.iter().enumerate() {
        for child in &node.children {
            let slot = parents.get_mut(*child).ok_or_else(|| {
                document.malformed(format!("node {parent} has the child {child}, which does not exist"))
            })?;
            if let Some(other) = slot.replace(parent) {
                let problem = format!("node {child} has two parents, nodes {other} and {parent}");
                return Err(document.malformed(problem));
            }
        }
    }
    Ok(parents)
}

/// Nodes below the roots, parents first, each once. Not recursive: a chain may be as long as the file.
fn depth_first(nodes: &[Node], roots: &mut Vec<usize>) -> Vec<usize> {
    let mut visited = vec![false; nodes.len()];
    let mut order = Vec::new();
    roots.reverse();
    while let Some(node) = roots.pop() {
        if std::mem::replace(&mut visited[node], true) {
            continue;
        }
        order.push(node);
        roots.extend(nodes[node].children.iter().rev());
    }
    order
}

/// Adds a node to the document's scene.
pub(super) fn place_in_scene(document: &mut Document, node: Value) -> usize {
    let node = push(document, "nodes", node);
    let scene = document.json.get("scene").and_then(Value::as_u64).unwrap_or(0);
    match document.json.pointer_mut(&format!("/scenes/{scene}/nodes")).and_then(Value::as_array_mut) {
        Some(nodes) => nodes.push(json!(node)),
        None => drop(push(document, "scenes", json!({ "nodes": [node] }))),
    }
    node
}

/// Adds a node to the document as the child of another.
pub(super) fn place_below(document: &mut Document, parent: usize, node: Value) {
    let node = push(document, "nodes", node);
    let Some(parent) = document.json.pointer_mut(&format!("/nodes/{parent}")) else { return };
    match parent.get_mut("children").and_then(Value::as_array_mut) {
        Some(children) => children.push(json!(node)),
        None => parent["children"] = json!([node]),
    }
}

/// The rotation nearest to a linear map, which may scale as well.
pub(super) fn rotation_of(linear: DMat3) -> DQuat {
    let x = linear.x_axis.normalize_or(DVec3::X);
    let z = x.cross(linear.y_axis).normalize_or(x.any_orthonormal_vector());
    let right_handed = DMat3::from_cols(x, z.cross(x), z);
    normalized(DQuat::from_mat3(&right_handed))
}
