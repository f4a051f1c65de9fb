//! A session without a page: news of its threads arrive in any order.

use std::sync::mpsc::sync_channel;

use zygoma_numerics::Budget;

use super::*;
use crate::builder::{Library, Outcome, Quality};
use crate::kinds::RIG;
use crate::protocol::RecordingState;

/// A session, its inputs, and its outputs.
struct Rig {
    session: Session,
    inbox: Receiver<Command>,
    received: tokio::sync::mpsc::Receiver<Outgoing>,
}

impl Rig {
    fn showing(model: Arc<Model>) -> Self {
        let (commands, inbox) = sync_channel(16);
        let (outgoing, received) = tokio::sync::mpsc::channel(64);
        let files = Arc::new(SessionFiles::new().unwrap());
        let link = Link { frames: Arc::default(), outgoing, files, commands };
        let mut session = Session::new(link, Work::new(Arc::new(Library::new(None))), model.clone());
        assert!(session.show(model, false).is_ok());
        Self { session, inbox, received }
    }

    fn handle(&mut self, command: Command) {
        assert!(self.session.handle(command).is_ok());
    }

    /// Requests a model and waits for it.
    fn request(&self, model: &Arc<Model>) -> Command {
        let loaded = Loaded { model: model.clone(), same: false, fit: false };
        self.session.work.loader.load(&self.session.link.commands, |_| Ok(loaded));
        self.inbox.recv().unwrap()
    }

    /// States of recordings that the page was sent.
    fn recordings(&mut self) -> Vec<RecordingState> {
        let mut states = Vec::new();
        while let Ok(message) = self.received.try_recv() {
            if let Outgoing::Text(ServerMessage::Recording { state, .. }) = message {
                states.push(state);
            }
        }
        states
    }
}

/// Threads of this process.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_requests_has_one_worker_and_the_newest_wins() {
    let model = triangle();
    let rig = Rig::showing(model.clone());
    let made = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let before = threads();
    let mut most = 0;
    for number in 0..2000 {
        let (model, made) = (model.clone(), made.clone());
        rig.session.work.loader.load(&rig.session.link.commands, move |_| {
            made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            Ok(Loaded { model, same: false, fit: number == 1999 })
        });
        most = most.max(threads());
    }
    // Other tests of this process have threads of their own.
    assert!(most < before + 100, "{most} threads");
    let newest = loop {
        if let Command::Loaded(request, loaded) = rig.inbox.recv().unwrap()
            && !request.is_superseded()
        {
            break loaded;
        }
    };
    assert!(newest.unwrap().fit, "the last request is the one that counts");
    assert!(made.load(std::sync::atomic::Ordering::Relaxed) < 1000, "most were overtaken");
}

/// A model with far fewer vertices than the built-in head.
fn triangle() -> Arc<Model> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("triangle.obj");
    std::fs::write(&file, "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nf 1 2 3\n").unwrap();
    Arc::new(Model::read(&file, &zygoma_rig::formats::Limits::default(), &Budget::default()).unwrap())
}

fn head() -> Arc<Model> {
    Arc::new(Model::built_in(&HeadChoice::default(), None).unwrap())
}

#[test]
fn a_face_that_was_made_too_late_is_not_put_on_another_rig() {
    let model = head();
    let mut rig = Rig::showing(model.clone());
    let never = Arc::default();
    let library = rig.session.work.library();
    let Outcome::Done(face) = library.make(&model, 500, Quality::Preview, &never, &mut |_| {}) else {
        panic!("the built-in head has a face");
    };
    let late = rig.session.work.news(Quality::Preview, Err(Outcome::Done(face)));
    let other = triangle();
    let loaded = rig.request(&other);
    rig.handle(loaded);
    rig.handle(Command::Building(late));
    assert!(!rig.session.bodies.has_face() && rig.session.bodies.shown() == RIG);
    assert!(rig.session.frame(0.02).is_ok());
}

#[test]
fn of_two_requested_rigs_the_newer_is_shown_however_late_the_other_arrives() {
    let mut rig = Rig::showing(head());
    let (first, second) = (triangle(), triangle());
    let early = rig.request(&first);
    let late = rig.request(&second);
    rig.handle(early);
    assert!(!Arc::ptr_eq(&rig.session.model, &first), "something else was requested since");
    rig.handle(late);
    assert!(Arc::ptr_eq(&rig.session.model, &second));
}

#[test]
fn a_recording_ends_with_the_rig_that_it_shows() {
    let mut rig = Rig::showing(head());
    assert!(rig.session.record(true).is_ok() && rig.session.frame(0.02).is_ok());
    let other = triangle();
    let loaded = rig.request(&other);
    rig.handle(loaded);
    assert_eq!(rig.recordings(), [RecordingState::Running, RecordingState::Writing]);
    assert!(Arc::ptr_eq(&rig.session.model, &other) && !rig.session.recorder.is_running());
    let written = rig.inbox.recv().unwrap();
    assert!(matches!(&written, Command::Recorded(Ok(bytes)) if !bytes.is_empty()));
    rig.handle(written);
    assert_eq!(rig.recordings(), [RecordingState::Ready]);
}

#[test]
fn a_closed_tab_stops_loading() {
    let tab = Rig::showing(triangle());
    let (started, starts) = std::sync::mpsc::channel();
    let (stopped, stops) = std::sync::mpsc::channel();
    let load = |name: &'static str| {
        let (started, stopped) = (started.clone(), stopped.clone());
        tab.session.work.loader.load(&tab.session.link.commands, move |budget| {
            started.send(name).unwrap();
            while !budget.is_over() {
                std::thread::sleep(Duration::from_millis(1));
            }
            stopped.send(name).unwrap();
            Err("it was cancelled".into())
        });
        assert_eq!(starts.recv().unwrap(), name);
    };
    load("first");
    // The next file waits for the first one, which stops because it is not wanted any more.
    load("second");
    assert_eq!(stops.recv().unwrap(), "first");
    tab.session.work.cancel_all();
    assert_eq!(stops.recv().unwrap(), "second");
}
