//! Names of the regions of a skin.

use zygoma_head::Head;
use zygoma_rig::RigMesh;

use super::{Part, controls};

/// A name for every point of the skin.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    pub(crate) names: Vec<String>,
    pub(crate) of_point: Vec<u8>,
}

/// Regions of the built-in head, the more particular ones last, so that they win.
const HEAD_REGIONS: [(&str, &str); 19] = [
    ("neck", "neck"),
    ("scalp", "scalp"),
    ("forehead", "forehead"),
    ("jaw_L", "left jaw"),
    ("jaw_R", "right jaw"),
    ("cheek_L", "left cheek"),
    ("cheek_R", "right cheek"),
    ("chin", "chin"),
    ("brow_L", "left brow"),
    ("brow_R", "right brow"),
    ("eyelids_L", "left eyelid"),
    ("eyelids_R", "right eyelid"),
    ("ear_L", "left ear"),
    ("ear_R", "right ear"),
    ("nose", "nose"),
    ("nose_cartilage", "tip of the nose"),
    ("lip_upper", "upper lip"),
    ("lip_lower", "lower lip"),
    ("mouth_bag", "inner mouth"),
];

/// A point belongs to the group whose shape moves it by at least this fraction of what that shape moves most. Ours.
const MOVED: f32 = 0.15;

impl Regions {
    /// Regions that the built-in head knows by itself. Its vertices are its points.
    pub(crate) fn of_head(head: &Head) -> Self {
        let mut names = vec!["head".to_owned()];
        let mut of_point = vec![0; head.skin.positions.len()];
        for (key, name) in HEAD_REGIONS {
            if let Some(region) = head.places.regions.iter().find(|region| region.name == key) {
                region.vertices.iter().for_each(|v| of_point[*v as usize] = names.len() as u8);
                names.push(name.to_owned());
            }
        }
        Self { names, of_point }
    }

    /// Regions found from the shapes that move a point.
    pub(crate) fn of_shapes(skin: &RigMesh, part: &Part) -> Self {
        let mut names = vec!["head".to_owned()];
        let mut best: Vec<(f32, &str)> = vec![(MOVED, ""); skin.positions.len()];
        for shape in &skin.shapes {
            let group = match controls::group(&shape.name) {
                "Brows" => "brow",
                "Eyes" => "eye",
                "Cheeks" => "cheek",
                "Nose" => "nose",
                "Mouth" => "mouth",
                "Jaw" => "jaw",
                _ => continue,
            };
            let largest = shape.deltas.largest();
            for (vertex, offset) in shape.deltas.iter() {
                let fraction = offset.length() / largest;
                if fraction > best[vertex as usize].0 {
                    best[vertex as usize] = (fraction, group);
                }
            }
        }
        let mut region = |name: String| {
            let known = names.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            }) as u8
        };
        let of_point = part.vertex_of_point.iter().zip(&part.neutral).map(|(vertex, at)| {
            match (best[*vertex as usize].1, at.x) {
                ("", _) => 0,
                (name @ ("brow" | "eye" | "cheek"), x) if x > 0.004 => region(format!("left {name}")),
                (name @ ("brow" | "eye" | "cheek"), x) if x < -0.004 => region(format!("right {name}")),
                (name, _) => region(name.to_owned()),
            }
        });
        let of_point = of_point.collect();
        Self { names, of_point }
    }
}
