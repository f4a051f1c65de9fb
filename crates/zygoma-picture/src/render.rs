//! Renders a scene to a picture.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::camera::{Bounds, Camera, Lens};
use crate::color::{UNKNOWN_LIGHT, linear_from_srgb, to_bytes, to_linear, to_srgb};
use crate::color_map::place_of;
use crate::error::{Error, Result};
use crate::geometry::{Geometry, Hit};
use crate::image::{Image, MOST_PIXELS};
use crate::project::Projection;
use crate::raster::{HalfSpace, Visibility};
use crate::scene::{Background, Paint, RenderOptions, Scene, Surface, Wireframe};
use crate::shade::{KEY_FROM, Lit, shade};
use crate::soften::{Arrival, Arrivals, Gather, ShadowMap};

/// Entries of a colour map's lookup table.
const TABLE: usize = 1024;
/// Samples along a side of the shadow map.
const SHADOW_SIZE: usize = 1024;
/// Penumbra and the two radii of ambient occlusion, as fractions of the scene's diagonal. Chosen by eye on heads: eye
/// sockets and the neck below the chin for the wide one, lips and lids for the narrow one.
const PENUMBRA: f32 = 0.018;
const HOLLOWS: [f32; 2] = [0.12, 0.03];

/// Draws a scene as a camera sees it.
///
/// The picture is the same, byte for byte, for any number of threads. Anything that cannot be drawn (corners that
/// are not finite or do not exist, triangles without area) is left out.
///
/// ```
/// use glam::Vec3;
/// use zygoma_picture::{Camera, RenderOptions, Scene, Surface, View, render};
///
/// let positions = [Vec3::ZERO, Vec3::X, Vec3::Y];
/// let scene = Scene::new([Surface::new(&positions, &[[0, 1, 2]])]);
/// let options = RenderOptions::sized(64, 64);
/// let bounds = scene.bounds().expect("the triangle is finite");
/// let camera = Camera::framing(View::FRONT, &bounds, options.aspect());
/// let image = render(&scene, &camera, &options)?;
/// assert_eq!(image.width(), 64);
/// # Ok::<(), zygoma_picture::Error>(())
/// ```
pub fn render(scene: &Scene, camera: &Camera, options: &RenderOptions) -> Result<Image> {
    let samples = options.samples.clamp(1, 8);
    let (width, height) = (options.width.saturating_mul(samples), options.height.saturating_mul(samples));
    if width.checked_mul(height).is_none_or(|count| count > MOST_PIXELS) {
        return Err(Error::TooLarge { width, height, most: MOST_PIXELS });
    }
    if width == 0 || height == 0 {
        return Ok(Image::transparent(options.width, options.height));
    }
    let projection = Projection::new(camera, width, height);
    let geometry = Geometry::new(scene, projection);
    let kept = kept_space(projection, options);
    let draw = |surfaces: &dyn Fn(&Surface) -> bool, only: Option<usize>| {
        let seen = |t: &usize| {
            let surface = geometry.triangles[*t].surface as usize;
            only.is_none_or(|only| only == surface) && surfaces(&scene.surfaces[surface])
        };
        let all = only.map_or(0..geometry.triangles.len(), |s| {
            geometry.first_triangle[s]..geometry.first_triangle[s + 1]
        });
        Visibility::draw(&geometry, all.filter(seen), projection, [width, height], &kept)
    };
    let solid = draw(&|surface| surface.opacity >= 1.0, None);
    let is_veil =
        |s: &usize| (0.0..1.0).contains(&scene.surfaces[*s].opacity) && scene.surfaces[*s].opacity > 0.0;
    let veils = (0..scene.surfaces.len()).filter(is_veil).map(|s| draw(&|_| true, Some(s))).collect();

    let size = scene.bounds().map_or(1.0, |bounds| bounds.diagonal());
    let shadow = (options.shadow > 0.0).then(|| shadow_map(scene, projection, options, size)).flatten();
    let arrivals = Gather {
        geometry: &geometry,
        visibility: &solid,
        projection,
        samples,
        shadow: shadow.as_ref(),
        radii: HOLLOWS.map(|share| share * size),
    }
    .run();
    let tables = scene.surfaces.iter().map(color_table).collect();
    let painter =
        Painter { scene, geometry: &geometry, projection, samples, options, solid, veils, arrivals, tables };
    painter.picture()
}

