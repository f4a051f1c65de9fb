//! Soundness of the rest volumes of single shapes: inverted elements, and intersections that the artist's skin does not have.

use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use zygoma_face::enriched::{Crossings, Enriched, EnrichedParams, Repaired, Soundness};
use zygoma_face::model::Continue;
use zygoma_face::tissue::{TissueInput, TissueVolume};
use zygoma_rig::binding::Binding;
use zygoma_rig::{Rig, Take};

use super::enriched::face_with_anatomy;

/// Frames per second at which a take is looked at.
const TAKE_FPS: f64 = 60.0;

/// The rest volumes of one rig.
#[derive(Serialize)]
pub(crate) struct VolumesReport {
    pub(crate) rig: String,
    pub(crate) nodes: usize,
    pub(crate) shapes: usize,
    /// Shapes with inverted elements, and how many elements.
    pub(crate) inverted: Vec<(String, usize)>,
    /// Smallest volume of an element over that in the neutral, and its shape.
    pub(crate) least_fullness: (f64, String),
    /// Pairs of triangles that cross more than in the neutral, summed over all shapes, and those of the artist's own skin at the same vertices.
    pub(crate) crossings: Crossings,
    pub(crate) artists_crossings: usize,
    /// Pairs in the neutral.
    pub(crate) neutral_crossings: Crossings,
    /// Shapes with more crossings than the neutral.
    pub(crate) crossing_shapes: Vec<(String, Crossings)>,
    /// Shapes whose skin crosses itself more than the artist's, and by how many pairs.
    pub(crate) beyond_artists: Vec<(String, usize)>,
    /// How much deeper a volume's skin is in the teeth than the artist's, at most, mm, and its shape.
    pub(crate) deeper_in_teeth_mm: (f64, String),
    pub(crate) volumes_seconds: f64,
    pub(crate) take: Option<TakeReport>,
    /// Largest distance of a volume's skin from the artist's, mm, and its shape.
    pub(crate) off_skin_mm: (f64, String),
}

/// Rest shapes of all frames of a take.
#[derive(Serialize)]
pub(crate) struct TakeReport {
    pub(crate) take: String,
    pub(crate) frames: usize,
    /// Frames in which the blend of sound shapes has inverted elements.
    pub(crate) inverted_frames: usize,
    /// Largest number of elements that are repaired in one frame.
    pub(crate) repaired: usize,
    /// Frames in which elements stay inverted, and the largest number of those in one frame.
    pub(crate) left_frames: usize,
    pub(crate) inverted_left: usize,
}

impl TakeReport {
    fn new(rig: &Rig, take: &Take, enriched: &Enriched) -> Self {
        let binding = Binding::new(rig, take);
        let frames = take.frame_count(TAKE_FPS);
        let repair = |frame: usize| {
            let mut weights = vec![0.0; rig.skin().shapes.len()];
            binding.weights_at(take, rig.skin, take.start() + frame as f64 / TAKE_FPS, &mut weights);
            enriched.repair_of(&weights)
        };
        let repairs: Vec<Repaired> = (0..frames).into_par_iter().map(repair).collect();
        let most = |count: fn(&Repaired) -> usize| repairs.iter().map(count).max().unwrap_or(0);
        Self {
            take: take.name.clone(),
            frames,
            inverted_frames: repairs.iter().filter(|repair| repair.inverted > 0).count(),
            repaired: most(|repair| repair.crushed),
            left_frames: repairs.iter().filter(|repair| repair.left > 0).count(),
            inverted_left: most(|repair| repair.left),
        }
    }
}

