//! zygoma-picture
