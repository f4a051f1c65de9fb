//! Teeth behind lips and cheeks: found in a rig, turned into closed arches, and used as colliders for the tissue.

use std::f32::consts::PI;

use glam::{DVec3, Vec3};
use zygoma_geometry::TriMesh;
use zygoma_geometry::rigid::{RigidMotion, fit_rigid_motion};
use zygoma_geometry::topology::connected_parts;
use zygoma_physics::contact::{Collider, ColliderMesh, ColliderShape, Pose};
use zygoma_rig::{Rig, RigMesh, SparseDeltas, arkit};

use super::jaw_motion::JawMotion;

/// Columns around and rows up an arch. Ours, as all below: teeth are a millimetre or more apart.
const COLUMNS: usize = 40;
const ROWS: usize = 8;
/// Minimum thickness of an arch, m.
const THICKNESS: f32 = 5e-3;
/// Number of vertices that sample a row's motion.
const GUIDES: usize = 60;
/// Minimum number of vertices of a row of teeth.
const FEWEST: usize = 24;

/// The rows of teeth found in a rig, at most two, as solid arches: lips do not get between teeth.
#[derive(Clone, Debug, PartialEq)]
pub struct Teeth {
    pub(super) rows: Vec<DentalRow>,
}

/// One row of teeth.
#[derive(Clone, Debug)]
pub(super) struct DentalRow {
    /// Its arch, relative to its centre.
    pub(super) arch: ColliderMesh,
    pub(super) middle: Vec3,
    /// Some vertices, and their displacements by each shape of the skin (by index).
    pub(super) guides: Vec<DVec3>,
    pub(super) moves: Vec<(usize, Vec<DVec3>)>,
    /// Whether it moves with the jaw: it is the lower row, and no shape moves it.
    pub(super) rides: bool,
}

impl Teeth {
    /// The arches of its rows at rest, which are closed.
    pub fn arch_meshes(&self) -> impl Iterator<Item = TriMesh<Vec3>> {
        self.rows.iter().map(|row| TriMesh {
            positions: row.arch.positions().iter().map(|p| row.middle + *p).collect(),
            triangles: row.arch.triangles().to_vec(),
        })
    }
}

impl PartialEq for DentalRow {
    fn eq(&self, other: &Self) -> bool {
        let arch = |row: &Self| (row.arch.positions().to_vec(), row.arch.triangles().to_vec());
        arch(self) == arch(other)
            && (self.middle, self.rides) == (other.middle, other.rides)
            && (&self.guides, &self.moves) == (&other.guides, &other.moves)
    }
}

impl Teeth {
    /// Finds meshes or regions of a rig that are called teeth. The lower row follows the rig's shapes, or else the jaw.
    pub fn of_rig(rig: &Rig) -> Option<Self> {
        let mut rows = [Found::default(), Found::default()];
        for (index, mesh) in rig.meshes.iter().enumerate() {
            let triangles = mesh.faces.triangles();
            if is_teeth(&mesh.name) {
                let all: Vec<u32> = (0..mesh.positions.len() as u32).collect();
                sort_teeth(rig, mesh, &all, &triangles, &mut rows);
            } else if index == rig.skin {
                for region in mesh.regions.iter().filter(|region| is_teeth(&region.name)) {
                    let own: Vec<u32> = region.vertices.clone().map(|v| v as u32).collect();
                    sort_teeth(rig, mesh, &own, &triangles, &mut rows);
                }
            }
        }
        let [upper, lower] = rows;
        let rows: Vec<DentalRow> = [upper.row(false), lower.row(true)].into_iter().flatten().collect();
        (!rows.is_empty()).then_some(Self { rows })
    }

    /// Number of rows that were found.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none was found.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The motion of the jaw that the lower row shows; `None` if no shape moves a lower row.
    pub(crate) fn jaw_motion(&self) -> Option<JawMotion> {
        let row = &self.rows[self.moved_row()?];
        Some(JawMotion::new(&row.guides, row.moves.iter().cloned()))
    }

