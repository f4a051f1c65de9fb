//! The 52 ARKit shapes and their many spellings.

/// The 52 shapes under ARKit's own names, sorted.
pub const SHAPES: [&str; 52] = [
    "browDownLeft",
    "browDownRight",
    "browInnerUp",
    "browOuterUpLeft",
    "browOuterUpRight",
    "cheekPuff",
    "cheekSquintLeft",
    "cheekSquintRight",
    "eyeBlinkLeft",
    "eyeBlinkRight",
    "eyeLookDownLeft",
    "eyeLookDownRight",
    "eyeLookInLeft",
    "eyeLookInRight",
    "eyeLookOutLeft",
    "eyeLookOutRight",
    "eyeLookUpLeft",
    "eyeLookUpRight",
    "eyeSquintLeft",
    "eyeSquintRight",
    "eyeWideLeft",
    "eyeWideRight",
    "jawForward",
    "jawLeft",
    "jawOpen",
    "jawRight",
    "mouthClose",
    "mouthDimpleLeft",
    "mouthDimpleRight",
    "mouthFrownLeft",
    "mouthFrownRight",
    "mouthFunnel",
    "mouthLeft",
    "mouthLowerDownLeft",
    "mouthLowerDownRight",
    "mouthPressLeft",
    "mouthPressRight",
    "mouthPucker",
    "mouthRight",
    "mouthRollLower",
    "mouthRollUpper",
    "mouthShrugLower",
    "mouthShrugUpper",
    "mouthSmileLeft",
    "mouthSmileRight",
    "mouthStretchLeft",
    "mouthStretchRight",
    "mouthUpperUpLeft",
    "mouthUpperUpRight",
    "noseSneerLeft",
    "noseSneerRight",
    "tongueOut",
];

/// Names of other conventions for the same shapes, without their side: VRCFT Unified Expressions,
/// FaceScape and the Faceshift set it inherits.
const ALIASES: [(&str, &str); 30] = [
    ("browlowerer", "browdown"),
    ("browsd", "browdown"),
    ("browsuc", "browinnerup"),
    ("browsu", "browouterup"),
    ("chinlowerraise", "mouthshruglower"),
    ("chinupperraise", "mouthshrugupper"),
    ("eyeclosed", "eyeblink"),
    ("eyedown", "eyelookdown"),
    ("eyein", "eyelookin"),
    ("eyeopen", "eyewide"),
    ("eyeout", "eyelookout"),
    ("eyeup", "eyelookup"),
    ("jawfwd", "jawforward"),
    ("lipfunnel", "mouthfunnel"),
    ("lippucker", "mouthpucker"),
    ("lipsfunnel", "mouthfunnel"),
    ("lipslowerclose", "mouthrolllower"),
    ("lipslowerdown", "mouthlowerdown"),
    ("lipspucker", "mouthpucker"),
    ("lipsstretch", "mouthstretch"),
    ("lipstogether", "mouthclose"),
    ("lipsucklower", "mouthrolllower"),
    ("lipsuckupper", "mouthrollupper"),
    ("lipsupperclose", "mouthrollupper"),
    ("lipsupperup", "mouthupperup"),
    ("mouthclosed", "mouthclose"),
    ("mouthraiserlower", "mouthshruglower"),
    ("mouthraiserupper", "mouthshrugupper"),
    ("puff", "cheekpuff"),
    ("sneer", "nosesneer"),
];

/// One half of a face; left is the character's left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The character's left.
    Left,
    /// The character's right.
    Right,
}

/// The ARKit shape that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Recognised {
    /// ARKit's name.
    pub shape: &'static str,
    /// Set when the name is one half of a shape that ARKit does not split, as in `cheekPuff_L`.
    pub half: Option<Side>,
}

/// A spelling reduced to its meaningful words: without prefixes, separators and case, with sides as words at
/// the end. Two names with the same key mean the same shape.
pub fn key(name: &str) -> String {
    let (mut words, side) = split_side(words(name));
    words.extend(side.map(|side| side.word().to_owned()));
    words.concat()
}

/// The [`key`] of a name without the single letters that some tools put before and after every name of a mesh, as in
/// `t_MouthOpen_h`. Sides stay.
pub fn bare_key(name: &str) -> String {
    let (mut words, side) = split_side(words(name));
    let is_mark = |word: &String| word.chars().count() == 1 && Side::from_word(word).is_none();
    while words.len() > 1 && words.last().is_some_and(is_mark) {
        words.pop();
    }
    while words.len() > 1 && is_mark(&words[0]) {
        words.remove(0);
    }
    words.extend(side.map(|side| side.word().to_owned()));
    words.concat()
}

/// The ARKit shape that a name stands for, in any of the usual spellings.
pub fn recognise(name: &str) -> Option<Recognised> {
    let (words, side) = split_side(words(name));
    let own = words.concat();
    let stem = ALIASES.iter().find(|(alias, _)| *alias == own).map_or(own.as_str(), |(_, stem)| stem);
    let find = |key: &str| SHAPES.iter().copied().find(|shape| shape.eq_ignore_ascii_case(key));
    match side {
        None => find(stem).map(|shape| Recognised { shape, half: None }),
        Some(side) => find(&format!("{stem}{}", side.word()))
            .map(|shape| Recognised { shape, half: None })
            .or_else(|| find(stem).map(|shape| Recognised { shape, half: Some(side) })),
    }
}

