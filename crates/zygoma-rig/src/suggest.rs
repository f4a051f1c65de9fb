//! Guesses which shapes of a rig a take's tracks stand for, where the names use other words.

use std::collections::{BTreeMap, BTreeSet};

use crate::arkit::{self, Side};
use crate::binding::Binding;
use crate::{Rig, RigMesh, Shape, Take};

/// The shapes that a track may stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The track, as the take spells it.
    pub track: String,
    /// Shapes of the rig, on any of its meshes, with the factor of each; empty where none resembles it.
    pub shapes: Vec<(String, f32)>,
}

/// ARKit's shapes without their sides, and other wordings of the same, the likeliest first.
const WORDINGS: [(&str, &[&str]); 32] = [
    ("browDown", &["brow down", "brow lower", "brow frown", "brow angry"]),
    ("browInnerUp", &["inner brow up", "middle brow up", "inner brow raise", "brow up", "brow raise"]),
    ("browOuterUp", &["outer brow up", "outer brow raise", "brow up", "brow raise"]),
    ("cheekPuff", &["cheek puff", "puff", "blow", "cheek blow", "cheek out"]),
    ("cheekSquint", &["cheek squint", "cheek raise", "cheek up", "cheek"]),
    ("eyeBlink", &["eye blink", "eye close", "blink", "lid close", "wink", "upper lid down"]),
    ("eyeLookDown", &["eye look down", "look down", "eye down", "gaze down"]),
    ("eyeLookIn", &["eye look in", "look in", "eye in", "gaze in"]),
    ("eyeLookOut", &["eye look out", "look out", "eye out", "gaze out"]),
    ("eyeLookUp", &["eye look up", "look up", "eye up", "gaze up"]),
    ("eyeSquint", &["eye squint", "squint", "lower lid up", "low lid", "lid tight"]),
    ("eyeWide", &["eye wide", "eye open", "wide", "upper lid up", "lid raise"]),
    ("jawForward", &["jaw forward", "jaw out", "jaw thrust"]),
    ("jaw", &["jaw", "jaw side", "jaw move"]),
    ("jawOpen", &["jaw open", "mouth open", "jaw drop", "jaw down", "open"]),
    ("mouthClose", &["mouth close", "lip together", "lip close", "mouth shut"]),
    ("mouthDimple", &["mouth dimple", "dimple", "lip corner in"]),
    (
        "mouthFrown",
        &["mouth frown", "mouth sad", "frown", "lip corner down", "mouth corner down", "corner down"],
    ),
    ("mouthFunnel", &["mouth funnel", "funnel", "lip funnel", "oh", "oo"]),
    ("mouth", &["mouth side", "lip side", "mouth", "mouth move", "mouth slide"]),
    ("mouthLowerDown", &["lower lip down", "mouth lower down", "lip down", "lip depress"]),
    ("mouthPress", &["mouth press", "lip press", "press", "lip tight"]),
    ("mouthPucker", &["mouth pucker", "pucker", "kiss", "lip pucker", "whistle"]),
    (
        "mouthRollLower",
        &["mouth roll lower", "lower lip roll", "lower lip in", "lower lip suck", "lower lip bite"],
    ),
    (
        "mouthRollUpper",
        &["mouth roll upper", "upper lip roll", "upper lip in", "upper lip suck", "upper lip bite"],
    ),
    ("mouthShrugLower", &["mouth shrug lower", "chin raise", "lower lip raise", "chin up", "chin"]),
    ("mouthShrugUpper", &["mouth shrug upper", "upper lip shrug", "upper lip push"]),
    ("mouthSmile", &["mouth smile", "smile", "smile close", "lip corner up", "mouth corner up", "corner up"]),
    ("mouthStretch", &["mouth stretch", "stretch", "lip stretch", "mouth wide", "lip wide", "lip corner"]),
    ("mouthUpperUp", &["upper lip up", "mouth upper up", "upper lip raise", "lip up", "lip raise"]),
    ("noseSneer", &["nose sneer", "sneer", "nose wrinkle", "disgust", "snarl", "nostril"]),
    ("tongueOut", &["tongue out", "tongue"]),
];

