//! glTF in and out: hand-made documents for every feature, files that nobody here made, and bad input.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail too")]

mod animations;
mod avatars;
mod bad_input;
mod compressed;
mod export;
mod fuzz;
mod geometry;
mod look;
mod real;
mod support;
