//! Soundness of the rest volumes of single shapes: inverted elements, and intersections that the artist's skin does not have.

use serde::Serialize;
use zygoma_face::enriched::{Enriched, EnrichedParams, Soundness};
use zygoma_face::model::Continue;
use zygoma_face::tissue::{TissueInput, TissueVolume};
use zygoma_rig::Rig;

use super::enriched::face_with_anatomy;

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
    /// Pairs of triangles that cross more than in the neutral, summed over all shapes: of the skin, beyond the artist's own, and of all else.
    pub(crate) skin_crossings: usize,
    pub(crate) artists_crossings: usize,
    pub(crate) other_crossings: usize,
    /// Largest distance of a volume's skin from the artist's, mm, and its shape.
    pub(crate) off_skin_mm: (f64, String),
}

/// Looks at all single shapes of a rig.
pub(crate) fn run(rig: &Rig) -> anyhow::Result<VolumesReport> {
    let face = face_with_anatomy(rig)?;
    let fill = TissueVolume::of_face(&face);
    let input = TissueInput { volume: fill.as_ref(), ..TissueInput::new(&face) };
    let enriched = Enriched::build(&input, &EnrichedParams::default(), &mut |_| Continue::Yes)?;
    let neutral = enriched.soundness(&face, None);
    let mut report = VolumesReport {
        rig: rig.name.clone(),
        nodes: enriched.node_count(),
        shapes: face.shapes.len(),
        inverted: Vec::new(),
        least_fullness: (1.0, String::new()),
        skin_crossings: 0,
        artists_crossings: 0,
        other_crossings: 0,
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
        self.skin_crossings += found.skin_crossings.saturating_sub(neutral.skin_crossings);
        self.artists_crossings += found.artists_crossings.saturating_sub(neutral.artists_crossings);
        self.other_crossings += found.other_crossings.saturating_sub(neutral.other_crossings);
    }

    /// The report in a line.
    pub(crate) fn line(&self) -> String {
        let inverted: Vec<String> =
            self.inverted.iter().map(|(shape, count)| format!("{shape} {count}")).collect();
        format!(
            "{}: {} nodes, {} shapes; inverted elements: {}; least volume {:.3} ({}); crossings of the skin {} (the artist's own {}), of all else {}; skin up to {:.2} mm off ({})",
            self.rig,
            self.nodes,
            self.shapes,
            if inverted.is_empty() { "none".into() } else { inverted.join(", ") },
            self.least_fullness.0,
            self.least_fullness.1,
            self.skin_crossings,
            self.artists_crossings,
            self.other_crossings,
            self.off_skin_mm.0,
            self.off_skin_mm.1
        )
    }
}
