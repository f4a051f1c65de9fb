//! Limits on the size of files.

/// Bounds on what an untrusted file may make us read or allocate.
///
/// None of these come from a format; they are ours, an order of magnitude above the largest rigs seen
/// (a film head with 61,520 vertices and 900 shapes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of one text file with a number per vertex.
    pub text_bytes: u64,
    /// Bytes of one hand-written file: parameters and touch scripts.
    pub script_bytes: u64,
    /// Bytes after decompression and expansion, summed over the file.
    pub decoded_bytes: u64,
    /// Vertices of one mesh.
    pub vertices: usize,
    /// Blendshapes of one mesh.
    pub shapes: usize,
    /// Keys of one animation curve or rows of one table.
    pub keys: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            text_bytes: 128 << 20,
            script_bytes: 4 << 20,
            decoded_bytes: 4 << 30,
            vertices: 4_000_000,
            shapes: 4096,
            keys: 4_000_000,
        }
    }
}
