//! Images in memory and as PNG.

use std::io::Cursor;
use std::path::Path;

use crate::Rgb;
use crate::color::to_bytes;
use crate::error::{Error, Result};

/// The most pixels (or samples) that one picture may have: 512 MB of RGBA.
pub(crate) const MOST_PIXELS: usize = 1 << 27;

/// The largest PNG file that is read: as many bytes as the largest picture has in memory.
const LARGEST_FILE: u64 = 4 * MOST_PIXELS as u64;

/// A picture: rows from the top, four bytes a pixel (sRGB and straight opacity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Image {
    /// A picture of one opaque colour.
    ///
    /// # Panics
    /// Does not: a size beyond any memory is cut to an empty picture, since callers add up sizes of
    /// pictures that already exist.
    pub fn filled(width: usize, height: usize, color: Rgb) -> Self {
        let [r, g, b] = to_bytes(color);
        Self::filled_bytes(width, height, [r, g, b, 255])
    }

    /// A fully transparent picture.
    pub fn transparent(width: usize, height: usize) -> Self {
        Self::filled_bytes(width, height, [0; 4])
    }

    fn filled_bytes(width: usize, height: usize, pixel: [u8; 4]) -> Self {
        match width.checked_mul(height) {
            Some(count) if count <= MOST_PIXELS => Self { width, height, pixels: vec![pixel; count] },
            _ => Self { width: 0, height: 0, pixels: Vec::new() },
        }
    }

    /// A picture from its pixels, row by row from the top.
    pub fn from_pixels(width: usize, height: usize, pixels: Vec<[u8; 4]>) -> Result<Self> {
        if width.checked_mul(height) != Some(pixels.len()) {
            return Err(Error::PixelCount { width, height, found: pixels.len() });
        }
        Ok(Self { width, height, pixels })
    }

    /// Width in pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All pixels, row by row from the top.
    pub fn pixels(&self) -> &[[u8; 4]] {
        &self.pixels
    }

    /// One pixel, or `None` beyond the border.
    pub fn pixel(&self, x: usize, y: usize) -> Option<[u8; 4]> {
        (x < self.width && y < self.height).then(|| self.pixels[y * self.width + x])
    }

    /// Sets one pixel; does nothing outside the picture.
    pub fn put(&mut self, x: i64, y: i64, pixel: [u8; 4]) {
        if let Some(place) = self.place(x, y) {
            self.pixels[place] = pixel;
        }
    }

    /// Blends a colour over one pixel with the given opacity (0 to 1).
    pub fn blend(&mut self, x: i64, y: i64, color: Rgb, opacity: f32) {
        let [r, g, b] = to_bytes(color);
        let alpha = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
        if let Some(place) = self.place(x, y) {
            self.pixels[place] = over([r, g, b, alpha], self.pixels[place]);
        }
    }

    /// Fills a rectangle, clipped to the picture.
    pub fn fill(&mut self, x: i64, y: i64, width: usize, height: usize, color: Rgb) {
        let [r, g, b] = to_bytes(color);
        for row in 0..height as i64 {
            for column in 0..width as i64 {
                self.put(x + column, y + row, [r, g, b, 255]);
            }
        }
    }

    /// Composites another picture over this one, its top left corner at (`x`, `y`).
    pub fn compose(&mut self, other: &Image, x: i64, y: i64) {
        for row in 0..other.height {
            for column in 0..other.width {
                if let Some(place) = self.place(x + column as i64, y + row as i64) {
                    self.pixels[place] = over(other.pixels[row * other.width + column], self.pixels[place]);
                }
            }
        }
    }

    /// The picture as a PNG file. The same picture always gives the same bytes.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let refused = |error: png::EncodingError| Error::Encode(error.to_string());
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        // Textures are encoded whenever a head is made: a tenth of the size is not worth ten times the wait.
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(refused)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(refused)?;
        writer.finish().map_err(refused)?;
        Ok(bytes)
    }

    /// Reads a PNG of any colour type and depth.
    pub fn from_png(bytes: &[u8]) -> Result<Self> {
        let refused = |error: png::DecodingError| Error::Decode(error.to_string());
        let limits = png::Limits { bytes: 4 * MOST_PIXELS };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(refused)?;
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        if width.checked_mul(height).is_none_or(|count| count > MOST_PIXELS) {
            return Err(Error::TooLarge { width, height, most: MOST_PIXELS });
        }
        let size = reader.output_buffer_size().ok_or(Error::TooLarge { width, height, most: MOST_PIXELS })?;
        let mut data = vec![0; size];
        let frame = reader.next_frame(&mut data).map_err(refused)?;
        let data = &data[..frame.buffer_size()];
        let pixels: Vec<[u8; 4]> = match frame.color_type {
            png::ColorType::Rgba => data.as_chunks::<4>().0.to_vec(),
            png::ColorType::Rgb => data.as_chunks().0.iter().map(|&[r, g, b]| [r, g, b, 255]).collect(),
            png::ColorType::GrayscaleAlpha => data.as_chunks().0.iter().map(|&[y, a]| [y, y, y, a]).collect(),
            png::ColorType::Grayscale => data.iter().map(|&y| [y, y, y, 255]).collect(),
            png::ColorType::Indexed => return Err(Error::Decode("its palette was not resolved".into())),
        };
        Self::from_pixels(width, height, pixels)
    }

    /// Writes the picture as a PNG file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(zygoma_files::write(path, &self.to_png()?)?)
    }

    /// Reads a PNG file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_png(&zygoma_files::read(path, LARGEST_FILE)?)
    }

    fn place(&self, x: i64, y: i64) -> Option<usize> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        (x < self.width && y < self.height).then_some(y * self.width + x)
    }
}

