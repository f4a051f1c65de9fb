//! Line charts as SVG, for curves in reports.

use std::fmt::Write as _;

use crate::report::escape;
use crate::ticks::{Tick, log_ticks, ticks};

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers of ten; values that are not positive are left out.
    Log,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points; where one is not finite (or not positive on a log axis) the line is interrupted.
    pub points: Vec<[f64; 2]>,
}

/// A line chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The title of the chart.
    pub title: String,
    /// Quantity and unit along the horizontal axis.
    pub x_label: String,
    /// Quantity and unit along the vertical axis.
    pub y_label: String,
    /// Layout of the horizontal axis.
    pub x_scale: Scale,
    /// Layout of the vertical axis.
    pub y_scale: Scale,
    /// The curves.
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
const LEGEND_ROW: f64 = 18.0;
/// Colours that most people can tell apart, on light and on dark backgrounds.
const COLORS: [&str; 7] = ["#3b7dd8", "#d9622b", "#2f9e6e", "#b0529f", "#a88a1d", "#5a6b7d", "#c23b4b"];

/// One axis: maps values to positions on the page.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, scale: Scale, [start, end]: [f64; 2]) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| shown(*value, scale)) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        (low, high) = match scale {
            Scale::Linear if low == high => {
                (low - 0.5 * low.abs().max(1.0), high + 0.5 * high.abs().max(1.0))
            }
            Scale::Linear => (low - 0.03 * (high - low), high + 0.03 * (high - low)),
            Scale::Log if low == high => (low / 3.0, high * 3.0),
            Scale::Log => (low / 1.15, high * 1.15),
        };
        Self { scale, low, high, start, end }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.start + share * (self.end - self.start)
    }

    fn ticks(&self, count: usize) -> Vec<Tick> {
        let range = [self.low, self.high];
        let linear = || ticks(range, count);
        match self.scale {
            Scale::Linear => linear(),
            // Less than two decades contain too few powers of ten to label the axis.
            Scale::Log => Some(log_ticks(range, count)).filter(|t| t.len() > 1).unwrap_or_else(linear),
        }
    }
}

fn shown(value: f64, scale: Scale) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

impl Chart {
    /// The chart as an `<svg>` element. It draws in `currentColor`, so it suits light and dark pages.
    pub fn to_svg(&self) -> String {
        let columns = self.legend_columns();
        let rows = self.lines.len().div_ceil(columns) as f64;
        let column_width = (WIDTH - LEFT - RIGHT) / columns as f64;
        let height = HEIGHT + LEGEND_ROW * rows;
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::new(points().map(|p| p[0]), self.x_scale, [LEFT, WIDTH - RIGHT]);
        let y = Axis::new(points().map(|p| p[1]), self.y_scale, [HEIGHT - BOTTOM, TOP]);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" \
             fill=\"currentColor\">\n<title>{}</title>\n",
            escape(&self.title)
        );
        text(&mut svg, [0.5 * WIDTH, 22.0], "font-size=\"15\" font-weight=\"600\"", &self.title);
        axes(&mut svg, &x, &y);
        text(&mut svg, [0.5 * (LEFT + WIDTH - RIGHT), HEIGHT - 10.0], "", &self.x_label);
        let middle = 0.5 * (TOP + HEIGHT - BOTTOM);
        text(&mut svg, [16.0, middle], &format!("transform=\"rotate(-90 16 {middle})\""), &self.y_label);
        for (i, line) in self.lines.iter().enumerate() {
            let color = COLORS[i % COLORS.len()];
            self.draw_line(&mut svg, line, &x, &y, color);
            let left = LEFT + (i % columns) as f64 * column_width;
            let down = HEIGHT + 4.0 + (i / columns) as f64 * LEGEND_ROW;
            element(
                &mut svg,
                [left, down, left + 22.0, down],
                &format!("stroke=\"{color}\" stroke-width=\"2.5\""),
            );
            let label = [left + 28.0, down + 4.0];
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                label[0],
                label[1],
                escape(&line.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// As many columns as the longest name allows.
    fn legend_columns(&self) -> usize {
        let longest = self.lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
        match longest {
            0..=22 => 3,
            23..=36 => 2,
            _ => 1,
        }
    }

    fn draw_line(&self, svg: &mut String, line: &Line, x: &Axis, y: &Axis, color: &str) {
        let mut path = String::new();
        let mut pen_down = false;
        for point in &line.points {
            if !(shown(point[0], self.x_scale) && shown(point[1], self.y_scale)) {
                pen_down = false;
                continue;
            }
            let command = if pen_down { 'L' } else { 'M' };
            let _ = write!(path, "{command}{:.2} {:.2}", x.place(point[0]), y.place(point[1]));
            pen_down = true;
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" stroke-linejoin=\"round\" \
             stroke-linecap=\"round\"/>"
        );
    }
}

/// Grid, frame and tick labels.
fn axes(svg: &mut String, x: &Axis, y: &Axis) {
    let faint = "stroke=\"currentColor\" stroke-opacity=\"0.15\"";
    for tick in x.ticks(7) {
        let at = x.place(tick.value);
        element(svg, [at, y.start, at, y.end], faint);
        text(svg, [at, y.start + 17.0], "", &tick.label);
    }
    for tick in y.ticks(6) {
        let at = y.place(tick.value);
        element(svg, [x.start, at, x.end, at], faint);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            x.start - 7.0,
            at + 4.0,
            tick.label
        );
    }
    element(svg, [x.start, y.start, x.end, y.start], "stroke=\"currentColor\"");
    element(svg, [x.start, y.start, x.start, y.end], "stroke=\"currentColor\"");
}

fn element(svg: &mut String, [x1, y1, x2, y2]: [f64; 4], style: &str) {
    let _ = writeln!(svg, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
}

fn text(svg: &mut String, [x, y]: [f64; 2], style: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" {style}>{}</text>",
        escape(words)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale, points: Vec<[f64; 2]>) -> Chart {
        Chart {
            title: "residual <|> & co".into(),
            y_scale: scale,
            lines: vec![Line { name: "a \"b\"".into(), points }],
            ..Chart::default()
        }
    }

    #[test]
    fn text_is_escaped_and_the_line_drawn() {
        let svg = chart(Scale::Linear, vec![[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]]).to_svg();
        assert!(svg.contains("residual &lt;|&gt; &amp; co") && svg.contains("a &quot;b&quot;"));
        let path = svg.split("<path d=\"").nth(1).unwrap();
        assert_eq!(path.split('"').next().unwrap().matches('L').count(), 2);
    }

    #[test]
    fn a_log_axis_spaces_decades_evenly_and_skips_zero() {
        let axis = Axis::new([1e-4, 0.0, -3.0, 1.0].into_iter(), Scale::Log, [0.0, 100.0]);
        let step = axis.place(1e-1) - axis.place(1e-2);
        assert!((axis.place(1e-3) - axis.place(1e-4) - step).abs() < 1e-9);
        let svg = chart(Scale::Log, vec![[0.0, 1.0], [1.0, 0.0], [2.0, 0.01]]).to_svg();
        let path = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 0));
    }

    #[test]
    fn empty_and_constant_charts_have_finite_coordinates() {
        for points in [vec![], vec![[1.0, 1.0]], vec![[f64::NAN, 0.0]], vec![[0.0, 0.0], [1.0, 0.0]]] {
            for scale in [Scale::Linear, Scale::Log] {
                let svg = chart(scale, points.clone()).to_svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }
}
