//! Tables of numbers in CSV files, with errors that name row and column.

use std::path::Path;

use crate::formats::Limits;
use crate::formats::input::{shown, without_mark};
use crate::{Error, Result};

/// A CSV file with a header row. Rows are lines of the file, counted from 1.
pub(super) struct Table<'a> {
    pub(super) path: &'a Path,
    pub(super) header: Vec<String>,
    text: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    row_limit: usize,
}

/// One row below the header.
pub(super) struct Row<'a> {
    path: &'a Path,
    header: &'a [String],
    record: csv::StringRecord,
    /// Its number in the file.
    pub(super) number: u64,
}

impl<'a> Table<'a> {
    /// Reads the header. `path` is for errors only.
    pub(super) fn new(path: &'a Path, bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        let text = without_mark(bytes);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text);
        let mut record = csv::StringRecord::new();
        let found = reader.read_record(&mut record).map_err(|error| unreadable(path, &error))?;
        if !found {
            return Err(Error::malformed(path, "the file is empty; its first row must name the columns"));
        }
        if record.len() > limits.shapes {
            let problem = format!("row 1 names {} columns, more than are allowed", record.len());
            return Err(Error::malformed(path, problem));
        }
        let header: Vec<String> = record.iter().map(str::to_owned).collect();
        for (at, name) in header.iter().enumerate() {
            if name.is_empty() {
                return Err(Error::malformed(path, format!("row 1: column {} has no name", at + 1)));
            }
            if header[..at].iter().any(|earlier| earlier.eq_ignore_ascii_case(name)) {
                let problem = format!("row 1: the column {} appears twice", shown(name.as_bytes()));
                return Err(Error::malformed(path, problem));
            }
        }
        Ok(Self { path, header, text, reader, row_limit: limits.keys })
    }

    /// The column with this name in any case.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// All rows below the header, in order, each with as many fields as the header.
    pub(super) fn for_each_row(&mut self, mut visit: impl FnMut(&Row) -> Result<()>) -> Result<()> {
        let mut row =
            Row { path: self.path, header: &self.header, record: csv::StringRecord::new(), number: 0 };
        let mut count = 0;
        while self.reader.read_record(&mut row.record).map_err(|error| unreadable(self.path, &error))? {
            row.number = row.record.position().map_or(0, |position| line(self.text, position));
            count += 1;
            if count > self.row_limit {
                let problem = format!("there are more than the {} rows that are allowed", self.row_limit);
                return Err(Error::malformed(self.path, problem));
            }
            if row.record.len() != self.header.len() {
                let (fields, columns) = (row.record.len(), self.header.len());
                return Err(row.wrong(format!("it has {fields} fields, but row 1 names {columns} columns")));
            }
            visit(&row)?;
        }
        Ok(())
    }
}

impl Row<'_> {
    /// The text of a field.
    pub(super) fn text(&self, column: usize) -> &str {
        &self.record[column]
    }

    /// The finite number in a field.
    pub(super) fn number(&self, column: usize) -> Result<f64> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            self.wrong_at(column, format!("{} is not a finite number", shown(text.as_bytes())))
        })
    }

    /// The finite weight in a field.
    pub(super) fn weight(&self, column: usize) -> Result<f32> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number: &f32| number.is_finite());
        number.ok_or_else(|| {
            self.wrong_at(column, format!("{} is not a finite number", shown(text.as_bytes())))
        })
    }

    /// An error about one field.
    pub(super) fn wrong_at(&self, column: usize, problem: impl std::fmt::Display) -> Error {
        self.wrong(format!("column {}: {problem}", shown(self.header[column].as_bytes())))
    }

    /// An error about this row.
    pub(super) fn wrong(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.path, format!("row {}: {problem}", self.number))
    }
}

/// The line that a record begins in. The reader's position lies before the rest of the line break above it
/// and before empty lines.
fn line(text: &[u8], position: &csv::Position) -> u64 {
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let breaks = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n');
    position.line() + breaks.count() as u64
}

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    let place = error.position().map_or_else(String::new, |position| format!("row {}: ", position.line()));
    Error::malformed(path, format!("{place}this is not text in UTF-8; save the table as CSV UTF-8"))
}
