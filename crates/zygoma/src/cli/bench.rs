//! Arguments of `zygoma bench`.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand, ValueEnum};
use zygoma_hand::Gesture;

use super::positive_number;
use crate::bench::bodies::cell::BodyKind;

/// Measure speed on this machine, each figure beside a reference from the same run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  zygoma bench rig\n  zygoma bench rig --rig face.glb --json\n  zygoma bench head --rig FaceXModel people/*.glb\n  zygoma bench interactive --triangles 2000,8000 --json\n  zygoma bench soak --seconds 120"
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Bones found under the skin of generated heads whose bones are known, and fits of meshes.
    Anatomy(BenchAnatomyArgs),
    /// Every rig with a shell and with tissue, in every take: distance from the rig, pops, inversions, crossings and cost.
    Bodies(BenchBodiesArgs),
    /// Fitting the stiffness of faces.
    Fit(BenchFitArgs),
    /// Making built-in heads; with `--rig`, their form and shapes beside those of other rigs.
    Head(BenchHeadArgs),
    /// Expressions carried between built-in heads whose own are known, and between rigs with the same shapes.
    Retarget(BenchRetargetArgs),
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
    /// Steps of an enriched face while its head shakes, and the time that its volumes take.
    Enriched(BenchEnrichedArgs),
    /// Anatomical faces: volume, lips, corrected rigs, dials and tracked points, each as figures.
    Anatomical(BenchAnatomicalArgs),
    /// Hands on tissue, in the interactions of NePHIM: penetration before and after, and the time of steps.
    Hands(BenchHandsArgs),
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
pub(crate) struct BenchAnatomyArgs {
    /// Generated heads to fit.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) heads: usize,

    /// Rigs and scans to fit as well: bones under the skin at rest and in all shapes, and time.
    #[arg(long = "rig", value_name = "RIG", num_args = 1..)]
    pub(crate) rigs: Vec<PathBuf>,

    /// Fit ICT-FaceKit folders with each of their identity modes at plus and minus this, too.
    #[arg(long, value_name = "VALUE")]
    pub(crate) modes: Option<f64>,

    /// Fit the built-in heads of this many seeds as well.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seeds: u64,

    /// Fit the rigs a second time without their teeth and eyes, and compare the bones with these.
    #[arg(long)]
    pub(crate) withheld: bool,

    /// Fit the rigs mirrored, rescaled, with +Z up, noisy and with other triangles, too: how far the bones move.
    #[arg(long)]
    pub(crate) changed: bool,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchRetargetArgs {
    /// Built-in heads; the first one's expressions are carried to the others.
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) heads: usize,

    /// Expressions that are carried to each head.
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) expressions: usize,

    /// The take that expressions and examples are drawn from: a built-in one, or a file.
    #[arg(long, value_name = "TAKE", default_value = "tour")]
    pub(crate) take: String,

    /// Numbers of examples of each target; methods that learn from examples run with each.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [5, 15, 30])]
    pub(crate) examples: Vec<usize>,

    /// Also leave out parts of the method, one at a time, with the fewest examples.
    #[arg(long)]
    pub(crate) ablations: bool,

    /// A rig whose shapes are carried to all other rigs given; may be given several times.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rigs: Vec<PathBuf>,

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
pub(crate) struct BenchHandsArgs {
    /// The rig to touch; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Triangles of the simulated skin.
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) triangles: usize,

    /// Further numbers of triangles, to time larger tissue: 10500 and 15000 give the published sizes.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) sizes: Vec<usize>,

    /// Compare with NePHIM's own method on the same tissue, whole and without some of its parts.
    #[arg(long)]
    pub(crate) published: bool,

    /// Only interactions with this gesture, such as press.
    #[arg(long, value_name = "NAME", value_parser = Gesture::ALL.map(|(name, _)| name))]
    pub(crate) gesture: Option<String>,

    /// Also bend the nose by one newton, with cartilage and without.
    #[arg(long)]
    pub(crate) cartilage: bool,

    /// Write pictures of five gestures into this folder, by our method and by NePHIM's own.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) pictures: Option<PathBuf>,

    /// Number of interactions, at most all of the published mix.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) interactions: usize,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchEnrichedArgs {
    /// The rig to enrich; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Frames of 1/60 s to measure.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) frames: usize,

    /// Look at the rest volumes of all single shapes instead: inverted elements and intersections.
    #[arg(long)]
    pub(crate) volumes: bool,

    /// With `--volumes`, so many built-in heads, of different people.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "rig", requires = "volumes")]
    pub(crate) seeds: u64,

    /// With `--volumes`, look at the rest volumes of a take's frames too: elements that its blends invert, and those that no repair helps.
    #[arg(long, value_name = "TAKE", requires = "volumes")]
    pub(crate) take: Option<String>,

    /// Measure instead how exactly the artist's surface comes back, in so many seconds of speech with a still head and after one second with a
    /// shaken head.
    #[arg(long, value_name = "SECONDS", conflicts_with = "volumes", value_parser = positive_number)]
    pub(crate) exact: Option<f64>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BenchAnatomicalArgs {
    /// The rig; the built-in head when none is given.
    #[arg(long = "rig", value_name = "RIG")]
    pub(crate) rig: Option<PathBuf>,

    /// Takes to sample; the first one also gives the expressions of corrected rigs and tracked points.
    #[arg(long = "take", value_name = "TAKE", num_args = 1.., default_values_t = [String::from("tour")])]
    pub(crate) takes: Vec<String>,

    /// Frames from each take, evenly spread.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..).map(usize::from))]
    pub(crate) frames: usize,

    /// Measure only these parts [default: all].
    #[arg(long = "part", value_enum, value_name = "PART", num_args = 1..)]
    pub(crate) parts: Vec<AnatomicalPart>,

    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A part of the benchmark of anatomical faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnatomicalPart {
    /// Volume and lips in takes, distance from the rig, and times.
    Takes,
    /// Corrected rigs against the simulation.
    Corrected,
    /// Effects of dials.
    Effects,
    /// Dense faces from tracked points.
    Points,
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
    /// Rigs to compare the shapes with; those with the same vertices count as one. Rigs that are not there are skipped.
    #[arg(long = "rig", value_name = "RIG", num_args = 1..)]
    pub(crate) rigs: Vec<PathBuf>,

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
