//! The inputs and outputs of a command, so that no output replaces an input.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::identity::Identity;
use crate::{Error, Result, place};

/// How an output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A file, which replaces an older one.
    File,
    /// A folder, which replaces an older one as a whole.
    WholeFolder,
    /// A folder, created if missing, to which files are added.
    Folder,
}

/// The inputs and outputs of a command.
///
/// While a plan is in [`force`](Self::enforce), a file that is read may not be one of its outputs, and nothing is written over a file that
/// was read. Files that other files refer to, such as a glTF's textures, become known as they are read.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    inputs: Vec<Known>,
    outputs: Vec<(Known, OutputKind)>,
}

/// A path as given, and the file that it leads to.
#[derive(Clone, Debug)]
struct Known {
    path: PathBuf,
    identity: Identity,
}

impl Known {
    /// `None` if the path leads nowhere, so that nothing can be lost there.
    fn new(path: &Path) -> Option<Self> {
        Some(Self { path: path.to_owned(), identity: Identity::of(path)? })
    }
}

static PLAN: Mutex<Option<Plan>> = Mutex::new(None);

fn in_force() -> MutexGuard<'static, Option<Plan>> {
    PLAN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plan {
    /// Adds a file or folder that will be read.
    pub fn input(&mut self, path: &Path) {
        self.inputs.extend(Known::new(path));
    }

    /// Adds an output, after checking that it can be made there.
    pub fn output(&mut self, path: &Path, kind: OutputKind) -> Result<()> {
        match kind {
            OutputKind::File => place::check_file(path)?,
            OutputKind::Folder | OutputKind::WholeFolder => place::check_folder(path)?,
        }
        let Some(known) = Known::new(path) else { return Ok(()) };
        if let Some((other, _)) = self.outputs.iter().find(|(other, _)| other.identity.is(&known.identity)) {
            let problem = format!("two outputs go there ({} as well); name another", other.path.display());
            return Err(Error::refused(path, problem));
        }
        self.outputs.push((known, kind));
        Ok(())
    }

    /// Checks the plan and enforces it for the rest of the program. A plan without outputs, such as that of a server, forbids nothing.
    pub fn enforce(self) -> Result<()> {
        self.check()?;
        *in_force() = Some(self).filter(|plan| !plan.outputs.is_empty());
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.inputs.iter().try_for_each(|input| self.check_input(input))
    }

    fn check_input(&self, input: &Known) -> Result<()> {
        let replaces = |(output, kind): &&(Known, OutputKind)| match kind {
            OutputKind::File => output.identity.is(&input.identity),
            OutputKind::WholeFolder => {
                output.identity.is(&input.identity) || output.identity.holds(&input.identity)
            }
            // Each file added there is checked when it is created.
            OutputKind::Folder => false,
        };
        match self.outputs.iter().find(replaces) {
            None => Ok(()),
            Some((output, _)) => Err(would_replace(&output.path, &input.path)),
        }
    }
}

fn would_replace(output: &Path, input: &Path) -> Error {
    let input = if output == input { "it is".to_owned() } else { format!("it is (as {})", input.display()) };
    Error::refused(
        output,
        format!("this output would replace what is read: {input} an input; name another output"),
    )
}

/// Records that a file is read; refused if an output of the plan would replace it.
pub(crate) fn note_input(path: &Path) -> Result<()> {
    let mut plan = in_force();
    let Some(plan) = plan.as_mut() else { return Ok(()) };
    let Some(known) = Known::new(path) else { return Ok(()) };
    if plan.inputs.iter().any(|input| input.identity.is(&known.identity)) {
        return Ok(());
    }
    plan.check_input(&known)?;
    plan.inputs.push(known);
    Ok(())
}

/// Refuses a file that would replace an input of the plan.
pub(crate) fn check_output(path: &Path) -> Result<()> {
    check(path, OutputKind::File)
}

/// Refuses a folder that would replace an input of the plan.
pub(crate) fn check_folder(path: &Path) -> Result<()> {
    check(path, OutputKind::WholeFolder)
}

fn check(path: &Path, kind: OutputKind) -> Result<()> {
    let plan = in_force();
    let (Some(plan), Some(known)) = (plan.as_ref(), Known::new(path)) else { return Ok(()) };
    Plan { inputs: plan.inputs.clone(), outputs: vec![(known, kind)] }.check()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refusal(inputs: &[&Path], outputs: &[(&Path, OutputKind)]) -> Option<String> {
        let mut plan = Plan::default();
        inputs.iter().for_each(|path| plan.input(path));
        let planned = outputs.iter().try_for_each(|(path, kind)| plan.output(path, *kind));
        planned.and_then(|()| plan.check()).err().map(|error| error.to_string())
    }

    #[test]
    fn an_output_is_none_of_the_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let rig = folder.path().join("rig.glb");
        fs::write(&rig, "rig").unwrap();
        let detour = folder.path().join("../").join(folder.path().file_name().unwrap()).join("rig.glb");
        let hard = folder.path().join("hard.glb");
        fs::hard_link(&rig, &hard).unwrap();
        for same in [&rig, &detour, &hard] {
            let message = refusal(&[&rig], &[(same, OutputKind::File)]).unwrap();
            assert!(message.contains("would replace"), "{message}");
        }
        assert_eq!(refusal(&[&rig], &[(&folder.path().join("new.glb"), OutputKind::File)]), None);
    }

    #[test]
    fn a_folder_that_holds_an_input_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let shapes = folder.path().join("shapes");
        fs::create_dir(&shapes).unwrap();
        fs::write(shapes.join("neutral.obj"), "v").unwrap();
        let inputs: [&Path; 1] = [&shapes.join("neutral.obj")];
        assert!(refusal(&inputs, &[(&shapes, OutputKind::WholeFolder)]).is_some());
        assert!(refusal(&[&shapes], &[(&shapes, OutputKind::WholeFolder)]).is_some());
        assert_eq!(refusal(&inputs, &[(&shapes, OutputKind::Folder)]), None);
        // Two rigs may lie in one folder.
        assert_eq!(refusal(&[&shapes], &[(&folder.path().join("shapes2"), OutputKind::WholeFolder)]), None);
    }

    #[test]
    fn outputs_do_not_replace_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let message = refusal(&[], &[(&out, OutputKind::WholeFolder), (&out, OutputKind::Folder)]).unwrap();
        assert!(message.contains("two outputs go there"), "{message}");
    }
}
