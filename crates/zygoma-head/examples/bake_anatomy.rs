//! Sculpts the template's anatomy again and keeps it in `assets/anatomy.bin`, with `assets/anatomy_fingerprint.bin`, by which a test
//! finds out quickly that it is stale.

use std::path::Path;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let start = Instant::now();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let bytes =
        zygoma_head::anatomy::bake(|step| println!("{:6.1} s  {step}", start.elapsed().as_secs_f64()));
    println!("{:6.1} s  {} kB", start.elapsed().as_secs_f64(), bytes.len() / 1024);
    std::fs::write(assets.join("anatomy_fingerprint.bin"), zygoma_head::anatomy::fingerprint(&bytes))?;
    std::fs::write(assets.join("anatomy.bin"), bytes)
}
