//! The files that rigs and takes live in. Each module knows one format and nothing of the others.

pub mod caches;
pub mod gltf;
pub mod ict;
mod limits;
pub mod live_link;
pub mod obj;
pub mod plain_csv;
pub mod usda;

pub use limits::Limits;
