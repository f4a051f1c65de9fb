//! Arguments of the commands that make heads, faces and rigs.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use zygoma_face::retarget::PointSet;
use zygoma_head::fit::Fat;

use super::{AnimatedArgs, DialArgs, RigArgs, not_negative, positive_number};

/// Make a rig ready to be touched, once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma build face.glb -o face.safetensors\n  \
                        zygoma build face.glb -o face.safetensors --take MySlate_1.csv --report page\n  \
                        zygoma build ICT/FaceXModel -o ict.safetensors --triangles 8000 --fit-seconds 30\n  \
                        zygoma build face.glb -o preview.safetensors --quick\n  \
                        zygoma build face.glb -o face.safetensors --for shell,tissue")]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// The face file to write.
    #[arg(short, long, value_name = "FACE")]
    pub(crate) out: PathBuf,

    /// Bodies that the face is built for: the fit of a shell takes a minute, tissue some seconds.
    #[arg(long = "for", value_name = "BODY", value_delimiter = ',', default_value = "shell")]
    pub(crate) bodies: Vec<BuildFor>,

    /// Triangles of the simulated skin [default: 4000].
    #[arg(long)]
    pub(crate) triangles: Option<usize>,

    /// Parameters of the build, as a TOML file; flags take precedence.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// A take whose poses must be met as well, besides those of the rig's own takes; may be given more than once. A rig without takes must
    /// meet the poses of the built-in tour and speech.
    #[arg(long = "take", value_name = "TAKE")]
    pub(crate) takes: Vec<String>,

    /// Which tracks of takes drive which shapes of the rig, as a TOML file: see docs/names.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Fit shapes at this weight, e.g. 1.2 where exaggerated weights are expected [default: 1].
    #[arg(long, value_parser = positive_number)]
    pub(crate) exaggerate: Option<f64>,

    /// Do not fit shapes whose name contains this; may be given more than once.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) corrective: Vec<String>,

    /// Make a preview in seconds: a coarse shell of one stiffness, nothing certified or corrected.
    #[arg(long, conflicts_with_all = ["fit_seconds", "takes", "exaggerate"])]
    pub(crate) quick: bool,

    /// Stop the fit after this many seconds, with the best stiffness so far.
    #[arg(long, value_name = "S", value_parser = positive_number)]
    pub(crate) fit_seconds: Option<f64>,

    /// End the whole build after about this many seconds: the fit stops early, and shapes that there is no time to certify
    /// count as not certified. Fails if there is no time for the mesh and for corrections.
    #[arg(long, value_name = "S", value_parser = positive_number)]
    pub(crate) seconds: Option<f64>,

    /// Write a page with pictures of stiffness, depth and deviations, and with convergence and times, to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,

    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Correct a rig's shapes as tissue, bones and lips allow, and change its fat, muscles, skin, jaw and nerves.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma correct face.glb -o corrected.glb\n  \
                        zygoma correct face.glb -o fuller.glb --dial fat=0.2 --dial jaw.y=1.1 --sheet fuller.png\n  \
                        zygoma correct face.glb -o palsy.glb --dial palsy=left:0.8")]
pub(crate) struct CorrectArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// The rig to write: a .glb, or a folder for OBJs.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) dials: DialArgs,

    /// Draw the rig and the corrected rig with some expressions to this PNG file.
    #[arg(long, value_name = "PNG")]
    pub(crate) sheet: Option<PathBuf>,

    /// Target number of triangles of the face's own coarse skin [default: 4000].
    #[arg(long, value_name = "N")]
    pub(crate) triangles: Option<usize>,

    /// Parameters of the simulation, as a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// Fit the anatomy from scratch, and cache nothing.
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Carry the expressions of one face to another: its shapes, a take, or a row of meshes.
#[derive(Debug, Args)]
#[command(
    long_about = "Carry the expressions of one face to another, whatever their meshes.\n\n\
        Without --take and --frames, OUT is the target's rig with the source's shapes: a .glb, or a folder of OBJs. An avatar comes back whole: \
        skeleton, skin weights, materials, textures, other meshes and unknown extensions are kept.\n\
        With --take, OUT is the target performing that take of the source: .glb, .pc2, .mdd, .usda, or a folder of OBJs.",
    after_help = "Examples:\n  zygoma retarget ICT/FaceXModel scan.glb -o rigged.glb\n  \
        zygoma retarget face.glb avatar.vrm -o avatar52.glb --sheet both.png --json\n  \
        zygoma retarget face.glb other.glb -o played.glb --take MySlate_1.csv\n  \
        zygoma retarget face.glb scan.obj -o rigged.glb --examples scans/"
)]
pub(crate) struct RetargetArgs {
    /// The face whose expressions are carried: any rig.
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,

    /// The face that takes them over: a rig, or a neutral head without shapes.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Where to write: a file whose extension gives the format, or a folder for OBJs.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,

