//! The command line: commands and flags, with their help.

mod bench;
mod make;
mod simulate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use bench::*;
pub(crate) use make::*;
pub(crate) use simulate::*;

/// Physics for the face rigs that artists already have.
#[derive(Debug, Parser)]
#[command(name = "zygoma", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print more: files read, names matched and choices made.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(InfoArgs),
    Convert(ConvertArgs),
    Head(HeadArgs),
    Anatomy(AnatomyArgs),
    Build(BuildArgs),
    Correct(CorrectArgs),
    Retarget(RetargetArgs),
    Landmarks(LandmarksArgs),
    Samples(SamplesArgs),
    Simulate(Box<SimulateArgs>),
    Demo(DemoArgs),
    #[cfg(feature = "view")]
    View(ViewArgs),
    Bench(BenchArgs),
    Completions(CompletionsArgs),
}

/// Which rig, and how to read it.
#[derive(Debug, Args)]
pub(crate) struct RigArgs {
    /// The rig: .glb, .gltf, .vrm, .obj, a folder of OBJs (a neutral and one per shape), or an ICT-FaceKit folder.
    pub(crate) rig: PathBuf,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// Dials of an anatomical face.
#[derive(Debug, Args)]
pub(crate) struct DialArgs {
    /// Set a dial of an anatomical face, such as fat=0.2 or palsy=left:0.8, or only around a place, with a radius in mm, as fat=0.4@cheek-left:20;
    /// may be given several times: see docs/anatomical.md.
    #[arg(long = "dial", value_name = "NAME=VALUE")]
    pub(crate) dials: Vec<String>,

    /// Set that dial only where a picture is white, by the rig's texture coordinates, as fat=cheeks.png; may be given for several dials.
    #[arg(long = "mask", value_name = "NAME=PNG")]
    pub(crate) masks: Vec<String>,
}

impl DialArgs {
    /// Whether none is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.dials.is_empty() && self.masks.is_empty()
    }
}

/// How to read a rig.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReadingArgs {
    /// The mesh to simulate, by name, instead of the one that moves most.
    #[arg(long, value_name = "NAME")]
    pub(crate) mesh: Option<String>,

    /// Identity modes of an ICT-FaceKit folder, e.g. 0=1.2,3=-0.5.
    #[arg(long, value_name = "MODES")]
    pub(crate) identity: Option<String>,

    /// Which axis of the file points up, instead of the one detected from the rig's shapes or from a head on its neck.
    #[arg(long, value_name = "AXIS")]
    pub(crate) up: Option<UpAxis>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UpAxis {
    /// The face looks towards +Z, as in glTF.
    Y,
    /// The face looks towards -Y, as in Blender.
    Z,
}

/// Show what is in a rig, a take or a face, and what may trouble a simulation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma info face.glb\n  zygoma info ICT/FaceXModel --json\n  \
                        zygoma info face.glb --sheet shapes.png\n  zygoma info take.csv\n  zygoma info face.safetensors\n  \
                        zygoma info face.glb --take MySlate_1.csv --write-map names.toml")]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Draw every shape at weight 1 and write the sheet to this PNG file.
    #[arg(long, value_name = "PNG")]
    pub(crate) sheet: Option<PathBuf>,

    /// Show how this take fits the rig: its rate and peaks, tracks that drive nothing, and a name map that would let them drive shapes.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: Option<String>,

    /// Write the suggested map to this file, for --map of other commands.
    #[arg(long, value_name = "FILE", requires = "take")]
    pub(crate) write_map: Option<PathBuf>,
}

/// How animated surfaces are written.
#[derive(Debug, Args)]
pub(crate) struct AnimatedArgs {
    /// Largest distance in millimetres (at life size) between an animated GLB's surface and the true one.
    #[arg(long, value_name = "MM", default_value_t = 0.05, value_parser = positive_number)]
    pub(crate) max_error: f64,

    /// Maximum number of new morph targets of an animated GLB, whatever error that leaves.
    #[arg(long, value_name = "N")]
    pub(crate) max_targets: Option<usize>,