/// The space in front of the near plane that is not cut away, in view coordinates.
fn kept_space(projection: Projection, options: &RenderOptions) -> Vec<HalfSpace> {
    let mut kept = Vec::new();
    if projection.near.is_finite() {
        kept.push(HalfSpace { normal: Vec3::Z, offset: -projection.near });
    }
    if let Some(cut) = options.cut
        && let Some(normal) = cut.normal.try_normalize()
    {
        let normal = projection.direction_to_view(normal);
        kept.push(HalfSpace { normal, offset: normal.dot(projection.to_view(cut.point)) });
    }
    kept
}

/// Renders the opaque surfaces from the key light.
fn shadow_map(scene: &Scene, eye: Projection, options: &RenderOptions, size: f32) -> Option<ShadowMap> {
    let bounds: Bounds = scene.bounds()?;
    let target = bounds.centre();
    let from = eye.direction_to_scene(KEY_FROM.normalize());
    let camera =
        Camera { eye: target + size * from, target, up: Vec3::Y, lens: Lens::Orthographic { height: size } };
    let projection = Projection::new(&camera, SHADOW_SIZE, SHADOW_SIZE);
    let geometry = Geometry::new(scene, projection);
    let solid = (0..geometry.triangles.len())
        .filter(|t| scene.surfaces[geometry.triangles[*t].surface as usize].opacity >= 1.0);
    let kept = kept_space(projection, options);
    let visibility = Visibility::draw(&geometry, solid, projection, [SHADOW_SIZE; 2], &kept);
    Some(ShadowMap { visibility, projection, softness: PENUMBRA * size })
}

fn color_table(surface: &Surface) -> Vec<Vec3> {
    match &surface.paint {
        Paint::Field { map, .. } => map.table(TABLE),
        Paint::PerVertex(colors) => colors.iter().map(|color| to_linear(*color)).collect(),
        Paint::Plain(color) => vec![to_linear(*color)],
        Paint::Texture { .. } => {
            (0..=255_u8).map(|byte| Vec3::splat(linear_from_srgb(f32::from(byte) / 255.0))).collect()
        }
    }
}

/// Everything needed to shade a sample.
struct Painter<'a> {
    scene: &'a Scene<'a>,
    geometry: &'a Geometry,
    projection: Projection,
    samples: usize,
    options: &'a RenderOptions,
    /// The opaque surfaces together.
    solid: Visibility,
    /// Each translucent surface separately.
    veils: Vec<Visibility>,
    arrivals: Arrivals,
    /// Linear colours of each surface's paint.
    tables: Vec<Vec<Vec3>>,
}

/// The last shaded triangle of the pixel, and its light.
#[derive(Default)]
struct Shaded(Option<(usize, Vec3)>);