    /// The lower row, if shapes move it.
    fn moved_row(&self) -> Option<usize> {
        // The upper row is fixed to the cranium; where both move, the one that moves more is the lower.
        let reach = |row: &usize| {
            let ways = self.rows[*row].moves.iter().flat_map(|(_, offsets)| offsets);
            ways.map(|way| way.length()).fold(0.0, f64::max)
        };
        let moved = (0..self.rows.len()).filter(|row| !self.rows[*row].rides && reach(row) > 1e-3);
        moved.max_by(|a, b| reach(a).total_cmp(&reach(b)))
    }

    /// The same teeth in other bones: `reshape` moves a point at rest, given whether it is on the jaw.
    pub(crate) fn reshaped(&self, reshape: impl Fn(DVec3, bool) -> DVec3) -> Self {
        let lower = self.rows.iter().position(|row| row.rides).or_else(|| self.moved_row());
        let row = |(index, row): (usize, &DentalRow)| {
            let on_jaw = lower == Some(index);
            let moved = |p: Vec3| reshape(p.as_dvec3(), on_jaw).as_vec3();
            let middle = moved(row.middle);
            let around = row.arch.positions().iter().map(|p| moved(row.middle + *p) - middle).collect();
            DentalRow {
                arch: ColliderMesh::new(around, row.arch.triangles().to_vec())
                    .unwrap_or_else(|_| row.arch.clone()),
                middle,
                guides: row.guides.iter().map(|p| reshape(*p, on_jaw)).collect(),
                ..row.clone()
            }
        };
        Self { rows: self.rows.iter().enumerate().map(row).collect() }
    }

    /// Penetration depth of a point in the head's frame into the teeth, for some weights of the skin's shapes and a pose of the jaw, m; 0
    /// outside.
    pub fn depth(&self, weights: &[f32], jaw: &RigidMotion, at: Vec3) -> f32 {
        let depth = |row: &DentalRow| {
            let collider =
                Collider::new(ColliderShape::Mesh(Box::new(row.arch.clone())), row.pose(weights, jaw));
            collider.signed_distance(at, 0.0).map_or(0.0, |found| -found.distance)
        };
        self.rows.iter().map(depth).fold(0.0, f32::max)
    }

    /// The arches; [`poses`](Self::poses) gives their poses in the head's frame.
    pub(crate) fn arches(&self) -> impl Iterator<Item = ColliderShape> {
        self.rows.iter().map(|row| ColliderShape::Mesh(Box::new(row.arch.clone())))
    }

    pub(crate) fn poses(&self, weights: &[f32], jaw: &RigidMotion) -> Vec<Pose> {
        self.rows.iter().map(|row| row.pose(weights, jaw)).collect()
    }
}

impl DentalRow {
    fn pose(&self, weights: &[f32], jaw: &RigidMotion) -> Pose {
        if self.rides {
            let middle = jaw.apply(self.middle.as_dvec3()).as_vec3();
            return Pose { rotation: jaw.rotation.as_quat(), translation: middle };
        }
        let mut moved = self.guides.clone();
        let mut is_moved = false;
        for (shape, offsets) in &self.moves {
            let weight = weights.get(*shape).copied().unwrap_or(0.0);
            if weight != 0.0 {
                is_moved = true;
                moved.iter_mut().zip(offsets).for_each(|(at, offset)| *at += f64::from(weight) * *offset);
            }
        }
        if !is_moved {
            return Pose::at(self.middle);
        }
        let RigidMotion { rotation, translation } = fit_rigid_motion(&self.guides, &moved);
        let middle = rotation * self.middle.as_dvec3() + translation;
        Pose { rotation: rotation.as_quat(), translation: middle.as_vec3() }
    }
}

fn is_teeth(name: &str) -> bool {
    let name = name.to_lowercase();
    (name.contains("teeth") || name.contains("tooth")) && !name.contains("gum")
}

