//! The anatomy under the skin that is shown, fitted off the session's thread.

use super::{Closed, Command, Session};
use crate::builder::in_background;
use crate::protocol::{AnatomyState, ServerMessage};

/// An anatomy that was asked for.
#[derive(Debug, Default)]
pub(super) struct AnatomyJobs {
    /// Number of the model that is shown: an anatomy of an earlier one is not wanted any more.
    model: u64,
    is_running: bool,
    /// Whether the model was replaced while an earlier one's was fitted, and the page asked again.
    again: bool,
}

/// An anatomy that was fitted to a model.
#[derive(Debug)]
pub(crate) struct FittedAnatomy {
    model: u64,
    result: Result<(Vec<u8>, String), String>,
}

impl Session {
    /// Starts to fit the anatomy under the skin that is shown. There is one fit at a time.
    pub(super) fn fit_anatomy(&mut self) -> Result<(), Closed> {
        self.send_anatomy(AnatomyState::Running, "Finding muscles and bones…")?;
        if std::mem::replace(&mut self.anatomy.is_running, true) {
            self.anatomy.again = true;
            return Ok(());
        }
        let (model, number, commands) = (self.model.clone(), self.anatomy.model, self.link.commands.clone());
        std::thread::spawn(move || {
            let result = in_background(|| crate::anatomy::message(&model));
            // The tab may have been closed meanwhile.
            let _ = commands.send(Command::Anatomy(FittedAnatomy { model: number, result }));
        });
        Ok(())
    }

    /// The anatomy belongs to a model that is not shown any more.
    pub(super) fn forget_anatomy(&mut self) {
        self.anatomy.model += 1;
        self.anatomy.again = false;
    }

    pub(super) fn finish_anatomy(&mut self, fitted: FittedAnatomy) -> Result<(), Closed> {
        self.anatomy.is_running = false;
        if fitted.model != self.anatomy.model {
            return if std::mem::take(&mut self.anatomy.again) { self.fit_anatomy() } else { Ok(()) };
        }
        self.anatomy.again = false;
        match fitted.result {
            Ok((message, note)) => {
                self.send(message)?;
                self.send_anatomy(AnatomyState::Ready, &note)
            }
            Err(reason) => self.send_anatomy(AnatomyState::Failed, &reason),
        }
    }

    fn send_anatomy(&self, state: AnatomyState, note: &str) -> Result<(), Closed> {
        self.send_message(ServerMessage::Anatomy { state, note: note.into() })
    }
}
