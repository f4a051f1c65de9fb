//! `zygoma anatomy`

mod jaw;
mod landmarks;
mod pictures;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use glam::DVec3;
use serde::Serialize;
use zygoma_face::model::{FaceModel, Origin};
use zygoma_face::tissue::{AnatomyOptions, fit_head};
use zygoma_head::anatomy::FillDetail;
use zygoma_head::dials::DIALS;
use zygoma_head::fit::{self, Fat, FittedHead};
use zygoma_numerics::Budget;
use zygoma_rig::formats::gltf;
use zygoma_rig::{JointRole, Rig, RigMesh};

use crate::cli::{AnatomyArgs, Fill};
use crate::commands::{animated, input};
use jaw::JawMotion;

const MILLIMETRES: f64 = 1e3;

/// Figures of the fit. Lengths are in millimetres of a life-size head.
#[derive(Debug, Serialize)]
struct Report {
    rig: String,
    /// Distances from the mesh's face to the fitted skin.
    registration_mm: Distances,
    /// Distances from the mesh's face to the head that the dials alone make.
    by_dials_mm: Distances,
    ears_mm: Distances,
    /// The dials that come nearest to the head.
    dials: serde_json::Map<String, serde_json::Value>,
    /// How fat the head is taken to be, from -1 to 1.
    fat: f64,
    /// Whether that is an estimate from the skin; otherwise it was given.
    fat_is_estimate: bool,
    /// Mesh units in a metre of the built-in head.
    scale: f64,
    /// Smallest depth of bone under the skin.
    cover_mm: f64,
    /// Bone vertices outside the skin.
    penetrating: usize,
    /// Bones under the skin in the rig's shapes; a shape that is made for an open jaw is posed over that.
    #[serde(skip_serializing_if = "Option::is_none")]
    shapes: Option<Shapes>,
    inverted: Inverted,
    /// Nodes and tetrahedra of the fill.
    fill: [usize; 2],
    /// Centres of the left and the right condyle, in metres of rig space.
    condyles: [[f64; 3]; 2],
    /// The jaw's motion in the rig's own shapes.
    jaw: Vec<JawMotion>,
    /// The laws that every fitted head obeys.
    checks: Checks,
    seconds: Seconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    glb: Option<String>,
}

#[derive(Debug, Serialize)]
struct Distances {
    mean: f64,
    p95: f64,
    worst: f64,
}

impl Distances {
    fn of(distances: &fit::Distances) -> Self {
        let [mean, p95, worst] =
            [distances.mean, distances.p95, distances.worst].map(|length| MILLIMETRES * length);
        Self { mean, p95, worst }
    }
}

#[derive(Debug, Serialize)]
struct Inverted {
    fill: usize,
    prisms: usize,
    /// Inverted tetrahedra of the fill before its interior was solved for.
    fill_as_carried: usize,
}

#[derive(Debug, Serialize)]
struct Shapes {
    count: usize,
    /// Bone vertices outside the skin, summed over all shapes.
    penetrating: usize,
    /// The shape in which bone comes nearest to the skin, or sticks out most.
    worst: String,
    /// Smallest depth of bone there.
    cover_mm: f64,
}

#[derive(Debug, Serialize)]
struct Checks {
    no_bone_outside: bool,
    no_bone_outside_in_shapes: bool,
    nothing_inverted: bool,
}

#[derive(Debug, Serialize)]
struct Seconds {
    align: f64,
    dials: f64,
    skin: f64,
    /// Bones and wraps.
    layers: f64,
    fill: f64,
    all: f64,
}

pub(crate) fn run(args: &AnatomyArgs) -> anyhow::Result<()> {
    let rig = input::read_rig(&args.rig)?;
    let marks = match &args.landmarks {
        Some(path) => landmarks::read(path, rig.skin())?,
        None => Vec::new(),
    };
    let fill = match args.fill {
        Some(Fill::Coarse) => FillDetail::Coarse,
        Some(Fill::Fine) => FillDetail::Fine,
        Some(Fill::Finest) => FillDetail::Finest,
        // Bodies run on fewer tetrahedra than pictures show.
        None if args.out.is_some() => FillDetail::Coarse,
        None => FillDetail::default(),
    };
    let options = AnatomyOptions { landmarks: marks, fat: args.fat, fill };
    let started = Instant::now();
    let fitted = fit_head(&rig, &options).with_context(|| args.rig.rig.display().to_string())?;
    let seconds = started.elapsed().as_secs_f64();
    let motions = jaw::motions(&rig, &fitted);
    if let Some(out) = &args.glb {
        animated::make_folder_for(out)?;
        if args.with_shapes {
            gltf::write_rig(&fitted.rig()?, out)?;
        } else {
            let [cranium, mandible] = jaw::bones(&fitted, &motions);
            let bones = [(cranium, JointRole::Head), (mandible, JointRole::Jaw)];
            gltf::write_rig_with(&rig, &bones, out)?;
        }
    }
    if let Some(out) = &args.out {
        write_face(&rig, &fitted, args, out)?;
    }
    let report = report(&rig, &fitted, motions, args, seconds);
    if let Some(folder) = &args.report {
        pictures::write(&rig, &fitted, &report, folder)?;
    }
    if args.json { crate::json::print(&report) } else { print(&report) }
}

