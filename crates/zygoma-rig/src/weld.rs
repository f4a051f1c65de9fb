//! weld
