//! Reading what the user named: rigs and takes.

use std::path::Path;

use anyhow::{Context, bail};
use zygoma_rig::formats::{self, Limits, ict};
use zygoma_rig::{Rig, Take};

use crate::cli::RigArgs;

/// Reads the rig and picks its skin as asked.
pub(crate) fn read_rig(args: &RigArgs) -> anyhow::Result<Rig> {
    let limits = Limits::default();
    let mut rig = match &args.identity {
        None => formats::read_rig(&args.rig, &limits)?,
        Some(modes) if ict::is_ict(&args.rig) => {
            let identity = ict::parse_identity(modes).context("--identity")?;
            ict::read_rig_with(&args.rig, &ict::IctOptions { identity }, &limits)?
        }
        Some(_) => bail!(
            "{}: --identity is for ICT-FaceKit folders, which hold a generic_neutral_mesh.obj and identity modes",
            args.rig.display()
        ),
    };
    if let Some(name) = &args.mesh {
        rig.choose_skin(name)?;
    }
    Ok(rig)
}

/// Reads a take from a file, or takes the one of that name from the rig.
pub(crate) fn read_take(name: &str, rig: &Rig) -> anyhow::Result<Take> {
    if let Some(take) = rig.takes.iter().find(|take| take.name == name) {
        return Ok(take.clone());
    }
    let path = Path::new(name);
    if path.exists() {
        return Ok(formats::read_take(path, &Limits::default())?);
    }
    let known: Vec<String> = rig.takes.iter().map(|take| format!("'{}'", take.name)).collect();
    if known.is_empty() {
        bail!("{name}: there is no such file, and the rig has no takes of its own");
    }
    bail!("{name}: there is no such file, and the rig's own takes are {}", known.join(", "));
}
