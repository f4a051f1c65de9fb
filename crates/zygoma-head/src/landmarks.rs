//! Named places of the skin: the 68 standard landmarks, a denser set of contours, lip and lid contours, regions.

use glam::DVec3;

use crate::base::{Base, Part};
use crate::sculpt::field::at;
use crate::sculpt::{ear, eyes, lips, nose};
use crate::template::Template;

/// The contours of the lips; every chain runs from the right corner (−X) to the left one and holds both corners.
#[derive(Clone, Debug, Default)]
pub struct LipContours {
    /// Where the upper lip touches the lower one.
    pub inner_upper: Vec<u32>,
    /// Where the lower lip touches the upper one.
    pub inner_lower: Vec<u32>,
    /// Upper border of the red.
    pub outer_upper: Vec<u32>,
    /// Lower border of the red.
    pub outer_lower: Vec<u32>,
    /// For each vertex of `inner_upper` the vertex of `inner_lower` that it meets.
    pub pairs: Vec<(u32, u32)>,
}

/// The margins of one eye's lids, from the inner corner to the outer one; both hold both corners.
#[derive(Clone, Debug, Default)]
pub struct LidContours {
    /// Margin of the upper lid.
    pub upper: Vec<u32>,
    /// Margin of the lower lid.
    pub lower: Vec<u32>,
}

/// A named set of skin vertices, increasing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkinRegion {
    /// Its name, such as "cheek_L".
    pub name: String,
    /// Its vertices.
    pub vertices: Vec<u32>,
}

/// Everything that has a name on the skin, as vertex indices.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The 68 standard landmarks in their usual order (from the character's right ear along the jaw, brows, nose, eyes,
    /// mouth).
    pub landmarks: Vec<u32>,
    /// About 150 landmarks along the contours of brows, eyes, nose, lips and jaw.
    pub contour_landmarks: Vec<u32>,
    /// Lip contours.
    pub lips: LipContours,
    /// Lid margins of the left eye (+X) and the right eye.
    pub lids: [LidContours; 2],
    /// The open end of the neck, in order.
    pub neck: Vec<u32>,
    /// Named regions; they may overlap.
    pub regions: Vec<SkinRegion>,
}

impl Places {
    /// Finds all places of a level.
    pub(crate) fn new(template: &Template) -> Self {
        let base = &template.base;
        let mirrored = |chain: &[u32]| chain.iter().map(|v| base.mirror[*v as usize]).collect::<Vec<u32>>();
        let [upper, lower] = base.lids.clone();
        let right = LidContours { upper: mirrored(&upper), lower: mirrored(&lower) };
        Self {
            landmarks: standard(base),
            contour_landmarks: contours(base),
            lips: lip_contours(base),
            lids: [LidContours { upper, lower }, right],
            neck: base.neck.clone(),
            regions: regions(template),
        }
    }
}

fn lip_contours(base: &Base) -> LipContours {
    let [inner_upper, inner_lower] = base.inner_lips.clone();
    let [outer_upper, outer_lower] = base.outer_lips.clone();
    let x = |v: u32| base.rest[v as usize].x;
    let meets = |v: &u32| {
        let near =
            inner_lower.iter().min_by(|a, b| (x(**a) - x(*v)).abs().total_cmp(&(x(**b) - x(*v)).abs()));
        (*v, near.copied().unwrap_or(*v))
    };
    LipContours {
        pairs: inner_upper.iter().map(meets).collect(),
        inner_upper,
        inner_lower,
        outer_upper,
        outer_lower,
    }
}

/// The outer vertex nearest to a point, in the front view when `frontal`.
fn nearest(base: &Base, target: DVec3, frontal: bool) -> u32 {
    let distance = |v: usize| {
        let p = base.rest[v];
        if frontal {
            (p - target).truncate().length() + if p.z < 40.0 { 1e3 } else { 0.0 }
        } else {
            p.distance(target)
        }
    };
    let outer = (0..base.rest.len()).filter(|v| base.parts[*v] == Part::Outer && base.rest[*v].x >= 0.0);
    outer.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0) as u32
}

/// `count` vertices spread evenly by length over a chain, both ends included.
fn spread(base: &Base, chain: &[u32], count: usize) -> Vec<u32> {
    let mut lengths = vec![0.0];
    for pair in chain.windows(2) {
        let step = base.rest[pair[0] as usize].distance(base.rest[pair[1] as usize]);
        lengths.push(lengths[lengths.len() - 1] + step);
    }
    let whole = lengths[lengths.len() - 1];
    let at_share = |i: usize| {
        let wanted = whole * i as f64 / (count - 1) as f64;
        let near = (0..chain.len())
            .min_by(|a, b| (lengths[*a] - wanted).abs().total_cmp(&(lengths[*b] - wanted).abs()));
        chain[near.unwrap_or(0)]
    };
    (0..count).map(at_share).collect()
}

