//! Reading the rigs and takes that the user named.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde::de::DeserializeOwned;
use zygoma_face::model::FaceModel;
use zygoma_numerics::Checked;
use zygoma_rig::binding::Binding;
use zygoma_rig::formats::{self, Limits, ict};
use zygoma_rig::name_map::NameMap;
use zygoma_rig::suggest::suggest;
use zygoma_rig::up::{self, Up};
use zygoma_rig::{JointRole, Rig, Take, gaze, report};

use crate::cli::{ReadingArgs, RigArgs, UpAxis};

/// Default number of triangles of the simulated skin.
pub(crate) const TRIANGLES: usize = 4000;

/// Reads the rig and picks its skin as asked; prints warnings that its user should know.
pub(crate) fn read_rig(args: &RigArgs) -> anyhow::Result<Rig> {
    let rig = read_rig_quietly(args)?;
    let turned = rig.notes.iter().filter(|note| *note == up::TURNED);
    turned.for_each(|note| eprintln!("note: {note}"));
    report::warnings(&rig).iter().for_each(|warning| eprintln!("note: {warning}"));
    Ok(rig)
}

/// [`read_rig`] without warnings, for a command that reports everything anyway.
pub(crate) fn read_rig_quietly(args: &RigArgs) -> anyhow::Result<Rig> {
    let limits = Limits::default();
    let mut rig = match (&args.reading.identity, args.reading.up) {
        (None, None) => formats::read_rig(&args.rig, &limits)?,
        (None, Some(UpAxis::Y)) => formats::read_rig_with_up(&args.rig, Up::Y, &limits)?,
        (None, Some(UpAxis::Z)) => formats::read_rig_with_up(&args.rig, Up::Z, &limits)?,
        (Some(modes), _) if ict::is_ict(&args.rig) => {
            let identity = ict::parse_identity(modes).context("--identity")?;
            ict::read_rig_with(&args.rig, &ict::IctOptions { identity }, &limits)?
        }
        (Some(_), _) => bail!(
            "{}: --identity is for ICT-FaceKit folders, which hold a generic_neutral_mesh.obj and identity modes",
            args.rig.display()
        ),
    };
    if let Some(name) = &args.reading.mesh {
        rig.choose_skin(name)?;
    }
    Ok(rig)
}

/// Parameters from a TOML file, each within its range; the defaults without one.
pub(crate) fn read_params<T: DeserializeOwned + Default + Checked>(path: Option<&Path>) -> anyhow::Result<T> {
    let Some(path) = path else { return Ok(T::default()) };
    let params: T = read_toml(path)?;
    params.check().with_context(|| path.display().to_string())?;
    Ok(params)
}

pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = zygoma_files::read_text(path, Limits::default().script_bytes)?;
    zygoma_face::run::toml_file::parse(&text).map_err(|problem| anyhow!("{}: {problem}", path.display()))
}

/// Finds the rig that a face was built from: the one that is named, or the one that the face remembers, in its old place or beside
/// the face file.
pub(crate) fn read_origin(face: &FaceModel, file: &Path, named: Option<&Path>) -> anyhow::Result<Rig> {
    let found = named.map(Path::to_owned).or_else(|| remembered(face, file));
    let Some(path) = found else {
        match &face.origin.path {
            Some(path) => bail!(
                "{}: the rig that it was built from, {path}, is not there any more; say where it is with --rig",
                file.display()
            ),
            None => bail!(
                "{}: it does not say which rig it was built from; name the rig with --rig",
                file.display()
            ),
        }
    };
    let identity = face.origin.identity.clone().filter(|_| ict::is_ict(&path));
    // It may have been read with another up axis than its shapes suggest.
    for up in [None, Some(UpAxis::Z), Some(UpAxis::Y)] {
        let reading = ReadingArgs { mesh: None, identity: identity.clone(), up };
        let args = RigArgs { rig: path.clone(), reading };
        let mut rig = read_rig_quietly(&args)?;
        let own = rig.meshes.iter().position(|mesh| mesh.name == face.mesh && face.origin.is(mesh));
        let Some(own) = own.or_else(|| rig.meshes.iter().position(|mesh| face.origin.is(mesh))) else {
            continue;
        };
        rig.skin = own;
        if rig.skin().positions.len() != face.vertex_count() || rig.skin().shapes.len() != face.shapes.len() {
            bail!("{}: its mesh '{}' is not the one in {}", path.display(), rig.skin().name, file.display());
        }
        return Ok(rig);
    }
    bail!(
        "{}: this is not the rig that {} was built from, or it has changed since; build the face again, or name the \
         right rig with --rig",
        path.display(),
        file.display()
    )
}

