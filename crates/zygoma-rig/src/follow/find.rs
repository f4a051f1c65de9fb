//! Finds the parts of a mesh that are attached to the skin, where they sit on it, and how they follow.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use glam::{IVec3, Vec3};
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::geodesic::{Source, nearest_sources};
use zygoma_geometry::normals::vertex_normals;
use zygoma_geometry::topology::connected_parts;

use crate::units::moved_height;
use crate::weld::Weld;
use crate::{JointRole, Rig, RigMesh};

/// Lengths as fractions of the height of the moving face, with their size on a face of 20 cm. All ours.
///
/// A vertex nearer than this lies on the skin: 4 mm, the depth to which roots of brows and beards are sunk into it.
const NEAR: f32 = 0.02;
/// A part that lies on the skin has skin that it touches within this distance below all of it: 1 cm.
const SPREAD: f32 = 0.05;
/// A part that stands off the skin farther than this is not a beard: 5 cm.
const TALLEST: f32 = 0.25;
/// A rigid part that comes no nearer than this does not sit on the skin: 3 cm, since a hat sits on hair.
const FARTHEST: f32 = 0.15;
/// A part larger than this is not an accessory of a face but a body or a dress: 80 cm.
const LARGEST: f32 = 4.0;
/// Skin that lies over a part within this distance hides it: 10 cm, more than a mouth is deep.
const COVER: f32 = 0.5;

/// A part lies on the skin if this fraction of it does, and is inside the head if the skin hides more than the rest of it. Ours: roots
/// and ends of lashes may be under lids.
const MOST: f32 = 0.8;
const HIDDEN: f32 = 0.5;

/// A rigid part turns with the skin that it sits on if the contact is at least this fraction of its size. A strand, which hangs from a
/// spot, only translates. Ours.
const SEAT: f32 = 0.3;

/// A point on the skin to which something is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seat {
    /// Vertices of the skin's triangle.
    pub(super) corners: [u32; 3],
    pub(super) weights: [f32; 3],
}

/// How a part follows its seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each vertex follows its own seat.
    Soft,
    /// Moves rigidly.
    Stiff,
    /// Translates without rotating.
    Hanging,
}

/// A connected part of a mesh that follows the skin.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) vertices: Vec<u32>,
    /// Where it sits; one for each vertex of a soft part.
    pub(super) seats: Vec<Seat>,
    pub(super) way: Way,
}

/// A vertex above the skin.
#[derive(Clone, Copy)]
struct Above {
    seat: Seat,
    place: Vec3,
    distance: f32,
}

/// Finds the parts attached to one skin.
pub(super) struct Finder<'a> {
    skin: &'a RigMesh,
    triangles: Vec<[u32; 3]>,
    normals: Vec<Vec3>,
    tree: TriangleTree,
    /// Height of the moving face, m.
    height: f32,
}

impl<'a> Finder<'a> {
    /// `None` if no shape moves the skin.
    pub(super) fn new(skin: &'a RigMesh) -> Option<Self> {
        let height = moved_height(skin) as f32;
        let triangles = skin.faces.triangles();
        (height > 0.0).then(|| Self {
            normals: vertex_normals(&skin.positions, &triangles),
            tree: TriangleTree::new(&skin.positions, &triangles),
            skin,
            triangles,
            height,
        })
    }

    /// The parts of a mesh that follow the skin.
    pub(super) fn parts(&self, mesh: &RigMesh) -> Vec<Part> {
        let is_frame = ["glasses", "goggle", "spectacle", "helmet"]
            .iter()
            .any(|word| mesh.name.to_lowercase().contains(word));
        let weld = Weld::new(mesh);
        let triangles = weld.triangles(mesh);
        let (part_of_point, _) = connected_parts(weld.point_count(), &triangles);
        let mut parts: BTreeMap<u32, (Vec<u32>, Vec<[u32; 3]>)> = BTreeMap::new();
        for t in &triangles {
            parts.entry(part_of_point[t[0] as usize]).or_default().1.push(*t);
        }
        for (vertex, point) in (0u32..).zip(&weld.point_of_vertex) {
            if let Some((vertices, _)) = parts.get_mut(&part_of_point[*point as usize]) {
                vertices.push(vertex);
            }
        }
        let found = parts.into_values().filter_map(|(vertices, triangles)| {
            let part = PartMesh { positions: &mesh.positions, vertices, triangles, weld: &weld };
            self.part(part, is_frame)
        });
        found.collect()
    }

