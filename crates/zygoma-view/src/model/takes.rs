//! Takes tied to the shapes of a rig.

use zygoma_geometry::rigid::RigidMotion;
use zygoma_head::built_in_takes;
use zygoma_rig::MotionTrack;
use zygoma_rig::binding::Binding;
use zygoma_rig::name_map::NameMap;
use zygoma_rig::{JointRole, Rig, Take};

use crate::protocol::TakeEntry;

/// A take and the shapes that it drives.
#[derive(Clone, Debug)]
pub(crate) struct BoundTake {
    pub(crate) take: Take,
    binding: Binding,
}

impl BoundTake {
    /// Ties a take to a rig, under the names of a map as far as that is about both.
    pub(crate) fn new(take: Take, rig: &Rig, names: &NameMap) -> Self {
        let mut take = names.apply(rig, &take).unwrap_or(take);
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
pub(super) fn of_rig(rig: &Rig, names: &NameMap) -> Vec<BoundTake> {
    let own = rig.takes.iter().cloned();
    let known = |take: &Take| rig.takes.iter().any(|own| own.name == take.name);
    let built_in = built_in_takes().into_iter().filter(|take| !known(take));
    let bound = own.chain(built_in).map(|take| BoundTake::new(take, rig, names));
    bound.filter(|take| take.drives_something() || take.head().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HeadChoice, Model};
    use zygoma_rig::name_map::MappedShapes;
    use zygoma_rig::{WeightCurve, WeightTrack};

    fn names(track: &str, shape: &str) -> NameMap {
        NameMap { tracks: [(track.to_owned(), MappedShapes::One(shape.to_owned()))].into() }
    }

    #[test]
    fn takes_follow_the_users_own_names() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let model = model.with_names(names("MouthWide", "cheekPuff")).unwrap();
        let curve = WeightCurve::linear([0.0].into(), vec![0.5]);
        let take =
            Take { weights: vec![WeightTrack { shape: "MouthWide".into(), curve }], ..Take::default() };
        let bound = BoundTake::new(take, &model.rig, &model.names);
        let shapes = &model.rig.skin().shapes;
        let mut weights = vec![0.0; shapes.len()];
        bound.weights_at(model.rig.skin, 0.0, &mut weights);
        let raised = shapes.iter().zip(&weights).filter(|(_, weight)| **weight != 0.0);
        let raised: Vec<(&str, f32)> = raised.map(|(shape, weight)| (shape.name.as_str(), *weight)).collect();
        assert_eq!(raised, [("cheekPuff", 0.5)]);
        assert!(!model.takes.is_empty(), "takes without a track of the map stay as they are");
        let error = model.with_names(names("MouthWide", "cheekPuf")).unwrap_err();
        assert!(error.contains("cheekPuf"), "{error}");
    }
}
