//! The rig: meshes, blendshapes and their metadata.

use std::ops::Range;
use std::path::PathBuf;

use glam::{DAffine3, DVec3, Vec2, Vec3};
use zygoma_geometry::Faces;

use crate::formats::gltf::Document;
use crate::{Error, Result, Take};

/// A face as the artist made it: meshes in neutral pose with named blendshapes.
///
/// All positions are in *rig space*: metres, right-handed, +Y up, face towards +Z, every node transform
/// applied, skinned meshes in bind pose.
#[derive(Clone, Debug)]
pub struct Rig {
    /// The file's or folder's name without extension.
    pub name: String,
    /// Every mesh of the file, one per instance, in file order.
    pub meshes: Vec<RigMesh>,
    /// Which of `meshes` is the skin that is simulated; the others follow it.
    pub skin: usize,
    /// Named mixtures of shapes, as VRM files have them.
    pub expressions: Vec<Expression>,
    /// Head, jaw and eye joints found by name.
    pub joints: Vec<Joint>,
    /// Animations that came with the rig.
    pub takes: Vec<Take>,
    /// How the file's lengths became metres.
    pub units: Units,
    /// Notes on what the importer did or left out, as sentences.
    pub notes: Vec<String>,
    /// The source document or folder, kept so that the file can be written back whole.
    pub source: Source,
}

/// One mesh with its blendshapes.
#[derive(Clone, Debug)]
pub struct RigMesh {
    /// The name of the node or mesh.
    pub name: String,
    /// Neutral positions in rig space.
    pub positions: Vec<Vec3>,
    /// Polygons as the artist made them.
    pub faces: Faces,
    /// Texture coordinates, if any.
    pub uvs: Option<UvMap>,
    /// Blendshapes in file order.
    pub shapes: Vec<Shape>,
    /// Named ranges of vertices (ICT-FaceKit); empty where the file names none.
    pub regions: Vec<Region>,
    /// From the file's own mesh coordinates and unit to rig space.
    pub to_rig: DAffine3,
    /// The smallest step of the file's coordinates, in metres: positions closer than this are the same point.
    pub quantum: f32,
}

/// Texture coordinates, one per vertex or one per corner.
#[derive(Clone, Debug, PartialEq)]
pub struct UvMap {
    /// The coordinates, origin at the top left as in glTF.
    pub coordinates: Vec<Vec2>,
    /// For each corner of the faces the coordinate it uses; `None` when vertex `i` uses coordinate `i`.
    pub corners: Option<Vec<u32>>,
}

/// A named blendshape: displacements that are added to the neutral at weight 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The artist's name for it.
    pub name: String,
    /// The vertices that it moves, in rig space.
    pub deltas: SparseDeltas,
}

/// Displacements of the few vertices that move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseDeltas {
    /// Moved vertices, strictly increasing.
    pub vertices: Vec<u32>,
    /// Displacement of each moved vertex in metres.
    pub offsets: Vec<Vec3>,
}

/// A range of vertices that the file gives a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The name, e.g. "teeth".
    pub name: String,
    /// Its vertices.
    pub vertices: Range<usize>,
}

/// A named mixture of shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Its name, e.g. "happy".
    pub name: String,
    /// The shapes that it drives.
    pub binds: Vec<ExpressionBind>,
}

/// One shape's share of an [`Expression`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressionBind {
    /// Index into [`Rig::meshes`].
    pub mesh: usize,
    /// Index into that mesh's shapes.
    pub shape: usize,
    /// The shape's weight when the expression is at 1.
    pub weight: f32,
}

/// The role of a joint in a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointRole {
    /// Carries the whole head.
    Head,
    /// Carries the lower jaw.
    Jaw,
    /// Turns the left eye (the character's left, +X).
    LeftEye,
    /// Turns the right eye.
    RightEye,
}

/// A joint that was recognised by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Its role.
    pub role: JointRole,
    /// The file's name for it.
    pub name: String,
    /// Index of the node in the file.
    pub node: usize,
    /// Its rest position in rig space.
    pub position: DVec3,
    /// The vertices that a jaw or eye joint moves; empty for the head, which moves everything.
    pub carries: Vec<Carried>,
}

/// Vertices of a mesh that move with a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Index into [`Rig::meshes`].
    pub mesh: usize,
    /// The vertices, increasing, and the share of the joint's motion that each follows.
    pub vertices: Vec<(u32, f32)>,
}

