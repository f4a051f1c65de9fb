//! Takes that the Live Link Face app records as CSV.

use std::f64::consts::PI;
use std::path::Path;
use std::sync::Arc;

use glam::{DQuat, DVec3};
use zygoma_geometry::rigid::RigidMotion;

use super::input::{read_bytes, shown};
use super::table::{Row, Table};
use crate::formats::Limits;
use crate::take::{MotionTrack, WeightCurve, WeightTrack};
use crate::{Error, JointRole, Result, Take};

/// The 52 shapes as the app spells them.
const SHAPES: [&str; 52] = [
    "EyeBlinkLeft",
    "EyeLookDownLeft",
    "EyeLookInLeft",
    "EyeLookOutLeft",
    "EyeLookUpLeft",
    "EyeSquintLeft",
    "EyeWideLeft",
    "EyeBlinkRight",
    "EyeLookDownRight",
    "EyeLookInRight",
    "EyeLookOutRight",
    "EyeLookUpRight",
    "EyeSquintRight",
    "EyeWideRight",
    "JawForward",
    "JawRight",
    "JawLeft",
    "JawOpen",
    "MouthClose",
    "MouthFunnel",
    "MouthPucker",
    "MouthRight",
    "MouthLeft",
    "MouthSmileLeft",
    "MouthSmileRight",
    "MouthFrownLeft",
    "MouthFrownRight",
    "MouthDimpleLeft",
    "MouthDimpleRight",
    "MouthStretchLeft",
    "MouthStretchRight",
    "MouthRollLower",
    "MouthRollUpper",
    "MouthShrugLower",
    "MouthShrugUpper",
    "MouthPressLeft",
    "MouthPressRight",
    "MouthLowerDownLeft",
    "MouthLowerDownRight",
    "MouthUpperUpLeft",
    "MouthUpperUpRight",
    "BrowDownLeft",
    "BrowDownRight",
    "BrowInnerUp",
    "BrowOuterUpLeft",
    "BrowOuterUpRight",
    "CheekPuff",
    "CheekSquintLeft",
    "CheekSquintRight",
    "NoseSneerLeft",
    "NoseSneerRight",
    "TongueOut",
];

/// The joints whose yaw, pitch and roll are recorded, with the start of their columns' names.
const JOINTS: [(JointRole, &str); 3] =
    [(JointRole::Head, "Head"), (JointRole::LeftEye, "LeftEye"), (JointRole::RightEye, "RightEye")];

/// Seconds of a day, for takes that run over midnight.
const DAY: f64 = 24.0 * 3600.0;

/// Frames in a second of the timecode. The rows may come at another rate.
const TIMECODE_RATE: f64 = 60.0;

/// Reads a CSV recorded by Live Link Face.
///
/// Time starts at 0 with the first row. Head and eye angles (radians) become motions about the joint where
/// any is not zero: positive yaw looks to the character's right, positive pitch down, and roll turns about
/// +Z. For the eyes, recorded takes confirm this against the look shapes; the head's angles are taken to
/// mean the same.
pub fn read_take(path: &Path, limits: &Limits) -> Result<Take> {
    let bytes = read_bytes(path, limits)?;
    from_table(Table::new(path, &bytes, limits)?)
}

