//! Welding: finds the vertices of a file that are one point of the surface.
//!
//! Files split vertices along texture seams and hard edges; physics needs those to be one point. But lips
//! that touch in the neutral pose must stay two. So borders are sewn up edge by edge: two border edges
//! become one only if they run in opposite directions between the same places, *and every shape moves them
//! alike*, and no third edge could claim the same partner. The result is never less manifold than the file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use glam::{IVec3, Vec3};
use zygoma_geometry::topology::{DisjointSets, EdgeCounts, distinct_triangles, half_edges};
use zygoma_numerics::{Budget, Stop};

use crate::RigMesh;

/// A vertex is compared with at most this many others near it, not counting exact copies of one of them. Ours: a
/// rig's seams have a handful at one place. Where thousands of different ones lie together, as in a tongue that is scaled to
/// nothing, only exact copies are sure to be joined; comparing all pairs would take hours.
const MOST_COMPARED: usize = 64;

/// How often seams are opened again where they would make an edge non-manifold, before none is sewn. Ours: rigs need one or two.
const MOST_OPENINGS: usize = 32;

/// The points of a mesh and the vertices at each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weld {
    /// The point of each vertex.
    pub point_of_vertex: Vec<u32>,
    /// The vertices of all points, point after point, each point's in increasing order.
    vertices: Vec<u32>,
    /// Where each point's vertices end in `vertices`.
    ends: Vec<u32>,
    /// Pairs of edges that lie together and move alike but were left open because more than two meet.
    pub ambiguous_edges: usize,
}

impl Weld {
    /// Finds the points of a mesh.
    pub fn new(mesh: &RigMesh) -> Self {
        let unlimited = Self::within(mesh, &Budget::default());
        // A budget without a flag and a deadline never stops.
        unlimited.unwrap_or_else(|_| Self::from_points((Vec::new(), 0), 0))
    }

    /// [`new`](Self::new) with a budget, which may stop it.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub fn within(mesh: &RigMesh, budget: &Budget) -> Result<Self, Stop> {
        let places = places(mesh, budget)?;
        let triangles = triangles_with_extent(mesh, &places);
        let seams = Seams::find(&triangles, &places);
        budget.check()?;
        let point_of_vertex = sew(mesh.positions.len(), &triangles, &seams.pairs, budget)?;
        Ok(Self::from_points(point_of_vertex, seams.ambiguous))
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.ends.len()
    }

    /// The vertices that stand for a point; never empty.
    pub fn vertices_of_point(&self, point: usize) -> &[u32] {
        let start = if point == 0 { 0 } else { self.ends[point - 1] };
        &self.vertices[start as usize..self.ends[point] as usize]
    }

    /// Triangles between points, without those that have become lines.
    pub fn triangles(&self, mesh: &RigMesh) -> Vec<[u32; 3]> {
        let point = |vertex: u32| self.point_of_vertex[vertex as usize];
        let welded = mesh.faces.triangles().into_iter().map(|triangle| triangle.map(point));
        welded.filter(|[a, b, c]| a != b && b != c && c != a).collect()
    }

    /// Values per vertex from values per point.
    pub fn spread<T: Copy>(&self, per_point: &[T]) -> Vec<T> {
        self.point_of_vertex.iter().map(|point| per_point[*point as usize]).collect()
    }

    /// Values per point from values per vertex: those of each point's first vertex.
    pub fn gather<T: Copy>(&self, per_vertex: &[T]) -> Vec<T> {
        (0..self.point_count()).map(|point| per_vertex[self.vertices_of_point(point)[0] as usize]).collect()
    }

    fn from_points((point_of_vertex, count): (Vec<u32>, usize), ambiguous_edges: usize) -> Self {
        let mut members = vec![Vec::new(); count];
        for (vertex, point) in (0u32..).zip(&point_of_vertex) {
            members[*point as usize].push(vertex);
        }
        let ends = members
            .iter()
            .scan(0, |end, vertices| {
                *end += vertices.len() as u32;
                Some(*end)
            })
            .collect();
        Self { point_of_vertex, vertices: members.concat(), ends, ambiguous_edges }
    }
}

