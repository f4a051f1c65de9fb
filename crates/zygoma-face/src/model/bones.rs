//! A skull under a face: its depth below the skin, and the nearest bone.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::TriangleTree;
use zygoma_physics::contact::ColliderMesh;
use zygoma_rig::{Rig, RigMesh};

use super::jaw_motion::JawMotion;

/// Mesh names that identify the bones of a rig.
const CRANIUM: [&str; 2] = ["cranium", "skull"];
const MANDIBLE: [&str; 3] = ["mandible", "jawbone", "jaw_bone"];

/// The bone surfaces under a face at rest, m.
#[derive(Clone, Debug, PartialEq)]
pub struct Bones {
    /// Skull without the lower jaw; fixed to the head.
    pub cranium: TriMesh,
    /// Lower jaw at rest.
    pub mandible: TriMesh,
    /// Motion of the lower jaw.
    pub jaw: JawMotion,
}

/// A bone at rest that nothing presses skin into.
#[derive(Clone, Debug)]
pub(crate) struct SolidBone {
    pub(crate) mesh: ColliderMesh,
    /// Whether it is the lower jaw.
    pub(crate) is_jaw: bool,
}

impl SolidBone {
    /// The same bone in another head: `reshape` moves a point at rest, given whether it is on the jaw.
    pub(crate) fn reshaped(&self, reshape: impl Fn(DVec3, bool) -> DVec3) -> Self {
        let moved = self.mesh.positions().iter().map(|p| reshape(p.as_dvec3(), self.is_jaw).as_vec3());
        let mesh = ColliderMesh::new(moved.collect(), self.mesh.triangles().to_vec());
        Self { mesh: mesh.unwrap_or_else(|_| self.mesh.clone()), ..*self }
    }
}

impl Bones {
    /// The surfaces of cranium and mandible at rest.
    pub(crate) fn surfaces(&self) -> [TriMesh<Vec3>; 2] {
        [&self.cranium, &self.mandible].map(|mesh| TriMesh {
            positions: mesh.positions.iter().map(|p| p.as_vec3()).collect(),
            triangles: mesh.triangles.clone(),
        })
    }

    /// Those of them that are closed.
    pub(crate) fn solids(&self) -> Vec<SolidBone> {
        let solid = |(TriMesh { positions, triangles }, is_jaw)| {
            Some(SolidBone { mesh: ColliderMesh::new(positions, triangles).ok()?, is_jaw })
        };
        self.surfaces().into_iter().zip([false, true]).filter_map(solid).collect()
    }

    /// The bones that a rig has as meshes: one named cranium or skull, and a mandible with shapes of the skin's names.
    pub fn of_rig(rig: &Rig) -> Option<Self> {
        Self::among(&rig.meshes, rig.skin())
    }

    /// Finds the bones among some meshes under a skin, by name.
    pub fn among(meshes: &[RigMesh], skin: &RigMesh) -> Option<Self> {
        let named = |names: &[&str]| {
            let is = |mesh: &&RigMesh| names.iter().any(|name| mesh.name.eq_ignore_ascii_case(name));
            meshes.iter().find(is).filter(|mesh| !mesh.positions.is_empty())
        };
        Some(Self::of_meshes(named(&CRANIUM)?, named(&MANDIBLE)?, skin))
    }

    /// The bones from two meshes under a skin.
    fn of_meshes(cranium: &RigMesh, mandible: &RigMesh, skin: &RigMesh) -> Self {
        Self {
            cranium: surface_of(cranium),
            mandible: surface_of(mandible),
            jaw: JawMotion::of_mesh(mandible, skin),
        }
    }
}

fn surface_of(mesh: &RigMesh) -> TriMesh {
    TriMesh {
        positions: mesh.positions.iter().map(|p| p.as_dvec3()).collect(),
        triangles: mesh.faces.triangles(),
    }
}

/// Depths of bone and of the opposite skin below a vertex, and the distances to the bones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Below {
    /// Depth of the bone along the inward normal, m; none where the ray misses all bones or leaves through the skin first.
    pub(crate) bone: Option<f64>,
    /// Distance to the opposite side of the skin along the inward normal.
    pub(crate) skin: Option<f64>,
    /// Distances to the cranium and to the mandible.
    pub(crate) distances: [f64; 2],
}

