//! Sculpts the template's anatomy again and keeps it in `assets/anatomy.bin`.

use std::path::Path;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let start = Instant::now();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/anatomy.bin");
    let bytes =
        zygoma_head::anatomy::bake(|step| println!("{:6.1} s  {step}", start.elapsed().as_secs_f64()));
    println!("{:6.1} s  {} kB", start.elapsed().as_secs_f64(), bytes.len() / 1024);
    std::fs::write(&path, bytes)
}