    /// Keep the rig's own shapes in an animated GLB and animate their weights; corrective targets add the
    /// difference. The file's other clips then keep the face as well.
    #[arg(long)]
    pub(crate) keep_shapes: bool,

    /// Apply the take's head motion to the surface too, instead of staying in the head's frame (a .glb always
    /// moves the head).
    #[arg(long)]
    pub(crate) head_motion: bool,
}

/// Convert a rig, or a rig performing a take, to another format.
#[derive(Debug, Args)]
#[command(
    long_about = "Convert a rig, or a rig performing a take, to another format.\n\n\
        Without --take, OUT is a rig: a .glb, or a folder of OBJs. An avatar comes back whole: skeleton, skin weights, \
        materials, textures, other meshes and unknown extensions are kept.\n\
        With --take, OUT is an animated face: .glb (its surfaces compressed to few morph targets), .pc2, .mdd, .usda, \
        or a folder of OBJs, one per frame. Caches and USD hold every mesh that moves, in metres: see docs/caches.md.",
    after_help = "Examples:\n  zygoma convert ICT/FaceXModel head.glb\n  zygoma convert face.glb face_objs/\n  \
        zygoma convert packed.glb for_blender.glb --plain\n  \
        zygoma convert face.glb played.glb --take MySlate_1.csv\n  \
        zygoma convert face.glb face.pc2 --take 'Take 001' --fps 30\n  \
        zygoma convert face.glb played.glb --take MySlate_1.csv --map names.toml --keep-shapes"
)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// Where to write: a file whose extension gives the format, or a folder for OBJs.
    pub(crate) out: PathBuf,

    /// The take to perform: a Live Link Face or plain CSV file, a .glb, the name of a take in the rig, or one of the
    /// built-in takes tour, speech, shake and run.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: Option<String>,

    /// Which tracks of takes drive which shapes of the rig, as a TOML file: see docs/names.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Frames per second of an animated output.
    #[arg(long, default_value_t = 60.0, value_parser = positive_number)]
    pub(crate) fps: f64,

    #[command(flatten)]
    pub(crate) animated: AnimatedArgs,

    /// Write a GLB without meshopt compression, for programs that lack it, such as Blender (an animated GLB never
    /// has it).
    #[arg(long)]
    pub(crate) plain: bool,

    /// Print what was written as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what zygoma does, on its built-in head: writes an animated GLB and a report with pictures.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  zygoma demo -o my-demo")]
pub(crate) struct DemoArgs {
    /// Folder for the files that the demo writes.
    #[arg(short, long, default_value = "zygoma-demo")]
    pub(crate) out: PathBuf,
}

/// See a face perform and touch it, in the browser.
#[cfg(feature = "view")]
#[derive(Debug, Args)]
#[command(
    long_about = "See a face perform and touch it, in the browser.\n\n\
        Shows the built-in head, or a rig or face of yours; another one can be dropped onto the page. The simulation runs in \
        this process, which serves the page to this machine only. Ctrl-C ends it.",
    after_help = "Examples:\n  zygoma view\n  zygoma view face.glb\n  zygoma view face.safetensors --port 8000 --no-open"
)]
pub(crate) struct ViewArgs {
    /// The rig or face to show; the built-in head when none is given.
    #[arg(value_name = "RIG|FACE")]
    pub(crate) file: Option<PathBuf>,

    /// A TOML file that maps each track of a take to shapes, for rigs with their own names.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// The port to serve on; 7423, or a free one, when none is given.
    #[arg(long)]
    pub(crate) port: Option<u16>,

    /// Do not open the browser.
    #[arg(long)]
    pub(crate) no_open: bool,

    /// The address to serve on. Any but the loopback address lets others on the network use the viewer.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  zygoma completions bash > ~/.local/share/bash-completion/completions/zygoma"
)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

/// A number from 0 to 1.
fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("it must be a number from 0 to 1".to_owned()),
    }
}

/// A length or an amount that may be 0.
fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number of at least 0".to_owned()),
    }
}

fn positive_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}
