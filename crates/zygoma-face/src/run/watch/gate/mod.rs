//! Watches a simulation, repairs frames where it breaks, and reports where that fails.

mod blend;
mod inertia;
mod region;

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;

use super::{Crossings, GRAZE, Lasting, REPORTED_FPS, life_mm};
use crate::model::{FaceModel, Landmarks};
use blend::Blend;
use inertia::Felt;
use region::Surroundings;

/// Untouched skin stays within this distance of the rig, beyond what the head's motion explains, mm at life size.
pub const FARTHEST: f32 = 5.0;
/// Beyond this multiple of that distance, the body itself is put back. Ours.
const LOST: f32 = 3.0;
/// Touched skin yields, but no farther than this, mm at life size: half a head.
const TOUCHED: f32 = 120.0;
/// Limit of the second difference over frames, mm/frame² at 60 fps, beyond what the head's motion explains.
pub const POP: f32 = 2.0;
/// Triangle pairs near the lips that may cross beyond the rig's own. Ours: one graze of two coarse triangles.
const TOLERATED: usize = 2;
/// Crossings of the lips are searched this many times a second; they are costly to find and last longer than a frame. Ours.
const LOOKS: f64 = 15.0;
/// Lips that are closer to the rig than this, mm at life size, cross no more than the rig's do.
const NEAR: f32 = 0.2;
/// A body that has been put back at one place for this long, s, has failed there. Ours.
const PATIENCE: f64 = 0.5;
/// The rig may replace this fraction of all vertices in all frames; more no longer counts as simulation. Ours; the goal is 1 %.
const MOST_RETURNED: f64 = 0.1;

/// The fault of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    NotFinite,
    Lost,
    Inverted,
    Crossing,
}

impl Trouble {
    fn why(self) -> &'static str {
        match self {
            Self::NotFinite => "positions are not finite, even after a reset to the rig",
            Self::Lost => "the body deviates from the rig by more than 15 mm at life size after every reset",
            Self::Inverted => "elements stay inverted, even after a reset to the rig",
            Self::Crossing => {
                "the lips pass through each other more than the rig's own, even after a reset to the rig"
            }
        }
    }
}

/// A frame to be checked before it is output.
pub struct Watched<'a> {
    /// The surface that the body follows: the plain rig's, unless the body changes that.
    pub plain: &'a [Vec3],
    /// The body's surface, which is repaired where it is broken.
    pub shown: &'a mut [Vec3],
    /// The head's pose.
    pub head: RigidMotion,
    /// Length of the frame, s; 0 for the first one.
    pub seconds: f64,
    /// Its time, in seconds after the take's start.
    pub time: f64,
    /// Whether something touches the face, or did a moment ago.
    pub touched: bool,
    /// Inverted elements, in ascending order.
    pub inverted: &'a [u32],
    /// The vertices at some elements, except those that the rig itself inverts.
    pub vertices_at: &'a dyn Fn(&[u32]) -> Vec<u32>,
}

/// The place where a body broke beyond repair.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its time, in seconds after the take's start.
    pub time: f64,
    /// The nearest landmark.
    pub place: String,
    /// A description of the fault.
    pub why: String,
}

/// The interventions of a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GateReport {
    /// The fraction of vertices in all frames that were returned to the rig, wholly or in part.
    pub returned: f64,
    /// Frames with any returned vertex.
    pub frames: usize,
    /// Frames in which the blending of a jump began.
    pub pops: usize,
    /// Number of times that the body itself was put back.
    pub put_back: usize,
    /// The first fault beyond repair.
    pub failed: Option<Failure>,
}

/// Watches the surfaces that a body outputs, frame by frame.
///
/// Each frame goes through [`watch`](Self::watch), which repairs it where it is broken, and returns where the body should go back to the
/// rig.
#[derive(Clone, Debug)]
pub struct Gate {
    scale: f32,
    neutral: Vec<Vec3>,
    places: Landmarks,
    surroundings: Surroundings,
    felt: Felt,
    blend: Blend,
    lasting: Lasting,
    lips: Crossings,
    lip_vertices: Vec<u32>,
    /// Vertices that may be anywhere, such as free parts.
    spared: Vec<bool>,
    follows_rig: bool,
    /// Fault counter of each vertex: grows by two in each faulty frame, and falls by one in others.
    in_trouble: Vec<u32>,
    /// Weights of the rig at which the body failed: that pose is shown from then on.
    given_up: Vec<f32>,
    offsets: Vec<Vec3>,
    fraction: Vec<f32>,
    since_look: f64,
    counted: [u64; 2],
    times_returned: Vec<u32>,
    first_returned: Option<f64>,
    report: GateReport,
}

