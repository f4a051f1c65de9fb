//! Pictures of rigs for sheets and reports.

use std::ops::Range;

use anyhow::Context;
use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_picture::{
    Bounds, Camera, Finish, Image, Paint, RenderOptions, Rgb, Scene, Surface, View, color, grid, render,
};
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{Document, base_colors, material_ranges};
use zygoma_rig::{Region, Rig, RigMesh, Source, Take};

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
    textures: Textures,
}

/// Consecutive triangles of a mesh, with the index of the image that they are painted with.
type Run = (Range<usize>, Option<usize>);

/// The images that meshes are painted with.
struct Textures {
    images: Vec<Image>,
    /// The runs of each mesh that the images were made for.
    runs: Vec<Vec<Run>>,
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
    /// Index of the image that it is painted with.
    image: Option<usize>,
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
        let textures = Textures::of(rig)?;
        let mesh = |(index, mesh): (usize, &RigMesh)| {
            let pieces = pieces(mesh, &textures.runs_of(index, mesh)).into_iter();
            let pieces = pieces.flat_map(|piece| piece.with_iris(&mesh.positions)).collect();
            PortraitMesh { evaluator: Evaluator::new(mesh), pieces }
        };
        let meshes = rig.meshes.iter().enumerate().map(mesh).collect();
        Ok(Self { rig, meshes, bounds, textures })
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
            let shown = |piece: &&Piece| piece.image.is_some() || piece.part != Part::SeeThrough;
            let pieces = ready.pieces.iter().filter(shown);
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
        let paint = match (piece.image, &mesh.uvs) {
            (Some(image), Some(uvs)) => Paint::Texture {
                image: &self.textures.images[image],
                uvs: &uvs.coordinates,
                corners: Some(&piece.corners),
            },
            _ => Paint::Plain(color),
        };
        Surface::new(positions, &piece.triangles).painted(paint, finish)
    }

    /// The neutral and every shape of the skin at weight 1, captioned.
    pub(crate) fn shape_sheet(&self, size: usize, mut progress: impl FnMut(usize)) -> anyhow::Result<Image> {
        let mut pictures = vec![(self.draw(&[], View::FRONT, size)?, "neutral")];
        for (index, shape) in self.rig.skin().shapes.iter().enumerate() {
            let mut weights = vec![(&shape.name[..], 1.0)];
            weights.extend(self.opened_below(&shape.name).map(|opened| (opened, 1.0)));
            pictures.push((self.draw(&weights, View::FRONT, size)?, &shape.name));
            progress(index + 1);
        }
        Ok(grid(&pictures, 8))
    }

    /// The shape over which another one is made: `mouthClose` closes the lips of an open jaw, and alone turns them inside
    /// out.
    fn opened_below(&self, name: &str) -> Option<&str> {
        let plain =
            |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let shapes = || self.rig.skin().shapes.iter().map(|shape| &shape.name[..]);
        shapes().find(|other| plain(name).ends_with("mouthclose") && plain(other).ends_with("jawopen"))
    }
}

impl Textures {
    /// The textures of a rig made by code or read from glTF; other formats have none.
    fn of(rig: &Rig) -> anyhow::Result<Self> {
        match &rig.source {
            Source::Generated { texture: Some(png) } => {
                let whole = |mesh: &RigMesh| vec![(0..mesh.faces.triangle_count(), Some(0))];
                Ok(Self { images: vec![Image::from_png(png)?], runs: rig.meshes.iter().map(whole).collect() })
            }
            Source::Gltf(document) => Self::of_document(document),
            _ => Ok(Self { images: Vec::new(), runs: Vec::new() }),
        }
    }

    /// The runs of a mesh. One that was added to a file's own meshes, or changed since, is plain.
    fn runs_of(&self, index: usize, mesh: &RigMesh) -> Vec<Run> {
        let count = mesh.faces.triangle_count();
        let known = self.runs.get(index).filter(|runs| runs.last().is_some_and(|run| run.0.end == count));
        known.cloned().unwrap_or_else(|| vec![(0..count, None)])
    }

