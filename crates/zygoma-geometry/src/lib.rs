//! **What is a surface, and how do surfaces correspond?**
//!
//! Meshes as plain slices: positions are [`glam::DVec3`] where something is fitted and [`glam::Vec3`]
//! where it runs per frame, triangles are `[u32; 3]`, polygons are [`Faces`]. Nothing here knows of rigs
//! or physics.

pub mod closest;
pub mod coarsen;
pub mod curve;
pub mod cut;
pub mod deformation;
mod editable;
pub mod embedding;
mod faces;
pub mod geodesic;
pub mod icp;
pub mod intersect;
pub mod laplacian;
pub mod normals;
pub mod rbf;
pub mod remesh;
pub mod rigid;
pub mod shapes;
pub mod similarity;
pub mod surface_search;
pub mod tets;
pub mod topology;
pub mod triangle_tree;

pub use faces::Faces;
