//! **What did the artist make?**
//!
//! A [`Rig`] is a neutral face with named blendshapes; a [`Take`] is weights (and head pose) over time.
//! [`formats`] reads them from the files that people have and writes results back. Nothing here knows of
//! physics.

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
pub mod take;
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
pub use take::Take;
