//! The `zygoma` command as a library: it parses, calls and reports. `main` is one call of [`main`].

mod anatomy_pictures;
mod bench;
mod cli;
mod commands;
mod files;
mod json;
mod markers;
mod pictures;
mod progress;
mod props;
mod reports;
mod watched;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::{Cli, Command};

/// The exit code that shells expect of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// The exit code of a simulation that broke.
const BROKEN: u8 = 3;

/// Runs the command given on the command line.
pub fn main() -> ExitCode {
    let command = Cli::command();
    let matches = command.clone().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // Without a handler half-written files would stay; failing to set one is not an error.
    let _ = ctrlc::set_handler(|| {
        #[cfg(feature = "view")]
        if commands::view::stop() {
            return;
        }
        zygoma_files::abandon_outputs();
        std::process::exit(INTERRUPTED);
    });
    let result = zygoma_numerics::simd::check_environment()
        .map_err(anyhow::Error::from)
        .and_then(|()| files::check(&command, &matches))
        .and_then(|()| run(&cli));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<watched::Failed>() => {
            eprintln!("{error}");
            ExitCode::from(BROKEN)
        }
        Err(error) => {
            eprintln!("error: {}", sentence(&error));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    match &cli.command {
        Command::Info(args) => commands::info::run(args, cli.verbose),
        Command::Convert(args) => commands::convert::run(args, cli.verbose),
        Command::Head(args) => commands::head::run(args),
        Command::Anatomy(args) => commands::anatomy::run(args),
        Command::Build(args) => commands::build::run(args),
        Command::Correct(args) => commands::correct::run(args),
        Command::Retarget(args) => commands::retarget::run(args),
        Command::Landmarks(args) => commands::landmarks::run(args),
        Command::Samples(args) => commands::samples::run(args),
        Command::Simulate(args) => commands::simulate::run(args, cli.verbose),
        Command::Demo(args) => commands::demo::run(args),
        #[cfg(feature = "view")]
        Command::View(args) => commands::view::run(args),
        Command::Bench(args) => commands::bench::run(args),
        Command::Completions(args) => commands::completions::run(args),
    }
}

/// An error and its causes, without repeating those that its own message includes.
fn sentence(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    causes
        .reduce(|all, cause| if all.ends_with(&cause) { all } else { format!("{all}: {cause}") })
        .unwrap_or_default()
}

/// Whether the reader of our output, such as `head`, has closed the pipe: not an error of ours.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
