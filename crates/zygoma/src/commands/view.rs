//! `zygoma view`

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use zygoma_view::{Options, Server, Show, Stop};

use crate::cli::ViewArgs;
use crate::commands::input;

/// The handle that stops the viewer while it runs.
static RUNNING: OnceLock<Stop> = OnceLock::new();

/// Whether it was asked to stop before: a second Ctrl-C does not wait.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// Stops the viewer if it runs; false if there is nothing to stop this way.
pub(crate) fn stop() -> bool {
    let Some(running) = RUNNING.get() else { return false };
    if STOPPING.swap(true, Ordering::Relaxed) {
        return false;
    }
    running.stop();
    true
}

pub(crate) fn run(args: &ViewArgs) -> anyhow::Result<()> {
    let names = args.map.as_deref().map(input::read_toml).transpose()?.unwrap_or_default();
    let options = Options {
        names,
        host: args.host,
        port: args.port,
        show: args.file.clone().map_or(Show::BuiltIn, Show::File),
        ..Options::default()
    };
    let server = Server::new(&options)?;
    if !args.host.is_loopback() {
        eprintln!(
            "warning: {} can be reached from the network: anybody there can use this viewer and upload files to it",
            server.address()
        );
    }
    let url = server.url();
    println!("zygoma is at {url} (Ctrl-C ends it)");
    // Only the first viewer of a process can be stopped by Ctrl-C, and there is only one.
    let _ = RUNNING.set(server.stopper());
    if !args.no_open {
        open_browser(&url);
    }
    server.run()?;
    Ok(())
}

/// Opens the page; if no browser is found, the address was printed.
fn open_browser(url: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "windows" => ("cmd", &["/C", "start", ""]),
        "macos" => ("open", &[]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    let quiet =
        command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The browser keeps running after this program.
    let _ = quiet.spawn();
}