/// Other words, abbreviations and forms of the words above.
const SYNONYMS: [(&str, &str); 26] = [
    ("brows", "brow"),
    ("eyebrow", "brow"),
    ("eyebrows", "brow"),
    ("brw", "brow"),
    ("eyes", "eye"),
    ("eyelid", "lid"),
    ("lids", "lid"),
    ("lips", "lip"),
    ("mth", "mouth"),
    ("cheeks", "cheek"),
    ("closed", "close"),
    ("opened", "open"),
    ("raised", "raise"),
    ("raiser", "raise"),
    ("lowerer", "lower"),
    ("low", "lower"),
    ("lowered", "lower"),
    ("top", "upper"),
    ("bottom", "lower"),
    ("puckerer", "pucker"),
    ("front", "forward"),
    ("fwd", "forward"),
    ("sideways", "side"),
    ("mandible", "jaw"),
    ("tg", "tongue"),
    ("wrinkler", "wrinkle"),
];

/// How similar words must be, as twice the share that both have (Dice). Ours.
const ALIKE: f32 = 0.66;

/// Penalty for each place behind the first in a list of wordings, so that the likeliest wins among equals.
const LATER: f32 = 0.01;

/// A shape's name, split into words.
struct Words {
    words: BTreeSet<String>,
    side: Option<Side>,
}

/// Suggests shapes for the tracks of a take that match no shape.
///
/// Only names of ARKit's shapes are understood. Each mesh is matched by itself, so that teeth and tongue are found beside the skin,
/// and each of its shapes is suggested for one track at most, or for the two sides of one.
pub fn suggest(rig: &Rig, take: &Take) -> Vec<Suggestion> {
    let unmatched = Binding::new(rig, take).unmatched;
    let mut suggestions: Vec<Suggestion> =
        unmatched.into_iter().map(|track| Suggestion { track, shapes: Vec::new() }).collect();
    for mesh in &rig.meshes {
        let tracks: Vec<&str> = suggestions.iter().map(|suggestion| suggestion.track.as_str()).collect();
        let found = match_mesh(mesh, &tracks);
        for (suggestion, shapes) in suggestions.iter_mut().zip(found) {
            for shape in shapes {
                if !suggestion.shapes.contains(&shape) {
                    suggestion.shapes.push(shape);
                }
            }
        }
    }
    suggestions
}

/// The suggestions as a file that [`NameMap`](crate::name_map::NameMap) reads; tracks without one are comments.
pub fn to_toml(suggestions: &[Suggestion]) -> String {
    // A JSON string literal is also valid TOML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let line = |Suggestion { track, shapes }: &Suggestion| {
        let is_bare = track.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = if is_bare { track.clone() } else { quoted(track) };
        if shapes.is_empty() {
            return format!("# {key} = []\n");
        }
        if shapes.iter().any(|(_, gain)| *gain != 1.0) {
            let shapes: Vec<String> =
                shapes.iter().map(|(shape, gain)| format!("{} = {gain:?}", quoted(shape))).collect();
            return format!("{key} = {{ {} }}\n", shapes.join(", "));
        }
        let shapes: Vec<String> = shapes.iter().map(|(shape, _)| quoted(shape)).collect();
        match shapes.as_slice() {
            [shape] => format!("{key} = {shape}\n"),
            shapes => format!("{key} = [{}]\n", shapes.join(", ")),
        }
    };
    suggestions.iter().map(line).collect()
}

/// The shapes of one mesh for each track.
fn match_mesh(mesh: &RigMesh, tracks: &[&str]) -> Vec<Vec<(String, f32)>> {
    let words = words_of_shapes(mesh);
    let mut pairs: Vec<(f32, usize, usize)> = Vec::new();
    for (track, name) in tracks.iter().enumerate() {
        let Some((wordings, side)) = wordings(name) else { continue };
        for (shape, words) in words.iter().enumerate() {
            // A shape without a side serves both sides; one with a side only its own, and a track for both of them.
            let fits = side.is_none() || words.side.is_none() || words.side == side;
            let score =
                likeness(&wordings, &words.words) - if side == words.side { 0.0 } else { 2.0 * LATER };
            if fits && score >= ALIKE {
                pairs.push((score, track, shape));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); tracks.len()];
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, track, shape) in pairs {
        let other_side = |owner: &usize| {
            let (a, b) = (wordings(tracks[*owner]), wordings(tracks[track]));
            words[shape].side.is_none() && a.zip(b).is_some_and(|(a, b)| a.0 == b.0)
        };
        let is_free = owners.get(&shape).is_none_or(other_side);
        // A second shape for one track is its other half, named with the same words.
        let is_half = |first: &usize| {
            let (a, b) = (&words[*first], &words[shape]);
            a.words == b.words && a.side.is_some() && b.side.is_some() && a.side != b.side
        };
        let wanted = match found[track].as_slice() {
            [] => true,
            [first] => is_half(first) && wordings(tracks[track]).is_some_and(|(_, side)| side.is_none()),
            _ => false,
        };
        if is_free && wanted {
            owners.insert(shape, track);
            found[track].push(shape);
        }
    }
    let named = |(track, shapes): (usize, Vec<usize>)| {
        let side = wordings(tracks[track]).and_then(|(_, side)| side);
        // The two sides of a take together give an unsided shape its full weight.
        let gain = |shape: usize| if side.is_some() && words[shape].side.is_none() { 0.5 } else { 1.0 };
        shapes.into_iter().map(|shape| (mesh.shapes[shape].name.clone(), gain(shape))).collect()
    };
    found.into_iter().enumerate().map(named).collect()
}

