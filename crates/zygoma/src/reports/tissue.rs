//! The report of tissue: its lips, its volume and its deviation from the rig.

use std::path::Path;

use glam::Vec3;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::tissue::{LipReport, MarkerMiss, TeethReport, Tissue, VolumeReport};
use zygoma_picture::{Bounds, Chart, Line, Report, Scale, View, grid};
use zygoma_rig::binding::Binding;
use zygoma_rig::frames::Frames;

use super::fields::{Field, on_mesh};
use super::simulation::ReportInput;
use crate::pictures::{Portrait, Shot};

/// Pixels of one picture of the mouth.
const SIZE: usize = 300;
/// Pixels of one picture of a map.
const MAP: usize = 420;
/// Number of pictures of the mouth.
const MOUTHS: usize = 6;
/// Half size of the close-up around the mouth, in heights.
const CLOSE: f32 = 0.16;

/// Records of tissue, frame by frame.
#[derive(Default)]
pub(crate) struct FrameLog {
    /// Pairs of crossing triangles between the lips, and those of the plain rig.
    pub(crate) crossings: Vec<[usize; 2]>,
    pub(crate) lips: Vec<LipReport>,
    /// Volume of the tissue, and the volume under the plain rig.
    pub(crate) volumes: Vec<[VolumeReport; 2]>,
    /// Whether the cheeks are puffed.
    pub(crate) puffed: Vec<bool>,
    /// The deepest penetration into the skin, m, and the force of all touches on the head, N.
    pub(crate) touches: Vec<[f32; 2]>,
    /// Contact between tissue and teeth.
    pub(crate) teeth: Vec<TeethReport>,
    /// Distances of the skin from its markers.
    pub(crate) misses: Vec<MarkerMiss>,
}

impl FrameLog {
    /// The largest force of all touches on the head, N.
    pub(crate) fn strongest(&self) -> f64 {
        f64::from(self.touches.iter().map(|touch| touch[1]).fold(0.0, f32::max))
    }
}

/// Writes the page to a folder.
pub(crate) fn write(
    folder: &Path,
    input: &ReportInput,
    log: &FrameLog,
    tissue: &Tissue,
    lines: &[String],
) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let mut page = Report::new(&format!("zygoma simulate: {} performs {}", input.face.name, input.take.name));
    page.list(lines);
    input.add_worst(&mut page)?;
    input.add_touches(&mut page)?;
    add_mouths(&mut page, input, log)?;
    add_curves(&mut page, input, log);
    input.add_deviation(&mut page);
    input.add_key_frames(&mut page)?;
    add_tissue(&mut page, input.face, tissue)?;
    page.save(&folder.join("report.html"))?;
    Ok(())
}

/// Adds maps of the tissue's thickness and stiffness.
fn add_tissue(page: &mut Report, face: &FaceModel, tissue: &Tissue) -> anyhow::Result<()> {
    page.section("Tissue");
    let mut add = |values: &[f64], title, unit, caption| -> anyhow::Result<()> {
        let scale = Scale::Linear;
        let field = Field { values: on_mesh(face, values, scale), title, unit, scale };
        let views = [View::FRONT, View::THREE_QUARTER, View::SIDE];
        page.figure(&field.draw(&face.neutral, &face.triangles, &views, MAP)?, caption)?;
        Ok(())
    };
    let millimetres: Vec<f64> = tissue.thickness().iter().map(|metres| 1e3 * metres).collect();
    add(&millimetres, "thickness", "mm", "Thickness of the tissue below the skin.")?;
    if tissue.stiffness_misfit().is_some() {
        let stiffness: Vec<[f64; 3]> = (0..millimetres.len()).map(|v| tissue.stiffness(v)).collect();
        for (k, (title, caption)) in [
            ("strain", "Resistance to strain that was found from the shapes, over the parameters'."),
            ("volume", "The same for the change of volume."),
            ("attachment", "The same for the attachment to the bone."),
        ]
        .into_iter()
        .enumerate()
        {
            let values: Vec<f64> = stiffness.iter().map(|found| found[k]).collect();
            add(&values, title, "×", caption)?;
        }
    }
    Ok(())
}

