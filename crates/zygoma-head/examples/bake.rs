//! Sculpts the template head again and keeps it in `assets/template.bin`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/template.bin");
    std::fs::write(&path, zygoma_head::bake())
}