/// Looks at all single shapes of a rig, and at the frames of a take.
pub(crate) fn run(rig: &Rig, take: Option<&Take>) -> anyhow::Result<VolumesReport> {
    let face = face_with_anatomy(rig)?;
    let fill = TissueVolume::of_face(&face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
    let began = Instant::now();
    let enriched = Enriched::build(&input, &EnrichedParams::default(), &mut |_| Continue::Yes)?;
    let volumes_seconds = began.elapsed().as_secs_f64();
    let neutral = enriched.soundness(&face, None);
    let mut report = VolumesReport {
        rig: rig.name.clone(),
        nodes: enriched.node_count(),
        shapes: face.shapes.len(),
        inverted: Vec::new(),
        least_fullness: (1.0, String::new()),
        crossings: Crossings::default(),
        artists_crossings: 0,
        neutral_crossings: neutral.crossings,
        crossing_shapes: Vec::new(),
        beyond_artists: Vec::new(),
        deeper_in_teeth_mm: (0.0, String::new()),
        volumes_seconds,
        take: take.map(|take| TakeReport::new(rig, take, &enriched)),
        off_skin_mm: (0.0, String::new()),
    };
    for (index, shape) in face.shapes.iter().enumerate() {
        report.add(&shape.name, &neutral, &enriched.soundness(&face, Some(index)));
    }
    Ok(report)
}

impl VolumesReport {
    fn add(&mut self, shape: &str, neutral: &Soundness, found: &Soundness) {
        if found.inverted > 0 {
            self.inverted.push((shape.to_owned(), found.inverted));
        }
        if found.least_fullness < self.least_fullness.0 {
            self.least_fullness = (found.least_fullness, shape.to_owned());
        }
        let off = 1e3 * found.off_skin;
        if off > self.off_skin_mm.0 {
            self.off_skin_mm = (off, shape.to_owned());
        }
        let deeper = 1e3 * found.deeper_in_teeth;
        if deeper > self.deeper_in_teeth_mm.0 {
            self.deeper_in_teeth_mm = (deeper, shape.to_owned());
        }
        let mut more = Crossings::default();
        more.add_more(&found.crossings, &neutral.crossings);
        let own = found.artists_crossings.max(neutral.crossings.skin);
        if found.crossings.skin > own {
            self.beyond_artists.push((shape.to_owned(), found.crossings.skin - own));
        }
        if more != Crossings::default() {
            self.crossing_shapes.push((shape.to_owned(), more));
        }
        self.crossings.add_more(&more, &Crossings::default());
        self.artists_crossings += found.artists_crossings.saturating_sub(neutral.artists_crossings);
    }

    /// The report in a line.
    pub(crate) fn line(&self) -> String {
        let list = |counts: &[(String, usize)]| match counts {
            [] => "none".to_owned(),
            _ => counts.iter().map(|(shape, n)| format!("{shape} {n}")).collect::<Vec<_>>().join(", "),
        };
        let take = self.take.as_ref().map_or_else(String::new, |take| {
            format!(
                "; {}: {} of {} frames invert elements, up to {} are repaired, {} stay inverted (in {} frames)",
                take.take, take.inverted_frames, take.frames, take.repaired, take.inverted_left, take.left_frames
            )
        });
        format!(
            "{}: {} nodes, {} shapes in {:.1} s; inverted elements: {}; least volume {:.3} ({}); crossings of the skin {} (the artist's own {}; \
             beyond those: {}), of skin and bones {}, of bones {}, of linings with skin {}, with bones {} and with each other {}; skin up to {:.2} mm off ({}), {:.2} mm deeper in the teeth ({}){take}",
            self.rig,
            self.nodes,
            self.shapes,
            self.volumes_seconds,
            list(&self.inverted),
            self.least_fullness.0,
            self.least_fullness.1,
            self.crossings.skin,
            self.artists_crossings,
            list(&self.beyond_artists),
            self.crossings.skin_bone,
            self.crossings.bone,
            self.crossings.skin_lining,
            self.crossings.bone_lining,
            self.crossings.lining,
            self.off_skin_mm.0,
            self.off_skin_mm.1,
            self.deeper_in_teeth_mm.0,
            self.deeper_in_teeth_mm.1,
        )
    }
}
