//! `zygoma demo`

use crate::cli::DemoArgs;

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let _ = args;
    Ok(())
}
