//! Finds the part of a mesh that is the skin of the face, and the height of the face.

use glam::DVec3;
use zygoma_geometry::topology::{connected_parts, distinct_triangles};
use zygoma_numerics::Budget;
use zygoma_rig::jaw::jaw_driven_shapes;
use zygoma_rig::weld::Weld;
use zygoma_rig::{RigMesh, SparseDeltas};

use super::prepare::PrepareError;

/// Words in region names that mark parts other than touchable skin.
const NOT_SKIN: [&str; 11] = [
    "socket",
    "gum",
    "teeth",
    "tooth",
    "tongue",
    "eyeball",
    "lacrimal",
    "blend",
    "occlusion",
    "lash",
    "tear",
];

/// A jaw shape carries the chin along: vertices that move by at least this fraction of the largest displacement are chin. Ours.
const CHIN: f32 = 0.6;

/// The neck is simulated down to this fraction of the height below the chin. Ours: enough for the skin under the jaw to move freely.
const NECK: f64 = 0.12;

/// The skin of a face.
pub(crate) struct Region {
    /// The welded points of the whole mesh.
    pub(crate) weld: Weld,
    /// Positions of the points, in face heights.
    pub(crate) points: Vec<DVec3>,
    /// All triangles, between points.
    pub(crate) all_triangles: Vec<[u32; 3]>,
    /// All triangles, between vertices of the mesh.
    pub(crate) mesh_triangles: Vec<[u32; 3]>,
    /// Triangles of the simulated skin, between points.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Height of the face in metres.
    pub(crate) height: f64,
    /// Shapes that move the jaw.
    pub(crate) jaw: Vec<usize>,
}

impl Region {
    pub(crate) fn choose(mesh: &RigMesh, budget: &Budget) -> Result<Self, PrepareError> {
        let weld = Weld::within(mesh, budget)?;
        let (mut all_triangles, mut mesh_triangles) = (weld.triangles(mesh), mesh.faces.triangles());
        let metres: Vec<DVec3> = weld.gather(&mesh.positions).iter().map(|p| p.as_dvec3()).collect();
        let named = named_skin(mesh);
        let is_named = |point: &u32| named[weld.vertices_of_point(*point as usize)[0] as usize];
        // Duplicate triangles, and skin modelled with two sides, are simulated once.
        let skin: Vec<[u32; 3]> = distinct_triangles(&all_triangles)
            .into_iter()
            .map(|t| all_triangles[t as usize])
            .filter(|t| t.iter().all(is_named))
            .collect();
        let mut skin = largest_part(&metres, &skin);
        if faces_inwards(&metres, &skin) {
            let all = [&mut all_triangles, &mut mesh_triangles, &mut skin];
            all.into_iter().flatten().for_each(|t| t.swap(1, 2));
        }
        let jaw = jaw_driven_shapes(mesh);
        let crown = heights(&metres, &skin).fold(f64::MIN, f64::max);
        let lowest = heights(&metres, &skin).fold(f64::MAX, f64::min);
        let chin = chin_height(mesh, &weld, &skin, &jaw).unwrap_or(lowest);
        let height = crown - chin;
        if !(height.is_finite() && height > 0.0) {
            return Err(PrepareError::NoFace);
        }
        let end = chin - NECK * height;
        let above = |t: &&[u32; 3]| t.iter().all(|p| metres[*p as usize].y >= end);
        let cut: Vec<[u32; 3]> = skin.iter().filter(above).copied().collect();
        let triangles = largest_part(&metres, &cut);
        let points = metres.iter().map(|p| *p / height).collect();
        Ok(Self { weld, points, all_triangles, mesh_triangles, triangles, height, jaw })
    }

    /// Displacements of all points by a shape, in face heights.
    pub(crate) fn point_deltas(&self, mesh: &RigMesh, deltas: &SparseDeltas) -> Vec<DVec3> {
        let dense = deltas.to_dense(mesh.positions.len());
        self.weld.gather(&dense).iter().map(|d| d.as_dvec3() / self.height).collect()
    }
}

