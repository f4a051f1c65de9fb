//! Tracked points of a person, carried to another head (*SparseSoftDECA*, Thesis ch. 4 §3.6–3.7).
//!
//! Points of a known set lie at the same places of every face. The motion of the head is read off the points that expressions move least; what
//! remains is the expression, which a smooth map between the two faces at rest turns and scales to the other head.

use std::str::FromStr;

use glam::{DMat3, DVec3, Vec3};
use zygoma_geometry::rbf::{RbfError, RbfWarp};
use zygoma_geometry::rigid::{RigidMotion, fit_weighted_rigid_motion};
use zygoma_geometry::similarity::{Similarity, fit_similarity};
use zygoma_head::fit::{FitError, SharedSkin};
use zygoma_rig::formats::markers::{MarkerPlace, MarkerTake};
use zygoma_rig::{Rig, RigMesh};

use super::RetargetHead;

/// Centres of the map between two faces at rest. More would follow the errors of single points, which its derivative enlarges. Ours, as those
/// below.
const CENTRES: usize = 24;
/// Points that some shape moves by this length count half for the motion of the head, and so do points that move by this length relative to it,
/// as a fraction of the height of the set.
const STEADY: f64 = 0.01;
/// Rounds in which points that move relative to the head lose their weight.
const ROUNDS: usize = 10;
/// Fewest points from which head motion and expression can be told apart.
const FEWEST: usize = 12;

/// A set of points with a place on every face, named `p0`, `p1` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointSet {
    /// About 150 points along the contours of brows, eyes, nose, lips and jaw of the built-in head.
    Template,
    /// The 68 standard landmarks \[Sagonas et al. 2013\], in their usual order.
    Standard68,
}

impl PointSet {
    /// Vertices of the shared skin, in the order of the set.
    fn vertices(self) -> &'static [u32] {
        let places = SharedSkin::get().places;
        match self {
            Self::Template => &places.contour_landmarks,
            Self::Standard68 => &places.landmarks,
        }
    }

    /// The number of its points.
    pub fn size(self) -> usize {
        self.vertices().len()
    }

    /// The points on a rig's skin, by their number in the set. Those that the rig does not have are left out.
    pub fn on_rig(self, rig: &Rig) -> Result<Vec<(usize, u32)>, FitError> {
        Ok(self.on_head(&RetargetHead::of_rig(rig)?))
    }

    pub(super) fn on_head(self, head: &RetargetHead) -> Vec<(usize, u32)> {
        let place = |(number, v): (usize, &u32)| Some((number, head.map.vertex_at(*v)?));
        self.vertices().iter().enumerate().filter_map(place).collect()
    }
}

/// The name of a point in a set.
pub fn point_name(number: usize) -> String {
    format!("p{number}")
}

/// Why tracked points cannot be carried.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// A point is not one of the set.
    #[error("there is no point '{name}' in the set; its points are p0 to p{last}")]
    Unknown {
        /// Its name.
        name: String,
        /// The last number of the set.
        last: usize,
    },
    /// A point has no position at rest.
    #[error(
        "the point '{0}' has the number of a vertex in the row rest; with a set of points this row has the tracked person's own points at rest, as positions"
    )]
    Rest(String),
    /// There are too few points.
    #[error("{0} of the points have a place on this head; at least {FEWEST} are needed")]
    Few(usize),
    /// All points lie in a plane or in one place.
    #[error("the points at rest do not look like a face: {0}")]
    Flat(#[from] RbfError),
    /// No head was found in the rig.
    #[error(transparent)]
    Head(#[from] FitError),
}

/// Points on a head, with the motion of that head.
pub struct CarriedPoints {
    /// The points, without the motion of the head.
    pub points: MarkerTake,
    /// The pose of the head at each time, in the rig's space.
    pub head: Vec<RigidMotion>,
    /// Names of points that have no place on this head.
    pub left_out: Vec<String>,
}

/// A point at rest, on the tracked person and on this head.
struct Pair {
    column: usize,
    vertex: u32,
    tracked: DVec3,
    own: DVec3,
}

/// Carries the points of a set, tracked on any person and in any unit, to a rig's skin.
pub fn carry_points(tracked: &MarkerTake, set: PointSet, rig: &Rig) -> Result<CarriedPoints, PointError> {
    let numbers = numbers_of(tracked, set)?;
    carry_numbered(tracked, &numbers, &set.on_rig(rig)?, rig.skin())
}

/// Carries points by their numbers, given their vertices on a skin.
pub(super) fn carry_numbered(
    tracked: &MarkerTake,
    numbers: &[usize],
    on_rig: &[(usize, u32)],
    skin: &RigMesh,
) -> Result<CarriedPoints, PointError> {
    let mut left_out = Vec::new();
    let mut pairs: Vec<Pair> = Vec::new();
    for (column, (number, (name, place))) in numbers.iter().zip(&tracked.markers).enumerate() {
        let MarkerPlace::At(at) = place else { return Err(PointError::Rest(name.clone())) };
        match on_rig.iter().find(|(own, _)| own == number) {
            Some((_, vertex)) => {
                let own = skin.positions[*vertex as usize].as_dvec3();
                pairs.push(Pair { column, vertex: *vertex, tracked: at.as_dvec3(), own });
            }
            None => left_out.push(name.clone()),
        }
    }
    if pairs.len() < FEWEST {
        return Err(PointError::Few(pairs.len()));
    }
    let map = PersonMap::new(&pairs, skin)?;
    let (head, positions) = tracked.positions.iter().map(|row| map.carry(&pairs, row)).unzip();
    let markers = pairs
        .iter()
        .map(|pair| (tracked.markers[pair.column].0.clone(), MarkerPlace::Vertex(pair.vertex)))
        .collect();
    let points = MarkerTake { name: tracked.name.clone(), markers, times: tracked.times.clone(), positions };
    Ok(CarriedPoints { points, head, left_out })
}

/// The value that a quarter of some values are below.
fn quartile(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 4).copied().unwrap_or(0.0)
}

