//! Finds the up axis: rig space has +Y up, and many programs have +Z.

use std::collections::BTreeMap;

use glam::{DAffine3, DMat3, DVec3, Vec3};
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::topology::{DisjointSets, EdgeCounts};

use crate::arkit::recognise;
use crate::weld::Weld;
use crate::{Rig, RigMesh, Source, units};

/// Which axis of a file points up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Up {
    /// +Y, with the face towards +Z, as glTF says.
    Y,
    /// +Z, with the face towards -Y, as in Blender, 3ds Max and Unreal.
    Z,
}

/// Shapes whose direction is well known: most of what they move goes down, or up.
const DOWN: [&str; 7] = [
    "jawOpen",
    "eyeBlinkLeft",
    "eyeBlinkRight",
    "browDownLeft",
    "browDownRight",
    "mouthLowerDownLeft",
    "mouthLowerDownRight",
];
const UP: [&str; 5] =
    ["browInnerUp", "browOuterUpLeft", "browOuterUpRight", "mouthUpperUpLeft", "mouthUpperUpRight"];

/// How many times farther along one axis than along the other shapes must move to show that it is up. Ours: a jaw that opens also goes back,
/// by less than half as far.
const CLEARLY: f64 = 2.0;

/// The note about a rig that was rotated.
pub const TURNED: &str =
    "the file has +Z up, and the rig was turned so that +Y is up; --up y or --up z overrides that";

impl Up {
    /// Finds the up axis of a rig: by well-known shapes, or without any by the proportions of a head or body; +Y if neither
    /// decides.
    pub fn of_rig(rig: &Rig) -> Self {
        match downwards(rig.skin()) {
            Some(down) if -down.z > CLEARLY * down.y.abs() => Up::Z,
            Some(_) => Up::Y,
            None => by_build(rig.skin()).unwrap_or(Up::Y),
        }
    }
}

/// A body is this many times as tall as deep, and a head with its neck at least that many times. Ours: heads of people are 1.25 to 1.4 times as
/// tall with the neck, and without it hardly taller than deep.
const BODY: f32 = 3.0;
const HEAD: f32 = 1.1;

/// Finds the up axis, Y or Z, by human proportions: left and right are alike, and the neck or the body is below the head. `None` if these do
/// not decide.
fn by_build(mesh: &RigMesh) -> Option<Up> {
    let low = mesh.positions.iter().copied().reduce(Vec3::min)?;
    let high = mesh.positions.iter().copied().reduce(Vec3::max)?;
    let size = high - low;
    if mesh.positions.len() < units::FINE || !is_mirrored(mesh, low, high) {
        return None;
    }
    let (taller, ratio) = if size.z > size.y { (Up::Z, size.z / size.y) } else { (Up::Y, size.y / size.z) };
    if ratio > BODY {
        return Some(taller);
    }
    let neck = neck(mesh)? - 0.5 * (low + high);
    let is_clear = match taller {
        Up::Y => -neck.y > CLEARLY as f32 * neck.z.abs(),
        Up::Z => -neck.z > CLEARLY as f32 * neck.y.abs(),
    };
    (is_clear && ratio > HEAD).then_some(taller)
}

/// Whether left and right are alike, along X.
fn is_mirrored(mesh: &RigMesh, low: Vec3, high: Vec3) -> bool {
    const LOOKED_AT: usize = 500;
    /// Tolerance as a fraction of the width: scans are noisy, and their vertices lie anywhere.
    const NEAR: f32 = 0.03;
    const MOST: f32 = 0.9;
    let triangles = mesh.faces.triangles();
    let tree = TriangleTree::new(&mesh.positions, &triangles);
    let (middle, width) = (low.x + high.x, high.x - low.x);
    let step = mesh.positions.len().div_ceil(LOOKED_AT).max(1);
    let looked_at = || mesh.positions.iter().step_by(step);
    let is_alike = |p: &&Vec3| {
        let mirrored = Vec3::new(middle - p.x, p.y, p.z);
        tree.closest(&mesh.positions, &triangles, mirrored, NEAR * width).is_some()
    };
    looked_at().filter(is_alike).count() as f32 > MOST * looked_at().count() as f32
}

/// The centre of the longest boundary loop of a mesh: a neck that was cut off.
fn neck(mesh: &RigMesh) -> Option<Vec3> {
    let weld = Weld::new(mesh);
    let border = EdgeCounts::new(&weld.triangles(mesh)).border();
    let positions = weld.gather(&mesh.positions);
    let mut sets = DisjointSets::new(positions.len());
    border.iter().for_each(|(a, b)| sets.join(*a, *b));
    let mut loops: BTreeMap<u32, (f32, Vec3)> = BTreeMap::new();
    for (a, b) in &border {
        let [p, q] = [a, b].map(|v| positions[*v as usize]);
        let (length, sum) = loops.entry(sets.find(*a)).or_default();
        *length += p.distance(q);
        *sum += p.distance(q) * 0.5 * (p + q);
    }
    let longest = loops.into_values().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (longest.0 > 0.0).then(|| longest.1 / longest.0)
}