    /// How a part follows the skin, if it does. Glasses and helmets (`is_frame`) are rigid, however near they lie.
    fn part(&self, part: PartMesh<'_>, is_frame: bool) -> Option<Part> {
        let size = size(part.points());
        if size > LARGEST * self.height {
            return None;
        }
        let above: Vec<Option<Above>> = part.points().map(|p| self.above(p)).collect();
        let nearest = above.iter().flatten().map(|above| above.distance).reduce(f32::min)?;
        if self.hides(&part, &above) {
            return None;
        }
        if let (false, Some(seats)) = (is_frame, self.soft_seats(&part, &above)) {
            return Some(Part { vertices: part.vertices, seats, way: Way::Soft });
        }
        let touches = |above: &Above| above.distance <= nearest + NEAR * self.height;
        let sitting: Vec<Above> = above.into_iter().flatten().filter(touches).collect();
        let is_broad = self::size(sitting.iter().map(|above| above.place)) >= SEAT * size;
        let farthest = if is_broad { FARTHEST } else { NEAR };
        (nearest <= farthest * self.height).then(|| Part {
            seats: sitting.iter().map(|above| above.seat).collect(),
            vertices: part.vertices,
            way: if is_broad { Way::Stiff } else { Way::Hanging },
        })
    }

    fn above(&self, point: Vec3) -> Option<Above> {
        let near = self.tree.closest(
            &self.skin.positions,
            &self.triangles,
            point,
            TALLEST.max(FARTHEST + NEAR) * self.height,
        )?;
        let seat = Seat { corners: self.triangles[near.triangle as usize], weights: near.barycentric };
        Some(Above { seat, place: near.point, distance: near.distance })
    }

    /// Whether a part lies under the skin, as eyes do, or between folds of it, as teeth do between the walls of a mouth.
    fn hides(&self, part: &PartMesh<'_>, above: &[Option<Above>]) -> bool {
        let seen = part.points().zip(above).filter(|(point, above)| {
            let Some(above) = above else { return true };
            let out: Vec3 = above.seat.mix(&self.normals).normalize_or_zero();
            let hit = self.tree.first_hit(
                &self.skin.positions,
                &self.triangles,
                *point,
                out,
                NEAR * self.height,
                |_| true,
            );
            hit.is_none_or(|hit| hit.distance > COVER * self.height)
        });
        (seen.count() as f32) < HIDDEN * above.len() as f32
    }

    /// A seat for each vertex if the part lies on the skin: its own where it touches, elsewhere that of its root.
    fn soft_seats(&self, part: &PartMesh<'_>, above: &[Option<Above>]) -> Option<Vec<Seat>> {
        let is_near = |above: &Above| above.distance <= NEAR * self.height;
        let spread = SPREAD * self.height;
        let cell = |place: Vec3| (place / spread).floor().as_ivec3();
        let mut touched: HashMap<IVec3, Vec<Vec3>> = HashMap::new();
        for above in above.iter().flatten().filter(|above| is_near(above)) {
            touched.entry(cell(above.place)).or_default().push(above.place);
        }
        let covered = above.iter().flatten().filter(|above| {
            let around = (0..27).map(|k| cell(above.place) + IVec3::new(k % 3, k / 3 % 3, k / 9) - 1);
            let mut near = around.into_iter().filter_map(|cell| touched.get(&cell)).flatten();
            near.any(|place| place.distance(above.place) <= spread)
        });
        let is_low =
            above.iter().all(|above| above.is_some_and(|above| above.distance <= TALLEST * self.height));
        if !is_low || (covered.count() as f32) < MOST * above.len() as f32 {
            return None;
        }
        let root = part.roots(|index| above[index].as_ref().is_some_and(is_near));
        root.iter().map(|index| above[(*index)?].map(|above| above.seat)).collect()
    }
}