/// Vertices of one row, and their displacements by shapes of the skin.
#[derive(Default)]
struct Found {
    points: Vec<Vec3>,
    moves: Vec<(usize, Vec<Vec3>)>,
}

/// Sorts the teeth of a mesh into the upper and the lower row: by name, by whether the jaw carries them, or by height.
fn sort_teeth(rig: &Rig, mesh: &RigMesh, own: &[u32], triangles: &[[u32; 3]], rows: &mut [Found; 2]) {
    let skin = rig.skin();
    let same = |a: &str, b: &str| {
        let known = |name: &str| arkit::recognise(name).map(|found| found.shape);
        a == b || known(a).is_some_and(|shape| Some(shape) == known(b))
    };
    let moves: Vec<(usize, &SparseDeltas)> = mesh
        .shapes
        .iter()
        .filter_map(|shape| {
            let on_skin = skin.shapes.iter().position(|other| same(&other.name, &shape.name))?;
            Some((on_skin, &shape.deltas))
        })
        .collect();
    let opens = |(shape, _): &&(usize, &SparseDeltas)| {
        arkit::recognise(&skin.shapes[*shape].name).is_some_and(|found| found.shape == "jawOpen")
    };
    let opening: Option<Vec<Vec3>> =
        moves.iter().find(opens).map(|(_, deltas)| deltas.to_dense(mesh.positions.len()));
    let (parts, count) = connected_parts(mesh.positions.len(), triangles);
    let name = mesh.name.to_lowercase();
    let named = [["upper", "top"], ["lower", "bottom"]].map(|words| words.iter().any(|w| name.contains(w)));
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    own.iter().for_each(|v| members[parts[*v as usize] as usize].push(*v));
    let mean = |part: &[u32], of: &dyn Fn(u32) -> f32| {
        part.iter().map(|v| of(*v)).sum::<f32>() / part.len().max(1) as f32
    };
    let middle = mean(own, &|v| mesh.positions[v as usize].y);
    let most =
        opening.as_ref().map_or(0.0, |o| own.iter().map(|v| o[*v as usize].length()).fold(0.0, f32::max));
    for part in members.iter().filter(|part| !part.is_empty()) {
        let is_lower = match (&opening, named) {
            (_, [true, false]) => false,
            (_, [false, true]) => true,
            (Some(opening), _) if most > 1e-3 => mean(part, &|v| opening[v as usize].length()) > 0.5 * most,
            _ => mean(part, &|v| mesh.positions[v as usize].y) < middle,
        };
        let row = &mut rows[usize::from(is_lower)];
        for (shape, deltas) in &moves {
            let dense = deltas.to_dense(mesh.positions.len());
            let place = row.moves.iter().position(|(known, _)| known == shape).unwrap_or_else(|| {
                row.moves.push((*shape, vec![Vec3::ZERO; row.points.len()]));
                row.moves.len() - 1
            });
            row.moves[place].1.extend(part.iter().map(|v| dense[*v as usize]));
        }
        row.points.extend(part.iter().map(|v| mesh.positions[*v as usize]));
        row.moves.iter_mut().for_each(|(_, offsets)| offsets.resize(row.points.len(), Vec3::ZERO));
    }
}

impl Found {
    fn row(self, is_lower: bool) -> Option<DentalRow> {
        let is_moved =
            self.moves.iter().any(|(_, offsets)| offsets.iter().any(|offset| offset.length() > 1e-3));
        if self.points.len() < FEWEST {
            return None;
        }
        let middle = self.points.iter().sum::<Vec3>() / self.points.len() as f32;
        let (positions, triangles) = arch(&self.points)?;
        let around = positions.iter().map(|p| *p - middle).collect();
        let every = self.points.len().div_ceil(GUIDES);
        let some = |all: &[Vec3]| all.iter().step_by(every).map(|p| p.as_dvec3()).collect::<Vec<_>>();
        Some(DentalRow {
            arch: ColliderMesh::new(around, triangles).ok()?,
            middle,
            rides: is_lower && !is_moved,
            guides: some(&self.points),
            moves: self
                .moves
                .iter()
                .filter(|(_, offsets)| offsets.iter().any(|offset| *offset != Vec3::ZERO))
                .map(|(shape, offsets)| (*shape, some(offsets)))
                .collect(),
        })
    }
}

