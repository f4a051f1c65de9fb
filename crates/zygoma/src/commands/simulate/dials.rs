//! Dials of anatomical faces, as the command line has them.

use std::path::PathBuf;

use anyhow::{Context, bail};
use zygoma_face::anatomical::Dials;
use zygoma_face::enriched::{Canvas, SpotPlace};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_rig::Rig;

use super::materials::{read_picture, seen_of};
use crate::cli::DialArgs;

/// Dials whose form is checked; those on parts of a face need that face.
pub(crate) struct WantedDials {
    everywhere: Dials,
    parts: Vec<Part>,
}

/// A dial on part of a face.
struct Part {
    /// The flags that ask for it.
    flag: String,
    name: String,
    value: String,
    at: Place,
}

enum Place {
    Spot { at: SpotPlace, radius: f64 },
    Mask(PathBuf),
}

impl WantedDials {
    /// The dials of the command line.
    pub(crate) fn read(args: &DialArgs) -> anyhow::Result<Self> {
        let mut masks = Vec::new();
        for mask in &args.masks {
            let Some((name, path)) = mask.split_once('=') else {
                bail!("--mask {mask}: write it as NAME=PNG, for example fat=cheeks.png");
            };
            masks.push((name, PathBuf::from(path), mask));
        }
        let mut wanted = Self { everywhere: Dials::default(), parts: Vec::new() };
        for setting in &args.dials {
            let Some((name, value)) = setting.split_once('=') else {
                bail!("--dial {setting}: write it as NAME=VALUE, for example fat=0.2");
            };
            let flag = format!("--dial {setting}");
            let mask = masks.iter().position(|(masked, ..)| *masked == name);
            let (value, at) = match (value.split_once('@'), mask) {
                (Some((value, spot)), _) => (value, spot_of(spot).with_context(|| flag.clone())?),
                (None, Some(mask)) => (value, Place::Mask(masks.remove(mask).1)),
                (None, None) => {
                    wanted.everywhere.set(name, value).context(flag)?;
                    continue;
                }
            };
            // The face is not known yet, but whether there is such a dial.
            Dials::default().set_at(name, value, "", Vec::new()).with_context(|| flag.clone())?;
            wanted.parts.push(Part { flag, name: name.to_owned(), value: value.to_owned(), at });
        }
        if let Some((name, _, mask)) = masks.first() {
            bail!("--mask {mask}: it needs a value; add --dial {name}=VALUE");
        }
        Ok(wanted)
    }

    /// The dials on a face.
    pub(crate) fn on(&self, face: &FaceModel, rig: &Rig) -> anyhow::Result<Dials> {
        let mut dials = self.everywhere.clone();
        if self.parts.is_empty() {
            return Ok(dials);
        }
        let (canvas, places) = (Canvas::new(face), Landmarks::new(face));
        for Part { flag, name, value, at } in &self.parts {
            let (cover, described) = match at {
                Place::Spot { at, radius } => {
                    let cover = canvas.cover(at, *radius, &places).with_context(|| flag.clone())?;
                    (cover, format!("{at}, radius {radius} mm"))
                }
                Place::Mask(path) => {
                    let Some(seen) = seen_of(&read_picture(path)?, rig.skin()) else {
                        bail!(
                            "{}: the rig has no texture coordinates to paint by; use a place, as in fat=0.2@cheek-left:20",
                            path.display()
                        );
                    };
                    let cover =
                        seen.into_iter().map(|seen| seen.map_or(0.0, |[value, opacity]| value * opacity));
                    (cover.collect(), path.display().to_string())
                }
            };
            dials.set_at(name, value, &described, cover)?;
        }
        Ok(dials)
    }
}

/// A spot written as `cheek-left:20` or `#4711:20`.
fn spot_of(text: &str) -> anyhow::Result<Place> {
    const FORM: &str = "write the place as NAME:MM, for example cheek-left:20";
    let (at, radius) = text.rsplit_once(':').context(FORM)?;
    let radius: f64 = radius.trim().parse().context(FORM)?;
    let at = match at.strip_prefix('#') {
        Some(vertex) => SpotPlace::Vertex(vertex.parse().context(FORM)?),
        None => SpotPlace::Landmark(at.to_owned()),
    };
    Ok(Place::Spot { at, radius })
}