    /// A take of the source for the target to perform: a file, the name of a take in the source, or one of the built-in takes.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: Option<String>,

    /// A folder of OBJs with the source's vertices, the neutral first, for the target to follow one after the other.
    #[arg(long, value_name = "DIR", conflicts_with = "take")]
    pub(crate) frames: Option<PathBuf>,

    /// Expressions of the target to learn from: a rig or a folder of OBJs, the neutral first, with the target's vertices. They need no counterparts in the source.
    #[arg(long, value_name = "RIG")]
    pub(crate) examples: Option<PathBuf>,

    /// How expressions are carried.
    #[arg(long, value_enum, default_value_t = RetargetMethod::Anacondar)]
    pub(crate) method: RetargetMethod,

    /// Fit the shape of the source's lips as printed in AnaConDaR eq. 16, which changes the neutral, instead of their motion.
    #[arg(long)]
    pub(crate) literal_lips: bool,

    /// Parameters, as a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// Draw the source and the target with some expressions to this PNG file.
    #[arg(long, value_name = "PNG", conflicts_with_all = ["take", "frames"])]
    pub(crate) sheet: Option<PathBuf>,

    /// Frames per second of an animated output.
    #[arg(long, default_value_t = 60.0, value_parser = positive_number)]
    pub(crate) fps: f64,

    #[command(flatten)]
    pub(crate) animated: AnimatedArgs,

    /// Print figures as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How expressions are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RetargetMethod {
    /// Mixtures of the examples, patch by patch, and the rest through the anatomy; without examples the same as adt.
    Anacondar,
    /// Through the anatomy: tissue, rigid bones, eyes and lips (A-DT).
    Adt,
    /// By the deformation of the skin alone (plain deformation transfer).
    Dt,
    /// The source's shapes by plain transfer, changed so that mixtures of them give the examples (example-based facial rigging).
    Ebfr,
    /// Mixtures of the examples, patch by patch.
    Patches,
    /// Mixtures of the examples over the whole face (linear blendshapes).
    Linear,
}

/// Write tracked points of a rig that performs a take, as a table of markers: input to try a dense face from few points with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma landmarks face.glb --take tour -o points.csv\n  \
                        zygoma landmarks face.glb --take speech --set ict68 --noise 1 -o noisy.csv")]
pub(crate) struct LandmarksArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// The take to perform: a file, the name of a take in the rig, or one of the built-in takes.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: String,

    /// The table to write: see docs/markers.md.
    #[arg(short, long, value_name = "CSV")]
    pub(crate) out: PathBuf,

    /// Points of a set, which have a place on every head, instead of points that are spread over this one.
    #[arg(long, value_enum, value_name = "SET", conflicts_with = "points")]
    pub(crate) set: Option<PointSetArg>,

    /// Number of points, spread evenly over the skin that shapes move.
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u16).range(3..).map(usize::from))]
    pub(crate) points: usize,

    /// Standard deviation of random errors along each axis, mm.
    #[arg(long, value_name = "MM", default_value_t = 0.0, value_parser = not_negative)]
    pub(crate) noise: f64,

    /// Seed of these errors.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Rows per second.
    #[arg(long, default_value_t = 30.0, value_parser = positive_number)]
    pub(crate) fps: f64,

    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write samples of anatomical faces that a network can learn from: people, parameters, expressions and their corrections.
#[derive(Debug, Args)]
#[command(
    long_about = "Write samples of anatomical faces that a network can learn from (SoftDECA, SparseSoftDECA).\n\n\
        Each person, a built-in head, is a file in safetensors format; samples.json lists them. No person, parameters or expression occur in two of the \
        splits train, validation and test. A command that was interrupted goes on where it was.",
    after_help = "Examples:\n  zygoma samples -o samples --people 100\n  \
                        zygoma samples -o samples --people 100 --take MySlate_1.csv --take MySlate_2.csv --frames 640"
)]
pub(crate) struct SamplesArgs {
    /// The folder to write to.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Number of people: eight in ten are for training, one each for validation and test.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) people: usize,

    /// Frames of each person: three in four are static, and the others sequences of 16, as far as there are enough.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) frames: usize,

    /// Takes whose expressions are used: files, or built-in takes.
    #[arg(long, value_name = "TAKE", default_value = "tour")]
    pub(crate) take: Vec<String>,

    /// Seed of people, parameters and expressions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Weights of the simulation are drawn from their default over this factor to their default times it.
    #[arg(long, value_name = "F", default_value_t = 10.0)]
    pub(crate) spread: f64,

    /// Dials are drawn from this fraction of their range.
    #[arg(long, value_name = "F", default_value_t = 0.3)]
    pub(crate) dials: f64,

