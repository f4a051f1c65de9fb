//! `zygoma correct`

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, bail};
use glam::Vec3;
use serde::Serialize;
use zygoma_face::anatomical::{Anatomical, AnatomicalParams, Corrected, Dials};
use zygoma_face::model::{Continue, FaceModel};
use zygoma_picture::{Image, View, grid};
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::{gltf, obj};
use zygoma_rig::{Rig, RigMesh, SparseDeltas, arkit};

use crate::cli::{AnatomyArg, CorrectArgs};
use crate::commands::animated::{self, Format};
use crate::commands::input;
use crate::commands::simulate::WantedDials;
use crate::commands::simulate::anatomical::{self, TissueVolumes};
use crate::pictures::Portrait;
use crate::progress::Progress;

/// Default number of triangles of the face's own coarse skin.
const TRIANGLES: usize = 4000;
/// Offsets below this are rounding of the solve, m.
const UNMOVED: f32 = 5e-6;

#[derive(Serialize)]
struct Summary {
    rig: String,
    out: String,
    shapes: usize,
    dials: Dials,
    /// Volumes before and after the dials were set.
    tissue_ml: [TissueVolumes; 2],
    /// Distance of the corrected neutral from the rig's.
    neutral_mm: Distances,
    /// Distance of each corrected shape from the rig's, with its neutral's difference taken away.
    shapes_mm: Distances,
    seconds: f64,
}

#[derive(Serialize)]
struct Distances {
    mean: f64,
    worst: f64,
}

impl Distances {
    fn of(distances: impl Iterator<Item = f32>) -> Self {
        let (mut sum, mut worst, mut count) = (0.0, 0.0_f32, 0_usize);
        for distance in distances {
            sum += f64::from(distance);
            worst = worst.max(distance);
            count += 1;
        }
        Self { mean: 1e3 * sum / count.max(1) as f64, worst: 1e3 * f64::from(worst) }
    }
}

pub(crate) fn run(args: &CorrectArgs) -> anyhow::Result<()> {
    let began = Instant::now();
    let format = Format::of(&args.out)?;
    if !matches!(format, Format::Glb | Format::ObjFolder) {
        bail!("{}: a rig is written as a .glb file or a folder of OBJs", args.out.display());
    }
    let wanted = WantedDials::read(&args.dials)?;
    let params: AnatomicalParams = input::read_params(args.params.as_deref())?;
    let rig = input::read_rig(&args.rig)?;
    let named = || args.rig.rig.display().to_string();
    let face =
        anatomical::face_of(&rig, args.triangles.unwrap_or(TRIANGLES), args.no_cache, &AnatomyArg::Auto)
            .with_context(named)?;
    let dials = wanted.on(&face, &rig)?;
    let plain_head = anatomical::build(&face, &params, &Dials::default()).with_context(named)?;
    let before = TissueVolumes::of(&plain_head);
    let head = if dials == Dials::default() {
        plain_head.clone()
    } else {
        plain_head.with_dials(&dials).with_context(named)?.into()
    };
    let mut bar = Progress::new("solving every shape", face.shapes.len());
    let corrected = Corrected::new(&head, &face, &mut |done| {
        bar.set(done);
        Continue::Yes
    });
    drop(bar);
    let Some(corrected) = corrected.with_context(named)? else { bail!("the correction was cancelled") };
    let skin = rig.skin();
    let shape_distances = skin.shapes.iter().zip(&corrected.shapes).flat_map(|(shape, offsets)| {
        let own = shape.deltas.to_dense(offsets.len());
        own.into_iter().zip(offsets).map(|(a, b)| a.distance(*b)).collect::<Vec<_>>()
    });
    let neutral_distances = skin.positions.iter().zip(&corrected.neutral).map(|(a, b)| a.distance(*b));
    let mut summary = Summary {
        rig: rig.name.clone(),
        out: args.out.display().to_string(),
        shapes: corrected.shapes.len(),
        dials: dials.clone(),
        tissue_ml: [before, TissueVolumes::of(&head)],
        neutral_mm: Distances::of(neutral_distances),
        shapes_mm: Distances::of(shape_distances),
        seconds: 0.0,
    };
    let written = baked(&rig, &corrected, (&*plain_head, &dials), &face);
    animated::make_folder_for(&args.out)?;
    match format {
        Format::ObjFolder => obj::write_rig(&written, &args.out)?,
        _ => gltf::write_reshaped(&rig, &written, &args.out)?,
    }
    if let Some(path) = &args.sheet {
        sheet(&rig, &written)?.save(path)?;
    }
    summary.seconds = began.elapsed().as_secs_f64();
    print(&summary, args.json)
}