/// A closed wall along the outside of a row of teeth: a height field of distances from an axis inside the arch, over angle and height.
fn arch(points: &[Vec3]) -> Option<(Vec<Vec3>, Vec<[u32; 3]>)> {
    let low = points.iter().copied().reduce(Vec3::min)?;
    let high = points.iter().copied().reduce(Vec3::max)?;
    let axis = Vec3::new(0.5 * (low.x + high.x), 0.0, low.z + 0.25 * (high.z - low.z));
    let polar = |p: &Vec3| {
        let d = *p - axis;
        (d.x.atan2(d.z), p.y, d.x.hypot(d.z))
    };
    // Points behind the axis are ignored: there is cheek only beside the arch.
    let seen: Vec<(f32, f32, f32)> = points.iter().map(polar).filter(|p| p.0.abs() < 0.6 * PI).collect();
    let widest = seen.iter().map(|p| p.0.abs()).fold(0.0, f32::max);
    if widest < 0.1 || high.y - low.y < 1e-4 {
        return None;
    }
    let mut reach = vec![[0.0f32; ROWS]; COLUMNS];
    let place = |fraction: f32, count: usize| {
        (fraction * (count - 1) as f32).round().clamp(0.0, (count - 1) as f32) as usize
    };
    for (angle, height, distance) in seen {
        let column = place(0.5 + 0.5 * angle / widest, COLUMNS);
        let row = place((height - low.y) / (high.y - low.y), ROWS);
        let cell = &mut reach[column][row];
        *cell = cell.max(distance);
    }
    // Cells without a vertex take the values of their neighbours.
    while reach.iter().flatten().any(|cell| *cell == 0.0) {
        let known = reach.clone();
        for column in 0..COLUMNS {
            for row in 0..ROWS {
                if known[column][row] == 0.0 {
                    let around = [
                        (column.wrapping_sub(1), row),
                        (column + 1, row),
                        (column, row.wrapping_sub(1)),
                        (column, row + 1),
                    ];
                    let near = around.iter().filter_map(|(c, r)| known.get(*c).and_then(|line| line.get(*r)));
                    reach[column][row] = near.copied().fold(0.0, f32::max);
                }
            }
        }
    }
    let mut positions = Vec::with_capacity(2 * COLUMNS * ROWS);
    for thickness in [0.0, THICKNESS] {
        for (column, line) in reach.iter().enumerate() {
            let angle = widest * (2.0 * column as f32 / (COLUMNS - 1) as f32 - 1.0);
            for (row, distance) in line.iter().enumerate() {
                let height = low.y + (high.y - low.y) * row as f32 / (ROWS - 1) as f32;
                let distance = (distance - thickness).max(0.2 * distance);
                positions.push(axis + Vec3::new(distance * angle.sin(), height, distance * angle.cos()));
            }
        }
    }
    let vertex =
        |side: usize, column: usize, row: usize| (side * COLUMNS * ROWS + column * ROWS + row) as u32;
    let mut triangles = Vec::new();
    let mut quad = |[a, b, c, d]: [u32; 4]| triangles.extend([[a, b, c], [a, c, d]]);
    for column in 0..COLUMNS - 1 {
        for row in 0..ROWS - 1 {
            let corners = |s| {
                [
                    vertex(s, column, row),
                    vertex(s, column + 1, row),
                    vertex(s, column + 1, row + 1),
                    vertex(s, column, row + 1),
                ]
            };
            quad(corners(0));
            let [a, b, c, d] = corners(1);
            quad([d, c, b, a]);
        }
        for (row, is_top) in [(0, false), (ROWS - 1, true)] {
            let [a, b, c, d] = [
                vertex(0, column, row),
                vertex(0, column + 1, row),
                vertex(1, column + 1, row),
                vertex(1, column, row),
            ];
            quad(if is_top { [a, b, c, d] } else { [d, c, b, a] });
        }
    }
    for (column, is_last) in [(0, false), (COLUMNS - 1, true)] {
        for row in 0..ROWS - 1 {
            let [a, b, c, d] = [
                vertex(0, column, row),
                vertex(0, column, row + 1),
                vertex(1, column, row + 1),
                vertex(1, column, row),
            ];
            quad(if is_last { [d, c, b, a] } else { [a, b, c, d] });
        }
    }
    Some((positions, triangles))
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;
    use zygoma_geometry::topology::EdgeCounts;
    use zygoma_head::{Head, HeadOptions};

    const STILL: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

    #[test]
    fn an_arch_is_a_closed_solid_around_its_teeth() {
        let rig = Head::new(&HeadOptions::default()).rig();
        let teeth = Teeth::of_rig(&rig).unwrap();
        assert_eq!(teeth.len(), 2);
        for (row, name) in teeth.rows.iter().zip(["teeth_upper", "teeth_lower"]) {
            let (positions, triangles) = (row.arch.positions(), row.arch.triangles());
            assert!(EdgeCounts::new(triangles).border().is_empty());
            let corner = |v: u32| positions[v as usize];
            let volume: f32 =
                triangles.iter().map(|[a, b, c]| corner(*a).dot(corner(*b).cross(corner(*c))) / 6.0).sum();
            assert!(volume > 1e-6 && volume < 2e-5, "{name}: {volume} m³");
            let mesh = rig.meshes.iter().find(|mesh| mesh.name == name).unwrap();
            // The outermost vertices of the front teeth lie on the surface of the arch.
            let front = mesh.positions.iter().map(|p| p.z).fold(f32::MIN, f32::max);
            let collider =
                Collider::new(ColliderShape::Mesh(Box::new(row.arch.clone())), row.pose(&[], &STILL));
            for p in mesh.positions.iter().filter(|p| p.z > front - 1e-3) {
                let found = collider.signed_distance(*p, 1e-3).unwrap();
                assert!(found.distance.abs() < 1e-3, "{name}: {found:?}");
            }
            assert!(
                collider.signed_distance(Vec3::Z * (front + 0.002) + Vec3::Y * row.middle.y, 1e-3).is_none()
            );
        }
        // The lower row moves with the jaw, the upper one stays.
        let skin = rig.skin();
        let weights: Vec<f32> =
            skin.shapes.iter().map(|shape| f32::from(u8::from(shape.name == "jawOpen"))).collect();
        let moved = |row: &DentalRow| row.pose(&weights, &STILL).translation.distance(row.middle);
        assert!(moved(&teeth.rows[0]) < 1e-4 && moved(&teeth.rows[1]) > 5e-3);
        let mut bare = rig.clone();
        bare.meshes.iter_mut().filter(|mesh| is_teeth(&mesh.name)).for_each(|mesh| mesh.shapes.clear());
        let teeth = Teeth::of_rig(&bare).unwrap();
        let down = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::NEG_Y * 0.01 };
        let moved = |row: &DentalRow| row.pose(&weights, &down).translation.distance(row.middle);
        assert!(moved(&teeth.rows[0]) < 1e-6 && (moved(&teeth.rows[1]) - 0.01).abs() < 1e-6);
    }

    #[test]
    fn a_rig_without_teeth_has_none() {
        let mut rig = Head::new(&HeadOptions::default()).rig();
        for mesh in &mut rig.meshes {
            mesh.name = mesh.name.replace("teeth", "pearls");
        }
        assert!(Teeth::of_rig(&rig).is_none());
    }
}
