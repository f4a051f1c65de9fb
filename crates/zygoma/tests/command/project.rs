//! The project keeps its own promises: layers point one way, and documents name what exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The crates in the order of ARCHITECTURE.md's table of rooms, which is the order of the layers.
fn layers() -> Vec<String> {
    let rooms = read("ARCHITECTURE.md");
    let names = rooms.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once("`](crates/"));
    names.map(|(name, _)| name.to_owned()).filter(|name| name.starts_with("zygoma")).collect()
}

fn dependencies(layer: &str) -> BTreeSet<String> {
    let manifest: toml::Table =
        read(&format!("crates/{layer}/Cargo.toml")).parse().expect("a manifest is TOML");
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = sections.iter().filter_map(|section| manifest.get(*section)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).filter(|name| name.starts_with("zygoma")).collect()
}

#[test]
fn a_crate_never_uses_one_below_it() {
    let layers = layers();
    for (index, layer) in layers.iter().enumerate() {
        for used in dependencies(layer) {
            let place = layers.iter().position(|name| *name == used);
            assert!(place.is_some_and(|place| place < index), "{layer} uses {used}, which is not above it");
        }
    }
}

/// The modules of zygoma-face in the order of ARCHITECTURE.md's second table, which is the order of their layers.
fn face_modules() -> Vec<String> {
    let rooms = read("ARCHITECTURE.md");
    let rows =
        rooms.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once("`](crates/zygoma-face/src/"));
    rows.filter(|(name, rest)| rest.starts_with(&format!("{name})")))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn a_module_of_the_face_never_uses_one_below_it() {
    let modules = face_modules();
    assert!(modules.len() >= 6, "{modules:?}");
    for (index, module) in modules.iter().enumerate() {
        // Bodies stand beside each other.
        let is_body = |name: &str| ["shell", "tissue", "enriched", "anatomical"].contains(&name);
        let folder = root().join("crates/zygoma-face/src").join(module);
        for source in rust_sources(&folder).iter().filter(|path| !path.to_string_lossy().contains("tests")) {
            let text = std::fs::read_to_string(source).expect("a source file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for (below, used) in modules.iter().enumerate().filter(|(_, used)| *used != module) {
                let is_allowed = below < index && !(is_body(module) && is_body(used));
                let path = format!("crate::{used}");
                let uses = code.clone().any(|line| line.contains(&path));
                assert!(is_allowed || !uses, "{} uses {path}, which is not above it", source.display());
            }
        }
    }
}

#[test]
fn words_of_the_glossary_exist_in_the_code() {
    let text = read("ARCHITECTURE.md");
    let (_, words) = text.split_once("## Words").expect("a glossary");
    let (words, _) = words.split_once("\n## ").expect("a next chapter");
    let names: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
    assert!(names.len() >= 8, "{names:?}");
    let sources: String = rust_sources(&root().join("crates"))
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("a source file"))
        .collect();
    for name in names {
        let defined =
            ["struct", "trait", "enum"].iter().any(|kind| sources.contains(&format!("pub {kind} {name}")));
        let defined = defined || sources.contains(&format!("pub(crate) struct {name}"));
        assert!(defined, "the glossary names `{name}`, which does not exist");
    }
}

/// The front page of a library answers its question and shows how to call it.
#[test]
fn every_library_opens_with_an_example() {
    for layer in layers().iter().filter(|layer| !["zygoma", "zygoma-testing"].contains(&layer.as_str())) {
        let text = read(&format!("crates/{layer}/src/lib.rs"));
        let front: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        assert!(front[0].ends_with("?**"), "{layer} opens with no question: {}", front[0]);
        assert!(front.iter().filter(|line| **line == "//! ```").count() >= 2, "{layer} shows no example");
    }
}

#[test]
fn every_crate_has_its_layer() {
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates folder");
    let folders: BTreeSet<String> =
        folders.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, layers().into_iter().collect());
}

#[test]
fn documents_name_paths_that_exist() {
    for document in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        let text = read(document);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(path, _)| path);
        let local: Vec<&str> =
            targets.filter(|path| !path.contains("://") && !path.starts_with('#')).collect();
        assert!(!local.is_empty(), "{document} has no links");
        for path in local {
            assert!(root().join(path).exists(), "{document} names {path}, which does not exist");
        }
    }
}

