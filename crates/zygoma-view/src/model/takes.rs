//! Takes tied to the shapes of a rig.

use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::built_in_takes;
use zygoma_rig::binding::Binding;
use zygoma_rig::take::MotionTrack;
use zygoma_rig::{JointRole, Rig, Take};

use crate::protocol::TakeEntry;

/// A take and the shapes that it drives.
#[derive(Clone, Debug)]
pub(crate) struct BoundTake {
    pub(crate) take: Take,
    binding: Binding,
}

impl BoundTake {
    /// Ties a take to a rig.
    pub(crate) fn new(mut take: Take, rig: &Rig) -> Self {
        take.turn_at_joints_of(rig);
        Self { binding: Binding::new(rig, &take), take }
    }

    /// Whether it moves anything of the rig.
    fn drives_something(&self) -> bool {
        self.binding.meshes.iter().flatten().any(|drives| !drives.is_empty())
    }

    /// The weights of one mesh at a time since the take's start.
    pub(crate) fn weights_at(&self, mesh: usize, time: f64, weights: &mut [f32]) {
        self.binding.weights_at(&self.take, mesh, self.take.start() + time, weights);
    }

    /// How the head moves.
    pub(crate) fn head(&self) -> Option<&MotionTrack> {
        self.track(JointRole::Head)
    }

    fn track(&self, role: JointRole) -> Option<&MotionTrack> {
        self.take.motions.iter().find(|track| track.role == role)
    }

    /// How a joint moves at a time since the take's start.
    pub(crate) fn motion_at(&self, role: JointRole, time: f64) -> Option<RigidMotion> {
        self.track(role)?.sample(self.take.start() + time)
    }

    pub(crate) fn entry(&self) -> TakeEntry {
        TakeEntry {
            name: self.take.name.clone(),
            duration: self.take.duration(),
            head_motion: self.head().is_some(),
            unmatched: self.binding.unmatched.len() as u32,
        }
    }
}

/// The takes that a rig can play: its own, and the built-in ones if it has shapes for them.
pub(super) fn of_rig(rig: &Rig) -> Vec<BoundTake> {
    let own = rig.takes.iter().cloned();
    let known = |take: &Take| rig.takes.iter().any(|own| own.name == take.name);
    let built_in = built_in_takes().into_iter().filter(|take| !known(take));
    let bound = own.chain(built_in).map(|take| BoundTake::new(take, rig));
    bound.filter(|take| take.drives_something() || take.head().is_some()).collect()
}
