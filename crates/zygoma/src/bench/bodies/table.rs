//! The table of all cells, as Markdown.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use super::cell::{Cell, CrossingCounts, Measured, PeakAt};

/// Largest report or page to read, in bytes.
const MOST_BYTES: u64 = 1 << 26;

/// The table stands between these two lines of a page.
const BEGIN: &str = "<!-- zygoma bench bodies -->";
const END: &str = "<!-- end of zygoma bench bodies -->";

const HEADER: &str = "| rig | body | take | worst mm | p95 mm | pop mm/frame² | inverted (lasting) | crossings (rig) | returned % | swing, left mm | ms | misses |\n\
                      |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n";

/// A report that was saved as JSON.
#[derive(Deserialize)]
struct Written {
    results: Vec<Cell>,
}

/// Reads the cells of a report that was saved as JSON.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Cell>> {
    let bytes = zygoma_files::read(path, MOST_BYTES)?;
    let written: Written = serde_json::from_slice(&bytes).with_context(|| {
        format!("{}: this is not what 'zygoma bench bodies --json' prints", path.display())
    })?;
    Ok(written.results)
}

/// Puts the table on a page: between its marks if it has them, otherwise at the end. A missing page is created.
pub(crate) fn write(path: &Path, cells: &[Cell]) -> anyhow::Result<()> {
    let page = if path.exists() { zygoma_files::read_own(path, MOST_BYTES)? } else { Vec::new() };
    let page = String::from_utf8(page).with_context(|| format!("{}: this is not text", path.display()))?;
    zygoma_files::write(path, with_table(&page, cells).as_bytes())?;
    Ok(())
}

fn with_table(page: &str, cells: &[Cell]) -> String {
    let block = format!("{BEGIN}\n\n{}\n{END}", markdown(cells));
    match (page.find(BEGIN), page.find(END)) {
        (Some(from), Some(to)) if from < to => {
            format!("{}{block}{}", &page[..from], &page[to + END.len()..])
        }
        _ => format!("{page}{block}\n"),
    }
}

/// All cells as a Markdown table.
fn markdown(cells: &[Cell]) -> String {
    let mut text = HEADER.to_owned();
    for cell in cells {
        let figures = match (&cell.measured, &cell.error) {
            (Some(measured), _) => figures(measured).join(" | "),
            (None, problem) => {
                format!("{} | | | | | | | ", problem.as_deref().unwrap_or("").replace('|', "/"))
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {figures} | {} |",
            cell.rig,
            cell.body.name(),
            cell.take,
            cell.misses.join(", ")
        );
    }
    text
}

fn figures(found: &Measured) -> Vec<String> {
    let peak = |peak: &PeakAt| {
        peak.value.map_or_else(|| "∞".to_owned(), |value| format!("{value:.2}")) + &format!(" {}", peak.near)
    };
    vec![
        peak(&found.worst),
        format!("{:.2}", found.p95_mm),
        peak(&found.pop),
        format!("{} ({})", found.inverted.momentary, found.inverted.lasting),
        crossings(&found.crossings),
        format!("{:.2}", found.returned_percent),
        found.shaken.as_ref().map_or_else(String::new, |s| format!("{:.1}, {:.2}", s.swing_mm, s.left_mm)),
        format!("{:.1}", found.ms),
    ]
}

fn crossings(found: &CrossingCounts) -> String {
    let near = if found.shown > found.plain { format!(" {}", found.near) } else { String::new() };
    format!("{} ({}){near}", found.shown, found.plain)
}

/// One cell as a line.
pub(crate) fn line(cell: &Cell) -> String {
    let name = format!("{} {} {}", cell.rig, cell.body.name(), cell.take);
    let Some(found) = &cell.measured else {
        return format!("{name}: {}", cell.error.as_deref().unwrap_or("not measured"));
    };
    let [worst, p95, pop, inverted, crossings, returned, shaken, ms] =
        <[String; 8]>::try_from(figures(found)).unwrap_or_default();
    let shaken = if shaken.is_empty() { shaken } else { format!(", swing and left {shaken} mm") };
    let misses =
        if cell.misses.is_empty() { String::new() } else { format!("; misses {}", cell.misses.join(", ")) };
    let failed = found.failed.as_ref().map_or_else(String::new, |failed| format!("; FAILED at {failed}"));
    format!(
        "{name}: worst {worst}, p95 {p95} mm, pop {pop}, inverted {inverted}, crossings {crossings}, returned {returned} %{shaken}, \
         {ms} ms a frame; {:.1} s{misses}{failed}",
        found.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::super::cell::BodyKind;
    use super::*;

    fn cell(rig: &str) -> Cell {
        Cell {
            rig: rig.to_owned(),
            body: BodyKind::Tissue,
            take: "tour".to_owned(),
            measured: Some(Measured { p95_mm: 0.456, ms: 17.04, ..Measured::default() }),
            error: None,
            misses: vec!["worst".to_owned()],
        }
    }

    #[test]
    fn a_page_keeps_its_words_and_gets_the_new_table() {
        let page = with_table("# Rigs\n\nWords.\n\n", &[cell("a")]);
        let again = with_table(&format!("{page}\nMore words.\n"), &[cell("b")]);
        assert!(again.starts_with("# Rigs\n\nWords.\n") && again.ends_with("More words.\n"), "{again}");
        assert!(again.contains("| b | tissue | tour |") && !again.contains("| a |"), "{again}");
        assert_eq!(again.matches("| rig |").count(), 1);
        let columns = |line: &str| line.matches('|').count();
        let rows: Vec<&str> = again.lines().filter(|line| line.starts_with('|')).collect();
        assert!(rows.iter().all(|row| columns(row) == columns(rows[0])), "{again}");
        let failed = Cell { measured: None, error: Some("no | face".to_owned()), ..cell("c") };
        assert_eq!(columns(markdown(&[failed]).lines().last().unwrap_or("")), columns(rows[0]));
    }
}
