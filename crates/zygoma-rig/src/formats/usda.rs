//! USD as text (`.usda`): meshes whose points change over time.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::path::Path;

use glam::Vec3;
use zygoma_files::OutputFile;

use super::{check_frames, read_frame};
use crate::frames::Frames;
use crate::{Error, Result, RigMesh};

/// A mesh of a scene and how it moves.
pub struct UsdMesh<'a> {
    /// The mesh.
    pub mesh: &'a RigMesh,
    /// Its frames; `None` for a mesh that does not move.
    pub frames: Option<Box<dyn Frames + 'a>>,
}

/// Writes meshes below one root of this name: metres, +Y up, polygons as the artist made them, one time code per frame from 0.
/// At least one of them moves, and all moving meshes have the same number of frames.
///
/// Subdivision is off, because the mesh itself was simulated and not a limit surface.
pub fn write_usda(name: &str, meshes: &mut [UsdMesh], path: &Path) -> Result<()> {
    let mut timing: Option<(usize, f64)> = None;
    for UsdMesh { mesh, frames } in meshes.iter() {
        check_indices(mesh, path)?;
        let Some(frames) = frames else { continue };
        check_frames(mesh, frames)?;
        let own = (frames.count(), frames.fps());
        if *timing.get_or_insert(own) != own {
            return Err(Error::Request(format!(
                "the mesh \"{}\" has other frames than the one before",
                mesh.name
            )));
        }
    }
    let Some((count, fps)) = timing else {
        return Err(Error::Request(format!("{}: no mesh of \"{name}\" moves", path.display())));
    };
    let mut file = OutputFile::create(path)?;
    let mut taken = BTreeSet::new();
    let root = prim_name(name, &mut taken);
    write_header(&mut file, &root, count - 1, fps)?;
    file.text(format_args!("def Xform \"{root}\" (\n    kind = \"component\"\n)\n{{\n"))?;
    for UsdMesh { mesh, frames } in meshes {
        write_mesh(&mut file, &prim_name(&mesh.name, &mut taken), mesh, frames.as_deref_mut())?;
    }
    file.text(format_args!("}}\n"))?;
    Ok(file.finish()?)
}

fn write_mesh(
    file: &mut OutputFile,
    name: &str,
    mesh: &RigMesh,
    frames: Option<&mut (dyn Frames + '_)>,
) -> Result<()> {
    file.text(format_args!("def Mesh \"{name}\"\n{{\n"))?;
    file.text(format_args!("    uniform token subdivisionScheme = \"none\"\n"))?;
    file.text(format_args!("    uniform token orientation = \"rightHanded\"\n"))?;
    write_faces(file, mesh)?;
    write_uvs(file, mesh)?;
    let neutral = List(mesh.positions.iter().map(Point));
    file.text(format_args!("    point3f[] points = {neutral}\n"))?;
    let extents = frames.map_or_else(|| Ok(Vec::new()), |frames| write_points(file, frames))?;
    write_extents(file, &mesh.positions, &extents)?;
    Ok(file.text(format_args!("}}\n"))?)
}

/// Checks the indices, which are signed in USD.
fn check_indices(mesh: &RigMesh, path: &Path) -> Result<()> {
    let corners = mesh.faces.corners();
    if corners.iter().all(|corner| i32::try_from(*corner).is_ok()) && i32::try_from(corners.len()).is_ok() {
        return Ok(());
    }
    Err(Error::malformed(path, format!("the mesh \"{}\" is too large for USD's 32-bit indices", mesh.name)))
}

/// A name as USD allows: letters, digits and underscores, not beginning with a digit, and not one that is taken.
fn prim_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut allowed: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !allowed.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        allowed.insert(0, '_');
    }
    let stem = allowed.clone();
    for number in 2.. {
        if taken.insert(allowed.clone()) {
            break;
        }
        allowed = format!("{stem}_{number}");
    }
    allowed
}

