//! Reading rigs from OBJ files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use glam::{DAffine3, DVec3, Vec2, Vec3};
use rayon::prelude::*;
use zygoma_geometry::Faces;

use super::parse::{self, NO_COORDINATE, ObjFile};
use super::{MARK, OTHER, names};
use crate::formats::Limits;
use crate::formats::input::read_bytes;
use crate::{Error, Result, Rig, RigMesh, Shape, Source, SparseDeltas, Units, UvMap, units};

/// Reads a rig from a folder of OBJ files, or a mesh without shapes from a single one.
///
/// The neutral is `neutral.obj`, else the file with "neutral" in its name, else `base.obj`, `basis.obj`,
/// `rest.obj` or `default.obj`. Every other file is a shape, named by its file name; a prefix such as
/// `Head_` is dropped if all files have it. Meshes in a sub-folder `other` are read as further meshes of the rig.
pub fn read_rig(path: &Path, limits: &Limits) -> Result<Rig> {
    let folder = if path.is_dir() { Folder::open(path)? } else { Folder::single(path) };
    let neutral = Neutral::read(&folder.neutral, limits)?;
    let mut notes = Vec::new();
    let fallback = file_stem(path);
    let unscaled = read_mesh(&neutral, &folder.shapes, &fallback, limits, &mut notes)?;
    let units = neutral.stated_units().unwrap_or_else(|| units::of_rig(&unscaled, &[]));
    let mut meshes = vec![neutral.scaled(unscaled, units.metres_per_unit)];
    for other in &folder.others {
        let neutral = Neutral::read(&other.neutral, limits)?;
        let fallback = names::decode(&file_stem(&other.neutral));
        let unscaled = read_mesh(&neutral, &other.shapes, &fallback, limits, &mut notes)?;
        meshes.push(neutral.scaled(unscaled, units.metres_per_unit));
    }
    Ok(Rig {
        name: fallback,
        meshes,
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units,
        notes,
        source: Source::ObjFolder(path.to_owned()),
    })
}

/// Reads a mesh in the file's own unit, from which the unit can be guessed.
fn read_mesh(
    neutral: &Neutral,
    shapes: &[ShapeFile],
    fallback_name: &str,
    limits: &Limits,
    notes: &mut Vec<String>,
) -> Result<RigMesh> {
    let name = neutral.file.name.clone().unwrap_or_else(|| fallback_name.to_owned());
    let mut mesh = neutral.to_mesh(name, 1.0, notes);
    mesh.shapes = neutral.read_shapes(shapes, 1.0, limits)?;
    Ok(mesh)
}

/// The roles of a folder's files.
#[derive(Debug)]
struct Folder {
    neutral: PathBuf,
    shapes: Vec<ShapeFile>,
    others: Vec<Folder>,
}

/// A shape and the file that it is in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShapeFile {
    /// The shape's name.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: PathBuf,
}

impl Folder {
    fn single(path: &Path) -> Self {
        Self { neutral: path.to_owned(), shapes: Vec::new(), others: Vec::new() }
    }

    fn open(path: &Path) -> Result<Self> {
        let files = list_obj_files(path)?;
        if files.is_empty() {
            let problem =
                "the folder has no OBJ files; a rig is a neutral.obj with one OBJ per shape beside it";
            return Err(Error::malformed(path, problem));
        }
        let stems: Vec<String> = files.iter().map(|file| file_stem(file)).collect();
        let prefix = common_prefix(&stems);
        let neutral = find_neutral(path, &stems, prefix)?;
        let shapes = (0..files.len())
            .filter(|file| *file != neutral)
            .map(|file| ShapeFile { name: names::decode(&stems[file][prefix..]), path: files[file].clone() });
        let shapes = shapes.collect();
        Ok(Self { neutral: files[neutral].clone(), shapes, others: open_others(&path.join(OTHER))? })
    }
}

fn open_others(path: &Path) -> Result<Vec<Folder>> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let open = |neutral: PathBuf| {
        let folder = neutral.with_extension("");
        let files = if folder.is_dir() { list_obj_files(&folder)? } else { Vec::new() };
        let named = |path: PathBuf| ShapeFile { name: names::decode(&file_stem(&path)), path };
        Ok(Folder { neutral, shapes: files.into_iter().map(named).collect(), others: Vec::new() })
    };
    list_obj_files(path)?.into_iter().map(open).collect()
}

/// The OBJ files directly in a folder, sorted by name so that the order of shapes does not depend on the file system.
pub(crate) fn list_obj_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = || Error::io(folder, "listing the folder");
    let mut files = Vec::new();
    for entry in folder.read_dir().map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        // Hidden files are leftovers of archives ("._smile.obj") and of interrupted writers.
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_obj = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("obj"));
        if is_obj && !hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn file_stem(path: &Path) -> String {
    path.file_stem().or_else(|| path.file_name()).unwrap_or_default().to_string_lossy().into_owned()
}

