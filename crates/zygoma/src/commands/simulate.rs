//! `zygoma simulate`

use std::io::Write;
use std::time::Instant;

use anyhow::bail;
use serde::Serialize;
use zygoma_face::interactive::{Face, InteractiveFace, RunParams};
use zygoma_geometry::Faces;
use zygoma_rig::binding::Binding;
use zygoma_rig::formats::{self, Limits, caches};
use zygoma_rig::frames::StoredFrames;
use zygoma_rig::{JointRole, Rig, RigMesh, Shape, Source, SparseDeltas, Units};

use crate::cli::SimulateArgs;
use crate::progress::Progress;

/// What a simulation did.
#[derive(Serialize)]
struct Summary {
    out: String,
    frames: usize,
    milliseconds_per_frame: f64,
    stages_ms: StagesMs,
}

/// Mean milliseconds per frame, by stage.
#[derive(Default, Serialize)]
struct StagesMs {
    rig: f64,
    gradient: f64,
    solve: f64,
    constraints: f64,
    warp: f64,
}

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<()> {
    let extension = args.out.extension().map(|e| e.to_string_lossy().to_lowercase());
    let write = match extension.as_deref() {
        Some("pc2") => caches::write_pc2,
        Some("mdd") => caches::write_mdd,
        _ => bail!("{}: name a .pc2 or .mdd file", args.out.display()),
    };
    let face = Face::read(&args.face)?;
    let take = formats::read_take(&args.take, &Limits::default())?;
    let rig = stand_in(&face);
    let binding = Binding::new(&rig, &take);
    let head = take.motions.iter().find(|track| track.role == JointRole::Head);
    let mut running = InteractiveFace::new(&face, RunParams::default())?;
    let count = take.frame_count(args.fps);
    let mut frames = StoredFrames::new(args.fps, face.vertex_count());
    let mut weights = vec![0.0; face.shapes.len()];
    let mut stages = StagesMs::default();
    let mut bar = Progress::new("simulating", count);
    let mut busy = 0.0;
    for frame in 0..count {
        let time = take.start() + frame as f64 / args.fps;
        binding.weights_at(&take, 0, time, &mut weights);
        running.set_weights(&weights);
        if let Some(pose) = head.and_then(|track| track.sample(time)) {
            running.set_head_pose(&pose);
        }
        let began = Instant::now();
        frames.push(running.advance(1.0 / args.fps).positions);
        busy += began.elapsed().as_secs_f64();
        let spent = running.stages();
        let share = 1e3 / count as f64;
        stages.rig += share * spent.rig.as_secs_f64();
        stages.gradient += share * spent.gradient.as_secs_f64();
        stages.solve += share * spent.solve.as_secs_f64();
        stages.constraints += share * spent.constraints.as_secs_f64();
        stages.warp += share * spent.warp.as_secs_f64();
        bar.set(frame + 1);
    }
    drop(bar);
    write(rig.skin(), &mut frames, &args.out)?;
    let summary = Summary {
        out: args.out.display().to_string(),
        frames: count,
        milliseconds_per_frame: 1e3 * busy / count.max(1) as f64,
        stages_ms: stages,
    };
    if args.json {
        return crate::json::print(&summary);
    }
    writeln!(
        std::io::stdout(),
        "{}: {} frames, {:.2} ms each",
        summary.out,
        summary.frames,
        summary.milliseconds_per_frame
    )?;
    Ok(())
}

/// A rig with the face's mesh and the names of its shapes: what takes are bound to and caches are written for.
fn stand_in(face: &Face) -> Rig {
    let height = face.height as f32;
    let shape = |name: &String| Shape { name: name.clone(), deltas: SparseDeltas::default() };
    let mesh = RigMesh {
        name: face.mesh.clone(),
        positions: face.neutral.iter().map(|p| height * *p).collect(),
        faces: Faces::from_triangles(&face.triangles),
        uvs: None,
        shapes: face.shapes.iter().map(|s| shape(&s.name)).collect(),
        regions: Vec::new(),
        to_rig: glam::DAffine3::IDENTITY,
        quantum: 1e-6 * height,
    };
    Rig {
        name: face.name.clone(),
        meshes: vec![mesh],
        skin: 0,
        expressions: Vec::new(),
        joints: Vec::new(),
        takes: Vec::new(),
        units: Units { metres_per_unit: 1.0, reason: "a face file is in metres".into() },
        notes: Vec::new(),
        source: Source::Generated { texture: None },
    }
}
