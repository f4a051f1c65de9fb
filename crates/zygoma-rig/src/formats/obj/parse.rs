//! The OBJ text format: `v`, `vt`, `f` and `o`; everything else is ignored.
//!
//! Written by hand because blendshapes need what general loaders (such as `tobj`) discard: the file's own
//! vertex order and its polygons. It is also fast, since a rig is dozens of such files.

use std::borrow::Cow;
use std::path::Path;

use glam::{DVec2, DVec3};
use zygoma_geometry::Faces;

use super::number::{self, Digits};
use crate::formats::Limits;
use crate::formats::input::{shown, without_mark};
use crate::{Error, Result};

/// The contents of an OBJ file, in its own unit and order.
#[derive(Debug, Default)]
pub(crate) struct ObjFile {
    /// The first object's name.
    pub(crate) name: Option<String>,
    /// The comments before the first vertex.
    pub(crate) header: Vec<String>,
    pub(crate) positions: Vec<DVec3>,
    /// How precisely the positions are written.
    pub(crate) digits: Digits,
    pub(crate) faces: Faces,
    /// Texture coordinates as written, origin at the bottom left.
    pub(crate) coordinates: Vec<DVec2>,
    /// Per corner of `faces` the texture coordinate, or [`NO_COORDINATE`].
    pub(crate) uv_corners: Vec<u32>,
}

/// Marks a corner that names no texture coordinate.
pub(crate) const NO_COORDINATE: u32 = u32::MAX;

/// Coordinates beyond this are refused: no face is that large, and squared lengths would overflow f32.
const FARTHEST: f64 = 1e12;

/// Comments kept for [`ObjFile::header`]; units are named in the first few if at all.
const HEADER_LINES: usize = 100;

/// Reads the text of an OBJ file. `path` is for errors only.
pub(crate) fn parse(path: &Path, bytes: &[u8], limits: &Limits) -> Result<ObjFile> {
    let mut parser = Parser {
        path,
        limits,
        line: 0,
        decoded: 0,
        file: ObjFile::default(),
        last: Reaching::default(),
        face: Vec::new(),
    };
    for (number, line) in Lines::new(without_mark(bytes)) {
        parser.line = number;
        parser.read_line(&line)?;
    }
    parser.finish()
}

/// The largest index of each kind used by a face, and its line.
#[derive(Default)]
struct Reaching {
    vertex: (usize, usize),
    coordinate: (usize, usize),
}

struct Parser<'a> {
    path: &'a Path,
    limits: &'a Limits,
    line: usize,
    /// Bytes of memory that the file has taken so far.
    decoded: u64,
    file: ObjFile,
    last: Reaching,
    /// The vertices of the face being read; kept to save an allocation per face.
    face: Vec<u32>,
}

