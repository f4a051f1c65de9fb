//! The template surface of one level: both halves, closed mouth, ordered curves and named parts.
//!
//! *Template space* is the sculpture's: millimetres, origin between the ear canals.

use glam::DVec3;
use zygoma_geometry::remesh::FeatureMesh;

use crate::sculpt::{eyes, lips};
use crate::surface::{INNER_LIP, LID, MIDDLE, NECK, OUTER_LIP};

/// The part of the skin that a vertex belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Outer skin of the head.
    Outer,
    /// The red of the upper lip, and the vertices of its contact line.
    UpperLip,
    /// The red of the lower lip.
    LowerLip,
    /// The upper half of the mouth bag, behind the contact line.
    UpperBag,
    /// The lower half of the mouth bag.
    LowerBag,
    /// Behind the lid margins of the left eye (+X).
    LeftPocket,
    /// Behind the lid margins of the right eye.
    RightPocket,
}

/// The surface of one level.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// Positions with the mouth sculpted open.
    pub(crate) open: Vec<DVec3>,
    /// Positions at rest, with the mouth closed.
    pub(crate) rest: Vec<DVec3>,
    /// Triangles, counter-clockwise from outside.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// For each vertex its mirror image.
    pub(crate) mirror: Vec<u32>,
    /// For each vertex its part.
    pub(crate) parts: Vec<Part>,
    /// Contact lines of the upper and lower lip, each from the right corner (−X) to the left one; both hold
    /// both corners.
    pub(crate) inner_lips: [Vec<u32>; 2],
    /// Borders of the red of the upper and lower lip, right to left.
    pub(crate) outer_lips: [Vec<u32>; 2],
    /// Upper and lower lid margin of the left eye, from the inner corner to the outer one.
    pub(crate) lids: [Vec<u32>; 2],
    /// The open end of the neck, in order.
    pub(crate) neck: Vec<u32>,
}

impl Base {
    /// Mirrors a half surface and reads its curves.
    pub(crate) fn from_half(half: &FeatureMesh) -> Self {
        let (open, triangles, mirror) = mirrored(half);
        let rest: Vec<DVec3> = open.iter().map(|p| lips::close(*p)).collect();
        let inner_half = chain(half, INNER_LIP, |p| (p.x < 1e-6, p.y));
        let outer_half = chain(half, OUTER_LIP, |p| (p.x < 1e-6, p.y));
        let inner_lips = both_sides(&inner_half, &open, &mirror);
        let outer_lips = both_sides(&outer_half, &open, &mirror);
        let lid_loop = chain(half, LID, |p| (true, -p.x));
        let lids = split_lids(&lid_loop, &open);
        let neck_half = chain(half, NECK, |p| (p.x < 1e-6, p.z));
        let mirrored_back = neck_half.iter().rev().map(|v| mirror[*v as usize]);
        let neck =
            neck_half.iter().copied().chain(mirrored_back.filter(|v| open[*v as usize].x < 0.0)).collect();
        let parts = parts(half, &open, &mirror);
        Self { open, rest, triangles, mirror, parts, inner_lips, outer_lips, lids, neck }
    }
}

/// Positions, triangles and mirror map of the whole head; vertices of the half come first.
fn mirrored(half: &FeatureMesh) -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<u32>) {
    let count = half.positions.len();
    let mut on_middle = vec![false; count];
    for (a, b, _) in half.features.iter().filter(|(_, _, curve)| *curve == MIDDLE) {
        on_middle[*a as usize] = true;
        on_middle[*b as usize] = true;
    }
    let mut open = half.positions.clone();
    let mut mirror: Vec<u32> = (0..count as u32).collect();
    for v in 0..count {
        if on_middle[v] {
            open[v].x = 0.0;
        } else {
            mirror[v] = open.len() as u32;
            open.push(DVec3::new(-open[v].x, open[v].y, open[v].z));
            mirror.push(v as u32);
        }
    }
    let mut triangles = half.triangles.clone();
    triangles.extend(half.triangles.iter().map(|t| [t[0], t[2], t[1]].map(|v| mirror[v as usize])));
    (open, triangles, mirror)
}

