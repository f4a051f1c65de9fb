//! The built command as its users meet it, and the project's promises about itself.

mod anatomical;
mod avatar;
mod cli;
#[path = "../../../zygoma-view/tests/server/dome.rs"]
mod dome;
mod files;
mod hands;
mod hostile;
mod numbers;
mod programs;
mod project;
mod retarget;
mod simulate;
mod support;
mod tissue;