fn write_header(file: &mut OutputFile, name: &str, last: usize, fps: f64) -> Result<()> {
    file.text(format_args!(
        "#usda 1.0\n(\n    defaultPrim = \"{name}\"\n    endTimeCode = {last}\n    framesPerSecond = {fps}\n    \
         metersPerUnit = 1\n    startTimeCode = 0\n    timeCodesPerSecond = {fps}\n    upAxis = \"Y\"\n)\n\n"
    ))?;
    Ok(())
}

fn write_faces(file: &mut OutputFile, mesh: &RigMesh) -> Result<()> {
    let counts = List((0..mesh.faces.len()).map(|face| mesh.faces.range(face).len()));
    file.text(format_args!("    int[] faceVertexCounts = {counts}\n"))?;
    file.text(format_args!("    int[] faceVertexIndices = {}\n", List(mesh.faces.corners().iter())))?;
    Ok(())
}

fn write_uvs(file: &mut OutputFile, mesh: &RigMesh) -> Result<()> {
    let Some(uvs) = &mesh.uvs else { return Ok(()) };
    // USD counts v upwards from the bottom, as OBJ; ours runs downwards from the top.
    let coordinates = List(uvs.coordinates.iter().map(|uv| Pair(uv.x, 1.0 - uv.y)));
    let corners = List(uvs.corners.as_deref().unwrap_or(mesh.faces.corners()).iter());
    file.text(format_args!(
        "    texCoord2f[] primvars:st = {coordinates} (\n        interpolation = \"faceVarying\"\n    )\n    \
         int[] primvars:st:indices = {corners}\n"
    ))?;
    Ok(())
}

/// Writes the positions of all frames and returns each one's bounds.
fn write_points(file: &mut OutputFile, frames: &mut (dyn Frames + '_)) -> Result<Vec<[Vec3; 2]>> {
    file.text(format_args!("    point3f[] points.timeSamples = {{\n"))?;
    let mut positions = vec![Vec3::ZERO; frames.vertex_count()];
    let mut extents = Vec::with_capacity(frames.count());
    for frame in 0..frames.count() {
        read_frame(frames, frame, &mut positions)?;
        extents.push(extent(&positions));
        file.text(format_args!("        {frame}: {},\n", List(positions.iter().map(Point))))?;
    }
    file.text(format_args!("    }}\n"))?;
    Ok(extents)
}

fn write_extents(file: &mut OutputFile, neutral: &[Vec3], extents: &[[Vec3; 2]]) -> Result<()> {
    let text = |extent: &[Vec3; 2]| List(extent.iter().map(Point)).to_string();
    let rest = text(&extent(neutral));
    file.text(format_args!("    float3[] extent = {rest}\n"))?;
    if extents.is_empty() {
        return Ok(());
    }
    file.text(format_args!("    float3[] extent.timeSamples = {{\n"))?;
    for (frame, extent) in extents.iter().enumerate() {
        file.text(format_args!("        {frame}: {},\n", text(extent)))?;
    }
    file.text(format_args!("    }}\n"))?;
    Ok(())
}

/// The corners of the box around points; the origin's if there are none.
fn extent(positions: &[Vec3]) -> [Vec3; 2] {
    let [first, rest @ ..] = positions else { return [Vec3::ZERO; 2] };
    rest.iter().fold([*first; 2], |[low, high], position| [low.min(*position), high.max(*position)])
}

/// A list in brackets. The iterator is cloned by each display, so nothing is collected.
struct List<I>(I);

impl<I: Iterator<Item: Display> + Clone> Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("[")?;
        for (at, item) in self.0.clone().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            item.fmt(f)?;
        }
        f.write_str("]")
    }
}

struct Point<'a>(&'a Vec3);

impl Display for Point<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Vec3 { x, y, z } = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

struct Pair(f32, f32);

impl Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({}, {})", self.0, self.1)
    }
}
