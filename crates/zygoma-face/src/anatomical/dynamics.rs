//! Second-order motion: expressions that overshoot, and skin that lags behind the head (Thesis ch. 3 eq. 9).
//!
//! The recursion T = φ†(γ S + 2α T' − β T'') is a damped oscillator that is sampled once a frame. As published, its motion depends on the frame rate, and
//! φ† is applied to its own result again and again. Here the oscillator is integrated exactly over frames of any length, and moves the targets of φ†.

use glam::{DMat3, DVec3};
use zygoma_geometry::rigid::RigidMotion;

use super::build::{Anatomical, AnatomicalError};
use super::dials::{BadDial, Dials};
use super::local::{Pace, PaceShare};
use crate::body::head_path::HeadPath;

/// Length of the frames for which α, β and γ are given, s. Ours: the paper names no rate.
const LITERAL_FRAME: f64 = 0.04;
/// γ may differ by this much from the value that keeps a still face still. Ours.
const DRIFT: f64 = 0.01;
/// Gravity under which a face was made, m/s², in the head's frame.
const MADE_UNDER: DVec3 = DVec3::new(0.0, -9.81, 0.0);

/// A damped oscillator with its poles at −k ± iω.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Oscillator {
    /// k, 1/s.
    decay: f64,
    /// ω², 1/s²; negative if it returns without passing its goal.
    square: f64,
}

impl Oscillator {
    /// The oscillator that dials ask for; `None` if the face follows at once.
    pub(super) fn of(dials: &Dials) -> Result<Option<Self>, BadDial> {
        match dials.dynamics {
            Some(literal) => Self::literal(literal).map(Some),
            None if dials.frequency > 0.0 => Ok(Some(Self::new(dials.frequency, dials.half_life))),
            None => Ok(None),
        }
    }

    /// Swings with a frequency in Hz; its amplitude halves within some seconds.
    fn new(frequency: f64, half_life: f64) -> Self {
        let turning = std::f64::consts::TAU * frequency;
        Self { decay: std::f64::consts::LN_2 / half_life, square: turning * turning }
    }

    /// α, β and γ of Thesis ch. 3 eq. 9. The roots of z² − 2αz + β are the poles, once per frame.
    fn literal([alpha, beta, gamma]: [f64; 3]) -> Result<Self, BadDial> {
        let refused = |why| Err(BadDial::Dynamics { alpha, beta, gamma, why });
        if beta.abs() >= 1.0 || (2.0 * alpha).abs() >= 1.0 + beta {
            return refused("swings grow without end; |β| < 1 and |2α| < 1 + β keep them bounded");
        }
        if (gamma - (1.0 - 2.0 * alpha + beta)).abs() > DRIFT {
            return refused("a still face would change its expression; γ = 1 − 2α + β keeps it");
        }
        let inside = alpha * alpha - beta;
        if beta <= 0.0 || (inside >= 0.0 && alpha <= 0.0) {
            return refused("the face would shake from frame to frame; β > 0 and α > 0 make it swing");
        }
        let decay = -0.5 * beta.ln() / LITERAL_FRAME;
        let square = if inside < 0.0 {
            (alpha / beta.sqrt()).acos().powi(2)
        } else {
            let [slow, fast] = [alpha + inside.sqrt(), alpha - inside.sqrt()].map(f64::ln);
            -(0.5 * (slow - fast)).powi(2)
        };
        Ok(Self { decay, square: square / (LITERAL_FRAME * LITERAL_FRAME) })
    }

    /// Its motion over some seconds.
    fn over(&self, seconds: f64) -> Swing {
        let turning = self.square.abs().sqrt();
        let angle = turning * seconds;
        let (cosine, sine) = match self.square {
            _ if angle < 1e-6 => (1.0, seconds),
            square if square > 0.0 => (angle.cos(), angle.sin() / turning),
            _ => (angle.cosh(), angle.sinh() / turning),
        };
        let fade = (-self.decay * seconds).exp();
        Swing {
            seconds,
            decay: self.decay,
            stiffness: self.square + self.decay * self.decay,
            cosine: fade * cosine,
            sine: fade * sine,
        }
    }
}

/// The motion of an oscillator over a frame in which its goal moves at a steady speed.
struct Swing {
    seconds: f64,
    decay: f64,
    /// ω² + k².
    stiffness: f64,
    /// cos ωt and sin ωt / ω, with their decay.
    cosine: f64,
    sine: f64,
}

