//! The report of an enriched face: how far its tissue swings, where and when.

use std::path::Path;

use zygoma_face::body::Body;
use zygoma_face::enriched::EnrichedBody;
use zygoma_face::model::{FaceModel, Landmark, Landmarks};
use zygoma_face::run::Performed;
use zygoma_picture::{Chart, Line, Report, Scale, View};
use zygoma_rig::frames::Frames;

use super::fields::Field;
use super::simulation::ReportInput;

/// Pixels of one picture.
const SIZE: usize = 360;

/// Places with a line in the chart: those that move most.
const LINES: usize = 6;

/// Iterations of the solves and displacements of the skin, frame by frame.
#[derive(Default)]
pub(crate) struct EnrichedLog {
    pub(crate) iterations: Vec<[usize; 2]>,
    pub(crate) places: Vec<PlaceLog>,
    /// The largest displacement of each vertex, m.
    most: Vec<f32>,
}

/// The displacement of a landmark from the rig.
pub(crate) struct PlaceLog {
    pub(crate) name: String,
    vertex: u32,
    /// In each frame, m.
    displacements: Vec<f32>,
}

impl PlaceLog {
    /// The largest displacement, m.
    pub(crate) fn most(&self) -> f32 {
        self.displacements.iter().copied().fold(0.0, f32::max)
    }
}

impl EnrichedLog {
    /// Watches some landmarks.
    pub(crate) fn new(landmarks: &Landmarks) -> Self {
        let place = |mark: &Landmark| PlaceLog {
            name: mark.name.clone(),
            vertex: mark.vertex,
            displacements: Vec::new(),
        };
        Self { places: landmarks.iter().map(place).collect(), ..Self::default() }
    }

    /// Records a frame of an enriched face; ignores other bodies.
    pub(crate) fn note(&mut self, body: &dyn Body, frame: &Performed<'_>) {
        let Some(body) = body.downcast_ref::<EnrichedBody>() else { return };
        self.iterations.push(body.iterations());
        let displaced = |v: usize| frame.shown[v].distance(frame.plain[v]);
        for place in &mut self.places {
            place.displacements.push(displaced(place.vertex as usize));
        }
        self.most.resize(frame.shown.len(), 0.0);
        self.most.iter_mut().enumerate().for_each(|(v, most)| *most = most.max(displaced(v)));
    }
}

/// Writes the page to a folder.
pub(crate) fn write(
    folder: &Path,
    input: &ReportInput,
    log: &EnrichedLog,
    lines: &[String],
) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let mut page = Report::new(&format!("zygoma simulate: {} performs {}", input.face.name, input.take.name));
    page.list(lines);
    input.add_worst(&mut page)?;
    input.add_touches(&mut page)?;
    add_displacements(&mut page, input, log);
    add_map(&mut page, input.face, log)?;
    input.add_deviation(&mut page);
    input.add_key_frames(&mut page)?;
    page.save(&folder.join("report.html"))?;
    Ok(())
}

/// The displacement of the places that move most, over time.
fn add_displacements(page: &mut Report, input: &ReportInput, log: &EnrichedLog) {
    let fps = input.outcome.frames.fps();
    let mut places: Vec<&PlaceLog> = log.places.iter().collect();
    places.sort_by(|a, b| b.most().total_cmp(&a.most()));
    let line = |place: &&PlaceLog| Line {
        name: place.name.clone(),
        points: (0..)
            .zip(&place.displacements)
            .map(|(frame, d)| [f64::from(frame) / fps, 1e3 * f64::from(*d)])
            .collect(),
    };
    page.section("Secondary motion").chart(
        &Chart {
            title: "Displacement from the artist's surface".into(),
            x_label: "seconds".into(),
            y_label: "mm".into(),
            lines: places.iter().take(LINES).map(line).collect(),
            ..Chart::default()
        },
        "At the landmarks that move most. Where nothing pushes, it is 0.",
    );
}

/// The largest displacement of every vertex, on the neutral (as in Blendvolumes Fig. 8).
fn add_map(page: &mut Report, face: &FaceModel, log: &EnrichedLog) -> anyhow::Result<()> {
    let values: Vec<f32> = log.most.iter().map(|most| 1e3 * most).collect();
    if values.len() != face.vertex_count() {
        return Ok(());
    }
    let field = Field { values, title: "displacement", unit: "mm", scale: Scale::Linear };
    let views = [View::FRONT, View::THREE_QUARTER, View::SIDE];
    let picture = field.draw(&face.neutral, &face.triangles, &views, SIZE)?;
    page.figure(&picture, "The largest displacement of each vertex, on the neutral.")?;
    Ok(())
}
