//! The built-in head of one person.

use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::Faces;
use zygoma_rig::{Joint, JointRole, Rig, RigMesh, Shape, Source, SparseDeltas, Units};

use crate::dials::{DialSettings, DialValues, Warp};
use crate::jaw::{JOINT, JawWeights};
use crate::landmarks::Places;
use crate::paint::{self, Palette, Texture};
use crate::parts::hair::{self, Hair};
use crate::parts::{self, Part};
use crate::template::Template;
use crate::{Level, takes, uv};

/// Millimetres of template space in a metre.
const METRE: f64 = 1000.0;

/// The parameters of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeadOptions {
    /// Seed of the dials that are not set; 0 leaves them at the template.
    pub seed: u64,
    /// Dials that are set.
    pub dials: DialSettings,
    /// The level of detail of its meshes.
    pub level: Level,
    /// Its hair; chosen by the seed if not given.
    pub hair: Option<Hair>,
}

impl HeadOptions {
    /// A head drawn at random.
    pub fn sampled(seed: u64, level: Level) -> Self {
        Self { seed, level, ..Self::default() }
    }
}

/// A mesh of the head with its shapes: metres, face to +Z.
#[derive(Clone, Debug)]
pub struct HeadMesh {
    /// Its name: "skin", "eye_left"…
    pub name: &'static str,
    /// Neutral positions.
    pub positions: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates of the triangles' corners.
    pub uvs: zygoma_rig::UvMap,
    /// Named displacements of all vertices; only the shapes that move the mesh.
    pub shapes: Vec<(String, Vec<DVec3>)>,
}

/// The built-in head of one person, at one level of detail.
#[derive(Clone, Debug)]
pub struct Head {
    /// The options that it was made from.
    pub options: HeadOptions,
    /// Its identity: the values of all dials.
    pub dials: DialValues,
    /// The warp from the template to this head.
    pub warp: Warp,
    /// The skin with its 52 shapes.
    pub skin: HeadMesh,
    /// Its hair style.
    pub hair: Hair,
    /// Eyes, lashes, brows, teeth, gums, tongue and hair.
    pub parts: Vec<HeadMesh>,
    /// For each skin vertex its mirror image.
    pub mirror: Vec<u32>,
    /// Landmarks, contours and regions of the skin.
    pub places: Places,
}

impl Head {
    /// Makes the head. The first head of a level also makes the level's template, which is then shared.
    pub fn new(options: &HeadOptions) -> Self {
        let template = Template::of(options.level);
        let dials = options.dials.resolved(options.seed);
        let warp = Warp::new(&dials);
        let base = &template.base;
        let skin_part = Part {
            name: "skin",
            positions: base.rest.clone(),
            triangles: base.triangles.clone(),
            uvs: uv::skin(base),
            shapes: template.shapes.iter().map(|s| (s.name.clone(), s.offsets.clone())).collect(),
        };
        let skin = warped(&skin_part, &warp, |v| template.softness[v]);
        let hair = options.hair.unwrap_or_else(|| Hair::sampled(options.seed));
        let parts = parts::all().iter().chain(hair::of_style(hair));
        let parts = parts.map(|part| warped(part, &warp, |_| part.softness())).collect();
        Self {
            options: *options,
            dials,
            warp,
            skin,
            hair,
            parts,
            mirror: base.mirror.clone(),
            places: template.places.clone(),
        }
    }

    /// The head as a rig: skin first, then the parts, with the built-in takes.
    pub fn rig(&self) -> Rig {
        self.rig_with_texture(self.texture().to_png())
    }

