//! Stored assets are what the code makes: whoever changes the sculpture bakes it again.

/// Coordinates and weights are stored in small steps, and may round to the next one.
const ROUNDING: u32 = 1;

fn words(bytes: &[u8]) -> Vec<i32> {
    let (words, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "assets consist of whole words");
    words.iter().copied().map(i32::from_le_bytes).collect()
}

/// Compares an asset with a new one.
fn assert_fresh(name: &str, stored: &[u8], made: &[u8], example: &str) {
    let (stored, made) = (words(stored), words(made));
    let difference = |(a, b): (&i32, &i32)| a.abs_diff(*b);
    let differing = stored.iter().zip(&made).filter(|pair| difference(*pair) > 0).count();
    let most = stored.iter().zip(&made).map(difference).max().unwrap_or_default();
    println!(
        "{name}: {} words stored, {} made; {differing} differ, by {most} at most",
        stored.len(),
        made.len()
    );
    assert!(
        stored.len() == made.len() && most <= ROUNDING,
        "assets/{name} is stale: run cargo run --release -p zygoma-head --example {example}"
    );
}

#[test]
fn the_stored_template_is_the_sculpted_one() {
    let stored = include_bytes!("../assets/template.bin");
    assert_fresh("template.bin", stored, &zygoma_head::bake(), "bake");
}

/// Meshing is compared only by `cargo run --release -p zygoma-head --example bake_anatomy -- --check`, which takes minutes.
#[test]
fn the_stored_anatomy_was_sculpted_from_these_fields() {
    let stored = include_bytes!("../assets/anatomy_fingerprint.bin");
    let made = zygoma_head::anatomy::fingerprint(include_bytes!("../assets/anatomy.bin"));
    assert_fresh("anatomy.bin", stored, &made, "bake_anatomy");
}
