//! Pictures of rigs for sheets and reports.

use anyhow::Context;
use glam::Vec3;
use zygoma_picture::{
    Bounds, Camera, Finish, Image, Paint, RenderOptions, Scene, Surface, View, color, grid, render,
};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::{Rig, RigMesh};

/// Space left around the moving part of a face, as a share of its size.
const MARGIN: f32 = 0.1;

/// A rig made ready to have its picture taken.
pub(crate) struct Portrait<'a> {
    rig: &'a Rig,
    meshes: Vec<PortraitMesh>,
    bounds: Bounds,
}

struct PortraitMesh {
    evaluator: Evaluator,
    parts: Vec<(Part, Vec<[u32; 3]>)>,
}

/// What a piece of a face is made of, told from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Skin,
    Eye,
    Tooth,
    Gum,
    /// Lashes, tear film, shadows: layers that need textures to look like anything.
    SeeThrough,
}

impl<'a> Portrait<'a> {
    pub(crate) fn new(rig: &'a Rig) -> anyhow::Result<Self> {
        let bounds = face_bounds(rig.skin()).context("the rig has no vertices to draw")?;
        let mesh = |mesh: &RigMesh| PortraitMesh { evaluator: Evaluator::new(mesh), parts: parts(mesh) };
        Ok(Self { rig, meshes: rig.meshes.iter().map(mesh).collect(), bounds })
    }

    /// The face with some shapes at weights, by exact name, on every mesh that has them.
    pub(crate) fn draw(&self, weights: &[(&str, f32)], view: View, size: usize) -> anyhow::Result<Image> {
        let surfaces: Vec<Vec<Vec3>> = self
            .rig
            .meshes
            .iter()
            .zip(&self.meshes)
            .map(|(mesh, ready)| pose(mesh, ready, weights))
            .collect();
        let drawn = surfaces.iter().zip(&self.meshes).flat_map(|(positions, mesh)| {
            let visible = mesh.parts.iter().filter(|(part, _)| *part != Part::SeeThrough);
            visible.map(|(part, triangles)| {
                let (color, finish) = part.paint();
                Surface::new(positions, triangles).painted(Paint::Plain(color), finish)
            })
        });
        let options = RenderOptions::sized(size, size);
        let camera = Camera::framing(view, &self.bounds, options.aspect());
        Ok(render(&Scene::new(drawn), &camera, &options)?)
    }

    /// The neutral and every shape of the skin at weight 1, captioned.
    pub(crate) fn shape_sheet(&self, size: usize, mut progress: impl FnMut(usize)) -> anyhow::Result<Image> {
        let mut pictures = vec![(self.draw(&[], View::FRONT, size)?, "neutral")];
        for (index, shape) in self.rig.skin().shapes.iter().enumerate() {
            pictures.push((self.draw(&[(&shape.name, 1.0)], View::FRONT, size)?, &shape.name));
            progress(index + 1);
        }
        Ok(grid(&pictures, 8))
    }
}

fn pose(mesh: &RigMesh, ready: &PortraitMesh, wanted: &[(&str, f32)]) -> Vec<Vec3> {
    let weight =
        |name: &str| wanted.iter().find(|(shape, _)| *shape == name).map_or(0.0, |(_, weight)| *weight);
    let weights: Vec<f32> = mesh.shapes.iter().map(|shape| weight(&shape.name)).collect();
    let mut positions = mesh.positions.clone();
    ready.evaluator.evaluate(&weights, &mut positions);
    positions
}

/// The part of the skin that shapes move, with a margin: of a whole body only the face is of interest.
fn face_bounds(skin: &RigMesh) -> Option<Bounds> {
    let largest = skin.shapes.iter().map(|shape| shape.deltas.largest()).fold(0.0, f32::max);
    let moved = skin.shapes.iter().flat_map(|shape| shape.deltas.iter());
    let moved = moved.filter(|(_, offset)| offset.length() > 0.1 * largest);
    let positions = moved.map(|(vertex, _)| skin.positions[vertex as usize]);
    let face = Bounds::of(positions).or_else(|| Bounds::of(skin.positions.iter().copied()))?;
    let margin = Vec3::splat(MARGIN * face.diagonal() / 3f32.sqrt());
    Bounds::of([face.low - margin, face.high + margin])
}

/// The triangles of a mesh by what they are made of: one piece, or one for each named region.
fn parts(mesh: &RigMesh) -> Vec<(Part, Vec<[u32; 3]>)> {
    let triangles = mesh.faces.triangles();
    if mesh.regions.is_empty() {
        return vec![(Part::named(&mesh.name), triangles)];
    }
    let of_region = |region: &zygoma_rig::Region| {
        let inside = |triangle: &&[u32; 3]| region.vertices.contains(&(triangle[0] as usize));
        (Part::named(&region.name), triangles.iter().filter(inside).copied().collect())
    };
    mesh.regions.iter().map(of_region).collect()
}

impl Part {
    fn named(name: &str) -> Self {
        let name = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["lash", "lacrimal", "tear", "occlusion", "blend", "shadow", "wet"]) {
            Part::SeeThrough
        } else if has(&["gum", "tongue", "mouth", "socket"]) {
            Part::Gum
        } else if has(&["teeth", "tooth"]) {
            Part::Tooth
        } else if has(&["eye", "iris", "cornea", "pupil"]) && !has(&["lid", "brow"]) {
            Part::Eye
        } else {
            Part::Skin
        }
    }

    fn paint(self) -> (zygoma_picture::Rgb, Finish) {
        match self {
            Part::Skin | Part::SeeThrough => (color::SKIN, Finish::Skin),
            Part::Eye => ([0.93, 0.93, 0.92], Finish::Wet),
            Part::Tooth => ([0.92, 0.88, 0.80], Finish::Wet),
            Part::Gum => ([0.72, 0.38, 0.36], Finish::Wet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_part_is_made_of() {
        let names = [
            ("head", Part::Skin),
            ("EyeLeft", Part::Eye),
            ("eyelashes", Part::SeeThrough),
            ("eye_sockets", Part::Gum),
            ("teeth", Part::Tooth),
            ("Wolf3D_Teeth", Part::Tooth),
            ("eyelid", Part::Skin),
        ];
        for (name, part) in names {
            assert_eq!(Part::named(name), part, "{name}");
        }
    }
}