/// How the file's lengths became metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Length of the file's unit in metres.
    pub metres_per_unit: f64,
    /// Why, as a clause: "the head is 0.24 units tall".
    pub reason: String,
}

/// The origin of a rig, with the data that an export needs to write it back whole.
#[derive(Clone, Debug)]
pub enum Source {
    /// A glTF document, kept as it was.
    Gltf(Box<Document>),
    /// A folder of OBJ files.
    ObjFolder(PathBuf),
    /// An ICT-FaceKit folder.
    Ict(PathBuf),
    /// Made by code.
    Generated {
        /// The image that the texture coordinates of all meshes refer to, as a PNG file.
        texture: Option<Vec<u8>>,
    },
}

impl std::fmt::Display for JointRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            JointRole::Head => "head",
            JointRole::Jaw => "jaw",
            JointRole::LeftEye => "left eye",
            JointRole::RightEye => "right eye",
        })
    }
}

impl Rig {
    /// The mesh that is simulated.
    pub fn skin(&self) -> &RigMesh {
        &self.meshes[self.skin]
    }

    /// The point that a joint turns about; for the head of a rig without joints, the middle of the skin's lower third.
    pub fn pivot(&self, role: JointRole) -> Option<DVec3> {
        if let Some(joint) = self.joints.iter().find(|joint| joint.role == role) {
            return Some(joint.position);
        }
        let positions = || self.skin().positions.iter().copied();
        let (low, high) =
            (positions().reduce(Vec3::min)?.as_dvec3(), positions().reduce(Vec3::max)?.as_dvec3());
        (role == JointRole::Head).then(|| low + (high - low) * DVec3::new(0.5, 1.0 / 3.0, 0.5))
    }

    /// Makes the mesh of this name the skin.
    pub fn choose_skin(&mut self, name: &str) -> Result<()> {
        match self.meshes.iter().position(|mesh| mesh.name == name) {
            Some(mesh) => self.skin = mesh,
            None => {
                let names: Vec<String> = self.meshes.iter().map(|mesh| format!("'{}'", mesh.name)).collect();
                let names = names.join(", ");
                return Err(Error::Request(format!(
                    "{}: no mesh is called '{name}'; there are {names}",
                    self.name
                )));
            }
        }
        Ok(())
    }
}

impl RigMesh {
    /// The blendshape with exactly this name.
    pub fn shape(&self, name: &str) -> Option<&Shape> {
        self.shapes.iter().find(|shape| shape.name == name)
    }

    /// The largest displacement of each vertex by any shape, m.
    pub fn farthest_moves(&self) -> Vec<f32> {
        let mut farthest = vec![0.0_f32; self.positions.len()];
        for shape in &self.shapes {
            for (vertex, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
                let place = &mut farthest[*vertex as usize];
                *place = place.max(offset.length());
            }
        }
        farthest
    }

    /// A hash that identifies the mesh: it changes with any vertex, polygon or shape, but not with how or where
    /// the file is stored.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::new();
        hash.add(bytemuck::cast_slice(&self.positions));
        hash.add(bytemuck::cast_slice(self.faces.corners()));
        for shape in &self.shapes {
            hash.add(shape.name.as_bytes());
            hash.add(bytemuck::cast_slice(&shape.deltas.vertices));
            hash.add(bytemuck::cast_slice(&shape.deltas.offsets));
        }
        hash.0
    }
}

/// The 64-bit FNV-1a hash of several runs of bytes.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        // The length separates neighbouring runs.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl SparseDeltas {
    /// Keeps the displacements that are not zero.
    pub fn from_dense(offsets: &[Vec3]) -> Self {
        let moved = (0u32..).zip(offsets).filter(|(_, offset)| **offset != Vec3::ZERO);
        let (vertices, offsets) = moved.map(|(vertex, offset)| (vertex, *offset)).unzip();
        Self { vertices, offsets }
    }

    /// One displacement per vertex.
    pub fn to_dense(&self, vertex_count: usize) -> Vec<Vec3> {
        let mut dense = vec![Vec3::ZERO; vertex_count];
        for (vertex, offset) in self.iter() {
            dense[vertex as usize] = offset;
        }
        dense
    }

    /// Moved vertices with their displacements.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, Vec3)> {
        self.vertices.iter().copied().zip(self.offsets.iter().copied())
    }

    /// Whether nothing moves.
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The largest displacement in metres.
    pub fn largest(&self) -> f32 {
        self.offsets.iter().map(|offset| offset.length()).fold(0.0, f32::max)
    }
}
