//! The second pass over the lips: points that have passed through each other are brought to one place (Thesis ch. 3, §3.3.2).

use glam::Vec3;
use zygoma_physics::projective::{Elements, Handle, Plane, Stencil, position};

use super::build::Output;
use super::inverse::Inverse;
use super::run::AnatomicalBody;
use crate::contact::{ContactPair, LipContactDetector, LipPoint, Margins};

/// Pairs of points of the lips, each carried by up to three vertices with three carriers, of which two points use one triangle at most.
type LipPairs = Elements<f32, Plane, 18, 1, 5>;

/// Stiffness between the lips, Pa/m. Ours, as those below: a hundred times the pull of the skin.
const FIRM: f64 = 3e8;
/// Rounds of the second pass, each with the pairs of all earlier ones.
const ROUNDS: usize = 4;
/// Most pairs at once; the deepest are kept.
const MOST: usize = 300;
/// The gap that pairs are given, m: the solve leaves an error of about this.
const CLEARANCE: f32 = 5e-5;
/// Lips that would have to move farther than this to part stay as they are, m: they are beside each other rather than inside.
const FARTHEST: f32 = 6e-3;
/// Largest displacement by the last projection, m.
const LAST: f32 = 1.5e-3;
/// Rounds of the last projection, on the surface alone.
const LAST_ROUNDS: usize = 30;
/// Gap after the last projection, m: well above the rounding of positions.
const APART: f32 = 2e-6;
/// Lips that the rig itself has farther inside each other stay there, m: an expression that closes a jaw which is not open keeps its look.
const DEEPEST: f32 = 1e-2;
/// Pairs are found where they penetrate.
const TOUCHING: Margins = Margins { vertex: 0.0, edge: 0.0 };

/// Finds and resolves penetrations between the lips.
#[derive(Clone)]
pub(super) struct LipPass {
    /// A vertex of the whole mesh for each point of the lips.
    vertices: Vec<u32>,
    /// All vertices at each point.
    copies: Vec<(u32, u32)>,
    orders: Vec<LipContactDetector>,
    /// Rows that carry each point, with their weights.
    carriers: Vec<([u32; 3], [f32; 3])>,
    areas: Vec<f32>,
    pairs: Handle<LipPairs>,
    rest: Vec<Vec3>,
}

impl LipPass {
    /// Vertices of the tissue's surface that carry the lips.
    pub(super) fn candidates(output: &Output) -> Vec<u32> {
        let carriers = output.lips.vertices.iter().flat_map(|v| {
            let (corners, weights) =
                (output.embedding.vertices[*v as usize], output.embedding.weights[*v as usize]);
            (0..3).filter(move |k| weights[*k] > 0.0).map(move |k| corners[k])
        });
        let mut vertices: Vec<u32> = carriers.collect();
        vertices.sort_unstable();
        vertices.dedup();
        vertices
    }

    /// Adds an empty group for pairs; `None` if the face has no lips.
    pub(super) fn new(output: &Output, inverse: &mut Inverse) -> Option<Self> {
        let lips = &output.lips;
        if lips.triangles.iter().any(Vec::is_empty) || lips.parts.is_empty() {
            return None;
        }
        let rest: Vec<Vec3> = lips.vertices.iter().map(|v| output.neutral[*v as usize]).collect();
        let mut areas = vec![0.0; rest.len()];
        for t in lips.triangles.iter().flatten() {
            let [a, b, c] = t.map(|v| rest[v as usize]);
            t.iter().for_each(|v| areas[*v as usize] += (b - a).cross(c - a).length() / 6.0);
        }
        let carrier = |vertex: &u32| {
            let corners = output.embedding.vertices[*vertex as usize];
            (corners.map(|v| inverse.rows[v as usize]), output.embedding.weights[*vertex as usize])
        };
        let carriers = lips.vertices.iter().map(carrier).collect();
        Some(Self {
            orders: lips.parts.iter().map(|p| LipContactDetector::new(p, lips.upper, &rest)).collect(),
            pairs: inverse.system.add_transient(LipPairs::new()).ok()?,
            vertices: lips.vertices.clone(),
            copies: lips.copies.clone(),
            carriers,
            areas,
            rest,
        })
    }

    /// Removes all pairs from a simulation.
    pub(super) fn clear(&self, inverse: &mut Inverse) {
        inverse.system.group_mut(self.pairs).clear();
        let none = inverse.global.set_transient(&[]);
        debug_assert!(none.is_ok(), "no constraint leaves the matrix as it was");
    }

