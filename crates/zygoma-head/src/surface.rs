//! The template's triangle surface: extracted once, remeshed to a level of detail, with its curves marked.

use glam::DVec3;
use zygoma_geometry::implicit::{Lattice, zero_surface};
use zygoma_geometry::remesh::{FeatureMesh, Target};

use crate::sculpt::field::{at, ball, ramp};
use crate::sculpt::{self, ear, eyes, gradient, lips, nose, skull};

/// The mirror plane.
pub(crate) const MIDDLE: u32 = 1;
/// The open end of the neck.
pub(crate) const NECK: u32 = 2;
/// Where the lips touch.
pub(crate) const INNER_LIP: u32 = 4;
/// The border of the red of the lips.
pub(crate) const OUTER_LIP: u32 = 8;
/// Where the lids touch.
pub(crate) const LID: u32 = 16;

/// Half of the head, x ≥ 0, in millimetres, with mouth and eyes open, remeshed so that the mirrored whole has
/// about `vertices` vertices.
pub(crate) fn half_surface(fine: FeatureMesh, scale: f64) -> FeatureMesh {
    fine.remeshed(&Sculpture { scale }, 7)
}

/// The extracted half with its curves cut in.
pub(crate) fn fine_surface() -> FeatureMesh {
    const CELL: f64 = 1.1;
    let lattice = Lattice::covering(at(0.0, skull::NECK_END, -124.0), at(110.0, 325.0, 250.0), CELL);
    let (positions, triangles) = zero_surface(&lattice, sculpt::skin);
    let mut mesh = FeatureMesh { positions, triangles, features: Vec::new() };
    mesh.mark_border(MIDDLE, |p| p.x < 1e-9);
    mesh.mark_border(NECK, |p| p.y < skull::NECK_END + 1e-9);
    for curve in [INNER_LIP, OUTER_LIP, LID] {
        mesh.cut(curve, |p| curve_field(curve, p), |p| curve_region(curve, p));
        mesh.keep_longest(curve);
    }
    mesh
}

/// A field that vanishes on a curve of the surface.
fn curve_field(curve: u32, p: DVec3) -> f64 {
    match curve {
        MIDDLE => p.x,
        NECK => p.y - skull::NECK_END,
        INNER_LIP => lips::contact_field(p),
        OUTER_LIP => lips::border_field(p),
        _ => p.distance(eyes::CENTRE) - eyes::MARGIN,
    }
}

/// The part of the surface that a curve's field may cut.
fn curve_region(curve: u32, p: DVec3) -> bool {
    match curve {
        INNER_LIP => lips::contact_region(p),
        OUTER_LIP => lips::border_region(p),
        LID => p.z > eyes::CENTRE.z && p.distance(eyes::CENTRE) < eyes::MARGIN + 2.0,
        _ => true,
    }
}

struct Sculpture {
    scale: f64,
}

impl Target for Sculpture {
    fn size(&self, p: DVec3) -> f64 {
        let p = at(p.x.abs(), p.y, p.z);
        // Coarser with the distance from each feature, at a slope that keeps triangles well shaped.
        let grow = |distance: f64, at_feature: f64, slope: f64| at_feature + slope * distance.max(0.0);
        let from_margin = (p.distance(eyes::CENTRE) - eyes::MARGIN).abs();
        let (xi, angle) = eyes::lid_coordinates(p);
        let (lower, upper) = eyes::margins(xi);
        let open = (angle - upper).abs().min((angle - lower).abs()) * eyes::MARGIN;
        let behind = (eyes::CENTRE.z + 4.0 - p.z).max(0.0);
        let lid = grow((open.min(30.0) - 1.0).max(from_margin - 2.0) + behind, 1.25, 0.22);
        let mouth = {
            let x = (p.x - lips::CORNER_X).max(0.0);
            let y = (p.y - lips::line_y(p.x)).abs() - 6.0;
            let z = (lips::front_z(p.x.min(lips::CORNER_X)) - 7.0 - p.z).max(0.0);
            grow(x.hypot(y.max(0.0)).hypot(z), 1.6, 0.16)
        };
        let nose = grow(ball(p, nose::WING, 11.0), 2.0, 0.2);
        let ear = grow(ball(p, ear::CENTRE + at(6.0, 5.0, -12.0), 30.0), 2.5, 0.2);
        let general = 6.5 + 2.0 * ramp(20.0, -60.0, p.z);
        // Slits and corners need vertices at every level, or opposite sides would cut through each other.
        let slits = self.scale.powf(0.65) * lid.min(mouth);
        let [inner, outer] = eyes::corners();
        let mouth_end =
            at(lips::CORNER_X - 1.5, lips::line_y(lips::CORNER_X), lips::front_z(lips::CORNER_X) - 1.0);
        let ends = [inner, outer, mouth_end].map(|end| (p.distance(end) - 1.5).max(0.0));
        let corners = 1.0 + 0.35 * ends.into_iter().fold(f64::MAX, f64::min);
        slits.min(self.scale * nose.min(ear).min(general)).min(corners)
    }

    fn normal(&self, point: DVec3) -> DVec3 {
        sculpt::skin_gradient(point).normalize_or_zero()
    }

    fn project(&self, point: DVec3, curves: u32) -> DVec3 {
        let mut p = point;
        for _ in 0..4 {
            let mut constraints: Vec<(f64, DVec3)> = vec![(sculpt::skin(p), sculpt::skin_gradient(p))];
            for curve in [MIDDLE, NECK, INNER_LIP, OUTER_LIP, LID] {
                if curves & curve != 0 {
                    constraints.push((curve_field(curve, p), gradient(|q| curve_field(curve, q), p)));
                }
            }
            // One after the other, each within the tangent space of the previous ones.
            let mut step = DVec3::ZERO;
            let mut basis: Vec<DVec3> = Vec::new();
            for (value, slope) in constraints.iter().rev() {
                let free = basis.iter().fold(*slope, |s, b| s - *b * s.dot(*b));
                let length = free.length();
                if length > 0.05 * slope.length().max(1e-9) {
                    let unit = free / length;
                    step -= unit * ((value + slope.dot(step)) / length).clamp(-1.5, 1.5);
                    basis.push(unit);
                }
            }
            p += step;
            if step.length() < 1e-6 {
                break;
            }
        }
        if curves & MIDDLE != 0 {
            p.x = 0.0;
        }
        if curves & NECK != 0 {
            p.y = skull::NECK_END;
        }
        p
    }
}
