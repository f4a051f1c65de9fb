//! Thin colliders that turn or deform far in one frame: they must push the skin ahead of them, not pass through it.

use zygoma_physics::contact::{ColliderMesh, ColliderShape, Pose};

use super::touching::spot;
use super::*;
use crate::body::Body;
use crate::contact::ColliderMotion;
use crate::shell::{RunParams, ShellBody};

const FRAME: f64 = 1.0 / 60.0;
/// Half of the thickness of the plates, m.
const HALF: f32 = 5e-4;

/// Axes of the skin at a landmark: up along the skin, outward, and sideways.
struct Place {
    at: Vec3,
    up: Vec3,
    out: Vec3,
    side: Vec3,
}

impl Place {
    fn cheek() -> Self {
        let (at, out) = spot("cheek-left");
        let up = (Vec3::Y - out.y * out).normalize();
        Self { at, up, out, side: up.cross(out) }
    }

    /// A rotation that takes X to `along`, Y to `normal` and Z sideways.
    fn rotation(&self, along: Vec3, normal: Vec3) -> glam::Quat {
        glam::Quat::from_mat3(&glam::Mat3::from_cols(along, normal, along.cross(normal)))
    }

    /// Vertices of the skin within 5 mm of the landmark at rest.
    fn near(&self) -> Vec<usize> {
        let (mesh, face) = &*FACE;
        let near = |v: &usize| mesh.positions[*v].distance(self.at) < 5e-3;
        face.skin.iter().map(|v| *v as usize).filter(near).collect()
    }
}

fn bodies() -> [Box<dyn Body>; 2] {
    let mut tissue = performing();
    tissue.settle();
    let mut shell = ShellBody::new(&FACE.1, RunParams::default().awake()).unwrap();
    shell.advance(FRAME);
    [Box::new(shell), Box::new(tissue)]
}

/// How far the skin near a place is on the wrong side of a plane, at worst, m: it should be below.
fn worst_above(body: &mut dyn Body, place: &Place, through: Vec3, normal: Vec3) -> f32 {
    let surface = body.advance(FRAME).positions.to_vec();
    let above = place.near().into_iter().map(|v| (surface[v] - through).dot(normal));
    above.fold(f32::NEG_INFINITY, f32::max)
}

/// A plate that turns by 60° in one frame about an axis above the cheek, and ends 6 mm below the skin.
#[test]
fn a_paddle_that_turns_through_the_cheek_takes_it_along() {
    let place = Place::cheek();
    let middle = place.at + 0.03 * place.out - 0.03 * place.up;
    let normal = |angle: f32| angle.cos() * place.out - angle.sin() * place.up;
    let pose = |angle: f32| {
        let along = angle.cos() * place.up + angle.sin() * place.out;
        Pose { rotation: place.rotation(along, normal(angle)), translation: middle }
    };
    let blade = ColliderShape::RoundedBox { half_extents: Vec3::new(0.05, 0.0, 0.02), radius: HALF };
    let [start, end] = [7.0f32, -53.0].map(f32::to_radians);
    let mut passed = Vec::new();
    for mut body in bodies() {
        let colliders = body.colliders_mut().unwrap();
        let touch = colliders.add(blade.clone(), pose(start), ColliderMotion::Kinematic);
        body.advance(FRAME);
        body.colliders_mut().unwrap().get_mut(touch).unwrap().pose = pose(end);
        body.advance(FRAME);
        let worst = (0..20).map(|_| worst_above(body.as_mut(), &place, middle, normal(end))).last().unwrap();
        println!("{}: {:.2} mm above the paddle", body.name(), 1e3 * worst);
        passed.extend((worst >= 0.0).then(|| body.name()));
    }
    assert!(passed.is_empty(), "the paddle has passed the skin of {passed:?}");
}

/// A plate as a mesh, `height` above the origin.
fn plate(place: &Place, height: f32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let corner = |i: usize| {
        let sign = |bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
        0.02 * sign(0) * place.up + (height + HALF * sign(1)) * place.out + 0.02 * sign(2) * place.side
    };
    let triangles = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ];
    let positions: Vec<Vec3> = (0..8).map(corner).collect();
    let volume: f32 = triangles
        .iter()
        .map(|t| {
            let [a, b, c] = t.map(|v: u32| positions[v as usize]);
            a.dot(b.cross(c))
        })
        .sum();
    let outward = |t: [u32; 3]| if volume > 0.0 { t } else { [t[0], t[2], t[1]] };
    (positions, triangles.map(outward).to_vec())
}

/// A plate whose vertices move by 26 mm in one frame, from 20 mm above the cheek to 6 mm below it.
#[test]
fn a_mesh_whose_vertices_move_through_the_cheek_takes_it_along_at_any_rate() {
    let place = Place::cheek();
    let (start, triangles) = plate(&place, 0.02);
    let (end, _) = plate(&place, -0.006);
    let mut passed = Vec::new();
    for rate in [20.0, 60.0, 144.0] {
        for mut body in bodies() {
            let mesh = ColliderMesh::new(start.clone(), triangles.clone()).unwrap();
            let shape = ColliderShape::Mesh(Box::new(mesh));
            let colliders = body.colliders_mut().unwrap();
            let touch = colliders.add(shape, Pose::at(place.at), ColliderMotion::Kinematic);
            body.advance(1.0 / rate);
            body.colliders_mut().unwrap().deform(touch, &end).unwrap();
            body.advance(1.0 / rate);
            let through = place.at - 0.006 * place.out;
            let worst = (0..20).map(|_| worst_above(body.as_mut(), &place, through, place.out)).last();
            let worst = worst.unwrap();
            println!("{} at {rate} Hz: {:.2} mm above the plate", body.name(), 1e3 * worst);
            // Beyond the far side of the plate.
            passed.extend((worst >= HALF).then(|| (body.name(), rate)));
        }
    }
    assert!(passed.is_empty(), "the plate has passed the skin of {passed:?}");
}