/// The left half of the jaw line from below the ear to beside the chin.
const JAW: [DVec3; 8] = [
    at(70.0, 0.0, 10.0),
    at(66.0, -19.0, 12.0),
    at(60.0, -39.0, 14.0),
    at(53.0, -56.0, 20.0),
    at(44.0, -67.0, 34.0),
    at(34.0, -77.0, 50.0),
    at(23.0, -85.0, 67.0),
    at(12.0, -90.0, 84.0),
];
/// Gnathion, between the chin's foremost and its lowest point: where its profile faces down as much as forward.
const CHIN: DVec3 = at(0.0, -86.5, 97.8);
/// The left brow from the inside out.
const BROW: [DVec3; 5] =
    [at(9.0, 34.0, 0.0), at(18.0, 36.8, 0.0), at(28.0, 38.6, 0.0), at(38.0, 38.0, 0.0), at(46.0, 34.5, 0.0)];
const BRIDGE: [DVec3; 4] = [at(0.0, 27.0, 0.0), at(0.0, 14.0, 0.0), at(0.0, 1.0, 0.0), at(0.0, -13.0, 0.0)];
/// Below the nose: the middle, then outwards on the left.
const NOSE_BASE: [DVec3; 3] = [at(0.0, -24.0, 105.0), at(5.0, -23.5, 107.0), at(13.5, -21.0, 102.0)];

/// The left half of the face's outline as a photograph from half a metre shows it, relative to the chin: from the height of the nose's root in
/// front of the ear down to beside the chin, evenly spaced. That is what the usual 68 landmarks mark; it runs in front of the jaw's border.
const OUTLINE: [DVec3; 8] = [
    at(68.0, 107.5, -76.8),
    at(72.5, 87.0, -73.8),
    at(69.0, 69.5, -61.8),
    at(61.5, 50.5, -59.8),
    at(54.5, 31.0, -51.8),
    at(44.0, 14.5, -37.8),
    at(29.5, 6.0, -22.5),
    at(16.5, 3.5, -3.5),
];
/// The crease between nose and upper lip: the middle, then outwards on the left, below nostril and wing.
const CREASE: [DVec3; 3] = [at(0.0, -27.5, 105.1), at(7.0, -27.5, 104.5), at(14.5, -26.2, 101.4)];

/// The ridge of the nose from its root, at the height of the upper lid's margin, to its tip.
fn ridge(base: &Base) -> [u32; 4] {
    let [upper, _] = &base.lids;
    let root = upper.iter().map(|v| base.rest[*v as usize].y).fold(f64::MIN, f64::max);
    let tip = BRIDGE[3].y;
    [0, 1, 2, 3].map(|i| nearest(base, at(0.0, root + (tip - root) * f64::from(i) / 3.0, 0.0), true))
}

/// Seven vertices along the upper border of the red: corners, both peaks and the dip between them, and the middles between corner and peak.
fn upper_border(base: &Base) -> Vec<u32> {
    let chain = &base.outer_lips[0];
    let is_left = |v: &&u32| base.rest[**v as usize].x > 0.0;
    let peak = chain
        .iter()
        .filter(is_left)
        .max_by(|a, b| base.rest[**a as usize].y.total_cmp(&base.rest[**b as usize].y));
    let Some(peak) = peak.and_then(|peak| chain.iter().position(|v| v == peak)) else {
        return spread(base, chain, 7);
    };
    let left = spread(base, &chain[peak..], 3);
    let middle = nearest_of(base, chain, 0.0);
    let right = left.iter().rev().map(|v| base.mirror[*v as usize]);
    right.chain([middle]).chain(left.iter().copied()).collect()
}

/// The vertex of a chain that is nearest to a place between left and right.
fn nearest_of(base: &Base, chain: &[u32], x: f64) -> u32 {
    let distance = |v: u32| (base.rest[v as usize].x - x).abs();
    chain.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0)
}

/// The 68 landmarks as the 300-W data set defines them \[Sagonas et al. 2013\].
fn standard(base: &Base) -> Vec<u32> {
    let other = |v: u32| base.mirror[v as usize];
    let outline = OUTLINE.map(|p| nearest(base, CHIN + p, false));
    let brow = BROW.map(|p| nearest(base, p, true));
    let under = CREASE.map(|p| nearest(base, p, false));
    let [upper, lower] = base.lids.each_ref().map(|chain| spread(base, chain, 4));
    let mut all: Vec<u32> = outline.iter().map(|v| other(*v)).collect();
    all.push(nearest(base, CHIN, false));
    all.extend(outline.iter().rev());
    all.extend(brow.iter().rev().map(|v| other(*v)));
    all.extend(brow);
    all.extend(ridge(base));
    all.extend([other(under[2]), other(under[1]), under[0], under[1], under[2]]);
    // Each eye goes around from its own right end: outer corner first on the right eye, inner first on the left.
    all.extend([upper[3], upper[2], upper[1], upper[0], lower[1], lower[2]].map(other));
    all.extend([upper[0], upper[1], upper[2], upper[3], lower[2], lower[1]]);
    all.extend(upper_border(base));
    all.extend(spread(base, &base.outer_lips[1], 7)[1..6].iter().rev());
    let inner = base.inner_lips.each_ref().map(|chain| spread(base, chain, 5));
    all.extend(&inner[0]);
    all.extend(inner[1][1..4].iter().rev());
    all
}

