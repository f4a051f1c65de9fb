//! live_link