/// Where the rig is that a face was built from.
fn remembered(face: &FaceModel, file: &Path) -> Option<PathBuf> {
    let path = PathBuf::from(face.origin.path.as_ref()?);
    let beside = file.with_file_name("");
    let candidates =
        [Some(path.clone()), Some(beside.join(&path)), path.file_name().map(|name| beside.join(name))];
    candidates.into_iter().flatten().find(|path| path.exists())
}

/// Reads a take and adapts it to the rig: renames tracks by a map, and turns eyes only once. Prints what was changed.
pub(crate) fn read_take(name: &str, rig: &Rig, map: Option<&Path>) -> anyhow::Result<Take> {
    let mut take = find_take(name, rig)?;
    if let Some(path) = map {
        let map: NameMap = read_toml(path)?;
        take = map.apply(rig, &take).with_context(|| path.display().to_string())?;
    }
    if !rig.takes.contains(&take) {
        gaze::settle(rig, &mut take).iter().for_each(|note| eprintln!("note: {note}"));
    }
    Ok(take)
}

/// A take with a moving head and fewer tracks than this is about the head, and need not move the face. Ours: the built-in shake has two.
const FEW_TRACKS: usize = 5;

/// Refuses a take of which no track drives any shape, and suggests a remedy. `path` is where the rig is.
pub(crate) fn check_match(rig: &Rig, path: &Path, take: &Take, name: &str) -> anyhow::Result<()> {
    let tracks = take.weights.len();
    let has_shapes = rig.meshes.iter().any(|mesh| !mesh.shapes.is_empty());
    let is_head_motion = take.motion(JointRole::Head).is_some() && tracks < FEW_TRACKS;
    if tracks == 0 || !has_shapes || is_head_motion || Binding::new(rig, take).unmatched.len() < tracks {
        return Ok(());
    }
    let suggested = suggest(rig, take).iter().filter(|suggestion| !suggestion.shapes.is_empty()).count();
    let names: Vec<&str> = take.weights.iter().take(3).map(|track| track.shape.as_str()).collect();
    bail!(
        "none of the {tracks} tracks of the take '{name}' ({}, ...) has the name of a shape of {}; 'zygoma info {} --take {name} \
         --write-map names.toml' suggests names for {suggested} of them: look these over and add --map names.toml",
        names.join(", "),
        rig.name,
        path.display()
    )
}

/// Reads a take from a file, or takes the one of that name from the rig, or a built-in one.
pub(crate) fn find_take(name: &str, rig: &Rig) -> anyhow::Result<Take> {
    if let Some(take) = rig.takes.iter().find(|take| take.name == name) {
        return Ok(take.clone());
    }
    let path = Path::new(name);
    if path.exists() {
        let mut take = formats::read_take(path, &Limits::default())?;
        take.turn_at_joints_of(rig);
        return Ok(take);
    }
    let built_in = zygoma_head::built_in_takes();
    if let Some(take) = built_in.iter().find(|take| take.name == name) {
        return Ok(about_the_pivot(take, rig));
    }
    let list = |takes: &[Take]| {
        takes.iter().map(|take| format!("'{}'", take.name)).collect::<Vec<String>>().join(", ")
    };
    if rig.takes.is_empty() {
        bail!("{name}: there is no such file, and the built-in takes are {}", list(&built_in));
    }
    bail!(
        "{name}: there is no such file; the rig's own takes are {}, and the built-in ones {}",
        list(&rig.takes),
        list(&built_in)
    );
}

/// Maximum number of frames to simulate or write: hours of a take.
const MOST_FRAMES: f64 = 1e6;

/// Refuses a take that is too long at this frame rate.
pub(crate) fn check_length(take: &Take, fps: f64) -> anyhow::Result<()> {
    if take.duration() * fps <= MOST_FRAMES {
        return Ok(());
    }
    bail!(
        "the take '{}' has more than {MOST_FRAMES} frames at {fps} fps; choose a lower --fps or a shorter take",
        take.name
    )
}

/// A built-in take whose head rotates about the rig's pivot.
fn about_the_pivot(take: &Take, rig: &Rig) -> Take {
    let mut take = take.clone();
    for track in &mut take.motions {
        let pivot = rig.pivot(track.role).unwrap_or_default();
        for motion in &mut track.motions {
            motion.translation += pivot - motion.rotation * pivot;
        }
    }
    take
}