/// The number of each tracked point in a set, from its name.
fn numbers_of(tracked: &MarkerTake, set: PointSet) -> Result<Vec<usize>, PointError> {
    let last = set.size() - 1;
    let number = |(name, _): &(String, MarkerPlace)| {
        let number = name.strip_prefix('p').and_then(|number| usize::from_str(number).ok());
        number
            .filter(|number| *number <= last)
            .ok_or_else(|| PointError::Unknown { name: name.clone(), last })
    };
    tracked.markers.iter().map(number).collect()
}

/// How the face of a tracked person maps to that of a rig.
struct PersonMap {
    similarity: Similarity,
    rest: Vec<DVec3>,
    /// Weight of each point for the motion of the head.
    steadiness: Vec<f64>,
    /// A small length on the tracked face, by which points may move relative to their head.
    small: f64,
    /// For each point the derivative of the map between the faces at rest (Thesis ch. 4 eq. 24).
    derivatives: Vec<DMat3>,
}

impl PersonMap {
    fn new(pairs: &[Pair], skin: &RigMesh) -> Result<Self, RbfError> {
        let rest: Vec<DVec3> = pairs.iter().map(|pair| pair.tracked).collect();
        let own: Vec<DVec3> = pairs.iter().map(|pair| pair.own).collect();
        let warp = RbfWarp::sampled(&rest, &own, CENTRES)?;
        let [low, high] = [f64::min, f64::max].map(|pick| own.iter().map(|p| p.y).fold(own[0].y, pick));
        let half = STEADY * (high - low).max(f64::MIN_POSITIVE);
        let farthest = skin.farthest_moves();
        let steadiness = |pair: &Pair| {
            let moved = f64::from(farthest[pair.vertex as usize]) / half;
            1.0 / (1.0 + moved * moved)
        };
        let similarity = fit_similarity(&rest, &own);
        Ok(Self {
            small: half / similarity.scale,
            similarity,
            derivatives: rest.iter().map(|p| warp.derivative(*p)).collect(),
            steadiness: pairs.iter().map(steadiness).collect(),
            rest,
        })
    }

    /// The pose of the head, and the points without it, at a moment.
    fn carry(&self, pairs: &[Pair], row: &[Vec3]) -> (RigidMotion, Vec<Vec3>) {
        let now: Vec<DVec3> = pairs.iter().map(|pair| row[pair.column].as_dvec3()).collect();
        let head = self.head_motion(&now);
        let back = head.to_affine().inverse();
        let place = |(i, pair): (usize, &Pair)| {
            let moved = back.transform_point3(now[i]) - self.rest[i];
            (pair.own + self.derivatives[i] * moved).as_vec3()
        };
        (self.in_rig(&head), pairs.iter().enumerate().map(place).collect())
    }

    /// The motion of the tracked head, by least squares with the weights of Geman and McClure: an expression moves some points, the head all of
    /// them.
    fn head_motion(&self, now: &[DVec3]) -> RigidMotion {
        let mut weights = self.steadiness.clone();
        let mut head = fit_weighted_rigid_motion(&self.rest, now, &weights);
        for _ in 0..ROUNDS {
            let off: Vec<f64> =
                self.rest.iter().zip(now).map(|(rest, now)| head.apply(*rest).distance(*now)).collect();
            // Below the noise of the points themselves, weights would choose at random.
            let scale = (0.5 * self.small).max(quartile(&off));
            for ((weight, steadiness), off) in weights.iter_mut().zip(&self.steadiness).zip(&off) {
                *weight = steadiness / (1.0 + (off / scale).powi(2)).powi(2);
            }
            head = fit_weighted_rigid_motion(&self.rest, now, &weights);
        }
        head
    }

    /// A motion of the tracked head as one of the rig's.
    fn in_rig(&self, head: &RigidMotion) -> RigidMotion {
        let Similarity { scale, rotation, translation } = self.similarity;
        let turned = rotation * head.rotation * rotation.inverse();
        let moved = scale * (rotation * head.translation) + translation - turned * translation;
        RigidMotion { rotation: turned, translation: moved }
    }
}
