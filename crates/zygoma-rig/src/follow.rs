//! Meshes that ride on the skin: lashes, brows, beards, glasses and hats.
//!
//! A rig moves them with shapes of their own, or not at all. Where the skin is simulated, they have to go where it goes.
//! [`Followers`] finds them in the neutral; a [`Rider`] then moves its mesh from frame to frame.

use std::collections::BTreeMap;

use glam::{DVec3, Mat3, Vec3};
use zygoma_geometry::rigid::fit_rigid_motion;
use zygoma_geometry::topology::connected_parts;
use zygoma_geometry::triangle_tree::TriangleTree;

use crate::frames::Frames;
use crate::{Result, Rig, RigMesh};

/// A part whose vertices are all this near to the skin bends with it, as brows and short beards do; others, such as glasses,
/// stay as stiff as they are. A share of the height of the moving face: 1 cm on a life-size one. Ours.
const SOFT: f32 = 0.05;

/// A part that comes no nearer to the skin than this share of the height does not ride on it. Ours: a hat sits on hair.
const FARTHEST: f32 = 0.15;

/// A part larger than this many heights is no thing on a face but a body or a dress. Ours.
const LARGEST: f32 = 4.0;

/// A stiff part turns with the skin that it sits on if that is at least this share of its size; a strand of hair, which hangs
/// from a spot, only moves along. Ours.
const SEAT: f32 = 0.3;

/// Words in the names of what lies inside a face and is moved by bones, not by the skin.
const INSIDE: [&str; 12] = [
    "eyeball", "cornea", "iris", "pupil", "sclera", "teeth", "tooth", "tongue", "gum", "mouth", "jaw",
    "socket",
];

/// The meshes of a rig that ride on its skin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followers {
    riders: Vec<Rider>,
}

/// One mesh that rides on the skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Rider {
    /// Index into [`Rig::meshes`].
    pub mesh: usize,
    /// Whether shapes of its own move it as the rig's skin moves: then it only adds what the skin does beyond the rig.
    has_shapes: bool,
    parts: Vec<Part>,
}

/// A connected part of a mesh.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    vertices: Vec<u32>,
    seats: Vec<Seat>,
    way: Way,
}

/// How a part follows its seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Every vertex with its own seat.
    Soft,
    /// As a whole.
    Stiff,
    /// As a whole, without turning.
    Hanging,
}

/// A place on the skin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seat {
    corners: [u32; 3],
    weights: [f32; 3],
}

/// The skin in a frame.
#[derive(Clone, Copy, Debug)]
pub struct SkinFrame<'a> {
    /// Its neutral.
    pub neutral: &'a [Vec3],
    /// The plain rig with the frame's weights.
    pub plain: &'a [Vec3],
    /// What is shown.
    pub shown: &'a [Vec3],
}

impl Followers {
    /// Finds the meshes that ride on a rig's skin.
    pub fn new(rig: &Rig) -> Self {
        let skin = rig.skin();
        let height = moving_height(skin);
        if height <= 0.0 {
            return Self::default();
        }
        let triangles = skin.faces.triangles();
        let tree = TriangleTree::new(&skin.positions, &triangles);
        let seat = |point: Vec3, within: f32| {
            let near = tree.closest(&skin.positions, &triangles, point, within)?;
            let seat = Seat { corners: triangles[near.triangle as usize], weights: near.barycentric };
            Some((near.distance, seat))
        };
        let others =
            rig.meshes.iter().enumerate().filter(|(index, mesh)| *index != rig.skin && !is_inside(mesh));
        let riders = others.filter_map(|(index, mesh)| {
            let parts: Vec<Part> =
                parts_of(mesh).into_iter().filter_map(|part| Part::new(mesh, part, height, &seat)).collect();
            let has_shapes = mesh.shapes.iter().any(|shape| !shape.deltas.vertices.is_empty());
            (!parts.is_empty()).then_some(Rider { mesh: index, has_shapes, parts })
        });
        Self { riders: riders.collect() }
    }

    /// The meshes that ride, in the order of the rig.
    pub fn riders(&self) -> &[Rider] {
        &self.riders
    }

    /// The rider that is a mesh of the rig.
    pub fn rider(&self, mesh: usize) -> Option<&Rider> {
        self.riders.iter().find(|rider| rider.mesh == mesh)
    }
}

