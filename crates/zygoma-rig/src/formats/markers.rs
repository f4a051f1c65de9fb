//! Markers on a face as a table: a `time` column, and three columns `name.x`, `name.y`, `name.z` per marker, in metres.
//!
//! The first row below the header has `rest` as its time, and where each marker sits on the neutral: a position, or the index of a
//! vertex as `#123`. Every row after it is a time in seconds, with the markers' positions in the head's frame. A marker that is not seen
//! in a row has empty fields there; it is interpolated linearly between the positions before and after.

use std::path::Path;
use std::sync::Arc;

use glam::Vec3;

use super::input::{read_bytes, shown};
use super::table::{Row, Table};
use crate::formats::Limits;
use crate::{Error, Result};

/// Where a marker sits on the neutral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MarkerPlace {
    /// At a vertex of the skin's mesh.
    Vertex(u32),
    /// At the skin nearest to a position, m.
    At(Vec3),
}

/// Markers and their positions over time.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerTake {
    /// The file's name.
    pub name: String,
    /// The markers' names and places.
    pub markers: Vec<(String, MarkerPlace)>,
    /// Times, s, ascending.
    pub times: Arc<[f64]>,
    /// The position of each marker at each time, m in the head's frame.
    pub positions: Vec<Vec<Vec3>>,
}

impl MarkerTake {
    /// The markers' positions at a time: linear between the rows, held before the first and after the last.
    pub fn sample(&self, time: f64) -> Vec<Vec3> {
        let after = self.times.partition_point(|t| *t <= time);
        let (a, b) = (after.saturating_sub(1), after.min(self.times.len() - 1));
        let length = self.times[b] - self.times[a];
        let fraction =
            if length > 0.0 { ((time - self.times[a]) / length).clamp(0.0, 1.0) as f32 } else { 0.0 };
        self.positions[a].iter().zip(&self.positions[b]).map(|(a, b)| a.lerp(*b, fraction)).collect()
    }
}

/// Reads a table of markers.
pub fn read_markers(path: &Path, limits: &Limits) -> Result<MarkerTake> {
    let bytes = read_bytes(path, limits)?;
    from_table(Table::new(path, &bytes, limits)?)
}

/// A marker's position, if it was seen.
type Sight = Option<Vec3>;

fn from_table(mut table: Table) -> Result<MarkerTake> {
    let path = table.path;
    if table.header[0] != "time" {
        return Err(Error::malformed(path, "row 1 must begin with the column time (seconds)"));
    }
    let names = marker_names(path, &table.header)?;
    let mut places: Vec<MarkerPlace> = Vec::new();
    let mut times: Vec<f64> = Vec::new();
    let mut sights: Vec<Vec<Sight>> = Vec::new();
    table.for_each_row(|row| {
        let columns = (0..names.len()).map(|marker| 1 + 3 * marker);
        if places.is_empty() {
            if !row.text(0).eq_ignore_ascii_case("rest") {
                let problem = "the first row below the header must have rest for its time, and say where the markers sit on the neutral";
                return Err(row.wrong(problem));
            }
            places = columns.map(|column| place(row, column)).collect::<Result<_>>()?;
            return Ok(());
        }
        let time = row.number(0)?;
        if let Some(before) = times.last().filter(|before| **before >= time) {
            return Err(row.wrong_at(0, format!("time {time} does not come after {before}")));
        }
        times.push(time);
        sights.push(columns.map(|column| sight(row, column)).collect::<Result<_>>()?);
        Ok(())
    })?;
    if times.is_empty() {
        return Err(Error::malformed(path, "there are no moments below the row rest"));
    }
    let unseen = (0..names.len()).find(|marker| sights.iter().all(|row| row[*marker].is_none()));
    if let Some(marker) = unseen {
        let name = shown(names[marker].as_bytes());
        return Err(Error::malformed(
            path,
            format!("the marker {name} is never seen; leave its columns out"),
        ));
    }
    Ok(MarkerTake {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        markers: names.into_iter().zip(places).collect(),
        positions: filled(&times, &sights),
        times: times.into(),
    })
}