/// The wordings of a track's meaning, with its side.
fn wordings(track: &str) -> Option<(Vec<&'static str>, Option<Side>)> {
    let found = arkit::recognise(track)?;
    let side = [("Left", Side::Left), ("Right", Side::Right)];
    let sided = side.iter().find_map(|(word, side)| Some((found.shape.strip_suffix(word)?, *side)));
    let (stem, side) = sided.map_or((found.shape, found.half), |(stem, side)| (stem, Some(side)));
    let wordings: Vec<&str> = WORDINGS
        .iter()
        .filter(|(name, _)| *name == stem)
        .flat_map(|(_, said)| said.iter().copied())
        .collect();
    (!wordings.is_empty()).then_some((wordings, side))
}

fn likeness(wordings: &[&str], words: &BTreeSet<String>) -> f32 {
    let score = |(place, wording): (usize, &&str)| {
        let said: BTreeSet<&str> = wording.split(' ').collect();
        let both = words.iter().filter(|word| said.contains(word.as_str())).count();
        2.0 * both as f32 / (said.len() + words.len()) as f32 - LATER * place as f32
    };
    wordings.iter().enumerate().map(score).fold(0.0, f32::max)
}

/// The words of every shape of a mesh, without those that most shapes share.
fn words_of_shapes(mesh: &RigMesh) -> Vec<Words> {
    let mut all: Vec<Words> = mesh.shapes.iter().map(|shape| Words::of(&shape.name)).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in all.iter().flat_map(|words| &words.words) {
        *counts.entry(word.clone()).or_default() += 1;
    }
    // Ours: a word in more than half of at least eight names distinguishes none of them.
    let count = mesh.shapes.len();
    let common = |word: &String| count >= 8 && 2 * counts[word] > count;
    for words in &mut all {
        words.words.retain(|word| !common(word));
    }
    if are_mirrored(mesh, &all) {
        all.iter_mut().for_each(|words| words.side = words.side.map(Side::other));
    }
    all
}

/// Whether sides are named from the viewer's side, judged by the side that shapes move: the character's left is +X.
fn are_mirrored(mesh: &RigMesh, words: &[Words]) -> bool {
    let vote = |(shape, words): (&Shape, &Words)| {
        let middle: f32 = shape.deltas.iter().map(|(v, by)| by.length() * mesh.positions[v as usize].x).sum();
        match words.side {
            Some(Side::Left) => middle,
            Some(Side::Right) => -middle,
            None => 0.0,
        }
    };
    let votes = mesh.shapes.iter().zip(words).map(vote);
    let votes: i32 = votes.map(|side| i32::from(side > 0.0) - i32::from(side < 0.0)).sum();
    votes < 0
}

impl Words {
    fn of(name: &str) -> Self {
        let own = name.rsplit(['.', ':', '|']).find(|part| part.chars().count() > 2).unwrap_or(name);
        let mut words = Self { words: BTreeSet::new(), side: None };
        for part in own.split(|c: char| !c.is_alphanumeric()).flat_map(humps) {
            words.add(&part);
        }
        words
    }

