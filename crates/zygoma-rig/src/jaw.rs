//! Shapes that move the lower jaw, recognised by their effect on the chin.
//!
//! A jaw moves as a rigid body, so its shapes move the chin rigidly; every other shape of a face bends or
//! stretches what it moves. The chin is found first, as the patch that the strongest rigid motion in the
//! lower face moves.

use glam::DVec3;
use zygoma_geometry::rigid::fit_rigid_motion;

use crate::{RigMesh, Shape, arkit};

/// A patch moves rigidly if the best rigid motion fits it to within this fraction of its displacement. Ours:
/// on the rigs seen, jaw shapes move the chin to within 0.17, all others not even to within 1.6.
const RIGID_RESIDUAL: f64 = 0.4;

/// Threshold for the patch that a shape moves, as a fraction of its largest displacement. Ours.
const CARRIED: f64 = 0.6;

/// A jaw shape moves the chin by at least this fraction of the height of the moving face. Ours: 2.4 mm on a
/// life-size face.
const LEAST_MOTION: f64 = 0.01;

/// Indices of the shapes that move the jaw. `mouthClose` counts as one where it exists: it is made to be used
/// on top of an open jaw.
pub fn jaw_driven_shapes(mesh: &RigMesh) -> Vec<usize> {
    let Some(face) = MovingFace::of(mesh) else { return Vec::new() };
    let Some(chin) = face.find_chin() else { return Vec::new() };
    let is_jaw = |shape: &Shape| {
        let is_mouth_close =
            arkit::recognise(&shape.name).is_some_and(|recognised| recognised.shape == "mouthClose");
        is_mouth_close || face.carries(shape, &chin)
    };
    (0..mesh.shapes.len()).filter(|index| is_jaw(&mesh.shapes[*index])).collect()
}

/// The part of a mesh that any shape moves.
struct MovingFace<'a> {
    mesh: &'a RigMesh,
    height: f64,
    /// Height of the middle of the moving face.
    middle: f64,
}

/// How a patch of vertices moves.
struct PatchMotion {
    mean_displacement: f64,
    /// Root mean square distance from the best rigid motion.
    residual: f64,
}

impl<'a> MovingFace<'a> {
    fn of(mesh: &'a RigMesh) -> Option<Self> {
        let largest = mesh.shapes.iter().map(|shape| shape.deltas.largest()).fold(0.0, f32::max);
        let strong = |(_, offset): &(u32, glam::Vec3)| offset.length() > 0.1 * largest;
        let heights = mesh.shapes.iter().flat_map(|shape| shape.deltas.iter().filter(strong));
        let heights = heights.map(|(vertex, _)| f64::from(mesh.positions[vertex as usize].y));
        let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
        (low < high).then_some(Self { mesh, height: high - low, middle: 0.5 * (low + high) })
    }

