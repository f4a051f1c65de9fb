//! One self-contained page with the figures of one run.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::chart::Chart;
use crate::clip::Clip;
use crate::error::Result;
use crate::image::Image;

/// Escapes text for HTML and SVG, between tags and within quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Control characters are not allowed in XML; a page must survive any file name.
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Builds `report.html`: text, tables, pictures and charts in the order in which they are added. All
/// strings are treated as plain text; the page loads nothing from elsewhere.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
    body: String,
}

impl Report {
    /// An empty report.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: String::new() }
    }

    /// Starts a section.
    pub fn section(&mut self, heading: &str) -> &mut Self {
        self.add(format_args!("<h2>{}</h2>", escape(heading)))
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) -> &mut Self {
        self.add(format_args!("<p>{}</p>", escape(text)))
    }

    /// Adds a list.
    pub fn list<T: AsRef<str>>(&mut self, items: &[T]) -> &mut Self {
        let items: String = items.iter().map(|item| format!("<li>{}</li>", escape(item.as_ref()))).collect();
        self.add(format_args!("<ul>{items}</ul>"))
    }

    /// Adds preformatted text, such as a program's output.
    pub fn preformatted(&mut self, text: &str) -> &mut Self {
        self.add(format_args!("<pre>{}</pre>", escape(text)))
    }

    /// Adds a table. Columns whose every cell begins like a number are set flush right.
    pub fn table<T: AsRef<str>>(&mut self, header: &[&str], rows: &[Vec<T>]) -> &mut Self {
        let is_number = |cell: &str| {
            let first = cell.trim_start_matches(['-', '+', '−', '±', '<', '>', '~', ' ']);
            cell.is_empty() || first.starts_with(|c: char| c.is_ascii_digit())
        };
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(header.len());
        let numeric: Vec<bool> = (0..columns)
            .map(|i| !rows.is_empty() && rows.iter().all(|r| r.get(i).is_none_or(|c| is_number(c.as_ref()))))
            .collect();
        let class = |i: usize| if numeric[i] { " class=\"number\"" } else { "" };
        let mut table = String::from("<div class=\"wide\"><table><thead><tr>");
        for (i, cell) in header.iter().enumerate() {
            let _ = write!(table, "<th{}>{}</th>", class(i), escape(cell));
        }
        table.push_str("</tr></thead><tbody>\n");
        for row in rows {
            table.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let _ = write!(table, "<td{}>{}</td>", class(i), escape(cell.as_ref()));
            }
            table.push_str("</tr>\n");
        }
        table.push_str("</tbody></table></div>");
        self.add(format_args!("{table}"))
    }

    /// Adds a picture with its caption, embedded as PNG.
    pub fn figure(&mut self, picture: &Image, caption: &str) -> Result<&mut Self> {
        Ok(self.embed(&picture.to_png()?, [picture.width(), picture.height()], caption))
    }

    /// Adds a looping clip with its caption, embedded as an animated PNG.
    pub fn clip(&mut self, clip: &Clip, caption: &str) -> Result<&mut Self> {
        Ok(self.embed(&clip.to_png()?, clip.size(), caption))
    }

    fn embed(&mut self, png: &[u8], [width, height]: [usize; 2], caption: &str) -> &mut Self {
        let data = STANDARD.encode(png);
        let caption = escape(caption);
        self.add(format_args!(
            "<figure><img src=\"data:image/png;base64,{data}\" width=\"{width}\" height=\"{height}\" \
             alt=\"{caption}\"><figcaption>{caption}</figcaption></figure>"
        ))
    }

    /// Adds a chart with its caption.
    pub fn chart(&mut self, chart: &Chart, caption: &str) -> &mut Self {
        let (svg, caption) = (chart.to_svg(), escape(caption));
        self.add(format_args!("<figure>{svg}<figcaption>{caption}</figcaption></figure>"))
    }

    /// The whole page.
    pub fn to_html(&self) -> String {
        let (title, body) = (escape(&self.title), &self.body);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
             {body}</main>\n</body>\n</html>\n"
        )
    }

    /// Writes the page, under a temporary name first, so that no partial file is left.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(zygoma_files::write(path, self.to_html().as_bytes())?)
    }

    fn add(&mut self, element: std::fmt::Arguments) -> &mut Self {
        let _ = writeln!(self.body, "{element}");
        self
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1d2127; --soft: #5c6570; --paper: #ffffff; --card: #f5f6f8; --line: #dde1e6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #a0a8b3; --paper: #15181c; --card: #1d2126; --line: #333a43; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1.5rem; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 0.75rem; padding-top: 0.75rem; border-top: 1px solid var(--line); }
p, ul { max-width: 44rem; }
pre { background: var(--card); border-radius: 8px; padding: 0.9rem 1.1rem; overflow-x: auto; font-size: 0.85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--line); }
th, td { padding: 0.4rem 1.1rem 0.4rem 0; }
td { border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; }
figure { margin: 1.5rem 0; padding: 1rem; background: var(--card); border-radius: 10px; }
figure img, figure svg { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: 6px; }
figcaption { margin-top: 0.75rem; color: var(--soft); font-size: 0.9rem; text-align: center; }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Line;

    #[test]
    fn everything_given_is_plain_text() {
        let evil = "<script>alert('x')</script> & \"quoted\"\u{1}";
        let mut report = Report::new(evil);
        report.section(evil).paragraph(evil).list(&[evil]).preformatted(evil).table(&[evil], &[vec![evil]]);
        report.figure(&Image::filled(2, 2, [0.5; 3]), evil).unwrap();
        report.chart(&Chart { title: evil.into(), ..Chart::default() }, evil);
        let html = report.to_html();
        assert!(!html.contains("<script") && !html.contains('\u{1}') && !html.contains("alert('x')"));
        assert_eq!(html.matches("&lt;script&gt;").count(), 13);
    }

    #[test]
    fn the_embedded_picture_is_the_picture() {
        let picture = Image::filled(5, 3, [0.2, 0.4, 0.6]);
        let mut report = Report::new("run");
        report.figure(&picture, "one colour").unwrap();
        let html = report.to_html();
        let data = html.split("base64,").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(Image::from_png(&STANDARD.decode(data).unwrap()).unwrap(), picture);
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let mut report = Report::new("run");
        let line = Line { name: "fit".into(), points: vec![[0.0, 1.0], [1.0, 0.1]] };
        report.chart(&Chart { lines: vec![line], ..Chart::default() }, "curve");
        let html = report.to_html().replace("http://www.w3.org/2000/svg", "");
        assert!(!html.contains("http") && !html.contains("src=\"/") && !html.contains("@import"));
    }

    #[test]
    fn columns_of_numbers_are_flush_right() {
        let mut report = Report::new("run");
        report.table(&["name", "time"], &[vec!["a", "1.5 ms"], vec!["b", "<2 ms"]]);
        let html = report.to_html();
        assert!(html.contains("<th>name</th><th class=\"number\">time</th>"), "{html}");
    }
}
