//! The skin that all fitted heads share: the built-in head's vertices at [`Level::High`], its places, and how the fill hangs on it.

use std::sync::OnceLock;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::embedding::followed_fraction;
use zygoma_geometry::icp::IcpTarget;
use zygoma_geometry::similarity::Similarity;

use super::register::data_weights;
use super::{FitReport, FittedHead};
use crate::anatomy::{Anatomy, FillDetail, Tie, carried_fill, template_fill};
use crate::base::Part;
use crate::template::Template;
use crate::{Head, HeadOptions, Level, Places};

/// The part of the skin that a vertex belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkinPart {
    /// The outside of the head.
    Outer,
    /// The red of the upper lip with its contact line.
    UpperLip,
    /// The red of the lower lip with its contact line.
    LowerLip,
    /// The mouth bag, behind the lips.
    Mouth,
    /// The pocket behind the lids.
    EyePocket,
}

/// The properties of every vertex of a fitted skin.
pub struct SharedSkin {
    /// Positions at rest in template space, in millimetres.
    pub template: &'static [DVec3],
    /// Triangles.
    pub triangles: &'static [[u32; 3]],
    /// For each vertex its mirror image.
    pub mirror: &'static [u32],
    /// For each vertex the fraction of the jaw's motion that it follows.
    pub jaw: &'static [f64],
    /// Landmarks, contours and regions.
    pub places: &'static Places,
    /// For each vertex its part.
    pub parts: Vec<SkinPart>,
    /// For each vertex how much a registration relies on it: 0 where it has no counterpart on a mesh.
    pub weights: Vec<f64>,
}

impl SharedSkin {
    /// The skin of all fitted heads.
    pub fn get() -> &'static Self {
        static SKIN: OnceLock<SharedSkin> = OnceLock::new();
        SKIN.get_or_init(|| {
            let Template { base, jaw, places, .. } = Template::of(Level::High);
            let part = |part: &Part| match part {
                Part::Outer => SkinPart::Outer,
                Part::UpperLip => SkinPart::UpperLip,
                Part::LowerLip => SkinPart::LowerLip,
                Part::UpperBag | Part::LowerBag => SkinPart::Mouth,
                Part::LeftPocket | Part::RightPocket => SkinPart::EyePocket,
            };
            Self {
                template: &base.rest,
                triangles: &base.triangles,
                mirror: &base.mirror,
                jaw,
                places,
                parts: base.parts.iter().map(part).collect(),
                weights: data_weights(base),
            }
        })
    }

    /// The vertices of a region; none if there is no such region.
    pub fn region(&self, name: &str) -> &'static [u32] {
        self.places.regions.iter().find(|region| region.name == name).map_or(&[], |region| &region.vertices)
    }
}

/// A point that three others carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seat {
    /// The others.
    pub corners: [u32; 3],
    /// Their weights; they sum to 1, or to less where the others are too far to carry it wholly.
    pub barycentric: [f64; 3],
}

impl Seat {
    /// The value at the point, from those of the others.
    pub fn mix(&self, values: &[DVec3]) -> DVec3 {
        (0..3).map(|k| self.barycentric[k] * values[self.corners[k] as usize]).sum()
    }
}

/// How a fill and the skin of a fitted head hang together.
pub struct FillSkin {
    /// For each node of the fill that is on the skin: its place there.
    pub on_skin: Vec<Option<Seat>>,
    /// For each vertex of the skin: the nodes of the fill that carry it.
    pub on_fill: Vec<Seat>,
}

