//! Small faces with seeded damage, as broken exports, scans and scripts produce them.

use glam::{DAffine3, Vec3};
use zygoma_geometry::{Faces, shapes};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::random::Keyed;
use zygoma_rig::{Rig, RigMesh, Shape, Source, SparseDeltas, Units};

/// The stream of random numbers for fuzzing.
const FUZZ: u64 = 83;

/// The first inputs are small rigs, which the tests run.
pub(super) const SMALL_INPUTS: u64 = 64;

/// Height of a face before it is damaged, m.
const HEIGHT: f32 = 0.24;

/// Each shape's name, its centre on a face one unit high, and the displacement there.
const SHAPES: [(&str, [f32; 3], [f32; 3]); 4] = [
    ("jawOpen", [0.0, -0.4, 0.3], [0.0, -0.12, -0.03]),
    ("mouthSmileLeft", [0.15, -0.2, 0.4], [0.05, 0.05, 0.0]),
    ("eyeBlinkRight", [-0.2, 0.15, 0.4], [0.0, -0.04, 0.02]),
    ("cheekPuff", [0.25, -0.1, 0.35], [0.04, 0.0, 0.05]),
];

/// A rig and the names of the damage done to it.
pub(super) struct DamagedRig {
    pub(super) rig: Rig,
    pub(super) damages: Vec<&'static str>,
}

/// A sequence of random numbers.
pub(super) struct Dice {
    random: Keyed,
    drawn: u64,
}

impl Dice {
    pub(super) fn new(input: u64) -> Self {
        Self { random: Keyed::new(input, FUZZ), drawn: 0 }
    }

    /// A number from 0 to 1.
    fn number(&mut self) -> f32 {
        self.drawn += 1;
        self.random.uniform(self.drawn) as f32
    }

    /// An integer below a count that is not 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        ((f64::from(self.number()) * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A vector whose components are from -1 to 1.
    fn vector(&mut self) -> Vec3 {
        2.0 * Vec3::new(self.number(), self.number(), self.number()) - 1.0
    }
}

type Damage = fn(&mut RigMesh, &mut Dice);

