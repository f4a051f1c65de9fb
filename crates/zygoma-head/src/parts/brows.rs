//! Brows: single hairs that are rooted in the skin and follow it.

use glam::{DMat3, DVec2, DVec3};

use super::Part;
use super::strands::{Sides, Station, Strands};
use crate::Level;
use crate::dice::Dice;
use crate::sculpt::field::{at, ramp};
use crate::template::Template;
use crate::uv::HAIR;

/// Hairs of one brow.
const COUNT: usize = 220;
/// Depth of the roots below the skin, mm.
const SUNK: f64 = 0.15;
/// Vertices of a hair: three rings and the tip.
const PER_HAIR: usize = 10;
/// Landmarks of the left brow, from the inside out.
const LANDMARKS: std::ops::Range<usize> = 22..27;

/// Brows of the left and the right side.
pub(super) fn pair() -> [Part; 2] {
    let left = left();
    let right = left.mirrored("brows_right");
    [left, right]
}

/// The middle line of the left brow in the front view: a parabola through the landmarks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BrowLine {
    from: f64,
    to: f64,
    /// Height at the middle, slope and bend there.
    curve: [f64; 3],
}

impl BrowLine {
    /// The line of the template's landmarks.
    pub(crate) fn new(template: &Template) -> Self {
        let points: Vec<DVec2> = template.places.landmarks[LANDMARKS]
            .iter()
            .map(|v| template.base.rest[*v as usize].truncate())
            .collect();
        let (first, last) = (points[0].x, points[points.len() - 1].x);
        let middle = 0.5 * (first + last);
        // Least squares: landmarks are vertices, which lie a little beside the line.
        let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
        for p in &points {
            let x = p.x - middle;
            let row = at(1.0, x, x * x);
            normal += DMat3::from_cols(row * row.x, row * row.y, row * row.z);
            right += p.y * row;
        }
        let curve = (normal.inverse() * right).to_array();
        Self { from: first - 1.0, to: last + 3.0, curve }
    }

    /// The point at a fraction of the brow's length.
    pub(crate) fn point(&self, along: f64) -> DVec2 {
        let x = self.from + along * (self.to - self.from);
        let u = x - 0.5 * (self.from + self.to - 2.0);
        DVec2::new(x, self.curve[0] + u * (self.curve[1] + 0.85 * u * self.curve[2]))
    }

    /// The share of the length at `x`.
    pub(crate) fn along(&self, x: f64) -> f64 {
        (x - self.from) / (self.to - self.from)
    }

    /// Half of the brow's height.
    pub(crate) fn half(along: f64) -> f64 {
        2.7 * ramp(1.10, 0.30, along) * (0.62 + 0.38 * ramp(0.0, 0.18, along)) + 0.3
    }

    /// Direction in which hairs grow, `across` from −1 at the lower to 1 at the upper border: up at the inner end, then outwards;
    /// the upper and the lower hairs meet in a ridge.
    fn growth(&self, along: f64, across: f64) -> DVec2 {
        let tangent = (self.point(along + 0.01) - self.point(along - 0.01)).normalize();
        let upright = 0.85 * ramp(0.22, 0.0, along);
        let rising = 0.62 * ramp(0.95, 0.1, along) * ramp(0.9, -0.6, across);
        let falling = -0.42 * ramp(0.12, 0.4, along) * ramp(0.0, 1.0, across);
        DVec2::from_angle(upright + rising * (1.0 - 0.5 * upright) + falling).rotate(tangent)
    }
}

/// A point of the skin with its triangle.
struct Foot {
    triangle: usize,
    barycentric: DVec3,
    point: DVec3,
    normal: DVec3,
}

/// The skin around the left brow, seen from the front.
struct Ground<'a> {
    template: &'a Template,
    triangles: Vec<usize>,
}

impl<'a> Ground<'a> {
    fn new(template: &'a Template, line: &BrowLine) -> Self {
        let rest = &template.base.rest;
        let middle = line.point(0.5);
        let near = |t: &[u32; 3]| {
            let p = t.map(|v| rest[v as usize]);
            (p[1] - p[0]).cross(p[2] - p[0]).z > 0.0
                && p[0].truncate().distance(middle) < 45.0
                && p[0].z > 0.0
        };
        let triangles = &template.base.triangles;
        Self { template, triangles: (0..triangles.len()).filter(|i| near(&triangles[*i])).collect() }
    }

    /// The foremost point of the skin at a place of the front view.
    fn foot(&self, place: DVec2) -> Option<Foot> {
        let base = &self.template.base;
        let hit = |index: &usize| {
            let [a, b, c] = base.triangles[*index].map(|v| base.rest[v as usize]);
            let (ab, ac, ap) = ((b - a).truncate(), (c - a).truncate(), place - a.truncate());
            let area = ab.perp_dot(ac);
            let (v, w) = (ap.perp_dot(ac) / area, ab.perp_dot(ap) / area);
            let inside = v >= -1e-9 && w >= -1e-9 && v + w <= 1.0 + 1e-9;
            inside.then(|| Foot {
                triangle: *index,
                barycentric: at(1.0 - v - w, v, w),
                point: (1.0 - v - w) * a + v * b + w * c,
                normal: (b - a).cross(c - a).normalize_or_zero(),
            })
        };
        self.triangles.iter().filter_map(hit).max_by(|a, b| a.point.z.total_cmp(&b.point.z))
    }
}

