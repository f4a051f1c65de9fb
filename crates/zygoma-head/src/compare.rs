//! Compares the shapes of the built-in head with those of other rigs: how far, and which way, they move the skin.
//!
//! A rig's skin is brought to the built-in head's size and pose by a similarity; each vertex of the built-in skin then takes the
//! displacement of its partner on the rig, so that all displacement fields live on the same vertices.

use std::collections::HashMap;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::similarity::{Similarity, fit_similarity};
use zygoma_rig::{Rig, RigMesh, arkit};

use crate::base::Part;
use crate::fit::{FitError, FitInput, Registration};
use crate::template::Template;
use crate::{Head, Level};

/// Partners farther apart than this, in metres of the built-in head, are no partners.
const FARTHEST: f64 = 0.015;
/// Least cosine between the normals of partners.
const AGREEMENT: f64 = 0.3;

/// How partners on a rig are found after the similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partners {
    /// The closest point: a mouth that sits lower has other partners.
    Closest,
    /// The point to which [`Registration`] carries the vertex: lip on lip, lid on lid.
    Registered,
}

/// A displacement field on the vertices of the built-in skin at [`Level::High`], in metres; `None` without a partner.
pub type Field = Vec<Option<DVec3>>;

/// The shapes of a rig on the vertices of the built-in skin.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Name, largest displacement of the rig's skin in metres at the built-in head's size, and field of each shape.
    pub shapes: Vec<(&'static str, f64, Field)>,
    /// The rig's size over the built-in head's.
    pub scale: f64,
}

impl Carried {
    /// The largest displacement and the field of a shape.
    pub fn shape(&self, name: &str) -> Option<(f64, &Field)> {
        self.shapes.iter().find(|(shape, ..)| *shape == name).map(|(_, largest, field)| (*largest, field))
    }
}

/// The built-in skin that fields are compared on: outer skin and the red of the lips.
pub struct Canvas {
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
    /// Area around each vertex, in square metres; 0 inside mouth and eye sockets.
    areas: Vec<f64>,
    /// Vertices of the face, which decide the similarity.
    face: Vec<usize>,
}

impl Default for Canvas {
    fn default() -> Self {
        let base = &Template::of(Level::High).base;
        let positions: Vec<DVec3> = base.rest.iter().map(|p| *p / 1e3).collect();
        let is_skin = |v: usize| matches!(base.parts[v], Part::Outer | Part::UpperLip | Part::LowerLip);
        let mut areas = vec![0.0; positions.len()];
        for t in &base.triangles {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
        }
        (0..areas.len()).filter(|v| !is_skin(*v)).for_each(|v| areas[v] = 0.0);
        let normals = normals(&positions, &base.triangles);
        let is_face = |v: &usize| areas[*v] > 0.0 && base.rest[*v].z > 30.0 && base.rest[*v].y > -95.0;
        let face = (0..positions.len()).filter(is_face).collect();
        Self { positions, normals, areas, face }
    }
}

fn normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let single: Vec<Vec3> = positions.iter().map(|p| p.as_vec3()).collect();
    vertex_normals(&single, triangles).iter().map(|n| n.as_dvec3()).collect()
}

