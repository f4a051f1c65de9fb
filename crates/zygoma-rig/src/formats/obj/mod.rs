//! OBJ files: a folder with a neutral and one file per blendshape, a single file, or one file per frame.
//!
//! A general OBJ loader (such as `tobj`) reorders vertices and cuts polygons into triangles; blendshapes in
//! separate files are tied together by nothing but their vertex order, so this reader keeps both.

mod names;
mod number;
mod parse;
mod read;
mod write;

pub use read::read_rig;
pub(crate) use read::{Neutral, ShapeFile, list_obj_files};
pub use write::{check_folder, write_rig, write_sequence};

/// First line of every OBJ file that zygoma writes; such files hold exact values.
const MARK: &str = "# zygoma OBJ: +Y up, face towards +Z";

/// Names the unit in the words that Maya uses, so that one reader serves both.
const METRES: &str = "# This file uses meters as units for non-parametric coordinates.";

/// Sub-folder for the meshes that are not the skin: `other/<mesh>.obj`, its shapes in `other/<mesh>/`.
const OTHER: &str = "other";