    /// The vertices that the strongest rigid motion of the lower face moves.
    fn find_chin(&self) -> Option<Vec<u32>> {
        let candidates = self.mesh.shapes.iter().filter_map(|shape| {
            let patch = self.carried_patch(shape)?;
            let motion = self.motion(shape, &patch);
            let is_rigid = motion.residual < RIGID_RESIDUAL * motion.mean_displacement;
            is_rigid.then_some((motion.mean_displacement * patch.len() as f64, patch))
        });
        candidates.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, patch)| patch)
    }

    /// The patch that a shape moves farthest, if it lies in the lower face and is more than a spot. If a rig moves nothing above the
    /// mouth, only shape names show where the lower face is.
    fn carried_patch(&self, shape: &Shape) -> Option<Vec<u32>> {
        let reach = CARRIED as f32 * shape.deltas.largest();
        let carried = shape.deltas.iter().filter(|(_, offset)| offset.length() >= reach);
        let patch: Vec<u32> = carried.map(|(vertex, _)| vertex).collect();
        let mean_height = patch.iter().map(|v| self.position(*v).y).sum::<f64>() / patch.len() as f64;
        let is_named = arkit::recognise(&shape.name).is_some_and(|found| found.shape.starts_with("jaw"));
        (patch.len() >= 8 && (is_named || mean_height < self.middle)).then_some(patch)
    }

    fn carries(&self, shape: &Shape, chin: &[u32]) -> bool {
        let motion = self.motion(shape, chin);
        motion.mean_displacement > LEAST_MOTION * self.height
            && motion.residual < RIGID_RESIDUAL * motion.mean_displacement
    }

    fn motion(&self, shape: &Shape, patch: &[u32]) -> PatchMotion {
        let dense = shape.deltas.to_dense(self.mesh.positions.len());
        let rest: Vec<DVec3> = patch.iter().map(|v| self.position(*v)).collect();
        let offsets: Vec<DVec3> = patch.iter().map(|v| dense[*v as usize].as_dvec3()).collect();
        let moved: Vec<DVec3> = rest.iter().zip(&offsets).map(|(p, d)| *p + *d).collect();
        let fit = fit_rigid_motion(&rest, &moved);
        let count = patch.len() as f64;
        let squared: f64 = rest.iter().zip(&moved).map(|(p, q)| fit.apply(*p).distance_squared(*q)).sum();
        PatchMotion {
            mean_displacement: offsets.iter().map(|d| d.length()).sum::<f64>() / count,
            residual: (squared / count).sqrt(),
        }
    }

    fn position(&self, vertex: u32) -> DVec3 {
        self.mesh.positions[vertex as usize].as_dvec3()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SparseDeltas;
    use crate::test_rigs::mesh;
    use glam::{DQuat, Vec3};

    /// A front-facing grid of points, 0.2 m tall, with shapes given as displacement fields.
    fn face(shapes: &[(&str, &dyn Fn(DVec3) -> DVec3)]) -> RigMesh {
        let point = |i: u32| Vec3::new((i % 21) as f32 - 10.0, (i / 21) as f32 - 10.0, 0.0) * 0.01;
        let positions: Vec<Vec3> = (0..441).map(point).collect();
        let shape = |(name, field): &(&str, &dyn Fn(DVec3) -> DVec3)| {
            let offsets: Vec<Vec3> = positions.iter().map(|p| field(p.as_dvec3()).as_vec3()).collect();
            Shape { name: (*name).into(), deltas: SparseDeltas::from_dense(&offsets) }
        };
        let shapes = shapes.iter().map(shape).collect();
        RigMesh { shapes, ..mesh(positions, &[]) }
    }

    #[test]
    fn rigid_chins_are_jaws_and_bent_ones_are_not() {
        let jaw_weight = |p: DVec3| ((-p.y - 0.01) / 0.03).clamp(0.0, 1.0);
        let hinge = DVec3::new(0.0, 0.02, -0.08);
        let open = |p: DVec3| {
            let turned = hinge + DQuat::from_rotation_x(0.3) * (p - hinge);
            jaw_weight(p) * (turned - p)
        };
        let slide = |p: DVec3| jaw_weight(p) * DVec3::X * 0.008;
        let puff = |p: DVec3| DVec3::Z * 0.02 * (-(p.x.abs() - 0.05).powi(2) / 4e-4 - p.y * p.y / 1e-3).exp();
        let stretch = |p: DVec3| jaw_weight(p) * DVec3::new(0.3 * p.x, 0.0, 0.0);
        let brow = |p: DVec3| DVec3::Y * 0.01 * (p.y / 0.1).clamp(0.0, 1.0).powi(2);
        let mesh = face(&[
            ("brow", &brow),
            ("open", &open),
            ("puff", &puff),
            ("slide", &slide),
            ("stretch", &stretch),
            ("MouthClose", &|_| DVec3::ZERO),
        ]);
        assert_eq!(jaw_driven_shapes(&mesh), [1, 3, 5]);
        // Without shapes above the mouth, only the name shows that the moving part is the lower face.
        let low = |p: DVec3| if p.y < -0.055 { 0.3 * open(p) } else { open(p) };
        assert_eq!(jaw_driven_shapes(&face(&[("jawOpen", &low)])), [0]);
        assert_eq!(jaw_driven_shapes(&face(&[("open", &low)])), [0; 0]);
    }

    #[test]
    fn a_mesh_without_shapes_has_no_jaw() {
        assert!(jaw_driven_shapes(&face(&[])).is_empty());
    }
}
