//! The command line: commands and flags, with their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::bench::bodies::cell::BodyKind;

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
    Simulate(SimulateArgs),
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

/// Let a rig or a built face perform a take with physics, and be touched.
#[derive(Debug, Args)]
#[command(
    mut_arg("take", |take| take.required_unless_present("markers")),
    long_about = "Let a rig or a built face perform a take with physics, and be touched.\n\n\
        Bodies: 'tissue' is live flesh that lags behind a quick head and settles, with lips that meet and may stick; 'shell' is skin that \
        can be touched and pulled while it keeps the rig's look within a certified bound; 'rig' is the plain rig.\n\
        A rig is made ready first, and kept in this user's cache; a face from zygoma build is ready. The rig that a face was built from \
        is read again, so that an avatar comes back whole: as .glb (surfaces compressed to few morph targets), .pc2, .mdd, .usda, or a \
        folder of OBJs, one per frame, with the rig's own vertices in the rig's own order. Point caches do without the rig.\n\
        A touch script says what presses on the face and pulls at it, when and where: see docs/touch-scripts.md.\n\
        A simulation that breaks beyond repair still writes OUT, with the rig where it broke, and ends with exit code 3.",
    after_help = "Examples:\n  zygoma simulate face.glb --take tour -o tour.glb\n  \
        zygoma simulate face.glb --take speech --sticky -o speech.glb --report report\n  \
        zygoma simulate face.glb --body shell --take MySlate_1.csv --touch poke.toml -o poked.glb\n  \
        zygoma simulate face.glb --markers markers.csv -o followed.glb\n  \
        zygoma simulate face.safetensors --take tour --touch poke.toml -o face.pc2 --json\n  \
        zygoma simulate face.safetensors --rig moved/face.glb --take 'Take 001' -o face.usda --fps 30"
)]
pub(crate) struct SimulateArgs {
    /// The rig (.glb, .gltf, .vrm, .obj, a folder of OBJs, or an ICT-FaceKit folder), or a face from zygoma build.
    #[arg(value_name = "RIG|FACE")]
    pub(crate) input: PathBuf,

    /// The body that performs [default: the one that a face was built for, and tissue for a rig].
    #[arg(long, value_name = "BODY")]
    pub(crate) body: Option<BodyArg>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// The rig that the face was built from, if it has been moved.
    #[arg(long, value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Target number of triangles of the simulated skin of a rig [default: 4000].
    #[arg(long, value_name = "N")]
    pub(crate) triangles: Option<usize>,

    /// Build a rig from scratch, and cache nothing.
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// A touch script: colliders and grabs, with their times and places.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) touch: Option<PathBuf>,

    /// Parameters of the body, as a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// Markers that drive tissue instead of weights, as a CSV file: see docs/markers.md. A take given as well only moves the head.
    #[arg(long, value_name = "FILE")]
    pub(crate) markers: Option<PathBuf>,

    /// Let lips of tissue stick together where they touch, and part at random: the farther apart, the likelier.
    #[arg(long)]
    pub(crate) sticky: bool,

    /// Seed of the random numbers with which sticky lips part.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// How the rig's shapes drive tissue: each element is pulled to the shape that the rig gives it, or forces hold the rig's shapes
    /// (the blendforces of Progressive PD) [default: shapes].
    #[arg(long, value_name = "HOW")]
    pub(crate) actuation: Option<ActuationArg>,

    /// Leave a part of tissue free to swing, with no bone and no muscle in it: a region of the rig or a place such as 'ear' or
    /// 'ear-left'. May be given more than once. Without it, long parts that no shape moves are found and left free; 'none' leaves none.
    #[arg(long, value_name = "PART")]
    pub(crate) free: Vec<String>,

    /// Thickness of tissue in millimetres, as a text file with one number per vertex of the mesh. Without it tissue reaches
    /// down to the bone where there are bones, and has the thickness of the parameters elsewhere.
    #[arg(long, value_name = "FILE")]
    pub(crate) thickness: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) performance: PerformanceArgs,
}

/// A body that a face can be built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BuildFor {
    /// Skin that can be touched, within a certified bound of the rig's look.
    Shell,
    /// Live soft tissue.
    Tissue,
}

/// Which body performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BodyArg {
    /// The plain rig.
    Rig,
    /// Skin that can be touched, within a certified bound of the rig's look.
    Shell,
    /// Live soft tissue.
    Tissue,
}

/// The take, its frame rate and the output: the same for every command that performs.
#[derive(Debug, Args)]
pub(crate) struct PerformanceArgs {
    /// The take to perform: a Live Link Face or plain CSV file, a .glb, the name of a take in the rig, or one of the
    /// built-in takes tour, speech, shake and run.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: Option<String>,

    /// Which tracks of takes drive which shapes of the rig, as a TOML file: see docs/names.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,

    /// Frames per second of the output.
    #[arg(long, default_value_t = 60.0, value_parser = positive_number)]
    pub(crate) fps: f64,

    /// Where to write: a file whose extension gives the format, or a folder for OBJs.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) animated: AnimatedArgs,

