//! Errors of drawing, reading and writing pictures, as sentences for the user.

/// A result whose error is a sentence for the user.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a picture or report could not be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] zygoma_files::Error),
    /// The picture has too many pixels.
    #[error("a picture of {width} × {height} pixels is too large; {most} pixels in all are allowed")]
    TooLarge {
        /// Width in pixels, or in samples where a picture is supersampled.
        width: usize,
        /// Height in pixels, or in samples.
        height: usize,
        /// The largest allowed product of the two.
        most: usize,
    },
    /// The number of pixels does not match the picture's size.
    #[error("a picture of {width} × {height} pixels needs as many pixels, but {found} were given")]
    PixelCount {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// Pixels given.
        found: usize,
    },
    /// The bytes are not a PNG that can be read.
    #[error("the PNG cannot be read: {0}; re-export it as an 8-bit RGB or RGBA PNG")]
    Decode(String),
    /// The bytes of a JPEG or WebP texture cannot be read.
    #[error("the texture cannot be read: {0}; re-export it as a PNG")]
    Texture(String),
    /// The bytes are of no format that is read.
    #[error("the texture is neither a PNG nor a JPEG nor a WebP; re-export it as a PNG")]
    Format,
    /// The PNG encoder failed.
    #[error("the PNG cannot be written: {0}")]
    Encode(String),
}