/// Every kind of damage.
pub(super) const DAMAGES: [(&str, Damage); 18] = [
    ("holes", |mesh, dice| {
        let fraction = 0.3 * dice.number();
        edit(mesh, |triangles| triangles.retain(|_| dice.number() > fraction));
    }),
    ("doubles", |mesh, dice| {
        edit(mesh, |triangles| {
            for _ in 0..1 + dice.below(60) {
                let double = triangles.get(dice.below(triangles.len())).copied();
                triangles.extend(double);
            }
        });
    }),
    ("both sides", |mesh, _| {
        edit(mesh, |triangles| {
            let backs: Vec<[u32; 3]> = triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect();
            triangles.extend(backs);
        });
    }),
    ("flips", |mesh, dice| {
        let fraction = 0.6 * dice.number();
        edit(mesh, |triangles| {
            triangles.iter_mut().filter(|_| dice.number() < fraction).for_each(|t| t.swap(1, 2));
        });
    }),
    ("islands", |mesh, dice| {
        for _ in 0..1 + dice.below(8) {
            let base = mesh.positions.len() as u32;
            let centre = HEIGHT * dice.vector();
            let size = HEIGHT * 0.2 * dice.number();
            mesh.positions.extend((0..3).map(|_| centre + size * dice.vector()));
            edit(mesh, |triangles| triangles.push([base, base + 1, base + 2]));
        }
    }),
    ("fins", |mesh, dice| {
        for _ in 0..1 + dice.below(5) {
            let triangles = mesh.faces.triangles();
            let Some([a, b, _]) = triangles.get(dice.below(triangles.len())).copied() else { return };
            let tip = mesh.positions.len() as u32;
            mesh.positions.push(mesh.positions[a as usize] + 0.1 * HEIGHT * dice.vector());
            edit(mesh, |triangles| triangles.push([a, b, tip]));
        }
    }),
    ("slivers", |mesh, dice| {
        for _ in 0..1 + dice.below(20) {
            let triangles = mesh.faces.triangles();
            let Some([a, b, c]) = triangles.get(dice.below(triangles.len())).copied() else { return };
            let t = dice.number();
            let on_edge = mesh.positions[a as usize].lerp(mesh.positions[b as usize], t);
            mesh.positions[c as usize] = on_edge + 1e-6 * HEIGHT * dice.vector();
        }
    }),
    ("coincident points", |mesh, dice| {
        let fraction = 0.4 * dice.number();
        let place = mesh.positions.get(dice.below(mesh.positions.len())).copied().unwrap_or_default();
        mesh.positions.iter_mut().filter(|_| dice.number() < fraction).for_each(|p| *p = place);
    }),
    ("split vertices", |mesh, _| {
        let triangles = mesh.faces.triangles();
        let corners: Vec<u32> = triangles.into_iter().flatten().collect();
        keep_vertices(mesh, &corners);
        let count = mesh.positions.len() as u32;
        let own: Vec<[u32; 3]> = (0..count / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        mesh.faces = Faces::from_triangles(&own);
    }),
    ("lines for triangles", |mesh, dice| {
        let fraction = 0.1 * dice.number();
        edit(mesh, |triangles| {
            triangles.iter_mut().filter(|_| dice.number() < fraction).for_each(|t| t[2] = t[1]);
        });
    }),
    ("huge", |mesh, dice| scale(mesh, 10f32.powf(1.0 + 7.0 * dice.number()))),
    ("tiny", |mesh, dice| scale(mesh, 10f32.powf(-1.0 - 7.0 * dice.number()))),
    ("flat", |mesh, dice| {
        let axis = dice.below(3);
        mesh.positions.iter_mut().for_each(|p| p[axis] = 0.0);
    }),
    ("a far vertex", |mesh, dice| {
        let vertex = dice.below(mesh.positions.len());
        let far = HEIGHT * 10f32.powf(6.0 * dice.number());
        if let Some(position) = mesh.positions.get_mut(vertex) {
            *position += far * dice.vector();
        }
    }),
    ("few triangles", |mesh, dice| {
        let count = dice.below(6);
        edit(mesh, |triangles| {
            let start = dice.below(triangles.len());
            *triangles = triangles.iter().skip(start).take(count).copied().collect();
        });
    }),
    ("one vertex", |mesh, _| {
        if !mesh.positions.is_empty() {
            keep_vertices(mesh, &[0]);
            mesh.faces = Faces::from_triangles(&[[0, 0, 0]]);
        }
    }),
    ("no shapes", |mesh, _| mesh.shapes.clear()),
    ("wild shapes", |mesh, dice| {
        let factor = 10f32.powf(4.0 * dice.number());
        for shape in &mut mesh.shapes {
            shape.deltas.offsets.iter_mut().for_each(|offset| *offset = factor * HEIGHT * dice.vector());
        }
    }),
];

/// The rig of an input: the same on every machine.
pub(super) fn damaged_rig(input: u64) -> DamagedRig {
    let mut dice = Dice::new(input);
    let mut mesh = sound_mesh(&mut dice, input < SMALL_INPUTS);
    let mut damages = Vec::new();
    // Each kind comes first in turn; others are added to it.
    let first = (input as usize) % (DAMAGES.len() + 1);
    let others = (0..dice.below(3)).map(|_| dice.below(DAMAGES.len())).collect::<Vec<_>>();
    for (name, damage) in DAMAGES.get(first).into_iter().chain(others.iter().map(|other| &DAMAGES[*other])) {
        damage(&mut mesh, &mut dice);
        damages.push(*name);
    }
    DamagedRig { rig: rig(mesh), damages }
}

/// A ball, a mask with a slit for a mouth or, occasionally, the built-in head, unless a small mesh is wanted.
fn sound_mesh(dice: &mut Dice, small: bool) -> RigMesh {
    let kind = dice.below(16);
    if kind == 0 && !small {
        let head = Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig();
        return RigMesh { uvs: None, ..head.skin().clone() };
    }
    let (unit, triangles) = if kind < 6 {
        shapes::sphere(6 + dice.below(12) as u32, 8 + dice.below(16) as u32)
    } else {
        mask(6 + dice.below(14) as u32)
    };
    let positions: Vec<Vec3> = unit.iter().map(|p| HEIGHT * *p).collect();
    let shape = |(name, at, by): (&str, [f32; 3], [f32; 3])| {
        let (at, by) = (Vec3::from_array(at), Vec3::from_array(by));
        let moved = |p: &Vec3| {
            let weight = (-(*p - at).length_squared() / 0.04).exp();
            if weight > 0.02 { HEIGHT * weight * by } else { Vec3::ZERO }
        };
        let dense: Vec<Vec3> = unit.iter().map(moved).collect();
        Shape { name: name.to_owned(), deltas: SparseDeltas::from_dense(&dense) }
    };
    let shapes = SHAPES.into_iter().map(shape).collect();
    RigMesh {
        name: "face".into(),
        positions,
        faces: Faces::from_triangles(&triangles),
        uvs: None,
        shapes,
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-6,
    }
}

/// Half an egg, one unit high, without the triangles where a mouth would be.
fn mask(cells: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (flat, triangles) = shapes::square(cells);
    let bent = |p: &Vec3| {
        let (x, y) = (p.x - 0.5, p.y - 0.5);
        Vec3::new(0.8 * x, y, 0.45 * (1.0 - 2.0 * x * x - y * y))
    };
    let is_mouth = |t: &[u32; 3]| {
        let middle = t.iter().map(|v| flat[*v as usize]).sum::<Vec3>() / 3.0;
        (middle.x - 0.5).abs() < 0.15 && (middle.y - 0.28).abs() < 0.04
    };
    let kept = triangles.iter().filter(|t| !is_mouth(t)).copied().collect();
    (flat.iter().map(bent).collect(), kept)
}

fn rig(mesh: RigMesh) -> Rig {
    Rig {
        name: "damaged".into(),
        meshes: vec![mesh],
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units: Units { metres_per_unit: 1.0, reason: "made for a test".into() },
        notes: Vec::new(),
        source: Source::Generated { texture: None },
    }
}

fn edit(mesh: &mut RigMesh, change: impl FnOnce(&mut Vec<[u32; 3]>)) {
    let mut triangles = mesh.faces.triangles();
    change(&mut triangles);
    mesh.faces = Faces::from_triangles(&triangles);
}

fn scale(mesh: &mut RigMesh, factor: f32) {
    mesh.positions.iter_mut().for_each(|p| *p *= factor);
    for shape in &mut mesh.shapes {
        shape.deltas.offsets.iter_mut().for_each(|offset| *offset *= factor);
    }
}

/// Keeps these vertices, in this order, with their displacements.
fn keep_vertices(mesh: &mut RigMesh, kept: &[u32]) {
    let count = mesh.positions.len();
    for shape in &mut mesh.shapes {
        let dense = shape.deltas.to_dense(count);
        let of_kept: Vec<Vec3> = kept.iter().map(|v| dense[*v as usize]).collect();
        shape.deltas = SparseDeltas::from_dense(&of_kept);
    }
    mesh.positions = kept.iter().map(|v| mesh.positions[*v as usize]).collect();
}
