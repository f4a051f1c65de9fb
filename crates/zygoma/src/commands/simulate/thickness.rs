//! Painted thickness of the tissue.

use std::path::Path;

use anyhow::bail;
use zygoma_face::tissue::TissueParams;
use zygoma_rig::formats::Limits;

/// Thickness in millimetres, a number for each vertex of the mesh, as text.
pub(super) fn read_thickness(path: &Path, count: usize) -> anyhow::Result<Vec<f64>> {
    let text = zygoma_files::read_text(path, Limits::default().text_bytes)?;
    let mut values = Vec::with_capacity(count);
    for (line, word) in
        (1..).zip(text.lines()).flat_map(|(line, text)| text.split_whitespace().map(move |w| (line, w)))
    {
        match word.parse::<f64>() {
            Ok(value) if TissueParams::THICKNESS.contains(&(1e-3 * value)) => values.push(1e-3 * value),
            _ => bail!(
                "{}: line {line}: '{word}' is not a thickness in millimetres, from {} to {}",
                path.display(),
                1e3 * TissueParams::THICKNESS.start(),
                1e3 * TissueParams::THICKNESS.end()
            ),
        }
        if values.len() > count {
            break;
        }
    }
    if values.len() != count {
        bail!(
            "{}: it should have one number for each of the mesh's {count} vertices, but has {}",
            path.display(),
            if values.len() > count { "more".to_owned() } else { values.len().to_string() }
        );
    }
    Ok(values)
}