impl Rider {
    /// Moves the mesh along with the skin. `positions` are where its own shapes have it, in rig space.
    pub fn ride(&self, skin: &SkinFrame<'_>, positions: &mut [Vec3]) {
        let from = if self.has_shapes { skin.plain } else { skin.neutral };
        for part in &self.parts {
            part.ride(from, skin.shown, positions);
        }
    }
}

/// Frames of a mesh that rides on simulated skin.
#[derive(Clone, Debug)]
pub struct Riding<'a, S, P, O> {
    rider: &'a Rider,
    neutral: &'a [Vec3],
    shown: S,
    plain: P,
    own: O,
    skin: [Vec<Vec3>; 2],
}

impl<'a, S: Frames, P: Frames, O: Frames> Riding<'a, S, P, O> {
    /// `shown` are the frames of the simulated skin, `plain` those of the rig's own, and `own` those of the mesh that rides as
    /// its own shapes have it.
    pub fn new(rig: &'a Rig, rider: &'a Rider, shown: S, plain: P, own: O) -> Self {
        let neutral = &rig.skin().positions;
        Self { rider, neutral, shown, plain, own, skin: [neutral.clone(), neutral.clone()] }
    }
}

impl<S: Frames, P: Frames, O: Frames> Frames for Riding<'_, S, P, O> {
    fn count(&self) -> usize {
        self.shown.count()
    }

    fn fps(&self) -> f64 {
        self.shown.fps()
    }

    fn vertex_count(&self) -> usize {
        self.own.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        let [shown, plain] = &mut self.skin;
        self.shown.read(frame, shown)?;
        self.plain.read(frame, plain)?;
        self.own.read(frame, positions)?;
        self.rider.ride(&SkinFrame { neutral: self.neutral, plain, shown }, positions);
        Ok(())
    }
}

impl Part {
    fn new(
        mesh: &RigMesh,
        vertices: Vec<u32>,
        height: f32,
        seat: &dyn Fn(Vec3, f32) -> Option<(f32, Seat)>,
    ) -> Option<Self> {
        let positions = || vertices.iter().map(|v| mesh.positions[*v as usize]);
        let size = size(positions());
        if size > LARGEST * height {
            return None;
        }
        let near: Vec<Option<(f32, Seat)>> =
            positions().map(|p| seat(p, (FARTHEST + SOFT) * height)).collect();
        let nearest = near.iter().flatten().map(|(distance, _)| *distance).reduce(f32::min)?;
        if nearest > FARTHEST * height {
            return None;
        }
        if near.iter().all(|found| found.is_some_and(|(distance, _)| distance <= SOFT * height)) {
            let seats = near.iter().flatten().map(|(_, seat)| *seat).collect();
            return Some(Self { vertices, seats, way: Way::Soft });
        }
        let sits = |found: &Option<(f32, Seat)>| {
            found.filter(|(distance, _)| *distance <= nearest + 0.5 * SOFT * height).map(|(_, seat)| seat)
        };
        let touching = positions().zip(&near).filter(|(_, found)| sits(found).is_some()).map(|(p, _)| p);
        let way = if self::size(touching) >= SEAT * size { Way::Stiff } else { Way::Hanging };
        Some(Self { seats: near.iter().filter_map(sits).collect(), vertices, way })
    }

    fn ride(&self, from: &[Vec3], to: &[Vec3], positions: &mut [Vec3]) {
        if self.way == Way::Soft {
            for (vertex, seat) in self.vertices.iter().zip(&self.seats) {
                let position = &mut positions[*vertex as usize];
                let turn = seat.frame(to) * seat.frame(from).transpose();
                *position = seat.place(to) + turn * (*position - seat.place(from));
            }
            return;
        }
        let places = |skin: &[Vec3]| -> Vec<DVec3> {
            self.seats.iter().map(|seat| seat.place(skin).as_dvec3()).collect()
        };
        let (from, to) = (places(from), places(to));
        if self.way == Way::Hanging {
            let shifts = from.iter().zip(&to).map(|(a, b)| *b - *a);
            let shift = (shifts.sum::<DVec3>() / from.len().max(1) as f64).as_vec3();
            self.vertices.iter().for_each(|v| positions[*v as usize] += shift);
            return;
        }
        let motion = fit_rigid_motion(&from, &to);
        for vertex in &self.vertices {
            let position = &mut positions[*vertex as usize];
            *position = motion.apply(position.as_dvec3()).as_vec3();
        }
    }
}

