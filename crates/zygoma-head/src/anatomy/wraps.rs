//! The three wraps: closed surfaces of one triangulation around skin, muscles and skull (the layered head model of
//! SoftDECA §3.1), shrunk so that the prisms between them are never inverted.

use glam::DVec3;
use zygoma_geometry::remesh::FeatureMesh;
use zygoma_geometry::tets::volume;

use super::depths::depth;
use super::flesh::{filled_face, filled_head};
use super::halves::Halves;
use super::meshing::{Solid, around, half_surface};
use super::prisms::split_positions;
use crate::sculpt::field::{at, ball, bell, common, ellipsoid, rod};
use crate::sculpt::{eyes, lips, nose, skull};

/// The skin wrap lies this far outside the skin.
const SKIN_OFFSET: f64 = 1.0;
/// The skull wrap stays this far away from the bones.
const SKULL_OFFSET: f64 = 1.2;
/// Where the neck is closed.
const NECK_CAP: f64 = skull::NECK_END - 6.0;
/// Step of the skull wrap in one sweep.
const STEP: f64 = 0.35;
const SWEEPS: usize = 110;
/// A tetrahedron must keep this share of its volume in a regular prism.
const LEAST_SHARE: f64 = 0.04;

/// Half of the three wraps, x ≥ 0.
pub(super) struct HalfWraps {
    /// Triangles of the half.
    pub(super) triangles: Vec<[u32; 3]>,
    /// Skin, muscle and skull wrap.
    pub(super) layers: [Vec<DVec3>; 3],
}

/// Signed distance to the skin wrap.
fn skin_wrap(p: DVec3) -> f64 {
    common(filled_head(p) - SKIN_OFFSET, NECK_CAP - p.y, 10.0)
}

fn edge_length(p: DVec3) -> f64 {
    let grow = |distance: f64, at_feature: f64| at_feature + 0.2 * distance.max(0.0);
    let eye = grow(ball(p, eyes::CENTRE + at(0.0, 0.0, 8.0), 16.0), 3.0);
    let mouth = grow(ball(p, at(0.0, lips::line_y(0.0), 92.0), 24.0), 2.9);
    let nose = grow(ball(p, nose::WING, 14.0), 2.7);
    let ear = grow(ball(p, at(70.0, 6.0, -17.0), 30.0), 4.6);
    eye.min(mouth).min(nose).min(ear).min(6.8)
}

/// Signed distance to regions besides bone that the skull wrap may not enter: eyes, nose, the mouth with its teeth, and a core of the neck.
fn stops(p: DVec3) -> f64 {
    let eye = p.distance(eyes::CENTRE) - eyes::RADIUS + 1.0;
    let mouth = ellipsoid(p, at(0.0, -47.0, 63.0), at(25.0, 22.0, 32.0));
    let nasal = ellipsoid(p, at(0.0, -8.0, 78.0), at(14.0, 17.0, 18.0));
    let neck = rod(p, (at(0.0, -40.0, -24.0), 20.0), (at(0.0, NECK_CAP + 30.0, -34.0), 20.0));
    eye.min(mouth).min(nasal).min(neck)
}

/// Relative position of the muscle wrap between the skin wrap and the skull wrap: fat is thickest in the cheeks.
fn muscle_share(p: DVec3) -> f64 {
    0.40 + 0.15 * bell(p.distance(at(46.0, -36.0, 62.0)), 30.0)
}

/// A value that changes with any of the fields that wraps are made from, besides the bones.
pub(super) fn fields(p: DVec3) -> f64 {
    skin_wrap(p) + edge_length(p) + stops(p) + muscle_share(p)
}

/// Meshes the skin wrap and shrinks the others from it. `bones` is the signed distance to the bones.
pub(super) fn shrink(bones: impl Fn(DVec3) -> f64) -> HalfWraps {
    let solid = Solid { field: skin_wrap, size: edge_length };
    let FeatureMesh { positions: skin, triangles, .. } = half_surface(&solid, 2.2, 7);
    let mut wrap = Shrinking::new(skin, &triangles);
    for sweep in 0..SWEEPS {
        wrap.sweep(&bones, sweep < SWEEPS - 20);
    }
    let muscle = wrap.layer(|v| wrap.share[v]);
    let skull = wrap.layer(|_| 1.0);
    HalfWraps { triangles, layers: [wrap.skin.clone(), muscle, skull] }
}