    /// Resolves the penetrations of a solved expression, and returns the iterations made.
    pub(super) fn run(&mut self, body: &mut AnatomicalBody) -> usize {
        let own = self.gather(&body.plain);
        self.orders.iter_mut().for_each(|order| order.follow(&own));
        let mut iterations = 0;
        let (before, unparted) = (body.inverse_mut().x.clone(), self.gather(&body.positions));
        let mut pairs: Vec<ContactPair> = Vec::new();
        for _ in 0..ROUNDS {
            let now = self.gather(&body.positions);
            let found = self.find(&now, &own);
            if found.is_empty() {
                break;
            }
            pairs.extend(found);
            pairs.sort_by(|a, b| a.gap.total_cmp(&b.gap));
            pairs.truncate(MOST);
            self.constrain(&pairs, &now, body.inverse_mut());
            iterations += body.inverse_mut().solve().iterations();
            body.output();
        }
        self.clear(body.inverse_mut());
        let way = |(a, b): (&Vec3, &Vec3)| a.distance(*b);
        let farthest = unparted.iter().zip(&self.gather(&body.positions)).map(way).fold(0.0, f32::max);
        if farthest > FARTHEST {
            body.inverse_mut().x = before;
            body.output();
        }
        self.project(&mut body.positions, &own);
        iterations
    }

    /// Forgets where the lips were, as if the face came from its rest pose.
    pub(super) fn forget(&mut self) {
        self.orders.iter_mut().for_each(|order| order.forget(&self.rest));
    }

    fn gather(&self, surface: &[Vec3]) -> Vec<Vec3> {
        self.vertices.iter().map(|v| surface[*v as usize]).collect()
    }

    /// Pairs that penetrate, unless the rig's own lips do so too deeply.
    fn find(&mut self, now: &[Vec3], own: &[Vec3]) -> Vec<ContactPair> {
        let mut found = Vec::new();
        let is_parted = |pair: &&ContactPair| {
            let at = |point: &LipPoint| point.of(|v| own[v as usize]);
            pair.gap < 0.0 && pair.axis.dot(at(&pair.upper) - at(&pair.lower)) > -DEEPEST
        };
        for order in &mut self.orders {
            order.find(now, TOUCHING);
            found.extend(order.find_crossings().iter().filter(is_parted));
        }
        found
    }

    /// Gives every pair one place along its axis.
    fn constrain(&self, pairs: &[ContactPair], now: &[Vec3], inverse: &mut Inverse) {
        let carried = |point: u32| -> Vec3 {
            let (rows, weights) = &self.carriers[point as usize];
            (0..3).map(|k| weights[k] * position(&inverse.x[rows[k] as usize]).as_vec3()).sum()
        };
        let fixed = |point: &LipPoint| point.of(|v| now[v as usize] - carried(v));
        let offsets: Vec<f32> = pairs
            .iter()
            .map(|pair| CLEARANCE - pair.axis.dot(fixed(&pair.upper) - fixed(&pair.lower)))
            .collect();
        let group = inverse.system.group_mut(self.pairs);
        group.clear();
        for (pair, offset) in pairs.iter().zip(offsets) {
            let area = pair.upper.of(|v| self.areas[v as usize]).max(1e-8);
            let plane = Plane {
                weight: FIRM * f64::from(area),
                normal: pair.axis.to_array().map(f64::from),
                offset: offset.into(),
            };
            group.push(&self.stencil(pair), plane);
        }
        let rows = inverse.system.transient_rows();
        // Pairs that nothing could move apart are left to the last projection.
        if inverse.global.set_transient(&rows).is_err() {
            self.clear(inverse);
        }
    }

    /// The vector from the lower to the upper point, as far as the tissue carries it.
    fn stencil(&self, pair: &ContactPair) -> Stencil<18, 1> {
        let mut stencil = Stencil { vertices: [0; 18], coefficients: [[0.0; 18]], size: 1.0 };
        let mut place = 0;
        for (point, sign) in [(&pair.upper, 1.0), (&pair.lower, -1.0)] {
            for k in 0..3 {
                let (rows, weights) = &self.carriers[point.vertices[k] as usize];
                for j in 0..3 {
                    stencil.vertices[place] = rows[j];
                    stencil.coefficients[0][place] = sign * f64::from(point.weights[k] * weights[j]);
                    place += 1;
                }
            }
        }
        stencil
    }

    /// Moves points of the surface that still penetrate to one place.
    fn project(&mut self, surface: &mut [Vec3], own: &[Vec3]) {
        let mut now = self.gather(surface);
        let before = now.clone();
        for _ in 0..LAST_ROUNDS {
            let found = self.find(&now, own);
            if found.is_empty() {
                break;
            }
            for pair in &found {
                let half = 0.5 * (APART - pair.gap) * pair.axis;
                for (point, way) in [(&pair.upper, half), (&pair.lower, -half)] {
                    let square: f32 = point.weights.iter().map(|w| w * w).sum();
                    for k in 0..3 {
                        now[point.vertices[k] as usize] += point.weights[k] / square.max(1e-6) * way;
                    }
                }
            }
        }
        for (vertex, point) in &self.copies {
            let way = now[*point as usize] - before[*point as usize];
            surface[*vertex as usize] += way.clamp_length_max(LAST);
        }
    }
}
