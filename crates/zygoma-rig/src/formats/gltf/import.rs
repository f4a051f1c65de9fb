//! Makes a rig from a document.

use std::path::Path;

use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use serde_json::Value;
use zygoma_geometry::Faces;

use super::accessor::Accessors;
use super::document::UNIT_PLACE;
use super::plan::{MeshPlan, plan_meshes};
use super::scene::Tree;
use super::schema::Schema;
use super::vrm::Vrm;
use super::{Document, extensions, joints, names, skinning, surface, takes};
use crate::formats::Limits;
use crate::skin::find_skin;
use crate::{
    Carried, Joint, JointRole, Region, Result, Rig, RigMesh, Shape, Source, SparseDeltas, Units, units,
};

/// Reads a rig from a `.glb`, `.vrm` or `.gltf` file.
pub fn read_rig(path: &Path, limits: &Limits) -> Result<Rig> {
    rig_from_document(Document::read(path, limits)?, limits)
}

/// Makes a rig from a document that has been read.
pub fn rig_from_document(document: Document, limits: &Limits) -> Result<Rig> {
    extensions::check_required(&document)?;
    let schema = Schema::read(&document)?;
    let tree = Tree::new(&document, &schema)?;
    let accessors = Accessors::new(&document, &schema, limits)?;
    let mut notes = document.notes.clone();
    let vrm = Vrm::read(&document.json);
    let turn = facing(vrm.as_ref(), &mut notes);
    let plans = plan_meshes(&document, &schema, &tree, limits, &mut notes)?;
    if plans.is_empty() {
        return Err(document.malformed("it shows no mesh with a surface, so there is no face to read"));
    }
    let mut joints = joints::find(&schema, &tree, vrm.as_ref(), turn, &mut notes);
    let head = joints.iter().find(|joint| joint.role == JointRole::Head).map(|joint| joint.node);
    let reader = Reader { document: &document, schema: &schema, tree: &tree, accessors: &accessors };
    let mut meshes = Vec::with_capacity(plans.len());
    for plan in &plans {
        meshes.push(reader.mesh(plan, vrm.as_ref(), head, turn, &mut notes)?);
    }
    for joint in joints.iter_mut().filter(|joint| joint.role != JointRole::Head) {
        joint.carries = reader.carried(&plans, joint.node)?;
    }
    let skin = find_skin(&meshes);
    let units = noted_units(&document).unwrap_or_else(|| units::of_rig(&meshes[skin], &joints));
    let factor = units.metres_per_unit;
    meshes.iter_mut().for_each(|mesh| scale(mesh, factor));
    joints.iter_mut().for_each(|joint| joint.position *= factor);
    let to_rig = DAffine3::from_scale(DVec3::splat(factor)) * turn;
    let takes = takes::read(&reader, &plans, &meshes, skin, &joints, to_rig, limits, &mut notes)?;
    let expressions = vrm.map_or_else(Vec::new, |vrm| vrm.expressions(&plans, &mut notes));
    let name =
        document.path().file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Rig {
        name,
        meshes,
        skin,
        expressions,
        joints,
        takes,
        units,
        notes,
        source: Source::Gltf(Box::new(document)),
    })
}

/// The unit that an earlier export stored in the file: replaced shapes no longer reveal it.
fn noted_units(document: &Document) -> Option<Units> {
    let noted = document.json.pointer(UNIT_PLACE)?.as_f64()?;
    let reason = "an earlier export noted it in the file".into();
    (noted > 0.0 && noted.is_finite()).then_some(Units { metres_per_unit: noted, reason })
}

/// The rotation that makes the face look towards +Z.
pub(super) fn facing(vrm: Option<&Vrm>, notes: &mut Vec<String>) -> DAffine3 {
    if vrm.is_some_and(|vrm| vrm.faces_backwards) {
        notes.push("the avatar is VRM 0.x, which looks towards −Z, and was turned to +Z".into());
        return DAffine3::from_quat(DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0));
    }
    DAffine3::IDENTITY
}

fn scale(mesh: &mut RigMesh, factor: f64) {
    if factor == 1.0 {
        return;
    }
    let scaled = |v: &mut Vec3| *v = (v.as_dvec3() * factor).as_vec3();
    mesh.positions.iter_mut().for_each(scaled);
    mesh.shapes.iter_mut().flat_map(|shape| &mut shape.deltas.offsets).for_each(scaled);
    mesh.to_rig = DAffine3::from_scale(DVec3::splat(factor)) * mesh.to_rig;
    mesh.quantum = (f64::from(mesh.quantum) * factor) as f32;
}

/// A document with everything that is needed to read its meshes and animations.
pub(super) struct Reader<'a> {
    pub(super) document: &'a Document,
    pub(super) schema: &'a Schema,
    pub(super) tree: &'a Tree,
    pub(super) accessors: &'a Accessors<'a>,
}

