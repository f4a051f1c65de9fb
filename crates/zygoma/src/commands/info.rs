//! `zygoma info`

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use zygoma_face::model::{FaceModel, Landmark, Landmarks};
use zygoma_face::shell::CertifiedFace;
use zygoma_face::shell::FittedShell;
use zygoma_rig::Rig;
use zygoma_rig::formats::{self, Limits};
use zygoma_rig::report::{MeshReport, PeakReport, Report, TakeReport};
use zygoma_rig::suggest::{suggest, to_toml};

use crate::cli::InfoArgs;
use crate::commands::{animated, input};
use crate::pictures::Portrait;
use crate::progress::Progress;

/// Pixels of one picture on a sheet of shapes.
const THUMBNAIL: usize = 240;

pub(crate) fn run(args: &InfoArgs, verbose: bool) -> anyhow::Result<()> {
    if formats::is_take_file(&args.rig.rig) {
        return print_take(&args.rig.rig, args.json);
    }
    if args.rig.rig.extension().is_some_and(|extension| extension == "safetensors") {
        return print_face(&FaceReport::new(&FaceModel::read(&args.rig.rig, &Limits::default())?), args.json);
    }
    let rig = input::read_rig_quietly(&args.rig)?;
    if let Some(name) = &args.take {
        return print_fit(&rig, name, args);
    }
    if let Some(path) = &args.sheet {
        draw_sheet(&rig, path)?;
    }
    let report = Report::new(&rig);
    if args.json {
        crate::json::print(&report)
    } else {
        print(&mut std::io::stdout().lock(), &report, verbose)
    }
}

fn print_take(path: &Path, json: bool) -> anyhow::Result<()> {
    let take = formats::read_take(path, &Limits::default())?;
    let report = TakeReport::new(&take);
    if json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", take_line(&report))?;
    if let Some(warning) = take.weight_warning() {
        writeln!(out, "problem: {warning}")?;
    }
    print_take_details(&mut out, &report)
}

/// How a take fits a rig.
#[derive(Serialize)]
struct FitReport {
    rig: String,
    take: TakeReport,
    /// Tracks that drive shapes.
    matched: usize,
    /// Tracks that drive nothing.
    unmatched: Vec<String>,
    /// A name map, as a TOML file, that would let them drive shapes.
    suggested_map: String,
}

