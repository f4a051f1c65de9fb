//! The command line: commands and flags, with their help.

mod bench;

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use zygoma_head::fit::Fat;

pub(crate) use bench::*;

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

    /// Set a dial; may be given several times: see docs/anatomical.md.
    #[arg(long = "dial", value_name = "NAME=VALUE")]
    pub(crate) dials: Vec<String>,

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
        zygoma retarget face.glb other.glb -o played.glb --take MySlate_1.csv"
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

    /// How expressions are carried.
    #[arg(long, value_enum, default_value_t = RetargetMethod::Adt)]
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
    /// Through the anatomy: tissue, rigid bones, eyes and lips (A-DT).
    Adt,
    /// By the deformation of the skin alone (plain deformation transfer).
    Dt,
}

/// Write tracked points of a rig that performs a take, as a table of markers: input to try a dense face from few points with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  zygoma landmarks face.glb --take tour -o points.csv\n  \
                        zygoma landmarks face.glb --take speech --noise 1 -o noisy.csv")]
pub(crate) struct LandmarksArgs {
    #[command(flatten)]
    pub(crate) rig: RigArgs,

    /// The take to perform: a file, the name of a take in the rig, or one of the built-in takes.
    #[arg(long, value_name = "TAKE")]
    pub(crate) take: String,

    /// The table to write: see docs/markers.md.
    #[arg(short, long, value_name = "CSV")]
    pub(crate) out: PathBuf,

    /// Number of points, spread evenly over the skin that shapes move.
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u16).range(3..).map(usize::from))]
    pub(crate) points: usize,

    /// Standard deviation of random errors along each axis, mm.
    #[arg(long, value_name = "MM", default_value_t = 0.0)]
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

/// Let a rig or a built face perform a take with physics, and be touched.
#[derive(Debug, Args)]
#[command(
    mut_arg("take", |take| take.required_unless_present("markers")),
    long_about = "Let a rig or a built face perform a take with physics, and be touched.\n\n\
        Bodies: 'tissue' is live soft tissue that lags behind a quick head and settles, with lips that meet and may stick; 'shell' is skin \
        that can be touched and pulled while it keeps the rig's look within a certified bound; 'enriched' is the artist's face, exact while nothing \
        pushes, that swings when the head moves; 'anatomical' corrects expressions as tissue, bones and lips allow; 'rig' is the plain rig.\n\
        A rig is made ready first, and kept in this user's cache; a face from zygoma build is ready. The rig that a face was built from \
        is read again, so that an avatar comes back whole: as .glb (surfaces compressed to few morph targets), .pc2, .mdd, .usda, or a \
        folder of OBJs, one per frame, with the rig's own vertices in the rig's own order. Point caches do without the rig.\n\
        A touch script says what presses on the face and pulls at it, when and where: see docs/touch-scripts.md. Recorded hands press, \
        pinch and pull it: see docs/hands.md.\n\
        A simulation that breaks beyond repair still writes OUT, with the rig where it broke, and ends with exit code 3.",
    after_help = "Examples:\n  zygoma simulate face.glb --take tour -o tour.glb\n  \
        zygoma simulate face.glb --take speech --sticky -o speech.glb --report report\n  \
        zygoma simulate face.glb --body shell --take MySlate_1.csv --touch poke.toml -o poked.glb\n  \
        zygoma simulate face.glb --take tour --hands hands.csv -o touched.glb\n  \
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

    /// Keep the head still, whatever the take says.
    #[arg(long)]
    pub(crate) still_head: bool,

    /// The bones and deep tissue of an enriched face: fitted if need be, none, or those of a face file that `zygoma anatomy` has written.
    #[arg(long, default_value = "auto", value_name = "auto|none|FACE", value_parser = anatomy)]
    pub(crate) anatomy: AnatomyArg,

    /// How much of the forces that changing shapes cause is taken away, from 0 to 1 [default: 1]: 0 is a simulation that lags and overshoots.
    #[arg(long, value_name = "ALPHA")]
    pub(crate) rebalance: Option<f64>,

    /// Painted stiffness of an enriched face: a folder with a picture for each shape, or with places in a TOML file. See docs/enriched.md.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) materials: Option<PathBuf>,

    /// A take with the weights of the painted stiffness, which otherwise are those of the shapes.
    #[arg(long, value_name = "TAKE")]
    pub(crate) material_take: Option<String>,

    /// Record an enriched face, so that an edited take is simulated only where it has changed: see --edit-of.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// The recording of an earlier version of the take. Frames before the first change, and from where the flesh moves as before again, are copied from it.
    #[arg(long, value_name = "FILE")]
    pub(crate) edit_of: Option<PathBuf>,

    /// Where the lips of an enriched face pass through each other in the rig itself [default: relative]: 'relative' leaves the artist's depth and resolves only what motion and
    /// touch add, 'absolute' resolves all of it.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) contact: Option<ContactArg>,

    /// Set a dial of an anatomical face, such as fat=0.2 or palsy=left:0.8; may be given several times: see docs/anatomical.md.
    #[arg(long = "dial", value_name = "NAME=VALUE")]
    pub(crate) dials: Vec<String>,

    /// A touch script: colliders, grabs and gestures of hands, with their times and places.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) touch: Option<PathBuf>,

    /// Hands that press, pinch and pull the face, as a CSV file of their joints over time: see docs/hands.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) hands: Option<PathBuf>,

    /// Parameters of the body, as a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// Markers that drive tissue or an anatomical face instead of weights, as a CSV file: see docs/markers.md. A take given as well only moves the head.
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
    /// Secondary motion on top of the artist's own.
    Enriched,
}

/// Penetrations of the rig's own lips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ContactArg {
    Relative,
    Absolute,
}

/// Anatomy under the skin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnatomyArg {
    /// The rig's own, or a fitted one.
    Auto,
    /// None: one layer of tissue under the skin.
    None,
    /// That of a face file.
    Of(PathBuf),
}

fn anatomy(text: &str) -> Result<AnatomyArg, std::convert::Infallible> {
    Ok(match text {
        "auto" => AnatomyArg::Auto,
        "none" => AnatomyArg::None,
        file => AnatomyArg::Of(file.into()),
    })
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
    /// Secondary motion on top of the artist's own, which stays exact while nothing pushes.
    Enriched,
    /// Expressions corrected as tissue, bones and lips allow.
    Anatomical,
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

/// Parses `auto` or a number from -1 to 1.
fn fat(text: &str) -> Result<Fat, String> {
    if text == "auto" {
        return Ok(Fat::Auto);
    }
    match text.parse() {
        Ok(value) if (-1.0..=1.0).contains(&value) => Ok(Fat::Told(value)),
        _ => Err("write auto, or a number from -1 to 1".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ActuationArg {
    Shapes,
    Forces,
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

fn positive_number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}
