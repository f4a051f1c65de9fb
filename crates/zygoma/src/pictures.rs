//! Pictures of rigs for sheets and reports.

use anyhow::Context;
use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_picture::{
    Bounds, Camera, Finish, Image, Paint, RenderOptions, Rgb, Scene, Surface, View, color, grid, render,
};
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::{Rig, RigMesh, Source, Take};

use crate::props::PROP;

/// Space left around the moving part of a face, as a share of its height.
const MARGIN: f32 = 0.15;
/// A mesh up to this many times as tall as the part that moves is a head or a bust.
const BUST: f32 = 2.5;

/// A rig that is ready to be drawn.
pub(crate) struct Portrait<'a> {
    rig: &'a Rig,
    meshes: Vec<PortraitMesh>,
    bounds: Bounds,
    /// The image that the meshes' texture coordinates refer to.
    texture: Option<Image>,
}

/// One picture to draw.
pub(crate) struct Shot<'a> {
    /// Positions of every mesh of the rig.
    pub(crate) surfaces: &'a [Vec<Vec3>],
    /// Meshes of the colliders that touch the face.
    pub(crate) props: &'a [TriMesh<Vec3>],
    pub(crate) view: View,
    /// The bounds that fill the picture, instead of the whole face.
    pub(crate) focus: Option<Bounds>,
    pub(crate) size: usize,
}

struct PortraitMesh {
    evaluator: Evaluator,
    pieces: Vec<Piece>,
}

/// Triangles of one material.
struct Piece {
    part: Part,
    triangles: Vec<[u32; 3]>,
    /// For each triangle the texture coordinates at its corners.
    corners: Vec<[u32; 3]>,
}

/// The material of a piece of a face, guessed from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Skin,
    Eye,
    Iris,
    Pupil,
    Tooth,
    Gum,
    Hair,
    /// Lashes, tear film, shadows: layers that only make sense with their textures.
    SeeThrough,
}

impl<'a> Portrait<'a> {
    pub(crate) fn new(rig: &'a Rig) -> anyhow::Result<Self> {
        let bounds = face_bounds(rig.skin()).context("the rig has no vertices to draw")?;
        let texture = match &rig.source {
            Source::Generated { texture: Some(png) } => Some(Image::from_png(png)?),
            _ => None,
        };
        let mesh = |mesh: &RigMesh| {
            let pieces = pieces(mesh).into_iter();
            let pieces = match texture {
                Some(_) => pieces.collect(),
                None => pieces.flat_map(|piece| piece.with_iris(&mesh.positions)).collect(),
            };
            PortraitMesh { evaluator: Evaluator::new(mesh), pieces }
        };
        Ok(Self { rig, meshes: rig.meshes.iter().map(mesh).collect(), bounds, texture })
    }

    /// The face with some shapes at weights, by exact name, on every mesh that has them.
    pub(crate) fn draw(&self, weights: &[(&str, f32)], view: View, size: usize) -> anyhow::Result<Image> {
        let meshes = self.rig.meshes.iter().zip(&self.meshes);
        let surfaces: Vec<Vec<Vec3>> = meshes.map(|(mesh, ready)| pose(mesh, ready, weights)).collect();
        self.shoot(&Shot { surfaces: &surfaces, props: &[], view, focus: None, size })
    }

    /// Every mesh of the rig at a time of a take.
    pub(crate) fn at(&self, binding: &Binding, take: &Take, time: f64) -> Vec<Vec<Vec3>> {
        let surface = |(index, ready): (usize, &PortraitMesh)| {
            let mut weights = vec![0.0; ready.evaluator.shape_count()];
            binding.weights_at(take, index, time, &mut weights);
            let mut positions = vec![Vec3::ZERO; ready.evaluator.vertex_count()];
            ready.evaluator.evaluate(&weights, &mut positions);
            positions
        };
        self.meshes.iter().enumerate().map(surface).collect()
    }

