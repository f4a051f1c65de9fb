//! The scene: surfaces and their paint.

use glam::{Vec2, Vec3};

use crate::Rgb;
use crate::camera::Bounds;
use crate::color::SKIN;
use crate::color_map::ColorMap;
use crate::image::Image;

/// The colour of a surface. Colours are display sRGB.
#[derive(Clone, Debug)]
pub enum Paint<'a> {
    /// One colour.
    Plain(Rgb),
    /// One colour per vertex.
    PerVertex(Vec<Rgb>),
    /// A quantity per vertex, shown by a colour map; a NaN is shown grey.
    Field {
        /// One value per vertex.
        values: Vec<f32>,
        /// The values at the ends of the map.
        range: [f32; 2],
        /// The colours.
        map: ColorMap,
    },
    /// A texture.
    Texture {
        /// The texture's image.
        image: &'a Image,
        /// Texture coordinates, (0, 0) at the top left and (1, 1) at the bottom right corner, as in glTF;
        /// the texture repeats outside.
        uvs: &'a [Vec2],
        /// For each triangle the entries of `uvs` at its corners; without it, `uvs` has one per vertex.
        corners: Option<&'a [[u32; 3]]>,
    },
}

/// How a surface reflects light.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// Soft, reddish subsurface scattering; a broad, faint gloss.
    Skin,
    /// Like clay or plaster: soft, without a hue of its own.
    Matte,
    /// Like eyes and teeth: matte under a clear, sharp gloss.
    Wet,
    /// Shaded just enough to read the shape, so that colours can be compared with a legend.
    Chart,
}

/// Lines drawn along the edges of triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wireframe {
    /// Colour of the lines.
    pub color: Rgb,
    /// Width of the lines in pixels.
    pub width: f32,
    /// Opacity of the lines, 0 to 1.
    pub opacity: f32,
}

impl Default for Wireframe {
    fn default() -> Self {
        Self { color: [0.10, 0.12, 0.16], width: 1.0, opacity: 0.7 }
    }
}

/// A triangle mesh with its paint. Triangles that are not finite, or that refer to missing vertices, are left out.
#[derive(Clone, Debug)]
pub struct Surface<'a> {
    /// Vertex positions.
    pub positions: &'a [Vec3],
    /// Corners of the triangles; both sides are drawn.
    pub triangles: &'a [[u32; 3]],
    /// Unit normals, one per vertex; without them (or with a wrong count) smooth ones are computed.
    pub normals: Option<&'a [Vec3]>,
    /// Colours.
    pub paint: Paint<'a>,
    /// Reflection of light.
    pub finish: Finish,
    /// 1 is opaque, 0 is invisible. Only the nearest layer of a translucent surface is drawn.
    pub opacity: f32,
    /// Lines along the edges.
    pub wireframe: Option<Wireframe>,
}

impl<'a> Surface<'a> {
    /// An opaque skin-coloured surface.
    pub fn new(positions: &'a [Vec3], triangles: &'a [[u32; 3]]) -> Self {
        Self {
            positions,
            triangles,
            normals: None,
            paint: Paint::Plain(SKIN),
            finish: Finish::Skin,
            opacity: 1.0,
            wireframe: None,
        }
    }

    /// The surface with another paint and finish.
    #[must_use]
    pub fn painted(self, paint: Paint<'a>, finish: Finish) -> Self {
        Self { paint, finish, ..self }
    }

    /// The surface showing a quantity per vertex.
    #[must_use]
    pub fn with_field(self, values: Vec<f32>, range: [f32; 2], map: ColorMap) -> Self {
        self.painted(Paint::Field { values, range, map }, Finish::Chart)
    }

    /// The surface with another opacity.
    #[must_use]
    pub fn with_opacity(self, opacity: f32) -> Self {
        Self { opacity, ..self }
    }

    /// The surface with lines along its edges.
    #[must_use]
    pub fn with_wireframe(self, wireframe: Wireframe) -> Self {
        Self { wireframe: Some(wireframe), ..self }
    }
}

/// Everything in a picture.
#[derive(Clone, Debug, Default)]
pub struct Scene<'a> {
    /// The surfaces, in any order.
    pub surfaces: Vec<Surface<'a>>,
}

impl<'a> Scene<'a> {
    /// A scene of some surfaces.
    pub fn new(surfaces: impl IntoIterator<Item = Surface<'a>>) -> Self {
        Self { surfaces: surfaces.into_iter().collect() }
    }

    /// The positions of all vertices that triangles use, some of them several times.
    pub fn points(&self) -> Vec<Vec3> {
        let used = |surface: &Surface<'a>| {
            let (positions, triangles) = (surface.positions, surface.triangles);
            triangles.as_flattened().iter().filter_map(move |v| positions.get(*v as usize).copied())
        };
        self.surfaces.iter().flat_map(used).collect()
    }

    /// The box around all finite vertices that triangles use, or `None` where nothing can be drawn.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(self.points())
    }
}

/// The background of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Background {
    /// From one colour in the middle to another at the corners.
    Gradient {
        /// Colour in the middle.
        middle: Rgb,
        /// Colour at the corners.
        corner: Rgb,
    },
    /// Nothing: the picture is transparent there.
    Transparent,
}

impl Background {
    /// One colour.
    pub fn plain(color: Rgb) -> Self {
        Self::Gradient { middle: color, corner: color }
    }
}

impl Default for Background {
    fn default() -> Self {
        Self::Gradient { middle: [0.935, 0.938, 0.945], corner: [0.77, 0.78, 0.80] }
    }
}

/// A plane that cuts the scene open: everything on the side of its normal is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// A point of the plane.
    pub point: Vec3,
    /// Direction of the part that is cut away.
    pub normal: Vec3,
}

/// Options for rendering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenderOptions {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Samples along each side of a pixel: 1 is jagged, 2 is smooth, 3 is smoother. At most 8.
    pub samples: usize,
    /// Strength of ambient occlusion, 0 to 1.
    pub occlusion: f32,
    /// Darkness of the main light's soft shadows, 0 to 1.
    pub shadow: f32,
    /// The background of the picture.
    pub background: Background,
    /// The plane that cuts the scene open, if any.
    pub cut: Option<Cut>,
}

impl RenderOptions {
    /// The default look at a size in pixels.
    pub fn sized(width: usize, height: usize) -> Self {
        Self { width, height, ..Self::default() }
    }

    /// Width over height, as cameras expect it.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height.max(1) as f32
    }
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            width: 800,
            height: 800,
            samples: 2,
            occlusion: 1.0,
            shadow: 0.75,
            background: Background::default(),
            cut: None,
        }
    }
}
