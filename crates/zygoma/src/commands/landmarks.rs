//! `zygoma landmarks`

use std::fmt::Write as _;

use anyhow::bail;
use glam::{DVec3, Vec3};
use serde::Serialize;
use zygoma_face::model::FaceModel;
use zygoma_face::retarget::{PointSet, point_name};
use zygoma_geometry::rbf::farthest_points;
use zygoma_numerics::Budget;
use zygoma_numerics::random::Keyed;
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;

use crate::cli::{LandmarksArgs, PointSetArg};
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
    /// The set that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<&'static str>,
    frames: usize,
    noise_mm: f64,
}

pub(crate) fn run(args: &LandmarksArgs) -> anyhow::Result<()> {
    let rig = input::read_rig(&args.rig)?;
    let take = input::read_take(&args.take, &rig, None)?;
    input::check_match(&rig, &args.rig.rig, &take, &args.take)?;
    input::check_length(&take, args.fps)?;
    let points = Points::of(&rig, args)?;
    let (binding, evaluator) = (Binding::new(&rig, &take), Evaluator::new(rig.skin()));
    let mut weights = vec![0.0; evaluator.shape_count()];
    let mut surface = vec![Vec3::ZERO; rig.skin().positions.len()];
    let mut table = points.header(&rig);
    let frames = take.frame_count(args.fps);
    for frame in 0..frames {
        let seconds = frame as f64 / args.fps;
        binding.weights_at(&take, rig.skin, take.start() + seconds, &mut weights);
        evaluator.evaluate(&weights, &mut surface);
        let noise = Keyed::new(args.seed, frame as u64);
        write!(table, "{seconds:.6}")?;
        for (index, vertex) in (0u64..).zip(&points.vertices) {
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
        points: points.vertices.len(),
        set: args.set.map(PointSetArg::name),
        frames,
        noise_mm: args.noise,
    };
    if args.json {
        return crate::json::print(&summary);
    }
    println!("{}: {} points in {frames} frames of {}", summary.out, summary.points, summary.take);
    Ok(())
}

/// Vertices spread evenly over the outside of the skin that shapes move.
pub(crate) fn tracked(rig: &Rig, count: usize) -> anyhow::Result<Vec<u32>> {
    let face = FaceModel::of_rig(rig, TRIANGLES, &Budget::default())?;
    let farthest = rig.skin().farthest_moves();
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

/// The points to write, as vertices of the skin, and their names.
struct Points {
    vertices: Vec<u32>,
    names: Vec<String>,
    /// Whether they belong to a set, which every head has; others are named by their vertices.
    in_set: bool,
}

impl Points {
    fn of(rig: &Rig, args: &LandmarksArgs) -> anyhow::Result<Self> {
        let Some(set) = args.set else {
            let vertices = tracked(rig, args.points)?;
            let names = vertices.iter().map(|v| format!("p{v}")).collect();
            return Ok(Self { vertices, names, in_set: false });
        };
        let found = PointSet::from(set).on_rig(rig)?;
        let (numbers, vertices): (Vec<usize>, Vec<u32>) = found.into_iter().unzip();
        Ok(Self { vertices, names: numbers.into_iter().map(point_name).collect(), in_set: true })
    }

    /// The first two rows: names, and places at rest. Points of a set have positions there, since others may have tracked them.
    fn header(&self, rig: &Rig) -> String {
        let names: Vec<String> =
            self.names.iter().map(|name| format!("{name}.x,{name}.y,{name}.z")).collect();
        let place = |v: &u32| match self.in_set {
            true => {
                let at = rig.skin().positions[*v as usize];
                format!("{:.7},{:.7},{:.7}", at.x, at.y, at.z)
            }
            false => format!("#{v},,"),
        };
        let places: Vec<String> = self.vertices.iter().map(place).collect();
        format!("time,{}\nrest,{}\n", names.join(","), places.join(","))
    }
}