pub(super) fn from_table(mut table: Table) -> Result<Take> {
    let path = table.path;
    let columns = Columns::find(&table)?;
    let mut rows = Rows::new(&columns);
    table.for_each_row(|row| rows.push(row, &columns))?;
    if rows.times.is_empty() {
        return Err(Error::malformed(path, "no row below the header has a face in it"));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(rows.into_take(name, &columns))
}

/// The columns of the table.
struct Columns {
    timecode: usize,
    /// Weight columns with the file's spelling of their names.
    weights: Vec<(usize, String)>,
    /// Yaw, pitch and roll of each of [`JOINTS`].
    angles: [[usize; 3]; 3],
}

impl Columns {
    fn find(table: &Table) -> Result<Self> {
        let need = |name: &str| {
            table.column(name).ok_or_else(|| {
                let problem = format!(
                    "row 1 has no column {name}; for a table with other columns, give it a time column in \
                     seconds instead of the Timecode"
                );
                Error::malformed(table.path, problem)
            })
        };
        let timecode = need("Timecode")?;
        for shape in SHAPES {
            need(shape)?;
        }
        let mut angles = [[0; 3]; 3];
        for (joint, (_, start)) in JOINTS.iter().enumerate() {
            for (angle, end) in ["Yaw", "Pitch", "Roll"].iter().enumerate() {
                angles[joint][angle] = need(&format!("{start}{end}"))?;
            }
        }
        // The count's column is spelled BlendShapeCount or BlendshapeCount.
        let count = table.column("BlendShapeCount");
        let is_weight = |column: &usize| {
            *column != timecode && Some(*column) != count && !angles.as_flattened().contains(column)
        };
        let columns = (0..table.header.len()).filter(is_weight);
        let weights = columns.map(|column| (column, table.header[column].clone())).collect();
        Ok(Self { timecode, weights, angles })
    }
}

/// The values of the rows, column by column.
struct Rows {
    /// Seconds of the day, days added after midnight.
    times: Vec<f64>,
    weights: Vec<Vec<f32>>,
    motions: [Vec<RigidMotion>; 3],
}

impl Rows {
    fn new(columns: &Columns) -> Self {
        let weights = vec![Vec::new(); columns.weights.len()];
        Self { times: Vec::new(), weights, motions: Default::default() }
    }

    fn push(&mut self, row: &Row, columns: &Columns) -> Result<()> {
        let angles = columns.angles.as_flattened();
        let mut values = columns.weights.iter().map(|(column, _)| column).chain(angles);
        if values.all(|column| row.text(*column).is_empty()) {
            // The app saw no face. The gap is interpolated like any other.
            return Ok(());
        }
        let time = self.next_time(row, columns.timecode)?;
        if self.times.last() == Some(&time) {
            // The same instant was written twice; the later row is the newer estimate.
            self.pop();
        }
        self.times.push(time);
        for (values, (column, _)) in self.weights.iter_mut().zip(&columns.weights) {
            values.push(row.weight(*column)?);
        }
        for (motions, [yaw, pitch, roll]) in self.motions.iter_mut().zip(&columns.angles) {
            motions.push(turn(angle(row, *yaw)?, angle(row, *pitch)?, angle(row, *roll)?));
        }
        Ok(())
    }

    fn pop(&mut self) {
        self.times.pop();
        self.weights.iter_mut().for_each(|values| {
            values.pop();
        });
        self.motions.iter_mut().for_each(|motions| {
            motions.pop();
        });
    }

    /// The row's time. A timecode that jumps back by more than half a day has passed midnight.
    fn next_time(&self, row: &Row, column: usize) -> Result<f64> {
        let text = row.text(column);
        let of_day = parse_timecode(text).ok_or_else(|| {
            let text = shown(text.as_bytes());
            row.wrong_at(column, format!("{text} is not a timecode HH:MM:SS:FF.fff with frames below 60"))
        })?;
        let Some(&last) = self.times.last() else { return Ok(of_day) };
        let days = ((last - of_day) / DAY).round();
        let time = of_day + days * DAY;
        if time < last {
            let problem = format!("{} comes before the row above it", shown(text.as_bytes()));
            return Err(row.wrong_at(column, problem));
        }
        Ok(time)
    }

    fn into_take(self, name: String, columns: &Columns) -> Take {
        let first = self.times.first().copied().unwrap_or(0.0);
        let times: Arc<[f64]> = self.times.iter().map(|time| time - first).collect();
        let weights = columns.weights.iter().zip(self.weights).map(|((_, shape), values)| WeightTrack {
            shape: shape.clone(),
            curve: WeightCurve::linear(times.clone(), values),
        });
        let moves = |motions: &[RigidMotion]| motions.iter().any(|motion| motion.rotation != DQuat::IDENTITY);
        let motions = JOINTS
            .iter()
            .zip(self.motions)
            .filter(|(_, motions)| moves(motions))
            .map(|((role, _), motions)| MotionTrack { role: *role, times: times.clone(), motions });
        Take { name, weights: weights.collect(), motions: motions.collect() }
    }
}

/// An angle in radians; more than a full turn can only be in another unit.
fn angle(row: &Row, column: usize) -> Result<f64> {
    let angle = row.number(column)?;
    if angle.abs() > 2.0 * PI {
        return Err(row.wrong_at(column, format!("{angle} is too large for an angle in radians")));
    }
    Ok(angle)
}

/// The rotation of a joint: Rx(pitch) · Ry(-yaw) · Rz(roll).
///
/// The signs of yaw and pitch follow from the look shapes of a recorded take. In that take two readings of the
/// order and of roll's sign leave the eye without twist, to the last digit: this one, which keeps the eye's
/// horizontal axis horizontal, and Rz(-roll) · Ry(-yaw) · Rx(pitch). We take the first because it is the
/// order of SceneKit's Euler angles; the app does not document its own.
fn turn(yaw: f64, pitch: f64, roll: f64) -> RigidMotion {
    if [yaw, pitch, roll] == [0.0; 3] {
        return RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };
    }
    let rotation =
        DQuat::from_rotation_x(pitch) * DQuat::from_rotation_y(-yaw) * DQuat::from_rotation_z(roll);
    RigidMotion { rotation, translation: DVec3::ZERO }
}

/// Seconds since midnight of a timecode `HH:MM:SS:FF.fff`.
fn parse_timecode(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let mut whole = |below: u32| {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|value: &u32| digits && *value < below)
    };
    let (hours, minutes, seconds) = (whole(24)?, whole(60)?, whole(60)?);
    let part = parts.next()?;
    let plain = part.starts_with(|c: char| c.is_ascii_digit())
        && part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let frame: f64 = part.parse().ok().filter(|frame| plain && *frame < TIMECODE_RATE)?;
    if parts.next().is_some() {
        return None;
    }
    Some(f64::from(hours * 3600 + minutes * 60 + seconds) + frame / TIMECODE_RATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timecodes_count_sixty_frames() {
        assert_eq!(parse_timecode("00:00:01:30.000"), Some(1.5));
        assert_eq!(parse_timecode("13:13:04:15"), Some(47_584.25));
        for broken in [
            "",
            "1:2:3",
            "24:00:00:00.0",
            "00:60:00:00",
            "00:00:60:00",
            "00:00:00:60.0",
            "00:00:00:-1",
            "a:b:c:d",
            "00:00:00:00:00",
            "00:00:00:nan",
            "00:00:00:1e1",
            "+1:00:00:00",
            "00:00::00",
            "99999999999:0:0:0",
        ] {
            assert_eq!(parse_timecode(broken), None, "{broken}");
        }
    }

    #[test]
    fn positive_pitch_looks_down_and_positive_yaw_to_the_characters_right() {
        let down = turn(0.0, 0.1, 0.0).apply(DVec3::Z);
        assert!(down.y < -0.09 && down.x == 0.0);
        let right = turn(0.1, 0.0, 0.0).apply(DVec3::Z);
        assert!(right.x < -0.09 && right.y == 0.0);
    }
}