/// Adds pictures of the mouth where its lips part, or where it is busiest: most contacts, or most crossings of the plain rig.
fn add_mouths(page: &mut Report, input: &ReportInput, log: &FrameLog) -> anyhow::Result<()> {
    let busy = |frame: &usize| {
        let lips = &log.lips[*frame];
        lips.contacts + lips.sticky + log.crossings[*frame][1]
    };
    let count = log.lips.len();
    let fps = input.outcome.frames.fps();
    let apart = (0.1 * fps).round().max(1.0) as usize;
    // Frames in which sticky lips part are the interesting ones; without any, the busiest ones.
    let parting = |frame: &usize| {
        let later = (*frame + 2 * apart).min(count - 1);
        log.lips[*frame].sticky.saturating_sub(log.lips[later].sticky)
    };
    let parts = (0..count).max_by_key(parting).filter(|frame| parting(frame) > 0);
    let busiest = || (0..count).max_by_key(busy).filter(|frame| busy(frame) > 0);
    let Some(shown) = parts.or_else(busiest) else { return Ok(()) };
    let Some(mouth) = mouth(input) else { return Ok(()) };
    let first = shown.saturating_sub(apart);
    let frames: Vec<usize> = (0..MOUTHS).map(|i| (first + i * apart).min(count - 1)).collect();
    let portrait = Portrait::new(input.rig)?;
    let binding = Binding::new(input.rig, input.take);
    let around = Vec3::splat(CLOSE * input.face.height as f32);
    let focus = Some(Bounds { low: mouth - around, high: mouth + around });
    let mut rows = [Vec::new(), Vec::new()];
    for frame in frames {
        let seconds = frame as f64 / fps;
        let mut surfaces = portrait.at(&binding, input.take, input.take.start() + seconds);
        let view = View { yaw: 20.0, pitch: 5.0 };
        let shot =
            |surfaces: &[Vec<Vec3>]| portrait.shoot(&Shot { surfaces, props: &[], view, focus, size: SIZE });
        rows[1].push((shot(&surfaces)?, format!("plain rig, {} crossings", log.crossings[frame][1])));
        surfaces[input.rig.skin] = input.outcome.frames.frame(frame)?;
        let label = format!("{seconds:.2} s, {} springs", log.lips[frame].sticky);
        rows[0].push((shot(&surfaces)?, label));
    }
    page.section("Lips")
        .figure(&grid(&rows.concat(), MOUTHS), "The simulated mouth above, the plain rig below.")?;
    Ok(())
}

/// The middle of the mouth at rest.
fn mouth(input: &ReportInput) -> Option<Vec3> {
    let places = Landmarks::new(input.face);
    let at = |name: &str| {
        let place = places.iter().find(|place| place.name == name)?;
        Some(input.face.neutral[place.vertex as usize])
    };
    Some(0.5 * (at("mouth-left")? + at("mouth-right")?))
}

fn add_curves(page: &mut Report, input: &ReportInput, log: &FrameLog) {
    let fps = input.outcome.frames.fps();
    let line = |name: &str, value: &dyn Fn(usize) -> f64| Line {
        name: name.to_owned(),
        points: (0..log.lips.len()).map(|frame| [frame as f64 / fps, value(frame)]).collect(),
    };
    page.section("Between the lips").chart(
        &Chart {
            title: "Between the lips".into(),
            x_label: "seconds".into(),
            y_label: "number".into(),
            lines: vec![
                line("contacts", &|frame| log.lips[frame].contacts as f64),
                line("sticky springs", &|frame| log.lips[frame].sticky as f64),
                line("crossings", &|frame| log.crossings[frame][0] as f64),
                line("crossings of the plain rig", &|frame| log.crossings[frame][1] as f64),
            ],
            ..Chart::default()
        },
        "Pairs of triangles of the upper and lower lip that cross, at full resolution.",
    );
    page.section("Volume").chart(
        &Chart {
            title: "Change of volume".into(),
            x_label: "seconds".into(),
            y_label: "%".into(),
            lines: vec![
                line("all tissue", &|frame| 100.0 * (log.volumes[frame][0].total - 1.0)),
                line("elements, mean", &|frame| 100.0 * log.volumes[frame][0].mean),
                line("elements, 95 %", &|frame| 100.0 * log.volumes[frame][0].p95),
                line("plain rig's elements, mean", &|frame| 100.0 * log.volumes[frame][1].mean),
                line("plain rig's elements, 95 %", &|frame| 100.0 * log.volumes[frame][1].p95),
            ],
            ..Chart::default()
        },
        "|det F − 1| of the tetrahedra; under the plain rig, skin and bone are where the rig has them.",
    );
}
