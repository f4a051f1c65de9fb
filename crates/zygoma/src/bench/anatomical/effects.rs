//! Effects of dials.

use std::sync::Arc;

use anyhow::Context;
use glam::Vec3;
use serde::Serialize;
use zygoma_face::anatomical::{Anatomical, Dials};
use zygoma_face::model::Landmarks;

use super::{Gap, Subject};

/// Figures of a few dials.
#[derive(Serialize)]
pub(crate) struct Effects {
    /// Soft tissue at fat=0.2 and 0.4, relative to the head before.
    pub(crate) fat: [f64; 2],
    /// Soft tissue and muscles at jaw.y=1.1, relative to the head before, and how far the chin moves.
    pub(crate) jaw_tissue: [f64; 2],
    pub(crate) jaw_chin_mm: f64,
    /// The motion of the corners of the mouth in a smile, left and right, at palsy=left:1, relative to the healthy face.
    pub(crate) palsy: Option<[f64; 2]>,
    /// The motion of the left cheek at gravity=0,0,-1, and that at twice as much relative to it.
    pub(crate) lying_cheek_mm: Option<f64>,
    pub(crate) twice: Option<f64>,
    /// The motion of skin at wind=0,0,-40, of the left cheek and of the upper lip.
    pub(crate) wind: Gap,
    pub(crate) wind_cheek_mm: Option<f64>,
    pub(crate) wind_lip_mm: Option<f64>,
}

impl Effects {
    pub(super) fn line(&self) -> String {
        let or_none = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
        let [left, right] = self.palsy.map_or([None; 2], |sides| sides.map(Some)).map(or_none);
        format!(
            "soft tissue at fat=0.2 and 0.4: × {:.3} and {:.3}; a jaw 10 % longer: tissue × {:.3}, muscles × {:.3}, chin {:.1} mm; smile in palsy of the left side: × {left} and {right}; lying down: cheek {} mm, at twice that × {}; wind of 40 m/s: {:.2} mm on average, {:.1} at most, cheek {}, upper lip {}",
            self.fat[0],
            self.fat[1],
            self.jaw_tissue[0],
            self.jaw_tissue[1],
            self.jaw_chin_mm,
            or_none(self.lying_cheek_mm),
            or_none(self.twice),
            self.wind.mean_mm,
            self.wind.worst_mm,
            or_none(self.wind_cheek_mm),
            or_none(self.wind_lip_mm)
        )
    }

    pub(super) fn of(subject: &Subject<'_>) -> anyhow::Result<Self> {
        let places = Landmarks::new(&subject.face);
        let vertex = |name: &str| places.find(name).map(|place| place.vertex as usize);
        let neutral = &subject.face.neutral;
        let before = subject.head.tissue_volumes();
        let tissue = |head: &Anatomical| {
            let after = head.tissue_volumes();
            [after[0] / before[0], after[1] / before[1]]
        };
        let fat = |value: &str| Ok::<_, anyhow::Error>(tissue(&*dialled(subject, "fat", value)?)[0]);
        let long = dialled(subject, "jaw.y", "1.1")?;
        let at_rest = |name: &str, value: &str| subject.settled(&dialled(subject, name, value)?, &[]);
        let way = |surface: &[Vec3], name: &str| {
            Some(1e3 * f64::from(surface[vertex(name)?].distance(neutral[vertex(name)?])))
        };
        let chin = way(&subject.settled(&long, &[])?, "chin");
        let (once, twice) = (at_rest("gravity", "0,0,-1")?, at_rest("gravity", "0,0,-2")?);
        let [once, twice] = [once, twice].map(|surface| way(&surface, "cheek-left"));
        let wind = at_rest("wind", "0,0,-40")?;
        Ok(Self {
            fat: [fat("0.2")?, fat("0.4")?],
            jaw_tissue: tissue(&long),
            jaw_chin_mm: chin.context("the rig has no chin")?,
            palsy: palsy(subject, vertex)?,
            lying_cheek_mm: once,
            twice: once.zip(twice).map(|(once, twice)| twice / once),
            wind: Gap::between(&wind, neutral, |_| true),
            wind_cheek_mm: way(&wind, "cheek-left"),
            wind_lip_mm: way(&wind, "lip-upper"),
        })
    }
}

/// The head with a dial.
fn dialled(subject: &Subject<'_>, name: &str, value: &str) -> anyhow::Result<Arc<Anatomical>> {
    let mut dials = Dials::default();
    dials.set(name, value)?;
    Ok(Arc::new(subject.head.with_dials(&dials)?))
}

/// The fraction of a smile that is left at its corners in palsy of the left side.
fn palsy(subject: &Subject<'_>, vertex: impl Fn(&str) -> Option<usize>) -> anyhow::Result<Option<[f64; 2]>> {
    let (Some(left), Some(right)) = (vertex("mouth-left"), vertex("mouth-right")) else { return Ok(None) };
    let smile = subject.expression(&["mouthSmileLeft", "mouthSmileRight"]);
    let ways = |head: &Arc<Anatomical>| {
        let (rest, shown) = (subject.settled(head, &[])?, subject.settled(head, &smile)?);
        Ok::<_, anyhow::Error>([left, right].map(|v| f64::from(rest[v].distance(shown[v]))))
    };
    let (healthy, ill) = (ways(&subject.head)?, ways(&dialled(subject, "palsy", "left:1")?)?);
    Ok((healthy[0].min(healthy[1]) > 0.0).then(|| [ill[0] / healthy[0], ill[1] / healthy[1]]))
}
