//! Third-party rigs.

use zygoma_rig::Rig;
use zygoma_rig::formats::{Limits, read_rig};
use zygoma_testing::real_data;

/// The rigs beside the checkout; prints which are absent.
pub(crate) fn other_rigs() -> Vec<Rig> {
    let paths = ["rigs/facecap.glb", "ict/FaceXModel"].into_iter().filter_map(real_data);
    paths.map(|path| read_rig(&path, &Limits::default()).expect("the rig can be read")).collect()
}