/// `front` over `back`, both with straight opacity.
fn over(front: [u8; 4], back: [u8; 4]) -> [u8; 4] {
    let (front_alpha, back_alpha) = (f32::from(front[3]) / 255.0, f32::from(back[3]) / 255.0);
    let alpha = front_alpha + back_alpha * (1.0 - front_alpha);
    if alpha <= 0.0 {
        return [0; 4];
    }
    let mix = |f: u8, b: u8| {
        let light = f32::from(f) * front_alpha + f32::from(b) * back_alpha * (1.0 - front_alpha);
        (light / alpha).round() as u8
    };
    [mix(front[0], back[0]), mix(front[1], back[1]), mix(front[2], back[2]), (alpha * 255.0).round() as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(width: usize, height: usize) -> Image {
        let pixel = |i: usize| [i as u8, (i / 7) as u8, (i * 31) as u8, (i * 3) as u8];
        Image::from_pixels(width, height, (0..width * height).map(pixel).collect()).unwrap()
    }

    #[test]
    fn png_round_trip_keeps_every_byte() {
        let image = pattern(37, 23);
        assert_eq!(Image::from_png(&image.to_png().unwrap()).unwrap(), image);
    }

    #[test]
    fn broken_png_is_an_error() {
        let bytes = pattern(9, 9).to_png().unwrap();
        for length in [0, 8, 30, bytes.len() / 2] {
            assert!(Image::from_png(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn compose_lets_transparent_pixels_through_and_clips() {
        let mut image = Image::filled(4, 4, [1.0; 3]);
        let mut top = Image::transparent(3, 3);
        top.put(0, 0, [10, 20, 30, 255]);
        top.put(1, 0, [0, 0, 0, 128]);
        image.compose(&top, 2, 3);
        assert_eq!(image.pixel(2, 3), Some([10, 20, 30, 255]));
        assert_eq!(image.pixel(3, 3), Some([127, 127, 127, 255]));
        assert_eq!(image.pixel(0, 0), Some([255; 4]));
        image.compose(&top, -10, -10);
    }

    #[test]
    fn wrong_pixel_count_is_refused() {
        assert!(Image::from_pixels(2, 2, vec![[0; 4]; 3]).is_err());
        assert_eq!(Image::filled(usize::MAX, 2, [0.0; 3]).width(), 0);
    }
}
