//! `zygoma demo`

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::{Observer, Outcome, Performance, TouchScript};
use zygoma_face::shell::{BuildInput, BuildParams, RunParams, ShellBody};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_picture::{Image, Report, View, grid};
use zygoma_rig::follow::Followers;
use zygoma_rig::{Rig, Take};

use crate::anatomy_pictures::anatomy_sheet;
use crate::cli::{AnimatedArgs, DemoArgs};
use crate::commands::animated::{self, CompressionSummary};
use crate::commands::build::build_with_progress;
use crate::pictures::Portrait;
use crate::progress::Progress;
use crate::reports::{
    build::add_stiffness,
    simulation::{ReportInput, TOUCHES},
};
use crate::watched::WatchedSummary;

/// Frames per second of the animated GLB.
const FPS: f64 = 60.0;
/// Triangles of the simulated shell.
const TRIANGLES: usize = 2000;
/// Heads on the sheet of people.
const PEOPLE: u64 = 24;
/// Pixels of one picture on a sheet.
const THUMBNAIL: usize = 200;
/// Largest distance in millimetres between the GLB and the simulated surface: matching a dent exactly takes many morph targets.
const MAX_ERROR: f64 = 0.2;

/// The touch script of the demo.
const SCRIPT: &str = include_str!("../../../../examples/tour.toml");

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let folder = args.out.as_path();
    zygoma_files::create_folder(folder)?;
    let head = Head::new(&HeadOptions::default());
    let rig = head.rig();
    let take = rig.takes.first().context("the built-in head has no take")?;
    let shell = BuildParams { triangles: TRIANGLES, ..BuildParams::default() };
    let what = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &[] };
    let (face, _) = build_with_progress(&what, &shell)?;
    let places = Landmarks::new(&face);
    let touches = TouchScript::parse(SCRIPT, &face, &places).map_err(anyhow::Error::msg)?;
    let performance = Performance {
        face: &face,
        places: &places,
        rig: &rig,
        take,
        markers: None,
        materials: None,
        edit_of: None,
        touches: &touches,
        hands: None,
        fps: FPS,
        folder,
    };
    let params = RunParams { sleep_after: None, normals: false, ..RunParams::default() };
    let mut bar = Simulating(Progress::new("simulating frames", take.frame_count(FPS)));
    let mut outcome = performance.run(&mut ShellBody::new(&face, params)?, &mut bar)?;
    drop(bar);
    let options =
        AnimatedArgs { max_error: MAX_ERROR, max_targets: None, keep_shapes: false, head_motion: false };
    let followers = Followers::new(&rig);
    let performed = animated::Performed { rig: &rig, take, followers: &followers, props: &outcome.props };
    let written = animated::write(&performed, &mut outcome.frames, &folder.join("head.glb"), &options)?;
    let mut report = Report::new("zygoma: the built-in head is touched");
    report.list(&summary(&face, &places, take, &outcome, written.compression.as_ref()));
    let input = ReportInput { face: &face, rig: &rig, take, touches: &touches, outcome: &outcome };
    if let Some(sheet) = input.touch_sheet()? {
        sheet.save(&folder.join("touch.png"))?;
        report.section("Colliders").figure(&sheet, TOUCHES)?;
    }
    input.add_deviation(&mut report);
    add_stiffness(&mut report, &face)?;
    add_portraits(&mut report, &rig, folder)?;
    report
        .section("The anatomy")
        .figure(&anatomy_sheet(&head, 2 * THUMBNAIL)?, "The anatomy under the skin.")?;
    add_people(&mut report)?;
    report.section("The touch script").preformatted(SCRIPT);
    report.save(&folder.join("report.html"))?;
    println!("the built-in head performs and is touched in {}", folder.join("head.glb").display());
    println!("pictures and figures are in {}", folder.join("report.html").display());
    println!("done in {:.1} s", start.elapsed().as_secs_f64());
    WatchedSummary::of(&outcome.gate).check()
}

/// Shows how many frames are done.
struct Simulating(Progress);

impl Observer for Simulating {
    fn progress(&mut self, done: usize, _total: usize) {
        self.0.set(done);
    }
}

fn summary(
    face: &FaceModel,
    places: &Landmarks,
    take: &Take,
    outcome: &Outcome,
    written: Option<&CompressionSummary>,
) -> Vec<String> {
    let deepest = outcome.penetration.iter().copied().fold(0.0, f32::max);
    let mut lines = vec![
        format!(
            "{} vertices, {} shapes; the take “{}” lasts {:.1} s",
            face.vertex_count(),
            face.shapes.len(),
            take.name,
            take.duration()
        ),
        format!(
            "a shell of {} triangles is simulated, at {:.2} ms a frame",
            face.coarse.triangles.len(),
            outcome.frame_ms
        ),
    ];
    lines.extend(
        outcome.deviation(face, places, true).map(|found| format!("untouched, it follows the rig: {found}")),
    );
    lines.push(format!(
        "largest penetration {:.3} % of the height ({:.2} mm)",
        100.0 * f64::from(deepest) / face.height,
        1e3 * deepest
    ));
    lines.extend(WatchedSummary::of(&outcome.gate).line());
    lines.extend(written.map(|found| format!("head.glb: {found}")));
    lines
}

fn add_portraits(report: &mut Report, rig: &Rig, folder: &Path) -> anyhow::Result<()> {
    let portrait = Portrait::new(rig)?;
    let views = [
        ("front", View::FRONT),
        ("three-quarter", View::THREE_QUARTER),
        ("side", View::SIDE),
        ("from below", View::BELOW),
    ];
    let smile = [
        ("mouthSmileLeft", 0.8),
        ("mouthSmileRight", 0.8),
        ("cheekSquintLeft", 0.5),
        ("cheekSquintRight", 0.5),
    ];
    let mut pictures: Vec<(Image, &str)> = Vec::new();
    for (name, view) in views {
        pictures.push((portrait.draw(&[], view, 2 * THUMBNAIL)?, name));
    }
    pictures.push((portrait.draw(&smile, View::THREE_QUARTER, 2 * THUMBNAIL)?, "a smile"));
    let sheet = grid(&pictures, 5);
    sheet.save(&folder.join("head.png"))?;
    report.section("The head").figure(&sheet, "The head as it was sculpted, and smiling.")?;
    let mut progress = Progress::new("drawing shapes", rig.skin().shapes.len());
    let shapes = portrait.shape_sheet(THUMBNAIL, |done| progress.set(done))?;
    report.section("The 52 ARKit shapes").figure(&shapes, "Every shape at weight 1.")?;
    Ok(())
}

/// Different people from two sides.
fn add_people(report: &mut Report) -> anyhow::Result<()> {
    let mut progress = Progress::new("drawing people", PEOPLE as usize);
    let mut pictures = Vec::new();
    for seed in 1..=PEOPLE {
        let rig = Head::new(&HeadOptions::sampled(seed, Level::Middle)).rig();
        let portrait = Portrait::new(&rig)?;
        pictures.push((portrait.draw(&[], View::FRONT, THUMBNAIL)?, format!("seed {seed}")));
        pictures.push((portrait.draw(&[], View::THREE_QUARTER, THUMBNAIL)?, String::new()));
        progress.set(seed as usize);
    }
    report
        .section("Other people")
        .figure(&grid(&pictures, 8), "Heads sampled by seed, each from two sides.")?;
    Ok(())
}
