//! Rigs and scans that are fitted: whether bones stay under the skin at rest and in all shapes, and how long it takes.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use zygoma_face::tissue::{AnatomyOptions, fit_head};
use zygoma_head::fit::{Distances, FittedHead};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_rig::Rig;
use zygoma_rig::formats::ict::{self, IctOptions};
use zygoma_rig::formats::{Limits, read_rig};

use super::changes::{self, Change};
use super::withheld::{self, Withheld};
use super::{FIRST_SEED, MILLIMETRES};
use crate::cli::BenchAnatomyArgs;

/// Identity modes of ICT-FaceKit that are tried.
const MODES: usize = 10;

/// A mesh that was fitted. Lengths are in millimetres of a life-size head.
#[derive(Debug, Serialize)]
pub(crate) struct MeshFit {
    pub(crate) mesh: String,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    #[serde(flatten)]
    pub(crate) figures: Option<Figures>,
    /// All of it, with its shapes.
    pub(crate) seconds: f64,
}

/// Figures of a fit that succeeded.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) registration: Lengths,
    pub(crate) by_dials: Lengths,
    pub(crate) ears: Lengths,
    pub(crate) fat: f64,
    /// Inverted prisms and tetrahedra.
    pub(crate) inverted: usize,
    /// Bone vertices outside the skin at rest.
    pub(crate) penetrating: usize,
    /// Smallest depth of bone at rest.
    pub(crate) cover_mm: f64,
    /// The same in all shapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shapes: Option<ShapesFit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<Withheld>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<Change>,
    /// Alignment, dials, skin, bones with wraps, and fill.
    pub(crate) stages: [f64; 5],
}

/// Mean, 95th percentile and largest of some lengths.
#[derive(Debug, Serialize)]
pub(crate) struct Lengths {
    pub(crate) mean: f64,
    pub(crate) p95: f64,
    pub(crate) worst: f64,
}

impl Lengths {
    fn of(found: &Distances) -> Self {
        let [mean, p95, worst] = [found.mean, found.p95, found.worst].map(|length| MILLIMETRES * length);
        Self { mean, p95, worst }
    }
}

/// Bones under the skin in the shapes of a rig.
#[derive(Debug, Serialize)]
pub(crate) struct ShapesFit {
    pub(crate) count: usize,
    /// Bone vertices outside the skin, summed over all shapes.
    pub(crate) penetrating: usize,
    /// The shape in which bone comes nearest to the skin.
    pub(crate) worst: String,
    /// Its smallest depth of bone.
    pub(crate) cover_mm: f64,
    /// Where that is in the built-in head's frame.
    pub(crate) place_mm: [f64; 3],
}

/// Fits all meshes that were asked for.
pub(super) fn run(args: &BenchAnatomyArgs, mut done: impl FnMut(&MeshFit)) -> anyhow::Result<Vec<MeshFit>> {
    let mut all = Vec::new();
    let mut add = |name: String, rig: &Rig, landmarks: &[u32]| {
        let fit = fit_rig(name, rig, landmarks, args);
        done(&fit);
        all.push(fit);
    };
    for path in &args.rigs {
        let name = path.display().to_string();
        let limits = Limits::default();
        let landmarks = if ict::is_ict(path) { ict::read_landmarks(path, &limits)? } else { Vec::new() };
        add(name.clone(), &read_rig(path, &limits)?, &landmarks);
        if let Some(size) = args.modes.filter(|_| ict::is_ict(path)) {
            for (mode, value) in (0..MODES).flat_map(|mode| [(mode, size), (mode, -size)]) {
                add(format!("{name} {mode}={value}"), &identity(path, mode, value)?, &landmarks);
            }
        }
    }
    for seed in FIRST_SEED..FIRST_SEED + args.seeds {
        add(format!("seed {seed}"), &Head::new(&HeadOptions::sampled(seed, Level::Middle)).rig(), &[]);
    }
    Ok(all)
}

fn identity(folder: &Path, mode: usize, value: f64) -> anyhow::Result<Rig> {
    let options = IctOptions { identity: vec![(mode, value)] };
    Ok(ict::read_rig_with(folder, &options, &Limits::default())?)
}

fn fit_rig(mesh: String, rig: &Rig, landmarks: &[u32], args: &BenchAnatomyArgs) -> MeshFit {
    let started = Instant::now();
    let fitted = fit_head(rig, &AnatomyOptions::default());
    let seconds = started.elapsed().as_secs_f64();
    match fitted {
        Ok(fitted) => {
            MeshFit { mesh, refused: None, figures: Some(figures(rig, &fitted, landmarks, args)), seconds }
        }
        Err(error) => MeshFit { mesh, refused: Some(error.to_string()), figures: None, seconds },
    }
}

fn figures(rig: &Rig, fitted: &FittedHead, landmarks: &[u32], args: &BenchAnatomyArgs) -> Figures {
    let report = &fitted.report;
    let shapes = report.posed.as_ref().map(|posed| ShapesFit {
        count: posed.shapes,
        penetrating: posed.outside,
        worst: posed.worst.clone(),
        cover_mm: MILLIMETRES * posed.cover.least,
        place_mm: (MILLIMETRES * posed.cover.place).to_array(),
    });
    Figures {
        registration: Lengths::of(&report.registration),
        by_dials: Lengths::of(&report.by_dials),
        ears: Lengths::of(&report.ears),
        fat: fitted.fat,
        inverted: report.inverted.fill + report.inverted.prisms,
        penetrating: report.penetrating,
        cover_mm: MILLIMETRES * report.cover,
        shapes,
        withheld: if args.withheld { withheld::measure(rig, landmarks) } else { None },
        changes: if args.changed { changes::measure(rig) } else { Vec::new() },
        stages: report.seconds,
    }
}

impl std::fmt::Display for MeshFit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(figures) = &self.figures else {
            return write!(f, "{}: {}", self.mesh, self.refused.as_deref().unwrap_or_default());
        };
        let Figures { registration, by_dials, ears, .. } = figures;
        write!(
            f,
            "{}: {:.2} mm mean, {:.2} p95, {:.2} worst; by dials {:.2}; ears {:.2}; fat {:.2}; bone {:.1} mm deep",
            self.mesh,
            registration.mean,
            registration.p95,
            registration.worst,
            by_dials.mean,
            ears.mean,
            figures.fat,
            figures.cover_mm
        )?;
        if let Some(shapes) = &figures.shapes {
            write!(
                f,
                ", in {} shapes {:.1} mm ({}), {} points outside",
                shapes.count, shapes.cover_mm, shapes.worst, shapes.penetrating
            )?;
        }
        if let Some(withheld) = &figures.withheld {
            write!(f, "; {withheld}")?;
        }
        for change in &figures.changes {
            write!(f, "; {change}")?;
        }
        let [align, dials, skin, layers, fill] = figures.stages;
        write!(
            f,
            "; {align:.1} + {dials:.1} + {skin:.1} + {layers:.1} + {fill:.1} s, {:.1} s in all",
            self.seconds
        )
    }
}
