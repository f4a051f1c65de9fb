//! Landmark files: which vertices of a mesh lie at the 68 standard places of a face.

use std::path::Path;

use anyhow::{Context, bail};
use glam::DVec3;
use zygoma_rig::RigMesh;
use zygoma_rig::formats::Limits;

/// Number of standard landmarks.
const STANDARD: usize = 68;

/// Reads a landmark file: either 68 vertices of the skin, one in a line, or lines of a landmark's number (0 to 67) and its vertex.
/// Empty lines and lines that begin with `#` are skipped.
pub(super) fn read(path: &Path, skin: &RigMesh) -> anyhow::Result<Vec<(usize, DVec3)>> {
    let text = zygoma_files::read_text(path, Limits::default().text_bytes)?;
    parse(&text, skin).with_context(|| path.display().to_string())
}

fn parse(text: &str, skin: &RigMesh) -> anyhow::Result<Vec<(usize, DVec3)>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows: Vec<Vec<usize>> = lines
        .map(|line| line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()))
        .map(|words| {
            words.map(|word| word.parse().with_context(|| format!("'{word}' is not a number"))).collect()
        })
        .collect::<anyhow::Result<_>>()?;
    let pairs: Vec<(usize, usize)> = match rows.iter().map(Vec::len).max() {
        Some(1) if rows.len() == STANDARD => rows.iter().enumerate().map(|(i, row)| (i, row[0])).collect(),
        Some(2) if rows.iter().all(|row| row.len() == 2) => rows.iter().map(|row| (row[0], row[1])).collect(),
        _ => {
            bail!("landmarks are 68 vertices, one in a line, or lines of a landmark's number and its vertex")
        }
    };
    let place = |(number, vertex): (usize, usize)| {
        let Some(p) = skin.positions.get(vertex) else {
            bail!(
                "landmark {number} is at vertex {vertex}, but the skin has {} vertices",
                skin.positions.len()
            );
        };
        Ok((number, p.as_dvec3()))
    };
    pairs.into_iter().map(place).collect()
}
