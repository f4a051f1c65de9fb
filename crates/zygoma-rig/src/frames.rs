//! Surfaces over time: what exporters write.

use glam::Vec3;

use crate::take::MotionTrack;
use crate::{JointRole, Result, Take};

/// A surface that changes from frame to frame at a steady rate.
///
/// Exporters may read any frame, and read it twice; so a long take need not lie in memory.
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

/// Frames that lie in memory.
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

/// Frames in the frame of the head, moved as a take moves the head.
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