impl Swing {
    /// Moves a place and its velocity while the goal goes from one place to another.
    fn advance(&self, [place, velocity]: &mut [f64; 2], [from, to]: [f64; 2]) {
        let speed = (to - from) / self.seconds;
        let lag = 2.0 * self.decay / self.stiffness * speed;
        let (off, drift) = (*place - (from - lag), *velocity - speed);
        *place = to - lag + self.cosine * off + self.sine * (drift + self.decay * off);
        *velocity = speed + self.cosine * drift - self.sine * (self.decay * drift + self.stiffness * off);
    }
}

/// Velocities of weights, 1/s, in frames some seconds apart of a face that swings with a frequency, Hz, and a half-life, s.
pub(super) fn swinging_velocities<'a>(
    [frequency, half_life]: [f64; 2],
    frames: impl Iterator<Item = &'a Vec<f32>>,
    seconds: f64,
) -> Vec<Vec<f32>> {
    let swing = Oscillator::new(frequency, half_life).over(seconds);
    let mut states: Vec<([f64; 2], f64)> = Vec::new();
    let velocities = |weights: &'a Vec<f32>| {
        if states.is_empty() {
            states = weights.iter().map(|weight| ([f64::from(*weight), 0.0], f64::from(*weight))).collect();
        }
        for ((state, followed), weight) in states.iter_mut().zip(weights) {
            swing.advance(state, [*followed, f64::from(*weight)]);
            *followed = f64::from(*weight);
        }
        states.iter().map(|(state, _)| state[1] as f32).collect()
    };
    frames.map(velocities).collect()
}

/// How a face swings.
pub(super) struct Swings {
    /// Parts of it, each with a motion of its own.
    pub(super) parts: Vec<SwingingPart>,
    pub(super) compliance: Compliance,
}

/// A part of a face that swings in one way.
pub(super) struct SwingingPart {
    /// None if it follows at once.
    oscillator: Option<Oscillator>,
    /// Its share of each vertex of the skin, of each vertex of the whole mesh, and of the jaw. Those of all parts add up to 1.
    pub(super) of_skin: Vec<f64>,
    pub(super) of_mesh: Vec<f32>,
    pub(super) of_jaw: f64,
}

impl Anatomical {
    /// The swings that dials ask for; `None` if all of the face follows at once.
    pub(super) fn swings(
        &self,
        dials: &Dials,
        paces: &[PaceShare],
    ) -> Result<Option<Swings>, AnatomicalError> {
        let everywhere = Oscillator::of(dials)?;
        let oscillator = |pace: &Pace| match *pace == Pace::of(dials) {
            true => everywhere,
            false => (pace.frequency > 0.0).then(|| Oscillator::new(pace.frequency, pace.half_life)),
        };
        if paces.iter().all(|part| oscillator(&part.pace).is_none()) {
            return Ok(None);
        }
        let embedding = &self.output.embedding;
        let parts = paces.iter().enumerate().map(|(index, PaceShare { pace, share })| {
            // Vertices beyond the tissue belong to the first part.
            let beyond = if index == 0 { 1.0 } else { 0.0 };
            let of_vertex = |v: usize| {
                let (corners, weights) = (embedding.vertices[v], embedding.weights[v]);
                let own = corners.iter().zip(weights).map(|(v, weight)| weight * share[*v as usize] as f32);
                own.sum::<f32>() + beyond * (1.0 - weights.iter().sum::<f32>())
            };
            SwingingPart {
                oscillator: oscillator(pace),
                of_skin: share[..self.skin_count()].to_vec(),
                of_mesh: (0..embedding.len()).map(of_vertex).collect(),
                of_jaw: self.on_jaw(share).unwrap_or(f64::from(beyond)),
            }
        });
        Ok(Some(Swings { parts: parts.collect(), compliance: self.compliance()? }))
    }

    /// The mean of values over the tissue on the jaw; `None` if there is none.
    fn on_jaw(&self, values: &[f64]) -> Option<f64> {
        let (sum, area) = (self.ties.iter().filter(|tie| tie.on_jaw)).fold((0.0, 0.0), |(sum, area), tie| {
            (sum + tie.area * values[tie.vertex as usize], area + tie.area)
        });
        (area > 0.0).then(|| sum / area)
    }
}

/// The swinging state of a part of a face.
#[derive(Clone)]
pub(super) struct Motion {
    oscillator: Option<Oscillator>,
    /// Weights of the shapes, with their velocities.
    weights: Vec<[f64; 2]>,
    /// The weights that they follow.
    followed: Vec<f64>,
    /// Displacement of the skin by inertia and gravity, with its velocity, along x, y and z.
    sway: Vec<[[f64; 2]; 3]>,
    /// The displacement at which the skin would come to rest.
    pulled: Vec<DVec3>,
}

/// Displacement of the passive skin by an acceleration of 1 m/s² along x, y and z.
pub(super) type Compliance = [Vec<DVec3>; 3];

