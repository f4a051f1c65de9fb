//! Hand takes: the joints of one or two hands over time, as a table. `docs/hands.md` describes the file.

use std::path::Path;

use glam::{Quat, Vec3};
use zygoma_physics::contact::Pose;
use zygoma_rig::{Error, Result};

use crate::joints::{Joint, Side};
use crate::pose::HandPose;
use crate::posture::Posture;

/// Largest size of a hand take, bytes: an hour of two hands at 60 Hz.
const MOST_BYTES: u64 = 1 << 30;

/// A hand that is not seen for longer than this is away, s. Ours: trackers lose a hand for a few frames when fingers cover each other.
const LONGEST_GAP: f64 = 0.25;

/// A hand stays this long after its last frame, s: times in files are rounded.
const ROUNDING: f64 = 1e-4;

/// Columns that a take must have.
const COLUMNS: [&str; 10] = ["time", "hand", "joint", "x", "y", "z", "qx", "qy", "qz", "qw"];

/// A hand at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandFrame {
    /// Seconds.
    pub time: f64,
    /// The hand, in metres.
    pub pose: HandPose,
}

/// One or two hands over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandTake {
    /// Frames of the left hand, in ascending order of time.
    pub left: Vec<HandFrame>,
    /// Frames of the right hand.
    pub right: Vec<HandFrame>,
}

impl HandTake {
    /// The frames of a hand.
    pub fn frames(&self, side: Side) -> &[HandFrame] {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// The frames of a hand, mutable.
    pub fn frames_mut(&mut self, side: Side) -> &mut Vec<HandFrame> {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }

    /// A hand at a time, between its frames; `None` while it is away.
    pub fn sample(&self, side: Side, time: f64) -> Option<HandPose> {
        let frames = self.frames(side);
        let after = frames.partition_point(|frame| frame.time <= time);
        let before = frames.get(after.checked_sub(1)?)?;
        let Some(next) = frames.get(after) else {
            return (time <= before.time + ROUNDING).then_some(before.pose);
        };
        let length = next.time - before.time;
        if length > LONGEST_GAP {
            return (time <= before.time + ROUNDING).then_some(before.pose);
        }
        Some(before.pose.between(&next.pose, ((time - before.time) / length) as f32))
    }

    /// The time of the last frame; 0 if there is none.
    pub fn end(&self) -> f64 {
        [&self.left, &self.right]
            .iter()
            .filter_map(|frames| frames.last())
            .map(|frame| frame.time)
            .fold(0.0, f64::max)
    }

    /// Reads a hand take.
    pub fn read(path: &Path) -> Result<Self> {
        let text = zygoma_files::read_text(path, MOST_BYTES)?;
        Self::parse(&text).map_err(|problem| Error::malformed(path, problem))
    }

    /// Parses the text of a hand take. Errors name the row.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| format!("row 1: {error}"))?.clone();
        let column = |name: &str| header.iter().position(|own| own.eq_ignore_ascii_case(name));
        let mut columns = [0; COLUMNS.len()];
        for (place, name) in columns.iter_mut().zip(COLUMNS) {
            *place = column(name).ok_or_else(|| {
                format!("row 1: there is no column {name}; a hand take has the columns {}, and radius if it is known", COLUMNS.join(", "))
            })?;
        }
        let mut reading =
            Reading { columns, radius: column("radius"), take: Self::default(), open: [None, None] };
        for (row, record) in (2..).zip(reader.records()) {
            let record = record.map_err(|error| format!("row {row}: {error}"))?;
            reading.row(&record).map_err(|problem| format!("row {row}: {problem}"))?;
        }
        for side in [Side::Left, Side::Right] {
            reading.close(side)?;
        }
        if reading.take.left.is_empty() && reading.take.right.is_empty() {
            return Err("there is no hand below the first row".to_owned());
        }
        Ok(reading.take)
    }

    /// The take as the text of a file.
    pub fn to_csv(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("{},radius\n", COLUMNS.join(","));
        let sides = [Side::Left, Side::Right];
        let mut frames: Vec<(Side, &HandFrame)> = sides
            .iter()
            .flat_map(|side| self.frames(*side).iter().map(move |frame| (*side, frame)))
            .collect();
        frames.sort_by(|a, b| a.1.time.total_cmp(&b.1.time));
        for (side, HandFrame { time, pose }) in frames {
            for joint in Joint::ALL {
                let (Pose { rotation, translation: at }, radius) = (pose[joint], pose.radius(joint));
                let [x, y, z, w] = rotation.to_array();
                let _ = writeln!(
                    text,
                    "{time:.6},{},{},{:.6},{:.6},{:.6},{x:.6},{y:.6},{z:.6},{w:.6},{radius:.6}",
                    side.name(),
                    joint.name(),
                    at.x,
                    at.y,
                    at.z
                );
            }
        }
        text
    }
}

/// A hand whose joints are being read.
struct Open {
    time: f64,
    pose: HandPose,
    seen: [bool; Joint::COUNT],
}

struct Reading {
    columns: [usize; COLUMNS.len()],
    radius: Option<usize>,
    take: HandTake,
    open: [Option<Open>; 2],
}

