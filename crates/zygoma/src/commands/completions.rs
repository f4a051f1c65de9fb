//! `zygoma completions`

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<()> {
    clap_complete::generate(args.shell, &mut Cli::command(), "zygoma", &mut std::io::stdout());
    Ok(())
}
