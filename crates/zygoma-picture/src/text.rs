//! Text in pictures, from the pre-rasterised Noto Sans Mono.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::Rgb;
use crate::image::Image;

/// The sizes of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextSize {
    /// Captions and ticks: lines of 16 pixels.
    #[default]
    Small,
    /// Lines of 20 pixels.
    Medium,
    /// Titles: lines of 24 pixels.
    Large,
}

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextStyle {
    /// Height of the letters.
    pub size: TextSize,
    /// Whether the letters are bold.
    pub bold: bool,
    /// Colour of the letters.
    pub color: Rgb,
}

impl Default for TextStyle {
    fn default() -> Self {
        Self { size: TextSize::Small, bold: false, color: [0.13, 0.14, 0.16] }
    }
}

impl TextStyle {
    /// Bold letters of a given size in the default ink.
    pub fn title(size: TextSize) -> Self {
        Self { size, bold: true, ..Self::default() }
    }

    /// Height of a line in pixels.
    pub fn line_height(&self) -> usize {
        self.raster_height().val()
    }

    /// Width in pixels of a line of text; all letters are equally wide.
    pub fn width(&self, text: &str) -> usize {
        text.chars().count() * get_raster_width(self.weight(), self.raster_height())
    }

    /// `text`, cut with two dots at its end where it is wider than `width` pixels.
    pub fn fit(&self, text: &str, width: usize) -> String {
        let letters = width / get_raster_width(self.weight(), self.raster_height());
        if text.chars().count() <= letters {
            return text.to_owned();
        }
        let kept = text.chars().take(letters.saturating_sub(2));
        kept.chain("..".chars().take(letters)).collect()
    }

    fn weight(&self) -> FontWeight {
        if self.bold { FontWeight::Bold } else { FontWeight::Regular }
    }

    fn raster_height(&self) -> RasterHeight {
        match self.size {
            TextSize::Small => RasterHeight::Size16,
            TextSize::Medium => RasterHeight::Size20,
            TextSize::Large => RasterHeight::Size24,
        }
    }
}

impl Image {
    /// Writes one line of text with its top left corner at (`x`, `y`). Letters that the font lacks
    /// (all beyond Latin-1) become question marks.
    pub fn text(&mut self, x: i64, y: i64, text: &str, style: TextStyle) {
        let glyph = |letter| get_raster(letter, style.weight(), style.raster_height());
        let mut left = x;
        for letter in text.chars() {
            let Some(glyph) = glyph(letter).or_else(|| glyph('?')) else { continue };
            for (row, line) in glyph.rows().enumerate() {
                for (column, coverage) in line.iter().enumerate().filter(|(_, coverage)| **coverage > 0) {
                    let opacity = f32::from(*coverage) / 255.0;
                    self.blend(left + column as i64, y + row as i64, style.color, opacity);
                }
            }
            left += glyph.width() as i64;
        }
    }

    /// Writes one line of text with its middle at `x`.
    pub fn text_centred(&mut self, x: i64, y: i64, text: &str, style: TextStyle) {
        self.text(x - style.width(text) as i64 / 2, y, text, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_leaves_ink_within_its_width_only() {
        let style = TextStyle::default();
        let mut image = Image::filled(200, 30, [1.0; 3]);
        image.text(10, 5, "0.5 µm", style);
        let inked = |x: usize| (0..30).any(|y| image.pixel(x, y) != Some([255; 4]));
        assert!((10..10 + style.width("0.5 µm")).any(inked));
        assert!(!(0..10).chain(10 + style.width("0.5 µm")..200).any(inked));
    }

    #[test]
    fn text_beyond_the_border_and_unknown_letters_do_no_harm() {
        let mut image = Image::filled(20, 20, [1.0; 3]);
        image.text(-50, -5, "left 顔", TextStyle::default());
        image.text(15, 15, "right", TextStyle::title(TextSize::Large));
        assert_eq!(image.width(), 20);
    }

    #[test]
    fn long_text_is_cut_to_fit() {
        let style = TextStyle::default();
        let width = style.width("12345678");
        assert_eq!(style.fit("12345678", width), "12345678");
        assert_eq!(style.fit("123456789", width), "123456..");
        assert_eq!(style.fit("123", 0), "");
    }
}