/// Casts a ray from each vertex of a skin along its inward normal.
pub(crate) fn look_below(
    bones: &Bones,
    skin: &[DVec3],
    triangles: &[[u32; 3]],
    normals: &[DVec3],
) -> Vec<Below> {
    let surfaces = [Searchable::new(&bones.cranium), Searchable::new(&bones.mandible)];
    let own = Searchable::of(skin.iter().map(|p| p.as_vec3()).collect(), triangles.to_vec());
    let below = |vertex: usize| {
        let (at, inward) = (skin[vertex].as_vec3(), -normals[vertex].as_vec3());
        let opposite = own.along(at, inward, |t| !triangles[t as usize].contains(&(vertex as u32)));
        let hits = surfaces.each_ref().map(|surface| surface.along(at, inward, |_| true));
        let nearest = hits.iter().flatten().copied().reduce(f64::min);
        Below {
            bone: nearest.filter(|depth| opposite.is_none_or(|other| *depth < other)),
            skin: opposite,
            distances: surfaces.each_ref().map(|surface| surface.distance(at)),
        }
    };
    (0..skin.len()).into_par_iter().map(below).collect()
}

struct Searchable {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    tree: TriangleTree,
}

impl Searchable {
    fn new(surface: &TriMesh) -> Self {
        Self::of(surface.positions.iter().map(|p| p.as_vec3()).collect(), surface.triangles.clone())
    }

    fn of(positions: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        let tree = TriangleTree::new(&positions, &triangles);
        Self { positions, triangles, tree }
    }

    fn along(&self, at: Vec3, direction: Vec3, accepted: impl Fn(u32) -> bool) -> Option<f64> {
        let hit = self.tree.first_hit(&self.positions, &self.triangles, at, direction, 0.0, accepted)?;
        Some(f64::from(hit.distance))
    }

    fn distance(&self, at: Vec3) -> f64 {
        let nearest = self.tree.closest(&self.positions, &self.triangles, at, f32::INFINITY);
        nearest.map_or(f64::INFINITY, |nearest| f64::from(nearest.distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    #[test]
    fn bone_is_seen_below_skin_and_the_skins_other_side_where_there_is_none() {
        let (ball, triangles) = shapes::sphere(40, 60);
        let scaled = |by: f64, at: DVec3| TriMesh {
            positions: ball.iter().map(|p| at + by * p.as_dvec3()).collect(),
            triangles: triangles.clone(),
        };
        let bones = Bones {
            cranium: scaled(0.05, DVec3::new(0.0, 0.04, 0.0)),
            mandible: scaled(0.02, DVec3::new(0.0, -0.07, 0.0)),
            jaw: JawMotion::still(),
        };
        let skin = scaled(0.1, DVec3::ZERO).positions;
        let normals: Vec<DVec3> = skin.iter().map(|p| p.normalize()).collect();
        let below = look_below(&bones, &skin, &triangles, &normals);
        let at = |way: DVec3| {
            let nearest =
                (0..skin.len()).max_by(|a, b| normals[*a].dot(way).total_cmp(&normals[*b].dot(way)));
            below[nearest.unwrap()]
        };
        let top = at(DVec3::Y);
        assert!((top.bone.unwrap() - 0.01).abs() < 1e-3 && top.distances[0] < top.distances[1], "{top:?}");
        let chin = at(-DVec3::Y);
        assert!(
            (chin.bone.unwrap() - 0.01).abs() < 1e-3 && chin.distances[1] < chin.distances[0],
            "{chin:?}"
        );
        // Bone beyond the opposite side of the skin is not below it.
        let outside = Bones { cranium: scaled(0.01, DVec3::new(-0.3, 0.0, 0.0)), ..bones };
        let below = look_below(&outside, &skin, &triangles, &normals);
        let side = (0..skin.len()).max_by(|a, b| skin[*a].x.total_cmp(&skin[*b].x)).unwrap();
        assert_eq!(below[side].bone, None);
        assert!((below[side].skin.unwrap() - 0.2).abs() < 2e-3, "{:?}", below[side]);
    }
}
