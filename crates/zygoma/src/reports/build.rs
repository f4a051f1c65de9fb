//! The report of a build: stiffness, depth, deviations, convergence and times.

use glam::Vec3;
use rayon::prelude::*;
use std::path::Path;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::FittedShell;
use zygoma_face::shell::{BuildReport, RunParams, ShellBody};
use zygoma_picture::{Chart, Image, Line, Report, Scale, View, grid};
use zygoma_rig::Rig;
use zygoma_rig::evaluate::Evaluator;

use super::fields::{Field, on_mesh};

/// Pixels of one picture.
const SIZE: usize = 420;

/// Shapes whose error is drawn.
const DRAWN: usize = 6;

/// Frames that a shape takes to come to rest, and the length of each.
const FRAMES: usize = 30;
const FRAME: f64 = 0.01;

/// Writes the page to a folder.
pub(crate) fn write(folder: &Path, face: &FaceModel, rig: &Rig, report: &BuildReport) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let mut page = Report::new(&format!("zygoma build: {}", face.name));
    page.paragraph(&summary(face));
    add_stiffness(&mut page, face)?;
    add_depth(&mut page, face)?;
    add_shapes(&mut page, face, rig, report)?;
    add_convergence(&mut page, report);
    let times: Vec<Vec<String>> =
        report.phases.iter().map(|p| vec![p.phase.to_owned(), format!("{:.2}", p.seconds)]).collect();
    page.section("Time").table(&["phase", "seconds"], &times);
    page.save(&folder.join("report.html"))?;
    Ok(())
}

fn summary(face: &FaceModel) -> String {
    let shell = FittedShell::of(face).ok();
    let certified = match shell.and_then(|shell| shell.certified) {
        None => "The stiffness was not fitted.".to_owned(),
        Some(certified) => {
            let tally = |what: &str, tally: &zygoma_face::shell::Tally| match tally.worst {
                Some(worst) => format!(
                    "{} of {} {what} are met within the tolerance, the worst at {:.0} % of it",
                    tally.holding,
                    tally.count,
                    100.0 * worst
                ),
                None => format!("{} of {} {what} are met within the tolerance", tally.holding, tally.count),
            };
            let combinations = match certified.combinations.count {
                0 => String::new(),
                _ => format!("; {}", tally("combinations", &certified.combinations)),
            };
            let shapes = tally("shapes", &certified.shapes);
            let word = if certified.holds() { "Certified" } else { "Not certified" };
            format!("{word} after {} iterations: {shapes}{combinations}.", certified.iterations)
        }
    };
    format!(
        "{} vertices with {} shapes follow a shell of {} triangles. The face is {:.1} cm high. {certified}",
        face.vertex_count(),
        face.shapes.len(),
        face.coarse.triangles.len(),
        100.0 * face.height
    )
}

/// The stiffness fields (IFA Fig. 5).
pub(crate) fn add_stiffness(page: &mut Report, face: &FaceModel) -> anyhow::Result<()> {
    let shell = FittedShell::of(face)?;
    page.section("Stiffness");
    let fields = [
        ("strain", "N/m", &shell.stiffness.strain, "Resistance to stretching."),
        ("bending", "N", &shell.stiffness.bending, "Resistance to bending."),
    ];
    for (title, unit, values, caption) in fields {
        let values = on_mesh(face, values, Scale::Log);
        let field = Field { values, title, unit, scale: Scale::Log };
        let views = [View::FRONT, View::THREE_QUARTER, View::SIDE];
        page.figure(&field.draw(&face.neutral, &face.triangles, &views, SIZE)?, caption)?;
    }
    Ok(())
}

fn add_depth(page: &mut Report, face: &FaceModel) -> anyhow::Result<()> {
    let shell = FittedShell::of(face)?;
    let millimetres: Vec<f64> = shell.depth.iter().map(|d| 1e3 * face.height * f64::from(*d)).collect();
    let field = Field {
        values: on_mesh(face, &millimetres, Scale::Linear),
        title: "depth",
        unit: "mm",
        scale: Scale::Linear,
    };
    let picture = field.draw(&face.neutral, &face.triangles, &[View::FRONT, View::SIDE], SIZE)?;
    page.section("Largest depth")
        .figure(&picture, "How far the skin may be pushed in below where the rig has it.")?;
    Ok(())
}

/// The distance of a held shape from the rig.
struct Held {
    name: String,
    /// Distance of each vertex, in metres.
    errors: Vec<f32>,
    worst: f32,
    mean: f32,
    surface: Vec<Vec3>,
}

