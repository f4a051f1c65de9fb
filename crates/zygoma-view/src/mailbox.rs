//! A place for one frame: the newest replaces what was not fetched in time, so a slow reader costs no memory.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// Holds the newest frame until it is fetched.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    frame: Mutex<Option<Vec<u8>>>,
    filled: Notify,
}

impl Mailbox {
    /// Puts a frame in; true if it took the place of one that nobody fetched.
    pub(crate) fn put(&self, frame: Vec<u8>) -> bool {
        let before = self.frame.lock().unwrap_or_else(PoisonError::into_inner).replace(frame);
        self.filled.notify_one();
        before.is_some()
    }

    /// Waits for a frame and fetches it.
    pub(crate) async fn take(&self) -> Vec<u8> {
        loop {
            if let Some(frame) = self.frame.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return frame;
            }
            self.filled.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_newest_frame_is_kept() {
        let mailbox = Mailbox::default();
        assert!(!mailbox.put(vec![1]));
        assert!(mailbox.put(vec![2]));
        assert_eq!(mailbox.take().await, [2]);
        let late = async {
            tokio::task::yield_now().await;
            mailbox.put(vec![3]);
        };
        let (found, ()) = tokio::join!(mailbox.take(), late);
        assert_eq!(found, [3]);
    }
}
