//! Writing rigs and animated surfaces as OBJ files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_files::{OutputFile, OutputFolder};

use super::names::FileNames;
use super::{MARK, METRES, OTHER, number};
use crate::formats::{check_frames, read_frame};
use crate::frames::Frames;
use crate::{Error, Result, Rig, RigMesh, Shape};

/// Writes a rig as a folder: `neutral.obj` and one OBJ per shape of the skin, in metres, with the artist's
/// vertex order, polygons and texture coordinates. Other meshes go to `other/<mesh>.obj`, their shapes to
/// `other/<mesh>/`. [`read_rig`](super::read_rig) gives positions, shapes and names back exactly.
///
/// The folder appears whole or not at all. One that holds anything else is not overwritten.
pub fn write_rig(rig: &Rig, folder: &Path) -> Result<()> {
    let output = OutputFolder::create(folder, is_ours)?;
    let skin = rig.skin();
    let mut names = FileNames::without(&["neutral", OTHER]);
    write_mesh(skin, &output.inside().join("neutral.obj"), output.inside(), &mut names)?;
    let others = rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin);
    let mut names = FileNames::default();
    for (_, mesh) in others {
        let stem = names.name(&mesh.name);
        let other = output.inside().join(OTHER);
        let shapes = other.join(&stem);
        let wanted = if mesh.shapes.is_empty() { &other } else { &shapes };
        fs::create_dir_all(wanted).map_err(Error::io(folder, "creating a sub-folder"))?;
        write_mesh(mesh, &other.join(format!("{stem}.obj")), &shapes, &mut FileNames::default())?;
    }
    Ok(output.finish()?)
}

/// Writes every frame as `frame_0001.obj`, `frame_0002.obj`, … in metres, with the mesh's vertex order,
/// polygons and texture coordinates.
pub fn write_sequence(mesh: &RigMesh, frames: &mut dyn Frames, folder: &Path) -> Result<()> {
    check_frames(mesh, frames)?;
    let output = OutputFolder::create(folder, is_ours)?;
    let connectivity = connectivity(mesh);
    let mut positions = vec![Vec3::ZERO; frames.vertex_count()];
    let mut text = String::new();
    for frame in 0..frames.count() {
        read_frame(frames, frame, &mut positions)?;
        text.clear();
        for position in &positions {
            push_vertex(&mut text, position.to_array());
        }
        let path = output.inside().join(format!("frame_{:04}.obj", frame + 1));
        write_file(&path, &mesh.name, &text, &connectivity)?;
    }
    Ok(output.finish()?)
}

/// Checks that a folder of OBJ files can be written, before the work that fills it.
pub fn check_folder(folder: &Path) -> Result<()> {
    Ok(OutputFolder::check(folder, is_ours)?)
}

/// Whether zygoma wrote every file of a folder, so that nothing is lost by replacing it.
fn is_ours(folder: &Path) -> bool {
    let Ok(mut entries) = folder.read_dir() else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let path = entry.path();
        if path.is_dir() { is_ours(&path) } else { zygoma_files::starts_with(&path, MARK.as_bytes()) }
    })
}

fn write_mesh(mesh: &RigMesh, neutral: &Path, folder: &Path, names: &mut FileNames) -> Result<()> {
    let connectivity = connectivity(mesh);
    let lines = NeutralLines::new(&mesh.positions);
    write_file(neutral, &mesh.name, &lines.text, &connectivity)?;
    let files: Vec<_> = mesh
        .shapes
        .iter()
        .map(|shape| (shape, folder.join(format!("{}.obj", names.name(&shape.name)))))
        .collect();
    files
        .par_iter()
        .try_for_each(|(shape, path)| write_file(path, &mesh.name, &lines.with_shape(shape), &connectivity))
}

fn write_file(path: &Path, name: &str, vertices: &str, connectivity: &str) -> Result<()> {
    let mut file = OutputFile::create_inside(path)?;
    // A name with a line break would start a new line.
    let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    file.text(format_args!("{MARK}\n{METRES}\no {name}\n"))?;
    file.bytes(vertices.as_bytes())?;
    file.bytes(connectivity.as_bytes())?;
    Ok(file.finish()?)
}

fn push_vertex(text: &mut String, position: [f32; 3]) {
    let [x, y, z] = position;
    // Without a precision, Rust writes the shortest decimal that reads back as the same f32.
    writeln!(text, "v {x} {y} {z}").expect("writing to a string");
}

/// The neutral's `v` lines, and the values that a reader will get from them.
struct NeutralLines {
    text: String,
    /// Where each line ends in `text`.
    ends: Vec<usize>,
    /// The values of the decimals, which are close to the f32 but not equal.
    read: Vec<DVec3>,
}

impl NeutralLines {
    fn new(positions: &[Vec3]) -> Self {
        let mut lines =
            Self { text: String::new(), ends: Vec::with_capacity(positions.len()), read: Vec::new() };
        for position in positions {
            push_vertex(&mut lines.text, position.to_array());
            lines.ends.push(lines.text.len());
            let read = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
            lines.read.push(DVec3::from(position.to_array().map(read)));
        }
        lines
    }

    /// The `v` lines of a shape. A moved vertex gets as many digits as needed to read its delta back.
    fn with_shape(&self, shape: &Shape) -> String {
        let mut text = String::with_capacity(self.text.len() + 32 * shape.deltas.vertices.len());
        let mut copied = 0;
        for (vertex, delta) in shape.deltas.iter() {
            let vertex = vertex as usize;
            let start = if vertex == 0 { 0 } else { self.ends[vertex - 1] };
            text.push_str(&self.text[copied..start]);
            copied = self.ends[vertex];
            text.push('v');
            for axis in 0..3 {
                let (neutral, wanted) = (self.read[vertex][axis], delta[axis]);
                let moved =
                    number::decimal(neutral + f64::from(wanted), |sum| (sum - neutral) as f32 == wanted);
                text.push(' ');
                text.push_str(&moved);
            }
            text.push('\n');
        }
        text.push_str(&self.text[copied..]);
        text
    }
}

/// The `vt` and `f` lines, the same for every file of a mesh.
fn connectivity(mesh: &RigMesh) -> String {
    let mut text = String::new();
    for uv in mesh.uvs.iter().flat_map(|uvs| &uvs.coordinates) {
        // glTF counts v downwards from the top, OBJ upwards from the bottom.
        let v = number::decimal(1.0 - f64::from(uv.y), |v| (1.0 - v) as f32 == uv.y);
        writeln!(text, "vt {} {v}", uv.x).expect("writing to a string");
    }
    for face in 0..mesh.faces.len() {
        text.push('f');
        for corner in mesh.faces.range(face) {
            let vertex = mesh.faces.corners()[corner] + 1;
            let uv = mesh.uvs.as_ref().map(|uvs| match &uvs.corners {
                Some(corners) => corners[corner] + 1,
                None => vertex,
            });
            match uv {
                Some(uv) => write!(text, " {vertex}/{uv}"),
                None => write!(text, " {vertex}"),
            }
            .expect("writing to a string");
        }
        text.push('\n');
    }
    text
}
