//! `zygoma samples`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use zygoma_face::anatomical::{
    AnatomicalParams, Dials, SAMPLE_FPS, SEQUENCE, SampleParams, SampleSettings, Samples, Split, Thirds,
};
use zygoma_face::model::Continue;
use zygoma_face::retarget::PointSet;
use zygoma_head::{Head, HeadOptions};
use zygoma_numerics::Checked;
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;

use crate::cli::{AnatomyArg, SamplesArgs};
use crate::commands::head::level;
use crate::commands::input;
use crate::commands::simulate::anatomical;
use crate::progress::Progress;

/// Triangles of the face's own coarse skin, as in `zygoma simulate`.
const TRIANGLES: usize = 4000;
/// The list of samples in their folder.
const LIST: &str = "samples.json";
/// Lists longer than this are refused.
const LONGEST_LIST: u64 = 64 << 20;
/// Each take is cut into so many pieces, each for one split.
const PIECES: usize = 10;
/// Frames that are left out between two pieces: expressions half a second apart are hardly the same. Ours.
const GAP: usize = 12;

/// The list of samples.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: u32,
    made: Made,
    /// Frames a second of sequences.
    fps: f64,
    /// Names of the columns of `parameters` and of `weights`.
    parameters: Vec<String>,
    shapes: Vec<String>,
    /// Vertices of the landmarks, which are the set `template`.
    landmarks: Vec<u32>,
    people: Vec<Person>,
    /// Solves, and those of them that failed, where a parameter was in the lowest, middle and highest third of those drawn for a person.
    thirds: BTreeMap<String, Thirds>,
}

/// All that decides about samples.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Made {
    settings: SampleSettings,
    takes: Vec<String>,
    vertices: usize,
}

/// The samples of a person.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    file: String,
    /// The seed of the built-in head.
    head: u64,
    split: Split,
    static_frames: usize,
    sequence_frames: usize,
    failed: usize,
}

pub(crate) fn run(args: &SamplesArgs) -> anyhow::Result<()> {
    let sequences = args.frames / 4 / SEQUENCE;
    let settings = SampleSettings {
        seed: args.seed,
        statics: args.frames - sequences * SEQUENCE,
        sequences,
        spread: args.spread,
        dials: args.dials,
    };
    settings.check()?;
    zygoma_files::create_folder(&args.out)?;
    let path = args.out.join(LIST);
    let mut list: Option<List> = match path.exists() {
        true => Some(read_list(&path)?),
        false => None,
    };
    let mut bar = Progress::new("solving for samples", args.people);
    for number in 0..args.people {
        bar.set(number);
        let file = format!("person-{number:05}.safetensors");
        let is_made = |list: &List| list.people.iter().any(|person| person.file == file);
        if list.as_ref().is_some_and(is_made) && args.out.join(&file).exists() {
            continue;
        }
        let seed = args.seed.wrapping_add(number as u64);
        let rig = Head::new(&HeadOptions::sampled(seed, level(args.level))).rig_with_texture(None);
        let made = Made {
            settings: settings.clone(),
            takes: args.take.clone(),
            vertices: rig.skin().positions.len(),
        };
        let list = match &mut list {
            Some(list) => list,
            none => none.insert(List::new(&rig, made.clone())?),
        };
        if list.made != made {
            bail!("{}: these samples were made with other settings; choose another folder", path.display());
        }
        let split = Split::of(number);
        let face = anatomical::face_of(&rig, TRIANGLES, true, &AnatomyArg::Auto)?;
        let head = anatomical::build(&face, &AnatomicalParams::default(), &Dials::default())?;
        let pieces = pieces(&rig, &args.take, split)?;
        let who = (number, &list.landmarks[..]);
        let samples = Samples::of(&head, who, &pieces, &settings, &mut |_| Continue::Yes)?;
        let samples = samples.context("the samples were cancelled")?;
        zygoma_files::write(&args.out.join(&file), &samples.bytes())?;
        let [static_frames, sequence_frames, failed] = samples.counts();
        list.people.retain(|person| person.file != file);
        list.people.push(Person { file, head: seed, split, static_frames, sequence_frames, failed });
        for (name, thirds) in SampleParams::names().zip(samples.thirds()) {
            list.thirds.entry(name.to_owned()).or_default().add(&thirds);
        }
        zygoma_files::write(&path, serde_json::to_string_pretty(list)?.as_bytes())?;
    }
    drop(bar);
    let Some(list) = list else { bail!("there are no samples without people; give --people 1 or more") };
    if args.json {
        return crate::json::print(&list);
    }
    let sum = |of: &dyn Fn(&Person) -> usize| list.people.iter().map(of).sum::<usize>();
    println!(
        "{}: {} people, {} static frames and {} in sequences; {} solves failed",
        args.out.display(),
        list.people.len(),
        sum(&|person| person.static_frames),
        sum(&|person| person.sequence_frames),
        sum(&|person| person.failed)
    );
    Ok(())
}

fn read_list(path: &Path) -> anyhow::Result<List> {
    let bytes = zygoma_files::read_own(path, LONGEST_LIST)?;
    serde_json::from_slice(&bytes).with_context(|| format!("{}: this is no list of samples", path.display()))
}

impl List {
    fn new(rig: &Rig, made: Made) -> anyhow::Result<Self> {
        Ok(Self {
            version: 1,
            made,
            fps: SAMPLE_FPS,
            parameters: SampleParams::names().map(str::to_owned).collect(),
            shapes: rig.skin().shapes.iter().map(|shape| shape.name.clone()).collect(),
            landmarks: PointSet::Template.on_rig(rig)?.into_iter().map(|(_, vertex)| vertex).collect(),
            people: Vec::new(),
            thirds: BTreeMap::new(),
        })
    }
}

/// The weights of a rig in the pieces of takes that belong to a split, frame by frame.
fn pieces(rig: &Rig, takes: &[String], split: Split) -> anyhow::Result<Vec<Vec<Vec<f32>>>> {
    let mut found = Vec::new();
    for name in takes {
        let take = input::read_take(name, rig, None)?;
        input::check_length(&take, SAMPLE_FPS)?;
        let binding = Binding::new(rig, &take);
        let each = take.frame_count(SAMPLE_FPS) / PIECES;
        if each < SEQUENCE + GAP {
            bail!(
                "the take '{name}' is too short: each of its {PIECES} pieces needs {} frames, and has {each}",
                SEQUENCE + GAP
            );
        }
        for piece in (0..PIECES).filter(|piece| Split::of(*piece) == split) {
            let weights = |frame: usize| {
                let mut weights = vec![0.0; rig.skin().shapes.len()];
                let time = take.start() + (piece * each + frame) as f64 / SAMPLE_FPS;
                binding.weights_at(&take, rig.skin, time, &mut weights);
                weights
            };
            found.push((0..each - GAP).map(weights).collect());
        }
    }
    Ok(found)
}
