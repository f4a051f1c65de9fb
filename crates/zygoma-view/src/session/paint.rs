//! Paints the stiffness of expressions on the skin of an enriched face.

use std::collections::BTreeSet;

use zygoma_face::enriched::{
    Canvas, EnrichedBody, MaterialPaint, MaterialSpot, MaterialSpots, NEUTRAL, SpotPlace,
};
use zygoma_face::model::Landmarks;

use super::{Closed, Session};
use crate::container::Arrays;
use crate::protocol::{StiffnessHeader, kind};

/// Most spots of a tab: a file of a megabyte.
const MOST_SPOTS: usize = 10_000;

/// The relaxed face among the controls.
const RELAXED: i32 = -1;

/// A spot that a page asks for.
pub(super) struct Dab {
    pub(super) point: u32,
    pub(super) radius: f32,
    pub(super) mu: Option<f32>,
    pub(super) lambda: Option<f32>,
    pub(super) erase: bool,
}

/// The paint of a tab.
#[derive(Default)]
pub(super) struct Paint {
    /// The skin, once something is painted.
    canvas: Option<(Canvas, Landmarks)>,
    spots: Vec<MaterialSpot>,
    paints: Vec<MaterialPaint>,
    /// Shapes whose paint the body does not have yet; `None` is the relaxed face.
    changed: BTreeSet<Option<usize>>,
    /// The control whose stiffness the page shows.
    shown: Option<i32>,
    /// Whether the page has what it shows.
    is_told: bool,
}

impl Paint {
    /// Sends which stiffness the page shows.
    pub(super) fn show(&mut self, control: Option<i32>) {
        self.is_told &= control == self.shown;
        self.shown = control;
    }

    /// Lets a new body have all paint, and the page its stiffness.
    pub(super) fn renew(&mut self) {
        self.changed.extend(self.paints.iter().map(|paint| paint.shape));
        self.is_told = false;
    }

    /// Goes on with another version of the same rig.
    pub(super) fn keep_for_other_skin(&mut self) {
        self.canvas = None;
        self.renew();
    }
}

impl Session {
    /// Paints a spot of an expression.
    pub(super) fn paint(&mut self, control: i32, dab: &Dab) -> Result<(), Closed> {
        let (Some(face), Some(shape)) = (self.bodies.face(), self.painted_shape(control)) else {
            return Ok(());
        };
        let part = &self.model.parts[self.model.rig.skin];
        let Some(vertex) = part.vertex_of_point.get(dab.point as usize).copied() else { return Ok(()) };
        let paint = &mut self.paint;
        if paint.spots.len() >= MOST_SPOTS {
            return self.fail(format!("there are {MOST_SPOTS} spots of paint already; clear some"));
        }
        let spot = MaterialSpot {
            shape: shape.map_or(NEUTRAL, |shape| face.shapes[shape].name.as_str()).to_owned(),
            at: SpotPlace::Vertex(vertex),
            // To a hundredth of a millimetre and of a kilopascal: files stay short, and say what was painted.
            radius: rounded(1e3 * dab.radius),
            mu: dab.mu.map(rounded),
            lambda: dab.lambda.map(rounded),
            erase: dab.erase,
        };
        let (canvas, landmarks) =
            paint.canvas.get_or_insert_with(|| (Canvas::new(&face), Landmarks::new(&face)));
        let strokes = &mut MaterialPaint::among(&mut paint.paints, shape, face.vertex_count()).strokes;
        match canvas.paint(&spot, landmarks, strokes) {
            Ok(()) => paint.spots.push(spot),
            Err(error) => return self.fail(error.to_string()),
        }
        paint.changed.insert(shape);
        Ok(())
    }

    /// Removes all paint of an expression.
    pub(super) fn clear_paint(&mut self, control: i32) {
        let (Some(face), Some(shape)) = (self.bodies.face(), self.painted_shape(control)) else { return };
        let name = shape.map_or(NEUTRAL, |shape| face.shapes[shape].name.as_str());
        self.paint.spots.retain(|spot| spot.shape != name);
        self.paint.paints.retain(|paint| paint.shape != shape);
        self.paint.changed.insert(shape);
    }

    /// The shape of the skin that a control drives; `Some(None)` for the relaxed face, `None` if there is no such shape.
    fn painted_shape(&self, control: i32) -> Option<Option<usize>> {
        if control == RELAXED {
            return Some(None);
        }
        let drives = self.model.controls.drives.get(usize::try_from(control).ok()?)?;
        let (_, shape) = drives.iter().find(|(mesh, _)| *mesh == self.model.rig.skin)?;
        Some(Some(*shape))
    }

    /// Gives the body that is shown the paint that has changed, and the page the stiffness that it shows.
    pub(super) fn apply_paint(&mut self) -> Result<(), Closed> {
        let shown = self.paint.shown.and_then(|control| Some((control, self.painted_shape(control)?)));
        let (Some(running), _) = self.bodies.current_mut() else { return Ok(()) };
        let Some(body) = running.body_mut().downcast_mut::<EnrichedBody>() else { return Ok(()) };
        let paint = &mut self.paint;
        let changed = std::mem::take(&mut paint.changed);
        // Without paint of the neutral, one shape does not change another.
        let all = changed.first() == Some(&None);
        for shape in changed.iter().take(if all { 1 } else { usize::MAX }) {
            body.repaint(*shape, &paint.paints);
        }
        let stiffness = match shown {
            Some((control, shape)) if !changed.is_empty() || !paint.is_told => {
                Some((control, body.skin_stiffness(shape)))
            }
            _ => None,
        };
        if !changed.is_empty() {
            let spots = MaterialSpots { material: paint.spots.clone() };
            self.link.files.offer_materials(spots);
        }
        let Some((control, mu)) = stiffness else { return Ok(()) };
        self.paint.is_told = true;
        self.send_stiffness(control, &mu)
    }

    fn send_stiffness(&self, control: i32, mu: &[f32]) -> Result<(), Closed> {
        let part = &self.model.parts[self.model.rig.skin];
        let of_points: Vec<f32> = part.vertex_of_point.iter().map(|vertex| mu[*vertex as usize]).collect();
        let mut arrays = Arrays::default();
        let header = StiffnessHeader { control, spots: self.paint.spots.len(), mu: arrays.add(&of_points) };
        self.send(arrays.into_message(kind::STIFFNESS, &header))
    }
}

fn rounded(value: f32) -> f64 {
    (100.0 * f64::from(value)).round() / 100.0
}
