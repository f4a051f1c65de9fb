//! The inside of a rig, as far as it is known: bones, tissue thickness, and parts that swing freely.

use std::path::Path;

use anyhow::bail;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::model::{Bones, FreePart};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::tissue::{TissueInput, TissueParams};
use zygoma_geometry::closest::TriangleTree;
use zygoma_head::anatomy::Anatomy;
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Rig, RigMesh, arkit};

/// Where bones come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BoneSource {
    /// Meshes of the rig.
    Rig,
    /// The rig is the built-in head, whose anatomy is known.
    BuiltIn,
    /// None: the jaw's motion is estimated from the skin.
    None,
}

/// The inside of a rig.
pub(crate) struct RigInside {
    jaw: Vec<usize>,
    bones: Option<Bones>,
    pub(crate) bone_source: BoneSource,
    thickness: Option<Vec<f64>>,
    free: Vec<bool>,
    /// Names of the parts that swing freely.
    pub(crate) free_parts: Vec<String>,
}

impl RigInside {
    /// Looks for bones and for parts that swing freely; `thickness` and `free` are given by the user.
    pub(crate) fn new(
        rig: &Rig,
        face: &FaceModel,
        jaw: Vec<usize>,
        thickness: Option<&Path>,
        free: &[String],
    ) -> anyhow::Result<Self> {
        let (bones, bone_source) = find_bones(rig);
        let (free, free_parts) = find_free(rig.skin(), face, free)?;
        let thickness = thickness.map(|path| read_thickness(path, face.vertex_count())).transpose()?;
        Ok(Self { jaw, bones, bone_source, thickness, free, free_parts })
    }

    /// The input of a tissue build.
    pub(crate) fn tissue<'a>(&'a self, face: &'a FaceModel) -> TissueInput<'a> {
        TissueInput {
            face,
            jaw: &self.jaw,
            bones: self.bones.as_ref(),
            thickness: self.thickness.as_deref(),
            free: &self.free,
            volume: None,
        }
    }

    /// A description of what was found, one sentence per line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![match self.bone_source {
            BoneSource::Rig => "the rig's own cranium and mandible carry the tissue".to_owned(),
            BoneSource::BuiltIn => {
                "this is the built-in head: its cranium and mandible carry the tissue".to_owned()
            }
            BoneSource::None if self.jaw.is_empty() => {
                "the rig has neither bones nor a shape that moves the jaw: all tissue stays with the head"
                    .to_owned()
            }
            BoneSource::None => {
                "the rig has no bones: the jaw's motion is found from the skin that it carries".to_owned()
            }
        }];
        if !self.free_parts.is_empty() {
            lines.push(format!("no bone and no shape holds {}: left free", self.free_parts.join(", ")));
        }
        lines
    }
}

/// The bones of a rig: its own, or those of the built-in head.
fn find_bones(rig: &Rig) -> (Option<Bones>, BoneSource) {
    if let Some(bones) = Bones::of_rig(rig) {
        return (Some(bones), BoneSource::Rig);
    }
    let built_in = built_in_head(rig.skin())
        .and_then(|head| Bones::among(&Anatomy::new(&head).rig_meshes(&head), rig.skin()));
    let source = if built_in.is_some() { BoneSource::BuiltIn } else { BoneSource::None };
    (built_in, source)
}

/// The built-in head with its dials at rest, if this is its skin. Heads with other dials have bones of their own if they were written
/// with their anatomy.
fn built_in_head(skin: &RigMesh) -> Option<Head> {
    /// Largest rounding of positions in a file, m.
    const SAME: f32 = 1e-5;
    let level = [(Level::Low, 2_500..5_000), (Level::Middle, 5_000..10_000), (Level::High, 10_000..20_000)]
        .into_iter()
        .find(|(_, counts)| counts.contains(&skin.positions.len()) && skin.name == "skin")?
        .0;
    let head = Head::new(&HeadOptions { level, ..HeadOptions::default() });
    // A file may split vertices along texture seams, but keeps their positions.
    let positions: Vec<Vec3> = head.skin.positions.iter().map(|p| p.as_vec3()).collect();
    let triangles = &head.skin.triangles;
    let surface = TriangleTree::new(&positions, triangles);
    let is_on = |p: &Vec3| surface.closest(&positions, triangles, *p, SAME).is_some();
    skin.positions.iter().all(is_on).then_some(head)
}

/// Flags the vertices that swing freely: those named, or else parts that stand out and that no shape moves.
fn find_free(skin: &RigMesh, face: &FaceModel, names: &[String]) -> anyhow::Result<(Vec<bool>, Vec<String>)> {
    if names.is_empty() {
        let parts = FreePart::find(face);
        let word = |part: &FreePart| {
            let [length, x, y, z] = [part.length, part.tip.x, part.tip.y, part.tip.z].map(|m| 1e3 * m);
            format!("a part of {length:.0} mm that stands out at ({x:.0}, {y:.0}, {z:.0}) mm")
        };
        return Ok((FreePart::flags(&parts, face.vertex_count()), parts.iter().map(word).collect()));
    }
    let mut free = vec![false; face.vertex_count()];
    let mut flag = |vertices: &mut dyn Iterator<Item = u32>| {
        vertices.for_each(|v| {
            if let Some(flag) = free.get_mut(v as usize) {
                *flag = true;
            }
        });
    };
    let mut words = Vec::new();
    let places = Landmarks::new(face);
    for name in names.iter().filter(|name| !name.eq_ignore_ascii_case("none")) {
        let key = arkit::key(name);
        let regions: Vec<_> = skin.regions.iter().filter(|region| arkit::key(&region.name) == key).collect();
        let named: Vec<_> = places
            .iter()
            .filter(|place| arkit::key(&place.name).starts_with(&key) && !key.is_empty())
            .collect();
        if regions.is_empty() && named.is_empty() {
            let known: Vec<&str> = (skin.regions.iter().map(|region| region.name.as_str()))
                .chain(places.iter().map(|place| place.name.as_str()))
                .collect();
            bail!("--free {name}: there is no such part; known are {}, or 'none'", known.join(", "));
        }
        if regions.is_empty() {
            for place in named {
                flag(&mut FreePart::of_place(face, place).into_iter());
                words.push(format!("the {}", place.name));
            }
        } else {
            for region in regions {
                flag(&mut region.vertices.clone().map(|v| v as u32));
                words.push(format!("the region '{}'", region.name));
            }
        }
    }
    Ok((free, words))
}

/// Thickness in millimetres, a number for each vertex of the mesh, as text.
fn read_thickness(path: &Path, count: usize) -> anyhow::Result<Vec<f64>> {
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
