//! zygoma-numerics
