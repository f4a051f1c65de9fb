//! ict
