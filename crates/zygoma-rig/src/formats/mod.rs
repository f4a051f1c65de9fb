//! File formats of rigs and takes. Each module knows one format and nothing of the others; the
//! functions here choose among them.

pub mod caches;
pub mod gltf;
pub mod ict;
mod input;
mod limits;
pub mod live_link;
pub mod markers;
pub mod obj;
pub mod plain_csv;
mod table;
pub mod usda;

use std::path::Path;

pub use limits::Limits;

use crate::frames::Frames;
use crate::up::Up;
use crate::{Error, Result, Rig, RigMesh, Take};
use table::Table;

/// Reads a rig of any kind: a glTF, GLB or VRM file, an OBJ file, a folder of OBJ files, or an ICT-FaceKit
/// folder. A rig whose known shapes or whose proportions show that +Z is up is rotated, with a note.
pub fn read_rig(path: &Path, limits: &Limits) -> Result<Rig> {
    let mut rig = read_rig_as_is(path, limits)?;
    if Up::of_rig(&rig) == Up::Z {
        rig.stand_up();
    }
    Ok(rig)
}

/// Reads a rig of any kind whose file has this axis up.
pub fn read_rig_with_up(path: &Path, up: Up, limits: &Limits) -> Result<Rig> {
    let mut rig = read_rig_as_is(path, limits)?;
    if up == Up::Z {
        rig.stand_up();
    }
    Ok(rig)
}

fn read_rig_as_is(path: &Path, limits: &Limits) -> Result<Rig> {
    if !path.exists() {
        return Err(Error::malformed(path, "there is no such file or folder"));
    }
    if path.is_dir() {
        return if ict::is_ict(path) { ict::read_rig(path, limits) } else { obj::read_rig(path, limits) };
    }
    match extension(path).as_str() {
        "glb" | "gltf" | "vrm" => gltf::read_rig(path, limits),
        "obj" => obj::read_rig(path, limits),
        _ => Err(Error::unsupported(
            path,
            "this is not a rig file that zygoma can read",
            "give it a .glb, .gltf, .vrm or .obj file, a folder with a neutral.obj and one OBJ per shape, or \
             the FaceXModel folder of ICT-FaceKit",
        )),
    }
}

/// Reads a take: a Live Link Face CSV, a plain CSV (`time,shape,…`), or the first animation of a glTF file.
pub fn read_take(path: &Path, limits: &Limits) -> Result<Take> {
    if !path.exists() {
        return Err(Error::malformed(path, "there is no such file"));
    }
    match extension(path).as_str() {
        "glb" | "gltf" | "vrm" => {
            let takes = gltf::read_rig(path, limits)?.takes;
            takes.into_iter().next().ok_or_else(|| Error::malformed(path, "the file has no animation"))
        }
        "csv" | "txt" => {
            let bytes = input::read_bytes(path, limits)?;
            let table = Table::new(path, &bytes, limits)?;
            if table.column("timecode").is_some() {
                return live_link::from_table(table);
            }
            if table.column("time").is_some() {
                return plain_csv::from_table(table);
            }
            let problem = "row 1 has neither a Timecode column (Live Link Face) nor a time column (seconds)";
            Err(Error::malformed(path, problem))
        }
        _ => Err(Error::unsupported(
            path,
            "this is no take that zygoma knows",
            "give it a .csv from Live Link Face, a .csv with the columns time,shape,…, or a .glb, .gltf or \
             .vrm file with an animation",
        )),
    }
}

/// Whether a file's name says that it holds a take and not a rig.
pub fn is_take_file(path: &Path) -> bool {
    matches!(extension(path).as_str(), "csv" | "txt")
}

fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Checks that frames match a mesh, before anything is written.
fn check_frames(mesh: &RigMesh, frames: &dyn Frames) -> Result<()> {
    let (of_frames, of_mesh) = (frames.vertex_count(), mesh.positions.len());
    if of_frames != of_mesh {
        let problem =
            format!("the frames have {of_frames} vertices, but the mesh \"{}\" has {of_mesh}", mesh.name);
        return Err(Error::Request(problem));
    }
    check_timing(frames, &format!("the mesh \"{}\"", mesh.name))
}

/// Checks that there are frames and a frame rate.
fn check_timing(frames: &dyn Frames, what: &str) -> Result<()> {
    if frames.count() == 0 {
        return Err(Error::Request(format!("{what}: there are no frames to write")));
    }
    if !(frames.fps().is_finite() && frames.fps() > 0.0) {
        return Err(Error::Request(format!("{} frames per second is not a frame rate", frames.fps())));
    }
    Ok(())
}

/// Reads one frame and refuses positions that are not finite.
fn read_frame(frames: &mut dyn Frames, frame: usize, positions: &mut [glam::Vec3]) -> Result<()> {
    frames.read(frame, positions)?;
    match positions.iter().position(|position| !position.is_finite()) {
        None => Ok(()),
        Some(vertex) => {
            Err(Error::Request(format!("vertex {vertex} of frame {frame} is not at a finite position")))
        }
    }
}