fn left() -> Part {
    let template = Template::of(Level::High);
    let line = BrowLine::new(template);
    let ground = Ground::new(template, &line);
    let mut dice = Dice::new(0xB0);
    let mut hairs = Strands::default();
    let mut roots = Vec::new();
    for i in 0..COUNT {
        // Denser at the inner end, sparse at the tail.
        let even = (i as f64 + dice.unit()) / COUNT as f64;
        let along = even.powf(1.12);
        let across = dice.between(-1.0, 1.0);
        if let Some((stations, root)) = hair(&ground, &line, along, across, &mut dice) {
            let tone = dice.between(0.05, 0.90);
            hairs.push(&stations, Sides::All, HAIR, (tone, tone + 0.03), (0.45, 0.9));
            roots.push(root);
        }
    }
    let shapes = following_skin(template, &hairs.positions, &roots);
    let uvs = hairs.uvs();
    Part { name: "brows_left", positions: hairs.positions, triangles: hairs.triangles, uvs, shapes }
}

/// One hair: it leaves the skin at a low angle and lies over it.
fn hair(
    ground: &Ground<'_>,
    line: &BrowLine,
    along: f64,
    across: f64,
    dice: &mut Dice,
) -> Option<([Station; 4], Foot)> {
    let centre = line.point(along);
    let slope = (line.point(along + 0.01) - line.point(along - 0.01)).normalize().perp();
    let place = centre + across * BrowLine::half(along) * slope;
    // Less orderly at the inner end.
    let disorder = 0.16 + 0.22 * ramp(0.3, 0.0, along);
    let turned = DVec2::from_angle(dice.between(-disorder, disorder));
    let growth = turned.rotate(line.growth(along, across));
    // Bends towards the brow's line.
    let bend = -0.35 * across * growth.perp().dot(slope).signum();
    let length =
        (5.2 + 3.6 * ramp(0.0, 0.25, along) - 3.2 * ramp(0.55, 1.0, along)) * dice.between(0.75, 1.15);
    let thick = dice.between(0.105, 0.15)
        * (1.0 - 0.25 * ramp(0.6, 1.0, along))
        * (0.75 + 0.25 * ramp(0.0, 0.2, along));
    let root = ground.foot(place)?;
    // Seen from the front, hairs on the temple are foreshortened.
    let length = length * root.normal.z.max(0.4);
    let mut stations = [Station { point: root.point, out: root.normal, half: thick, rise: thick }; 4];
    for (i, station) in stations.iter_mut().enumerate() {
        let share = i as f64 / 3.0;
        let arc = growth + bend * share * growth.perp();
        let foot = ground.foot(place + length * share * arc)?;
        let lift = -SUNK + 1.15 * (share * (1.7 - share));
        station.point = foot.point + lift * foot.normal;
        station.out = foot.normal;
        station.half = thick * [1.0, 1.1, 0.75, 0.0][i];
        station.rise = 1.3 * station.half;
    }
    Some((stations, root))
}

/// The shapes of hairs that move and turn with the skin at their roots.
fn following_skin(template: &Template, positions: &[DVec3], roots: &[Foot]) -> Vec<(String, Vec<DVec3>)> {
    let base = &template.base;
    let mut shapes = Vec::new();
    for shape in &template.shapes {
        let mut offsets = vec![DVec3::ZERO; positions.len()];
        for (root, (hair, moved)) in
            roots.iter().zip(positions.chunks(PER_HAIR).zip(offsets.chunks_mut(PER_HAIR)))
        {
            let corners = base.triangles[root.triangle];
            let by = corners.map(|v| shape.offsets[v as usize]);
            if by.iter().all(|offset| *offset == DVec3::ZERO) {
                continue;
            }
            let rest = corners.map(|v| base.rest[v as usize]);
            let posed: [DVec3; 3] = std::array::from_fn(|i| rest[i] + by[i]);
            let turn = frame(posed) * frame(rest).transpose();
            let shift = root.barycentric.x * by[0] + root.barycentric.y * by[1] + root.barycentric.z * by[2];
            for (p, offset) in hair.iter().zip(moved) {
                *offset = shift + turn * (*p - root.point) - (*p - root.point);
            }
        }
        if offsets.iter().any(|offset| *offset != DVec3::ZERO) {
            shapes.push((shape.name.clone(), offsets));
        }
    }
    shapes
}

/// A triangle's orthonormal frame.
fn frame([a, b, c]: [DVec3; 3]) -> DMat3 {
    let along = (b - a).normalize_or_zero();
    let normal = (b - a).cross(c - a).normalize_or_zero();
    DMat3::from_cols(along, normal.cross(along), normal)
}