    fn add(&mut self, word: &str) {
        let lower = word.to_lowercase();
        if let Some(side) = Side::from_word(&lower) {
            self.side = Some(side);
            return;
        }
        // "RlipUp" is the right lip, "RRbrowUp" the outer right brow.
        let initials = word.chars().take_while(|c| c.is_uppercase()).count();
        let (start, rest) =
            lower.split_at(lower.char_indices().nth(initials).map_or(lower.len(), |(at, _)| at));
        let side = match start {
            "r" | "rr" => Some(Side::Right),
            "l" | "ll" => Some(Side::Left),
            _ => None,
        };
        if side.is_some() && is_known(rest) {
            self.side = side;
            if initials == 2 {
                self.words.insert("outer".into());
            }
            self.insert(rest);
        } else if lower.chars().count() > 1 {
            self.insert(&lower);
        }
    }

    fn insert(&mut self, word: &str) {
        let plain = SYNONYMS.iter().find(|(other, _)| *other == word).map_or(word, |(_, plain)| plain);
        self.words.insert(plain.to_owned());
    }
}

/// Whether a word occurs in the known shape names.
fn is_known(word: &str) -> bool {
    const MORE: [&str; 6] = ["sad", "pityful", "angry", "happy", "neck", "tension"];
    SYNONYMS.iter().any(|(other, _)| *other == word)
        || MORE.contains(&word)
        || WORDINGS.iter().flat_map(|(_, said)| said.iter()).any(|said| said.split(' ').any(|w| w == word))
}

/// A word split where a capital follows a lower-case letter.
fn humps(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_small = false;
    for letter in word.chars() {
        if letter.is_uppercase() && after_small {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
        after_small = letter.is_lowercase();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::take::{WeightCurve, WeightTrack};
    use crate::test_rigs::rig_with_shapes;

    fn suggested(shapes: &[&str], tracks: &[&str]) -> Vec<Vec<(String, f32)>> {
        let track = |name: &&str| WeightTrack {
            shape: (*name).into(),
            curve: WeightCurve::linear([0.0].into(), vec![1.0]),
        };
        let take = Take { weights: tracks.iter().map(track).collect(), ..Take::default() };
        suggest(&rig_with_shapes(shapes), &take).into_iter().map(|suggestion| suggestion.shapes).collect()
    }

    #[test]
    fn other_words_for_the_same_are_found() {
        let shapes = [
            "x.MouthOpen_h",
            "x.RsmileClose_h",
            "x.LsmileClose_h",
            "x.LsmileOpen_h",
            "x.Lblow_h",
            "x.Rblow_h",
            "x.LeyeClose_h",
            "x.Kiss_h",
            "x.LLbrowUp_h",
            "x.LbrowUp_h",
            "x.RbrowUp_h",
            "x.Ljaw_h",
        ];
        let tracks = [
            "jawOpen",
            "mouthSmileLeft",
            "cheekPuff",
            "EyeBlinkLeft",
            "mouthPucker",
            "browOuterUp_L",
            "browInnerUp",
            "jawLeft",
            "tongueOut",
        ];
        let found = suggested(&shapes, &tracks);
        let wanted: [&[&str]; 9] = [
            &["x.MouthOpen_h"],
            &["x.LsmileClose_h"],
            &["x.Lblow_h", "x.Rblow_h"],
            &["x.LeyeClose_h"],
            &["x.Kiss_h"],
            &["x.LLbrowUp_h"],
            &["x.LbrowUp_h", "x.RbrowUp_h"],
            &["x.Ljaw_h"],
            &[],
        ];
        for ((track, found), wanted) in tracks.iter().zip(&found).zip(wanted) {
            let wanted: Vec<(String, f32)> = wanted.iter().map(|shape| ((*shape).to_owned(), 1.0)).collect();
            assert_eq!(*found, wanted, "{track}");
        }
    }

    #[test]
    fn a_shape_without_a_side_serves_both() {
        let found =
            suggested(&["Smile", "Eyes Closed"], &["mouthSmileLeft", "mouthSmileRight", "eyeBlinkLeft"]);
        let half = |shape: &str| vec![(shape.to_owned(), 0.5)];
        assert_eq!(found, [half("Smile"), half("Smile"), half("Eyes Closed")]);
    }

    #[test]
    fn what_has_nothing_in_common_is_left_alone() {
        let found = suggested(&["viseme_PP", "Neck"], &["jawOpen", "mouthSmileLeft"]);
        assert!(found.iter().all(Vec::is_empty), "{found:?}");
    }
}