/// Length of the prefix up to a separator that all names share.
fn common_prefix(stems: &[String]) -> usize {
    let [first, rest @ ..] = stems else { return 0 };
    if rest.is_empty() {
        return 0;
    }
    let ends = first.char_indices().filter(|(_, c)| matches!(c, '_' | '-' | '.' | ' ')).map(|(at, _)| at + 1);
    let shared = |end: &usize| stems.iter().all(|stem| stem.len() > *end && stem.starts_with(&first[..*end]));
    ends.take_while(shared).last().unwrap_or(0)
}

/// Finds the neutral among the files by its name.
fn find_neutral(folder: &Path, stems: &[String], prefix: usize) -> Result<usize> {
    let lower: Vec<String> = stems.iter().map(|stem| stem[prefix..].to_lowercase()).collect();
    let named = |name: &str| lower.iter().position(|stem| stem == name);
    if let Some(neutral) = named("neutral") {
        return Ok(neutral);
    }
    let containing: Vec<usize> = (0..lower.len()).filter(|stem| lower[*stem].contains("neutral")).collect();
    match containing[..] {
        [neutral] => return Ok(neutral),
        [first, second, ..] => {
            let problem = format!(
                "both {}.obj and {}.obj could be the neutral; name the right one neutral.obj",
                stems[first], stems[second]
            );
            return Err(Error::malformed(folder, problem));
        }
        [] => {}
    }
    let usual = ["base", "basis", "rest", "default"].into_iter().find_map(named);
    usual.or((lower.len() == 1).then_some(0)).ok_or_else(|| {
        let problem = "the names do not show which OBJ file is the neutral face; call it neutral.obj \
                       (base.obj, basis.obj, rest.obj and default.obj are known too)";
        Error::malformed(folder, problem)
    })
}

/// A neutral face as stored in its file, in the file's own unit.
pub(crate) struct Neutral {
    path: PathBuf,
    /// The contents of the file.
    pub(crate) file: ObjFile,
}

impl Neutral {
    /// Reads the file.
    pub(crate) fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let file = parse::parse(path, &read_bytes(path, limits)?, limits)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// The unit named in a comment of the file.
    fn stated_units(&self) -> Option<Units> {
        let named = |line: &String| {
            let unit = line.split_once("file uses ")?.1.split_once(" as units")?.0;
            let metres_per_unit = match unit.to_lowercase().as_str() {
                "millimeters" => 0.001,
                "centimeters" => 0.01,
                "meters" => 1.0,
                "inches" => 0.0254,
                "feet" => 0.3048,
                "yards" => 0.9144,
                _ => return None,
            };
            Some(Units { metres_per_unit, reason: format!("a comment in the file says {unit}") })
        };
        self.file.header.iter().find_map(named)
    }

    /// The same mesh in metres.
    fn scaled(&self, unscaled: RigMesh, metres_per_unit: f64) -> RigMesh {
        let metres = |offset: &mut Vec3| *offset = (offset.as_dvec3() * metres_per_unit).as_vec3();
        let mut shapes = unscaled.shapes;
        shapes.iter_mut().flat_map(|shape| &mut shape.deltas.offsets).for_each(metres);
        RigMesh { shapes, ..self.to_mesh(unscaled.name, metres_per_unit, &mut Vec::new()) }
    }

    /// The smallest significant difference between this file and `shape`, in the file's unit: the
    /// coarser one's step at the far end of the mesh.
    ///
    /// Files with few digits are not coarse but simple (a cube at ±1), so there is an upper bound.
    fn quantum(&self, shape: &ObjFile) -> f64 {
        let fold = |start: DVec3, f: fn(DVec3, DVec3) -> DVec3| {
            self.file.positions.iter().fold(start, |sum, position| f(sum, *position))
        };
        let (low, high) = (fold(DVec3::INFINITY, DVec3::min), fold(DVec3::NEG_INFINITY, DVec3::max));
        let largest = low.abs().max_element().max(high.abs().max_element());
        let step = self.file.digits.step(largest).max(shape.digits.step(largest));
        step.min(1e-5 * (high - low).length())
    }

    /// The mesh without shapes, in metres.
    pub(crate) fn to_mesh(&self, name: String, metres_per_unit: f64, notes: &mut Vec<String>) -> RigMesh {
        let file = &self.file;
        let positions: Vec<Vec3> = file.positions.iter().map(|p| (*p * metres_per_unit).as_vec3()).collect();
        let largest = positions.iter().map(|p| p.abs().max_element()).fold(0.0, f32::max);
        let quantum = (self.quantum(file) * metres_per_unit) as f32;
        let uvs = self.uvs();
        if uvs.is_some() && file.uv_corners.contains(&NO_COORDINATE) {
            notes.push(format!("{}: corners without texture coordinate got (0, 1)", self.path.display()));
        }
        RigMesh {
            name,
            positions,
            faces: file.faces.clone(),
            uvs,
            shapes: Vec::new(),
            regions: Vec::new(),
            to_rig: DAffine3::from_scale(DVec3::splat(metres_per_unit)),
            quantum: quantum.max(largest * f32::EPSILON).max(1e-9),
        }
    }

