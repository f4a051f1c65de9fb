//! caches
