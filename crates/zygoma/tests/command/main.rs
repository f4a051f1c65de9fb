//! The built command as its users meet it, and the project's promises about itself.

mod avatar;
mod cli;
#[path = "../../../zygoma-view/tests/server/dome.rs"]
mod dome;
mod files;
mod hostile;
mod numbers;
mod programs;
mod project;
mod simulate;
mod support;
mod tissue;
