//! **What did the artist make?**
//!
//! A [`Rig`] is a neutral face with named blendshapes; a [`Take`] is weights (and head pose) over time.
//! [`formats`] reads them from the files that people have and writes results back. Nothing here knows of
//! physics.
//!
//! ```
//! use glam::{DAffine3, Vec3};
//! use zygoma_geometry::Faces;
//! use zygoma_rig::evaluate::Evaluator;
//! use zygoma_rig::{RigMesh, Shape, SparseDeltas};
//!
//! let open = SparseDeltas::from_dense(&[Vec3::ZERO, Vec3::ZERO, -Vec3::Y]);
//! let mesh = RigMesh {
//!     name: "skin".into(),
//!     positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y],
//!     faces: Faces::from_triangles(&[[0, 1, 2]]),
//!     uvs: None,
//!     shapes: vec![Shape { name: "jawOpen".into(), deltas: open }],
//!     regions: Vec::new(),
//!     to_rig: DAffine3::IDENTITY,
//!     quantum: 0.0,
//! };
//! let mut surface = mesh.positions.clone();
//! Evaluator::new(&mesh).evaluate(&[0.5], &mut surface);
//! assert_eq!(surface[2], 0.5 * Vec3::Y);
//! ```

pub mod arkit;
pub mod bake;
pub mod binding;
mod error;
pub mod evaluate;
pub mod follow;
pub mod formats;
pub mod frames;
pub mod gaze;
pub mod jaw;
pub mod name_map;
pub mod report;
mod rig;
pub mod skin;
pub mod suggest;
mod take;
#[cfg(test)]
mod test_rigs;
pub mod units;
pub mod up;
pub mod weld;

pub use error::{Error, Result};
pub use rig::{
    Carried, Expression, ExpressionBind, Joint, JointRole, Region, Rig, RigMesh, Shape, Source, SparseDeltas,
    Units, UvMap,
};
pub use take::{Interpolation, LargeWeight, MotionTrack, Take, WeightCurve, WeightTrack};