/// The rig with the corrected skin. Lashes, beards and glasses follow a changed neutral, teeth and eyes follow changed bones.
fn baked(rig: &Rig, corrected: &Corrected, (head, dials): (&Anatomical, &Dials), face: &FaceModel) -> Rig {
    let mut baked = rig.clone();
    if dials.changes_bones() {
        (0..rig.meshes.len()).filter(|mesh| *mesh != rig.skin).for_each(|mesh| {
            follow_bones(&mut baked.meshes[mesh], (head, dials), face);
        });
    }
    let still = vec![0.0; rig.skin().shapes.len()];
    for rider in Followers::new(rig).riders() {
        rider.ride(&still, &corrected.neutral, &mut baked.meshes[rider.mesh()].positions);
    }
    let skin = &mut baked.meshes[rig.skin];
    skin.positions.clone_from(&corrected.neutral);
    let deltas = |offsets: &[Vec3]| {
        let still = |offset: &Vec3| if offset.length() < UNMOVED { Vec3::ZERO } else { *offset };
        SparseDeltas::from_dense(&offsets.iter().map(still).collect::<Vec<_>>())
    };
    for (shape, offsets) in skin.shapes.iter_mut().zip(&corrected.shapes) {
        shape.deltas = deltas(offsets);
    }
    baked
}

/// Moves a mesh inside the head, such as teeth, gums, tongue or eyes, as the bones below it: the more its own jawOpen moves a vertex, the more is it
/// on the jaw.
fn follow_bones(mesh: &mut RigMesh, (head, dials): (&Anatomical, &Dials), face: &FaceModel) {
    let [low, high] =
        face.neutral.iter().fold([Vec3::MAX, Vec3::MIN], |[low, high], p| [low.min(*p), high.max(*p)]);
    let is_inside = |p: &Vec3| p.cmpge(low).all() && p.cmple(high).all();
    if !mesh.positions.iter().all(is_inside) {
        return;
    }
    let is_open = |name: &str| arkit::is(name, "jawOpen");
    let weights: Vec<f32> =
        face.shapes.iter().map(|shape| f32::from(u8::from(is_open(&shape.name)))).collect();
    let pose = head.jaw_pose(&weights);
    let opening = mesh.shapes.iter().find(|shape| is_open(&shape.name));
    let opening = opening.map(|shape| shape.deltas.to_dense(mesh.positions.len()));
    for (v, p) in mesh.positions.iter_mut().enumerate() {
        let at = p.as_dvec3();
        let whole = pose.apply(at).distance(at);
        let moved = opening.as_ref().map_or(0.0, |opening| f64::from(opening[v].length()));
        let on_jaw = if whole > 0.0 { (moved / whole).min(1.0) } else { 0.0 };
        *p = head.on_bone(dials, at, on_jaw).as_vec3();
    }
}

/// Expressions that show most of what dials do.
const SHOWN: [&[(&str, f32)]; 4] =
    [&[], &[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)], &[("jawOpen", 1.0)], &[("mouthPucker", 1.0)]];

/// The rig above and the corrected rig below it, from the front and then from the side.
fn sheet(plain: &Rig, corrected: &Rig) -> anyhow::Result<Image> {
    const SIZE: usize = 420;
    let mut pictures = Vec::new();
    for view in [View::FRONT, View::THREE_QUARTER] {
        for rig in [plain, corrected] {
            let portrait = Portrait::new(rig)?;
            for weights in SHOWN {
                pictures.push((portrait.draw(weights, view, SIZE)?, ""));
            }
        }
    }
    Ok(grid(&pictures, SHOWN.len()))
}

fn print(summary: &Summary, json: bool) -> anyhow::Result<()> {
    if json {
        return crate::json::print(summary);
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} → {}: {} shapes in {:.1} s; they differ from the rig's by {:.2} mm on average, {:.1} mm at most",
        summary.rig,
        summary.out,
        summary.shapes,
        summary.seconds,
        summary.shapes_mm.mean,
        summary.shapes_mm.worst
    )?;
    Ok(())
}
