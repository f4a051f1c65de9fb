//! Linings of a hollow in a block made by code.

use glam::DAffine3;
use zygoma_geometry::Faces;
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::tets::TetMesh;
use zygoma_rig::RigMesh;

use super::*;
use crate::enriched::blend_volumes::FULLNESS;
use crate::enriched::build::Ground;
use crate::enriched::linings::Linings;
use crate::volume::Tie;

/// Cells of a block along each axis.
const CELLS: [usize; 3] = [10, 8, 10];
/// The layer of cells in which the block has a slit, and its cells along the other two axes.
const SLIT: usize = 4;
const WIDE: std::ops::Range<usize> = 3..7;
/// Thickness of the slit, and size of all other cells, m.
const THIN: f64 = 1e-3;
const CELL: f64 = 5e-3;
/// How far its roof sinks, m.
const SUNK: f64 = 2.5e-3;

/// The height of a layer of vertices.
fn height(layer: usize) -> f64 {
    layer as f64 * CELL - if layer > SLIT { CELL - THIN } else { 0.0 }
}

/// A block with a slit in its middle.
fn block() -> TetMesh {
    let [nx, ny, nz] = CELLS.map(|cells| cells + 1);
    let vertex = |[x, y, z]: [usize; 3]| ((x * ny + y) * nz + z) as u32;
    let mut mesh = TetMesh::default();
    for (x, y, z) in places([nx, ny, nz]) {
        mesh.positions.push(DVec3::new(x as f64 * CELL, height(y), z as f64 * CELL));
    }
    for (x, y, z) in places(CELLS) {
        if y == SLIT && WIDE.contains(&x) && WIDE.contains(&z) {
            continue;
        }
        // Along the cell's diagonal, one axis after the other: six tetrahedra.
        for axes in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            let mut at = [x, y, z];
            let mut tet = [vertex(at); 4];
            for (corner, axis) in tet[1..].iter_mut().zip(axes) {
                at[axis] += 1;
                *corner = vertex(at);
            }
            if volume(tet.map(|v| mesh.positions[v as usize])) < 0.0 {
                tet.swap(2, 3);
            }
            mesh.tets.push(tet);
        }
    }
    mesh
}

fn places([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..nx).flat_map(move |x| (0..ny).flat_map(move |y| (0..nz).map(move |z| (x, y, z))))
}

/// The block's outside as a rig without shapes.
fn rig(block: &TetMesh) -> RigMesh {
    let high = block.positions.iter().fold(DVec3::ZERO, |high, p| high.max(*p));
    let is_outside = |v: &u32| {
        let p = block.positions[*v as usize];
        p.min_element() == 0.0 || p.cmpeq(high).any()
    };
    let triangles: Vec<[u32; 3]> =
        block.boundary().into_iter().filter(|t| t.iter().all(is_outside)).collect();
    let mut used: Vec<u32> = triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let place = |v: u32| used.partition_point(|u| *u < v) as u32;
    let triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(place)).collect();
    let positions: Vec<Vec3> = used.iter().map(|v| block.positions[*v as usize].as_vec3()).collect();
    RigMesh {
        name: "block".to_owned(),
        faces: Faces::from_triangles(&triangles),
        positions,
        uvs: None,
        shapes: Vec::new(),
        regions: Vec::new(),
        to_rig: DAffine3::IDENTITY,
        quantum: 1e-6,
    }
}

/// All above the slit sinks by more than its thickness, so that its roof lies in its floor.
#[test]
fn the_roof_of_a_slit_leaves_its_floor_and_takes_no_skin_along() {
    let mesh = block();
    let face = FaceModel::new("block", &rig(&mesh), 1000, &Budget::default()).unwrap();
    let tissue = TissueVolume { ties: vec![Tie::Skin; mesh.positions.len()], mesh, materials: Vec::new() };
    let input = TissueInput { volume: Some(&tissue), ..TissueInput::new(&face) };
    let ground = Ground::new(&input, &EnrichedParams::default()).unwrap();
    let linings = Linings::new(&ground);
    let crossings = |positions: &[DVec3]| crossing_pairs(positions, &linings.boundary).len();
    let rest = &ground.mesh.mesh.positions;
    assert_eq!(crossings(rest), 0);
    let centre = 0.5 * CELL * CELLS[0] as f64;
    let sunk = |p: &DVec3| {
        let from_centre = (p.x - centre).abs().max((p.z - centre).abs()) / (0.5 * CELL * WIDE.len() as f64);
        let depth = if p.y > height(SLIT) { SUNK * (1.0 - from_centre).max(0.0) } else { 0.0 };
        // Aslant, so that no edge lies exactly above another.
        *p - depth * DVec3::new(0.2, 1.0, 0.1)
    };
    let before: Vec<DVec3> = rest.iter().map(sunk).collect();
    assert!(ground.crushed(&before, FULLNESS).is_empty(), "only linings are at fault");
    assert!(crossings(&before) > 10, "{}", crossings(&before));
    let mut after = before.clone();
    linings.part(&ground, &mut after).unwrap();
    assert_eq!(crossings(&after), 0);
    assert!(ground.crushed(&after, FULLNESS).is_empty());
    for v in 0..rest.len() {
        let way = after[v].distance(before[v]);
        assert!(way < SUNK, "vertex {v} went {way} m");
        assert!(ground.mesh.ties[v] != Tie::Skin || way == 0.0, "skin went {way} m");
    }
}