    fn uvs(&self) -> Option<UvMap> {
        let file = &self.file;
        if file.uv_corners.iter().all(|uv| *uv == NO_COORDINATE) {
            return None;
        }
        // OBJ counts v upwards from the bottom, glTF downwards from the top.
        let flipped = file.coordinates.iter().map(|uv| Vec2::new(uv.x as f32, (1.0 - uv.y) as f32));
        let mut coordinates: Vec<Vec2> = flipped.collect();
        if coordinates.len() == file.positions.len() && file.uv_corners == file.faces.corners() {
            return Some(UvMap { coordinates, corners: None });
        }
        let mut corners = file.uv_corners.clone();
        if corners.contains(&NO_COORDINATE) {
            let spare = coordinates.len() as u32;
            coordinates.push(Vec2::new(0.0, 1.0));
            corners.iter_mut().filter(|uv| **uv == NO_COORDINATE).for_each(|uv| *uv = spare);
        }
        Some(UvMap { coordinates, corners: Some(corners) })
    }

    /// Reads shapes, in metres; the first bad file in order is the one reported.
    pub(crate) fn read_shapes(
        &self,
        files: &[ShapeFile],
        metres_per_unit: f64,
        limits: &Limits,
    ) -> Result<Vec<Shape>> {
        if files.len() > limits.shapes {
            let problem = format!(
                "there are {} shape files beside it, more than the {} that are allowed",
                files.len(),
                limits.shapes
            );
            return Err(Error::malformed(&self.path, problem));
        }
        let read = |file: &ShapeFile| {
            let offsets = self.read_offsets(&file.path, limits)?;
            let metres: Vec<Vec3> = offsets.iter().map(|d| (*d * metres_per_unit).as_vec3()).collect();
            Ok(Shape { name: file.name.clone(), deltas: SparseDeltas::from_dense(&metres) })
        };
        let shapes: Vec<Result<Shape>> = files.par_iter().map(read).collect();
        shapes.into_iter().collect()
    }

    /// The displacements of a shape's file from the neutral, per vertex, in the file's unit.
    ///
    /// Differences below half the file's smallest step are rounding, not motion: they become exact zeros, so
    /// that shapes stay sparse. Our own files are exact and stay as they are.
    pub(crate) fn read_offsets(&self, path: &Path, limits: &Limits) -> Result<Vec<DVec3>> {
        let shape = parse::parse(path, &read_bytes(path, limits)?, limits)?;
        let (count, expected) = (shape.positions.len(), self.file.positions.len());
        if count != expected {
            let problem = format!(
                "it has {count} vertices but the neutral {} has {expected}; export every shape from the same \
                 mesh, and put other meshes into a sub-folder named {OTHER}",
                file_stem(&self.path)
            );
            return Err(Error::malformed(path, problem));
        }
        if !same_surface(&self.file.faces, &shape.faces) {
            let problem = format!(
                "its polygons connect other vertices than those of the neutral {}, so the vertex order must \
                 differ; export again with the vertex order kept",
                file_stem(&self.path)
            );
            return Err(Error::malformed(path, problem));
        }
        let is_ours = |file: &ObjFile| file.header.first().is_some_and(|line| line == MARK);
        let exact = is_ours(&self.file) && is_ours(&shape);
        let noise = if exact { 0.0 } else { 0.5 * self.quantum(&shape) };
        let offset = |(moved, rest): (&DVec3, &DVec3)| {
            let offset = *moved - *rest;
            if offset.abs().max_element() < noise { DVec3::ZERO } else { offset }
        };
        Ok(shape.positions.iter().zip(&self.file.positions).map(offset).collect())
    }
}

/// Whether two sets of polygons can belong to the same vertices: one may be a triangulation of the other,
/// and a shape may come without any.
fn same_surface(neutral: &Faces, shape: &Faces) -> bool {
    if neutral == shape || shape.is_empty() || neutral.is_empty() {
        return true;
    }
    let edges = |faces: &Faces| -> BTreeSet<(u32, u32)> {
        let around = |face: &[u32]| -> Vec<(u32, u32)> {
            let next = face.iter().cycle().skip(1);
            face.iter().zip(next).map(|(a, b)| (*a.min(b), *a.max(b))).collect()
        };
        faces.iter().flat_map(around).collect()
    };
    let (neutral, shape) = (edges(neutral), edges(shape));
    neutral.is_subset(&shape) || shape.is_subset(&neutral)
}
