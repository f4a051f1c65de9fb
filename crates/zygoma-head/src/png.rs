//! The painted texture as a file.

use zygoma_picture::Image;

use crate::Texture;

impl Texture {
    /// The texture as a PNG file; `None` only if the picture is malformed.
    pub fn to_png(&self) -> Option<Vec<u8>> {
        let opaque = |[red, green, blue]: &[u8; 3]| [*red, *green, *blue, 255];
        let size = self.size as usize;
        let image = Image::from_pixels(size, size, self.pixels.iter().map(opaque).collect()).ok()?;
        image.to_png().ok()
    }
}
