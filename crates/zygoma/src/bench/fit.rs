//! Fitting the stiffness of faces: time, certificate, and plausibility of the result.

use std::path::{Path, PathBuf};

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::model::Continue;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::shell::FittedShell;
use zygoma_face::shell::Tally;
use zygoma_face::shell::fit::FitEnd;
use zygoma_face::shell::{BuildInput, BuildParams, BuildReport, PhaseTime, build_with_report, take_poses};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::Rig;
use zygoma_rig::formats::{self, Limits};

use super::harness::{Build, Machine};

/// The results of one run.
#[derive(Serialize)]
pub(crate) struct FitReport {
    machine: Machine,
    build: Build,
    pub(crate) results: Vec<FitFigures>,
    pub(crate) correlations: Vec<Correlation>,
}

/// One rig at one size.
#[derive(Serialize)]
pub(crate) struct FitFigures {
    pub(crate) rig: String,
    pub(crate) triangles: usize,
    /// Seconds spent on fitting, excluding certification and corrections.
    pub(crate) fit_seconds: f64,
    pub(crate) iterations: usize,
    /// Why the last fit ended.
    end: Option<FitEnd>,
    /// Whether every fitted shape is met within the tolerance.
    pub(crate) certified: bool,
    pub(crate) shapes: Tally,
    pub(crate) combinations: Tally,
    /// Median strain stiffness, N/m.
    pub(crate) strain: RegionMedians,
    /// Median of ears and crown over that of lips and cheeks.
    pub(crate) strain_ratio: f64,
    /// Median maximum depth, in heights.
    pub(crate) depth: RegionMedians,
    phases: Vec<PhaseTime>,
}

/// Medians over named landmarks.
#[derive(Serialize)]
pub(crate) struct RegionMedians {
    pub(crate) ears: f64,
    pub(crate) crown: f64,
    pub(crate) forehead: f64,
    pub(crate) lips: f64,
    pub(crate) cheeks: f64,
}

/// Correlation between the fields of one rig at two sizes, at the vertices of its mesh.
#[derive(Serialize)]
pub(crate) struct Correlation {
    pub(crate) rig: String,
    pub(crate) triangles: [usize; 2],
    /// Correlation of the logarithms.
    pub(crate) strain: f64,
    pub(crate) bending: f64,
}

/// The landmarks of each region.
const EARS: [&str; 2] = ["ear-left", "ear-right"];
const CROWN: [&str; 1] = ["crown"];
const FOREHEAD: [&str; 1] = ["forehead"];
const LIPS: [&str; 4] = ["lip-upper", "lip-lower", "mouth-left", "mouth-right"];
const CHEEKS: [&str; 2] = ["cheek-left", "cheek-right"];

/// Fits the named rigs, or the built-in head, at every size.
pub(crate) fn run(rigs: &[PathBuf], sizes: &[usize]) -> anyhow::Result<FitReport> {
    let mut report = FitReport::empty();
    let params = BuildParams::default();
    for path in rigs {
        measure(&formats::read_rig(path, &Limits::default())?, &name_of(path), sizes, &params, &mut report)?;
    }
    if rigs.is_empty() {
        let rig = Head::new(&HeadOptions::default()).rig();
        measure(&rig, "built-in head", sizes, &params, &mut report)?;
    }
    Ok(report)
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into())
}

impl FitReport {
    fn empty() -> Self {
        Self { machine: Machine::this(), build: Build::this(), results: Vec::new(), correlations: Vec::new() }
    }
}

fn measure(
    rig: &Rig,
    name: &str,
    sizes: &[usize],
    params: &BuildParams,
    report: &mut FitReport,
) -> anyhow::Result<()> {
    let poses = take_poses(rig, &rig.takes);
    let input = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &poses };
    let mut faces: Vec<FaceModel> = Vec::new();
    for triangles in sizes {
        let params = BuildParams { triangles: *triangles, ..params.clone() };
        let (face, found) = build_with_report(&input, &params, &mut |_| Continue::Yes)
            .with_context(|| format!("{name} at {triangles} triangles"))?;
        report.results.push(FitFigures::new(name, &face, &found)?);
        faces.push(face);
    }
    for (index, coarse) in faces.iter().enumerate() {
        for fine in &faces[index + 1..] {
            let shells = [FittedShell::of(coarse)?, FittedShell::of(fine)?];
            let of = |field: fn(&FittedShell) -> &[f64]| {
                let logs = |face, shell| logs_on_skin(face, field(shell));
                correlation(&logs(coarse, &shells[0]), &logs(fine, &shells[1]))
            };
            report.correlations.push(Correlation {
                rig: name.to_owned(),
                triangles: [coarse, fine].map(|face| face.coarse.triangles.len()),
                strain: of(|shell| &shell.stiffness.strain),
                bending: of(|shell| &shell.stiffness.bending),
            });
        }
    }
    Ok(())
}