/// Holds each shape at weight 1 and measures the whole mesh.
fn hold_shapes(face: &FaceModel, rig: &Rig) -> anyhow::Result<Vec<Held>> {
    let evaluator = Evaluator::new(rig.skin());
    let hold = |index: usize| {
        let params = RunParams { sleep_after: None, normals: false, ..RunParams::default() };
        let mut running = ShellBody::new(face, params)?;
        let mut weights = vec![0.0; face.shapes.len()];
        weights[index] = 1.0;
        let mut plain = vec![Vec3::ZERO; face.vertex_count()];
        evaluator.evaluate(&weights, &mut plain);
        running.set_weights(&weights);
        for _ in 0..FRAMES {
            running.advance(FRAME);
        }
        let surface = running.advance(FRAME).positions.to_vec();
        let errors: Vec<f32> = surface.iter().zip(&plain).map(|(a, b)| a.distance(*b)).collect();
        Ok(Held {
            name: face.shapes[index].name.clone(),
            worst: errors.iter().copied().fold(0.0, f32::max),
            mean: errors.iter().sum::<f32>() / errors.len().max(1) as f32,
            errors,
            surface,
        })
    };
    (0..face.shapes.len()).into_par_iter().map(hold).collect()
}

/// Deviations of the shapes (IFA Fig. 8).
fn add_shapes(page: &mut Report, face: &FaceModel, rig: &Rig, report: &BuildReport) -> anyhow::Result<()> {
    let mut held = hold_shapes(face, rig)?;
    held.sort_by(|a, b| b.worst.total_cmp(&a.worst));
    page.section("Shapes").paragraph(
        "Every shape held at weight 1 until the skin rests, against the rig itself at full resolution; beside it, how much \
         of the tolerance its certified equilibrium takes on the shell.",
    );
    let mut pictures: Vec<(Image, String)> = Vec::new();
    for shape in held.iter().take(DRAWN) {
        let field = Field {
            values: shape.errors.iter().map(|e| 1e3 * e).collect(),
            title: "error",
            unit: "mm",
            scale: Scale::Linear,
        };
        let picture = field.draw(&shape.surface, &face.triangles, &[View::FRONT], SIZE * 2 / 3)?;
        pictures.push((picture, shape.name.clone()));
    }
    page.figure(&grid(&pictures, 3), "The shapes that the resting skin misses most.")?;
    let rows: Vec<Vec<String>> = held
        .iter()
        .map(|shape| {
            let certified = report.shapes.iter().find(|c| c.name == shape.name).and_then(|c| c.worst);
            vec![
                shape.name.clone(),
                format!("{:.4}", 100.0 * f64::from(shape.worst) / face.height),
                format!("{:.4}", 1e3 * shape.worst),
                format!("{:.5}", 1e3 * shape.mean),
                certified.map_or_else(|| "–".to_owned(), |worst| format!("{:.1}", 100.0 * worst)),
            ]
        })
        .collect();
    page.table(&["shape", "worst [% of height]", "worst [mm]", "mean [mm]", "tolerance taken [%]"], &rows);
    Ok(())
}

/// Convergence of the fit (IFA Fig. 6).
fn add_convergence(page: &mut Report, report: &BuildReport) {
    if report.fits.is_empty() {
        return;
    }
    let lines = |value: &dyn Fn(&zygoma_face::shell::fit::FitProgress) -> f64| -> Vec<Line> {
        let line = |fit: &zygoma_face::shell::FitRecord| Line {
            name: format!("{} triangles, {} expressions", fit.triangles, fit.expressions),
            points: fit.history.iter().map(|now| [now.iteration as f64, value(now)]).collect(),
        };
        report.fits.iter().map(line).collect()
    };
    page.section("Convergence").chart(
        &Chart {
            title: "Loss".into(),
            x_label: "iteration".into(),
            y_label: "loss".into(),
            y_scale: Scale::Log,
            lines: lines(&|now| now.loss),
            ..Chart::default()
        },
        "How far the stiffness is from the one wanted (IFA eq. 16).",
    );
    page.chart(
        &Chart {
            title: "Worst vertex".into(),
            x_label: "iteration".into(),
            y_label: "error / tolerance".into(),
            lines: lines(&|now| now.worst),
            ..Chart::default()
        },
        "The worst distance of any vertex from its target in any fitted expression: below 1 all along.",
    );
}
