//! Tells meshes inside a head, such as eyeballs and teeth, from those around it, such as hair and glasses.

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::TriangleTree;

/// Vertices of a mesh that are looked at. All ours.
const MOST: usize = 150;
/// Rays from each of them.
const RAYS: usize = 24;
/// A mesh is inside if at least this fraction of its rays meets the skin. Hair sees the sky above and the head below; of eyeballs and teeth only
/// what shows through an opening or an open neck escapes.
const ENCLOSED: f64 = 0.7;

/// The skin of a head, as rays see it.
pub(super) struct Enclosure<'a> {
    origin: DVec3,
    positions: Vec<Vec3>,
    triangles: &'a [[u32; 3]],
    tree: TriangleTree,
}

impl<'a> Enclosure<'a> {
    pub(super) fn new(positions: &[DVec3], triangles: &'a [[u32; 3]]) -> Self {
        let origin = positions.first().copied().unwrap_or(DVec3::ZERO);
        let positions: Vec<Vec3> = positions.iter().map(|p| (*p - origin).as_vec3()).collect();
        let tree = TriangleTree::new(&positions, triangles);
        Self { origin, positions, triangles, tree }
    }

    /// Whether a mesh lies inside.
    pub(super) fn holds(&self, points: &[DVec3]) -> bool {
        let some = points.iter().step_by(points.len().div_ceil(MOST).max(1));
        let (mut rays, mut met) = (0, 0);
        for p in some {
            let from = (*p - self.origin).as_vec3();
            let hits = |ray: &usize| {
                self.tree
                    .first_hit(&self.positions, self.triangles, from, direction(*ray), 0.0, |_| true)
                    .is_some()
            };
            rays += RAYS;
            met += (0..RAYS).filter(hits).count();
        }
        f64::from(met as u32) >= ENCLOSED * f64::from(rays as u32)
    }
}

/// Evenly spread directions, along a spiral over the sphere.
fn direction(ray: usize) -> Vec3 {
    const GOLDEN: f32 = 2.399_963;
    let height = 1.0 - 2.0 * (ray as f32 + 0.5) / RAYS as f32;
    let (sine, cosine) = (GOLDEN * ray as f32).sin_cos();
    let radius = (1.0 - height * height).sqrt();
    Vec3::new(radius * cosine, height, radius * sine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Head, HeadOptions, Level};

    #[test]
    fn eyes_and_teeth_are_inside_and_hair_is_not() {
        for seed in [7, 12] {
            let rig = Head::new(&HeadOptions::sampled(seed, Level::Low)).rig_with_texture(None);
            let points = |mesh: &zygoma_rig::RigMesh| {
                mesh.positions.iter().map(|p| p.as_dvec3()).collect::<Vec<DVec3>>()
            };
            let triangles = rig.skin().faces.triangles();
            let skin = Enclosure::new(&points(rig.skin()), &triangles);
            for mesh in rig.meshes.iter().filter(|mesh| mesh.name != rig.skin().name) {
                let inside =
                    ["eye_", "teeth", "gums", "tongue"].iter().any(|part| mesh.name.starts_with(part));
                let outside = ["hair", "brows"].iter().any(|part| mesh.name.starts_with(part));
                assert!(!inside || skin.holds(&points(mesh)), "{} of {seed} is inside", mesh.name);
                assert!(!outside || !skin.holds(&points(mesh)), "{} of {seed} is outside", mesh.name);
            }
        }
    }
}
