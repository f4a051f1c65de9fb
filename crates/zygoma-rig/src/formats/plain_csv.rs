//! Takes as plain tables: a `time` column in seconds and one column of weights per shape.

use std::path::Path;

use zygoma_files::OutputFile;

use super::input::read_bytes;
use super::table::Table;
use crate::formats::Limits;
use crate::take::{WeightCurve, WeightTrack};
use crate::{Error, Result, Take};

/// Reads a table `time,shape,…`. Weights are linear between the rows.
pub fn read_take(path: &Path, limits: &Limits) -> Result<Take> {
    let bytes = read_bytes(path, limits)?;
    from_table(Table::new(path, &bytes, limits)?)
}

pub(super) fn from_table(mut table: Table) -> Result<Take> {
    let path = table.path;
    let Some(time_column) = table.column("time") else {
        return Err(Error::malformed(path, "row 1 has no column named time (seconds)"));
    };
    let columns: Vec<usize> = (0..table.header.len()).filter(|column| *column != time_column).collect();
    if columns.is_empty() {
        return Err(Error::malformed(path, "row 1 names no shape beside time"));
    }
    let names: Vec<String> = columns.iter().map(|column| table.header[*column].clone()).collect();
    let mut times: Vec<f64> = Vec::new();
    let mut values = vec![Vec::new(); columns.len()];
    table.for_each_row(|row| {
        let time = row.number(time_column)?;
        if let Some(before) = times.last().filter(|before| **before >= time) {
            return Err(row.wrong_at(time_column, format!("time {time} does not come after {before}")));
        }
        times.push(time);
        for (values, column) in values.iter_mut().zip(&columns) {
            values.push(row.weight(*column)?);
        }
        Ok(())
    })?;
    if times.is_empty() {
        return Err(Error::malformed(path, "there are no rows below the header"));
    }
    let times: std::sync::Arc<[f64]> = times.into();
    let weights = names
        .into_iter()
        .zip(values)
        .map(|(shape, values)| WeightTrack { shape, curve: WeightCurve::linear(times.clone(), values) });
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Take { name, weights: weights.collect(), motions: Vec::new() })
}

/// Writes a take's weights as a table `time,shape,…` with a row wherever any of them has a key. The table
/// has no place for head motion.
pub fn write_take(take: &Take, path: &Path) -> Result<()> {
    let mut times: Vec<f64> =
        take.weights.iter().flat_map(|track| track.curve.times.iter().copied()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut row = vec!["time".to_owned()];
    row.extend(take.weights.iter().map(|track| track.shape.clone()));
    let mut file = OutputFile::create(path)?;
    file.bytes(&csv_line(path, &row)?)?;
    for time in times {
        row.clear();
        row.push(time.to_string());
        row.extend(take.weights.iter().map(|track| track.curve.sample(time).to_string()));
        file.bytes(&csv_line(path, &row)?)?;
    }
    Ok(file.finish()?)
}

fn csv_line(path: &Path, row: &[String]) -> Result<Vec<u8>> {
    let failed =
        |error: csv::Error| Error::Io { path: path.to_owned(), action: "writing", source: error.into() };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(row).map_err(failed)?;
    writer.into_inner().map_err(|error| failed(error.into_error().into()))
}