/// Whether each vertex may be skin, judged by the region names in the file.
fn named_skin(mesh: &RigMesh) -> Vec<bool> {
    let mut skin = vec![true; mesh.positions.len()];
    for region in &mesh.regions {
        let name = region.name.to_lowercase();
        if NOT_SKIN.iter().any(|word| name.contains(word)) {
            let end = region.vertices.end.min(skin.len());
            skin[region.vertices.start.min(end)..end].fill(false);
        }
    }
    skin
}

fn heights(points: &[DVec3], triangles: &[[u32; 3]]) -> impl Iterator<Item = f64> {
    triangles.iter().flatten().map(|p| points[*p as usize].y)
}

/// Whether a surface is inside out, as after mirroring a head without flipping its polygons: normals point towards its centre.
fn faces_inwards(points: &[DVec3], triangles: &[[u32; 3]]) -> bool {
    let corners = |t: &[u32; 3]| t.map(|p| points[p as usize]);
    let middle = triangles.iter().flat_map(corners).sum::<DVec3>() / (3.0 * triangles.len().max(1) as f64);
    let outwards = triangles.iter().map(corners).map(|[a, b, c]| (a - middle).dot((b - a).cross(c - a)));
    outwards.sum::<f64>() < 0.0
}

/// The triangles of the connected component with the largest area.
fn largest_part(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let (parts, count) = connected_parts(points.len(), triangles);
    let mut areas = vec![0.0; count];
    for t in triangles {
        let [a, b, c] = t.map(|p| points[p as usize]);
        areas[parts[t[0] as usize] as usize] += (b - a).cross(c - a).length();
    }
    let largest = (0..count).max_by(|a, b| areas[*a].total_cmp(&areas[*b])).unwrap_or(0);
    triangles.iter().filter(|t| parts[t[0] as usize] as usize == largest).copied().collect()
}

/// Height of the underside of the chin: the lowest skin that the strongest jaw shape carries, or without one the lowest
/// skin that any shape moves.
fn chin_height(mesh: &RigMesh, weld: &Weld, skin: &[[u32; 3]], jaw: &[usize]) -> Option<f64> {
    let mut is_skin = vec![false; weld.point_count()];
    for p in skin.iter().flatten() {
        is_skin[*p as usize] = true;
    }
    let lowest = |deltas: &SparseDeltas, fraction: f32| {
        let least = fraction * deltas.largest();
        deltas
            .iter()
            .filter(|(vertex, offset)| {
                is_skin[weld.point_of_vertex[*vertex as usize] as usize]
                    && offset.length() >= least
                    && least > 0.0
            })
            .map(|(vertex, _)| f64::from(mesh.positions[vertex as usize].y))
            .reduce(f64::min)
    };
    let strongest = jaw
        .iter()
        .map(|index| &mesh.shapes[*index].deltas)
        .max_by(|a, b| a.largest().total_cmp(&b.largest()));
    match strongest {
        Some(deltas) => lowest(deltas, CHIN),
        None => mesh.shapes.iter().filter_map(|shape| lowest(&shape.deltas, 0.5 * CHIN)).reduce(f64::min),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::Faces;
    use zygoma_head::{Head, HeadOptions, Level};

    #[test]
    fn a_skin_that_is_inside_out_is_turned() {
        let rig = Head::new(&HeadOptions { level: Level::Low, ..HeadOptions::default() }).rig();
        let mesh = rig.skin();
        let turned: Vec<[u32; 3]> = mesh.faces.triangles().iter().map(|[a, b, c]| [*a, *c, *b]).collect();
        let inside_out = RigMesh { faces: Faces::from_triangles(&turned), ..mesh.clone() };
        let [found, known] =
            [&inside_out, mesh].map(|mesh| Region::choose(mesh, &Budget::default()).unwrap());
        assert_eq!(known.mesh_triangles, mesh.faces.triangles());
        assert_eq!(found.mesh_triangles, known.mesh_triangles);
        assert_eq!(found.all_triangles, known.all_triangles);
        assert_eq!(found.triangles, known.triangles);
    }
}
