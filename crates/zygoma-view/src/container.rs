//! A JSON header with arrays behind it, as one binary message.

use serde::Serialize;

use crate::protocol::ArrayPlace;

/// Arrays that will follow a header.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    bytes: Vec<u8>,
}

impl Arrays {
    /// Adds an array and returns its place.
    pub(crate) fn add<T: bytemuck::Pod>(&mut self, values: &[T]) -> ArrayPlace {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
        let bytes = self.bytes.len() - start;
        // Typed arrays of the page need an aligned start.
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        ArrayPlace { start, bytes }
    }

    /// The message: kind, length of the header, header padded with spaces, arrays.
    pub(crate) fn into_message(self, kind: u32, header: &impl Serialize) -> Vec<u8> {
        let mut header = serde_json::to_vec(header).unwrap_or_default();
        header.resize(header.len().next_multiple_of(4), b' ');
        let mut message = Vec::with_capacity(8 + header.len() + self.bytes.len());
        message.extend(kind.to_le_bytes());
        message.extend((header.len() as u32).to_le_bytes());
        message.extend(header);
        message.extend(self.bytes);
        message
    }
}
