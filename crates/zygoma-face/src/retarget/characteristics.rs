//! Facial characteristics: what a face looks like to others: how far the eyes are open, how the skin around them lies, the contour of the lips
//! (AnaConDaR eq. 15 to 17).

use std::sync::OnceLock;

use glam::DVec3;
use zygoma_geometry::similarity::fit_similarity;
use zygoma_head::fit::{SharedSkin, SkinPart};

/// Pairs of points along the lids and the sockets. Ours, as those below.
const PAIRS: usize = 11;
/// Half the width and half the height of an eye socket around the middle of the lids, in millimetres of template space.
const SOCKET: [f64; 2] = [25.0, 19.0];
/// Triangles smaller than this fraction of their strip's mean say nothing about the eye: near the corners, and between closed lids.
pub(super) const LEAST_AREA: f64 = 0.05;
/// Range of area ratios: closed lids leave no area at all, and a ratio of two small areas can be any number.
const RATIOS: [f64; 2] = [0.005, 4.0];

/// The triangles and contours that characteristics are defined on, between vertices of the shared skin.
pub(super) struct Features {
    /// Between the lids (EO).
    pub(super) eyes: Vec<[u32; 3]>,
    /// Across the sockets (ES).
    pub(super) sockets: Vec<[u32; 3]>,
    /// The lips' contour (LC).
    pub(super) lips: Vec<u32>,
}

impl Features {
    /// The features of all heads.
    pub(super) fn get() -> &'static Self {
        static FEATURES: OnceLock<Features> = OnceLock::new();
        FEATURES.get_or_init(|| {
            let shared = SharedSkin::get();
            let (mut eyes, mut sockets) = (Vec::new(), Vec::new());
            let [left, _] = &shared.places.lids;
            eyes.extend(strip(&spread(&left.upper), &spread(&left.lower)));
            let [above, below] = socket(shared, &left.upper, &left.lower);
            sockets.extend(strip(&above, &below));
            let mirrored = |t: &[u32; 3]| {
                let [a, b, c] = t.map(|v| shared.mirror[v as usize]);
                [a, c, b]
            };
            eyes.extend(eyes.clone().iter().map(mirrored));
            sockets.extend(sockets.clone().iter().map(mirrored));
            let contours = &shared.places.lips;
            let chains =
                [&contours.inner_upper, &contours.inner_lower, &contours.outer_upper, &contours.outer_lower];
            let mut lips: Vec<u32> = chains.into_iter().flatten().copied().collect();
            lips.sort_unstable();
            lips.dedup();
            Self { eyes, sockets, lips }
        })
    }
}

/// Vertices evenly spread over a chain, by number, ends included.
fn spread(chain: &[u32]) -> Vec<u32> {
    (0..PAIRS).map(|i| chain[i * (chain.len() - 1) / (PAIRS - 1)]).collect()
}

/// Triangles between two chains with as many vertices.
fn strip(upper: &[u32], lower: &[u32]) -> Vec<[u32; 3]> {
    let quads = upper.windows(2).zip(lower.windows(2));
    let both = quads.flat_map(|(u, l)| [[u[0], l[0], l[1]], [u[0], l[1], u[1]]]);
    both.filter(|[a, b, c]| a != b && b != c && c != a).collect()
}

/// The upper and the lower boundary of the left eye's socket, from the inside out.
fn socket(shared: &SharedSkin, upper: &[u32], lower: &[u32]) -> [Vec<u32>; 2] {
    let at = |v: &u32| shared.template[*v as usize];
    let count = (upper.len() + lower.len()) as f64;
    let middle = upper.iter().chain(lower).map(at).sum::<DVec3>() / count;
    let outer: Vec<u32> = (0..shared.template.len() as u32)
        .filter(|v| {
            shared.parts[*v as usize] == SkinPart::Outer && at(v).z > middle.z - 30.0 && at(v).x > 0.0
        })
        .collect();
    let nearest = |x: f64, y: f64| {
        let distance = |v: &u32| (at(v).x - x).powi(2) + (at(v).y - y).powi(2);
        outer.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
    };
    [1.0, -1.0].map(|side: f64| {
        let on_rim = |i: usize| {
            // From the inner corner to the outer one.
            let angle = std::f64::consts::PI * (1.0 - i as f64 / (PAIRS - 1) as f64);
            nearest(middle.x + SOCKET[0] * angle.cos(), middle.y + side * SOCKET[1] * angle.sin())
        };
        (0..PAIRS).map(on_rim).collect()
    })
}

/// The characteristics that a target should show.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Characteristics {
    /// For each triangle of the eyes its area relative to the neutral.
    pub(super) eyes: Vec<f64>,
    /// The same for the sockets.
    pub(super) sockets: Vec<f64>,
    /// Places of the lips' contour in the target.
    pub(super) lips: Vec<DVec3>,
}