/// The place of each vertex: vertices share one if their positions and all their displacements agree
/// within the file's quantum.
fn places(mesh: &RigMesh, budget: &Budget) -> Result<Vec<u32>, Stop> {
    let quantum = mesh.quantum;
    let moves = moves_of_vertices(mesh);
    let cell = |position: Vec3| (position / (2.0 * quantum)).round().as_ivec3();
    let mut exact: HashMap<Exactly, u32> = HashMap::with_capacity(mesh.positions.len());
    let mut grid: HashMap<IVec3, Vec<u32>> = HashMap::new();
    let mut sets = DisjointSets::new(mesh.positions.len());
    for (vertex, position) in (0u32..).zip(&mesh.positions) {
        budget.check()?;
        let copied =
            *exact.entry(Exactly { position: *position, moves: &moves[vertex as usize] }).or_insert(vertex);
        if copied != vertex {
            sets.join(copied, vertex);
            continue;
        }
        let home = cell(*position);
        let near = neighbours(home).filter_map(|cell| grid.get(&cell)).flatten();
        for near in near.take(MOST_COMPARED) {
            let together = mesh.positions[*near as usize].distance(*position) <= quantum;
            if together && move_alike(&moves[*near as usize], &moves[vertex as usize], quantum) {
                sets.join(*near, vertex);
            }
        }
        grid.entry(home).or_default().push(vertex);
    }
    Ok(sets.numbered().0)
}

/// A position and displacements, compared bit by bit.
struct Exactly<'a> {
    position: Vec3,
    moves: &'a [(u32, Vec3)],
}

impl Exactly<'_> {
    fn bits(&self) -> impl Iterator<Item = u32> {
        let at = self.position.to_array().map(f32::to_bits);
        at.into_iter().chain(
            self.moves.iter().flat_map(|(shape, d)| [*shape, d.x.to_bits(), d.y.to_bits(), d.z.to_bits()]),
        )
    }
}

impl Hash for Exactly<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().for_each(|bits| state.write_u32(bits));
    }
}

impl PartialEq for Exactly<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bits().eq(other.bits())
    }
}

impl Eq for Exactly<'_> {}

fn neighbours(cell: IVec3) -> impl Iterator<Item = IVec3> {
    let steps = -1..=1;
    steps.clone().flat_map(move |x| {
        let steps = steps.clone();
        steps.clone().flat_map(move |y| steps.clone().map(move |z| cell.saturating_add(IVec3::new(x, y, z))))
    })
}

/// For each vertex the shapes that move it, in order, with the displacement.
fn moves_of_vertices(mesh: &RigMesh) -> Vec<Vec<(u32, Vec3)>> {
    let mut moves = vec![Vec::new(); mesh.positions.len()];
    for (index, shape) in (0u32..).zip(&mesh.shapes) {
        for (vertex, offset) in shape.deltas.iter() {
            moves[vertex as usize].push((index, offset));
        }
    }
    moves
}

fn move_alike(mut a: &[(u32, Vec3)], mut b: &[(u32, Vec3)], quantum: f32) -> bool {
    // Where only one of the two lists a shape, the other's displacement is zero.
    while let Some(shape) = a.first().into_iter().chain(b.first()).map(|(shape, _)| *shape).min() {
        let next = |list: &mut &[(u32, Vec3)]| match list {
            [(index, offset), rest @ ..] if *index == shape => {
                let offset = *offset;
                *list = rest;
                offset
            }
            _ => Vec3::ZERO,
        };
        if next(&mut a).distance(next(&mut b)) > quantum {
            return false;
        }
    }
    true
}

/// Triangles whose corners are at three different places, each once; the others would be claimed as seams of their
/// neighbours.
fn triangles_with_extent(mesh: &RigMesh, places: &[u32]) -> Vec<[u32; 3]> {
    let all = mesh.faces.triangles();
    let mut triangles: Vec<[u32; 3]> =
        distinct_triangles(&all).into_iter().map(|t| all[t as usize]).collect();
    triangles.retain(|triangle| {
        let [a, b, c] = triangle.map(|vertex| places[vertex as usize]);
        a != b && b != c && c != a
    });
    triangles
}

/// A directed edge between two vertices.
type Edge = (u32, u32);

/// Border edges that belong together.
struct Seams {
    /// Directed edges (a, b) and (b', a') to be sewn: a to a', b to b'.
    pairs: Vec<(Edge, Edge)>,
    ambiguous: usize,
}