impl FillSkin {
    /// The relation for a detail of the fill, the same for all heads; `None` if the stored fill has no skin.
    pub fn of(detail: FillDetail) -> Option<&'static Self> {
        static DETAILS: [OnceLock<Option<FillSkin>>; 3] = [const { OnceLock::new() }; 3];
        DETAILS[detail as usize].get_or_init(|| Self::new(detail)).as_ref()
    }

    fn new(detail: FillDetail) -> Option<Self> {
        let template = Template::of(Level::High);
        let base = &template.base;
        let nodes = template_fill(detail);
        let anatomy = Anatomy::carried(detail, |p, _| p);
        let place = |v: usize| {
            let hit = template.closest_on_skin(nodes[v]).filter(|_| anatomy.fill_ties[v] == Tie::Skin)?;
            Some(Seat { corners: base.triangles[hit.triangle as usize], barycentric: hit.barycentric })
        };
        let on_skin: Vec<Option<Seat>> = (0..nodes.len()).into_par_iter().map(place).collect();
        // With the mouth open, so that no vertex of one lip hangs on the other.
        let opened = |v: usize| {
            on_skin[v].map_or(nodes[v], |seat| seat.mix(&base.open) + nodes[v] - seat.mix(&base.rest))
        };
        let opened: Vec<DVec3> = (0..nodes.len()).map(opened).collect();
        let is_skin = |t: &[u32; 3]| t.iter().all(|v| on_skin[*v as usize].is_some());
        let boundary: Vec<[u32; 3]> =
            carried_fill(detail, |p, _| p).boundary().into_iter().filter(is_skin).collect();
        let search = IcpTarget::new(&opened, &boundary)?;
        let seat = |p: &DVec3| {
            let hit = search.closest(*p)?;
            let corners = boundary[hit.triangle as usize];
            let at = corners.map(|node| opened[node as usize]);
            let carried = followed_fraction(hit.point.distance(*p), at);
            Some(Seat { corners, barycentric: hit.barycentric.map(|weight| carried * weight) })
        };
        let on_fill = base.open.par_iter().map(seat).collect::<Option<Vec<Seat>>>()?;
        Some(Self { on_skin, on_fill })
    }
}

impl FittedHead {
    /// The built-in head of one person as if it were fitted to itself, exactly.
    pub fn built_in(options: &HeadOptions, detail: FillDetail) -> Self {
        let head = Head::new(&HeadOptions { level: Level::High, ..*options });
        Self {
            to_mesh: Similarity::IDENTITY,
            dials: head.dials,
            fat: head.dials.get("weight"),
            anatomy: Anatomy::filled(&head, detail),
            skin: head.skin.positions,
            triangles: head.skin.triangles,
            report: FitReport::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vertex of a lip takes its motion from nodes of that lip, which the jaw carries alike.
    #[test]
    fn no_lip_hangs_on_the_other() {
        let relation = FillSkin::of(FillDetail::Coarse).unwrap();
        let shared = SharedSkin::get();
        let jaw_fraction = |seat: &Option<Seat>| {
            let fraction =
                |seat: Seat| (0..3).map(|k| seat.barycentric[k] * shared.jaw[seat.corners[k] as usize]).sum();
            DVec3::splat(seat.map_or(0.0, fraction))
        };
        let jaw: Vec<DVec3> = relation.on_skin.iter().map(jaw_fraction).collect();
        let is_lip = |v: usize| [SkinPart::UpperLip, SkinPart::LowerLip].contains(&shared.parts[v]);
        let lips = (0..shared.parts.len()).filter(|v| shared.weights[*v] > 0.0 && is_lip(*v));
        for v in lips {
            let carried = relation.on_fill[v].mix(&jaw).x;
            assert!((carried - shared.jaw[v]).abs() < 0.5, "vertex {v}: {carried} for {}", shared.jaw[v]);
        }
    }

    /// A head that moves alike on both sides keeps these nodes in the middle.
    #[test]
    fn nodes_in_the_mirror_plane_are_seated_in_it() {
        for detail in FillDetail::STORED {
            let (relation, nodes) = (FillSkin::of(detail).unwrap(), template_fill(detail));
            let seats = nodes.iter().zip(&relation.on_skin).filter(|(node, _)| node.x == 0.0);
            for seat in seats.filter_map(|(_, seat)| seat.as_ref()) {
                assert_eq!(seat.mix(SharedSkin::get().template).x, 0.0, "{detail:?}: {seat:?}");
            }
        }
    }
}
