//! **What do users come for?**
//!
//! A [`model`] is a rig made ready for simulation. [`contact`] is what presses on it and pulls at it, whatever it is made of.
//! The bodies turn weights and touches into frames: a [`shell`] can be touched and pulled in real time, [`tissue`] is live flesh.
//! [`run`] watches how well they do.

pub mod body;
pub mod contact;
pub mod model;
pub mod run;
pub mod shell;
pub mod tissue;
