//! **How does soft matter move?**
//!
//! Energies with their derivatives, and the equilibria they lead to. Nothing here knows of faces: a
//! [`shell::Shell`] is any thin skin that is pulled towards a target.

pub mod contact;
pub mod projective;
pub mod shell;
