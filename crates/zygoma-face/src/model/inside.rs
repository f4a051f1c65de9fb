//! The inside of a face, as far as it is known.

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};
use zygoma_head::anatomy::Anatomy;
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::{Rig, RigMesh};

use super::{Bones, FaceModel, FreePart, Lips, Teeth};

/// Where bones come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoneSource {
    /// Meshes of the rig.
    Rig,
    /// The rig is the built-in head, whose anatomy is known.
    BuiltIn,
    /// Those of the built-in head, fitted into this one.
    Fitted,
    /// None: the jaw's motion is estimated from the skin.
    #[default]
    None,
}

/// Jaw, bones, teeth and free parts of a face, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inside {
    /// The shapes that move the jaw ([`jaw_driven_shapes`](zygoma_rig::jaw::jaw_driven_shapes)).
    pub jaw_shapes: Vec<usize>,
    /// The skull.
    pub bones: Option<Bones>,
    /// Where the skull comes from.
    pub bone_source: BoneSource,
    /// The teeth.
    pub teeth: Option<Teeth>,
    /// Parts that no bone and no muscle holds.
    pub free_parts: Vec<FreePart>,
}

impl FaceModel {
    /// Finds bones, teeth and free parts of the rig that the face was made from.
    pub fn look_inside(&mut self, rig: &Rig) {
        let (bones, source) = match Bones::of_rig(rig) {
            Some(bones) => (Some(bones), BoneSource::Rig),
            None => built_in_bones(rig.skin()),
        };
        self.fill(rig, bones, source);
    }

    /// Finds the same where the rig is a built-in head with any dials.
    pub fn look_inside_head(&mut self, rig: &Rig, head: &Head) {
        let (bones, source) = bones_of_head(head, rig.skin());
        self.fill(rig, bones, source);
    }

    fn fill(&mut self, rig: &Rig, bones: Option<Bones>, bone_source: BoneSource) {
        self.inside.bones = bones;
        self.inside.bone_source = bone_source;
        self.inside.teeth = Teeth::of_rig(rig);
        self.inside.free_parts = FreePart::find(self);
    }

    /// The built-in head with its dials at rest, if this is its skin.
    pub(crate) fn built_in_head(&self) -> Option<Head> {
        match self.inside.bone_source {
            BoneSource::BuiltIn => built_in_head(&self.mesh, &self.neutral),
            _ => None,
        }
    }

    /// Flags the vertices of the whole mesh that no bone and no muscle holds.
    pub(crate) fn free_vertices(&self) -> Vec<bool> {
        FreePart::flags(&self.inside.free_parts, self.vertex_count())
    }

    /// Triangles of the upper and of the lower lip, between vertices of the whole mesh; none where no shape separates them.
    pub fn lip_triangles(&self) -> [Vec<[u32; 3]>; 2] {
        let lips = self.lips(&[]);
        let on_mesh = |t: &[u32; 3]| t.map(|point| lips.vertices[point as usize]);
        lips.triangles.each_ref().map(|triangles| triangles.iter().map(on_mesh).collect())
    }

    /// The lips, and which vertices of a coarse surface at some points of the skin belong to them.
    pub(crate) fn lips(&self, coarse: &[SurfacePoint]) -> Lips {
        Lips::find(self, &self.inside.jaw_shapes, coarse)
    }
}

impl Inside {
    /// A description of what was found, one sentence per line.
    pub fn lines(&self) -> Vec<String> {
        let bones = match self.bone_source {
            BoneSource::Rig => "the rig's own cranium and mandible carry the tissue",
            BoneSource::BuiltIn => "this is the built-in head: its cranium and mandible carry the tissue",
            BoneSource::Fitted => "cranium and mandible were fitted under the skin, and carry the tissue",
            BoneSource::None if self.jaw_shapes.is_empty() => {
                "the rig has neither bones nor a shape that moves the jaw: all tissue stays with the head"
            }
            BoneSource::None => {
                "the rig has no bones: the jaw's motion is found from the skin that it carries"
            }
        };
        let mut lines = vec![bones.to_owned()];
        if !self.free_parts.is_empty() {
            let names: Vec<&str> = self.free_parts.iter().map(|part| part.name.as_str()).collect();
            lines.push(format!("no bone and no shape holds {}: left free", names.join(", ")));
        }
        lines
    }
}

