//! Reads hands, and sums up what they did to a face.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use serde::Serialize;
use zygoma_face::run::{COLLISION, HandSummary, Hands, Outcome};
use zygoma_face::tissue::PublishedOptions;
use zygoma_hand::{CachedHand, HandMesh, HandTake, Side};

use crate::cli::{HandSurfaceArg, HandsMethodArg, HandsStepArg, SimulateArgs};

/// Reads the hands that touch a face, and their skins.
pub(super) fn read(args: &SimulateArgs) -> anyhow::Result<Hands> {
    let mut hands = Hands {
        press_with_skin: args.hand_surface == Some(HandSurfaceArg::Skin),
        skins: skins(&args.hand_meshes)?,
        ..Hands::default()
    };
    let is_table = |path: &Path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    match (&args.hands, &args.hand_cache) {
        (Some(mesh), Some(cache)) => {
            hands.cached.push(Arc::new(CachedHand::read(mesh, cache, args.performance.fps)?));
        }
        (Some(take), None) if is_table(take) => hands.take = HandTake::read(take)?,
        (Some(mesh), None) => {
            let mesh = mesh.display();
            bail!(
                "{mesh} is no CSV file of joints; a mesh also needs its vertices over time, as --hand-cache"
            );
        }
        (None, _) => {}
    }
    Ok(hands)
}

/// Options of the published method, if it is asked for.
pub(super) fn published(args: &SimulateArgs) -> Option<PublishedOptions> {
    let leaves_out = |step: HandsStepArg| args.hands_without.contains(&step);
    (args.hands_method == Some(HandsMethodArg::Published)).then(|| PublishedOptions {
        bones: args.hands_bones.unwrap_or(1.0),
        paths: !leaves_out(HandsStepArg::Paths),
        correction: !leaves_out(HandsStepArg::Correction),
    })
}

/// Reads skins of hands: at most one for each side. A missing one is the mirror image of the other.
fn skins(paths: &[std::path::PathBuf]) -> anyhow::Result<[Option<Arc<HandMesh>>; 2]> {
    let mut skins = [None, None];
    for path in paths {
        let (side, skin) = HandMesh::read(path)?;
        if skins[side as usize].replace(Arc::new(skin)).is_some() {
            bail!("{} is a second {} hand; give one of each side", path.display(), side.name());
        }
    }
    for [given, missing] in [[Side::Left, Side::Right], [Side::Right, Side::Left]] {
        if skins[missing as usize].is_none() {
            skins[missing as usize] =
                skins[given as usize].as_ref().map(|skin: &Arc<HandMesh>| Arc::new(skin.mirrored()));
        }
    }
    Ok(skins)
}

/// Hands on a face, as in NePHIM Table 3.
#[derive(Serialize)]
pub(super) struct HandsSummary {
    /// Number of hands and gestures.
    count: usize,
    /// Frames in which a hand holds skin.
    holding: usize,
    /// Depth from which on a vertex collides, mm.
    collision_mm: f64,
    #[serde(flatten)]
    measured: HandSummary,
}

impl HandsSummary {
    /// `None` if there is no hand.
    pub(super) fn new(outcome: &Outcome) -> Option<Self> {
        (!outcome.hands.is_empty()).then(|| Self {
            count: outcome.hands.len(),
            holding: outcome.hands.iter().map(|hand| hand.holding).sum(),
            collision_mm: 1e3 * f64::from(COLLISION),
            measured: HandSummary::new(outcome.hand_measures.iter()),
        })
    }

    pub(super) fn line(&self) -> String {
        let HandSummary { frames, touching, resolved_percent, tracked, simulated } = &self.measured;
        format!(
            "hands are there in {frames} frames and reach into the rig in {touching}, {:.1} mm deep on average; {resolved_percent:.0} % of these \
             are free of collisions except at bone, and on average {:.2} mm are left where it is not free ({:.2} mm at worst); skin is held in {} frames",
            tracked.depth_mm, simulated.depth_mm, simulated.deepest_mm, self.holding
        )
    }
}
