//! Surfaces over time, as exporters read them.

use std::cell::RefCell;
use std::rc::Rc;

use glam::Vec3;

use crate::take::MotionTrack;
use crate::{Joint, JointRole, Result, Rig, Take};

/// A surface that changes from frame to frame at a steady rate.
///
/// Exporters may read any frame, more than once; so a long take need not be in memory.
pub trait Frames {
    /// Number of frames.
    fn count(&self) -> usize;

    /// Frames per second.
    fn fps(&self) -> f64;

    /// Vertices of every frame.
    fn vertex_count(&self) -> usize;

    /// Writes the positions of one frame, in rig space, to `positions`.
    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()>;
}

/// Frames held in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFrames {
    fps: f64,
    vertex_count: usize,
    positions: Vec<Vec3>,
}

impl StoredFrames {
    /// No frames yet.
    pub fn new(fps: f64, vertex_count: usize) -> Self {
        Self { fps, vertex_count, positions: Vec::new() }
    }

    /// Appends a frame.
    ///
    /// # Panics
    /// If the frame has another number of vertices.
    pub fn push(&mut self, frame: &[Vec3]) {
        assert_eq!(frame.len(), self.vertex_count, "every frame has the same vertices");
        self.positions.extend_from_slice(frame);
    }

    /// The positions of one frame.
    pub fn frame(&self, frame: usize) -> &[Vec3] {
        &self.positions[frame * self.vertex_count..][..self.vertex_count]
    }
}

impl<F: Frames + ?Sized> Frames for &mut F {
    fn count(&self) -> usize {
        F::count(self)
    }

    fn fps(&self) -> f64 {
        F::fps(self)
    }

    fn vertex_count(&self) -> usize {
        F::vertex_count(self)
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        F::read(self, frame, positions)
    }
}

impl<F: Frames + ?Sized> Frames for Box<F> {
    fn count(&self) -> usize {
        F::count(self)
    }

    fn fps(&self) -> f64 {
        F::fps(self)
    }

    fn vertex_count(&self) -> usize {
        F::vertex_count(self)
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        F::read(self, frame, positions)
    }
}

impl Frames for StoredFrames {
    fn count(&self) -> usize {
        self.positions.len().checked_div(self.vertex_count).unwrap_or(0)
    }

    fn fps(&self) -> f64 {
        self.fps
    }

    fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        positions.copy_from_slice(self.frame(frame));
        Ok(())
    }
}

/// Frames shared by several readers, which take turns.
#[derive(Debug)]
pub struct SharedFrames<F>(Rc<RefCell<F>>);

impl<F> SharedFrames<F> {
    /// Shares frames with every clone.
    pub fn new(frames: F) -> Self {
        Self(Rc::new(RefCell::new(frames)))
    }
}

impl<F> Clone for SharedFrames<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<F: Frames> Frames for SharedFrames<F> {
    fn count(&self) -> usize {
        self.0.borrow().count()
    }

    fn fps(&self) -> f64 {
        self.0.borrow().fps()
    }

    fn vertex_count(&self) -> usize {
        self.0.borrow().vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.0.borrow_mut().read(frame, positions)
    }
}

/// Frames of a mesh, with the parts carried by jaw and eye joints moved by a take.
#[derive(Clone, Debug)]
pub struct JointMoved<'a, F> {
    frames: F,
    parts: Vec<(&'a [(u32, f32)], &'a MotionTrack)>,
    start: f64,
}

impl<'a, F: Frames> JointMoved<'a, F> {
    /// Moves frames of one of the rig's meshes, of which the first is at the take's start.
    pub fn new(frames: F, rig: &'a Rig, mesh: usize, take: &'a Take) -> Self {
        let carried = |joint: &'a Joint| {
            let motion = take.motion(joint.role).filter(|_| joint.role != JointRole::Head)?;
            let carried = joint.carries.iter().find(|carried| carried.mesh == mesh)?;
            // Frames of a mesh that has been reduced since are left unchanged.
            let fits =
                carried.vertices.last().is_some_and(|(last, _)| (*last as usize) < frames.vertex_count());
            fits.then_some((carried.vertices.as_slice(), motion))
        };
        let parts = rig.joints.iter().filter_map(carried).collect();
        Self { parts, frames, start: take.start() }
    }
}

impl<F: Frames> Frames for JointMoved<'_, F> {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn fps(&self) -> f64 {
        self.frames.fps()
    }

    fn vertex_count(&self) -> usize {
        self.frames.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.frames.read(frame, positions)?;
        let time = self.start + frame as f64 / self.fps();
        for (vertices, track) in &self.parts {
            let Some(motion) = track.sample(time) else { continue };
            for (vertex, fraction) in *vertices {
                let position = &mut positions[*vertex as usize];
                *position = position.lerp(motion.apply(position.as_dvec3()).as_vec3(), *fraction);
            }
        }
        Ok(())
    }
}

/// Frames with their vertices in another order, some of them possibly more than once.
#[derive(Clone, Debug)]
pub struct Reordered<F> {
    frames: F,
    order: Vec<u32>,
    positions: Vec<Vec3>,
}

impl<F: Frames> Reordered<F> {
    /// `order` gives the vertex of `frames` for each new one.
    ///
    /// # Panics
    /// If `order` names a vertex that the frames do not have.
    pub fn new(frames: F, order: Vec<u32>) -> Self {
        let positions = vec![Vec3::ZERO; frames.vertex_count()];
        assert!(order.iter().all(|vertex| (*vertex as usize) < positions.len()), "vertices of the frames");
        Self { frames, order, positions }
    }
}

impl<F: Frames> Frames for Reordered<F> {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn fps(&self) -> f64 {
        self.frames.fps()
    }

    fn vertex_count(&self) -> usize {
        self.order.len()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.frames.read(frame, &mut self.positions)?;
        for (position, vertex) in positions.iter_mut().zip(&self.order) {
            *position = self.positions[*vertex as usize];
        }
        Ok(())
    }
}

/// Frames in the frame of the head, moved by a take's head motion.
#[derive(Clone, Debug)]
pub struct HeadMoved<'a, F> {
    frames: F,
    head: Option<&'a MotionTrack>,
    start: f64,
}

impl<'a, F> HeadMoved<'a, F> {
    /// Moves frames whose first one is at the take's start.
    pub fn new(frames: F, take: &'a Take) -> Self {
        Self { frames, head: take.motion(JointRole::Head), start: take.start() }
    }
}

impl<F: Frames> Frames for HeadMoved<'_, F> {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn fps(&self) -> f64 {
        self.frames.fps()
    }

    fn vertex_count(&self) -> usize {
        self.frames.vertex_count()
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.frames.read(frame, positions)?;
        let time = self.start + frame as f64 / self.fps();
        if let Some(motion) = self.head.and_then(|track| track.sample(time)) {
            for position in positions {
                *position = motion.apply(position.as_dvec3()).as_vec3();
            }
        }
        Ok(())
    }
}