    /// [`rig`](Self::rig) with this PNG file as its texture: painting takes longer than everything else.
    pub fn rig_with_texture(&self, texture: Option<Vec<u8>>) -> Rig {
        let meshes = std::iter::once(&self.skin).chain(&self.parts).map(rig_mesh).collect();
        let eye = self.warp.left_eye().centre / METRE;
        let joint = |role, name: &str, node, position| {
            let carries = Vec::new();
            Joint { role, name: name.to_owned(), node, position, carries }
        };
        Rig {
            name: "head".to_owned(),
            meshes,
            skin: 0,
            expressions: Vec::new(),
            joints: vec![
                joint(
                    JointRole::Head,
                    "head",
                    0,
                    self.warp.apply(DVec3::new(0.0, -40.0, -20.0), 0.0) / METRE,
                ),
                joint(JointRole::Jaw, "jaw", 1, self.jaw_joint()),
                joint(JointRole::LeftEye, "eye_left", 2, eye),
                joint(JointRole::RightEye, "eye_right", 3, DVec3::new(-eye.x, eye.y, eye.z)),
            ],
            takes: takes::built_in_takes(),
            units: Units { metres_per_unit: 1.0, reason: "the head is made in metres".to_owned() },
            notes: Vec::new(),
            source: Source::Generated { texture },
        }
    }

    /// Radius of the eyeballs in metres.
    pub fn eye_radius(&self) -> f64 {
        self.warp.left_eye().scale * crate::sculpt::eyes::RADIUS / METRE
    }

    /// The painted texture that all meshes of the head share.
    pub fn texture(&self) -> Texture {
        paint::texture(&Palette::new(&self.dials, self.hair, self.options.seed))
    }

    /// Midpoint of the axis through both jaw joints; the axis runs along X.
    pub fn jaw_joint(&self) -> DVec3 {
        self.warp.apply(JOINT, 0.0) / METRE
    }

    /// The rigid motion of the lower jaw for a set of jaw weights, in metres.
    pub fn jaw_motion(&self, weights: &JawWeights) -> DAffine3 {
        let motion = weights.motion(1.0);
        let joint = self.jaw_joint();
        // The template's motion about its own joint, transferred to this head's.
        let glide = (motion.transform_point3(JOINT) - JOINT) / METRE;
        DAffine3::from_translation(joint + glide)
            * DAffine3::from_mat3(motion.matrix3)
            * DAffine3::from_translation(-joint)
    }
}

/// A template part on this head, in metres.
fn warped(part: &Part, warp: &Warp, softness: impl Fn(usize) -> f64 + Sync) -> HeadMesh {
    let carry = |v: usize, p: DVec3| warp.apply(p, softness(v)) / METRE;
    let rest: Vec<DVec3> = part.positions.par_iter().enumerate().map(|(v, p)| carry(v, *p)).collect();
    let opened = part.shapes.iter().find(|(name, _)| name == "jawOpen").map(|(_, offsets)| offsets);
    let shapes = part.shapes.par_iter().map(|(name, offsets)| {
        // The lips' seal is made over the open jaw, so that the two together stay sealed on every head.
        let from = opened.filter(|_| name == "mouthClose");
        let moved = offsets.iter().enumerate().map(|(v, offset)| {
            if *offset == DVec3::ZERO {
                return DVec3::ZERO;
            }
            let start = from.map_or(part.positions[v], |opened| part.positions[v] + opened[v]);
            let before = if from.is_some() { carry(v, start) } else { rest[v] };
            carry(v, start + *offset) - before
        });
        (name.clone(), moved.collect())
    });
    HeadMesh {
        name: part.name,
        shapes: shapes.collect(),
        positions: rest,
        triangles: part.triangles.clone(),
        uvs: part.uvs.clone(),
    }
}

fn rig_mesh(mesh: &HeadMesh) -> RigMesh {
    let single = |points: &[DVec3]| points.iter().map(|p| p.as_vec3()).collect::<Vec<Vec3>>();
    RigMesh {
        name: mesh.name.to_owned(),
        positions: single(&mesh.positions),
        faces: Faces::from_triangles(&mesh.triangles),
        uvs: Some(mesh.uvs.clone()),
        shapes: mesh
            .shapes
            .iter()
            .map(|(name, offsets)| Shape {
                name: name.clone(),
                deltas: SparseDeltas::from_dense(&single(offsets)),
            })
            .collect(),
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-7,
    }
}
