//! The built command as its users meet it, and the project's promises about itself.

mod avatar;
mod cli;
mod perform;
mod programs;
mod project;
mod simulate;
mod support;