/// A connected part of a mesh.
struct PartMesh<'a> {
    positions: &'a [Vec3],
    vertices: Vec<u32>,
    /// Triangles between welded points.
    triangles: Vec<[u32; 3]>,
    weld: &'a Weld,
}

impl PartMesh<'_> {
    fn points(&self) -> impl Iterator<Item = Vec3> + Clone {
        self.vertices.iter().map(|v| self.positions[*v as usize])
    }

    /// For each vertex, the nearest root along the surface; both as indices into `vertices`.
    fn roots(&self, is_root: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
        let points: BTreeMap<u32, u32> = {
            let own = self.vertices.iter().map(|v| self.weld.point_of_vertex[*v as usize]);
            let distinct: BTreeSet<u32> = own.collect();
            distinct.into_iter().zip(0..).collect()
        };
        let point = |vertex: &u32| points[&self.weld.point_of_vertex[*vertex as usize]];
        let mut positions = vec![glam::DVec3::ZERO; points.len()];
        for v in &self.vertices {
            positions[point(v) as usize] = self.positions[*v as usize].as_dvec3();
        }
        let triangles: Vec<[u32; 3]> = self.triangles.iter().map(|t| t.map(|p| points[&p])).collect();
        let sources: Vec<Source> = (0..self.vertices.len())
            .filter(|index| is_root(*index))
            .map(|index| Source { vertex: point(&self.vertices[index]), distance: 0.0, label: index as u32 })
            .collect();
        let nearest = nearest_sources(&positions, &triangles, &sources);
        let root = |v: &u32| nearest[point(v) as usize].map(|nearest| nearest.label as usize);
        self.vertices.iter().map(root).collect()
    }
}

impl Seat {
    /// Interpolates a vertex attribute of the skin at the seat.
    pub(super) fn mix(&self, of_vertices: &[Vec3]) -> Vec3 {
        self.corners.iter().zip(self.weights).map(|(v, weight)| weight * of_vertices[*v as usize]).sum()
    }
}

/// Whether a mesh is known to be inside the head, by an eye's joint that carries it or by its name. One called an eye is an eyeball, one
/// called an eyelash is not.
pub(super) fn is_inside(rig: &Rig, mesh: usize) -> bool {
    const INSIDE: [&str; 11] = [
        "eyeball", "cornea", "iris", "pupil", "sclera", "teeth", "tooth", "tongue", "gum", "mouth", "socket",
    ];
    const AROUND_EYE: [&str; 8] = ["lash", "brow", "lid", "shadow", "liner", "glass", "wear", "patch"];
    let is_eye = |role| matches!(role, JointRole::LeftEye | JointRole::RightEye);
    let turned = rig
        .joints
        .iter()
        .any(|joint| is_eye(joint.role) && joint.carries.iter().any(|carried| carried.mesh == mesh));
    let name = rig.meshes[mesh].name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    turned || has(&INSIDE) || (name.contains("eye") && !has(&AROUND_EYE))
}

/// Whether a mesh moves with the head only: the built-in head's hair, which would else be drawn down by the jaw that it hangs beside.
pub(super) fn moves_with_head(name: &str) -> bool {
    name == "hair"
}

/// The diagonal of the box around some points.
fn size(points: impl Iterator<Item = Vec3>) -> f32 {
    let (low, high) = points
        .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), point| (low.min(point), high.max(point)));
    if low.x > high.x { 0.0 } else { low.distance(high) }
}