    /// Images of opaque materials. Others are left plain: without its alpha, an image of lashes is a black strip.
    fn of_document(document: &Document) -> anyhow::Result<Self> {
        let mut images = Vec::new();
        let mut of_material = Vec::new();
        for color in base_colors(document) {
            // A texture that cannot be read is no reason to draw nothing.
            let image = color.filter(|color| color.opaque).and_then(|color| Image::decode(&color.image).ok());
            of_material.push(image.map(|image| {
                images.push(image);
                images.len() - 1
            }));
        }
        let ranges = material_ranges(document, &Limits::default())?;
        let image = |material: Option<usize>| of_material.get(material?).copied().flatten();
        let runs = ranges
            .into_iter()
            .map(|ranges| ranges.into_iter().map(|range| (range.triangles, image(range.material))).collect());
        Ok(Self { runs: runs.collect(), images })
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

/// Splits the triangles of a mesh by texture, and by its named regions if it has any.
fn pieces(mesh: &RigMesh, runs: &[Run]) -> Vec<Piece> {
    let triangles = mesh.faces.triangles();
    let corners: Vec<[u32; 3]> = match mesh.uvs.as_ref().and_then(|uvs| uvs.corners.as_ref()) {
        Some(corners) => {
            (0..mesh.faces.len()).flat_map(|face| fan(&corners[mesh.faces.range(face)])).collect()
        }
        None => triangles.clone(),
    };
    let piece = |name: &str, run: &Run, inside: &dyn Fn(&[u32; 3]) -> bool| {
        let both = triangles.iter().zip(&corners).skip(run.0.start).take(run.0.len());
        let (triangles, corners) = both.filter(|(triangle, _)| inside(triangle)).unzip();
        Piece { part: Part::named(name), image: run.1, triangles, corners }
    };
    if mesh.regions.is_empty() {
        return runs.iter().map(|run| piece(&mesh.name, run, &|_| true)).collect();
    }
    let of_region = |region: &Region| {
        let inside = |triangle: &[u32; 3]| region.vertices.contains(&(triangle[0] as usize));
        runs.iter().map(|run| piece(&region.name, run, &inside)).collect::<Vec<_>>()
    };
    mesh.regions.iter().flat_map(of_region).collect()
}

/// Half the angle that an iris and a pupil subtend at the eye's centre, in degrees: a life-size iris is 12 mm wide, on an eye of 24.
const IRIS: f32 = 30.0;
const PUPIL: f32 = 12.0;

impl Piece {
    /// Splits eyes into white, iris and pupil, so that their gaze shows without a texture: to the front at rest.
    fn with_iris(self, positions: &[Vec3]) -> Vec<Piece> {
        let used = self.triangles.iter().flatten().map(|v| positions[*v as usize]);
        let plain_eye = self.part == Part::Eye && self.image.is_none();
        let Some(both) = Bounds::of(used.clone()).filter(|_| plain_eye) else {
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
            Piece { part: wanted, image: None, triangles, corners }
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
        let piece =
            |part| Piece { part, image: None, corners: triangles.clone(), triangles: triangles.clone() };
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
    fn meshes_that_the_file_does_not_have_are_plain() {
        let rig = zygoma_head::Head::new(&zygoma_head::HeadOptions::default()).rig_with_texture(None);
        let mesh = rig.skin();
        let count = mesh.faces.triangle_count();
        let textures = Textures { images: Vec::new(), runs: vec![vec![(0..count, Some(0))]] };
        assert_eq!(textures.runs_of(0, mesh), [(0..count, Some(0))]);
        assert_eq!(textures.runs_of(1, mesh), [(0..count, None)]);
        let fewer = Textures { images: Vec::new(), runs: vec![vec![(0..count - 1, Some(0))]] };
        assert_eq!(fewer.runs_of(0, mesh), [(0..count, None)]);
    }

    #[test]
    fn a_closed_mouth_is_drawn_over_an_open_jaw() {
        let rig = zygoma_head::Head::new(&zygoma_head::HeadOptions::default()).rig_with_texture(None);
        let portrait = Portrait::new(&rig).unwrap();
        assert_eq!(portrait.opened_below("mouthClose"), Some("jawOpen"));
        assert_eq!(portrait.opened_below("mouthPucker"), None);
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
