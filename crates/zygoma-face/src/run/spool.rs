//! Simulated frames, spooled to disk before they are exported.
//!
//! A minute of a detailed face is a gigabyte, and exporters read frames more than once. So frames are spooled in an unnamed temporary
//! file beside the output, which is gone when the program ends, however it ends.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use glam::Vec3;
use zygoma_rig::frames::Frames;
use zygoma_rig::{Error, Result};

/// Number of vertices written or read at once.
const CHUNK: usize = 2048;

/// Frames stored in a file.
pub struct SpooledFrames {
    file: File,
    folder: PathBuf,
    fps: f64,
    vertex_count: usize,
    count: usize,
}

impl SpooledFrames {
    /// Without frames yet, in a file of a folder that has room for `expected` of them.
    pub fn new(folder: &Path, fps: f64, vertex_count: usize, expected: usize) -> Result<Self> {
        let needed = (vertex_count as u64).saturating_mul(size_of::<Vec3>() as u64);
        zygoma_files::check_room(folder, needed.saturating_mul(expected as u64)).map_err(|error| {
            Error::Request(format!(
                "{expected} frames of {vertex_count} vertices wait there to be written: {error}"
            ))
        })?;
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            Error::Request(format!(
                "{}: no file for the frames can be made there: {error}; name another output",
                folder.display()
            ))
        })?;
        Ok(Self { file, folder: folder.to_owned(), fps, vertex_count, count: 0 })
    }

    /// Appends a frame.
    pub fn push(&mut self, frame: &[Vec3]) -> Result<()> {
        debug_assert_eq!(frame.len(), self.vertex_count, "every frame has the same vertices");
        self.write_frame(frame).map_err(|error| {
            let (size, folder) = (self.vertex_count * size_of::<Vec3>(), self.folder.display());
            let (count, kib) = (self.count, size.div_ceil(1024));
            Error::Request(format!(
                "{folder}: keeping frame {count} failed: {error}; every frame needs {kib} KiB there"
            ))
        })?;
        self.count += 1;
        Ok(())
    }

    fn write_frame(&mut self, frame: &[Vec3]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(self.start(self.count)))?;
        let mut bytes = [0; CHUNK * size_of::<Vec3>()];
        for part in frame.chunks(CHUNK) {
            for (position, bytes) in part.iter().zip(bytes.as_chunks_mut::<12>().0) {
                let [x, y, z] = position.to_array().map(f32::to_le_bytes);
                bytes[..4].copy_from_slice(&x);
                bytes[4..8].copy_from_slice(&y);
                bytes[8..].copy_from_slice(&z);
            }
            self.file.write_all(&bytes[..size_of_val(part)])?;
        }
        Ok(())
    }

    /// Offset of a frame in the file.
    fn start(&self, frame: usize) -> u64 {
        frame as u64 * self.vertex_count as u64 * size_of::<Vec3>() as u64
    }

    /// The positions of one frame.
    pub fn frame(&self, frame: usize) -> std::io::Result<Vec<Vec3>> {
        let mut positions = vec![Vec3::ZERO; self.vertex_count];
        self.read_frame(frame, &mut positions)?;
        Ok(positions)
    }

    fn read_frame(&self, frame: usize, positions: &mut [Vec3]) -> std::io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start(frame)))?;
        let mut bytes = [0; CHUNK * size_of::<Vec3>()];
        for part in positions.chunks_mut(CHUNK) {
            let bytes = &mut bytes[..size_of_val(part)];
            file.read_exact(bytes)?;
            for (position, bytes) in part.iter_mut().zip(bytes.as_chunks::<12>().0) {
                let number = |at: usize| f32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
                *position = Vec3::new(number(0), number(4), number(8));
            }
        }
        Ok(())
    }
}

impl Frames for SpooledFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn fps(&self) -> f64 {
        self.fps
    }

    fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    fn read(&mut self, frame: usize, positions: &mut [Vec3]) -> Result<()> {
        self.read_frame(frame, positions)
            .map_err(|error| Error::Request(format!("frame {frame} cannot be read back: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_in_any_order_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // More vertices than are read at once.
        let frame = |index: usize| -> Vec<Vec3> {
            (0..CHUNK + 5).map(|v| Vec3::new(v as f32, index as f32, 1.0 / (1 + v) as f32)).collect()
        };
        let mut frames = SpooledFrames::new(folder.path(), 24.0, CHUNK + 5, 5).unwrap();
        for index in 0..5 {
            frames.push(&frame(index)).unwrap();
        }
        assert_eq!((frames.count(), frames.fps(), frames.vertex_count()), (5, 24.0, CHUNK + 5));
        let mut read = vec![Vec3::ZERO; CHUNK + 5];
        for index in [3, 0, 4, 4, 1] {
            frames.read(index, &mut read).unwrap();
            assert_eq!(read, frame(index));
            assert_eq!(frames.frame(index).unwrap(), read);
        }
        assert!(frames.read(5, &mut read).unwrap_err().to_string().contains("frame 5"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn frames_that_the_disk_cannot_hold_are_refused_before_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let refused = SpooledFrames::new(folder.path(), 24.0, 1 << 22, 1 << 30).err().unwrap();
        assert!(format!("{refused:#}").contains("are needed there, but only"), "{refused:#}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let problem = SpooledFrames::new(Path::new("nowhere/at/all"), 24.0, 3, 1).err().unwrap();
        assert!(problem.to_string().contains("nowhere/at/all"), "{problem}");
    }
}
