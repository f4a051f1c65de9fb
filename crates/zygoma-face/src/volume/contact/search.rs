//! Finds the points of the skin that colliders may touch in a step.

use glam::Vec3;
use rayon::prelude::*;
use zygoma_physics::contact::Collider;
use zygoma_physics::projective::Row;

use super::Surface;
use super::colliders::carried;
use super::skin_points::SkinPoints;
use crate::contact::{
    ColliderBody, ColliderMotion, Colliders, ContactPoint, HandBody, HandId, HeadWay, Home,
};

/// Points within this distance become contact candidates of a step, m. Ours, as all below.
pub(super) const WATCH: f32 = 6e-3;
/// Colliders that the rig moves do not push skin that is this close to its position in the rig, m.
const AT_HOME: f32 = 1e-4;
/// Minimum number of rows per parallel job.
const ROWS: usize = 64;
/// Maximum speed at which a driven collider approaches the skin, m/s.
const APPROACH: f32 = 0.5;

/// Lists the points that colliders may touch in a step that ends at a fraction of the frame. `rig` holds the rig's own tissue positions
/// then. `skin_travel` is about the largest motion of the skin in the step.
pub(super) fn find_candidates(
    skin: &SkinPoints,
    colliders: &mut Colliders,
    (state, rig): (&Surface<'_>, &[Row<f32>]),
    (way, fraction, seconds): (&HeadWay, f32, f32),
    skin_travel: f32,
) {
    let travelled = |touch: &ColliderBody| {
        // A collider that the rig moves along with the skin meets it at the end of the motion of both.
        if touch.is_own { 0.0 } else { touch.collider.travel() + skin_travel }
    };
    let reached = rows_in_reach(skin, colliders, state, &travelled);
    let mut found = std::mem::take(&mut colliders.candidates);
    found.clear();
    for index in 0..colliders.entries.len() {
        let (id, touch) = &colliders.entries[index];
        if touch.is_through() || touch.is_bone {
            continue;
        }
        let is_driven = touch.drive != ColliderMotion::Kinematic;
        let within = colliders.depth_behind(*id).max(travelled(touch))
            + if is_driven { WATCH.max(APPROACH * seconds) } else { WATCH };
        let first = found.len();
        let near = reached.iter().find(|(hand, _)| touch.hand == Some(*hand));
        let rows = near.map(|(_, rows)| &rows[..]);
        let rig = touch.is_own.then_some(rig);
        find_near(skin, (state, rig), (index as u32, &touch.collider, rows), within, &mut found);
        if is_driven {
            // A driven collider moves freely up to the skin; from there on its force counts.
            let gap = |point: &ContactPoint| {
                touch.collider.signed_distance(point.start, within).map_or(within, |found| found.distance)
            };
            let gap = found[first..].iter().map(gap).fold(APPROACH * seconds, f32::min);
            let missing = touch.wanted(way, fraction).translation - touch.collider.now.translation;
            colliders.entries[index].1.fly(missing.clamp_length_max(gap.max(0.0)));
        }
    }
    colliders.candidates = found;
}

/// The rows near each hand.
fn rows_in_reach(
    skin: &SkinPoints,
    colliders: &Colliders,
    state: &Surface<'_>,
    travelled: &dyn Fn(&ColliderBody) -> f32,
) -> Vec<(HandId, Vec<u32>)> {
    let samples = &skin.samples;
    let rows = |(id, _): (HandId, &HandBody)| {
        let bones = colliders.iter().filter(|(_, touch)| touch.hand == Some(id));
        let margin = bones.map(|(bone, touch)| colliders.depth_behind(bone).max(travelled(touch)));
        let margin = WATCH + margin.fold(0.0, f32::max);
        let reach = colliders.reach_in_step(id);
        let is_near = |row: &u32| {
            let (group, spread) = samples.group(*row as usize);
            let at = state.place(*row as usize);
            !group.is_empty() && reach.is_some_and(|reach| reach.is_near(at, margin + 1.5 * spread))
        };
        (id, (0..state.x.len() as u32).filter(is_near).collect())
    };
    colliders.hands().map(rows).collect()
}

/// Lists the points near a collider, in the rows within reach or in all. For a collider that the rig moves, `rig` holds the rig's own tissue
/// positions.
fn find_near(
    skin: &SkinPoints,
    (state, rig): (&Surface<'_>, Option<&[Row<f32>]>),
    (touch, collider, reached): (u32, &Collider, Option<&[u32]>),
    within: f32,
    found: &mut Vec<ContactPoint>,
) {
    let samples = &skin.samples;
    let of_row = |row: usize| {
        let (group, spread) = samples.group(row);
        let own = Vec3::from_slice(&state.x[row]);
        let is_home = rig.is_some_and(|rig| own.distance(Vec3::from_slice(&rig[row])) < AT_HOME);
        let is_near = !group.is_empty()
            && !is_home
            && collider.signed_distance(state.place(row), within + 1.5 * spread).is_some();
        let looked_at = if is_near { group } else { 0..0 };
        looked_at.filter_map(move |sample| {
            let offset = samples.on_mesh(sample, state.base) - carried(samples, sample, state.rest);
            let at = offset + carried(samples, sample, state.x);
            let distance = collider.signed_distance(at, within)?.distance;
            let home = |rig: &[Row<f32>]| Home { place: offset + carried(samples, sample, rig), distance };
            Some(ContactPoint { home: rig.map(home), ..ContactPoint::new(touch, sample, [offset; 2], at) })
        })
    };
    match reached {
        Some(rows) => found.extend(rows.iter().flat_map(|row| of_row(*row as usize))),
        None => {
            let rows = (0..state.x.len()).into_par_iter().with_min_len(ROWS);
            found.par_extend(rows.flat_map_iter(of_row));
        }
    }
}
