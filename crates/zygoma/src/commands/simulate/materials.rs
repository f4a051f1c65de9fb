//! Reads painted materials of enriched faces: `<shape>.png`, `<shape>.lambda.png` and `materials.toml` in a folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use glam::Vec2;
use zygoma_face::enriched::{Canvas, Coat, MaterialPaint, MaterialSpots, NEUTRAL, Stroke};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_picture::Image;
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, RigMesh};

use crate::commands::input;

/// Stiffness of a white pixel, Pa.
const WHITE: f64 = 5e4;
/// Which of the two constants a picture holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constant {
    Mu,
    Lambda,
}

/// Reads all paint in a folder.
pub(super) fn read(
    folder: &Path,
    rig: &Rig,
    face: &FaceModel,
    places: &Landmarks,
) -> anyhow::Result<Vec<MaterialPaint>> {
    let mut paints = Vec::new();
    for path in pictures(folder)? {
        let (shape, constant) = meaning(&path, face)?;
        let image = read_picture(&path)?;
        let strokes = &mut MaterialPaint::among(&mut paints, shape, face.vertex_count()).strokes;
        paint_picture(&image, constant, rig.skin(), strokes)
            .with_context(|| format!("{}: the rig", path.display()))?;
    }
    let spots = folder.join("materials.toml");
    if spots.exists() {
        let named = || spots.display().to_string();
        let MaterialSpots { material } = input::read_toml(&spots)?;
        let canvas = Canvas::new(face);
        for spot in material {
            let shape = find_shape(&spot.shape, face).with_context(named)?;
            let strokes = &mut MaterialPaint::among(&mut paints, shape, face.vertex_count()).strokes;
            canvas.paint(&spot, places, strokes).with_context(named)?;
        }
    }
    if paints.is_empty() {
        bail!(
            "{}: no materials; it should hold pictures such as mouthSmileLeft.png, or a materials.toml",
            folder.display()
        );
    }
    Ok(paints)
}

/// The pictures of a folder, sorted.
fn pictures(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let named = || folder.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(named)? {
        let path = entry.with_context(named)?.path();
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The shape and the constant that a picture's name says.
fn meaning(path: &Path, face: &FaceModel) -> anyhow::Result<(Option<usize>, Constant)> {
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let (name, constant) = match stem.strip_suffix(".lambda") {
        Some(name) => (name, Constant::Lambda),
        None => (stem, Constant::Mu),
    };
    let shape = find_shape(name, face).with_context(|| path.display().to_string())?;
    Ok((shape, constant))
}

fn find_shape(name: &str, face: &FaceModel) -> anyhow::Result<Option<usize>> {
    if name == NEUTRAL {
        return Ok(None);
    }
    match face.shapes.iter().position(|shape| shape.name == name) {
        Some(shape) => Ok(Some(shape)),
        None => bail!("the rig has no shape '{name}'; the relaxed face is '{NEUTRAL}'"),
    }
}

pub(super) fn read_picture(path: &Path) -> anyhow::Result<Image> {
    let bytes = zygoma_files::read(path, Limits::default().text_bytes)?;
    Image::from_png(&bytes).with_context(|| path.display().to_string())
}

/// Paints with a picture: black is 0 and white 50 kPa; where it is transparent nothing is painted.
fn paint_picture(
    image: &Image,
    constant: Constant,
    skin: &RigMesh,
    strokes: &mut [Stroke],
) -> anyhow::Result<()> {
    let Some(seen) = seen_of(image, skin) else {
        bail!("has no texture coordinates to paint by; use places in materials.toml");
    };
    for (stroke, seen) in strokes.iter_mut().zip(seen) {
        let Some([value, cover]) = seen else { continue };
        *coat(stroke, constant) = Coat { value: WHITE * value, cover };
    }
    Ok(())
}

/// The brightness and the opacity, from 0 to 1, that each vertex of a skin sees of a picture by its texture coordinates; `None` for a skin without
/// them.
pub(super) fn seen_of(image: &Image, skin: &RigMesh) -> Option<Vec<Option<[f64; 2]>>> {
    let (width, height) = (image.width(), image.height());
    let texel = |fraction: f32, count: usize| {
        ((fraction - fraction.floor()) * count as f32).min(count as f32 - 1.0).max(0.0) as usize
    };
    let fraction = |byte: u8| f64::from(byte) / 255.0;
    let seen = |uv: Vec2| {
        let [value, _, _, alpha] = image.pixel(texel(uv.x, width), texel(uv.y, height))?;
        Some([fraction(value), fraction(alpha)])
    };
    Some(vertex_uvs(skin)?.into_iter().map(|uv| uv.and_then(seen)).collect())
}

fn coat(stroke: &mut Stroke, constant: Constant) -> &mut Coat {
    match constant {
        Constant::Mu => &mut stroke.mu,
        Constant::Lambda => &mut stroke.lambda,
    }
}

/// The texture coordinate of each vertex: of one of its corners, on a seam.
fn vertex_uvs(skin: &RigMesh) -> Option<Vec<Option<Vec2>>> {
    let map = skin.uvs.as_ref()?;
    let mut found = vec![None; skin.positions.len()];
    match &map.corners {
        None => found.iter_mut().zip(&map.coordinates).for_each(|(own, uv)| *own = Some(*uv)),
        Some(corners) => {
            for (vertex, corner) in skin.faces.corners().iter().zip(corners) {
                found[*vertex as usize] = map.coordinates.get(*corner as usize).copied();
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use glam::{DAffine3, Vec3};
    use zygoma_geometry::Faces;
    use zygoma_rig::UvMap;

    use super::*;

    /// A triangle whose corners see a white, a half transparent black and a fully transparent texel.
    fn skin(corners: Option<Vec<u32>>) -> RigMesh {
        let coordinates = vec![Vec2::new(0.1, 0.5), Vec2::new(0.5, 0.5), Vec2::new(0.9, 0.5)];
        RigMesh {
            name: "face".into(),
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
            faces: Faces::from_triangles(&[[0, 1, 2]]),
            uvs: Some(UvMap { coordinates, corners }),
            shapes: Vec::new(),
            regions: Vec::new(),
            to_rig: DAffine3::IDENTITY,
            quantum: 1e-6,
        }
    }

    #[test]
    fn pictures_paint_by_texture_coordinates_and_not_where_they_are_transparent() {
        let pixels = vec![[255; 4], [0, 0, 0, 51], [255, 255, 255, 0]];
        let image = Image::from_pixels(3, 1, pixels).unwrap();
        for corners in [None, Some(vec![0, 1, 2])] {
            let mut strokes = vec![Stroke::default(); 3];
            paint_picture(&image, Constant::Lambda, &skin(corners), &mut strokes).unwrap();
            let painted: Vec<[f64; 2]> = strokes.iter().map(|s| [s.lambda.value, s.lambda.cover]).collect();
            assert_eq!(painted, [[WHITE, 1.0], [0.0, 0.2], [WHITE, 0.0]]);
            assert!(strokes.iter().all(|stroke| stroke.mu == Coat::default()));
        }
        let bare = RigMesh { uvs: None, ..skin(None) };
        let message = paint_picture(&image, Constant::Mu, &bare, &mut []).unwrap_err().to_string();
        assert!(message.contains("materials.toml"), "{message}");
    }
}