impl Canvas {
    /// The shapes of the built-in head itself, which must be at [`Level::High`].
    pub fn built_in(&self, head: &Head) -> Carried {
        let skin = |offsets: &[DVec3]| {
            let one = |(offset, area): (&DVec3, &f64)| (*area > 0.0).then_some(*offset);
            offsets.iter().zip(&self.areas).map(one).collect::<Field>()
        };
        let shape = |name: &&'static str| {
            let (_, offsets) = head.skin.shapes.iter().find(|(shape, _)| shape == name)?;
            let field = skin(offsets);
            Some((*name, largest(&field), field))
        };
        Carried { shapes: arkit::SHAPES.iter().filter_map(shape).collect(), scale: 1.0 }
    }

    /// Carries the shapes of a rig to the built-in skin.
    pub fn carry(&self, rig: &Rig, partners: Partners) -> Result<Carried, FitError> {
        let mesh = rig.skin();
        let positions: Vec<DVec3> = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
        let triangles = mesh.faces.triangles();
        let inner: Vec<(Vec<DVec3>, Vec<[u32; 3]>)> = (rig.meshes.iter().enumerate())
            .filter(|(i, _)| *i != rig.skin)
            .map(|(_, mesh)| (mesh.positions.iter().map(|p| p.as_dvec3()).collect(), mesh.faces.triangles()))
            .collect();
        let inner: Vec<(&[DVec3], &[[u32; 3]])> = inner.iter().map(|(p, t)| (&p[..], &t[..])).collect();
        let registration =
            Registration::new(&FitInput { inner: &inner, ..FitInput::new(&positions, &triangles) })?;
        let (registered, to_mesh) = registration.registered();
        let registered: Vec<DVec3> = registered.iter().map(|p| to_mesh.apply(*p)).collect();
        let chosen = |all: &[DVec3]| self.face.iter().map(|v| all[*v]).collect::<Vec<DVec3>>();
        let back = fit_similarity(&chosen(&registered), &chosen(&self.positions));

        let visible = registration.visible();
        let triangles: Vec<[u32; 3]> = (triangles.into_iter())
            .filter(|t| t.iter().all(|v| visible.contains(&bits(positions[*v as usize]))))
            .collect();
        let aligned: Vec<DVec3> = positions.iter().map(|p| back.apply(*p)).collect();
        let starts: Vec<DVec3> = match partners {
            Partners::Closest => self.positions.clone(),
            Partners::Registered => registered.iter().map(|p| back.apply(*p)).collect(),
        };
        let partners = self.partners(&aligned, &triangles, &starts);
        let shapes = shapes_of(mesh, &back).into_par_iter().map(|(name, offsets)| {
            let seen = triangles.iter().flatten().map(|v| offsets[*v as usize].length());
            let at = |partner: &Option<Partner>| {
                let (t, weights) = (*partner)?;
                Some((0..3).map(|k| weights[k] * offsets[triangles[t][k] as usize]).sum())
            };
            (name, seen.fold(0.0, f64::max), partners.iter().map(at).collect())
        });
        Ok(Carried { shapes: shapes.collect(), scale: 1.0 / back.scale })
    }

    fn partners(&self, aligned: &[DVec3], triangles: &[[u32; 3]], starts: &[DVec3]) -> Vec<Option<Partner>> {
        let Some(search) = IcpTarget::new(aligned, triangles) else { return vec![None; starts.len()] };
        let normals = normals(aligned, triangles);
        let partner = |v: usize| {
            if self.areas[v] == 0.0 {
                return None;
            }
            let hit = search.closest(starts[v])?;
            let t = hit.triangle as usize;
            let normal: DVec3 = (0..3).map(|k| hit.barycentric[k] * normals[triangles[t][k] as usize]).sum();
            let agrees = normal.dot(self.normals[v]) > AGREEMENT && hit.point.distance(starts[v]) < FARTHEST;
            agrees.then_some((t, hit.barycentric))
        };
        (0..starts.len()).into_par_iter().map(partner).collect()
    }

    /// The cosine between two fields, Σ a·b / √(Σ a² Σ b²), over the area where both are known: 1 if they are the same up to a
    /// factor.
    pub fn cosine(&self, a: &Field, b: &Field) -> f64 {
        let mut sums = [0.0; 3];
        for ((a, b), area) in a.iter().zip(b).zip(&self.areas) {
            if let (Some(a), Some(b)) = (a, b) {
                sums[0] += area * a.dot(*b);
                sums[1] += area * a.length_squared();
                sums[2] += area * b.length_squared();
            }
        }
        sums[0] / (sums[1] * sums[2]).sqrt().max(1e-30)
    }
}

/// A triangle and a place in it.
type Partner = (usize, [f64; 3]);

fn largest(field: &Field) -> f64 {
    field.iter().flatten().map(|offset| offset.length()).fold(0.0, f64::max)
}

fn bits(p: DVec3) -> [u64; 3] {
    // Adding zero makes −0 and 0 equal.
    (p + 0.0).to_array().map(f64::to_bits)
}

/// The ARKit shapes of a mesh as offsets in the aligned frame; halves that ARKit does not split are put together.
fn shapes_of(mesh: &RigMesh, back: &Similarity) -> Vec<(&'static str, Vec<DVec3>)> {
    let mut found: HashMap<&'static str, Vec<DVec3>> = HashMap::new();
    for shape in &mesh.shapes {
        let Some(known) = arkit::recognise(&shape.name) else { continue };
        let offsets = found.entry(known.shape).or_insert_with(|| vec![DVec3::ZERO; mesh.positions.len()]);
        for (v, offset) in shape.deltas.iter() {
            offsets[v as usize] += back.scale * (back.rotation * offset.as_dvec3());
        }
    }
    let mut shapes: Vec<_> = found.into_iter().collect();
    shapes.sort_by_key(|(name, _)| *name);
    shapes
}
