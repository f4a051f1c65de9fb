//! `zygoma demo`

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_picture::{Image, Report, View, grid};
use zygoma_rig::bake::{BakeOptions, Baked, bake};
use zygoma_rig::evaluate::Performance;
use zygoma_rig::formats::gltf;
use zygoma_rig::{Rig, Take};

use crate::anatomy_pictures::anatomy_sheet;
use crate::cli::DemoArgs;
use crate::pictures::Portrait;
use crate::progress::Progress;

/// Frames per second of the animated GLB.
const FPS: f64 = 60.0;
/// Heads on the sheet of people.
const PEOPLE: u64 = 24;
/// Pixels of one picture on a sheet.
const THUMBNAIL: usize = 200;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let folder = args.out.as_path();
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: creating the folder failed", folder.display()))?;
    let head = Head::new(&HeadOptions::default());
    let rig = head.rig();
    let take = rig.takes.first().context("the built-in head has no take")?;
    let baked = write_animation(&rig, take, &folder.join("head.glb"))?;
    let mut report = Report::new("zygoma: the built-in head");
    report.paragraph(&summary(&rig, take, &baked));
    add_portraits(&mut report, &rig, folder)?;
    report
        .section("The anatomy")
        .figure(&anatomy_sheet(&head, 2 * THUMBNAIL)?, "What lies under the skin.")?;
    add_people(&mut report)?;
    report.save(&folder.join("report.html"))?;
    println!("the built-in head performs in {}", folder.join("head.glb").display());
    println!("pictures and figures are in {}", folder.join("report.html").display());
    println!("done in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The head performing its tour, as a GLB.
fn write_animation(rig: &Rig, take: &Take, path: &Path) -> anyhow::Result<Baked> {
    let mut performance = Performance::new(rig, rig.skin, take, FPS);
    let renamed = performance.binding().renamed(rig, take);
    let baked = bake(rig.skin(), &mut performance, take.start(), &BakeOptions::default())?;
    gltf::write_animated(rig, &baked.animation, &renamed, false, path)?;
    Ok(baked)
}

fn summary(rig: &Rig, take: &Take, baked: &Baked) -> String {
    let skin = rig.skin();
    format!(
        "{} vertices, {} shapes. The take “{}” lasts {:.1} s; head.glb plays it with {} morph targets, at most {:.3} mm \
         from the rig.",
        skin.positions.len(),
        skin.shapes.len(),
        take.name,
        take.duration(),
        baked.animation.targets.len(),
        baked.max_error * 1e3
    )
}

fn add_portraits(report: &mut Report, rig: &Rig, folder: &Path) -> anyhow::Result<()> {
    let portrait = Portrait::new(rig)?;
    let views = [
        ("front", View::FRONT),
        ("three-quarter", View::THREE_QUARTER),
        ("side", View::SIDE),
        ("from below", View::BELOW),
    ];
    let smile = [
        ("mouthSmileLeft", 0.8),
        ("mouthSmileRight", 0.8),
        ("cheekSquintLeft", 0.5),
        ("cheekSquintRight", 0.5),
    ];
    let mut pictures: Vec<(Image, &str)> = Vec::new();
    for (name, view) in views {
        pictures.push((portrait.draw(&[], view, 2 * THUMBNAIL)?, name));
    }
    pictures.push((portrait.draw(&smile, View::THREE_QUARTER, 2 * THUMBNAIL)?, "a smile"));
    let sheet = grid(&pictures, 5);
    sheet.save(&folder.join("head.png"))?;
    report.section("The head").figure(&sheet, "The head as it was sculpted, and smiling.")?;
    let mut progress = Progress::new("drawing shapes", rig.skin().shapes.len());
    let shapes = portrait.shape_sheet(THUMBNAIL, |done| progress.set(done))?;
    report.section("The 52 ARKit shapes").figure(&shapes, "Every shape at weight 1.")?;
    Ok(())
}

/// Different people from two sides.
fn add_people(report: &mut Report) -> anyhow::Result<()> {
    let mut progress = Progress::new("drawing people", PEOPLE as usize);
    let mut pictures = Vec::new();
    for seed in 1..=PEOPLE {
        let rig = Head::new(&HeadOptions::sampled(seed, Level::Middle)).rig();
        let portrait = Portrait::new(&rig)?;
        pictures.push((portrait.draw(&[], View::FRONT, THUMBNAIL)?, format!("seed {seed}")));
        pictures.push((portrait.draw(&[], View::THREE_QUARTER, THUMBNAIL)?, String::new()));
        progress.set(seed as usize);
    }
    report
        .section("Other people")
        .figure(&grid(&pictures, 8), "Heads sampled by seed, each from two sides.")?;
    Ok(())
}