    pub(crate) fn shoot(&self, shot: &Shot) -> anyhow::Result<Image> {
        let meshes = self.rig.meshes.iter().zip(&self.meshes).zip(shot.surfaces);
        let drawn = meshes.flat_map(|((mesh, ready), positions)| {
            let pieces =
                ready.pieces.iter().filter(|piece| self.texture.is_some() || piece.part != Part::SeeThrough);
            pieces.map(|piece| self.surface(mesh, piece, positions))
        });
        let props = shot.props.iter().map(|prop| {
            Surface::new(&prop.positions, &prop.triangles).painted(Paint::Plain(PROP), Finish::Matte)
        });
        let options = RenderOptions::sized(shot.size, shot.size);
        let bounds = shot.focus.unwrap_or(self.bounds);
        let camera = Camera::framing(shot.view, &bounds, options.aspect());
        Ok(render(&Scene::new(drawn.chain(props)), &camera, &options)?)
    }

    fn surface<'b>(&'b self, mesh: &'b RigMesh, piece: &'b Piece, positions: &'b [Vec3]) -> Surface<'b> {
        let (color, finish) = piece.part.paint();
        let paint = match (&self.texture, &mesh.uvs) {
            (Some(image), Some(uvs)) => {
                Paint::Texture { image, uvs: &uvs.coordinates, corners: Some(&piece.corners) }
            }
            _ => Paint::Plain(color),
        };
        Surface::new(positions, &piece.triangles).painted(paint, finish)
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

/// The bounds of the skin to show: the whole of a head or bust; of a taller body, only the part that its shapes move.
fn face_bounds(skin: &RigMesh) -> Option<Bounds> {
    let whole = Bounds::of(skin.positions.iter().copied())?;
    let largest = skin.shapes.iter().map(|shape| shape.deltas.largest()).fold(0.0, f32::max);
    let moved = skin.shapes.iter().flat_map(|shape| shape.deltas.iter());
    let moved = moved.filter(|(_, offset)| offset.length() > 0.1 * largest);
    let Some(face) = Bounds::of(moved.map(|(vertex, _)| skin.positions[vertex as usize])) else {
        return Some(whole);
    };
    let height = |bounds: &Bounds| bounds.high.y - bounds.low.y;
    if height(&whole) < BUST * height(&face) {
        return Some(whole);
    }
    let margin = Vec3::splat(MARGIN * height(&face));
    Bounds::of([face.low - margin, face.high + margin])
}

/// Splits the triangles of a mesh by material: one piece, or one for each named region.
fn pieces(mesh: &RigMesh) -> Vec<Piece> {
    let triangles = mesh.faces.triangles();
    let corners = match mesh.uvs.as_ref().and_then(|uvs| uvs.corners.as_ref()) {
        Some(corners) => {
            (0..mesh.faces.len()).flat_map(|face| fan(&corners[mesh.faces.range(face)])).collect()
        }
        None => triangles.clone(),
    };
    if mesh.regions.is_empty() {
        return vec![Piece { part: Part::named(&mesh.name), triangles, corners }];
    }
    let of_region = |region: &zygoma_rig::Region| {
        let both = triangles.iter().zip(&corners);
        let inside = both.filter(|(triangle, _)| region.vertices.contains(&(triangle[0] as usize)));
        let (triangles, corners) = inside.unzip();
        Piece { part: Part::named(&region.name), triangles, corners }
    };
    mesh.regions.iter().map(of_region).collect()
}

/// Half the angle that an iris and a pupil subtend at the eye's centre, in degrees: a life-size iris is 12 mm wide, on an eye of 24.
const IRIS: f32 = 30.0;
const PUPIL: f32 = 12.0;

impl Piece {
    /// Splits eyes into white, iris and pupil, so that their gaze shows without a texture: to the front at rest.
    fn with_iris(self, positions: &[Vec3]) -> Vec<Piece> {
        let used = self.triangles.iter().flatten().map(|v| positions[*v as usize]);
        let Some(both) = Bounds::of(used.clone()).filter(|_| self.part == Part::Eye) else {
            return vec![self];
        };
        // A mesh that is much wider than tall holds both eyes.
        let size = both.high - both.low;
        let middle = 0.5 * (both.low.x + both.high.x);
        let is_left = |x: f32| size.x > 1.6 * size.y && x > middle;
        let balls = [false, true].map(|left| Bounds::of(used.clone().filter(|p| is_left(p.x) == left)));
        let part = |triangle: &[u32; 3]| {
            let at = triangle.iter().map(|v| positions[*v as usize]).sum::<Vec3>() / 3.0;
            let Some(ball) = &balls[usize::from(is_left(at.x))] else { return Part::Eye };
            let centre = 0.5 * (ball.low + ball.high);
            let front = Vec3::new(centre.x, centre.y, ball.high.z - 0.5 * (ball.high.y - ball.low.y));
            match (at - front).angle_between(Vec3::Z).to_degrees() {
                angle if angle < PUPIL => Part::Pupil,
                angle if angle < IRIS => Part::Iris,
                _ => Part::Eye,
            }
        };
        let of_part = |wanted: Part| {
            let both = self.triangles.iter().zip(&self.corners);
            let (triangles, corners) = both.filter(|(triangle, _)| part(triangle) == wanted).unzip();
            Piece { part: wanted, triangles, corners }
        };
        let pieces = [Part::Eye, Part::Iris, Part::Pupil].map(of_part).into_iter();
        pieces.filter(|piece| !piece.triangles.is_empty()).collect()
    }
}

/// Splits a polygon's corners into a triangle fan.
fn fan(corners: &[u32]) -> Vec<[u32; 3]> {
    (2..corners.len()).map(|i| [corners[0], corners[i - 1], corners[i]]).collect()
}

impl Part {
    fn named(name: &str) -> Self {
        let name = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["lash", "lacrimal", "tear", "occlusion", "blend", "shadow", "wet"]) {
            Part::SeeThrough
        } else if has(&["brow", "hair", "beard"]) {
            Part::Hair
        } else if has(&["gum", "tongue", "mouth", "socket", "caruncle"]) {
            Part::Gum
        } else if has(&["teeth", "tooth"]) {
            Part::Tooth
        } else if has(&["eye", "iris", "cornea", "pupil"]) && !has(&["lid", "brow"]) {
            Part::Eye
        } else {
            Part::Skin
        }
    }

    fn paint(self) -> (Rgb, Finish) {
        match self {
            Part::Skin | Part::SeeThrough => (color::SKIN, Finish::Skin),
            Part::Eye => ([0.93, 0.93, 0.92], Finish::Wet),
            Part::Iris => ([0.20, 0.13, 0.08], Finish::Wet),
            Part::Pupil => ([0.02, 0.02, 0.02], Finish::Wet),
            Part::Tooth => ([0.92, 0.88, 0.80], Finish::Wet),
            Part::Gum => ([0.72, 0.38, 0.36], Finish::Wet),
            Part::Hair => ([0.26, 0.19, 0.15], Finish::Matte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_eye_of_a_mesh_has_an_iris_in_front() {
        let (ball, triangles) = zygoma_geometry::shapes::sphere(24, 36);
        let eye = |x: f32| ball.iter().map(move |p| 0.012 * *p + x * Vec3::X);
        let count = ball.len() as u32;
        let positions: Vec<Vec3> = eye(-0.03).chain(eye(0.03)).collect();
        let second = triangles.iter().map(|t| t.map(|v| v + count));
        let triangles: Vec<[u32; 3]> = triangles.iter().copied().chain(second).collect();
        let all = triangles.len();
        let piece = |part| Piece { part, corners: triangles.clone(), triangles: triangles.clone() };
        let pieces = piece(Part::Eye).with_iris(&positions);
        assert_eq!(pieces.iter().map(|piece| piece.triangles.len()).sum::<usize>(), all);
        for part in [Part::Iris, Part::Pupil] {
            let found = pieces.iter().find(|piece| piece.part == part).unwrap();
            let corners = || found.triangles.iter().flatten().map(|v| positions[*v as usize]);
            assert!(corners().all(|p| p.z > 0.009));
            assert!(corners().any(|p| p.x > 0.0) && corners().any(|p| p.x < 0.0));
        }
        assert_eq!(piece(Part::Tooth).with_iris(&positions).len(), 1);
    }

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
            ("brows_left", Part::Hair),
            ("hair", Part::Hair),
            ("caruncle_left", Part::Gum),
        ];
        for (name, part) in names {
            assert_eq!(Part::named(name), part, "{name}");
        }
    }
}
