//! Rigs that nobody made for these tests.

use std::path::Path;

use zygoma_rig::Rig;
use zygoma_rig::formats::{Limits, read_rig};

/// The rigs beside the checkout; says which are not there.
pub(crate) fn other_rigs() -> Vec<Rig> {
    let data = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let mut rigs = Vec::new();
    for path in ["rigs/facecap.glb", "ict/FaceXModel"] {
        let path = data.join(path);
        if path.exists() {
            rigs.push(read_rig(&path, &Limits::default()).expect("the rig can be read"));
        } else {
            println!("skipped: {} is not here", path.display());
        }
    }
    rigs
}
