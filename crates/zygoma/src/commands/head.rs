//! `zygoma head`

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use zygoma_head::anatomy::Anatomy;
use zygoma_head::dials::DIALS;
use zygoma_head::{Hair, Head, HeadOptions, Level};
use zygoma_rig::formats::{gltf, obj};

use crate::cli::{HeadArgs, HeadHair, HeadLevel};
use crate::commands::animated;

pub(crate) fn run(args: &HeadArgs) -> anyhow::Result<()> {
    match &args.out {
        Some(out) => write_head(args, out),
        None => list_dials(),
    }
}

fn write_head(args: &HeadArgs, out: &Path) -> anyhow::Result<()> {
    let mut options = HeadOptions::sampled(args.seed, level(args.level));
    options.hair = args.hair.map(hair);
    for dial in &args.dials {
        let Some((name, value)) = dial.split_once('=') else {
            bail!("--dial {dial}: write it as NAME=VALUE, for example jaw_width=0.5");
        };
        let value = value.parse().with_context(|| format!("--dial {dial}: '{value}' is not a number"))?;
        options.dials.set(name, value)?;
    }
    let head = Head::new(&options);
    let mut rig = head.rig();
    if args.with_anatomy {
        rig.meshes.extend(Anatomy::new(&head).rig_meshes(&head));
    }
    animated::make_folder_for(out)?;
    match out.extension() {
        None => obj::write_rig(&rig, out)?,
        Some(extension) if extension.eq_ignore_ascii_case("glb") => gltf::write_rig(&rig, out)?,
        Some(_) => bail!("{}: a head is written as a .glb file or a folder of OBJs", out.display()),
    }
    let skin = rig.skin();
    println!("{}: {} vertices, {} shapes", out.display(), skin.positions.len(), skin.shapes.len());
    Ok(())
}

pub(crate) fn level(level: HeadLevel) -> Level {
    match level {
        HeadLevel::Low => Level::Low,
        HeadLevel::Middle => Level::Middle,
        HeadLevel::High => Level::High,
    }
}

fn hair(style: HeadHair) -> Hair {
    match style {
        HeadHair::Short => Hair::Short,
        HeadHair::Long => Hair::Long,
        HeadHair::Tied => Hair::Tied,
        HeadHair::Bald => Hair::Bald,
    }
}

fn list_dials() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for dial in &DIALS {
        writeln!(out, "{:<20} {}", dial.name, dial.about)?;
    }
    Ok(())
}