impl Painter<'_> {
    fn picture(&self) -> Result<Image> {
        let (width, height) = (self.options.width, self.options.height);
        let mut pixels = vec![[0; 4]; width * height];
        pixels.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = self.pixel(x, y);
            }
        });
        Image::from_pixels(width, height, pixels)
    }

    /// The mean of a pixel's samples, in linear light.
    fn pixel(&self, x: usize, y: usize) -> [u8; 4] {
        let (mut light, mut opacity) = (Vec3::ZERO, 0.0);
        let mut shaded = Shaded::default();
        for sy in y * self.samples..(y + 1) * self.samples {
            for sx in x * self.samples..(x + 1) * self.samples {
                let (sample, covered) = self.sample(sx, sy, &mut shaded);
                light += sample;
                opacity += covered;
            }
        }
        let count = (self.samples * self.samples) as f32;
        let (light, opacity) = (light / count, opacity / count);
        let (light, opacity) = match self.background(x, y) {
            Some(behind) => (light + (1.0 - opacity) * behind, 1.0),
            None => (if opacity > 0.0 { light / opacity } else { light }, opacity),
        };
        let [r, g, b] = to_bytes(to_srgb(light));
        [r, g, b, (opacity * 255.0).round() as u8]
    }

    fn background(&self, x: usize, y: usize) -> Option<Vec3> {
        let Background::Gradient { middle, corner } = self.options.background else { return None };
        let half = 0.5 * Vec2::new(self.options.width as f32, self.options.height as f32);
        let place = (Vec2::new(x as f32 + 0.5, y as f32 + 0.5) - half) / half;
        let away = 0.5 * place.length_squared();
        Some(to_linear(middle).lerp(to_linear(corner), away.min(1.0)))
    }

    /// Light (premultiplied) and opacity of one sample.
    fn sample(&self, x: usize, y: usize, shaded: &mut Shaded) -> (Vec3, f32) {
        let place = y * self.solid.width + x;
        let behind = self.solid.nearness[place];
        let mut layers: Vec<(f32, usize)> = Vec::new();
        for veil in &self.veils {
            if let Some(triangle) = veil.triangle(x, y).filter(|_| veil.nearness[place] > behind) {
                layers.push((veil.nearness[place], triangle));
            }
        }
        let (mut light, mut covered) = (Vec3::ZERO, 0.0);
        if let Some(color) =
            self.solid.triangle(x, y).and_then(|triangle| self.color_once(triangle, x, y, shaded))
        {
            (light, covered) = (color, 1.0);
        }
        layers.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, triangle) in layers {
            let surface = self.geometry.triangles[triangle].surface as usize;
            let opacity = self.scene.surfaces[surface].opacity;
            if let Some(color) = self.color(triangle, x, y, false) {
                light = light.lerp(color, opacity);
                covered += opacity * (1.0 - covered);
            }
        }
        (light, covered)
    }

    /// Light from an opaque triangle at a sample. Where the paint has no detail finer than a triangle, all samples
    /// of a pixel on one triangle share their light: only outlines need several samples.
    fn color_once(&self, triangle: usize, x: usize, y: usize, shaded: &mut Shaded) -> Option<Vec3> {
        if let Some((last, light)) = shaded.0
            && last == triangle
        {
            return Some(light);
        }
        let light = self.color(triangle, x, y, true)?;
        let surface = &self.scene.surfaces[self.geometry.triangles[triangle].surface as usize];
        let is_plain = surface.wireframe.is_none() && !matches!(surface.paint, Paint::Texture { .. });
        shaded.0 = is_plain.then_some((triangle, light));
        Some(light)
    }

    /// Light from a triangle at a sample.
    fn color(&self, triangle: usize, x: usize, y: usize, solid: bool) -> Option<Vec3> {
        let (sx, sy) = (x as f32 + 0.5, y as f32 + 0.5);
        let hit = self.geometry.hit(self.projection, triangle, sx, sy)?;
        let surface_index = self.geometry.triangles[triangle].surface as usize;
        let surface = &self.scene.surfaces[surface_index];
        let depth = -hit.position.z;
        let arrival = if solid {
            let arrival = self.arrivals.at(x / self.samples, y / self.samples, depth);
            Arrival {
                ambient: 1.0 - self.options.occlusion * (1.0 - arrival.ambient),
                key: 1.0 - self.options.shadow * (1.0 - arrival.key),
                ..arrival
            }
        } else {
            Arrival { depth, ambient: 1.0, key: 1.0 }
        };
        let mut albedo = self.albedo(triangle, &hit);
        if let Some(wireframe) = &surface.wireframe {
            albedo = self.with_lines(albedo, wireframe, triangle, &hit);
        }
        // The inside of a surface is darkened like a cavity.
        let albedo = if hit.back { 0.7 * albedo } else { albedo };
        let to_eye = -self.projection.ray(sx, sy).1.normalize();
        let up = self.projection.direction_to_view(Vec3::Y);
        Some(shade(surface.finish, &Lit { albedo, normal: hit.normal, to_eye, up, arrival }))
    }

    /// Linear colour of the paint at a hit.
    fn albedo(&self, triangle: usize, hit: &Hit) -> Vec3 {
        let place = self.geometry.triangles[triangle];
        let surface = &self.scene.surfaces[place.surface as usize];
        let table = &self.tables[place.surface as usize];
        let vertices =
            place.corners.map(|v| (v - self.geometry.first_vertex[place.surface as usize]) as usize);
        let weights = hit.weights.to_array();
        match &surface.paint {
            Paint::Plain(_) => table[0],
            Paint::PerVertex(_) => {
                let corner = |i: usize| table.get(vertices[i]).copied().unwrap_or(UNKNOWN_LIGHT);
                (0..3).map(|i| corner(i) * weights[i]).sum()
            }
            Paint::Field { values, range, .. } => {
                let value = |i: usize| values.get(vertices[i]).copied().unwrap_or(f32::NAN);
                let along = place_of((0..3).map(|i| value(i) * weights[i]).sum(), *range);
                if along.is_nan() {
                    return UNKNOWN_LIGHT;
                }
                table[(along.clamp(0.0, 1.0) * (TABLE - 1) as f32).round() as usize]
            }
            Paint::Texture { image, uvs, corners } => {
                let own = vertices.map(|v| v as u32);
                let entries = corners.map_or(Some(own), |c| c.get(place.index as usize).copied());
                let uv = |entry: u32| uvs.get(entry as usize).copied().unwrap_or(Vec2::NAN);
                let uv = entries.map(|e| (0..3).map(|i| uv(e[i]) * weights[i]).sum::<Vec2>());
                uv.and_then(|uv| texel(image, uv, table)).unwrap_or(UNKNOWN_LIGHT)
            }
        }
    }

    /// Draws lines over the colour near the triangle's edges.
    fn with_lines(&self, albedo: Vec3, wireframe: &Wireframe, triangle: usize, hit: &Hit) -> Vec3 {
        let [a, b, c] = self.geometry.corners(triangle);
        let area = (b - a).cross(c - a).length();
        let pixel = self.projection.pixel_size(-hit.position.z) * self.samples as f32;
        let sides = [(c - b).length(), (a - c).length(), (b - a).length()];
        let distance = |i: usize| hit.weights[i] * area / sides[i].max(f32::MIN_POSITIVE) / pixel;
        let nearest = (0..3).map(distance).fold(f32::INFINITY, f32::min);
        // Half of a line lies in each of the two triangles; it fades over one pixel.
        let strength = (0.5 * wireframe.width + 0.5 - nearest).clamp(0.0, 1.0);
        albedo.lerp(to_linear(wireframe.color), strength * wireframe.opacity.clamp(0.0, 1.0))
    }
}

/// Bilinearly interpolated linear colour of a texture, which repeats.
fn texel(image: &Image, uv: Vec2, table: &[Vec3]) -> Option<Vec3> {
    if !uv.is_finite() || image.pixels().is_empty() {
        return None;
    }
    let (width, height) = (image.width(), image.height());
    let place = (uv - uv.floor()) * Vec2::new(width as f32, height as f32) - 0.5;
    let (left, top) = (place.x.floor(), place.y.floor());
    let at = |dx: i64, dy: i64| {
        let x = (left as i64 + dx).rem_euclid(width as i64) as usize;
        let y = (top as i64 + dy).rem_euclid(height as i64) as usize;
        let [r, g, b, _] = image.pixels()[y * width + x];
        Vec3::new(table[r as usize].x, table[g as usize].x, table[b as usize].x)
    };
    let (tx, ty) = (place.x - left, place.y - top);
    Some(at(0, 0).lerp(at(1, 0), tx).lerp(at(0, 1).lerp(at(1, 1), tx), ty))
}
