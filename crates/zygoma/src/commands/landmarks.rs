//! `zygoma landmarks`

use std::fmt::Write as _;

use anyhow::bail;
use glam::{DVec3, Vec3};
use serde::Serialize;
use zygoma_face::model::FaceModel;
use zygoma_geometry::rbf::farthest_points;
use zygoma_numerics::Budget;
use zygoma_numerics::random::Keyed;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::{Rig, RigMesh};

use crate::cli::LandmarksArgs;
use crate::commands::{animated, input};

/// Triangles of the coarse skin, which only separates inside from outside here.
const TRIANGLES: usize = 1000;
/// Skin that some shape moves farther than this is tracked, m.
const MOVING: f32 = 1e-3;

#[derive(Serialize)]
struct Summary {
    rig: String,
    out: String,
    take: String,
    points: usize,
    frames: usize,
    noise_mm: f64,
}

pub(crate) fn run(args: &LandmarksArgs) -> anyhow::Result<()> {
    let rig = input::read_rig(&args.rig)?;
    let take = input::read_take(&args.take, &rig, None)?;
    input::check_match(&rig, &args.rig.rig, &take, &args.take)?;
    input::check_length(&take, args.fps)?;
    let points = tracked(&rig, args.points)?;
    let (binding, evaluator) = (Binding::new(&rig, &take), Evaluator::new(rig.skin()));
    let mut weights = vec![0.0; evaluator.shape_count()];
    let mut surface = vec![Vec3::ZERO; rig.skin().positions.len()];
    let mut table = header(&points);
    let frames = take.frame_count(args.fps);
    for frame in 0..frames {
        let seconds = frame as f64 / args.fps;
        binding.weights_at(&take, rig.skin, take.start() + seconds, &mut weights);
        evaluator.evaluate(&weights, &mut surface);
        let noise = Keyed::new(args.seed, frame as u64);
        write!(table, "{seconds:.6}")?;
        for (index, vertex) in (0u64..).zip(&points) {
            let off = |axis: u64| 1e-3 * args.noise * noise.normal(3 * index + axis);
            let at = surface[*vertex as usize].as_dvec3() + DVec3::new(off(0), off(1), off(2));
            write!(table, ",{:.7},{:.7},{:.7}", at.x, at.y, at.z)?;
        }
        table.push('\n');
    }
    animated::make_folder_for(&args.out)?;
    zygoma_files::write(&args.out, table.as_bytes())?;
    let summary = Summary {
        rig: rig.name.clone(),
        out: args.out.display().to_string(),
        take: take.name.clone(),
        points: points.len(),
        frames,
        noise_mm: args.noise,
    };
    if args.json {
        return crate::json::print(&summary);
    }
    println!("{}: {} points in {frames} frames of {}", summary.out, points.len(), summary.take);
    Ok(())
}

/// Vertices spread evenly over the outside of the skin that shapes move.
fn tracked(rig: &Rig, count: usize) -> anyhow::Result<Vec<u32>> {
    let face = FaceModel::of_rig(rig, TRIANGLES, &Budget::default())?;
    let farthest = farthest_moves(rig.skin());
    let moving: Vec<u32> = face.skin.iter().copied().filter(|v| farthest[*v as usize] > MOVING).collect();
    if moving.is_empty() {
        bail!("{}: no shape moves its skin, so there is nothing to track", rig.name);
    }
    let places: Vec<DVec3> = moving.iter().map(|v| face.neutral[*v as usize].as_dvec3()).collect();
    let mut points: Vec<u32> =
        farthest_points(&places, count).into_iter().map(|index| moving[index as usize]).collect();
    points.sort_unstable();
    Ok(points)
}

/// The largest displacement of each vertex by any shape.
fn farthest_moves(skin: &RigMesh) -> Vec<f32> {
    let mut farthest = vec![0.0_f32; skin.positions.len()];
    for shape in &skin.shapes {
        for (vertex, offset) in shape.deltas.vertices.iter().zip(&shape.deltas.offsets) {
            let place = &mut farthest[*vertex as usize];
            *place = place.max(offset.length());
        }
    }
    farthest
}

/// The names of the points, and their vertices.
fn header(points: &[u32]) -> String {
    let names: Vec<String> = points.iter().map(|v| format!("p{v}.x,p{v}.y,p{v}.z")).collect();
    let places: Vec<String> = points.iter().map(|v| format!("#{v},,")).collect();
    format!("time,{}\nrest,{}\n", names.join(","), places.join(","))
}