impl Seat {
    fn corners(&self, skin: &[Vec3]) -> [Vec3; 3] {
        self.corners.map(|v| skin[v as usize])
    }

    fn place(&self, skin: &[Vec3]) -> Vec3 {
        self.corners(skin).iter().zip(self.weights).map(|(corner, weight)| weight * *corner).sum()
    }

    /// Edge, normal and what is across them; the axes of space where the triangle has no area.
    fn frame(&self, skin: &[Vec3]) -> Mat3 {
        let [a, b, c] = self.corners(skin);
        let (Some(along), Some(normal)) = ((b - a).try_normalize(), (b - a).cross(c - a).try_normalize())
        else {
            return Mat3::IDENTITY;
        };
        Mat3::from_cols(along, normal, along.cross(normal))
    }
}

/// The height of what the shapes of a mesh move.
fn moving_height(mesh: &RigMesh) -> f32 {
    let largest = mesh.shapes.iter().map(|shape| shape.deltas.largest()).fold(0.0, f32::max);
    let strong = |(_, offset): &(u32, Vec3)| offset.length() > 0.1 * largest;
    let moved = mesh.shapes.iter().flat_map(|shape| shape.deltas.iter().filter(strong));
    let (low, high) = moved
        .map(|(vertex, _)| mesh.positions[vertex as usize].y)
        .fold((f32::MAX, f32::MIN), |(low, high), y| (low.min(y), high.max(y)));
    (high - low).max(0.0)
}

/// Whether a mesh's name says that it lies inside a face. A mesh that is called an eye is one, one that is called an eyelash is not.
fn is_inside(mesh: &RigMesh) -> bool {
    let name = mesh.name.to_lowercase();
    let around_eye = ["lash", "brow", "lid", "shadow", "liner", "glass", "wear", "gland"];
    let is_eye = name.contains("eye") && !around_eye.iter().any(|word| name.contains(word));
    is_eye || INSIDE.iter().any(|word| name.contains(word))
}

/// Vertices of the connected parts of a mesh.
fn parts_of(mesh: &RigMesh) -> Vec<Vec<u32>> {
    let triangles = mesh.faces.triangles();
    let (parts, _) = connected_parts(mesh.positions.len(), &triangles);
    let mut is_used = vec![false; mesh.positions.len()];
    triangles.iter().flatten().for_each(|v| is_used[*v as usize] = true);
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for vertex in (0..mesh.positions.len() as u32).filter(|v| is_used[*v as usize]) {
        found.entry(parts[vertex as usize]).or_default().push(vertex);
    }
    found.into_values().collect()
}