impl Motion {
    /// A part at rest.
    pub(super) fn new(part: &SwingingPart, shapes: usize, skin: usize) -> Self {
        Self {
            oscillator: part.oscillator,
            weights: vec![[0.0; 2]; shapes],
            followed: vec![0.0; shapes],
            sway: vec![[[0.0; 2]; 3]; skin],
            pulled: vec![DVec3::ZERO; skin],
        }
    }

    /// Comes to rest at some weights, under gravity alone.
    pub(super) fn settle(&mut self, weights: &[f32], head: &RigidMotion, rest: &[DVec3], soft: &Compliance) {
        self.follow(weights);
        if self.oscillator.is_none() {
            return;
        }
        self.pulled = pulled(&Felt::of_gravity(head), rest, soft);
        for (sway, pulled) in self.sway.iter_mut().zip(&self.pulled) {
            *sway = pulled.to_array().map(|place| [place, 0.0]);
        }
    }

    /// Has some weights at once.
    fn follow(&mut self, weights: &[f32]) {
        for ((own, followed), weight) in self.weights.iter_mut().zip(&mut self.followed).zip(weights) {
            *followed = (*weight).into();
            *own = [*followed, 0.0];
        }
    }

    /// Swings for some seconds, until weights and head are at given ends.
    pub(super) fn advance(
        &mut self,
        seconds: f64,
        weights: &[f32],
        path: &HeadPath,
        (rest, soft): (&[DVec3], &Compliance),
    ) {
        let Some(oscillator) = self.oscillator else { return self.follow(weights) };
        let swing = oscillator.over(seconds);
        for ((own, followed), weight) in self.weights.iter_mut().zip(&mut self.followed).zip(weights) {
            let weight = f64::from(*weight);
            swing.advance(own, [*followed, weight]);
            *followed = weight;
        }
        let next = pulled(&Felt::at(path, 1.0), rest, soft);
        for ((sway, from), to) in self.sway.iter_mut().zip(&self.pulled).zip(&next) {
            (0..3).for_each(|k| swing.advance(&mut sway[k], [from[k], to[k]]));
        }
        self.pulled = next;
    }

    /// Sets the velocities of the weights, 1/s.
    pub(super) fn set_velocities(&mut self, velocities: &[f32]) {
        self.weights.iter_mut().zip(velocities).for_each(|(own, velocity)| own[1] = f64::from(*velocity));
    }

    /// The weights now.
    pub(super) fn weights(&self) -> Vec<f32> {
        self.weights.iter().map(|[weight, _]| *weight as f32).collect()
    }

    /// The displacement of the skin by inertia and gravity now.
    pub(super) fn sway(&self) -> impl Iterator<Item = DVec3> {
        self.sway.iter().map(|sway| DVec3::from_array(sway.map(|[place, _]| place)))
    }
}

/// Displacement at rest of each vertex of the skin under the acceleration that it feels.
fn pulled(felt: &Felt, rest: &[DVec3], soft: &Compliance) -> Vec<DVec3> {
    let place = |(v, at): (usize, &DVec3)| {
        let [x, y, z] = (felt.constant + felt.by_position * *at).to_array();
        x * soft[0][v] + y * soft[1][v] + z * soft[2][v]
    };
    rest.iter().enumerate().map(place).collect()
}

/// The acceleration that a point of the head's frame feels, affine in its position; that of a face upright and at rest is none.
struct Felt {
    constant: DVec3,
    by_position: DMat3,
}

impl Felt {
    /// At a fraction of a frame.
    fn at(path: &HeadPath, fraction: f64) -> Self {
        let [rate, acceleration] = path.motion(fraction);
        let back = path.at(fraction).rotation.inverse();
        let across = |w: DVec3| DMat3::from_cols(w.cross(DVec3::X), w.cross(DVec3::Y), w.cross(DVec3::Z));
        let (spin, spun_up) = (across(back * rate.spin), across(back * acceleration.spin));
        Self {
            constant: back * (MADE_UNDER - acceleration.velocity) - MADE_UNDER,
            by_position: -(spun_up + spin * spin),
        }
    }

