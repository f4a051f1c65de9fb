//! Animated PNGs: every browser plays them, without a script.

use crate::error::{Error, Result};
use crate::image::Image;

/// Images of one size, shown one after the other in a loop.
#[derive(Clone, Debug)]
pub struct Clip {
    frames: Vec<Image>,
    fps: u16,
}

impl Clip {
    /// Frames at a rate. Frames whose size differs from the first are refused.
    pub fn new(frames: Vec<Image>, fps: u16) -> Result<Self> {
        let size = |image: &Image| (image.width(), image.height());
        if let Some(odd) = frames.iter().find(|image| size(image) != size(&frames[0])) {
            return Err(Error::PixelCount {
                width: frames[0].width(),
                height: frames[0].height(),
                found: odd.pixels().len(),
            });
        }
        Ok(Self { frames, fps: fps.max(1) })
    }

    /// Width and height in pixels; zero without frames.
    pub fn size(&self) -> [usize; 2] {
        self.frames.first().map_or([0; 2], |frame| [frame.width(), frame.height()])
    }

    /// The clip as an animated PNG file, which shows its first frame where animation is not supported.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let refused = |error: png::EncodingError| Error::Encode(error.to_string());
        let [width, height] = self.size().map(|pixels| pixels as u32);
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(self.frames.len() as u32, 0).map_err(refused)?;
        encoder.set_frame_delay(1, self.fps).map_err(refused)?;
        let mut writer = encoder.write_header().map_err(refused)?;
        for frame in &self.frames {
            let colors: Vec<u8> = frame.pixels().iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
            writer.write_image_data(&colors).map_err(refused)?;
        }
        writer.finish().map_err(refused)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_has_all_its_frames_and_plays_for_ever() {
        let frames: Vec<Image> = (0..3).map(|k| Image::filled(4, 2, [0.3 * k as f32; 3])).collect();
        let bytes = Clip::new(frames, 12).unwrap().to_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let control = *reader.info().animation_control().unwrap();
        assert_eq!((control.num_frames, control.num_plays), (3, 0));
        let mut shades = Vec::new();
        for _ in 0..3 {
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            assert_eq!(reader.info().frame_control().unwrap().delay_den, 12);
            shades.push(pixels[0]);
        }
        assert!(shades[0] < shades[1] && shades[1] < shades[2], "{shades:?}");
        let odd = vec![Image::filled(4, 2, [0.0; 3]), Image::filled(2, 4, [0.0; 3])];
        assert!(Clip::new(odd, 12).is_err());
    }
}
