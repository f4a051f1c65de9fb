//! Recordings of simulations, from which an edited take is simulated only where it has changed.
//!
//! The published method starts again after every edit. A recording has the inputs and the surface of every frame, and states from which the simulation can
//! continue: the frames before an edit are copied, and simulation ends where its state is that of the recording again.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use glam::Vec3;
use serde::{Deserialize, Serialize};
use zygoma_rig::formats::Limits;
use zygoma_rig::{Error, Result};

use crate::model::Section;
use crate::model::container::{self, pack};

const KIND: &str = "zygoma_recording";
const VERSION: u64 = 1;
/// Seconds from state to state. Ours: a state is as large as some frames.
const BETWEEN_STATES: f64 = 0.2;
/// States closer than this are the same: displacements in m, and velocities in m/s, with which tissue that swings at 5 Hz goes as far. Ours.
const SAME: f32 = 1e-5;
const SAME_SPEED: f32 = 3e-4;

/// The frames of a simulation, with states in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    about: About,
    /// Hash of the inputs of each frame.
    inputs: Vec<u64>,
    /// Surface of each frame, in rig space.
    surfaces: Vec<Vec<Vec3>>,
    /// The body's state after some frames.
    states: BTreeMap<usize, Section>,
}

/// The simulation that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Frames per second.
    pub fps: f64,
    /// The body's name.
    pub body: String,
    /// Hash of all else that frames depend on, such as face and parameters.
    pub key: u64,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    version: u64,
    about: About,
    vertices: usize,
}

/// The inputs of a frame.
pub(super) fn hash_of(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    numbers.into_iter().for_each(|number| number.hash(&mut hasher));
    hasher.finish()
}

impl Recording {
    /// An empty recording.
    pub fn new(about: About) -> Self {
        Self { about, ..Self::default() }
    }

    /// The simulation that was recorded.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Whether its frames have that many vertices, at that rate.
    pub(super) fn fits(&self, vertices: usize, fps: f64) -> bool {
        self.about.fps == fps && self.surfaces.iter().all(|surface| surface.len() == vertices)
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.surfaces.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.surfaces.is_empty()
    }

    /// Adds a frame. `state` is asked for now and then.
    pub(super) fn push(&mut self, input: u64, surface: &[Vec3], state: impl FnOnce() -> Option<Section>) {
        let frame = self.surfaces.len();
        let between = (BETWEEN_STATES * self.about.fps).round().max(1.0) as usize;
        if frame.is_multiple_of(between)
            && let Some(state) = state()
        {
            self.states.insert(frame, state);
        }
        self.inputs.push(input);
        self.surfaces.push(surface.to_vec());
    }

    /// Adds frames of another recording, with their states.
    pub(super) fn copy(&mut self, other: &Self, frame: usize) {
        if let Some(state) = other.states.get(&frame) {
            self.states.insert(frame, state.clone());
        }
        self.inputs.push(other.inputs[frame]);
        self.surfaces.push(other.surfaces[frame].clone());
    }

