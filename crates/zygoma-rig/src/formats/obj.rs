//! obj
