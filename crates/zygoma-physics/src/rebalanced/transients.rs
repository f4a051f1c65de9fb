//! Constraints that hold for one step only.

use crate::projective::{Prefactored, Row, System};

/// The parts of a solid in a step that transient constraints see.
pub struct Constrained<'a> {
    /// The energies over displacements, to which constraints are added as transient groups.
    pub system: &'a mut System<f32>,
    /// The factor of a step.
    pub factor: &'a mut Prefactored<f32>,
    /// u of each vertex, m.
    pub displacements: &'a mut [Row<f32>],
    /// Velocity of each free vertex at the start of the step, m/s.
    pub velocities: &'a [Row<f32>],
}

/// Constraints that are found anew in every step, such as contact. They live in transient groups of the solid's system.
pub trait Transients {
    /// Whether they may push a solid that is at rest.
    fn may_push(&self) -> bool {
        true
    }
    /// Finds the constraints at the start of a step.
    fn begin(&mut self, solid: &mut Constrained<'_>);
    /// Finds them again in mid-solve; false if there are none.
    fn renew(&mut self, solid: &mut Constrained<'_>) -> bool;
    /// Ends the step, and may correct the displacements.
    fn end(&mut self, solid: &mut Constrained<'_>);
    /// Removes them from the system.
    fn clear(&mut self, solid: &mut Constrained<'_>);
}

/// None at all.
impl Transients for () {
    fn may_push(&self) -> bool {
        false
    }
    fn begin(&mut self, _: &mut Constrained<'_>) {}
    fn renew(&mut self, _: &mut Constrained<'_>) -> bool {
        false
    }
    fn end(&mut self, _: &mut Constrained<'_>) {}
    fn clear(&mut self, _: &mut Constrained<'_>) {}
}
