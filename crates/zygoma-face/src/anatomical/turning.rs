//! Dials that are turned while a face is simulated.
//!
//! A changed head takes seconds to make. A thread does so, and the body takes the head over when it is ready.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::build::Anatomical;
use super::dials::Dials;
use super::run::AnatomicalBody;

/// The dials of a body, and the head that they ask for, as far as it is made.
pub(super) struct Turning {
    /// The head with all dials at their usual values.
    usual: Arc<Anatomical>,
    /// The dials set last.
    pub(super) wanted: Dials,
    /// The changed head that a thread is making: one at a time, however often dials are turned meanwhile.
    making: Option<JoinHandle<Option<Box<AnatomicalBody>>>>,
}

/// A clone makes its own head.
impl Clone for Turning {
    fn clone(&self) -> Self {
        Self { usual: self.usual.clone(), wanted: self.wanted.clone(), making: None }
    }
}

impl Turning {
    /// The dials of a head on which none is set; `None` of any other: its usual values are unknown.
    pub(super) fn of(head: &Arc<Anatomical>) -> Option<Self> {
        let is_usual = head.dials == Dials::default();
        is_usual.then(|| Self { usual: head.clone(), wanted: Dials::default(), making: None })
    }

    /// Whether the head in use has other dials than those set last.
    pub(super) fn is_behind(&self, in_use: &Dials) -> bool {
        self.wanted != *in_use
    }

    /// The changed head, if it is ready. Starts to make one if needed. Dials that cannot be solved for go back to those in use.
    pub(super) fn poll(&mut self, in_use: &Dials) -> Option<Box<AnatomicalBody>> {
        if self.making.is_none() && self.is_behind(in_use) {
            self.making = Some(self.start());
        }
        let making = self.making.take_if(|making| making.is_finished())?;
        self.end(making, in_use)
    }

    /// The changed head, waited for.
    pub(super) fn wait(&mut self, in_use: &Dials) -> Option<Box<AnatomicalBody>> {
        let making = self.making.take().unwrap_or_else(|| self.start());
        self.end(making, in_use)
    }

    fn end(
        &mut self,
        making: JoinHandle<Option<Box<AnatomicalBody>>>,
        in_use: &Dials,
    ) -> Option<Box<AnatomicalBody>> {
        let made = making.join().ok().flatten();
        if made.is_none() {
            self.wanted = in_use.clone();
        }
        made
    }

    fn start(&self) -> JoinHandle<Option<Box<AnatomicalBody>>> {
        let (usual, dials) = (self.usual.clone(), self.wanted.clone());
        std::thread::spawn(move || {
            let is_usual = dials == Dials::default();
            let head = if is_usual { usual } else { Arc::new(usual.with_dials(&dials).ok()?) };
            AnatomicalBody::new(head).ok().map(Box::new)
        })
    }
}

impl AnatomicalBody {
    /// Takes over the head with the dials set last, if it is ready.
    pub(super) fn take_turned_dials(&mut self) {
        let turned = self.turning.as_mut().and_then(|turning| turning.poll(&self.model.dials));
        if let Some(turned) = turned {
            self.take_over(*turned);
        }
    }

    /// Waits until the dials set last are in use.
    pub(super) fn finish_dials(&mut self) {
        while let Some(turning) = self.turning.as_mut().filter(|turning| turning.is_behind(&self.model.dials))
        {
            if let Some(turned) = turning.wait(&self.model.dials) {
                self.take_over(*turned);
            }
        }
    }

    /// Becomes a changed head in the same expression and pose, with everything that touches it. Its tissue starts at rest.
    fn take_over(&mut self, mut turned: Self) {
        turned.contact.swap_touches(&mut self.contact);
        turned.turning = self.turning.take();
        turned.continue_as(self);
        *self = turned;
    }
}
