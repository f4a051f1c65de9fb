//! ICT-FaceKit: a morphable head as a folder of OBJ files with known vertex ranges.

use std::ops::Range;
use std::path::{Path, PathBuf};

use glam::DVec3;
use rayon::prelude::*;
use serde::Deserialize;

use super::input::read_bytes;
use super::obj::{Neutral, ShapeFile, list_obj_files};
use crate::formats::Limits;
use crate::{Error, Region, Result, Rig, Source, Units};

const NEUTRAL: &str = "generic_neutral_mesh.obj";
const INDICES: &str = "vertex_indices.json";
const IDENTITY: &str = "identity";

/// Metres per unit: the kit is in centimetres.
const METRES_PER_UNIT: f64 = 0.01;

/// Vertices of the published head, for which the ranges below hold.
const VERTEX_COUNT: usize = 26_719;

/// The regions of the vertices, from the kit's documentation; the last four are distinguished by the file's
/// materials.
const REGIONS: [(&str, Range<usize>); 11] = [
    ("face", 0..9_409),
    ("head_and_neck", 9_409..11_248),
    ("mouth_socket", 11_248..13_294),
    ("eye_sockets", 13_294..14_062),
    ("gums_and_tongue", 14_062..17_039),
    ("teeth", 17_039..21_451),
    ("eyeballs", 21_451..24_591),
    ("lacrimal_fluid", 24_591..24_999),
    ("eye_blend", 24_999..25_047),
    ("eye_occlusion", 25_047..25_351),
    ("eyelashes", 25_351..26_719),
];

/// How to read the kit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IctOptions {
    /// Identity modes with their coefficients: who the neutral is. None gives the generic face.
    pub identity: Vec<(usize, f64)>,
}

/// The part of `vertex_indices.json` that is used.
#[derive(Deserialize)]
struct Indices {
    expressions: Vec<String>,
    #[serde(default)]
    idx_to_landmark_verts: Vec<u32>,
}

/// Whether a folder is ICT-FaceKit's `FaceXModel`.
pub fn is_ict(folder: &Path) -> bool {
    folder.join(NEUTRAL).is_file() && folder.join(INDICES).is_file()
}

/// Reads coefficients such as "0=1.2,3=-0.5".
pub fn parse_identity(text: &str) -> Result<Vec<(usize, f64)>> {
    let mut identity: Vec<(usize, f64)> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let pair = part.split_once('=').and_then(|(mode, coefficient)| {
            let coefficient: f64 = coefficient.trim().parse().ok()?;
            Some((mode.trim().parse().ok()?, coefficient)).filter(|_| coefficient.is_finite())
        });
        let Some((mode, coefficient)) = pair else {
            let problem =
                format!("\"{part}\" is not an identity coefficient; write for example 0=1.2,3=-0.5");
            return Err(Error::Request(problem));
        };
        if identity.iter().any(|(earlier, _)| *earlier == mode) {
            return Err(Error::Request(format!("identity mode {mode} is given twice")));
        }
        identity.push((mode, coefficient));
    }
    Ok(identity)
}

/// Reads the generic head.
pub fn read_rig(folder: &Path, limits: &Limits) -> Result<Rig> {
    read_rig_with(folder, &IctOptions::default(), limits)
}

/// Reads the head with options.
pub fn read_rig_with(folder: &Path, options: &IctOptions, limits: &Limits) -> Result<Rig> {
    let indices = read_indices(folder, limits)?;
    let shapes = list_shapes(folder, &indices.expressions)?;
    let mut neutral = Neutral::read(&folder.join(NEUTRAL), limits)?;
    let mut notes = Vec::new();
    let listed = indices.expressions.len();
    if shapes.len() != listed {
        let total = shapes.len();
        notes.push(format!("{INDICES} lists {listed} expressions; all {total} OBJ files are taken"));
    }
    // Expressions are relative to the generic neutral, so they are read before the identity is applied.
    let expressions = neutral.read_shapes(&shapes, METRES_PER_UNIT, limits)?;
    let identity = identity_offset(&neutral, folder, &options.identity, limits)?;
    for (position, offset) in neutral.file.positions.iter_mut().zip(&identity) {
        *position += *offset;
    }
    let mut mesh = neutral.to_mesh("ICT-FaceKit".to_owned(), METRES_PER_UNIT, &mut notes);
    if let Some(vertex) = mesh.positions.iter().position(|position| !position.is_finite()) {
        let problem = format!("the identity coefficients move vertex {vertex} out of all bounds");
        return Err(Error::Request(problem));
    }
    mesh.shapes = expressions;
    if mesh.positions.len() == VERTEX_COUNT {
        let region = |(name, vertices): &(&str, Range<usize>)| Region {
            name: (*name).to_owned(),
            vertices: vertices.clone(),
        };
        mesh.regions = REGIONS.iter().map(region).collect();
    } else {
        let count = mesh.positions.len();
        notes.push(format!("the head has {count} vertices instead of {VERTEX_COUNT}: no regions are known"));
    }
    Ok(Rig {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        meshes: vec![mesh],
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units: Units {
            metres_per_unit: METRES_PER_UNIT,
            reason: "ICT-FaceKit is made in centimetres".to_owned(),
        },
        notes,
        source: Source::Ict(folder.to_owned()),
    })
}