/// The vertices of a curve in order. Open curves start at the end with the largest rank, closed ones at the vertex with
/// the largest rank.
fn chain(half: &FeatureMesh, curve: u32, rank: impl Fn(DVec3) -> (bool, f64)) -> Vec<u32> {
    let mut links: Vec<Vec<u32>> = vec![Vec::new(); half.positions.len()];
    for (a, b, _) in half.features.iter().filter(|(_, _, c)| *c == curve) {
        links[*a as usize].push(*b);
        links[*b as usize].push(*a);
    }
    let on_curve = (0..links.len()).filter(|v| !links[*v].is_empty());
    let better = |a: &usize, b: &usize| {
        let (ra, rb) = (rank(half.positions[*a]), rank(half.positions[*b]));
        let ends = (links[*a].len() == 1).cmp(&(links[*b].len() == 1));
        ends.then(ra.0.cmp(&rb.0)).then(ra.1.total_cmp(&rb.1))
    };
    let Some(start) = on_curve.max_by(better) else { return Vec::new() };
    let mut order = vec![start as u32];
    let mut seen = vec![false; links.len()];
    seen[start] = true;
    while let Some(last) = order.last() {
        let Some(next) = links[*last as usize].iter().find(|v| !seen[**v as usize]) else { break };
        seen[*next as usize] = true;
        order.push(*next);
    }
    order
}

/// Splits a half contour (from the top middle around the corner to the bottom middle) at its corner, and adds the
/// mirror image: upper and lower chain from −X to +X.
fn both_sides(half: &[u32], open: &[DVec3], mirror: &[u32]) -> [Vec<u32>; 2] {
    let corner = (0..half.len())
        .max_by(|a, b| open[half[*a] as usize].x.total_cmp(&open[half[*b] as usize].x))
        .unwrap_or(0);
    let whole = |left: Vec<u32>| {
        // `left` runs from the middle to the corner.
        let right = left.iter().skip(1).rev().map(|v| mirror[*v as usize]);
        right.chain(left.iter().copied()).collect::<Vec<u32>>()
    };
    let upper = half[..=corner.min(half.len().saturating_sub(1))].to_vec();
    let lower = half[corner..].iter().rev().copied().collect();
    [whole(upper), whole(lower)]
}

/// Splits the closed lid margin, which starts at the inner corner, into the upper and the lower margin.
fn split_lids(margin: &[u32], open: &[DVec3]) -> [Vec<u32>; 2] {
    let outer = (0..margin.len())
        .max_by(|a, b| open[margin[*a] as usize].x.total_cmp(&open[margin[*b] as usize].x))
        .unwrap_or(0);
    let first = margin[..=outer].to_vec();
    let mut second: Vec<u32> = margin[outer..].to_vec();
    second.push(margin[0]);
    second.reverse();
    let height = |chain: &[u32]| chain.iter().map(|v| open[*v as usize].y).sum::<f64>() / chain.len() as f64;
    if height(&first) > height(&second) { [first, second] } else { [second, first] }
}

/// Assigns every vertex to a part, by flood fill between the curves.
fn parts(half: &FeatureMesh, open: &[DVec3], mirror: &[u32]) -> Vec<Part> {
    let count = half.positions.len();
    let mut curve = vec![0u32; count];
    for (a, b, bit) in &half.features {
        curve[*a as usize] |= bit;
        curve[*b as usize] |= bit;
    }
    let walls = INNER_LIP | OUTER_LIP | LID;
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); count];
    for t in &half.triangles {
        for i in 0..3 {
            neighbours[t[i] as usize].extend([t[(i + 1) % 3], t[(i + 2) % 3]]);
        }
    }
    let mut region = vec![0u8; count];
    let mut flood = |seed: DVec3, name: u8| {
        let free = (0..count).filter(|v| curve[*v] & walls == 0);
        let near = free.min_by(|a, b| open[*a].distance(seed).total_cmp(&open[*b].distance(seed)));
        let mut stack: Vec<usize> = near.into_iter().collect();
        while let Some(v) = stack.pop() {
            if region[v] == 0 && curve[v] & walls == 0 {
                region[v] = name;
                stack.extend(neighbours[v].iter().map(|w| *w as usize));
            }
        }
    };
    flood(DVec3::new(0.0, 120.0, 0.0), 1);
    flood(DVec3::new(0.0, -47.0, 26.0), 2);
    flood(eyes::CENTRE - DVec3::new(0.0, 0.0, eyes::POCKET), 3);
    let mut parts = vec![Part::Outer; open.len()];
    for v in 0..count {
        let below = open[v].y < lips::slit_y(open[v]);
        let lip = if below { Part::LowerLip } else { Part::UpperLip };
        let bag = if below { Part::LowerBag } else { Part::UpperBag };
        let (left, right) = match (curve[v] & walls, region[v]) {
            (0, 1) | (OUTER_LIP | LID, _) => (Part::Outer, Part::Outer),
            (0, 2) => (bag, bag),
            (0, 3) => (Part::LeftPocket, Part::RightPocket),
            _ => (lip, lip),
        };
        parts[v] = left;
        if mirror[v] as usize != v {
            parts[mirror[v] as usize] = right;
        }
    }
    parts
}