/// The direction that is down according to well-known shapes; `None` if they do not decide.
fn downwards(mesh: &RigMesh) -> Option<DVec3> {
    let mut sum = DVec3::ZERO;
    for shape in &mesh.shapes {
        let Some(found) = recognise(&shape.name) else { continue };
        let sign = match found.shape {
            name if DOWN.contains(&name) => 1.0,
            name if UP.contains(&name) => -1.0,
            _ => continue,
        };
        let moved: DVec3 = shape.deltas.iter().map(|(_, by)| by.as_dvec3()).sum();
        sum += sign * moved.normalize_or_zero();
    }
    (sum.length() > 0.5).then_some(sum)
}

impl Rig {
    /// Rotates a rig whose file has +Z up so that +Y is up, and finds its unit again. Its document is unchanged.
    pub fn stand_up(&mut self) {
        // (x, y, z) becomes (x, z, -y): up goes to +Y and the face, which looks towards -Y, to +Z.
        let turn = DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y);
        self.transform(&DAffine3::from_mat3(turn), 1.0);
        if let Source::Gltf(document) = &mut self.source {
            document.turn = DAffine3::from_mat3(turn) * document.turn;
        }
        let before = self.units.metres_per_unit;
        self.transform(&DAffine3::IDENTITY, 1.0 / before);
        self.units = units::of_rig(self.skin(), &self.joints);
        self.transform(&DAffine3::IDENTITY, self.units.metres_per_unit);
        self.notes.push(TURNED.to_owned());
    }

    /// Transforms everything that is in rig space.
    fn transform(&mut self, turn: &DAffine3, scale: f64) {
        let turn = DAffine3::from_scale(DVec3::splat(scale)) * *turn;
        for mesh in &mut self.meshes {
            let moved = |p: &mut Vec3| *p = turn.transform_point3(p.as_dvec3()).as_vec3();
            mesh.positions.iter_mut().for_each(moved);
            mesh.shapes.iter_mut().flat_map(|shape| &mut shape.deltas.offsets).for_each(moved);
            mesh.to_rig = turn * mesh.to_rig;
            mesh.quantum = (f64::from(mesh.quantum) * scale) as f32;
        }
        self.joints.iter_mut().for_each(|joint| joint.position = turn.transform_point3(joint.position));
        let rotation = glam::DQuat::from_mat3(&(turn.matrix3 * (1.0 / scale)));
        for motion in
            self.takes.iter_mut().flat_map(|take| &mut take.motions).flat_map(|track| &mut track.motions)
        {
            motion.rotation = rotation * motion.rotation * rotation.inverse();
            motion.translation = turn.transform_vector3(motion.translation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SparseDeltas, test_rigs::rig_with_shapes};

    /// A bare head with a neck: an egg of some height and depth that is open below, seen along its axes.
    fn bust(height: f32, place: fn(Vec3) -> Vec3) -> Rig {
        let (rows, columns) = (40u32, 40u32);
        let point = |i: u32| {
            let (row, column) = ((i / columns) as f32 / (rows - 1) as f32, (i % columns) as f32);
            let around = std::f32::consts::TAU * column / columns as f32;
            let up = (1.0 - 1.8 * row).clamp(-1.0, 1.0);
            let wide = 0.08 * (1.0 - up * up).max(0.0).sqrt() + 0.001;
            place(Vec3::new(wide * around.sin(), 0.5 * height * up, 1.2 * wide * around.cos() + 0.01 * up))
        };
        let quad = |i: u32| {
            let next = i / columns * columns + (i + 1) % columns;
            [[i, next + columns, next], [i, i + columns, next + columns]]
        };
        let triangles: Vec<[u32; 3]> = (0..(rows - 1) * columns).flat_map(quad).collect();
        crate::test_rigs::rig(crate::test_rigs::mesh((0..rows * columns).map(point).collect(), &triangles))
    }

    #[test]
    fn a_bare_head_stands_on_its_neck() {
        let as_is = |p: Vec3| p;
        let z_up = |p: Vec3| Vec3::new(p.x, -p.z, p.y);
        assert_eq!(by_build(bust(0.3, as_is).skin()), Some(Up::Y));
        assert_eq!(by_build(bust(0.3, z_up).skin()), Some(Up::Z));
        assert_eq!(by_build(bust(0.19, z_up).skin()), None, "hardly taller than deep");
        assert_eq!(by_build(bust(0.3, |p| Vec3::new(p.y, p.x, p.z)).skin()), None, "it lies on its side");
        let mut turned = bust(0.3, z_up);
        assert_eq!(Up::of_rig(&turned), Up::Z);
        turned.stand_up();
        assert_eq!(Up::of_rig(&turned), Up::Y);
    }

    fn opening(by: Vec3) -> Rig {
        let mut rig = rig_with_shapes(&["jawOpen"]);
        rig.meshes[0].shapes[0].deltas = SparseDeltas { vertices: vec![0], offsets: vec![by] };
        rig
    }

    #[test]
    fn an_opening_jaw_tells_which_way_is_up() {
        assert_eq!(Up::of_rig(&opening(Vec3::new(0.0, -0.02, -0.009))), Up::Y);
        assert_eq!(Up::of_rig(&opening(Vec3::new(0.0, 0.009, -0.02))), Up::Z);
        let mut rig = opening(Vec3::new(0.0, 0.009, -0.02));
        rig.stand_up();
        assert_eq!(Up::of_rig(&rig), Up::Y);
        let by = rig.meshes[0].shapes[0].deltas.offsets[0] / rig.units.metres_per_unit as f32;
        assert!(by.distance(Vec3::new(0.0, -0.02, -0.009)) < 1e-6, "{by}");
    }
}
