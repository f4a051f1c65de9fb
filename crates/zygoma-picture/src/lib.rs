//! **How is it drawn without a window?**
//!
//! A small software renderer for the pictures in reports, and the reports themselves. It knows geometry only.
//! A [`Scene`] of [`Surface`]s is [`render`]ed from a [`Camera`] into an [`Image`]; a [`ColorMap`] shows
//! quantities and a [`Legend`] explains it; pictures are gathered on sheets by [`grid`], curves drawn by a
//! [`Chart`], and all of them gathered in a [`Report`].
//!
//! ```
//! use glam::Vec3;
//! use zygoma_picture::{Camera, Lens, RenderOptions, Scene, Surface, render};
//!
//! # fn main() -> Result<(), zygoma_picture::Error> {
//! let positions = [Vec3::new(-1.0, -1.0, 0.0), Vec3::new(1.0, -1.0, 0.0), Vec3::Y];
//! let scene = Scene::new([Surface::new(&positions, &[[0, 1, 2]])]);
//! let lens = Lens::Orthographic { height: 3.0 };
//! let camera = Camera { eye: 5.0 * Vec3::Z, target: Vec3::ZERO, up: Vec3::Y, lens };
//! let image = render(&scene, &camera, &RenderOptions::sized(64, 48))?;
//! assert_eq!((image.width(), image.height()), (64, 48));
//! assert!(!image.to_png()?.is_empty());
//! # Ok(())
//! # }
//! ```

mod camera;
mod chart;
mod clip;
pub mod color;
mod color_map;
mod decode;
mod error;
mod geometry;
mod image;
mod legend;
mod project;
mod raster;
mod render;
mod report;
mod scene;
mod shade;
mod sheet;
mod soften;
mod text;
mod ticks;

pub use camera::{Bounds, Camera, Lens, View};
pub use chart::{Chart, Line, Scale};
pub use clip::Clip;
pub use color_map::{ColorMap, UNKNOWN, lightness};
pub use error::{Error, Result};
pub use image::Image;
pub use legend::Legend;
pub use render::render;
pub use report::{Report, escape};
pub use scene::{Background, Cut, Finish, Paint, RenderOptions, Scene, Surface, Wireframe};
pub use sheet::{grid, side_by_side, titled};
pub use text::{TextSize, TextStyle};
pub use ticks::{Tick, log_ticks, ticks};

/// A colour as seen on a display: sRGB, each channel from 0 to 1.
pub type Rgb = [f32; 3];