/// The vertices of the 68 facial landmarks, in the usual order.
pub fn read_landmarks(folder: &Path, limits: &Limits) -> Result<Vec<u32>> {
    let indices = read_indices(folder, limits)?;
    let vertex_count = Neutral::read(&folder.join(NEUTRAL), limits)?.file.positions.len();
    let landmarks = indices.idx_to_landmark_verts;
    if let Some(outside) = landmarks.iter().find(|vertex| **vertex as usize >= vertex_count) {
        let problem = format!("landmark vertex {outside} is not among the {vertex_count} vertices");
        return Err(Error::malformed(&folder.join(INDICES), problem));
    }
    Ok(landmarks)
}

fn read_indices(folder: &Path, limits: &Limits) -> Result<Indices> {
    let path = folder.join(INDICES);
    let bytes = read_bytes(&path, limits)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Error::malformed(&path, format!("line {line}, column {column}: this is not the kit's list ({error})"))
    })
}

/// All shapes: first those that the JSON lists, in its order, then the others by name.
fn list_shapes(folder: &Path, listed: &[String]) -> Result<Vec<ShapeFile>> {
    let file = |name: &str| folder.join(format!("{name}.obj"));
    let mut shapes: Vec<ShapeFile> = Vec::new();
    for name in listed {
        let path = file(name);
        // A name is not a path: "../x" must not lead out of the folder.
        if name.contains(['/', '\\']) || !path.is_file() {
            let problem = format!("it lists the expression \"{name}\", but there is no {name}.obj beside it");
            return Err(Error::malformed(&folder.join(INDICES), problem));
        }
        if shapes.iter().all(|shape| shape.name != *name) {
            shapes.push(ShapeFile { name: name.clone(), path });
        }
    }
    for path in list_obj_files(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let known = path.ends_with(NEUTRAL) || identity_mode(&name).is_some();
        if !known && !listed.contains(&name) {
            shapes.push(ShapeFile { name, path });
        }
    }
    Ok(shapes)
}

/// The number in "identity012".
fn identity_mode(stem: &str) -> Option<usize> {
    stem.strip_prefix(IDENTITY)?.parse().ok()
}

/// The sum of the requested identity modes, per vertex, in centimetres; empty if there are none.
fn identity_offset(
    neutral: &Neutral,
    folder: &Path,
    identity: &[(usize, f64)],
    limits: &Limits,
) -> Result<Vec<DVec3>> {
    let files: Vec<(PathBuf, f64)> = identity
        .iter()
        .map(|(mode, coefficient)| (folder.join(format!("{IDENTITY}{mode:03}.obj")), *coefficient))
        .collect();
    if let Some(((missing, _), (mode, _))) = files.iter().zip(identity).find(|((path, _), _)| !path.is_file())
    {
        let problem =
            format!("there is no identity mode {mode}; the folder has {}", available_modes(folder)?);
        return Err(Error::malformed(missing, problem));
    }
    let modes: Vec<Result<Vec<DVec3>>> =
        files.par_iter().map(|(path, _)| neutral.read_offsets(path, limits)).collect();
    let mut sum = Vec::new();
    for (mode, (_, coefficient)) in modes.into_iter().zip(&files) {
        let mode = mode?;
        sum.resize(mode.len(), DVec3::ZERO);
        for (sum, offset) in sum.iter_mut().zip(&mode) {
            *sum += *coefficient * *offset;
        }
    }
    Ok(sum)
}

fn available_modes(folder: &Path) -> Result<String> {
    let files = list_obj_files(folder)?;
    let stems = files.iter().filter_map(|path| path.file_stem()?.to_str());
    let modes: Vec<usize> = stems.filter_map(identity_mode).collect();
    Ok(match (modes.iter().min(), modes.iter().max()) {
        (Some(first), Some(last)) => format!("{} modes from {first} to {last}", modes.len()),
        _ => "none".to_owned(),
    })
}