    /// Resolution of the heads, in vertices.
    #[arg(long, value_enum, default_value_t = HeadLevel::High)]
    pub(crate) level: HeadLevel,

    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A set of tracked points that has a place on every head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PointSetArg {
    /// About 150 points along the contours of brows, eyes, nose, lips and jaw.
    Template,
    /// The 68 standard landmarks, as ICT-FaceKit and many trackers have them.
    Ict68,
}

impl PointSetArg {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Ict68 => "ict68",
        }
    }
}

impl From<PointSetArg> for PointSet {
    fn from(set: PointSetArg) -> Self {
        match set {
            PointSetArg::Template => Self::Template,
            PointSetArg::Ict68 => Self::Standard68,
        }
    }
}

/// A body that a face can be built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BuildFor {
    /// Skin that can be touched, within a certified bound of the rig's look.
    Shell,
    /// Live soft tissue.
    Tissue,
    /// Secondary motion on top of the artist's own.
    Enriched,
}

/// Make a built-in head: a rig with the 52 ARKit shapes, eyes, teeth, tongue and hair.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zygoma head -o head.glb\n  zygoma head -o other.glb --seed 7 --hair long\n  \
                        zygoma head -o wide.glb --dial jaw_width=0.8 --dial nose_length=-0.5 --level 3.5k\n  \
                        zygoma head --list-dials"
)]
pub(crate) struct HeadArgs {
    /// Where to write: a .glb, or a folder for OBJs.
    #[arg(short, long, required_unless_present = "list_dials")]
    pub(crate) out: Option<PathBuf>,

    /// The person: heads of different seeds are different people, and 0 is the head as it was sculpted.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Set a dial, from -1 to 1; may be given several times.
    #[arg(long = "dial", value_name = "NAME=VALUE")]
    pub(crate) dials: Vec<String>,

    /// Resolution of the mesh, in vertices.
    #[arg(long, value_enum, default_value_t = HeadLevel::High)]
    pub(crate) level: HeadLevel,

    /// The hair style; people of different seeds wear different ones.
    #[arg(long, value_enum)]
    pub(crate) hair: Option<HeadHair>,

    /// Add skull, jaw bone and the wraps around skin, muscle and skull as further meshes.
    #[arg(long)]
    pub(crate) with_anatomy: bool,

    /// List the dials and what they do.
    #[arg(long)]
    pub(crate) list_dials: bool,
}

/// Fit skull, jaw bone and soft tissue into any neutral head.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zygoma anatomy face.glb\n  zygoma anatomy scan.obj --glb with_bones.glb --json\n  zygoma anatomy scan.obj --glb rig.glb --with-shapes\n  \
                        zygoma anatomy ICT/FaceXModel --identity 0=1.5 --glb ict_with_bones.glb"
)]
pub(crate) struct AnatomyArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// Write the rig as a face file with its bones and tissue, which `simulate`, `build` and `view` open.
    #[arg(short, long, value_name = "FACE")]
    pub(crate) out: Option<PathBuf>,

    /// Write the rig with the meshes 'cranium' and 'mandible', between which tissue is simulated.
    #[arg(long, value_name = "GLB")]
    pub(crate) glb: Option<PathBuf>,

    /// Write the fitted head itself instead of the rig: this person's skin with the 52 ARKit shapes, eyes, teeth and bones. A scan
    /// becomes a rig.
    #[arg(long, requires = "glb")]
    pub(crate) with_shapes: bool,

    /// How fat the head is, from -1 to 1: bones lie deeper under fat. Estimated from the skin by default.
    #[arg(long, value_name = "auto|-1..1", allow_hyphen_values = true, value_parser = fat, default_value = "auto")]
    pub(crate) fat: Fat,

    /// How finely the tissue is filled: 9,000, 26,000 or 44,000 nodes. The finest takes a minute longer. Coarse for a face file, otherwise
    /// fine, by default.
    #[arg(long, value_name = "DETAIL")]
    pub(crate) fill: Option<Fill>,

    /// Landmarks: 68 vertices of the skin, one in a line, or lines of a landmark's number (0 to 67) and its vertex.
    #[arg(long, value_name = "FILE")]
    pub(crate) landmarks: Option<PathBuf>,

    /// Write a page with pictures and figures into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Fill {
    Coarse,
    Fine,
    Finest,
}

/// Parses `auto` or a number from -1 to 1.
fn fat(text: &str) -> Result<Fat, String> {
    if text == "auto" {
        return Ok(Fat::Auto);
    }
    match text.parse() {
        Ok(value) if (-1.0..=1.0).contains(&value) => Ok(Fat::Given(value)),
        _ => Err("write auto, or a number from -1 to 1".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HeadHair {
    Short,
    Long,
    Tied,
    Bald,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HeadLevel {
    #[value(name = "3.5k")]
    Low,
    #[value(name = "7k")]
    Middle,
    #[value(name = "14k")]
    High,
}