/// Whether a name stands for an ARKit shape, or for one half of it.
pub fn is(name: &str, shape: &str) -> bool {
    recognise(name).is_some_and(|found| found.shape == shape)
}

/// Which of the 52 shapes a list of names holds. A shape that comes in halves needs both.
pub fn present<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let found: Vec<Recognised> = names.into_iter().filter_map(recognise).collect();
    let has = |shape, half| found.contains(&Recognised { shape, half });
    let is_present = |shape: &&'static str| {
        has(shape, None) || (has(shape, Some(Side::Left)) && has(shape, Some(Side::Right)))
    };
    SHAPES.iter().copied().filter(is_present).collect()
}

impl Side {
    /// The other half.
    pub fn other(self) -> Self {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "l" | "left" => Some(Side::Left),
            "r" | "right" => Some(Side::Right),
            _ => None,
        }
    }
}

/// Lower-case words of a name: split at separators and camel-case humps, without deformer prefixes
/// (`blendShape2.`, `mesh:`) and catalogue numbers (`A01_`).
fn words(name: &str) -> Vec<String> {
    let own = name.rsplit(['.', ':', '|']).find(|part| !part.is_empty()).unwrap_or(name);
    // `eye.blink.L` uses the dot as a separator: the part after it is not a name of its own.
    let own = if own.chars().count() < 3 { name } else { own };
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for letter in own.chars() {
        let starts_word = letter.is_uppercase() && after_lower;
        if (starts_word || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.extend((!word.is_empty()).then_some(word));
    if words.len() > 1 && is_catalogue_number(&words[0]) {
        words.remove(0);
    }
    words
}

/// Character Creator numbers its shapes: `A01`, `T10`.
fn is_catalogue_number(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && word.len() == 3
        && letters.all(|letter| letter.is_ascii_digit())
}

/// Removes the side from the end of the words, or from their start.
fn split_side(mut words: Vec<String>) -> (Vec<String>, Option<Side>) {
    if words.len() < 2 {
        return (words, None);
    }
    if let Some(side) = words.last().and_then(|word| Side::from_word(word)) {
        words.pop();
        return (words, Some(side));
    }
    if let Some(side) = Side::from_word(&words[0]) {
        words.remove(0);
        return (words, Some(side));
    }
    (words, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_resolve() {
        assert!(SHAPES.is_sorted());
        for shape in SHAPES {
            assert_eq!(recognise(shape), Some(Recognised { shape, half: None }), "{shape}");
        }
        for (alias, stem) in ALIASES {
            assert!(
                SHAPES.iter().any(|shape| shape.to_lowercase().starts_with(stem)),
                "{alias} leads to {stem}, which no shape starts with"
            );
        }
    }

    #[test]
    fn usual_spellings_are_recognised() {
        let spellings = [
            ("eyeBlink_L", "eyeBlinkLeft"),
            ("EyeBlinkLeft", "eyeBlinkLeft"),
            ("blendShape2.eyeBlink_L", "eyeBlinkLeft"),
            ("A14_Eye_Blink_Left", "eyeBlinkLeft"),
            ("eye.blink.L", "eyeBlinkLeft"),
            ("EYE_BLINK_LEFT", "eyeBlinkLeft"),
            ("eyeblinkleft", "eyeBlinkLeft"),
            ("leftEyeBlink", "eyeBlinkLeft"),
            ("A01_Brow_Inner_Up", "browInnerUp"),
            ("MouthClosed", "mouthClose"),
            ("LipsTogether", "mouthClose"),
            ("LipSuckUpper", "mouthRollUpper"),
            ("jawLeft", "jawLeft"),
            ("Jaw_L", "jawLeft"),
            ("mouth right", "mouthRight"),
            ("EyeClosedRight", "eyeBlinkRight"),
            ("ARKit:mouthSmile_R", "mouthSmileRight"),
        ];
        for (spelling, shape) in spellings {
            assert_eq!(recognise(spelling), Some(Recognised { shape, half: None }), "{spelling}");
        }
        for other in ["", "viseme_aa", "cheekRaiser_L", "Fcl_ALL_Joy", "L", "shape 3", "left", "mouth"] {
            assert_eq!(recognise(other), None, "{other}");
        }
    }

    #[test]
    fn halves_count_only_together() {
        assert_eq!(recognise("cheekPuff_L"), Some(Recognised { shape: "cheekPuff", half: Some(Side::Left) }));
        assert!(present(["cheekPuff_L"]).is_empty());
        assert_eq!(present(["cheekPuff_L", "CheekPuff_R", "jawOpen"]), ["cheekPuff", "jawOpen"]);
    }

    #[test]
    fn bare_keys_ignore_marks_of_a_mesh_but_no_sides() {
        assert_eq!(bare_key("h_teeth.t_MouthOpen_h"), bare_key("h_expressions.MouthOpen_h"));
        assert_eq!(bare_key("t_Rjaw_h"), bare_key("h_expressions.Rjaw_h"));
        assert_ne!(bare_key("jaw_L"), bare_key("jaw_R"));
        assert_ne!(bare_key("t_MouthOpen_h"), bare_key("t_MouthClose_h"));
        assert_eq!(bare_key("E"), "e");
    }

    #[test]
    fn keys_ignore_case_and_separators_only() {
        assert_eq!(key("Fcl_ALL_Joy"), key("fcl all joy"));
        assert_eq!(key("browInnerUp_L"), key("BrowInnerUpLeft"));
        assert_ne!(key("jawLeft"), key("jawRight"));
    }
}