impl Reading {
    fn row(&mut self, record: &csv::StringRecord) -> std::result::Result<(), String> {
        let text = |k: usize| record.get(self.columns[k]).unwrap_or_default();
        let number = |k: usize| -> std::result::Result<f64, String> {
            let value: Option<f64> = text(k).parse().ok().filter(|value: &f64| value.is_finite());
            value.ok_or_else(|| format!("{} is not a finite number: '{}'", COLUMNS[k], text(k)))
        };
        let time = number(0)?;
        let side = Side::from_name(text(1))
            .ok_or_else(|| format!("the hand is left or right, not '{}'", text(1)))?;
        // OpenXR has the palm as well, which nothing needs.
        if text(2).eq_ignore_ascii_case("palm") {
            return Ok(());
        }
        let joint = Joint::from_name(text(2)).ok_or_else(|| {
            format!(
                "there is no joint '{}'; joints have their WebXR names, such as index-finger-tip",
                text(2)
            )
        })?;
        let mut values = [0.0f32; 7];
        for (k, value) in values.iter_mut().enumerate() {
            *value = number(3 + k)? as f32;
        }
        let [x, y, z, qx, qy, qz, qw] = values;
        let rotation = Quat::from_xyzw(qx, qy, qz, qw);
        if !(0.5..2.0).contains(&rotation.length()) {
            return Err(format!("the rotation of {} is not a unit quaternion", joint.name()));
        }
        let radius = match self.radius.and_then(|column| record.get(column)).filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => {
                let radius: Option<f32> =
                    text.parse().ok().filter(|radius: &f32| *radius > 0.0 && *radius < 1.0);
                Some(radius.ok_or_else(|| format!("a radius is above 0 m and below 1 m, not '{text}'"))?)
            }
        };
        if self.open[side as usize].as_ref().is_some_and(|open| open.time != time) {
            self.close(side)?;
        }
        let last = self.take.frames(side).last().map_or(f64::NEG_INFINITY, |frame| frame.time);
        if time <= last {
            return Err(format!("time {time} does not come after {last}"));
        }
        let open = self.open[side as usize].get_or_insert_with(|| Open {
            time,
            pose: Posture::open().pose(side),
            seen: [false; Joint::COUNT],
        });
        if std::mem::replace(&mut open.seen[joint as usize], true) {
            return Err(format!("{} of the {} hand appears twice at {time} s", joint.name(), side.name()));
        }
        open.pose.joints[joint as usize] =
            Pose { rotation: rotation.normalize(), translation: Vec3::new(x, y, z) };
        if let Some(radius) = radius {
            open.pose.radii[joint as usize] = radius;
        }
        Ok(())
    }

    /// Ends the frame of a hand, which must be whole.
    fn close(&mut self, side: Side) -> std::result::Result<(), String> {
        let Some(Open { time, pose, seen }) = self.open[side as usize].take() else { return Ok(()) };
        if let Some(missing) = Joint::ALL.into_iter().find(|joint| !seen[*joint as usize]) {
            return Err(format!(
                "the {} hand at {time} s has no {}; every joint is needed, or none while the hand is away",
                side.name(),
                missing.name()
            ));
        }
        self.take.frames_mut(side).push(HandFrame { time, pose });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take() -> HandTake {
        let frame = |k: usize| {
            let posture = Posture::open().between(&Posture::fist(), k as f32 / 4.0);
            let by = Pose::at(Vec3::new(0.01 * k as f32, 0.1, 0.3));
            HandFrame { time: 0.05 * k as f64, pose: posture.pose(Side::Right).moved(&by) }
        };
        HandTake { left: Vec::new(), right: (0..5).map(frame).collect() }
    }

    #[test]
    fn a_take_comes_back_from_its_file() {
        let (take, again) = (take(), HandTake::parse(&take().to_csv()).unwrap());
        for (a, b) in take.right.iter().zip(&again.right) {
            for joint in Joint::ALL {
                assert!(a.pose.at(joint).distance(b.pose.at(joint)) < 2e-6);
                assert!(a.pose[joint].rotation.dot(b.pose[joint].rotation).abs() > 0.999_99);
                assert!((a.pose.radius(joint) - b.pose.radius(joint)).abs() < 2e-6);
            }
        }
        assert!((again.end() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_hand_is_away_before_after_and_in_long_gaps() {
        let mut take = take();
        assert!(take.sample(Side::Left, 0.1).is_none() && take.sample(Side::Right, -0.01).is_none());
        assert!(take.sample(Side::Right, 0.2).is_some() && take.sample(Side::Right, 0.21).is_none());
        let between = take.sample(Side::Right, 0.125).unwrap();
        assert!((between.at(Joint::Wrist).x - 0.025).abs() < 1e-6);
        take.right.remove(2);
        take.right.iter_mut().skip(2).for_each(|frame| frame.time += 1.0);
        assert!(take.sample(Side::Right, 0.5).is_none());
    }

    #[test]
    fn mistakes_name_their_row_and_the_way_out() {
        let good = take().to_csv();
        let lines: Vec<&str> = good.lines().collect();
        let with = |row: usize, from: &str, to: &str| -> String {
            let edited = |(k, line): (usize, &&str)| {
                if k + 1 == row { line.replace(from, to) } else { (*line).to_owned() }
            };
            lines.iter().enumerate().map(edited).collect::<Vec<_>>().join("\n")
        };
        for (text, wanted) in [
            (with(1, "joint", "bone"), "row 1: there is no column joint"),
            (with(3, "right", "third"), "row 3: the hand is left or right, not 'third'"),
            (with(4, "thumb-phalanx-proximal", "thumb"), "row 4: there is no joint 'thumb'"),
            (with(2, "0.300000", "NaN"), "row 2: z is not a finite number"),
            (lines[..12].join("\n"), "has no "),
            (lines[..1].join("\n"), "there is no hand"),
            (format!("{good}{}\n", lines[1]), "does not come after"),
        ] {
            let problem = HandTake::parse(&text).unwrap_err();
            assert!(problem.contains(wanted), "{problem} / {wanted}");
        }
    }
}
