//! Contact in a step: between the lips, of skin with colliders, and of tissue with teeth.

use std::time::Instant;

use glam::Vec3;

use super::collider_contact::Lifts;
use super::lip_contact::{Stiffness, Surface};
use super::mouth::IN_HEAD;
use super::run::TissueBody;

/// A tissue vertex moves by no more than this multiple of the deepest penetration when penetrations are resolved. Ours: a point between
/// its vertices moves less than they do.
const OVERSHOOT: f32 = 3.0;

/// Maximum number of tissue vertices per step that become contact candidates of the matrix factor, each at the cost of a third of a
/// solve; constraints on the others converge more slowly for the moment. Skin near a collider becomes a candidate before they touch.
/// Ours: a palm that comes down at once would otherwise stall the simulation.
pub(super) const MOST_NEW: usize = 32;

impl TissueBody {
    /// Removes all contact constraints from the system.
    pub(super) fn clear_contact(&mut self) {
        if let Some(lips) = &self.lips {
            lips.clear(&mut self.system);
        }
        self.press.clear(&mut self.system);
        if let Some(mouth) = &self.mouth {
            mouth.press.clear(&mut self.system);
        }
    }

    /// Forgets all contacts after the face was teleported.
    pub(super) fn forget_contact(&mut self, weights: &[f32]) {
        if let Some(lips) = &mut self.lips {
            lips.forget();
            self.report.sticky = 0;
        }
        if let Some(mouth) = &mut self.mouth {
            mouth.press.forget();
            mouth.place(weights, &self.tissue.jaw_pose(weights));
            mouth.touches.jump(&IN_HEAD);
        }
        self.press.forget();
        self.touches.jump(&self.head_way());
    }

    /// Begins a step that ends at a fraction of the frame: moves colliders and teeth, and detects contacts.
    pub(super) fn begin_contact(&mut self, weights: &[f32], share: f32) {
        let began = Instant::now();
        let way = self.head_way();
        let state = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions };
        let seconds = self.tissue.params.step_time as f32;
        if let Some(lips) = &mut self.lips {
            lips.begin(&Surface { x: &self.goal, ..state });
        }
        let skin = &self.tissue.touchable;
        self.touches.iter_mut().for_each(|touch| touch.pass(&way, share, |at| skin.below(at, &self.goal)));
        self.press.begin(&self.tissue, &mut self.touches, (&state, None), (&way, share, seconds));
        if let Some(mouth) = &mut self.mouth {
            mouth.place(weights, &self.tissue.jaw_pose(weights));
            let states = (&state, Some(&self.goal[..]));
            mouth.press.begin(&self.tissue, &mut mouth.touches, states, (&IN_HEAD, 1.0, seconds));
        }
        self.stages.contact += began.elapsed();
        self.prepare_contact(true, share);
    }

    /// Re-detects contacts in mid-solve.
    pub(super) fn renew_contact(&mut self, share: f32) {
        let x = &self.dynamics.positions;
        self.press.find_forces(&self.tissue, &self.touches, x);
        if let Some(mouth) = &mut self.mouth {
            mouth.press.find_forces(&self.tissue, &mouth.touches, x);
        }
        self.prepare_contact(false, share);
    }

    /// Ends the solve: colliders feel the skin, and remaining penetrations are resolved.
    pub(super) fn end_contact(&mut self, share: f32) {
        let began = Instant::now();
        let (x, seconds) = (&self.dynamics.positions, self.tissue.params.step_time as f32);
        self.press.react(&self.tissue, &mut self.touches, x, (share, seconds));
        if let Some(mouth) = &mut self.mouth {
            mouth.press.react(&self.tissue, &mut mouth.touches, x, (1.0, seconds));
        }
        const ROUNDS: usize = 3;
        self.part(ROUNDS);
        let x = &self.dynamics.positions;
        self.press.end(&self.tissue, &mut self.touches, x);
        if let Some(mouth) = &mut self.mouth {
            mouth.press.end(&self.tissue, &mut mouth.touches, x);
        }
        self.stages.part += began.elapsed();
    }

    /// Adds constraints between the lips and on touched skin: at present contacts and, for the lips at the start of a step, at those of
    /// the goal.
    fn prepare_contact(&mut self, at_start: bool, share: f32) {
        let began = Instant::now();
        let surface = |x| Surface { base: &self.base, rest: &self.rest, x };
        if let Some(lips) = &mut self.lips {
            let states = [surface(&self.dynamics.positions), surface(&self.goal)];
            let params = &self.tissue.params;
            let stiffness = Stiffness { contact: params.contact, sticky: self.live.stickiness };
            lips.prepare(&states[..if at_start { 2 } else { 1 }], stiffness, &mut self.system);
            self.report.contacts = lips.contact_count(&self.system);
        }
        let (tissue, x) = (&self.tissue, &self.dynamics.positions);
        self.press.prepare(tissue, &self.touches, x, share, &mut self.system);
        let mut touched = self.press.rows(tissue, &self.touches);
        if let Some(mouth) = &mut self.mouth {
            mouth.press.prepare(tissue, &mouth.touches, x, share, &mut self.system);
            touched.extend(mouth.press.rows(tissue, &mouth.touches));
        }
        if at_start {
            touched.extend(self.press.rows_ahead(tissue, &self.touches, x));
        }
        self.stages.contact += began.elapsed();
        let began = Instant::now();
        self.step_factor.add_candidates(&touched, if at_start { MOST_NEW } else { 0 });
        // Without its constraints in the matrix a step still sees their forces and converges, only slower.
        let mut rows = self.system.transient_rows();
        rows.retain(|row| self.step_factor.knows(row));
        if self.step_factor.set_transient(&rows).is_err() {
            debug_assert!(false, "constraints only act on candidates");
        }
        self.stages.constrain += began.elapsed();
    }

    /// Resolves the remaining penetrations of lips, of skin into colliders and of tissue into teeth: by the smallest motion of the
    /// tissue, in a limited number of rounds.
    pub(super) fn part(&mut self, rounds: usize) {
        for round in 0..rounds {
            let mut lifts = Lifts::default();
            if let Some(lips) = &mut self.lips {
                let state = Surface { base: &self.base, rest: &self.rest, x: &self.dynamics.positions };
                lips.missing(&state, self.tissue.layout.free, &mut lifts);
            }
            let first = lifts.rows.len();
            self.press.missing(&self.tissue, &self.touches, &self.dynamics.positions, &mut lifts);
            if let Some(mouth) = &self.mouth {
                mouth.press.missing(&self.tissue, &mouth.touches, &self.dynamics.positions, &mut lifts);
            }
            if lifts.rows.is_empty() {
                break;
            }
            let touched: Vec<u32> =
                lifts.rows[first..].iter().flat_map(|row| row.entries.iter().map(|entry| entry.0)).collect();
            self.step_factor.add_candidates(&touched, if round == 0 { MOST_NEW / 2 } else { 0 });
            lifts.retain(|row| self.step_factor.knows(row));
            let Ok(pushed) = self.step_factor.push(&lifts.rows, &lifts.directions, &lifts.amounts) else {
                break;
            };
            // Contradictory constraints must not throw anything far.
            let farthest = OVERSHOOT * lifts.amounts.iter().copied().fold(0.0, f64::max) as f32;
            for (x, way) in self.dynamics.positions.iter_mut().zip(pushed) {
                let way = Vec3::from_slice(way).clamp_length_max(farthest);
                (0..3).for_each(|k| x[k] += way[k]);
            }
            if let Some(lips) = &mut self.lips {
                lips.leave();
            }
        }
    }
}