    /// Compares an edited take with the recorded one: the frames that have to be simulated.
    pub(super) fn edit(&self, inputs: &[u64]) -> Edit<'_> {
        let changed = |frame: &usize| self.inputs.get(*frame) != inputs.get(*frame);
        let first = (0..inputs.len()).find(changed).unwrap_or(inputs.len());
        let last = (0..inputs.len()).rfind(changed);
        let start = self.states.range(..first).next_back();
        // Without an edit there is nothing to simulate.
        let is_same = last.is_none();
        Edit {
            old: self,
            resume: start.filter(|_| !is_same).map(|(frame, state)| (*frame, state)),
            last_change: last.unwrap_or(0),
            rejoined: is_same.then_some(0),
        }
    }

    /// Writes the recording.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut arrays = Section::default();
        let halves: Vec<u32> =
            self.inputs.iter().flat_map(|hash| [(hash >> 32) as u32, *hash as u32]).collect();
        arrays.add("inputs", 2, &halves);
        let surfaces: Vec<Vec3> = self.surfaces.iter().flatten().copied().collect();
        arrays.add_vectors("surfaces", &surfaces);
        let metadata = Metadata {
            version: VERSION,
            about: self.about.clone(),
            vertices: self.surfaces.first().map_or(0, Vec::len),
        };
        let names: Vec<String> = self.states.keys().map(|frame| format!("state{frame}")).collect();
        let states = names.iter().map(String::as_str).zip(self.states.values());
        let bytes = pack(KIND, &metadata, [("frames", &arrays)].into_iter().chain(states));
        Ok(zygoma_files::write(path, &bytes)?)
    }

    /// Reads a recording.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self> {
        let bytes = zygoma_files::read(path, limits.file_bytes)?;
        Self::from_bytes(&bytes).map_err(|problem| Error::malformed(path, problem))
    }

    fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let unknown = || "this is not a recording of zygoma; make one with `simulate --record`".to_owned();
        let mut container = container::open(KIND, bytes)?.ok_or_else(unknown)?;
        let metadata = std::mem::take(&mut container.metadata);
        let metadata: Metadata = serde_json::from_value(metadata).map_err(|_| unknown())?;
        if metadata.version != VERSION {
            return Err("it was recorded by another version of zygoma; record it again".to_owned());
        }
        let mut sections = container.sections()?;
        let frames = sections.remove("frames").ok_or_else(unknown)?;
        let inputs: Vec<u32> = frames.numbers("inputs")?;
        let inputs =
            inputs.as_chunks::<2>().0.iter().map(|[high, low]| u64::from(*high) << 32 | u64::from(*low));
        let inputs: Vec<u64> = inputs.collect();
        let surfaces = frames.vectors("surfaces")?;
        if surfaces.len() != metadata.vertices * inputs.len() || surfaces.iter().any(|p| !p.is_finite()) {
            return Err(
                "its surfaces have the wrong number of vertices, or one that is not finite".to_owned()
            );
        }
        let surfaces = surfaces.chunks(metadata.vertices.max(1)).map(<[Vec3]>::to_vec).collect();
        let state = |(name, section): (String, Section)| {
            let frame = name.strip_prefix("state").and_then(|frame| frame.parse().ok());
            frame.map(|frame: usize| (frame, section)).ok_or_else(|| format!("section {name} is unknown"))
        };
        let states: BTreeMap<usize, Section> =
            sections.into_iter().map(state).collect::<std::result::Result<_, _>>()?;
        if states.last_key_value().is_some_and(|(frame, _)| *frame >= inputs.len()) {
            return Err("it has a state after its last frame".to_owned());
        }
        Ok(Self { about: metadata.about, inputs, surfaces, states })
    }
}

/// Where an edited take is copied from a recording, and where it is simulated.
pub(super) struct Edit<'a> {
    old: &'a Recording,
    /// The frame from whose state simulation starts; frames until it are copied.
    resume: Option<(usize, &'a Section)>,
    last_change: usize,
    /// The frame from which on all are copied again.
    rejoined: Option<usize>,
}

impl<'a> Edit<'a> {
    /// The surface of a frame that need not be simulated.
    pub(super) fn copied(&self, frame: usize) -> Option<&'a [Vec3]> {
        let is_before = self.resume.is_some_and(|(last, _)| frame <= last);
        let is_after = self.rejoined.is_some_and(|first| frame >= first);
        (is_before || is_after).then(|| &self.old.surfaces[frame][..])
    }

    /// The recording.
    pub(super) fn old(&self) -> &'a Recording {
        self.old
    }

    /// The state to continue from after a copied frame.
    pub(super) fn state_after(&self, frame: usize) -> Option<&'a Section> {
        self.resume.filter(|(last, _)| *last == frame).map(|(_, state)| state)
    }

    /// Notes the state after a simulated frame: if it is the recorded one and no later input has changed, the rest is copied.
    pub(super) fn note(&mut self, frame: usize, state: impl FnOnce() -> Option<Section>) {
        if frame <= self.last_change || self.rejoined.is_some() {
            return;
        }
        if let Some(old) = self.old.states.get(&frame)
            && state().is_some_and(|state| is_same(old, &state))
        {
            self.rejoined = Some(frame + 1);
        }
    }
}

fn is_same(a: &Section, b: &Section) -> bool {
    let within = |name: &str, most: f32| {
        let (Ok(a), Ok(b)) = (a.numbers::<f32>(name), b.numbers::<f32>(name)) else { return false };
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= most)
    };
    within("displacements", SAME) && within("velocities", SAME_SPEED)
}
