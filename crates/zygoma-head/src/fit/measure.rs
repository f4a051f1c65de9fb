//! Measures how well a head was fitted.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::icp::IcpTarget;

use super::FitError;
use super::inside::Inside;
use super::poses::PosedReport;
use super::register::data_weights;
use super::target::Target;
use crate::anatomy::checks::{self, Inverted};
use crate::sculpt::ear;
use crate::sculpt::field::at;
use crate::template::Template;

/// Distances in metres of the head's own frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distances {
    /// Their mean.
    pub mean: f64,
    /// Their 95th percentile.
    pub p95: f64,
    /// The largest.
    pub worst: f64,
}

impl Distances {
    fn of(mut all: Vec<f64>) -> Self {
        all.sort_by(f64::total_cmp);
        let last = all.len().saturating_sub(1);
        Self {
            mean: all.iter().sum::<f64>() / all.len().max(1) as f64,
            p95: all.get(last * 95 / 100).copied().unwrap_or(0.0),
            worst: all.last().copied().unwrap_or(0.0),
        }
    }
}

/// Figures of a fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitReport {
    /// From the mesh's vertices to the fitted skin, over the face.
    pub registration: Distances,
    /// The same for the head that dials alone make.
    pub by_dials: Distances,
    /// The same for the ears of the fitted skin.
    pub ears: Distances,
    /// Inverted tetrahedra of the fill after mapping, before its interior was relaxed.
    pub inverted_carried: usize,
    /// Inverted elements in the end.
    pub inverted: Inverted,
    /// Bone vertices, except ridges, that lie outside the skin.
    pub penetrating: usize,
    /// Smallest depth of bone, except ridges, under the skin, in metres.
    pub cover: f64,
    /// Bones under the skin in the shapes of the rig, if those were looked at.
    pub posed: Option<PosedReport>,
    /// Seconds for alignment, dials, skin, bones with wraps, and fill.
    pub seconds: [f64; 5],
}

/// Measures a registered skin in the head's own frame.
pub(super) fn registration(
    template: &Template,
    target: &Target,
    by_dials: &[DVec3],
    skin: &[DVec3],
) -> FitReport {
    let weights = data_weights(&template.base);
    let rest = |v: usize| at(template.base.rest[v].x.abs(), template.base.rest[v].y, template.base.rest[v].z);
    // In front of the ears, above the neck: the part that counts as the face.
    let is_face = |v: usize| weights[v] == 1.0 && rest(v).z > 20.0 && rest(v).y > -92.0 && rest(v).y < 90.0;
    let is_ear = |v: usize| ear::is_ear(rest(v));
    FitReport {
        registration: distances(template, target, skin, &is_face),
        by_dials: distances(template, target, by_dials, &is_face),
        ears: distances(template, target, skin, &is_ear),
        ..FitReport::default()
    }
}

impl FitReport {
    /// Measures the anatomy under a skin, in the head's own frame; an error if it is not sound.
    pub(super) fn measure_inside(
        &mut self,
        template: &Template,
        skin: &[DVec3],
        inside: &Inside,
    ) -> Result<(), FitError> {
        let covers = checks::skin_covers(&template.base, skin, &inside.anatomy);
        self.inverted_carried = inside.inverted_carried;
        self.inverted = checks::inverted(&inside.anatomy);
        self.penetrating = covers.iter().filter(|depth| **depth < 0.0).count();
        self.cover = covers.iter().copied().fold(f64::MAX, f64::min);
        let inverted = self.inverted.prisms + self.inverted.fill;
        match inverted + self.penetrating {
            0 => Ok(()),
            _ => Err(FitError::Tangled { inverted, penetrating: self.penetrating }),
        }
    }
}

/// Distances from those vertices of the target whose closest skin point lies in a part of the skin.
fn distances(
    template: &Template,
    target: &Target,
    skin: &[DVec3],
    is_part: &(dyn Fn(usize) -> bool + Sync),
) -> Distances {
    let triangles = &template.base.triangles;
    let Some(search) = IcpTarget::new(skin, triangles) else { return Distances::default() };
    let one = |p: &DVec3| {
        let hit = search.closest(*p)?;
        let inside = triangles[hit.triangle as usize].iter().all(|v| is_part(*v as usize));
        inside.then(|| hit.point.distance(*p))
    };
    Distances::of(target.positions.par_iter().filter_map(one).collect())
}
