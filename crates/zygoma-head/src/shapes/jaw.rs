//! Jaw shapes and the shape that keeps the lips sealed over an open jaw.

use glam::DVec3;

use super::{Posed, Poser, reflect};
use crate::jaw::JawWeights;
use crate::sculpt::field::ramp;

pub(super) fn pose(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    let moved = |weights: JawWeights, share: f64, p: DVec3| weights.motion(share).transform_point3(p) - p;
    let open = JawWeights { open: 1.0, ..JawWeights::default() };
    let forward = JawWeights { forward: 1.0, ..JawWeights::default() };
    let left = JawWeights { left: 1.0, ..JawWeights::default() };
    posed.push(poser.middle("jawForward", |v, p| moved(forward, poser.jaw[v], p)));
    // The sealed field moves the upper lip along, as a sideways jaw does with closed lips, and farther than an open jaw.
    let share = |v: usize| poser.seal[v].powf(0.6);
    let sideways: Vec<DVec3> =
        (0..poser.base.rest.len()).map(|v| moved(left, share(v), poser.base.rest[v])).collect();
    let mirrored = (0..sideways.len()).map(|v| reflect(sideways[poser.base.mirror[v] as usize])).collect();
    posed.push(Posed { name: "jawLeft".into(), offsets: sideways });
    posed.push(Posed { name: "jawRight".into(), offsets: mirrored });
    // The lower lip comes up most of the way: the upper one follows a fifth of the jaw's motion. Behind, the neck does not notice.
    let sealed_share = |v: usize| poser.seal[v].powf(1.0 + 0.82 * ramp(25.0, 60.0, poser.base.rest[v].z));
    let opened = poser.middle("jawOpen", |v, p| moved(open, poser.jaw[v], p));
    let sealed = poser.middle("mouthClose", |v, p| moved(open, sealed_share(v), p));
    let offsets = sealed.offsets.iter().zip(&opened.offsets).map(|(s, o)| *s - *o).collect();
    posed.push(opened);
    posed.push(Posed { name: sealed.name, offsets });
}

/// The tongue itself is another mesh; the skin only makes room for it.
pub(super) fn pose_tongue(poser: &Poser<'_>, posed: &mut Vec<Posed>) {
    let open = JawWeights { open: JawWeights::TONGUE_OPENING, ..JawWeights::default() };
    posed.push(poser.middle("tongueOut", |v, p| open.motion(poser.jaw[v]).transform_point3(p) - p));
}