/// The marker names, from groups of three columns.
fn marker_names(path: &Path, header: &[String]) -> Result<Vec<String>> {
    let wrong = |column: usize| {
        let name = shown(header[column].as_bytes());
        let problem =
            format!("row 1: column {name} is not one of a marker's three columns name.x, name.y, name.z");
        Error::malformed(path, problem)
    };
    if header.len() < 4 {
        return Err(Error::malformed(
            path,
            "row 1 names no marker: it needs three columns name.x, name.y, name.z",
        ));
    }
    let mut names = Vec::new();
    for first in (1..header.len()).step_by(3) {
        let name = header[first].strip_suffix(".x").ok_or_else(|| wrong(first))?;
        for (column, axis) in [(first + 1, ".y"), (first + 2, ".z")] {
            let found = header.get(column).and_then(|text| text.strip_suffix(axis));
            if found != Some(name) {
                return Err(wrong(column.min(header.len() - 1)));
            }
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn place(row: &Row, column: usize) -> Result<MarkerPlace> {
    if let Some(number) = row.text(column).strip_prefix('#') {
        let vertex = number.parse().map_err(|_| {
            row.wrong_at(column, format!("{} is not the number of a vertex", shown(number.as_bytes())))
        })?;
        return Ok(MarkerPlace::Vertex(vertex));
    }
    let at = sight(row, column)?;
    at.map(MarkerPlace::At).ok_or_else(|| {
        row.wrong_at(column, "a marker needs a place at rest: a position, or the number of a vertex as #123")
    })
}

fn sight(row: &Row, column: usize) -> Result<Sight> {
    let fields = column..column + 3;
    if fields.clone().all(|field| row.text(field).is_empty()) {
        return Ok(None);
    }
    let mut at = [0.0; 3];
    for (number, field) in at.iter_mut().zip(fields) {
        *number = row.weight(field)?;
    }
    Ok(Some(Vec3::from_array(at)))
}

/// Fills gaps by interpolating between the times at which a marker was seen.
fn filled(times: &[f64], sights: &[Vec<Sight>]) -> Vec<Vec<Vec3>> {
    let mut positions = vec![vec![Vec3::ZERO; sights[0].len()]; times.len()];
    for marker in 0..sights[0].len() {
        let seen: Vec<(usize, Vec3)> =
            sights.iter().enumerate().filter_map(|(moment, row)| Some((moment, row[marker]?))).collect();
        for (moment, row) in positions.iter_mut().enumerate() {
            let after = seen.partition_point(|(seen, _)| *seen <= moment);
            let (a, b) = (seen[after.saturating_sub(1)], seen[after.min(seen.len() - 1)]);
            let length = times[b.0] - times[a.0];
            let fraction = if length > 0.0 { (times[moment] - times[a.0]) / length } else { 0.0 };
            row[marker] = a.1.lerp(b.1, fraction as f32);
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<MarkerTake> {
        from_table(Table::new(Path::new("m.csv"), text.as_bytes(), &Limits::default())?)
    }

    #[test]
    fn markers_go_straight_where_they_are_not_seen() {
        let take = read(
            "time,lip.x,lip.y,lip.z,brow.x,brow.y,brow.z\n\
             rest,#7,,,0.1,0.2,0.3\n\
             0,0,0,0,0.1,0.2,0.3\n\
             1,,,,0.1,0.2,0.4\n\
             3,0.3,0,0,,,\n",
        )
        .unwrap();
        assert_eq!(take.markers[0], ("lip".to_owned(), MarkerPlace::Vertex(7)));
        assert_eq!(take.markers[1].1, MarkerPlace::At(Vec3::new(0.1, 0.2, 0.3)));
        assert!(take.positions[1][0].distance(Vec3::X * 0.1) < 1e-6);
        assert_eq!(take.positions[2][1].z, 0.4);
        assert!(take.sample(2.0)[0].distance(Vec3::X * 0.2) < 1e-6);
        assert_eq!(take.sample(-1.0), take.positions[0]);
        assert_eq!(take.sample(9.0), take.positions[2]);
    }

    #[test]
    fn mistakes_are_named() {
        let header = "time,lip.x,lip.y,lip.z\n";
        for (text, wanted) in [
            ("time\nrest\n", "names no marker"),
            ("a,lip.x,lip.y,lip.z\n", "begin with the column time"),
            ("time,lip.x,lip.y,chin.z\n", "not one of a marker's three columns"),
            ("time,lip.x,lip.y\n", "names no marker"),
            ("time,lip.x,lip.y,lip.z,brow.x\n", "not one of a marker's three columns"),
            (&format!("{header}0,0,0,0\n"), "rest"),
            (&format!("{header}rest,#x,,\n0,0,0,0\n"), "not the number of a vertex"),
            (&format!("{header}rest,,,\n0,0,0,0\n"), "needs a place at rest"),
            (&format!("{header}rest,0,0,0\n"), "no moments"),
            (&format!("{header}rest,0,0,0\n0,,,\n"), "never seen"),
            (&format!("{header}rest,0,0,0\n0,1,,0\n"), "not a finite number"),
            (&format!("{header}rest,0,0,0\n0,1,inf,0\n"), "not a finite number"),
            (&format!("{header}rest,0,0,0\n1,0,0,0\n1,0,0,0\n"), "does not come after"),
            (&format!("{header}rest,0,0,0\n1,0,0\n"), "fields"),
        ] {
            let problem = read(text).unwrap_err().to_string();
            assert!(problem.contains(wanted), "{text}: {problem}");
        }
    }
}
