//! One mesh that follows the skin.

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::fit_rigid_motion;

use super::find::{Part, Seat, Way};
use super::patch::{Patch, PatchSurface};
use crate::evaluate::Evaluator;
use crate::{Rig, RigMesh, Shape, SparseDeltas, arkit};

/// One mesh that follows the skin.
///
/// Its own shapes move it first. It then adds the motion of the skin beyond the shapes that both have: all of it for a mesh without
/// shapes, and only the motion added by physics for one that has them all.
#[derive(Clone, Debug)]
pub struct Rider {
    mesh: usize,
    parts: Vec<Part>,
    patch: Patch,
    /// The patch with the skin's shapes that the mesh has too.
    known: Evaluator,
    /// Those shapes, as indices into the skin's.
    shapes: Vec<usize>,
}

impl Rider {
    /// `None` if no part follows the skin.
    pub(super) fn new(rig: &Rig, mesh: usize, parts: &[Part]) -> Option<Self> {
        if parts.is_empty() {
            return None;
        }
        let skin = rig.skin();
        let patch = Patch::new(skin, parts.iter().flat_map(|part| &part.seats));
        let on_patch = |seat: &Seat| Seat { corners: patch.local(seat.corners), ..*seat };
        let parts = parts
            .iter()
            .map(|part| Part { seats: part.seats.iter().map(on_patch).collect(), ..part.clone() });
        let shapes = shared_shapes(skin, &rig.meshes[mesh]);
        Some(Self { mesh, parts: parts.collect(), known: evaluator(skin, &patch, &shapes), shapes, patch })
    }

    /// Index into [`Rig::meshes`].
    pub fn mesh(&self) -> usize {
        self.mesh
    }

    /// Moves the mesh along with the skin. `positions` are given by its own shapes and `skin` is the skin that is shown, both in rig
    /// space; `weights` are those of the skin's shapes.
    ///
    /// # Panics
    /// If the mesh, the skin or its shapes are not those of the rig.
    pub fn ride(&self, weights: &[f32], skin: &[Vec3], positions: &mut [Vec3]) {
        let weights: Vec<f32> = self.shapes.iter().map(|shape| weights[*shape]).collect();
        let mut from = vec![Vec3::ZERO; self.patch.vertices.len()];
        self.known.evaluate(&weights, &mut from);
        let to = self.patch.vertices.iter().map(|v| skin[*v as usize]).collect();
        let [from, to] = [from, to].map(|positions| self.patch.surface(positions));
        self.parts.iter().for_each(|part| part.ride(&from, &to, positions));
    }
}

impl Part {
    fn ride(&self, from: &PatchSurface, to: &PatchSurface, positions: &mut [Vec3]) {
        if self.way == Way::Soft {
            for (vertex, seat) in self.vertices.iter().zip(&self.seats) {
                let position = &mut positions[*vertex as usize];
                *position = to.place(seat) + from.turn(seat, to) * (*position - from.place(seat));
            }
            return;
        }
        let places = |surface: &PatchSurface| -> Vec<DVec3> {
            self.seats.iter().map(|seat| surface.place(seat).as_dvec3()).collect()
        };
        let (from, to) = (places(from), places(to));
        if self.way == Way::Hanging {
            let shift = from.iter().zip(&to).map(|(from, to)| *to - *from).sum::<DVec3>();
            let shift = (shift / from.len().max(1) as f64).as_vec3();
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

/// Shapes of the skin that a mesh has as well, in any spelling in which one track of a take drives both.
fn shared_shapes(skin: &RigMesh, mesh: &RigMesh) -> Vec<usize> {
    let moves = || mesh.shapes.iter().filter(|shape| !shape.deltas.is_empty());
    let known = |name: &str| arkit::recognise(name).map(|found| found.shape);
    let same = |a: &str, b: &str| {
        arkit::bare_key(a) == arkit::bare_key(b) || known(a).is_some_and(|shape| Some(shape) == known(b))
    };
    let has = |name: &str| moves().any(|shape| same(&shape.name, name));
    (0..skin.shapes.len()).filter(|shape| has(&skin.shapes[*shape].name)).collect()
}

/// A patch of the skin with some of its shapes.
fn evaluator(skin: &RigMesh, patch: &Patch, shapes: &[usize]) -> Evaluator {
    let places = patch.places();
    let on_patch = |shape: &usize| {
        let Shape { name, deltas } = &skin.shapes[*shape];
        let own = deltas.iter().filter_map(|(v, offset)| Some((*places.get(&v)?, offset)));
        let (vertices, offsets) = own.unzip();
        Shape { name: name.clone(), deltas: SparseDeltas { vertices, offsets } }
    };
    Evaluator::of(
        patch.vertices.iter().map(|v| skin.positions[*v as usize]).collect(),
        &shapes.iter().map(on_patch).collect::<Vec<_>>(),
    )
}