fn positions(mesh: &RigMesh) -> Vec<DVec3> {
    mesh.positions.iter().map(|p| p.as_dvec3()).collect()
}

/// Writes the rig as a face with its anatomy, without a body.
fn write_face(rig: &Rig, fitted: &FittedHead, args: &AnatomyArgs, out: &Path) -> anyhow::Result<()> {
    if rig.skin().shapes.is_empty() {
        bail!(
            "{}: it has no blendshapes, so that no face can be made of it; write it as a rig with --glb and --with-shapes first",
            args.rig.rig.display()
        );
    }
    let mut face = FaceModel::of_rig(rig, input::TRIANGLES, &Budget::default())?;
    face.add_fitted_anatomy(rig.skin(), fitted);
    face.origin = Origin::of_rig(rig, &args.rig.rig, args.rig.reading.identity.as_deref());
    animated::make_folder_for(out)?;
    Ok(face.write(out)?)
}

fn report(rig: &Rig, fitted: &FittedHead, jaw: Vec<JawMotion>, args: &AnatomyArgs, all: f64) -> Report {
    let found = &fitted.report;
    let [align, dials, skin, layers, fill] = found.seconds;
    let turned = DIALS.iter().map(|dial| (dial.name.to_owned(), fitted.dials.get(dial.name)));
    Report {
        rig: rig.name.clone(),
        registration_mm: Distances::of(&found.registration),
        by_dials_mm: Distances::of(&found.by_dials),
        ears_mm: Distances::of(&found.ears),
        dials: turned.filter(|(_, value)| *value != 0.0).map(|(name, value)| (name, value.into())).collect(),
        fat: fitted.fat,
        fat_is_estimate: args.fat == Fat::Auto,
        scale: fitted.to_mesh.scale,
        cover_mm: MILLIMETRES * found.cover,
        penetrating: found.penetrating,
        shapes: found.posed.as_ref().map(|posed| Shapes {
            count: posed.shapes,
            penetrating: posed.outside,
            worst: posed.worst.clone(),
            cover_mm: MILLIMETRES * posed.cover.least,
        }),
        inverted: Inverted {
            fill: found.inverted.fill,
            prisms: found.inverted.prisms,
            fill_as_carried: found.inverted_carried,
        },
        fill: [fitted.anatomy.fill.positions.len(), fitted.anatomy.fill.tets.len()],
        condyles: fitted.condyles().map(|p| p.to_array()),
        jaw,
        checks: Checks {
            no_bone_outside: found.penetrating == 0,
            no_bone_outside_in_shapes: found.posed.as_ref().is_none_or(|posed| posed.outside == 0),
            nothing_inverted: found.inverted == Default::default(),
        },
        seconds: Seconds { align, dials, skin, layers, fill, all },
        glb: args.glb.as_ref().map(|path| path.display().to_string()),
    }
}

fn print(report: &Report) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let line = |d: &Distances| format!("{:.2} mm mean, {:.2} p95, {:.2} worst", d.mean, d.p95, d.worst);
    writeln!(out, "{}: skin fitted in {:.1} s", report.rig, report.seconds.all)?;
    writeln!(out, "registration   {}", line(&report.registration_mm))?;
    writeln!(out, "by dials alone {}", line(&report.by_dials_mm))?;
    writeln!(out, "ears           {}", line(&report.ears_mm))?;
    writeln!(
        out,
        "bone           {:.1} mm under the skin at least, {} points outside",
        report.cover_mm, report.penetrating
    )?;
    if let Some(shapes) = &report.shapes {
        writeln!(
            out,
            "in {} shapes   {:.1} mm at least ({}), {} points outside",
            shapes.count, shapes.cover_mm, shapes.worst, shapes.penetrating
        )?;
    }
    writeln!(
        out,
        "tissue         {} inverted tetrahedra, {} inverted prisms",
        report.inverted.fill, report.inverted.prisms
    )?;
    let guess = if report.fat_is_estimate { " (an estimate; --fat sets it)" } else { "" };
    writeln!(out, "fat            {:.2}{guess}", report.fat)?;
    for motion in &report.jaw {
        writeln!(out, "{motion}")?;
    }
    if let Some(path) = &report.glb {
        writeln!(out, "{path}: the rig with cranium and mandible")?;
    }
    Ok(())
}