fn bones_of_head(head: &Head, skin: &RigMesh) -> (Option<Bones>, BoneSource) {
    let bones = Bones::among(&Anatomy::new(head).rig_meshes(head), skin);
    let source = if bones.is_some() { BoneSource::BuiltIn } else { BoneSource::None };
    (bones, source)
}

/// The bones of the built-in head with its dials at rest, if this is its skin. Heads with other dials have bones of their own if they
/// were written with their anatomy.
fn built_in_bones(skin: &RigMesh) -> (Option<Bones>, BoneSource) {
    match built_in_head(&skin.name, &skin.positions) {
        Some(head) => bones_of_head(&head, skin),
        None => (None, BoneSource::None),
    }
}

/// The built-in head with its dials at rest, if this is its skin.
pub(crate) fn built_in_head(name: &str, skin: &[Vec3]) -> Option<Head> {
    /// Largest rounding of positions in a file, m.
    const SAME: f32 = 1e-5;
    let level = [(Level::Low, 2_500..5_000), (Level::Middle, 5_000..10_000), (Level::High, 10_000..20_000)]
        .into_iter()
        .find(|(_, counts)| counts.contains(&skin.len()) && name == "skin")?
        .0;
    let head = Head::new(&HeadOptions { level, ..HeadOptions::default() });
    // A file may split vertices along texture seams, but keeps their positions.
    let positions: Vec<Vec3> = head.skin.positions.iter().map(|p| p.as_vec3()).collect();
    let triangles = &head.skin.triangles;
    let surface = TriangleTree::new(&positions, triangles);
    let is_on = |p: &Vec3| surface.closest(&positions, triangles, *p, SAME).is_some();
    skin.iter().all(is_on).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_numerics::Budget;

    #[test]
    fn a_built_in_head_has_bones_and_teeth_and_its_file_keeps_them() {
        let head = Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() });
        let rig = head.rig_with_texture(None);
        let face = FaceModel::of_rig(&rig, 600, &Budget::default()).unwrap();
        assert_eq!(face.inside.bone_source, BoneSource::BuiltIn);
        assert!(face.inside.bones.is_some() && face.inside.teeth.is_some());
        assert!(!face.inside.jaw_shapes.is_empty());
        assert!(!face.lips(&face.coarse.on_mesh).vertices.is_empty());
        assert_eq!(FaceModel::from_bytes(&face.to_bytes()).unwrap(), face);

        let mut mesh_only = FaceModel::new(&rig.name, rig.skin(), 600, &Budget::default()).unwrap();
        assert_eq!(mesh_only.inside.jaw_shapes, face.inside.jaw_shapes);
        assert!(mesh_only.inside.bones.is_none());
        mesh_only.look_inside_head(&rig, &head);
        assert_eq!(mesh_only, face);
    }

    #[test]
    fn an_inside_that_does_not_fit_its_face_is_refused() {
        let rig = Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig();
        let face = FaceModel::of_rig(&rig, 600, &Budget::default()).unwrap();
        let refused = |change: &dyn Fn(&mut Inside)| {
            let mut changed = face.clone();
            change(&mut changed.inside);
            FaceModel::from_bytes(&changed.to_bytes()).unwrap_err()
        };
        let part = |vertex: u32| FreePart { name: "ear".into(), vertices: vec![vertex] };
        let far = face.vertex_count() as u32;
        assert!(refused(&|inside| inside.free_parts = vec![part(far)]).contains("inside"));
        assert!(refused(&|inside| inside.jaw_shapes = vec![face.shapes.len()]).contains("inside"));
        let nowhere = |inside: &mut Inside| {
            inside.bones.as_mut().unwrap().cranium.positions[0].x = f64::NAN;
        };
        assert!(refused(&nowhere).contains("inside"));
    }
}
