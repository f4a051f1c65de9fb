//! Checks the paths that a command reads and writes, before it starts to work.

use std::path::Path;

use clap::{ArgMatches, Command, ValueHint};
use zygoma_files::{OutputKind, Plan};
use zygoma_rig::formats::obj;

/// Flags that name an output. Every other flag with a path names an input.
const OUTPUTS: [&str; 11] = [
    "out",
    "glb",
    "report",
    "sheet",
    "plot",
    "table",
    "cache",
    "write_map",
    "record",
    "take_out",
    "pictures",
];

/// Flags that may name a file, or something else.
const TAKES: [&str; 4] = ["take", "takes", "material_take", "anatomy"];

/// Refuses outputs that cannot be made, or that would replace an input, a device or a pipe; then enforces this for the rest of the run.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> anyhow::Result<()> {
    let mut plan = Plan::default();
    collect(command, matches, &mut plan)?;
    Ok(plan.enforce()?)
}

fn collect(command: &Command, matches: &ArgMatches, plan: &mut Plan) -> anyhow::Result<()> {
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_path = matches!(
            argument.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        );
        let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
        for path in values.map(Path::new) {
            if is_path && OUTPUTS.contains(&id) {
                let kind = kind(command.get_name(), id, path);
                plan.output(path, kind)?;
                if kind == OutputKind::WholeFolder {
                    obj::check_folder(path)?;
                }
            } else if is_path || TAKES.contains(&id) {
                plan.input(path);
            }
        }
    }
    if let Some((name, matches)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        collect(command, matches, plan)?;
    }
    Ok(())
}

/// How a command makes an output. Rigs and surfaces without an extension are folders of OBJ files.
fn kind(command: &str, id: &str, path: &Path) -> OutputKind {
    match (command, id) {
        (_, "report" | "cache" | "pictures") | ("demo" | "samples", _) => OutputKind::Folder,
        ("convert" | "correct" | "retarget" | "simulate" | "head", "out") if path.extension().is_none() => {
            OutputKind::WholeFolder
        }
        _ => OutputKind::File,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn paths(command: &Command, found: &mut Vec<(String, String)>) {
        for argument in command.get_arguments().filter(|a| a.get_value_hint() == ValueHint::AnyPath) {
            found.push((command.get_name().to_owned(), argument.get_id().to_string()));
        }
        command.get_subcommands().for_each(|command| paths(command, found));
    }

    /// A new flag that takes a path belongs here, and, if it names an output, in [`OUTPUTS`].
    #[test]
    fn every_path_of_the_command_line_is_known() {
        let inputs = [
            "rig",
            "rigs",
            "input",
            "params",
            "face",
            "touch",
            "hands",
            "hand_cache",
            "hand_meshes",
            "markers",
            "thickness",
            "file",
            "from",
            "landmarks",
            "map",
            "materials",
            "edit_of",
            "source",
            "target",
            "frames",
            "examples",
        ];
        let mut found = Vec::new();
        paths(&Cli::command(), &mut found);
        assert!(found.len() > 15, "{found:?}");
        for (command, id) in found {
            let known = inputs.contains(&id.as_str()) || OUTPUTS.contains(&id.as_str());
            assert!(known, "{command} takes a path as '{id}': is it an input or an output?");
        }
    }
}
