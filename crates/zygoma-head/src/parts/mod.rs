//! The parts in the head's openings and on its skin: eyes, lashes, brows, teeth, gums, tongue, with the shapes that move them.

pub(crate) mod brows;
mod caruncle;
pub(crate) mod eyes;
pub(crate) mod hair;
mod lashes;
mod strands;
mod teeth;
mod tongue;

use std::sync::OnceLock;

use glam::DVec3;
use zygoma_rig::UvMap;

use crate::jaw::JawWeights;
use crate::shapes::reflect;

/// A mesh of the template with its shapes, in template space.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) positions: Vec<DVec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) uvs: UvMap,
    pub(crate) shapes: Vec<(String, Vec<DVec3>)>,
}

impl Part {
    /// The share of soft dials that it follows: hair grows in skin, all else sits in bone or in the eye.
    pub(crate) fn softness(&self) -> f64 {
        if ["lashes", "brows", "hair"].iter().any(|name| self.name.starts_with(name)) { 1.0 } else { 0.0 }
    }

    /// The mirror image of a part of the left side, with its shapes.
    fn mirrored(&self, name: &'static str) -> Self {
        let reflected = |points: &[DVec3]| points.iter().map(|p| reflect(*p)).collect();
        let shape = |(name, offsets): &(String, Vec<DVec3>)| (other_side(name), reflected(offsets));
        Self {
            name,
            positions: reflected(&self.positions),
            triangles: self.triangles.iter().map(|t| [t[0], t[2], t[1]]).collect(),
            uvs: self.uvs.clone(),
            shapes: self.shapes.iter().map(shape).collect(),
        }
    }
}

/// The name of a shape of the other side.
fn other_side(name: &str) -> String {
    match name.contains("Left") {
        true => name.replace("Left", "Right"),
        false => name.replace("Right", "Left"),
    }
}

/// All parts of the template.
pub(crate) fn all() -> &'static [Part] {
    static PARTS: OnceLock<Vec<Part>> = OnceLock::new();
    PARTS.get_or_init(|| {
        let mut parts = eyes::pair().to_vec();
        parts.extend(lashes::pair());
        parts.extend(brows::pair());
        parts.extend(caruncle::pair());
        parts.extend(teeth::all());
        parts.push(tongue::tongue());
        parts
    })
}

/// The jaw's weights in every shape that moves it.
pub(crate) fn jaw_shapes() -> [(&'static str, JawWeights); 5] {
    let rest = JawWeights::default();
    [
        ("jawForward", JawWeights { forward: 1.0, ..rest }),
        ("jawLeft", JawWeights { left: 1.0, ..rest }),
        ("jawRight", JawWeights { right: 1.0, ..rest }),
        ("jawOpen", JawWeights { open: 1.0, ..rest }),
        ("tongueOut", JawWeights { open: JawWeights::TONGUE_OPENING, ..rest }),
    ]
}

/// The jaw shapes of points that each follow the jaw by a fraction.
pub(crate) fn following_jaw(positions: &[DVec3], share: impl Fn(DVec3) -> f64) -> Vec<(String, Vec<DVec3>)> {
    jaw_shapes()
        .map(|(name, weights)| {
            let offsets = positions.iter().map(|p| weights.motion(share(*p)).transform_point3(*p) - *p);
            (name.to_owned(), offsets.collect())
        })
        .to_vec()
}

/// Grid triangles over rows of equal length; `closed` joins the ends of each row.
pub(crate) fn grid(rows: u32, columns: u32, closed: bool) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    let steps = if closed { columns } else { columns - 1 };
    for row in 0..rows - 1 {
        for column in 0..steps {
            let (a, b) = (row * columns + column, row * columns + (column + 1) % columns);
            let (c, d) = (a + columns, b + columns);
            triangles.push([a, c, d]);
            triangles.push([a, d, b]);
        }
    }
    triangles
}
