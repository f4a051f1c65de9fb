//! The motion of a fitted mandible in the shapes of a rig.

use glam::{DAffine3, DQuat, DVec3};
use serde::Serialize;
use zygoma_head::fit::FittedHead;
use zygoma_rig::{Rig, RigMesh, Shape, SparseDeltas, arkit};

use super::{MILLIMETRES, positions};

/// The shapes that move a jaw.
const JAW_SHAPES: [&str; 4] = ["jawOpen", "jawForward", "jawLeft", "jawRight"];

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
    let teeth = Teeth::of(rig, fitted);
    let found = JAW_SHAPES.iter().filter_map(|wanted| {
        let shape = rig.skin().shapes.iter().find(|shape| is(shape, wanted))?;
        if let Some(motion) = teeth.motion(fitted, wanted) {
            let off = fitted.condyles_off_axis(&motion).map(|off| off.map(|length| MILLIMETRES * length));
            return Some(JawMotion::new(shape, "teeth", motion, off));
        }
        // Without teeth only an opening can be found: other motions of the chin's skin say little about the bone.
        let motion = (*wanted == JAW_SHAPES[0]).then(|| chin_motion(rig, fitted, shape))?;
        Some(JawMotion::new(shape, "chin", motion, None))
    });
    found.collect()
}

fn is(shape: &Shape, wanted: &str) -> bool {
    arkit::recognise(&shape.name).is_some_and(|recognised| recognised.shape == wanted)
}

impl JawMotion {
    fn new(shape: &Shape, source: &'static str, motion: DAffine3, off: Option<[f64; 2]>) -> Self {
        let degrees = DQuat::from_mat3(&motion.matrix3).to_axis_angle().1.to_degrees();
        Self { shape: shape.name.clone(), source, degrees, condyles_off_axis_mm: off, motion }
    }
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

/// The rotation about the condyles' axis that the chin's skin follows.
fn chin_motion(rig: &Rig, fitted: &FittedHead, shape: &Shape) -> DAffine3 {
    let rest = positions(rig.skin());
    let offsets = shape.deltas.to_dense(rest.len());
    let chin = fitted.chin(&rest);
    let rest_chin: Vec<DVec3> = chin.iter().map(|v| rest[*v as usize]).collect();
    let posed = chin.iter().map(|v| rest[*v as usize] + offsets[*v as usize].as_dvec3());
    fitted.hinge_motion(&rest_chin, &posed.collect::<Vec<DVec3>>())
}

/// Vertices of a rig's meshes where lower teeth are.
struct Teeth<'a> {
    meshes: Vec<(&'a RigMesh, Vec<DVec3>, Vec<u32>)>,
}

impl<'a> Teeth<'a> {
    fn of(rig: &'a Rig, fitted: &FittedHead) -> Self {
        let one = |mesh: &'a RigMesh| {
            let rest = positions(mesh);
            let is_tooth = fitted.lower_teeth(&rest);
            let teeth = (0..rest.len() as u32).filter(|v| is_tooth[*v as usize]).collect();
            (mesh, rest, teeth)
        };
        Self { meshes: rig.meshes.iter().map(one).collect() }
    }

    /// Their rigid motion in a shape; `None` if there are none that move as one.
    fn motion(&self, fitted: &FittedHead, wanted: &str) -> Option<DAffine3> {
        let (mut rest, mut posed) = (Vec::new(), Vec::new());
        for (mesh, places, teeth) in &self.meshes {
            let Some(shape) = mesh.shapes.iter().find(|shape| is(shape, wanted)) else { continue };
            let offsets = shape.deltas.to_dense(places.len());
            rest.extend(teeth.iter().map(|v| places[*v as usize]));
            posed.extend(teeth.iter().map(|v| places[*v as usize] + offsets[*v as usize].as_dvec3()));
        }
        fitted.teeth_motion(&rest, &posed)
    }
}
