//! The motion of a fitted mandible in the shapes of a rig.

use glam::{DAffine3, DVec3};
use serde::Serialize;
use zygoma_head::fit::{FittedHead, JawShape, JawShapes};
use zygoma_rig::{Rig, RigMesh, Shape, SparseDeltas};

use super::MILLIMETRES;

/// The motion of the jaw in one shape.
#[derive(Debug, Serialize)]
pub(super) struct JawMotion {
    /// The rig's shape.
    shape: String,
    /// The source of the motion: lower teeth, or the chin's skin turning about the condyles.
    source: &'static str,
    degrees: f64,
    /// Distances of the left and the right condyle from the axis that the lower teeth turn about.
    #[serde(skip_serializing_if = "Option::is_none")]
    condyles_off_axis_mm: Option<[f64; 2]>,
    #[serde(skip)]
    motion: DAffine3,
}

impl std::fmt::Display for JawMotion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<14} turns the jaw by {:.1} degrees, by its {}", self.shape, self.degrees, self.source)?;
        match self.condyles_off_axis_mm {
            Some([left, right]) => write!(f, "; condyles {left:.1} and {right:.1} mm off that axis"),
            None => Ok(()),
        }
    }
}

/// Finds the jaw's motion in every shape that moves it.
pub(super) fn motions(rig: &Rig, fitted: &FittedHead) -> Vec<JawMotion> {
    let joint = fitted.joint();
    let found = |own: &JawShape| {
        let at_home = own.pose.motion(joint);
        let motion = fitted.to_mesh.to_affine() * at_home * fitted.to_mesh.inverse().to_affine();
        let off = fitted.condyles_off_axis(&motion).filter(|_| own.from_teeth);
        JawMotion {
            shape: rig.skin().shapes[own.shape].name.clone(),
            source: if own.from_teeth { "teeth" } else { "chin" },
            degrees: own.pose.turn.length().to_degrees(),
            condyles_off_axis_mm: off.map(|off| off.map(|length| MILLIMETRES * length)),
            motion,
        }
    };
    JawShapes::of(rig, fitted).shapes.iter().map(found).collect()
}

/// Cranium and mandible; the mandible has the rig's shapes that move the jaw.
pub(super) fn bones(fitted: &FittedHead, motions: &[JawMotion]) -> [RigMesh; 2] {
    let mut mandible = fitted.anatomy.mandible.surface.rig_mesh("mandible");
    for found in motions {
        let moved = |p: &DVec3| (found.motion.transform_point3(*p) - *p).as_vec3();
        let offsets: Vec<_> = fitted.anatomy.mandible.surface.positions.iter().map(moved).collect();
        mandible.shapes.push(Shape { name: found.shape.clone(), deltas: SparseDeltas::from_dense(&offsets) });
    }
    [fitted.anatomy.cranium.surface.rig_mesh("cranium"), mandible]
}
