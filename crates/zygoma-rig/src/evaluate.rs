//! Evaluates the plain rig: neutral plus weighted shapes.

use glam::Vec3;
use zygoma_numerics::simd::{Runs, accumulate_runs};

use crate::binding::{Binding, Drive};
use crate::frames::Frames;
use crate::{Result, Rig, RigMesh, Shape, Take};

/// Zeros kept between two runs of moved coordinates: a few are cheaper than a new run.
const BRIDGED_ZEROS: usize = 12;

/// Evaluates the blendshapes of one mesh, fast: only moved vertices are stored, zero weights cost nothing.
#[derive(Clone, Debug)]
pub struct Evaluator {
    neutral: Vec<Vec3>,
    shapes: Vec<Runs>,
}

impl Evaluator {
    /// Lays out a mesh's shapes for evaluation.
    pub fn new(mesh: &RigMesh) -> Self {
        Self::of(mesh.positions.clone(), &mesh.shapes)
    }

    /// Lays out the shapes of some positions for evaluation.
    pub(crate) fn of(neutral: Vec<Vec3>, shapes: &[Shape]) -> Self {
        let runs = |shape: &Shape| {
            let dense = shape.deltas.to_dense(neutral.len());
            Runs::from_dense(bytemuck::cast_slice(&dense), BRIDGED_ZEROS)
        };
        Self { shapes: shapes.iter().map(runs).collect(), neutral }
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.neutral.len()
    }

    /// Number of shapes, and so of weights.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Writes neutral + Σ weight · shape to `positions`, in rig space.
    ///
    /// # Panics
    /// If `weights` or `positions` has another length than the mesh's shapes or vertices.
    pub fn evaluate(&self, weights: &[f32], positions: &mut [Vec3]) {
        assert_eq!(weights.len(), self.shapes.len(), "one weight per shape");
        positions.copy_from_slice(&self.neutral);
        accumulate_runs(bytemuck::cast_slice_mut(positions), weights, &self.shapes)
            .expect("shapes move only the mesh's own vertices");
    }
}

/// A mesh of a rig performing a take, frame by frame.
#[derive(Clone, Debug)]
pub struct Performance<'a> {
    take: &'a Take,
    binding: Binding,
    mesh: usize,
    evaluator: Evaluator,
    weights: Vec<f32>,
    fps: f64,
}

impl<'a> Performance<'a> {
    /// A mesh of the rig performing the take at a steady rate, in the frame of the head.
    pub fn new(rig: &Rig, mesh: usize, take: &'a Take, fps: f64) -> Self {
        let evaluator = Evaluator::new(&rig.meshes[mesh]);
        Self {
            take,
            binding: Binding::new(rig, take),
            mesh,
            weights: vec![0.0; evaluator.shape_count()],
            evaluator,
            fps,
        }
    }

    /// Which shapes the take drives.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Whether the take gives any shape of the mesh a weight.
    pub fn moves(&self) -> bool {
        let raised = |drive: &Drive| {
            self.take.weights[drive.track].curve.values.iter().any(|weight| drive.gain * weight != 0.0)
        };
        let drives = &self.binding.meshes[self.mesh];
        drives
            .iter()
            .zip(&self.evaluator.shapes)
            .any(|(drives, shape)| !shape.values().is_empty() && drives.iter().any(raised))
    }

    /// The time of a frame in the take, in seconds.
    pub fn time(&self, frame: usize) -> f64 {
        self.take.start() + frame as f64 / self.fps
    }
}

impl Frames for Performance<'_> {
    fn count(&self) -> usize {
        self.take.frame_count(self.fps)
    }

    fn fps(&self) -> f64 {
        self.fps
    }

    fn vertex_count(&self) -> usize {
        self.evaluator.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        let time = self.time(frame);
        self.binding.weights_at(self.take, self.mesh, time, &mut self.weights);
        self.evaluator.evaluate(&self.weights, positions);
        Ok(())
    }
}

/// A mesh of a rig performing a take with weights clamped to 0 to 1, which is all that some programs play.
#[derive(Clone, Debug)]
pub struct ClampedPerformance {
    evaluator: Evaluator,
    fps: f64,
    count: usize,
    /// Weights of all shapes, frame after frame.
    pub weights: Vec<f32>,
    /// Whether no weight had to be clamped.
    pub within_range: bool,
}

