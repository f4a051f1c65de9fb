//! Measures of a simulated face against the plain rig: distances, jumps, self-intersections and inverted elements.
//!
//! All lengths are reported at life size, in millimetres: a rig of any scale is measured as if its head were [`LIFE_HEIGHT`] tall.

mod crossings;
mod deviation;
mod folds;
mod gate;
mod lasting;
mod pops;
mod swing;

pub use crossings::Crossings;
pub use deviation::{Deviations, Peak};
pub use folds::folded;
pub use gate::{FARTHEST, Failure, Gate, GateReport, POP, Watched};
pub use lasting::Lasting;
pub use pops::Pops;
pub use swing::Swing;

/// The height of a life-size adult head from the crown to the underside of the chin, in metres.
pub const LIFE_HEIGHT: f64 = 0.24;

/// Frame rate at which accelerations are reported.
pub const REPORTED_FPS: f64 = 60.0;

/// Skin that is within this distance of the rig, mm at life size, crosses other skin by no more than can be seen. Ours.
pub const GRAZE: f32 = 0.1;

/// Millimetres at life size per metre of a model whose head is `height` metres tall.
pub fn life_mm(height: f64) -> f32 {
    (1e3 * LIFE_HEIGHT / height.max(1e-9)) as f32
}