fn contours(base: &Base) -> Vec<u32> {
    let other = |v: &u32| base.mirror[*v as usize];
    let mut left: Vec<u32> = JAW.map(|p| nearest(base, p, false)).to_vec();
    for brow in BROW {
        left.extend([1.8, -1.8].map(|rise| nearest(base, brow + at(0.0, rise, 0.0), true)));
    }
    left.extend(NOSE_BASE[1..].iter().map(|p| nearest(base, *p, false)));
    left.push(nearest(base, nose::WING + at(9.0, 0.0, -4.0), false));
    for (chain, count) in base.lids.iter().zip([13, 11]) {
        left.extend(spread(base, chain, count));
    }
    let mut all: Vec<u32> = left.iter().copied().chain(left.iter().map(other)).collect();
    all.push(nearest(base, CHIN, false));
    all.push(nearest(base, NOSE_BASE[0], false));
    all.extend(BRIDGE.map(|p| nearest(base, p, true)));
    for chain in base.inner_lips.iter().chain(&base.outer_lips) {
        all.extend(spread(base, chain, 19));
    }
    all.sort_unstable();
    all.dedup();
    all
}

type Rule = fn(DVec3) -> bool;

/// Regions of the left side, by rules on template positions; the right side is their mirror image.
const LEFT_REGIONS: [(&str, Rule); 5] = [
    ("cheek", |p| p.x > 22.0 && p.y < -2.0 && p.y > -62.0 && p.z > 32.0 && p.x < 62.0),
    ("brow", |p| p.x > 5.0 && p.x < 52.0 && p.y > 31.0 && p.y < 50.0 && p.z > 50.0),
    ("eyelids", |p| p.distance(eyes::CENTRE) < eyes::MARGIN + 5.0 && p.z > eyes::CENTRE.z - 4.0),
    ("ear", |p| ear::is_ear(p)),
    ("jaw", |p| p.x > 16.0 && p.y < -52.0 && p.y > -98.0 && p.z > -2.0),
];

/// Regions that are symmetric.
const MIDDLE_REGIONS: [(&str, Rule); 6] = [
    ("forehead", |p| p.y > 46.0 && p.y < 96.0 && p.z > 40.0),
    ("scalp", |p| p.y > 96.0 || (p.y > -10.0 && p.z < -10.0 && !ear::is_ear(p))),
    ("nose", |p| p.x < 20.0 - 0.12 * (p.y + 20.0).max(0.0) && p.y > -27.0 && p.y < 28.0 && p.z > 86.0),
    ("nose_cartilage", |p| p.x < 19.0 && p.y > -27.0 && p.y < 2.0 && p.z > 92.0),
    ("chin", |p| p.x <= 22.0 && p.y < -64.0 && p.y > -102.0 && p.z > 62.0),
    ("neck", |p| p.y < -100.0 || (p.y < -60.0 && p.z < 0.0)),
];

fn regions(template: &Template) -> Vec<SkinRegion> {
    let base = &template.base;
    let side = |p: DVec3| at(p.x.abs(), p.y, p.z);
    let outer = |v: usize| base.parts[v] == Part::Outer;
    let collect = |name: String, wanted: &dyn Fn(usize) -> bool| SkinRegion {
        name,
        vertices: (0..base.rest.len()).filter(|v| wanted(*v)).map(|v| v as u32).collect(),
    };
    let mut regions = Vec::new();
    for (name, rule) in LEFT_REGIONS {
        for (suffix, sign) in [("L", 1.0), ("R", -1.0)] {
            regions.push(collect(format!("{name}_{suffix}"), &|v| {
                outer(v) && sign * base.rest[v].x > 0.0 && rule(side(base.rest[v]))
            }));
        }
    }
    for (name, rule) in MIDDLE_REGIONS {
        regions.push(collect(name.to_owned(), &|v| outer(v) && rule(side(base.rest[v]))));
    }
    let part = |wanted: &'static [Part]| move |v: usize| wanted.contains(&base.parts[v]);
    regions.push(collect("lip_upper".into(), &part(&[Part::UpperLip])));
    regions.push(collect("lip_lower".into(), &part(&[Part::LowerLip])));
    regions.push(collect("mouth_bag".into(), &part(&[Part::UpperBag, Part::LowerBag])));
    regions.push(collect("eye_pocket_L".into(), &part(&[Part::LeftPocket])));
    regions.push(collect("eye_pocket_R".into(), &part(&[Part::RightPocket])));
    // Skin so close to bone that it moves with it.
    let still = |v: usize| template.shapes.iter().all(|shape| shape.offsets[v].length() < 0.2);
    regions.push(collect("cranium_rigid".into(), &|v| outer(v) && base.rest[v].y > -20.0 && still(v)));
    regions.push(collect("jaw_rigid".into(), &|v| {
        outer(v) && template.jaw[v] > 0.97 && base.rest[v].y < lips::line_y(0.0) - 22.0
    }));
    regions
}
