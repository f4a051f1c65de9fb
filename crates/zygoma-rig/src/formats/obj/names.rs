//! Shape names as file names: kept as they are where every file system allows, percent-encoded otherwise.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

/// Names that Windows reserves for devices, whatever their case.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
    "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Decodes a file name to the shape's name.
pub(super) fn decode(stem: &str) -> String {
    percent_decode_str(stem).decode_utf8().map_or_else(|_| stem.to_owned(), Into::into)
}

/// Assigns file names without extension, each one once.
#[derive(Default)]
pub(super) struct FileNames {
    /// In lower case: some file systems ignore case.
    used: HashSet<String>,
}

impl FileNames {
    /// Starts with some names already taken.
    pub(super) fn without(taken: &[&str]) -> Self {
        Self { used: taken.iter().map(|name| name.to_lowercase()).collect() }
    }

    /// A free file name that [`decode`]s to `name`. Only if equal names use up all spellings, or the name
    /// is empty, does it get another one.
    pub(super) fn name(&mut self, name: &str) -> String {
        let length = name.chars().count();
        let spellings =
            (0..=length).map(|forced| encode(name, forced)).filter(|spelling| !spelling.is_empty());
        let base = if name.is_empty() { "unnamed" } else { name };
        let numbered = (2u32..).map(|number| encode(&format!("{base}~{number}"), 0));
        let unnamed = name.is_empty().then(|| base.to_owned());
        let mut candidates = spellings.chain(unnamed).chain(numbered);
        let free = candidates.find(|candidate| self.used.insert(candidate.to_lowercase()));
        free.expect("the numbered names never end")
    }
}

/// Encodes what file systems refuse, and the first `forced` characters in any case.
fn encode(name: &str, forced: usize) -> String {
    let last = name.chars().count().saturating_sub(1);
    let device = name.split('.').next().is_some_and(|stem| RESERVED.contains(&stem.to_lowercase().as_str()));
    let mut encoded = String::new();
    for (at, c) in name.chars().enumerate() {
        let edge = (at == 0 && matches!(c, ' ' | '.')) || (at == last && matches!(c, ' ' | '.'));
        if at < forced || edge || (at == 0 && device) || is_refused(c) {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        } else {
            encoded.push(c);
        }
    }
    encoded
}

/// Whether a character must be encoded; the percent sign too, since it marks an encoded character.
fn is_refused(c: char) -> bool {
    c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn safe_names_stay_and_unsafe_ones_are_encoded() {
        let mut names = FileNames::without(&["neutral"]);
        assert_eq!(names.name("mouthSmile_L"), "mouthSmile_L");
        assert_eq!(names.name("Lächeln (links)"), "Lächeln (links)");
        assert_eq!(names.name("a/b"), "a%2Fb");
        assert_eq!(names.name("50%"), "50%25");
        assert_eq!(names.name("nul.x"), "%6Eul.x");
        assert_eq!(names.name(".hidden"), "%2Ehidden");
        assert_eq!(names.name("Neutral"), "%4Eeutral");
        assert_eq!(names.name("MOUTHSMILE_L"), "%4DOUTHSMILE_L");
        assert_eq!(names.name(""), "unnamed");
    }

    proptest! {
        #[test]
        fn names_come_back(list in prop::collection::hash_set("[a-bA-B%/. \u{e4}]{1,4}", 1..20)) {
            let mut names = FileNames::without(&["neutral"]);
            let mut seen = HashSet::new();
            for name in list {
                let stem = names.name(&name);
                prop_assert!(seen.insert(stem.to_lowercase()), "{stem} twice");
                // Four spellings that differ in case alone can use up the encodings of a short name.
                prop_assert!(decode(&stem) == name || stem.contains('~'), "{name} as {stem}");
            }
        }
    }
}