impl Gate {
    /// Watches a face.
    pub fn new(face: &FaceModel, places: &Landmarks, fps: f64) -> Self {
        let neutral = &face.neutral;
        let (lips, lip_vertices) = region::near_lips(face, places, neutral);
        let count = neutral.len();
        Self {
            scale: life_mm(face.height),
            surroundings: Surroundings::new(neutral, &face.triangles, face.height),
            felt: Felt::new(face.skin.iter().map(|v| neutral[*v as usize]), face.height),
            blend: Blend::new(count),
            lasting: Lasting::new(fps),
            lips: Crossings::new(neutral, lips),
            lip_vertices,
            neutral: neutral.clone(),
            places: places.clone(),
            spared: vec![false; count],
            follows_rig: true,
            in_trouble: vec![0; count],
            given_up: vec![0.0; count],
            offsets: vec![Vec3::ZERO; count],
            fraction: vec![0.0; count],
            since_look: f64::INFINITY,
            counted: [0; 2],
            times_returned: vec![0; count],
            first_returned: None,
            report: GateReport::default(),
        }
    }

    /// Exempts vertices of free parts from the limit on the distance from the rig.
    pub fn spare(&mut self, free: &[bool]) {
        for (spared, free) in self.spared.iter_mut().zip(free) {
            *spared = *free;
        }
    }

    /// Ignores the distance from the rig, for a body that follows markers instead.
    pub fn ignore_distance(&mut self) {
        self.follows_rig = false;
    }

    /// Checks a frame and repairs it where it is broken. Returns the weight by which the body should go back to the rig at each vertex,
    /// if it should anywhere.
    pub fn watch(&mut self, frame: &mut Watched<'_>) -> Option<&[f32]> {
        self.felt.advance(&frame.head, frame.seconds);
        let limit = self.limit(frame.touched);
        let mut troubles = self.find_offsets(frame, limit);
        self.find_inverted(frame, &mut troubles);
        self.find_crossings(frame, &mut troubles);
        troubles.sort_by_key(|(vertex, _)| *vertex);
        troubles.dedup_by_key(|(vertex, _)| *vertex);
        let put_back = self.put_back(frame, &troubles);
        self.limit_offsets(limit);
        let pop = self.pop_limit(frame);
        let surroundings = &self.surroundings;
        let around = |v: u32, visit: &mut dyn FnMut(u32)| surroundings.visit(v, visit);
        let spared = &self.spared;
        let farthest = |vertex: usize| if spared[vertex] { f32::INFINITY } else { limit };
        let jumped = self.blend.show(&mut self.offsets, pop, frame.seconds, farthest, around);
        self.report.pops += usize::from(jumped);
        self.write(frame);
        put_back.then_some(&self.fraction[..])
    }

    /// The interventions so far.
    pub fn report(&self) -> GateReport {
        let [returned, all] = self.counted;
        let mut report = GateReport { returned: returned as f64 / all.max(1) as f64, ..self.report.clone() };
        if report.failed.is_none() && report.returned > MOST_RETURNED {
            let most = (0..self.times_returned.len()).max_by_key(|v| self.times_returned[*v]).unwrap_or(0);
            report.failed = Some(Failure {
                time: self.first_returned.unwrap_or(0.0),
                place: self.place(most),
                why: format!(
                    "{:.0} % of the face's vertices, over all frames, were reset to the rig (at most {:.0} % may be)",
                    100.0 * report.returned,
                    100.0 * MOST_RETURNED
                ),
            });
        }
        report
    }

    /// The allowed distance of untouched skin from the rig now, mm at life size.
    fn limit(&self, touched: bool) -> f32 {
        if touched || !self.follows_rig { TOUCHED } else { FARTHEST + self.felt.swing_mm() }
    }

    fn pop_limit(&self, frame: &Watched<'_>) -> f32 {
        if frame.touched || frame.seconds <= 0.0 {
            return f32::INFINITY;
        }
        let rate = (frame.seconds * REPORTED_FPS).powi(2) as f32;
        POP * rate + self.felt.jolt_mm(frame.seconds)
    }

    /// Computes offsets from the rig, and finds the vertices where the body is lost.
    fn find_offsets(&mut self, frame: &Watched<'_>, limit: f32) -> Vec<(u32, Trouble)> {
        let mut troubles = Vec::new();
        let lost = (LOST * limit).min(TOUCHED.max(limit));
        for (vertex, offset) in self.offsets.iter_mut().enumerate() {
            *offset = self.scale * (frame.shown[vertex] - frame.plain[vertex]);
            if !offset.is_finite() {
                *offset = Vec3::ZERO;
                troubles.push((vertex as u32, Trouble::NotFinite));
            } else if offset.length_squared() > lost * lost && !self.spared[vertex] {
                troubles.push((vertex as u32, Trouble::Lost));
            }
        }
        troubles
    }

    fn find_inverted(&mut self, frame: &Watched<'_>, troubles: &mut Vec<(u32, Trouble)>) {
        let stay = self.lasting.add(frame.inverted);
        // A finger may squeeze tissue for any time.
        if !frame.touched && !stay.is_empty() {
            let vertices = (frame.vertices_at)(&stay);
            troubles.extend(vertices.into_iter().map(|vertex| (vertex, Trouble::Inverted)));
        }
    }

