//! The legend that explains the colours of a field.

use crate::chart::Scale;
use crate::color_map::ColorMap;
use crate::image::Image;
use crate::text::TextStyle;
use crate::ticks::{log_ticks, ticks};

/// The contents of a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend<'a> {
    /// The colours.
    pub map: ColorMap,
    /// The values at the ends of the map.
    pub range: [f32; 2],
    /// The quantity that is shown, e.g. "distance".
    pub title: &'a str,
    /// Its unit, e.g. "mm"; empty for a dimensionless number.
    pub unit: &'a str,
    /// How the values are laid out along the map.
    pub scale: Scale,
}

const MARGIN: usize = 12;
const BAR: usize = 22;
const TICK: usize = 5;
const INK: [f32; 3] = [0.13, 0.14, 0.16];

impl Legend<'_> {
    /// An upright bar with ticks beside it and the title above it, `height` pixels high in all.
    pub fn draw(&self, height: usize) -> Image {
        let style = TextStyle::default();
        let title_style = TextStyle { bold: true, ..style };
        let title = if self.unit.is_empty() {
            self.title.to_owned()
        } else {
            format!("{} [{}]", self.title, self.unit)
        };
        let top = MARGIN + style.line_height() + MARGIN;
        let bar_height = height.saturating_sub(top + MARGIN + style.line_height() / 2).max(2);
        let [low, high] = self.range.map(f64::from);
        let count = (bar_height / 60).clamp(2, 8);
        let marks = match self.scale {
            Scale::Linear => ticks([low, high], count),
            Scale::Log => log_ticks([low, high], count),
        };
        let share = |value: f64| match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log => (value / low).ln() / (high / low).ln(),
        };
        let widest = marks.iter().map(|mark| style.width(&mark.label)).max().unwrap_or(0);
        let width = 2 * MARGIN + title_style.width(&title).max(BAR + 2 * TICK + widest);

        let mut image = Image::filled(width, height, [1.0; 3]);
        image.text(MARGIN as i64, MARGIN as i64, &title, title_style);
        for row in 0..bar_height {
            let place = 1.0 - row as f32 / (bar_height - 1) as f32;
            image.fill(MARGIN as i64, (top + row) as i64, BAR, 1, self.map.color(place));
        }
        for mark in marks {
            let down = (1.0 - share(mark.value)) * (bar_height - 1) as f64;
            let y = top as i64 + down.round() as i64;
            image.fill((MARGIN + BAR) as i64, y, TICK, 1, INK);
            let left = (MARGIN + BAR + 2 * TICK) as i64;
            image.text(left, y - style.line_height() as i64 / 2, &mark.label, style);
        }
        image
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::to_bytes;

    const LEGEND: Legend = Legend {
        map: ColorMap::Sequential,
        range: [0.0, 4.0],
        title: "distance",
        unit: "mm",
        scale: Scale::Linear,
    };

    #[test]
    fn the_bar_runs_from_low_to_high_upwards() {
        let image = LEGEND.draw(300);
        let x = MARGIN + BAR / 2;
        let top = 2 * MARGIN + 16;
        let bottom = 300 - MARGIN - 8 - 1;
        let opaque = |[r, g, b]: [u8; 3]| Some([r, g, b, 255]);
        assert_eq!(image.pixel(x, top), opaque(to_bytes(LEGEND.map.color(1.0))));
        assert_eq!(image.pixel(x, bottom), opaque(to_bytes(LEGEND.map.color(0.0))));
    }

    #[test]
    fn ticks_stand_at_their_values() {
        let image = LEGEND.draw(300);
        let x = MARGIN + BAR + TICK / 2;
        // Below the title.
        let inked: Vec<usize> = (30..300).filter(|y| image.pixel(x, *y) != Some([255; 4])).collect();
        let (top, bar) = (40, 300 - 40 - 20);
        let expected: Vec<usize> = [4.0, 3.0, 2.0, 1.0, 0.0]
            .map(|v: f64| top + ((1.0 - v / 4.0) * (bar - 1) as f64).round() as usize)
            .into();
        assert_eq!(inked, expected);
    }

    #[test]
    fn powers_of_ten_are_evenly_apart_on_a_log_scale() {
        let image = Legend { range: [0.01, 100.0], scale: Scale::Log, ..LEGEND }.draw(300);
        let x = MARGIN + BAR + TICK / 2;
        let inked: Vec<usize> = (30..300).filter(|y| image.pixel(x, *y) != Some([255; 4])).collect();
        let gaps: Vec<usize> = inked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.len() >= 2 && gaps.iter().all(|gap| gap.abs_diff(gaps[0]) <= 1), "{inked:?}");
    }

    #[test]
    fn tiny_and_empty_legends_do_not_fail() {
        assert_eq!(LEGEND.draw(3).height(), 3);
        assert!(Legend { range: [1.0, 1.0], ..LEGEND }.draw(100).width() > 0);
    }
}