impl ClampedPerformance {
    /// A mesh of the rig performing a number of frames of the take, in the frame of the head.
    pub fn new(rig: &Rig, mesh: usize, take: &Take, count: usize, fps: f64) -> Self {
        let (binding, evaluator) = (Binding::new(rig, take), Evaluator::new(&rig.meshes[mesh]));
        let shapes = evaluator.shape_count();
        let mut weights = vec![0.0; count * shapes];
        for (frame, row) in weights.chunks_exact_mut(shapes.max(1)).enumerate() {
            binding.weights_at(take, mesh, take.start() + frame as f64 / fps, row);
        }
        let within_range = weights.iter().all(|weight| (0.0..=1.0).contains(weight));
        weights.iter_mut().for_each(|weight| *weight = weight.clamp(0.0, 1.0));
        Self { evaluator, fps, count, weights, within_range }
    }
}

impl Frames for ClampedPerformance {
    fn count(&self) -> usize {
        self.count
    }

    fn fps(&self) -> f64 {
        self.fps
    }

    fn vertex_count(&self) -> usize {
        self.evaluator.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        let shapes = self.evaluator.shape_count();
        self.evaluator.evaluate(&self.weights[frame * shapes..][..shapes], positions);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::HeadMoved;
    use crate::take::{MotionTrack, WeightCurve, WeightTrack};
    use crate::test_rigs::{mesh, rig};
    use crate::{JointRole, SparseDeltas};
    use glam::{DQuat, DVec3};
    use proptest::prelude::*;
    use zygoma_geometry::rigid::RigidMotion;

    fn mesh_with(vertex_count: usize, shapes: Vec<Vec<(u32, [f32; 3])>>) -> RigMesh {
        let positions = (0..vertex_count).map(|i| Vec3::splat(i as f32)).collect();
        let shapes = shapes.into_iter().map(|moves| {
            let mut dense = vec![Vec3::ZERO; vertex_count];
            for (vertex, offset) in moves {
                dense[vertex as usize % vertex_count] = offset.into();
            }
            Shape { name: String::new(), deltas: SparseDeltas::from_dense(&dense) }
        });
        RigMesh { shapes: shapes.collect(), ..mesh(positions, &[]) }
    }

    fn dense(mesh: &RigMesh, weights: &[f32]) -> Vec<Vec3> {
        let mut positions = mesh.positions.clone();
        for (shape, weight) in mesh.shapes.iter().zip(weights) {
            for (position, offset) in positions.iter_mut().zip(shape.deltas.to_dense(mesh.positions.len())) {
                *position += *weight * offset;
            }
        }
        positions
    }

    proptest! {
        #[test]
        fn sparse_runs_agree_with_dense_sums(
            vertex_count in 1usize..200,
            shapes in prop::collection::vec(
                prop::collection::vec((any::<u32>(), prop::array::uniform3(-1.0f32..1.0)), 0..80), 0..6),
            weights in prop::collection::vec(prop_oneof![Just(0.0f32), -1.0f32..2.0], 6),
        ) {
            let mesh = mesh_with(vertex_count, shapes);
            let weights = &weights[..mesh.shapes.len()];
            let mut positions = vec![Vec3::NAN; vertex_count];
            Evaluator::new(&mesh).evaluate(weights, &mut positions);
            for (found, wanted) in positions.iter().zip(dense(&mesh, weights)) {
                // Fused multiply-add rounds once where the plain sum rounds twice.
                prop_assert!(found.distance(wanted) <= 1e-6 * (1.0 + wanted.length()));
            }
        }
    }

    #[test]
    fn a_performance_follows_weights_and_head() {
        let mesh = mesh_with(2, vec![vec![(1, [0.0, 0.0, 2.0])]]);
        let rig =
            rig(RigMesh { shapes: vec![Shape { name: "jawOpen".into(), ..mesh.shapes[0].clone() }], ..mesh });
        let turned = RigidMotion { rotation: DQuat::from_rotation_y(1.0), translation: DVec3::X };
        let take = Take {
            weights: vec![WeightTrack {
                shape: "JawOpen".into(),
                curve: WeightCurve::linear([0.0, 1.0].into(), vec![0.0, 1.0]),
            }],
            motions: vec![MotionTrack { role: JointRole::Head, times: [0.0].into(), motions: vec![turned] }],
            ..Take::default()
        };
        let mut frames = Performance::new(&rig, 0, &take, 4.0);
        assert_eq!(frames.count(), 5);
        let mut positions = [Vec3::ZERO; 2];
        frames.read(2, &mut positions).unwrap();
        assert_eq!(positions, [Vec3::ZERO, Vec3::new(1.0, 1.0, 2.0)]);
        HeadMoved::new(frames, &take).read(2, &mut positions).unwrap();
        let wanted = turned.apply(DVec3::new(1.0, 1.0, 2.0)).as_vec3();
        assert!(positions[1].distance(wanted) < 1e-6);
    }
}