impl FitFigures {
    fn new(rig: &str, face: &FaceModel, report: &BuildReport) -> anyhow::Result<Self> {
        let shell = FittedShell::of(face)?;
        let places = Landmarks::new(face);
        let medians = |values: &dyn Fn(usize) -> f64| RegionMedians {
            ears: median_at(face, &places, &EARS, values),
            crown: median_at(face, &places, &CROWN, values),
            forehead: median_at(face, &places, &FOREHEAD, values),
            lips: median_at(face, &places, &LIPS, values),
            cheeks: median_at(face, &places, &CHEEKS, values),
        };
        let strain = |v: usize| shell.stiffness.strain[v];
        let certified = shell.certified.clone();
        let tally = |of: fn(&zygoma_face::shell::CertifiedFace) -> Tally| {
            certified.as_ref().map(of).unwrap_or_default()
        };
        let stiff: Vec<&str> = EARS.into_iter().chain(CROWN).collect();
        let soft: Vec<&str> = LIPS.into_iter().chain(CHEEKS).collect();
        Ok(Self {
            rig: rig.to_owned(),
            triangles: face.coarse.triangles.len(),
            fit_seconds: report.phases.iter().filter(|p| p.phase == "fit").map(|p| p.seconds).sum(),
            iterations: certified.as_ref().map_or(0, |c| c.iterations),
            end: report.fits.last().map(|fit| fit.end),
            certified: certified.as_ref().is_some_and(|c| c.shapes.holds()),
            shapes: tally(|c| c.shapes),
            combinations: tally(|c| c.combinations),
            strain: medians(&strain),
            strain_ratio: median_at(face, &places, &stiff, &strain)
                / median_at(face, &places, &soft, &strain),
            depth: medians(&|v| f64::from(shell.depth[v])),
            phases: report.phases.clone(),
        })
    }
}

/// The median of a shell field over the vertices at those landmarks that are simulated.
fn median_at(face: &FaceModel, places: &Landmarks, names: &[&str], values: &dyn Fn(usize) -> f64) -> f64 {
    let balls: Vec<(Vec3, f32)> = places
        .iter()
        .filter(|place| names.contains(&place.name.as_str()))
        .map(|place| (face.neutral[place.vertex as usize], place.radius))
        .collect();
    let inside = |v: &usize| {
        let at = face.coarse.positions[*v].as_vec3();
        !face.coarse.is_held[*v] && balls.iter().any(|(centre, radius)| centre.distance(at) < *radius)
    };
    let mut found: Vec<f64> = (0..face.coarse.vertex_count()).filter(inside).map(values).collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Logarithms of a shell's field at the skin's vertices.
fn logs_on_skin(face: &FaceModel, values: &[f64]) -> Vec<f64> {
    let at = |vertex: &u32| -> f64 {
        let (corners, weights) =
            (face.embedding.vertices[*vertex as usize], face.embedding.weights[*vertex as usize]);
        (0..3).map(|i| f64::from(weights[i]) * values[corners[i] as usize].ln()).sum()
    };
    face.skin.iter().map(at).collect()
}

/// Pearson correlation coefficient.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |product: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| product(a - mean_a, b - mean_b)).sum()
    };
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_head::Level;

    /// The purpose of the fit: skin that is soft where expressions stretch it, whatever the mesh.
    #[test]
    fn cheeks_are_softer_than_ears_at_any_size() {
        let rig = Head::new(&HeadOptions::sampled(0, Level::Low)).rig();
        let params = BuildParams { combinations: 0, corrected: false, ..BuildParams::default() };
        let mut report = FitReport::empty();
        measure(&rig, "head", &[1000, 2500], &params, &mut report).unwrap();
        for found in &report.results {
            assert!(found.certified);
            assert!(found.strain_ratio > 10.0, "{} triangles: {}", found.triangles, found.strain_ratio);
        }
        let Correlation { strain, bending, .. } = report.correlations[0];
        // Bending is decided by folds, of which 1,000 triangles show fewer than 2,500.
        assert!(strain > 0.8 && bending > 0.5, "{strain} {bending}");
    }

    #[test]
    fn correlation_is_pearsons() {
        let line = [1.0, 2.0, 3.0, 4.0];
        assert!((correlation(&line, &[3.0, 5.0, 7.0, 9.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&line, &[2.0, 1.0, 0.0, -1.0]) + 1.0).abs() < 1e-12);
        assert!(correlation(&line, &[1.0, -1.0, -1.0, 1.0]).abs() < 1e-12);
    }
}
