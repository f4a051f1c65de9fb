//! **What is a surface, what is a volume, and how do they correspond?**
//!
//! Nothing here knows of rigs or physics. Positions are [`glam::DVec3`] where something is fitted and [`glam::Vec3`] where it runs per frame; most
//! functions take slices of positions and triangles (`[u32; 3]`).
//!
//! - [`TriMesh`], [`TetMesh`](tets::TetMesh) and [`Faces`] (polygons) own meshes; [`check_mesh`] checks arrays from outside.
//! - [`closest`]: closest points and rays on a surface that may deform, and the signed distance to a closed one.
//! - [`implicit`] extracts meshes from fields; [`coarsen`] and [`remesh`] make new ones; [`embedding`] makes a fine mesh follow a coarse one.
//! - [`topology`], [`normals`], [`laplacian`], [`geodesic`], [`intersect`] measure meshes; [`rigid`] fits motions.
//!
//! The distance of a point from a deforming ball:
//!
//! ```
//! use glam::Vec3;
//! use zygoma_geometry::closest::SignedSurface;
//! use zygoma_geometry::{TriMesh, shapes};
//!
//! let (positions, triangles) = shapes::sphere(32, 48);
//! let mut ball = SignedSurface::new(TriMesh::new(positions.clone(), triangles)?)?;
//! let nearest = ball.closest(Vec3::new(0.0, 1.5, 0.0), 1.0).expect("within 1 m");
//! assert!((nearest.signed_distance - 0.5).abs() < 1e-3 && nearest.normal.y > 0.99);
//!
//! let grown: Vec<Vec3> = positions.iter().map(|p| 2.0 * *p).collect();
//! ball.deform(&grown)?;
//! assert!(ball.closest(Vec3::new(0.0, 1.5, 0.0), 1.0).expect("inside").signed_distance < 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod implicit;
pub mod intersect;
pub mod laplacian;
pub mod normals;
pub mod patches;
mod point;
pub mod rbf;
pub mod remesh;
pub mod rigid;
pub mod shapes;
pub mod similarity;
pub mod tets;
pub mod topology;
mod tri_mesh;

pub use faces::Faces;
pub use point::{Point, Scalar};
pub use tri_mesh::{TriMesh, TriMeshError, check_mesh};
