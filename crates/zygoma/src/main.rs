//! The `zygoma` command.
fn main() {}
