//! Sculpts the template's anatomy again and keeps it in `assets/anatomy.bin`, with `assets/anatomy_fingerprint.bin`, by which a test
//! finds out quickly that it is stale. With `--check` nothing is written: it says how many words differ, meshing included.

use std::path::Path;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let start = Instant::now();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let bytes =
        zygoma_head::anatomy::bake(|step| println!("{:6.1} s  {step}", start.elapsed().as_secs_f64()));
    println!("{:6.1} s  {} kB", start.elapsed().as_secs_f64(), bytes.len() / 1024);
    if std::env::args().any(|argument| argument == "--check") {
        return compare(&std::fs::read(assets.join("anatomy.bin"))?, &bytes);
    }
    std::fs::write(assets.join("anatomy_fingerprint.bin"), zygoma_head::anatomy::fingerprint(&bytes))?;
    std::fs::write(assets.join("anatomy.bin"), bytes)
}

/// An error if the stored bytes are not the made ones.
fn compare(stored: &[u8], made: &[u8]) -> std::io::Result<()> {
    let differing = stored.chunks(4).zip(made.chunks(4)).filter(|(stored, made)| stored != made).count();
    println!("{differing} of {} words differ", made.len() / 4);
    if stored == made { Ok(()) } else { Err(std::io::Error::other("assets/anatomy.bin is stale")) }
}
