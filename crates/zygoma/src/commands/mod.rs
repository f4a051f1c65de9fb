//! One module per command, and the code that they share.

pub(crate) mod anatomy;
pub(crate) mod animated;
pub(crate) mod bench;
pub(crate) mod build;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod correct;
pub(crate) mod demo;
pub(crate) mod head;
pub(crate) mod info;
pub(crate) mod input;
pub(crate) mod landmarks;
pub(crate) mod retarget;
pub(crate) mod samples;
pub(crate) mod simulate;
#[cfg(feature = "view")]
pub(crate) mod view;
