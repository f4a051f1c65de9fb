//! glTF 2.0 and GLB, with the compressions and extensions that avatars use.

mod document;

pub use document::Document;
