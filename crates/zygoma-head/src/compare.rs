//! Compares the shapes of the built-in head with those of other rigs: how far, and which way, they move the skin.
//!
//! A rig's skin is brought to the built-in head's size and pose by a similarity; each vertex of the built-in skin then takes the
//! displacement of its partner on the rig, so that all displacement fields live on the same vertices.

use std::collections::HashMap;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::normals::{vertex_areas, vertex_normals};
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

/// A displacement field on the vertices of the built-in skin at [`Level::High`], in metres; `None` without a partner.
pub type Field = Vec<Option<DVec3>>;

/// A shape of the built-in head.
#[derive(Clone, Debug)]
pub struct OwnShape {
    /// ARKit's name.
    pub name: &'static str,
    /// Largest displacement of outer skin and lips, in metres.
    pub largest: f64,
    /// Its field.
    pub field: Field,
}

/// A shape of another rig on the vertices of the built-in skin.
#[derive(Clone, Debug)]
pub struct CarriedShape {
    /// ARKit's name.
    pub name: &'static str,
    /// Largest displacement of the rig's visible skin, in metres at the built-in head's size.
    pub largest: f64,
    /// Displacements of the points to which [`Registration`] carries the vertices: lip on lip, lid on lid.
    pub registered: Field,
    /// Displacements of the points closest to the vertices: a mouth that sits lower has other partners.
    pub closest: Field,
}

/// The shapes of a rig on the built-in skin.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Those of the 52 that the rig has, sorted by name.
    pub shapes: Vec<CarriedShape>,
    /// The rig's size over the built-in head's.
    pub scale: f64,
    /// The form of the neutral, at the rig's own size.
    pub form: Form,
}

/// Lengths of a neutral face, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// Height of the opening of the left eye.
    pub eye_height: f64,
    /// Distance between the corners of the left eye.
    pub eye_width: f64,
    /// Distance between the middles of both eyes' corners.
    pub eye_distance: f64,
    /// From the crown to the lowest point of the chin.
    pub head_height: f64,
    /// Distance between the corners of the mouth.
    pub mouth_width: f64,
    /// From the line between the lips to the lowest point of the chin.
    pub chin: f64,
}

impl Form {
    /// Measures a skin with the vertices of the built-in head at [`Level::High`].
    pub fn of(skin: &[DVec3]) -> Self {
        let places = &Template::of(Level::High).places;
        let mark = |i: usize| skin[places.landmarks[i] as usize];
        let [upper, lower] =
            [&places.lids[0].upper, &places.lids[0].lower].map(|lid| lid.iter().map(|v| skin[*v as usize]));
        let lower: Vec<DVec3> = lower.collect();
        let gap = |p: DVec3| lower.iter().map(|q| q.distance(p)).fold(f64::MAX, f64::min);
        let crown = skin.iter().map(|p| p.y).fold(f64::MIN, f64::max);
        Self {
            eye_height: upper.map(gap).fold(0.0, f64::max),
            eye_width: mark(42).distance(mark(45)),
            eye_distance: (0.5 * (mark(42) + mark(45))).distance(0.5 * (mark(36) + mark(39))),
            head_height: crown - mark(8).y,
            mouth_width: mark(48).distance(mark(54)),
            chin: (0.5 * (mark(62) + mark(66))).y - mark(8).y,
        }
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
        let mut areas = vertex_areas(&positions, &base.triangles);
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
    pub fn built_in(&self, head: &Head) -> Vec<OwnShape> {
        let shape = |name: &&'static str| {
            let (_, offsets) = head.skin.shapes.iter().find(|(shape, _)| shape == name)?;
            let of_skin = |(offset, area): (&DVec3, &f64)| (*area > 0.0).then_some(*offset);
            let field: Field = offsets.iter().zip(&self.areas).map(of_skin).collect();
            Some(OwnShape { name, largest: largest(&field), field })
        };
        arkit::SHAPES.iter().filter_map(shape).collect()
    }

    /// Carries the shapes of a rig to the built-in skin.
    pub fn carry(&self, rig: &Rig) -> Result<Carried, FitError> {
        let mesh = rig.skin();
        let positions: Vec<DVec3> = mesh.positions.iter().map(|p| p.as_dvec3()).collect();
        let triangles = mesh.faces.triangles();
        let others: Vec<(Vec<DVec3>, Vec<[u32; 3]>)> = (rig.meshes.iter().enumerate())
            .filter(|(i, _)| *i != rig.skin)
            .map(|(_, mesh)| (mesh.positions.iter().map(|p| p.as_dvec3()).collect(), mesh.faces.triangles()))
            .collect();
        let others: Vec<(&[DVec3], &[[u32; 3]])> = others.iter().map(|(p, t)| (&p[..], &t[..])).collect();
        let registration =
            Registration::new(&FitInput { others: &others, ..FitInput::new(&positions, &triangles) })?;
        let (registered, to_mesh) = registration.registered();
        let registered: Vec<DVec3> = registered.iter().map(|p| to_mesh.apply(*p)).collect();
        let chosen = |all: &[DVec3]| self.face.iter().map(|v| all[*v]).collect::<Vec<DVec3>>();
        let back = fit_similarity(&chosen(&registered), &chosen(&self.positions));

        let visible = registration.visible();
        let triangles: Vec<[u32; 3]> = (triangles.into_iter())
            .filter(|t| t.iter().all(|v| visible.contains(&bits(positions[*v as usize]))))
            .collect();
        let aligned: Vec<DVec3> = positions.iter().map(|p| back.apply(*p)).collect();
        let carried: Vec<DVec3> = registered.iter().map(|p| back.apply(*p)).collect();
        let [by_registration, closest] =
            [&carried, &self.positions].map(|starts| self.partners(&aligned, &triangles, starts));
        let shapes = shapes_of(mesh, &back).into_par_iter().map(|(name, offsets)| {
            let seen = triangles.iter().flatten().map(|v| offsets[*v as usize].length());
            let at = |partner: &Option<Partner>| {
                let (t, weights) = (*partner)?;
                Some((0..3).map(|k| weights[k] * offsets[triangles[t][k] as usize]).sum())
            };
            CarriedShape {
                name,
                largest: seen.fold(0.0, f64::max),
                registered: by_registration.iter().map(at).collect(),
                closest: closest.iter().map(at).collect(),
            }
        });
        Ok(Carried { shapes: shapes.collect(), scale: 1.0 / back.scale, form: Form::of(&registered) })
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
