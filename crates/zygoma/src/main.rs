//! The `zygoma` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    zygoma::main()
}