impl Seams {
    fn find(triangles: &[[u32; 3]], places: &[u32]) -> Self {
        let edges = EdgeCounts::new(triangles);
        let place = |vertex: u32| places[vertex as usize];
        // Both directions of a border edge between two places, keyed by the undirected pair of places.
        let mut borders: BTreeMap<Edge, [Vec<Edge>; 2]> = BTreeMap::new();
        for (a, b) in triangles.iter().flat_map(|t| half_edges(*t)).filter(|(a, b)| edges.count(*a, *b) == 1)
        {
            let (from, to) = (place(a), place(b));
            let sides = borders.entry((from.min(to), from.max(to))).or_default();
            sides[usize::from(from > to)].push((a, b));
        }
        let mut seams = Self { pairs: Vec::new(), ambiguous: 0 };
        for [forward, backward] in borders.into_values() {
            match (&forward[..], &backward[..]) {
                ([one], [other]) => seams.pairs.push((*one, *other)),
                ([], _) | (_, []) => {}
                _ => seams.ambiguous += forward.len().min(backward.len()),
            }
        }
        seams
    }
}

/// Joins the ends of sewn edges, leaving out those that would make an edge non-manifold.
fn sew(
    vertex_count: usize,
    triangles: &[[u32; 3]],
    pairs: &[(Edge, Edge)],
    budget: &Budget,
) -> Result<(Vec<u32>, usize), Stop> {
    let already: usize = EdgeCounts::new(triangles).non_manifold().len();
    let mut open: HashSet<u32> = HashSet::new();
    for _ in 0..MOST_OPENINGS {
        budget.check()?;
        let mut sets = DisjointSets::new(vertex_count);
        let is_open = |vertex: &u32| open.contains(vertex);
        for ((a, b), (b2, a2)) in pairs {
            if ![a, b, a2, b2].into_iter().any(is_open) {
                sets.join(*a, *a2);
                sets.join(*b, *b2);
            }
        }
        let (points, count) = sets.numbered();
        let welded: Vec<[u32; 3]> =
            triangles.iter().map(|triangle| triangle.map(|vertex| points[vertex as usize])).collect();
        let bad = EdgeCounts::new(&welded).non_manifold();
        if bad.len() <= already {
            return Ok((points, count));
        }
        let bad: HashSet<u32> = bad.into_iter().flat_map(|(a, b)| [a, b]).collect();
        let before = open.len();
        let ends = pairs.iter().flat_map(|((a, b), (b2, a2))| [*a, *b, *a2, *b2]);
        open.extend(ends.filter(|vertex| bad.contains(&points[*vertex as usize])));
        if open.len() == before {
            return Ok((points, count));
        }
    }
    Ok(DisjointSets::new(vertex_count).numbered())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::test_rigs::mesh;
    use crate::{Shape, SparseDeltas};

    /// Two strips of quads along x that meet at y = 0 with their own vertices there: strip 0 above, 1 below.
    fn two_strips(columns: u32) -> RigMesh {
        let mut positions = Vec::new();
        let mut triangles = Vec::new();
        for strip in [1.0, -1.0] {
            let base = positions.len() as u32;
            for column in 0..=columns {
                positions.push(Vec3::new(column as f32, 0.0, 0.0));
                positions.push(Vec3::new(column as f32, strip, 0.0));
            }
            for column in 0..columns {
                let [a, b, c, d] = [0, 2, 3, 1].map(|corner| base + 2 * column + corner);
                let quad = if strip > 0.0 { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] };
                triangles.extend(quad);
            }
        }
        mesh(positions, &triangles)
    }

    fn lower(mesh: &RigMesh, columns: std::ops::Range<u32>, name: &str) -> Shape {
        let first = mesh.positions.len() as u32 / 2;
        let vertices: Vec<u32> = columns.map(|column| first + 2 * column).collect();
        let offsets = vec![Vec3::NEG_Y * 0.1; vertices.len()];
        Shape { name: name.into(), deltas: SparseDeltas { vertices, offsets } }
    }

    #[test]
    fn seams_close_when_nothing_separates_them() {
        let mesh = two_strips(4);
        let weld = Weld::new(&mesh);
        assert_eq!(weld.point_count(), mesh.positions.len() - 5);
        assert!(EdgeCounts::new(&weld.triangles(&mesh)).non_manifold().is_empty());
        for point in 0..weld.point_count() {
            for vertex in weld.vertices_of_point(point) {
                assert_eq!(weld.point_of_vertex[*vertex as usize] as usize, point);
            }
        }
    }

    #[test]
    fn closed_lips_stay_open_where_a_shape_parts_them() {
        let mut mesh = two_strips(6);
        mesh.shapes.push(lower(&mesh, 2..5, "jawOpen"));
        let weld = Weld::new(&mesh);
        // Columns 0, 1 and 5, 6 are seam; the slit between has its own vertices at 2, 3 and 4.
        assert_eq!(weld.point_count(), mesh.positions.len() - 4);
        let triangles = weld.triangles(&mesh);
        let slit = EdgeCounts::new(&triangles).border();
        let at_slit = slit.iter().filter(|(a, b)| {
            [a, b].iter().all(|p| {
                let vertex = weld.vertices_of_point(**p as usize)[0] as usize;
                mesh.positions[vertex].y == 0.0
            })
        });
        assert_eq!(at_slit.count(), 8, "four edges above and four below the slit");
    }

    #[test]
    fn differences_below_the_quantum_do_not_part() {
        let mut mesh = two_strips(3);
        let mut shape = lower(&mesh, 0..4, "noise");
        shape.deltas.offsets.fill(Vec3::Y * 0.5e-6);
        mesh.shapes.push(shape);
        assert_eq!(Weld::new(&mesh).point_count(), mesh.positions.len() - 4);
    }

    #[test]
    fn a_third_sheet_on_the_same_edge_is_left_alone() {
        let mut mesh = two_strips(2);
        let upper = two_strips(2);
        let base = mesh.positions.len() as u32;
        mesh.positions.extend(&upper.positions);
        let mut triangles = mesh.faces.triangles();
        triangles.extend(upper.faces.triangles().iter().map(|t| t.map(|v| v + base)));
        mesh.faces = zygoma_geometry::Faces::from_triangles(&triangles);
        let weld = Weld::new(&mesh);
        assert_eq!(weld.point_count(), mesh.positions.len());
        assert_eq!(weld.ambiguous_edges, 4);
    }

    /// Vertices that all lie at one place, each with a displacement of its own or all with the same one.
    fn heap(count: usize, alike: bool) -> RigMesh {
        let mut heap = mesh(vec![Vec3::ZERO; count], &[[0, 1, 2]]);
        let offset = |i: usize| if alike { Vec3::X } else { Vec3::new(1.0 + i as f32 * 1e-3, 0.0, 0.0) };
        let deltas =
            SparseDeltas { vertices: (0..count as u32).collect(), offsets: (0..count).map(offset).collect() };
        heap.shapes.push(Shape { name: "jawOpen".into(), deltas });
        heap
    }

    /// With all vertices compared with all others, two hundred thousand of them took minutes.
    #[test]
    fn coincident_vertices_are_welded_in_linear_time() {
        for alike in [true, false] {
            let weld = Weld::new(&heap(200_000, alike));
            assert_eq!(weld.point_count(), 200_000, "no edge makes them one");
        }
    }

    #[test]
    fn a_cancelled_weld_stops() {
        let flag = Arc::new(AtomicBool::new(true));
        let welded = Weld::within(&two_strips(4), &Budget::cancelled_by(flag));
        assert_eq!(welded, Err(Stop::Cancelled));
    }

    #[test]
    fn a_skin_with_doubled_triangles_is_sewn_as_without_them() {
        let mesh = two_strips(4);
        let mut doubled = mesh.clone();
        let mut triangles = mesh.faces.triangles();
        triangles.extend(mesh.faces.triangles().iter().map(|[a, b, c]| [*a, *c, *b]));
        doubled.faces = zygoma_geometry::Faces::from_triangles(&triangles);
        assert_eq!(Weld::new(&doubled), Weld::new(&mesh));
    }

    #[test]
    fn values_travel_both_ways() {
        let mesh = two_strips(2);
        let weld = Weld::new(&mesh);
        let per_point = weld.gather(&mesh.positions);
        assert_eq!(weld.spread(&per_point), mesh.positions);
    }
}
