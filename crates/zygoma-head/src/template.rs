//! Everything about a level of the template that does not depend on the person: made once, then shared.

use std::sync::OnceLock;

use glam::DVec3;
use zygoma_geometry::icp::{IcpTarget, SurfaceHit};

use crate::base::Base;
use crate::landmarks::Places;
use crate::shapes::{self, Posed, Poser};
use crate::{Level, bake, fields};

/// One level of the template with its shapes, in template space.
pub(crate) struct Template {
    pub(crate) base: Base,
    /// The share of the jaw's motion that each vertex follows.
    pub(crate) jaw: Vec<f64>,
    /// The share of soft dials that each vertex follows.
    pub(crate) softness: Vec<f64>,
    /// The 52 shapes of the skin.
    pub(crate) shapes: Vec<Posed>,
    /// Landmarks, contours and regions.
    pub(crate) places: Places,
    search: OnceLock<Option<IcpTarget>>,
}

impl Template {
    /// The template of a level.
    pub(crate) fn of(level: Level) -> &'static Template {
        static LEVELS: [OnceLock<Template>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
        LEVELS[level as usize].get_or_init(|| Template::new(level))
    }

    /// Closest point of the skin at rest.
    pub(crate) fn closest_on_skin(&self, p: DVec3) -> Option<SurfaceHit> {
        let search = self.search.get_or_init(|| IcpTarget::new(&self.base.rest, &self.base.triangles));
        search.as_ref()?.closest(p)
    }

    fn new(level: Level) -> Self {
        let kept = bake::kept(level as usize);
        let base = Base::from_half(&kept.half);
        let whole = |half: &[f64]| {
            let count = half.len();
            (0..base.rest.len()).map(|v| half[if v < count { v } else { base.mirror[v] as usize }]).collect()
        };
        let (jaw, seal): (Vec<f64>, Vec<f64>) = (whole(&kept.jaw), whole(&kept.seal));
        let shapes = shapes::all(&Poser { base: &base, jaw: &jaw, seal: &seal });
        let softness = fields::softness(&base);
        let mut template =
            Self { base, jaw, softness, shapes, places: Places::default(), search: OnceLock::new() };
        template.places = Places::new(&template);
        template
    }
}
