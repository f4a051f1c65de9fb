//! glTF 2.0 and GLB, with the compressions and extensions that avatars use.

mod document;

use std::path::Path;

pub use document::Document;

use crate::formats::Limits;
use crate::{Error, Result, Rig};

/// Reads a rig.
pub fn read_rig(path: &Path, _limits: &Limits) -> Result<Rig> {
    Err(Error::unsupported(path, "glTF is not read yet", "convert it to OBJ files"))
}