fn print_fit(rig: &Rig, name: &str, args: &InfoArgs) -> anyhow::Result<()> {
    let take = input::find_take(name, rig)?;
    let suggestions = suggest(rig, &take);
    let report = FitReport {
        rig: rig.name.clone(),
        matched: take.weights.len() - suggestions.len(),
        unmatched: suggestions.iter().map(|suggestion| suggestion.track.clone()).collect(),
        suggested_map: to_toml(&suggestions),
        take: TakeReport::new(&take),
    };
    if let Some(path) = &args.write_map {
        animated::make_folder_for(path)?;
        zygoma_files::write(path, report.suggested_map.as_bytes())?;
    }
    if args.json {
        return crate::json::print(&report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", take_line(&report.take))?;
    print_take_details(&mut out, &report.take)?;
    if let Some(warning) = take.weight_warning() {
        writeln!(out, "problem: {warning}")?;
    }
    let tracks = take.weights.len();
    writeln!(out, "{} of {tracks} tracks drive shapes of {}", report.matched, report.rig)?;
    if report.unmatched.is_empty() {
        return Ok(());
    }
    writeln!(out, "unused tracks: {}", report.unmatched.join(", "))?;
    match &args.write_map {
        Some(path) => writeln!(out, "a map for them is in {}: use it with --map", path.display())?,
        None => {
            writeln!(out, "a map for them, to be saved and used with --map FILE:\n")?;
            write!(out, "{}", report.suggested_map)?;
        }
    }
    Ok(())
}

/// How many peaks are listed.
const PEAKS: usize = 12;

fn print_take_details(out: &mut impl Write, take: &TakeReport) -> anyhow::Result<()> {
    let peak = |peak: &PeakReport| format!("{} {:.2} at {:.2} s", peak.track, peak.peak, peak.time);
    let peaks: Vec<String> = take.peaks.iter().filter(|peak| peak.peak > 0.0).take(PEAKS).map(peak).collect();
    if !peaks.is_empty() {
        writeln!(out, "peaks: {}", peaks.join(", "))?;
    }
    Ok(())
}

/// The contents of a face file.
#[derive(Serialize)]
struct FaceReport {
    name: String,
    mesh: String,
    /// The rig that it was built from.
    rig: Option<String>,
    /// Bodies that it was built for.
    bodies: Vec<String>,
    height_metres: f64,
    vertices: usize,
    shapes: Vec<String>,
    shell_vertices: usize,
    shell_triangles: usize,
    certified: Option<CertifiedFace>,
    /// Why it is not certified, in words; `null` if it is.
    not_certified: Option<String>,
    places: Vec<PlaceReport>,
}

#[derive(Serialize)]
struct PlaceReport {
    name: String,
    vertex: u32,
    /// In rig space.
    position_mm: [f32; 3],
}

impl FaceReport {
    fn new(face: &FaceModel) -> Self {
        let place = |place: &Landmark| PlaceReport {
            name: place.name.clone(),
            vertex: place.vertex,
            position_mm: (1e3 * face.neutral[place.vertex as usize]).to_array(),
        };
        let certified = FittedShell::of(face).ok().and_then(|shell| shell.certified);
        Self {
            name: face.name.clone(),
            mesh: face.mesh.clone(),
            rig: face.origin.path.clone(),
            bodies: face.sections.keys().cloned().collect(),
            height_metres: face.height,
            vertices: face.vertex_count(),
            shapes: face.shapes.iter().map(|shape| shape.name.clone()).collect(),
            shell_vertices: face.coarse.vertex_count(),
            shell_triangles: face.coarse.triangles.len(),
            not_certified: match &certified {
                None => Some("its stiffness was not fitted".to_owned()),
                Some(certified) => certified.gap(),
            },
            certified,
            places: Landmarks::new(face).iter().map(place).collect(),
        }
    }
}

fn print_face(report: &FaceReport, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(report);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}, built from {}", report.name, report.rig.as_deref().unwrap_or("a rig made by code"))?;
    writeln!(
        out,
        "  {}: {} vertices, {} shapes, follow a coarse skin of {} triangles; the face is {:.1} cm high",
        report.mesh,
        report.vertices,
        report.shapes.len(),
        report.shell_triangles,
        100.0 * report.height_metres
    )?;
    writeln!(
        out,
        "built for: {}",
        if report.bodies.is_empty() { "no body".to_owned() } else { report.bodies.join(", ") }
    )?;
    match (&report.certified, &report.not_certified) {
        _ if !report.bodies.iter().any(|body| body == "shell") => {}
        (Some(certified), None) => writeln!(
            out,
            "certified: all {} fitted shapes and all {} combinations of them are met within the tolerance",
            certified.shapes.count, certified.combinations.count
        )?,
        (_, why) => {
            writeln!(out, "not certified: {}", why.as_deref().unwrap_or("its stiffness was not fitted"))?;
        }
    }
    writeln!(out, "places (mm, in rig space):")?;
    for place in &report.places {
        let [x, y, z] = place.position_mm;
        writeln!(out, "  {:16} {x:7.1} {y:7.1} {z:7.1}", place.name)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, report: &Report, verbose: bool) -> anyhow::Result<()> {
    writeln!(out, "{}", report.name)?;
    for mesh in &report.meshes {
        writeln!(out, "  {}", mesh_line(mesh, &report.skin))?;
        if verbose && !mesh.shapes.is_empty() {
            writeln!(out, "    shapes: {}", mesh.shapes.join(", "))?;
        }
    }
    let arkit = &report.arkit;
    writeln!(out, "ARKit shapes: {} of {}", arkit.count, arkit.of)?;
    if !arkit.missing.is_empty() && (verbose || arkit.count > arkit.of / 2) {
        writeln!(out, "  missing: {}", arkit.missing.join(", "))?;
    }
    if !report.jaw_driven.is_empty() {
        writeln!(out, "jaw shapes: {}", report.jaw_driven.join(", "))?;
    }
    if !report.expressions.is_empty() {
        writeln!(out, "expressions: {}", report.expressions.join(", "))?;
    }
    if !report.joints.is_empty() {
        writeln!(out, "joints: {}", report.joints.join(", "))?;
    }
    for take in &report.takes {
        writeln!(out, "take {}", take_line(take))?;
    }
    writeln!(out, "unit: {} m ({})", report.units.metres_per_unit, report.units.reason)?;
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    for problem in &report.problems {
        writeln!(out, "problem: {problem}")?;
    }
    Ok(())
}

fn mesh_line(mesh: &MeshReport, skin: &str) -> String {
    let [x, y, z] = mesh.size.map(|metres| metres * 1e3);
    let role = if mesh.name == skin { " (skin)" } else { "" };
    format!(
        "{}{role}: {} vertices ({} points), {} triangles, {} shapes, {} parts, {x:.0} × {y:.0} × {z:.0} mm",
        mesh.name,
        mesh.vertices,
        mesh.points,
        mesh.triangles,
        mesh.shapes.len(),
        mesh.parts
    )
}

fn take_line(take: &TakeReport) -> String {
    let head = if take.head_motion { ", head moves" } else { "" };
    let TakeReport { name, duration, shapes, frames, fps, .. } = take;
    format!("{name}: {duration:.2} s, {frames} frames at {fps:.2} fps, {shapes} shapes{head}")
}

fn draw_sheet(rig: &Rig, path: &Path) -> anyhow::Result<()> {
    animated::make_folder_for(path)?;
    let portrait = Portrait::new(rig)?;
    let mut progress = Progress::new("drawing shapes", rig.skin().shapes.len());
    let sheet = portrait.shape_sheet(THUMBNAIL, |done| progress.set(done))?;
    Ok(sheet.save(path)?)
}