/// Other ways to open a file would bypass the limits and checks of zygoma-files.
#[test]
fn files_are_opened_in_one_place() {
    let ways = [
        "fs::read(",
        "fs::read_to_string(",
        "fs::File::",
        "OpenOptions",
        "fs::write(",
        "fs::rename(",
        "fs::copy(",
    ];
    // Uploads go to a folder of the server's own; benchmarks read what they measure, the name of the processor and the memory of
    // a process.
    let allowed = ["transfer.rs", "bench/rig.rs", "bench/harness.rs", "bench/fuzz/mod.rs"];
    let sources = rust_sources(&root().join("crates"));
    let shipped = sources.iter().filter(|path| {
        let path = path.to_string_lossy();
        path.contains("/src/")
            && !["/zygoma-files/", "/zygoma-testing/", "tests"].iter().any(|part| path.contains(part))
            && !allowed.iter().any(|end| path.ends_with(end))
    });
    for path in shipped {
        let text = std::fs::read_to_string(path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for way in ways {
            assert!(!code.contains(way), "{} uses {way}: use zygoma_files", path.display());
        }
        let imports = code.contains("use std::fs::File;") || code.contains("fs::{self, File");
        let opens = code.contains(" File::open(") || code.contains(" File::create");
        assert!(!(imports && opens), "{} opens a file: use zygoma_files", path.display());
    }
}

#[test]
fn promises_name_tests_that_exist() {
    let sources = rust_sources(&root().join("crates"));
    let sources: String =
        sources.iter().map(|path| std::fs::read_to_string(path).expect("a source file")).collect();
    let promises = read("docs/promises.md");
    let rows = promises.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise"));
    let mut count = 0;
    for row in rows {
        let tests = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "a promise without a test: {row}");
        for name in names {
            assert!(sources.contains(&format!("fn {name}(")), "docs/promises.md names a test {name}");
            count += 1;
        }
    }
    assert!(count > 10, "only {count} tests found in the tables");
}

#[test]
fn cited_works_are_in_the_references() {
    let references = read("docs/REFERENCES.md");
    let sources = rust_sources(&root().join("crates"));
    assert!(!sources.is_empty());
    for source in sources {
        let text = std::fs::read_to_string(&source).expect("a source file");
        for key in text.lines().filter_map(cited_key) {
            assert!(
                references.contains(&format!("| {key} |")),
                "{} cites [{key}], which docs/REFERENCES.md lacks",
                source.display()
            );
        }
    }
}

#[test]
fn equations_are_cited_with_their_paper() {
    let references = read("docs/REFERENCES.md");
    let keys: Vec<&str> =
        references.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    assert_eq!(before_numbers("after IFA eq. 3 and eq. x").collect::<Vec<_>>(), ["after IFA "]);
    let mut texts = rust_sources(&root().join("crates"));
    texts.extend(["README.md", "ARCHITECTURE.md"].map(|page| root().join(page)));
    texts.extend(docs());
    for source in texts {
        let text = std::fs::read_to_string(&source).expect("a text");
        for (number, line) in (1..).zip(text.lines()) {
            for before in before_numbers(line) {
                assert!(
                    keys.iter().any(|key| before.contains(key)),
                    "{}:{number} cites an equation or algorithm without the key of its paper",
                    source.display()
                );
            }
        }
    }
}

/// The pages in docs.
fn docs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).expect("a folder of pages");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The parts of a line before each number of an equation or algorithm.
fn before_numbers(line: &str) -> impl Iterator<Item = &str> {
    let words = ["eq. ", "Eq. ", "eqs. ", "Eqs. ", "equation ", "Equation ", "Algorithm ", "Algorithms "];
    let places = words.into_iter().flat_map(|word| line.match_indices(word));
    places
        .filter(|(place, word)| line[place + word.len()..].starts_with(|c: char| c.is_ascii_digit()))
        .map(|(place, _)| &line[..place])
}

/// "What was moved is shown" stops an English reader; the thing itself as subject does not.
#[test]
fn no_sentence_begins_with_what() {
    let begins = |line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!', '-', '*']).trim_start();
        let sentences = text.split(". ").chain([text]);
        sentences.into_iter().any(|sentence| sentence.starts_with("What ") && !sentence.contains('?'))
    };
    assert!(begins("    /// What is left.") && begins("- Done. What is left stays."));
    assert!(!begins("//! What is left?") && !begins("## What it does"));
    let comments = rust_sources(&root().join("crates")).into_iter().map(|path| (path, "//"));
    for (path, start) in comments.chain(docs().into_iter().map(|path| (path, ""))) {
        let text = std::fs::read_to_string(&path).expect("a text");
        for (number, line) in (1..).zip(text.lines()) {
            let is_prose = line.trim_start().starts_with(start);
            assert!(!is_prose || !begins(line), "{}:{number}: {line}", path.display());
        }
    }
}

#[test]
fn each_energy_has_its_derivative_test() {
    let mut energies = Vec::new();
    for source in rust_sources(&root().join("crates/zygoma-physics/src")) {
        let text = std::fs::read_to_string(&source).expect("a source file");
        for line in text.lines().filter(|line| line.starts_with("impl Energy<")) {
            let name = line.split(" for ").nth(1).expect("a type").trim_end_matches(" {");
            let test = format!("fn {}_derivatives_match_finite_differences(", snake_case(name));
            assert!(text.contains(&test), "{} has no test {test}", source.display());
            energies.push(name.to_owned());
        }
    }
    assert!(energies.len() >= 13, "only {energies:?}");
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// A comment's `[Author year]`, brackets escaped as rustdoc wants it or not.
fn cited_key(line: &str) -> Option<&str> {
    let comment = line.trim_start().strip_prefix("//")?;
    let (_, rest) = comment.split_once('[')?;
    let (key, _) = rest.split_once(']')?;
    let key = key.trim_end_matches('\\');
    let (author, year) = key.rsplit_once(' ')?;
    let is_year = year.len() == 4 && year.bytes().all(|digit| digit.is_ascii_digit());
    (is_year && author.starts_with(char::is_uppercase)).then_some(key)
}

fn rust_sources(folder: &Path) -> Vec<PathBuf> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            sources.extend(rust_sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
    sources
}