    fn find_crossings(&mut self, frame: &Watched<'_>, troubles: &mut Vec<(u32, Trouble)>) {
        self.since_look += frame.seconds;
        let is_far = |v: &u32| self.offsets[*v as usize].length_squared() > NEAR * NEAR;
        if frame.touched || self.since_look < 1.0 / LOOKS || !self.lip_vertices.iter().any(is_far) {
            return;
        }
        self.since_look = 0.0;
        let plain = self.lips.find(frame.plain).to_vec();
        let shown = self.lips.find_deep(frame.shown, frame.plain, GRAZE / self.scale);
        if shown.len() <= plain.len() + TOLERATED {
            return;
        }
        for (a, b) in shown.iter().filter(|pair| plain.binary_search(pair).is_err()) {
            let corners = [*a, *b].into_iter().flat_map(|t| self.lips.triangle(t));
            troubles.extend(corners.map(|vertex| (vertex, Trouble::Crossing)));
        }
    }

    /// Computes the weight by which each vertex goes back to the rig, applies it, and gives up where that never helps. Returns whether
    /// any vertex goes back.
    fn put_back(&mut self, frame: &Watched<'_>, troubles: &[(u32, Trouble)]) -> bool {
        self.fraction.copy_from_slice(&self.given_up);
        if !troubles.is_empty() {
            self.report.put_back += 1;
            let seeds: Vec<u32> = troubles.iter().map(|(vertex, _)| *vertex).collect();
            self.surroundings.spread(&seeds, &mut self.fraction);
            // Once any value is not finite, soon no value is.
            if troubles.iter().any(|(_, trouble)| *trouble == Trouble::NotFinite) {
                self.fraction.fill(1.0);
            }
        }
        self.lose_patience(frame, troubles);
        let mut returned = false;
        for (offset, fraction) in self.offsets.iter_mut().zip(&self.fraction) {
            if *fraction > 0.0 {
                *offset *= 1.0 - *fraction;
                returned = true;
            }
        }
        returned
    }

    fn lose_patience(&mut self, frame: &Watched<'_>, troubles: &[(u32, Trouble)]) {
        if frame.seconds <= 0.0 {
            return;
        }
        self.in_trouble.iter_mut().for_each(|count| *count = count.saturating_sub(1));
        let most = (2.0 * PATIENCE / frame.seconds) as u32;
        let mut worst: Option<(u32, Trouble)> = None;
        for (vertex, trouble) in troubles {
            // Lips are checked at intervals, and count as faulty until the next check.
            let frames = if *trouble == Trouble::Crossing { 1.0 / LOOKS / frame.seconds } else { 1.0 };
            let count = &mut self.in_trouble[*vertex as usize];
            *count += (3.0 * frames) as u32;
            let length = |v: u32| self.offsets[v as usize].length_squared();
            let is_hopeless = *count > most && self.given_up[*vertex as usize] < 1.0;
            if is_hopeless && worst.is_none_or(|(other, _)| length(*vertex) > length(other)) {
                worst = Some((*vertex, *trouble));
            }
        }
        if let Some((vertex, trouble)) = worst {
            self.given_up.copy_from_slice(&self.fraction);
            let place = self.place(vertex as usize);
            let why = trouble.why().to_owned();
            self.report.failed.get_or_insert(Failure { time: frame.time, place, why });
        }
    }

    /// Clamps offsets that are too long.
    fn limit_offsets(&mut self, limit: f32) {
        for ((offset, fraction), spared) in self.offsets.iter_mut().zip(&mut self.fraction).zip(&self.spared)
        {
            let length = offset.length_squared();
            if length > limit * limit && !spared {
                *offset *= limit / length.sqrt();
                // Only counted: the body itself may continue.
                *fraction = fraction.max(f32::MIN_POSITIVE);
            }
        }
    }

    fn write(&mut self, frame: &mut Watched<'_>) {
        let mut returned = 0;
        let per_mm = 1.0 / self.scale;
        for vertex in 0..self.offsets.len() {
            let is_returned = self.fraction[vertex] > 0.0 || self.blend.is_blending(vertex);
            if is_returned {
                frame.shown[vertex] = frame.plain[vertex] + per_mm * self.offsets[vertex];
                returned += 1;
                self.times_returned[vertex] += 1;
            }
        }
        self.counted[0] += returned;
        self.counted[1] += self.offsets.len() as u64;
        if returned > 0 {
            self.report.frames += 1;
            self.first_returned.get_or_insert(frame.time);
        }
    }

    fn place(&self, vertex: usize) -> String {
        self.places.nearest(self.neutral[vertex]).map_or_else(String::new, |place| place.name.clone())
    }
}

#[cfg(test)]
mod tests;