impl Characteristics {
    /// The characteristics of a posed source, adapted to a target: `by_transfer` is the posed source carried to the target by plain transfer.
    pub(super) fn new(
        source: &[DVec3],
        posed: &[DVec3],
        target: &[DVec3],
        by_transfer: &[DVec3],
        literal: bool,
    ) -> Self {
        let features = Features::get();
        Self {
            eyes: ratios(source, posed, &features.eyes),
            sockets: ratios(source, posed, &features.sockets),
            lips: lip_contour(source, posed, target, by_transfer, literal),
        }
    }

    /// How far a posed target misses them: the mean difference of area ratios of eyes and sockets, and the mean distance of the lips' contour, m.
    pub(super) fn error(&self, target: &[DVec3], posed: &[DVec3]) -> [f64; 3] {
        let features = Features::get();
        let off = |triangles: &[[u32; 3]], wanted: &[f64]| {
            let found = ratios(target, posed, triangles);
            found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).sum::<f64>() / wanted.len().max(1) as f64
        };
        let apart =
            features.lips.iter().zip(&self.lips).map(|(v, wanted)| posed[*v as usize].distance(*wanted));
        [
            off(&features.eyes, &self.eyes),
            off(&features.sockets, &self.sockets),
            apart.sum::<f64>() / self.lips.len().max(1) as f64,
        ]
    }
}

/// Areas of triangles relative to their areas at rest (AnaConDaR §3.3.2).
fn ratios(rest: &[DVec3], posed: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let areas = |points: &[DVec3]| -> Vec<f64> { triangles.iter().map(|t| area(points, *t)).collect() };
    let (before, after) = (areas(rest), areas(posed));
    let least = LEAST_AREA * before.iter().sum::<f64>() / before.len().max(1) as f64;
    // Both are raised alike, so that a triangle that stays small keeps the ratio 1.
    let ratio = |(before, after): (&f64, &f64)| {
        let raise = (least - before).max(0.0);
        ((after + raise) / (before + raise).max(f64::MIN_POSITIVE)).clamp(RATIOS[0], RATIOS[1])
    };
    before.iter().zip(&after).map(ratio).collect()
}

pub(super) fn area(points: &[DVec3], t: [u32; 3]) -> f64 {
    let [a, b, c] = t.map(|v| points[v as usize]);
    0.5 * (b - a).cross(c - a).length()
}

/// Places of the lips' contour (AnaConDaR eq. 16 and 17). As printed the equation fits the *shape* of the source's lips, and so changes the neutral; the neutral
/// contour with the mapped *change* of the source's does not.
fn lip_contour(
    source: &[DVec3],
    posed: &[DVec3],
    target: &[DVec3],
    by_transfer: &[DVec3],
    literal: bool,
) -> Vec<DVec3> {
    let lips = &Features::get().lips;
    let pick = |points: &[DVec3]| lips.iter().map(|v| points[*v as usize]).collect::<Vec<DVec3>>();
    let (rest, posed, target, wanted) = (pick(source), pick(posed), pick(target), pick(by_transfer));
    let map = fit_similarity(&posed, &wanted);
    let place = |((rest, posed), target): ((&DVec3, &DVec3), &DVec3)| match literal {
        true => map.apply(*posed),
        false => *target + map.scale * (map.rotation * (*posed - *rest)),
    };
    rest.iter().zip(&posed).zip(&target).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Vec<DVec3> {
        SharedSkin::get().template.iter().map(|p| *p / 1000.0).collect()
    }

    #[test]
    fn neutral_lips_stay_and_only_the_printed_equation_moves_them() {
        let source = template();
        let wider = |p: &DVec3| DVec3::new(1.15 * p.x, p.y + 0.02 * (40.0 * p.x).cos() * 0.1, p.z);
        let target: Vec<DVec3> = source.iter().map(wider).collect();
        let found = Characteristics::new(&source, &source, &target, &target, false);
        let lips = &Features::get().lips;
        let off = |found: &Characteristics| {
            lips.iter().zip(&found.lips).map(|(v, p)| p.distance(target[*v as usize])).fold(0.0, f64::max)
        };
        assert!(off(&found) < 1e-12);
        assert!(found.eyes.iter().chain(&found.sockets).all(|ratio| (ratio - 1.0).abs() < 1e-9));
        let literal = Characteristics::new(&source, &source, &target, &target, true);
        assert!(off(&literal) > 5e-4, "{}", off(&literal));
    }

    #[test]
    fn strips_are_mirrored_and_span_lids_and_sockets() {
        let features = Features::get();
        let points = template();
        let sum = |triangles: &[[u32; 3]]| triangles.iter().map(|t| area(&points, *t)).sum::<f64>() * 1e6;
        let (eyes, sockets) = (sum(&features.eyes) / 2.0, sum(&features.sockets) / 2.0);
        // Square millimetres of one eye: an almond, and the region around it.
        assert!((120.0..500.0).contains(&eyes), "{eyes}");
        assert!((900.0..2500.0).contains(&sockets), "{sockets}");
        let half = features.eyes.len() / 2;
        let mirror = SharedSkin::get().mirror;
        assert!(
            features.eyes[..half]
                .iter()
                .zip(&features.eyes[half..])
                .all(|(l, r)| l[0] == mirror[r[0] as usize])
        );
    }
}