struct Shrinking {
    skin: Vec<DVec3>,
    /// From the skin wrap to the skull wrap.
    offsets: Vec<DVec3>,
    /// Relative position of the muscle wrap along the offset.
    share: Vec<f64>,
    /// Longest allowed offset.
    limits: Vec<f64>,
    triangles: Vec<[u32; 3]>,
    around: Vec<Vec<u32>>,
    neighbours: Vec<Vec<u32>>,
}

impl Shrinking {
    /// Starts with thin prisms along the normals. Triangles on the mirror plane's side see their mirror image.
    fn new(skin: Vec<DVec3>, triangles: &[[u32; 3]]) -> Self {
        let halves = Halves::of(&skin);
        let whole = halves.positions(&skin);
        let all = halves.triangles(triangles);
        let mut normals = vec![DVec3::ZERO; whole.len()];
        for t in &all {
            let [a, b, c] = t.map(|v| whole[v as usize]);
            for v in t {
                normals[*v as usize] += (b - a).cross(c - a);
            }
        }
        let count = skin.len();
        let offsets: Vec<DVec3> =
            normals[..count].iter().map(|n| -2.0 * STEP * n.normalize_or_zero()).collect();
        let (around, neighbours) = around(triangles, count);
        let share = skin.iter().map(|p| muscle_share(*p)).collect();
        // The ear stands off the head by its own thickness.
        let limits = skin
            .iter()
            .map(|p| 1.1 * depth(*p) + 2.0 + 1.5 * (filled_face(*p) - SKIN_OFFSET).max(0.0))
            .collect();
        Self { skin, offsets, share, limits, triangles: triangles.to_vec(), around, neighbours }
    }

    fn layer(&self, share: impl Fn(usize) -> f64) -> Vec<DVec3> {
        (0..self.skin.len()).map(|v| self.skin[v] + share(v) * self.offsets[v]).collect()
    }

    /// One pass over all vertices: smooth, then advance as far as bones and prisms allow.
    fn sweep(&mut self, bones: &impl Fn(DVec3) -> f64, advance: bool) {
        for v in 0..self.skin.len() {
            let old = self.offsets[v];
            let mean = self.mean_offset(v);
            let smooth = old.lerp(mean, 0.5);
            let longer = if advance { (smooth.length() + STEP).min(self.limits[v]) } else { smooth.length() };
            let wanted = smooth.normalize_or_zero() * longer;
            let skin = self.skin[v];
            let free = |offset: DVec3| {
                let p = skin + offset;
                bones(p).min(stops(p)) > SKULL_OFFSET
            };
            let stays = smooth.normalize_or_zero() * smooth.length().min(old.length());
            for candidate in [wanted, stays, old.lerp(stays, 0.3)] {
                if free(candidate) && self.try_offset(v, candidate) {
                    break;
                }
            }
        }
    }

    fn mean_offset(&self, v: usize) -> DVec3 {
        let list = &self.neighbours[v];
        let mut mean =
            list.iter().map(|w| self.offsets[*w as usize]).sum::<DVec3>() / list.len().max(1) as f64;
        if self.skin[v].x == 0.0 {
            mean.x = 0.0;
        }
        mean
    }

    /// Applies an offset if all prisms around the vertex stay valid with it.
    fn try_offset(&mut self, v: usize, offset: DVec3) -> bool {
        let old = std::mem::replace(&mut self.offsets[v], offset);
        let valid = self.around[v].iter().all(|t| self.is_valid(*t));
        if !valid {
            self.offsets[v] = old;
        }
        valid
    }

    fn is_valid(&self, triangle: u32) -> bool {
        let t = self.triangles[triangle as usize];
        let layer = |share: [f64; 3]| {
            let mut i = 0;
            t.map(|v| {
                i += 1;
                self.skin[v as usize] + share[i - 1] * self.offsets[v as usize]
            })
        };
        let shares = t.map(|v| self.share[v as usize]);
        let (skin, muscle, skull) = (layer([0.0; 3]), layer(shares), layer([1.0; 3]));
        let area = 0.5 * (skin[1] - skin[0]).cross(skin[2] - skin[0]).length();
        let enough = |outer: [DVec3; 3], inner: [DVec3; 3]| {
            let height = (0..3).map(|i| outer[i].distance(inner[i])).sum::<f64>() / 3.0;
            let least = LEAST_SHARE * area * height / 3.0;
            split_positions(t, outer, inner).into_iter().all(|tet| volume(tet) > least)
        };
        enough(skin, muscle) && enough(muscle, skull)
    }
}
