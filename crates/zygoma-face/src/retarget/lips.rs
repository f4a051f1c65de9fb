//! Lips that cross, on the shared skin: collided points go to the average of both along the vertical (AnaConDaR §3.3.2, forward simulation, step 3).

use glam::DVec3;
use zygoma_head::fit::{SharedSkin, SkinPart};

use super::forward::Placed;

/// Deeper points are beside the other lip rather than inside it, m. Ours, as below.
const DEEPEST: f64 = 0.012;
/// Crossings that are smaller than this are contact, m.
const TOUCHING: f64 = 2e-5;

/// Finds crossings of the lips of one head.
pub(super) struct LipCrossings {
    /// Vertices of the lower lip.
    lower: Vec<u32>,
    /// Triangles of the upper lip.
    upper: Vec<[u32; 3]>,
    /// How deep each vertex of the lower lip is in the neutral: a mesh may have lips that cross from the start.
    allowed: Vec<f64>,
}

/// A point of the lower lip inside the upper one.
struct Crossing {
    /// Its place among the vertices of the lower lip.
    place: usize,
    triangle: [u32; 3],
    /// How far it is above the upper lip's surface, m.
    depth: f64,
}

impl LipCrossings {
    pub(super) fn new(rest: &[DVec3]) -> Self {
        let parts = &SharedSkin::get().parts;
        let is = |v: u32, part: SkinPart| parts[v as usize] == part;
        let lower: Vec<u32> = (0..parts.len() as u32).filter(|v| is(*v, SkinPart::LowerLip)).collect();
        let on_upper = |t: &&[u32; 3]| t.iter().all(|v| is(*v, SkinPart::UpperLip));
        let upper: Vec<[u32; 3]> = SharedSkin::get().triangles.iter().filter(on_upper).copied().collect();
        let mut lips = Self { allowed: vec![0.0; lower.len()], lower, upper };
        for crossing in lips.crossings(rest) {
            lips.allowed[crossing.place] = crossing.depth;
        }
        lips
    }

    /// Vertices that a resolution may move.
    pub(super) fn vertices(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.upper.iter().flatten().chain(&self.lower).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Number of points of the lower lip that have crossed the upper one, beyond the neutral.
    pub(super) fn count(&self, skin: &[DVec3]) -> usize {
        self.crossings(skin).len()
    }

    /// Where crossed points of both lips should be: at the average of both, along the vertical.
    pub(super) fn parted(&self, skin: &[DVec3]) -> Vec<Placed> {
        let mut rises = vec![(0.0, 0.0); skin.len()];
        for Crossing { place, triangle, depth } in self.crossings(skin) {
            let half = 0.5 * (depth - self.allowed[place]);
            let mut push = |v: u32, by: f64| {
                rises[v as usize].0 += by;
                rises[v as usize].1 += 1.0;
            };
            push(self.lower[place], -half);
            triangle.iter().for_each(|v| push(*v, half));
        }
        let moved = rises.iter().enumerate().filter(|(_, (_, count))| *count > 0.0);
        moved
            .map(|(v, (rise, count))| Placed { vertex: v as u32, place: skin[v] + DVec3::Y * *rise / *count })
            .collect()
    }

    fn crossings(&self, skin: &[DVec3]) -> Vec<Crossing> {
        let mut found = Vec::new();
        for (place, v) in self.lower.iter().enumerate() {
            let p = skin[*v as usize];
            // The deepest surface of the upper lip that faces down above or below the point.
            let hits =
                self.upper.iter().filter_map(|t| Some((t, p.y - underside(t.map(|v| skin[v as usize]), p)?)));
            let inside =
                hits.filter(|(_, depth)| *depth > self.allowed[place] + TOUCHING && *depth < DEEPEST);
            if let Some((t, depth)) = inside.min_by(|(_, a), (_, b)| a.total_cmp(b)) {
                found.push(Crossing { place, triangle: *t, depth });
            }
        }
        found
    }
}

/// Height of a triangle that faces down at the vertical through a point.
fn underside([a, b, c]: [DVec3; 3], p: DVec3) -> Option<f64> {
    let across = |u: DVec3, v: DVec3| u.z * v.x - u.x * v.z;
    let whole = across(b - a, c - a);
    // The component of the normal along the vertical.
    if whole >= 0.0 {
        return None;
    }
    let [u, v, w] =
        [across(b - p, c - p), across(c - p, a - p), across(a - p, b - p)].map(|part| part / whole);
    (u >= 0.0 && v >= 0.0 && w >= 0.0).then_some(u * a.y + v * b.y + w * c.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_lower_lip_crosses_and_is_brought_to_the_middle() {
        let shared = SharedSkin::get();
        let rest: Vec<DVec3> = shared.template.iter().map(|p| *p / 1000.0).collect();
        let lips = LipCrossings::new(&rest);
        assert_eq!(lips.count(&rest), 0);
        let raised: Vec<DVec3> = rest
            .iter()
            .zip(&shared.parts)
            .map(|(p, part)| if *part == SkinPart::LowerLip { *p + 0.002 * DVec3::Y } else { *p })
            .collect();
        let crossed = lips.count(&raised);
        assert!(crossed > 20, "{crossed}");
        let placed = lips.parted(&raised);
        let rises: Vec<f64> =
            placed.iter().map(|placed| placed.place.y - raised[placed.vertex as usize].y).collect();
        let is_lower = |placed: &&Placed| shared.parts[placed.vertex as usize] == SkinPart::LowerLip;
        assert!(placed.iter().zip(&rises).all(|(placed, rise)| is_lower(&placed) == (*rise < 0.0)));
        // Each lip moves by half of at most two millimetres.
        assert!(rises.iter().all(|rise| rise.abs() <= 1.1e-3), "{rises:?}");
    }
}
