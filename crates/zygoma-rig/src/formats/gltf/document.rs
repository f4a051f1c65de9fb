//! A glTF document as it was read: its JSON and its buffers.

/// A glTF document as it was read, so that what zygoma does not touch goes back unchanged.
#[derive(Clone, Debug)]
pub struct Document {
    /// The whole JSON part, unknown extensions included.
    pub json: serde_json::Value,
    /// The bytes of each buffer, in the order of `buffers`.
    pub buffers: Vec<Vec<u8>>,
}
