//! zygoma-head
