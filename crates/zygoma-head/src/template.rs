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
    /// Edges in the mirror plane: a triangle and which of its edges.
    middle: OnceLock<Vec<(u32, usize)>>,
}

impl Template {
    /// The template of a level.
    pub(crate) fn of(level: Level) -> &'static Template {
        static LEVELS: [OnceLock<Template>; 3] = [OnceLock::new(), OnceLock::new(), OnceLock::new()];
        LEVELS[level as usize].get_or_init(|| Template::new(level))
    }

    /// Closest point of the skin at rest. A point in the mirror plane has it there too, since its two sides stay alike.
    pub(crate) fn closest_on_skin(&self, p: DVec3) -> Option<SurfaceHit> {
        if p.x == 0.0 {
            return self.closest_in_middle(p);
        }
        let search = self.search.get_or_init(|| IcpTarget::new(&self.base.rest, &self.base.triangles));
        search.as_ref()?.closest(p)
    }

    fn closest_in_middle(&self, p: DVec3) -> Option<SurfaceHit> {
        let hit = |&(triangle, edge): &(u32, usize)| self.closest_on_edge(p, triangle, edge);
        let hits = self.middle.get_or_init(|| middle_edges(&self.base)).iter().map(hit);
        hits.min_by(|a, b| a.point.distance(p).total_cmp(&b.point.distance(p)))
    }

    fn closest_on_edge(&self, p: DVec3, triangle: u32, edge: usize) -> SurfaceHit {
        let [a, b, c] = self.base.triangles[triangle as usize].map(|v| self.base.rest[v as usize]);
        let (from, to) = (edge, (edge + 1) % 3);
        let (start, along) = ([a, b, c][from], [a, b, c][to] - [a, b, c][from]);
        let share = ((p - start).dot(along) / along.length_squared()).clamp(0.0, 1.0);
        let mut barycentric = [0.0; 3];
        (barycentric[from], barycentric[to]) = (1.0 - share, share);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        SurfaceHit { triangle, barycentric, point: start + share * along, normal }
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
        let (search, middle) = (OnceLock::new(), OnceLock::new());
        let mut template = Self { base, jaw, softness, shapes, places: Places::default(), search, middle };
        template.places = Places::new(&template);
        template
    }
}

fn middle_edges(base: &Base) -> Vec<(u32, usize)> {
    let in_middle = |v: u32| base.mirror[v as usize] == v;
    let edges = base.triangles.iter().enumerate().flat_map(|(i, t)| (0..3).map(move |k| (i as u32, k, t)));
    edges.filter(|(_, k, t)| in_middle(t[*k]) && in_middle(t[(k + 1) % 3])).map(|(i, k, _)| (i, k)).collect()
}