/// The diagonal of the box around some points.
fn size(points: impl Iterator<Item = Vec3>) -> f32 {
    let (low, high) = points
        .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), point| (low.min(point), high.max(point)));
    if low.x > high.x { 0.0 } else { low.distance(high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::StoredFrames;
    use crate::test_rigs::{mesh, rig_with_shapes};
    use crate::{Shape, SparseDeltas};
    use glam::{Quat, Vec2};

    /// A square of skin in the plane z = 0, 0.2 m wide.
    fn skin() -> RigMesh {
        let point = |i: u32| Vec3::new((i % 11) as f32 - 5.0, (i / 11) as f32 - 5.0, 0.0) * 0.02;
        let positions: Vec<Vec3> = (0..121).map(point).collect();
        let quad = |i: u32| [[i, i + 1, i + 12], [i, i + 12, i + 11]];
        let triangles: Vec<[u32; 3]> = (0..110).filter(|i| i % 11 < 10).flat_map(quad).collect();
        let deltas = SparseDeltas::from_dense(&positions.iter().map(|_| 0.01 * Vec3::X).collect::<Vec<_>>());
        let shapes = vec![Shape { name: "moves".into(), deltas }];
        RigMesh { shapes, ..mesh(positions, &triangles) }
    }

    /// A strip along x at some heights over the skin.
    fn strip(name: &str, heights: [f32; 3]) -> RigMesh {
        let at = |k: usize, y: f32| Vec3::new(0.03 * (k as f32 - 1.0), y, heights[k]);
        let positions: Vec<Vec3> = (0..3).flat_map(|k| [at(k, -0.01), at(k, 0.01)]).collect();
        RigMesh { name: name.into(), ..mesh(positions, &[[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]]) }
    }

    fn rig(others: Vec<RigMesh>) -> Rig {
        let mut rig = rig_with_shapes(&[]);
        rig.meshes = std::iter::once(skin()).chain(others).collect();
        rig.skin = 0;
        rig
    }

    #[test]
    fn what_lies_on_the_skin_turns_with_it_and_what_is_inside_does_not() {
        let rig = rig(vec![
            strip("brow", [0.002; 3]),
            strip("glasses", [0.002, 0.02, 0.002]),
            strip("h_teeth", [0.002; 3]),
            strip("far", [0.1; 3]),
        ]);
        let followers = Followers::new(&rig);
        assert_eq!(followers.riders().iter().map(|rider| rider.mesh).collect::<Vec<_>>(), [1, 2]);
        let neutral = &rig.skin().positions;
        let motion = |p: &Vec3| Quat::from_rotation_y(0.5) * *p + Vec3::new(0.0, 0.01, 0.02);
        let shown: Vec<Vec3> = neutral.iter().map(motion).collect();
        for rider in followers.riders() {
            let own = &rig.meshes[rider.mesh].positions;
            let mut positions = own.clone();
            rider.ride(&SkinFrame { neutral, plain: neutral, shown: &shown }, &mut positions);
            for (found, own) in positions.iter().zip(own) {
                assert!(found.distance(motion(own)) < 1e-5, "{found} {}", motion(own));
            }
        }
    }

    #[test]
    fn a_brow_bends_with_the_skin_and_glasses_stay_stiff() {
        let rig = rig(vec![strip("brow", [0.002; 3]), strip("glasses", [0.002, 0.02, 0.002])]);
        let followers = Followers::new(&rig);
        let neutral = &rig.skin().positions;
        let bent = |p: &Vec3| *p + 4.0 * Vec2::new(p.x, 0.0).length_squared() * Vec3::Z;
        let shown: Vec<Vec3> = neutral.iter().map(bent).collect();
        let ridden = |mesh: usize| {
            let mut positions = rig.meshes[mesh].positions.clone();
            let rider = followers.rider(mesh).unwrap();
            rider.ride(&SkinFrame { neutral, plain: neutral, shown: &shown }, &mut positions);
            positions
        };
        let bend = |p: &[Vec3]| p[0].z + p[4].z - 2.0 * p[2].z;
        let own = |mesh: usize| bend(&rig.meshes[mesh].positions);
        assert!(bend(&ridden(1)) - own(1) > 5e-3, "{}", bend(&ridden(1)));
        assert!((bend(&ridden(2)) - own(2)).abs() < 1e-4);
    }

    #[test]
    fn a_mesh_with_shapes_adds_only_what_is_simulated() {
        let mut lashes = strip("lashes", [0.002; 3]);
        lashes.shapes =
            vec![Shape { name: "moves".into(), deltas: SparseDeltas::from_dense(&[0.01 * Vec3::X; 6]) }];
        let rig = rig(vec![lashes]);
        let followers = Followers::new(&rig);
        let neutral = &rig.skin().positions;
        let plain: Vec<Vec3> = neutral.iter().map(|p| *p + 0.01 * Vec3::X).collect();
        let shown: Vec<Vec3> = plain.iter().map(|p| *p + 0.005 * Vec3::Z).collect();
        let own: Vec<Vec3> = rig.meshes[1].positions.iter().map(|p| *p + 0.01 * Vec3::X).collect();
        let frames = |positions: &[Vec3]| {
            let mut frames = StoredFrames::new(30.0, positions.len());
            frames.push(positions);
            frames
        };
        let mut positions = own.clone();
        let rider = &followers.riders()[0];
        let mut riding = Riding::new(&rig, rider, frames(&shown), frames(&plain), frames(&own));
        riding.read(0, &mut positions).unwrap();
        for (found, own) in positions.iter().zip(&own) {
            assert!(found.distance(*own + 0.005 * Vec3::Z) < 1e-6, "{found} {own}");
        }
    }
}
