//! Sheets of several pictures.

use crate::image::Image;
use crate::text::{TextSize, TextStyle};

/// Space around pictures, in pixels.
const GAP: usize = 12;
const PAPER: [f32; 3] = [1.0, 1.0, 1.0];

/// Pictures in rows of `columns`, each with its caption below it. Cells are as large as the largest picture;
/// captions that are too long are cut.
pub fn grid<L: AsRef<str>>(pictures: &[(Image, L)], columns: usize) -> Image {
    let columns = columns.clamp(1, pictures.len().max(1));
    let rows = pictures.len().div_ceil(columns);
    let style = TextStyle::default();
    let captioned = pictures.iter().any(|(_, caption)| !caption.as_ref().is_empty());
    let caption_height = if captioned { style.line_height() + GAP / 2 } else { 0 };
    let cell_width = pictures.iter().map(|(picture, _)| picture.width()).max().unwrap_or(0);
    let cell_height = pictures.iter().map(|(picture, _)| picture.height()).max().unwrap_or(0);
    let (step_x, step_y) = (cell_width + GAP, cell_height + caption_height + GAP);
    let mut sheet = Image::filled(columns * step_x + GAP, rows * step_y + GAP, PAPER);
    for (i, (picture, caption)) in pictures.iter().enumerate() {
        let left = GAP + (i % columns) * step_x;
        let top = GAP + (i / columns) * step_y;
        let inset = [(cell_width - picture.width()) / 2, (cell_height - picture.height()) / 2];
        sheet.compose(picture, (left + inset[0]) as i64, (top + inset[1]) as i64);
        let caption = style.fit(caption.as_ref(), cell_width);
        let baseline = top + cell_height + GAP / 4;
        sheet.text_centred((left + cell_width / 2) as i64, baseline as i64, &caption, style);
    }
    sheet
}

/// Pictures side by side, vertically centred.
pub fn side_by_side(pictures: &[&Image]) -> Image {
    let height = pictures.iter().map(|picture| picture.height()).max().unwrap_or(0);
    let width = pictures.iter().map(|picture| picture.width()).sum();
    let mut sheet = Image::filled(width, height, PAPER);
    let mut left = 0;
    for picture in pictures {
        sheet.compose(picture, left, ((height - picture.height()) / 2) as i64);
        left += picture.width() as i64;
    }
    sheet
}

/// A picture with a title above it.
pub fn titled(picture: &Image, title: &str) -> Image {
    let style = TextStyle::title(TextSize::Medium);
    let top = style.line_height() + GAP;
    let mut sheet = Image::filled(picture.width(), picture.height() + top, PAPER);
    let text = style.fit(title, picture.width());
    sheet.text_centred((picture.width() / 2) as i64, (GAP / 2) as i64, &text, style);
    sheet.compose(picture, 0, top as i64);
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_picture_lands_in_its_cell() {
        let colors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let pictures: Vec<_> = colors
            .iter()
            .map(|color| (Image::filled(40, 30, *color), "a caption that is too long"))
            .collect();
        let sheet = grid(&pictures, 2);
        let step = 30 + 16 + GAP / 2 + GAP;
        assert_eq!(sheet.width(), 2 * (40 + GAP) + GAP);
        assert_eq!(sheet.height(), 2 * step + GAP);
        assert_eq!(sheet.pixel(GAP + 20, GAP + 15), Some([255, 0, 0, 255]));
        assert_eq!(sheet.pixel(2 * GAP + 60, GAP + 15), Some([0, 255, 0, 255]));
        assert_eq!(sheet.pixel(GAP + 20, step + GAP + 15), Some([0, 0, 255, 255]));
    }

    #[test]
    fn side_by_side_centres_what_is_lower() {
        let sheet = side_by_side(&[&Image::filled(10, 20, [0.0; 3]), &Image::filled(5, 10, [0.0; 3])]);
        assert_eq!((sheet.width(), sheet.height()), (15, 20));
        assert_eq!(sheet.pixel(12, 4), Some([255; 4]));
        assert_eq!(sheet.pixel(12, 5), Some([0, 0, 0, 255]));
    }

    #[test]
    fn an_empty_sheet_is_small_but_there() {
        assert!(grid::<&str>(&[], 3).width() > 0);
    }
}