impl Reader<'_> {
    /// The vertices of every mesh that a node moves.
    fn carried(&self, plans: &[MeshPlan], node: usize) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        for (mesh, plan) in plans.iter().enumerate() {
            let vertices = skinning::carried(self.schema, self.tree, self.accessors, plan, node)?;
            carried.extend((!vertices.is_empty()).then_some(Carried { mesh, vertices }));
        }
        Ok(carried)
    }

    pub(super) fn mesh(
        &self,
        plan: &MeshPlan,
        vrm: Option<&Vrm>,
        head: Option<usize>,
        turn: DAffine3,
        notes: &mut Vec<String>,
    ) -> Result<RigMesh> {
        let in_scene =
            skinning::bind_transform(self.document, self.schema, self.tree, self.accessors, plan, head)?;
        let to_rig = turn * in_scene;
        let positions = self.positions(plan, &to_rig)?;
        let mut triangles = surface::triangles(self.document, self.schema, self.accessors, plan)?;
        if to_rig.matrix3.determinant() < 0.0 {
            // Mirroring flips the winding, so it is flipped back.
            triangles.iter_mut().for_each(|[_, b, c]| std::mem::swap(b, c));
        }
        let shapes = self.shapes(plan, vrm, to_rig.matrix3, notes)?;
        let quantum = self.quantum(plan, &positions, to_rig.matrix3);
        self.note_default_weights(plan, &shapes, notes);
        Ok(RigMesh {
            name: plan.name.clone(),
            faces: Faces::from_triangles(&triangles),
            uvs: surface::uvs(self.document, self.schema, self.accessors, plan)?,
            regions: regions(&self.schema.meshes[plan.mesh].extras, positions.len()),
            positions,
            shapes,
            to_rig,
            quantum,
        })
    }

    fn positions(&self, plan: &MeshPlan, to_rig: &DAffine3) -> Result<Vec<Vec3>> {
        let mut positions = Vec::with_capacity(plan.vertex_count());
        for block in &plan.blocks {
            let given = self.accessors.vectors::<3>(block.positions, Some(block.vertices.len()))?;
            for (vertex, position) in block.vertices.clone().zip(given) {
                let position = to_rig.transform_point3(Vec3::from(position).as_dvec3()).as_vec3();
                if !position.is_finite() {
                    let problem =
                        format!("vertex {vertex} of mesh \"{}\" is not at a finite position", plan.name);
                    return Err(self.document.malformed(problem));
                }
                positions.push(position);
            }
        }
        Ok(positions)
    }

    fn shapes(
        &self,
        plan: &MeshPlan,
        vrm: Option<&Vrm>,
        linear: DMat3,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Shape>> {
        let from_vrm = vrm.map(|vrm| vrm.shape_names(plan)).unwrap_or_default();
        let mesh = &self.schema.meshes[plan.mesh];
        let otherwise = |index: usize| from_vrm.get(&index).cloned();
        let names = names::shape_names(mesh, &plan.name, plan.targets, otherwise, notes);
        let shape = |(index, name): (usize, String)| {
            Ok(Shape { deltas: self.deltas(plan, index, &name, linear)?, name })
        };
        names.into_iter().enumerate().map(shape).collect()
    }

    fn deltas(&self, plan: &MeshPlan, shape: usize, name: &str, linear: DMat3) -> Result<SparseDeltas> {
        let mut deltas = SparseDeltas::default();
        for block in &plan.blocks {
            let Some(accessor) = block.targets[shape] else { continue };
            for (place, offset) in self.accessors.nonzero::<3>(accessor, block.vertices.len())? {
                let vertex = block.vertices.start as u32 + place;
                let offset = (linear * Vec3::from(offset).as_dvec3()).as_vec3();
                if !offset.is_finite() {
                    return Err(self.document.malformed(format!(
                        "shape \"{name}\" of mesh \"{}\" moves vertex {vertex} by a distance that is not finite",
                        plan.name
                    )));
                }
                deltas.vertices.push(vertex);
                deltas.offsets.push(offset);
            }
        }
        Ok(deltas)
    }

    /// The smallest step of the positions: integer positions are quantised; floats are exact to about a millionth of the mesh.
    fn quantum(&self, plan: &MeshPlan, positions: &[Vec3], linear: DMat3) -> f32 {
        let steps = plan.blocks.iter().filter_map(|block| self.accessors.step(block.positions));
        let stretch = [linear.x_axis, linear.y_axis, linear.z_axis].map(DVec3::length);
        let stretch = stretch.into_iter().fold(0.0, f64::max);
        let quantised = steps.reduce(f64::max).map_or(0.0, |step| step * stretch);
        let floats = 1e-6 * f64::from(extent(positions).max_element());
        quantised.max(floats).max(1e-9) as f32
    }

    /// Notes default weights that are not zero: the neutral is the mesh with every weight at zero.
    fn note_default_weights(&self, plan: &MeshPlan, shapes: &[Shape], notes: &mut Vec<String>) {
        let node = &self.schema.nodes[plan.node].weights;
        let weights = if node.is_empty() { &self.schema.meshes[plan.mesh].weights } else { node };
        let raised = shapes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0);
        let raised: Vec<&str> = raised.map(|(shape, _)| shape.name.as_str()).collect();
        if let Some(first) = raised.first() {
            notes.push(format!(
                "mesh \"{}\" opens with {} raised shapes (\"{first}\" first); its neutral here has none raised",
                plan.name,
                raised.len()
            ));
        }
    }
}

/// Size of the box around points; zero for none.
pub(super) fn extent(points: &[Vec3]) -> Vec3 {
    let low = points.iter().copied().reduce(Vec3::min).unwrap_or(Vec3::ZERO);
    let high = points.iter().copied().reduce(Vec3::max).unwrap_or(Vec3::ZERO);
    high - low
}

/// Named vertex ranges, as [`write_rig`](super::write_rig) leaves them in a mesh's extras.
fn regions(extras: &Value, vertex_count: usize) -> Vec<Region> {
    let entries = extras.get("regions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let region = |entry: &Value| {
        let number = |key: &str| usize::try_from(entry.get(key)?.as_u64()?).ok();
        let vertices = number("start")?..number("end")?;
        let fits = vertices.start <= vertices.end && vertices.end <= vertex_count;
        fits.then_some(Region { name: entry.get("name")?.as_str()?.to_owned(), vertices })
    };
    entries.iter().filter_map(region).collect()
}

/// The joint with a role.
pub(super) fn joint_of(joints: &[Joint], role: JointRole) -> Option<&Joint> {
    joints.iter().find(|joint| joint.role == role)
}