impl Parser<'_> {
    fn read_line(&mut self, line: &[u8]) -> Result<()> {
        let mut fields = fields(line);
        match fields.next() {
            Some(b"v") => self.read_vertex(fields),
            Some(b"vt") => self.read_coordinate(fields),
            Some(b"f") => self.read_face(fields),
            Some(b"o") if self.file.name.is_none() => {
                let name = String::from_utf8_lossy(line.trim_ascii()[1..].trim_ascii()).into_owned();
                self.file.name = Some(name).filter(|name| !name.is_empty());
                Ok(())
            }
            None if self.belongs_to_header(line) => {
                self.file.header.push(String::from_utf8_lossy(line.trim_ascii()).into_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn belongs_to_header(&self, line: &[u8]) -> bool {
        let ObjFile { positions, header, .. } = &self.file;
        line.starts_with(b"#") && positions.is_empty() && header.len() < HEADER_LINES
    }

    /// `v x y z`; any further values (a weight, colours) are not geometry.
    fn read_vertex<'b>(&mut self, mut fields: impl Iterator<Item = &'b [u8]>) -> Result<()> {
        if self.file.positions.len() >= self.limits.vertices {
            let most = self.limits.vertices;
            return Err(self.wrong(format!("there are more than the {most} vertices that are allowed")));
        }
        let mut position = DVec3::ZERO;
        for axis in 0..3 {
            let Some(field) = fields.next() else {
                return Err(self.wrong("a vertex needs three coordinates"));
            };
            let (value, digits) = self.read_number(field)?;
            position[axis] = value;
            self.file.digits = self.file.digits.max(digits);
        }
        self.file.positions.push(position);
        self.take_memory(size_of::<DVec3>() as u64)
    }

    /// `vt u [v [w]]`; the specification lets v and w default to 0.
    fn read_coordinate<'b>(&mut self, mut fields: impl Iterator<Item = &'b [u8]>) -> Result<()> {
        let Some(u) = fields.next() else {
            return Err(self.wrong("a texture coordinate needs two numbers"));
        };
        let u = self.read_number(u)?.0;
        let v = fields.next().map_or(Ok(0.0), |v| self.read_number(v).map(|(v, _)| v))?;
        self.file.coordinates.push(DVec2::new(u, v));
        self.take_memory(size_of::<DVec2>() as u64)
    }

    fn take_memory(&mut self, bytes: u64) -> Result<()> {
        self.decoded += bytes;
        if self.decoded <= self.limits.decoded_bytes {
            return Ok(());
        }
        let most = self.limits.decoded_bytes;
        Err(self.wrong(format!("the file needs more than the {most} bytes of memory that are allowed")))
    }

    fn read_number(&self, field: &[u8]) -> Result<(f64, Digits)> {
        match number::parse(field) {
            Some((value, digits)) if value.abs() <= FARTHEST => Ok((value, digits)),
            Some((value, _)) if value.is_finite() => {
                Err(self.wrong(format!("the coordinate {} is too large", shown(field))))
            }
            _ => Err(self.wrong(format!("{} is not a finite number", shown(field)))),
        }
    }

    /// `f v v v …`, each corner `v`, `v/vt`, `v//vn` or `v/vt/vn`.
    fn read_face<'b>(&mut self, fields: impl Iterator<Item = &'b [u8]>) -> Result<()> {
        self.face.clear();
        for field in fields {
            let mut parts = field.split(|byte| *byte == b'/');
            let (vertices, coordinates) = (self.file.positions.len(), self.file.coordinates.len());
            let vertex = self.read_index(field, parts.next().unwrap_or_default(), vertices, "vertices")?;
            self.last.vertex = self.last.vertex.max((vertex, self.line));
            self.face.push(vertex as u32);
            let coordinate = match parts.next() {
                None | Some(b"") => NO_COORDINATE,
                Some(part) => {
                    let index = self.read_index(field, part, coordinates, "texture coordinates")?;
                    self.last.coordinate = self.last.coordinate.max((index, self.line));
                    index as u32
                }
            };
            self.file.uv_corners.push(coordinate);
        }
        let count = self.face.len();
        if count < 3 {
            return Err(self.wrong(format!("a face needs at least 3 corners but has {count}")));
        }
        self.file.faces.push(&self.face);
        self.take_memory(8 * count as u64)
    }

    /// An index counted from 0. In the file they count from 1, or backwards from the latest with -1.
    fn read_index(&self, corner: &[u8], index: &[u8], count: usize, what: &str) -> Result<usize> {
        let bad = |why: &str| self.wrong(format!("the corner {} of a face {why}", shown(corner)));
        let Some(value) = number::parse_index(index) else {
            return Err(bad("has no valid index"));
        };
        match value {
            0 => Err(bad("has the index 0, but OBJ counts from 1")),
            1.. => Ok(value as usize - 1),
            _ => count.checked_sub(value.unsigned_abs() as usize).ok_or_else(|| {
                bad(&format!("counts back {}, but only {count} {what} come before it", -value))
            }),
        }
    }

    /// Checks indices after all vertices are known: a face may precede its vertices.
    fn finish(self) -> Result<ObjFile> {
        let file = &self.file;
        if file.positions.is_empty() {
            return Err(Error::malformed(self.path, "this OBJ file has no vertices (no line starts with v)"));
        }
        let reaches = [
            (self.last.vertex, file.positions.len(), "vertex", "vertices"),
            (self.last.coordinate, file.coordinates.len(), "texture coordinate", "texture coordinates"),
        ];
        for ((index, line), count, one, many) in reaches {
            // Line 0 means that no face uses any.
            if line > 0 && index >= count {
                let index = index + 1;
                let problem =
                    format!("line {line}: a face uses {one} {index}, but the file has {count} {many}");
                return Err(Error::malformed(self.path, problem));
            }
        }
        Ok(self.file)
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.path, format!("line {}: {problem}", self.line))
    }
}

/// Words of a line up to a comment.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.take_while(|word| word[0] != b'#')
}

/// Lines with their numbers from 1; a line that ends in a backslash goes on in the next.
struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { rest: text, number: 0 }
    }

    fn physical_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, Cow<'a, [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.physical_line()?;
        let number = self.number;
        // A comment that ends in a backslash is a Windows path, not a long line.
        let (false, Some(start)) = (line.starts_with(b"#"), line.strip_suffix(b"\\")) else {
            return Some((number, Cow::Borrowed(line)));
        };
        let mut joined = start.to_vec();
        while let Some(more) = self.physical_line() {
            joined.push(b' ');
            let Some(part) = more.strip_suffix(b"\\") else {
                joined.extend_from_slice(more);
                break;
            };
            joined.extend_from_slice(part);
        }
        Some((number, Cow::Owned(joined)))
    }
}