    /// Write a page with pictures and curves to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) report: Option<PathBuf>,

    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

/// Make a built-in head: a rig with the 52 ARKit shapes, eyes, teeth and tongue.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma head -o head.glb\n  zygoma head -o other.glb --seed 7\n  \
                        zygoma head -o wide.glb --dial jaw_width=0.8 --dial nose_length=-0.5 --level 3.5k\n  \
                        zygoma head --list-dials")]
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
    after_help = "Examples:\n  zygoma anatomy face.glb\n  zygoma anatomy scan.obj --glb with_bones.glb --json\n  \
                        zygoma anatomy ICT/FaceXModel --identity 0=1.5 --glb ict_with_bones.glb"
)]
pub(crate) struct AnatomyArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// Write the rig with the meshes 'cranium' and 'mandible', between which tissue is simulated; materials are not kept.
    #[arg(long, value_name = "GLB")]
    pub(crate) glb: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ActuationArg {
    Shapes,
    Forces,
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

/// Measure speed on this machine, each figure beside a reference from the same run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zygoma bench rig\n  zygoma bench rig --rig face.glb --json\n  zygoma bench head\n  zygoma bench interactive --triangles 2000,8000 --json\n  zygoma bench soak --seconds 120"
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Every rig with a shell and with tissue, in every take: distance from the rig, pops, inversions, crossings and cost.
    Bodies(BenchBodiesArgs),
    /// Fitting the stiffness of faces.
    Fit(BenchFitArgs),
    /// Making built-in heads.
    Head(BenchHeadArgs),
    /// Loading rigs and evaluating blendshapes.
    Rig(BenchRigArgs),
    /// Frames of an interactive face: 10 ms, 5 steps, one thread, a finger on the cheek half of the time.
    Interactive(BenchInteractiveArgs),
    /// Soak test: random violent contact, or random takes for tissue; nothing may break, and the face must return to the rig.
    Soak(BenchSoakArgs),
    /// Fuzz test: damaged rigs; every build and every body must end, with frames or with an error message.
    Fuzz(BenchFuzzArgs),
    /// Frames of a face with tissue whose lips press and stick: one step of 8 iterations each.
    Tissue(BenchTissueArgs),
    /// Convergence of solvers within one step of tissue with lips that press and stick.
    Convergence(BenchConvergenceArgs),
    /// 3×3 decompositions: error and time over sampled matrices, and the gain from memoisation.
    Svd(BenchSvdArgs),
    /// Frames that a browser tab of the viewer receives while a finger strokes the face.
    #[cfg(feature = "view")]
    View(BenchViewArgs),
}

#[cfg(feature = "view")]
#[derive(Debug, Args)]
pub(crate) struct BenchViewArgs {
    /// The rig or face to show; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Seconds to measure.
    #[arg(long, default_value_t = 5.0, value_parser = positive_number)]
    pub(crate) seconds: f64,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchBodiesArgs {
    /// A rig, or a folder with rigs; may be given several times. The built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rigs: Vec<PathBuf>,

    /// A take: a built-in one, or a file, of which the liveliest 15 s are performed; may be given several times.
    #[arg(long = "take", value_name = "TAKE", default_values = ["tour", "speech", "shake"])]
    pub(crate) takes: Vec<String>,

    /// A body; may be given several times.
    #[arg(long = "body", value_enum, value_name = "BODY", default_values = ["shell", "tissue"])]
    pub(crate) bodies: Vec<BodyKind>,

    /// Triangles of the simulated skin.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) triangles: usize,

    /// Folder that caches faces and this program's measurements: an interrupted run continues where it stopped. A folder among the
    /// system's temporary files when none is given.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Measure nothing, and use the report that an earlier run printed with --json.
    #[arg(long, value_name = "JSON")]
    pub(crate) from: Option<PathBuf>,

    /// Put the table on this Markdown page.
    #[arg(long, value_name = "PAGE")]
    pub(crate) table: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchTissueArgs {
    /// Triangles of the simulated skin; there are three tetrahedra under each.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [7000, 14_000, 28_000])]
    pub(crate) triangles: Vec<usize>,

    /// Frames to measure.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) frames: usize,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchConvergenceArgs {
    /// Triangles of the simulated skin.
    #[arg(long, value_name = "N", default_value_t = 14_000)]
    pub(crate) triangles: usize,

    /// Write the figure to this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchSvdArgs {
    /// Matrices to decompose.
    #[arg(long, value_name = "N", default_value_t = 1 << 24)]
    pub(crate) matrices: usize,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchInteractiveArgs {
    /// Rig to measure; the built-in head when none is given.
    #[arg(long, value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Triangles of the simulated shell.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [2000, 4000, 6000, 8000])]
    pub(crate) triangles: Vec<usize>,

    /// Seconds to spend on each size.
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub(crate) seconds: f64,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchFitArgs {
    /// Rigs to fit; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rigs: Vec<PathBuf>,

    /// Sizes of the shell.
    #[arg(long, value_delimiter = ',', default_values_t = [2000, 8000])]
    pub(crate) triangles: Vec<usize>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchSoakArgs {
    /// Rig to touch; the built-in head when none is given.
    #[arg(long, value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Run random takes for tissue instead: jumping weights, a shaken head, sticky lips.
    #[arg(long)]
    pub(crate) tissue: bool,

    /// Simulated seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) seconds: f64,

    /// Seed of the random input.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchFuzzArgs {
    /// Seconds to run.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive_number)]
    pub(crate) seconds: f64,

    /// The first input; input N is the same rig on every machine.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) first: u64,

    /// Seconds after which an input counts as hanging.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive_number)]
    pub(crate) limit: f64,

    /// Run one input in this process and print how each stage ended.
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "first", "limit"])]
    pub(crate) only: Option<u64>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchHeadArgs {
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchRigArgs {
    /// Rigs to measure; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rigs: Vec<PathBuf>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
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

fn positive_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}
