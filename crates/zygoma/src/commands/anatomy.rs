//! `zygoma anatomy`

use std::io::Write;

use anyhow::Context;
use glam::DVec3;
use serde::Serialize;
use zygoma_head::dials::DIALS;
use zygoma_head::fit::{self, FitInput, FittedHead};
use zygoma_rig::formats::gltf;
use zygoma_rig::{Rig, RigMesh, Shape, Source, SparseDeltas};

use crate::cli::AnatomyArgs;
use crate::commands::{animated, input};

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
    /// Mesh units in a metre of the built-in head.
    scale: f64,
    /// Smallest depth of bone under the skin.
    cover_mm: f64,
    /// Bone vertices outside the skin.
    penetrating: usize,
    inverted: Inverted,
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
struct Seconds {
    align: f64,
    dials: f64,
    skin: f64,
    inside: f64,
    all: f64,
}

pub(crate) fn run(args: &AnatomyArgs) -> anyhow::Result<()> {
    let mut rig = input::read_rig(&args.rig)?;
    let fitted = fit_rig(&rig).with_context(|| args.rig.rig.display().to_string())?;
    let report = report(&rig, &fitted, args);
    if let Some(out) = &args.glb {
        let bones = bones(&rig, &fitted);
        rig.meshes.extend(bones);
        // With a glTF file as its source, the rig would be written back unchanged, without the new meshes.
        rig.source = Source::Generated { texture: None };
        animated::make_folder_for(out)?;
        gltf::write_rig(&rig, out)?;
    }
    if args.json { crate::json::print(&report) } else { tell(&report) }
}

fn positions(mesh: &RigMesh) -> Vec<DVec3> {
    mesh.positions.iter().map(|p| p.as_dvec3()).collect()
}

/// Fits the built-in head to the rig's skin; the other meshes occlude the surfaces behind them.
fn fit_rig(rig: &Rig) -> Result<FittedHead, fit::FitError> {
    let others = rig.meshes.iter().enumerate().filter(|(i, _)| *i != rig.skin);
    let inner: Vec<(Vec<DVec3>, Vec<[u32; 3]>)> =
        others.map(|(_, mesh)| (positions(mesh), mesh.faces.triangles())).collect();
    let inner: Vec<(&[DVec3], &[[u32; 3]])> = inner.iter().map(|(p, t)| (&p[..], &t[..])).collect();
    let (positions, triangles) = (positions(rig.skin()), rig.skin().faces.triangles());
    fit::fit(&FitInput { positions: &positions, triangles: &triangles, inner: &inner, landmarks: &[] })
}

fn report(rig: &Rig, fitted: &FittedHead, args: &AnatomyArgs) -> Report {
    let found = &fitted.report;
    let [align, dials, skin, inside] = found.seconds;
    let turned = DIALS.iter().map(|dial| (dial.name.to_owned(), fitted.dials.get(dial.name)));
    Report {
        rig: rig.name.clone(),
        registration_mm: Distances::of(&found.registration),
        by_dials_mm: Distances::of(&found.by_dials),
        ears_mm: Distances::of(&found.ears),
        dials: turned.filter(|(_, value)| *value != 0.0).map(|(name, value)| (name, value.into())).collect(),
        scale: fitted.to_mesh.scale,
        cover_mm: MILLIMETRES * found.cover,
        penetrating: found.penetrating,
        inverted: Inverted {
            fill: found.inverted.fill,
            prisms: found.inverted.prisms,
            fill_as_carried: found.inverted_carried,
        },
        seconds: Seconds { align, dials, skin, inside, all: found.seconds.iter().sum() },
        glb: args.glb.as_ref().map(|path| path.display().to_string()),
    }
}

/// Cranium and mandible; the mandible opens as far as the rig's chin does in jawOpen.
fn bones(rig: &Rig, fitted: &FittedHead) -> [RigMesh; 2] {
    const OPEN: &str = "jawOpen";
    let mut mandible = fitted.anatomy.mandible.surface.rig_mesh("mandible");
    if let Some(open) = rig.skin().shape(OPEN) {
        let rest = positions(rig.skin());
        let offsets = open.deltas.to_dense(rest.len());
        let chin = fitted.chin(&rest);
        let rest_chin: Vec<DVec3> = chin.iter().map(|v| rest[*v as usize]).collect();
        let posed = chin.iter().map(|v| rest[*v as usize] + offsets[*v as usize].as_dvec3());
        let motion = fitted.hinge_motion(&rest_chin, &posed.collect::<Vec<DVec3>>());
        let moved = |p: &DVec3| (motion.transform_point3(*p) - *p).as_vec3();
        let offsets: Vec<_> = fitted.anatomy.mandible.surface.positions.iter().map(moved).collect();
        mandible.shapes.push(Shape { name: OPEN.to_owned(), deltas: SparseDeltas::from_dense(&offsets) });
    }
    [fitted.anatomy.cranium.surface.rig_mesh("cranium"), mandible]
}

fn tell(report: &Report) -> anyhow::Result<()> {
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
    writeln!(
        out,
        "tissue         {} inverted tetrahedra, {} inverted prisms",
        report.inverted.fill, report.inverted.prisms
    )?;
    if let Some(path) = &report.glb {
        writeln!(out, "{path}: the rig with cranium and mandible")?;
    }
    Ok(())
}
