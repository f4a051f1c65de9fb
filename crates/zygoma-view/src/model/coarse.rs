//! Fewer triangles, over the same vertices, for machines that draw without a graphics card: there, a triangle of a few pixels
//! costs more than its pixels.

use std::collections::{BTreeMap, BTreeSet};

use glam::Vec3;
use meshopt::{SimplifyOptions, VertexDataAdapter, simplify_with_locks};
use zygoma_rig::RigMesh;

use super::Part;
use crate::protocol::SceneRange;

/// Triangles that are aimed at; meshes that have fewer stay as they are. Ours.
const WANTED: usize = 7000;

/// Where a shape stretches or shears an edge by more than this fraction of its length, every vertex stays: lips and lids fold there.
/// Ours.
const STRETCH: f32 = 0.4;

/// So many rings of triangles beside an open edge stay, too: the page fades skin out there.
const RINGS: usize = 7;

/// How far the surface may move, as a fraction of its size. Ours: half a millimetre of a head.
const LARGEST_ERROR: f32 = 0.002;

/// Fewer triangles for a mesh that is drawn with `triangles` over vertices at `points`, and the runs that they have then.
pub(super) fn coarser(
    mesh: &RigMesh,
    part: &Part,
    points: &[u32],
    triangles: &[[u32; 3]],
    ranges: &[SceneRange],
) -> Option<(Vec<u32>, Vec<SceneRange>)> {
    if triangles.len() <= WANTED {
        return None;
    }
    let positions: Vec<Vec3> = points.iter().map(|point| part.neutral[*point as usize]).collect();
    let adapter = VertexDataAdapter::new(bytemuck::cast_slice(&positions), size_of::<Vec3>(), 0).ok()?;
    let mut locked = folding(mesh, part, points, triangles);
    lock_edges(&mut locked, points, triangles);
    let simplified = |run: &[[u32; 3]]| {
        let wanted = 3 * run.len() * WANTED / triangles.len();
        let (run, options) = (run.as_flattened(), SimplifyOptions::LockBorder);
        simplify_with_locks(run, &adapter, &locked, wanted, LARGEST_ERROR, options, None)
    };
    if ranges.is_empty() {
        return Some((simplified(triangles), Vec::new()));
    }
    let (mut coarse, mut runs) = (Vec::new(), Vec::new());
    for range in ranges {
        let run = simplified(triangles.get(range.start..range.start + range.count)?);
        runs.push(SceneRange { start: coarse.len() / 3, count: run.len() / 3, ..*range });
        coarse.extend(run);
    }
    Some((coarse, runs))
}

/// Vertices at edges that a shape stretches or shears much.
fn folding(mesh: &RigMesh, part: &Part, points: &[u32], triangles: &[[u32; 3]]) -> Vec<bool> {
    let mut locked = vec![false; points.len()];
    for shape in &mesh.shapes {
        let moved = shape.deltas.to_dense(mesh.positions.len());
        let at = |vertex: u32| moved[part.vertex_of_point[points[vertex as usize] as usize] as usize];
        let rest = |vertex: u32| part.neutral[points[vertex as usize] as usize];
        for [a, b, c] in triangles {
            for (from, to) in [(*a, *b), (*b, *c), (*c, *a)] {
                if at(from).distance(at(to)) > STRETCH * rest(from).distance(rest(to)) {
                    (locked[from as usize], locked[to as usize]) = (true, true);
                }
            }
        }
    }
    locked
}

/// Locks the vertices beside open edges. Seams of the texture are no edges: they join the same points.
fn lock_edges(locked: &mut [bool], points: &[u32], triangles: &[[u32; 3]]) {
    let welded: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|vertex| points[vertex as usize])).collect();
    let mut uses: BTreeMap<[u32; 2], usize> = BTreeMap::new();
    for [a, b, c] in &welded {
        for [from, to] in [[*a, *b], [*b, *c], [*c, *a]] {
            *uses.entry([from.min(to), from.max(to)]).or_default() += 1;
        }
    }
    let open = uses.into_iter().filter(|(_, uses)| *uses == 1).flat_map(|(edge, _)| edge);
    let mut near: BTreeSet<u32> = open.collect();
    for _ in 0..RINGS {
        let touched = welded.iter().filter(|triangle| triangle.iter().any(|point| near.contains(point)));
        let wider: Vec<u32> = touched.flatten().copied().collect();
        near.extend(wider);
    }
    for (locked, point) in locked.iter_mut().zip(points) {
        *locked |= near.contains(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HeadChoice, Model};
    use crate::protocol::Look;

    #[test]
    fn the_built_in_head_gets_by_with_far_fewer_triangles() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let (mesh, part) = (model.rig.skin(), &model.parts[model.rig.skin]);
        let triangles = mesh.faces.triangles();
        let (coarse, _) = coarser(mesh, part, &part.point_of_vertex, &triangles, &[]).unwrap();
        assert!(coarse.len() < 3 * triangles.len() / 2, "{} of {}", coarse.len() / 3, triangles.len());
        assert!(coarse.iter().all(|vertex| (*vertex as usize) < part.point_of_vertex.len()));
        assert_eq!(coarser(mesh, part, &part.point_of_vertex, &triangles[..100], &[]), None);
        let run = |start, count, look| SceneRange { start, count, material: -1, look };
        let ranges = [run(0, 9000, Look::Skin), run(9000, triangles.len() - 9000, Look::Teeth)];
        let (coarse, runs) = coarser(mesh, part, &part.point_of_vertex, &triangles, &ranges).unwrap();
        assert_eq!(runs.iter().map(|run| run.count).sum::<usize>(), coarse.len() / 3);
        assert_eq!((runs[1].start, runs[1].look), (runs[0].count, Look::Teeth));
    }
}
