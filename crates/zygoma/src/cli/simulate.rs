//! Arguments of `zygoma simulate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{AnimatedArgs, DialArgs, PointSetArg, ReadingArgs, fraction, positive_number};

/// Let a rig or a built face perform a take with physics, and be touched.
#[derive(Debug, Args)]
#[command(
    mut_arg("take", |take| take.required_unless_present("markers")),
    long_about = "Let a rig or a built face perform a take with physics, and be touched.\n\n\
        Bodies: 'tissue' is live soft tissue that lags behind a quick head and settles, with lips that meet and may stick; 'shell' is skin \
        that can be touched and pulled while it keeps the rig's look within a certified bound; 'enriched' is the artist's face, exact while nothing \
        pushes, that swings when the head moves; 'anatomical' corrects expressions as tissue, bones and lips allow; 'rig' is the plain rig.\n\
        A rig is prepared first, and kept in this user's cache; a face from zygoma build needs no preparation. The rig that a face was built from \
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

    /// The bones of tissue, and the deep tissue of an enriched or anatomical face: the rig's own or fitted ones where a body needs them, none, or those
    /// of a face file that `zygoma anatomy` has written.
    #[arg(long, default_value = "auto", value_name = "auto|none|FACE", value_parser = anatomy)]
    pub(crate) anatomy: AnatomyArg,

    /// Rebalancing of the forces that changing shapes cause, from 0 (none: the face lags and overshoots) to 1 (all) [default: 1].
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

    /// The recording of an earlier version of the take. Frames before the first change, and from where the tissue moves as before again, are copied from it.
    #[arg(long, value_name = "FILE")]
    pub(crate) edit_of: Option<PathBuf>,

    /// Where the lips of an enriched face pass through each other in the rig itself [default: relative]: 'relative' leaves the artist's depth and resolves only what motion and
    /// touch add, 'absolute' resolves all of it.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) contact: Option<ContactArg>,

    #[command(flatten)]
    pub(crate) dials: DialArgs,

    /// A touch script: colliders, grabs and gestures of hands, with their times and places.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) touch: Option<PathBuf>,

    /// Hands that press, pinch and pull the face, as a CSV file of their joints over time, or as a closed mesh with --hand-cache: see
    /// docs/hands.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) hands: Option<PathBuf>,

    /// The vertices over time of a mesh that is given as --hands, as a point cache: .mdd, or .pc2, whose frames are those of --fps.
    #[arg(long, value_name = "FILE", requires = "hands")]
    pub(crate) hand_cache: Option<PathBuf>,

    /// The skin of the left or of the right hand, as a .glb file with joints named as in WebXR; may be given twice. Where only one is given, the
    /// other is its mirror image.
    #[arg(long = "hand-mesh", value_name = "FILE")]
    pub(crate) hand_meshes: Vec<PathBuf>,

    /// The surface with which hands press [default: capsules].
    #[arg(long, value_enum, value_name = "SURFACE")]
    pub(crate) hand_surface: Option<HandSurfaceArg>,

    /// How tissue yields to hands [default: simulated]. 'published' is NePHIM's own method at 20 Hz, for comparison only.
    #[arg(long, value_enum, value_name = "METHOD")]
    pub(crate) hands_method: Option<HandsMethodArg>,

    /// With --hands-method published, the stiffness of bones, from 0 to 1.
    #[arg(long, value_name = "FRACTION", requires = "hands_method", value_parser = fraction)]
    pub(crate) hands_bones: Option<f64>,

    /// With --hands-method published, leave a step of the method out.
    #[arg(long, value_enum, value_name = "STEP", requires = "hands_method")]
    pub(crate) hands_without: Vec<HandsStepArg>,

    /// Parameters of the body, as a TOML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,

    /// Markers that drive tissue or an anatomical face instead of weights, as a CSV file: see docs/markers.md. A take given as well only moves the head.
    #[arg(long, value_name = "FILE")]
    pub(crate) markers: Option<PathBuf>,

    /// The markers are points of this set, named p0, p1, …, and may be tracked on any person, in any unit and with the motion of the head; the row
    /// 'rest' has that person's own points at rest.
    #[arg(long, value_enum, value_name = "SET", requires = "markers")]
    pub(crate) set: Option<PointSetArg>,

    /// Write the weights of the rig's shapes that come closest to the markers, as a take (.csv).
    #[arg(long, value_name = "CSV", requires = "markers")]
    pub(crate) take_out: Option<PathBuf>,

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

/// How tissue yields to hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HandsMethodArg {
    /// Contact of live tissue.
    Simulated,
    /// The method of NePHIM.
    Published,
}

/// A step of NePHIM's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HandsStepArg {
    /// The paths along which hands drag skin.
    Paths,
    /// The correction of what is still inside a hand.
    Correction,
}

/// The surface of a hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HandSurfaceArg {
    /// A capsule on each bone.
    Capsules,
    /// The skin, which deforms with the joints.
    Skin,
}

/// Penetrations of the rig's own lips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ActuationArg {
    Shapes,
    Forces,
}
