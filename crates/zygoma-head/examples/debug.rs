//! x
fn main() { for l in [zygoma_head::Level::Low, zygoma_head::Level::Middle, zygoma_head::Level::High] { zygoma_head::debug(l) } }
