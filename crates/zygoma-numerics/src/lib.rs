//! **How is it solved?**
//!
//! Sparse factors and the other numerical tools of zygoma. Nothing here knows of meshes.

pub mod cholesky;
