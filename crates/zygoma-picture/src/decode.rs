//! Reading the textures of rigs: PNG, JPEG and WebP.

use std::io::Cursor;

use crate::error::{Error, Result};
use crate::image::{Image, MOST_PIXELS};

impl Image {
    /// Reads an image of the formats that rigs bring their textures in, told apart by their first bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => Self::from_png(bytes),
            [0xFF, 0xD8, ..] => from_jpeg(bytes),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => from_webp(bytes),
            _ => Err(Error::Format),
        }
    }
}

fn from_jpeg(bytes: &[u8]) -> Result<Image> {
    let refused = |error: zune_jpeg::errors::DecodeErrors| Error::Texture(error.to_string());
    let mut decoder = zune_jpeg::JpegDecoder::new(bytes);
    decoder.decode_headers().map_err(refused)?;
    let (width, height) = decoder.dimensions().ok_or(Error::Format)?;
    checked(width, height)?;
    let data = decoder.decode().map_err(refused)?;
    Image::from_pixels(width, height, opaque(&data))
}

fn from_webp(bytes: &[u8]) -> Result<Image> {
    let refused = |error: image_webp::DecodingError| Error::Texture(error.to_string());
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(refused)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    checked(width, height)?;
    let size = decoder.output_buffer_size().ok_or(Error::Format)?;
    let mut data = vec![0; size];
    decoder.read_image(&mut data).map_err(refused)?;
    let pixels = if decoder.has_alpha() { data.as_chunks::<4>().0.to_vec() } else { opaque(&data) };
    Image::from_pixels(width, height, pixels)
}

/// Refuses sizes that a small file may claim but nobody can hold.
fn checked(width: usize, height: usize) -> Result<()> {
    match width.checked_mul(height) {
        Some(count) if count <= MOST_PIXELS => Ok(()),
        _ => Err(Error::TooLarge { width, height, most: MOST_PIXELS }),
    }
}

fn opaque(data: &[u8]) -> Vec<[u8; 4]> {
    data.as_chunks().0.iter().map(|&[r, g, b]| [r, g, b, 255]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textures_of_every_format_keep_their_colours() {
        let picture = Image::filled(9, 7, [1.0, 0.5, 0.0]);
        let [r, g, b, _] = picture.pixel(4, 3).unwrap();
        assert_eq!(Image::decode(&picture.to_png().unwrap()).unwrap(), picture);
        let flat: Vec<u8> = picture.pixels().iter().flat_map(|p| p[..3].to_vec()).collect();
        let mut webp = Vec::new();
        image_webp::WebPEncoder::new(&mut webp).encode(&flat, 9, 7, image_webp::ColorType::Rgb8).unwrap();
        let read = Image::decode(&webp).unwrap();
        assert_eq!((read.width(), read.height(), read.pixel(8, 6)), (9, 7, Some([r, g, b, 255])));
    }

    #[test]
    fn anything_else_is_refused() {
        for bytes in [&b""[..], b"RIFF", b"RIFF0000WEBPVP8 ", &[0xFF, 0xD8, 0xFF], &[0xAB, b'K', b'T', b'X']]
        {
            assert!(Image::decode(bytes).is_err());
        }
    }
}
