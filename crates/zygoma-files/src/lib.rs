//! **How are files read and written?**
//!
//! Every file that zygoma opens goes through here, so that one policy holds for all of them:
//!
//! - [`read`] takes regular files only, up to a number of bytes; a pipe or a device is refused and never waited for.
//! - [`OutputFile`] and [`OutputFolder`] appear whole or not at all: they are written under a temporary name that cannot be guessed,
//!   synced, and renamed. [`abandon_outputs`] removes unfinished outputs; a later run removes those of a killed one.
//! - [`Plan`] names the inputs and outputs of a command. No output may replace an input, a device or a pipe.
//!
//! ```
//! # fn main() -> zygoma_files::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! let path = folder.path().join("weights.csv");
//! zygoma_files::write(&path, b"time,jawOpen\n0,1\n")?;
//! assert_eq!(zygoma_files::read_text(&path, 1 << 20)?, "time,jawOpen\n0,1\n");
//! # Ok(())
//! # }
//! ```

mod error;
mod folder;
mod identity;
mod input;
mod output;
mod place;
mod plan;
mod temporary;

pub use error::{Error, Result};
pub use folder::{OutputFolder, create_folder};
pub use input::{read, read_beside, read_own, read_text, starts_with};
pub use output::{OutputFile, write};
pub use place::{check_room, folder_of};
pub use plan::{OutputKind, Plan};
pub use temporary::abandon_outputs;
