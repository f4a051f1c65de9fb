//! **How does soft matter move?**
//!
//! Energies with their derivatives, the equilibria that they lead to, and motion. Nothing here knows of faces.
//!
//! - [`projective`]: projective dynamics of solids, sheets and springs. A [`System`](projective::System) holds elements, one
//!   [`Energy`](projective::Energy) each; a [`Solver`](projective::Solver) finds equilibria, [`Dynamics`](projective::Dynamics) makes time steps.
//! - [`shell`]: a thin shell that is actuated towards a target. A [`Stepper`](shell::Stepper) makes time steps, an
//!   [`Equilibrium`](shell::Equilibrium) is static and has an adjoint.
//! - [`rebalanced`]: solids whose rest shape and material change without forces of their own.
//! - [`unfold`]: tetrahedral meshes bent to targets without inverted elements.
//! - [`contact`]: colliders and their signed distance.
//!
//! A weight on a spring:
//!
//! ```
//! use glam::DVec3;
//! use zygoma_physics::projective::{Elements, Length, Prefactored, SolveOptions, Solver, Stencil, System, row};
//!
//! let rest = [DVec3::new(0.0, -1.0, 0.0), DVec3::ZERO];
//! let mut system = System::<f64>::new(2, 1); // Two vertices; the first is free, the other fixed.
//! let edge = Stencil::edge(&rest, [0, 1]);
//! let mut springs = Elements::<f64, Length, 2, 1, 2>::new();
//! springs.push(&edge, Length { weight: 10.0, length: edge.size }); // 10 N/m
//! system.add(springs)?;
//! system.forces[0] = row(DVec3::new(0.0, -2.0, 0.0)); // 2 N
//!
//! let mut x = rest.map(row);
//! let mut global_step = Prefactored::<f64>::new(&system.matrix(&[]), &[])?;
//! let options = SolveOptions { iterations: 50, ..Default::default() };
//! Solver::new(&system).minimise(&system, None, &mut global_step, &options, &mut x);
//! assert!((x[0][1] + 1.2).abs() < 1e-9, "the spring is 0.2 m longer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod contact;
pub mod projective;
pub mod rebalanced;
pub mod shell;
pub mod unfold;
