//! Builds the page from `web/` with Node, and writes a list of its files to be embedded.
//!
//! Sources are copied to the build folder, so that nothing is written beside them; packages are installed there from the
//! lock file when it changes.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const NO_NODE: &str = "the viewer's page needs Node.js 20.19 or newer with npm to be built: install it from your \
    system's packages, or build zygoma without the viewer (--no-default-features)";

fn main() {
    if let Err(problem) = run() {
        println!("cargo::error={problem}");
    }
}

fn run() -> Result<(), String> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or(format!("{name} is not set"));
    let sources = folder("CARGO_MANIFEST_DIR")?.join("web");
    let out = folder("OUT_DIR")?;
    let work = out.join("web");
    println!("cargo::rerun-if-changed=build.rs");
    let settings = ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "decoder.ts"];
    for entry in settings.iter().chain(&["index.html", "src"]) {
        println!("cargo::rerun-if-changed={}", sources.join(entry).display());
    }
    // Files that were removed from the sources must go here too.
    let _ = std::fs::remove_dir_all(work.join("src"));
    copy(&sources, &work)?;
    install(&work)?;
    let vite = work.join("node_modules/vite/bin/vite.js");
    let vite = vite.to_string_lossy();
    node(&work, "node", &[&vite, "build", "--logLevel", "warn"], "building the viewer's page")?;
    list(&work.join("dist"), &out.join("page_files.rs"))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let named = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(to).map_err(|error| named(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| named(from, error))? {
        let entry = entry.map_err(|error| named(from, error))?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "node_modules" || name == "dist" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            std::fs::copy(&path, to.join(name)).map_err(|error| named(&path, error))?;
        }
    }
    Ok(())
}

/// Installs the packages, unless those of this very lock file are there.
fn install(work: &Path) -> Result<(), String> {
    let lock = std::fs::read(work.join("package-lock.json")).map_err(|error| error.to_string())?;
    let stamp = work.join("node_modules/.lock-file");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    node(
        work,
        npm,
        &["ci", "--no-audit", "--no-fund", "--loglevel", "error"],
        "installing the page's packages",
    )?;
    std::fs::write(stamp, lock).map_err(|error| error.to_string())
}

fn node(work: &Path, program: &str, arguments: &[&str], what: &str) -> Result<(), String> {
    let output = Command::new(program).args(arguments).current_dir(work).output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => NO_NODE.to_owned(),
        _ => format!("{what} failed: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let output =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // Cargo takes one line for one message.
    Err(format!("{what} failed: {}", output.trim().replace('\n', " | ")))
}

/// Writes the table of files that `src/page.rs` includes.
fn list(folder: &Path, table: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    find(folder, "", &mut files)?;
    files.sort();
    let mut text = String::from("/// The page's files.\nconst FILES: &[PageFile] = &[\n");
    for file in files {
        let path = folder.join(&file);
        let _ = writeln!(
            text,
            "    PageFile {{ path: {file:?}, mime: {:?}, bytes: include_bytes!({:?}) }},",
            mime(&file),
            path.display().to_string()
        );
    }
    text.push_str("];\n");
    std::fs::write(table, text).map_err(|error| format!("{}: {error}", table.display()))
}

fn find(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            find(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}

fn mime(file: &str) -> &'static str {
    match file.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
