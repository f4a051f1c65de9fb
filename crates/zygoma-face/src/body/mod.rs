//! Everything that bodies share.

pub(crate) mod head_path;