    /// For a head at rest.
    fn of_gravity(pose: &RigidMotion) -> Self {
        Self { constant: pose.rotation.inverse() * MADE_UNDER - MADE_UNDER, by_position: DMat3::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response to a step at a frame rate, every 1/25 s.
    fn response(oscillator: Oscillator, rate: usize) -> Vec<f64> {
        let swing = oscillator.over(1.0 / rate as f64);
        // The step itself takes no time.
        let mut state = [0.0, 0.0];
        let mut shown = Vec::new();
        for frame in 1..=2 * rate {
            swing.advance(&mut state, [1.0, 1.0]);
            if (frame * 25).is_multiple_of(rate) {
                shown.push(state[0]);
            }
        }
        shown
    }

    #[test]
    fn a_step_swings_with_its_frequency_and_half_life_at_any_frame_rate() {
        let oscillator = Oscillator::new(3.0, 0.15);
        let slow = response(oscillator, 25);
        for rate in [50, 100, 150] {
            let fast = response(oscillator, rate);
            let worst = fast.iter().zip(&slow).map(|(a, b)| (a - b).abs());
            assert!(worst.fold(0.0, f64::max) < 1e-9);
        }
        // 1 − e^(−kt) (cos ωt + k/ω sin ωt), which passes its goal first at half a period.
        let (turning, decay) = (std::f64::consts::TAU * 3.0, std::f64::consts::LN_2 / 0.15);
        for (frame, shown) in slow.iter().enumerate() {
            let t = (frame + 1) as f64 / 25.0;
            let swung = (turning * t).cos() + decay / turning * (turning * t).sin();
            assert!((shown - (1.0 - (-decay * t).exp() * swung)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_goal_at_steady_speed_is_followed_with_a_steady_lag() {
        let swing = Oscillator::new(5.0, 0.05).over(0.02);
        let mut state = [0.0, 0.0];
        let lags: Vec<f64> = (0..200)
            .map(|k| {
                let [from, to] = [0.1 * f64::from(k), 0.1 * f64::from(k + 1)];
                swing.advance(&mut state, [from, to]);
                to - state[0]
            })
            .collect();
        assert!((lags[198] - lags[199]).abs() < 1e-9 && lags[199] > 0.0);
    }

    #[test]
    fn the_published_recursion_is_the_same_oscillator() {
        let literal = |alpha: f64, beta: f64| {
            let dials = Dials { dynamics: Some([alpha, beta, 1.0 - 2.0 * alpha + beta]), ..Dials::default() };
            Oscillator::of(&dials).map(|oscillator| oscillator.unwrap())
        };
        for (alpha, beta) in [(0.7, 0.8), (0.6, 0.3)] {
            let swing = literal(alpha, beta).unwrap().over(LITERAL_FRAME);
            let mut state = [1.0, 0.3];
            let mut places = vec![state[0]];
            for _ in 0..20 {
                swing.advance(&mut state, [0.0, 0.0]);
                places.push(state[0]);
            }
            for three in places.windows(3) {
                assert!((three[2] - (2.0 * alpha * three[1] - beta * three[0])).abs() < 1e-9, "{three:?}");
            }
        }
        for (alpha, beta) in [(1.2, 0.9), (0.5, 1.1), (-0.4, 0.1), (0.2, -0.3)] {
            assert!(literal(alpha, beta).is_err(), "{alpha} {beta}");
        }
        let drifts = Dials { dynamics: Some([0.7, 0.8, 0.5]), ..Dials::default() };
        assert!(Oscillator::of(&drifts).unwrap_err().to_string().contains("still face"));
    }

    #[test]
    fn a_still_face_stays_still_and_a_pushed_head_leaves_its_skin_behind() {
        let (rest, soft) =
            ([DVec3::new(0.03, 0.0, 0.08)], [DVec3::X, DVec3::Y, DVec3::Z].map(|u| vec![1e-4 * u]));
        let part = SwingingPart {
            oscillator: Some(Oscillator::new(4.0, 0.1)),
            of_skin: vec![1.0],
            of_mesh: vec![1.0],
            of_jaw: 1.0,
        };
        let mut motion = Motion::new(&part, 1, 1);
        let mut path = HeadPath::still();
        motion.settle(&[0.6], &RigidMotion::IDENTITY, &rest, &soft);
        for _ in 0..6000 {
            path.go_to(&RigidMotion::IDENTITY, 0.01);
            motion.advance(0.01, &[0.6], &path, (&rest, &soft));
        }
        assert_eq!((motion.weights(), motion.sway().next()), (vec![0.6], Some(DVec3::ZERO)));
        let at = |x: f64| RigidMotion { translation: x * DVec3::X, ..RigidMotion::IDENTITY };
        let mut behind = 0.0_f64;
        for k in 1..=10 {
            // 5 m/s².
            path.go_to(&at(2.5 * (0.01 * f64::from(k)).powi(2)), 0.01);
            motion.advance(0.01, &[0.6], &path, (&rest, &soft));
            behind = behind.min(motion.sway().next().unwrap().x);
        }
        assert!((-1e-3..-1e-4).contains(&behind), "{behind}");
    }
}
