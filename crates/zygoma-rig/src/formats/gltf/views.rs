//! The bytes of buffer views, decompressed where needed, and a bound on how much is decoded.

use std::cell::Cell;

use super::schema::Schema;
use super::{Document, meshopt_views};
use crate::Result;
use crate::formats::Limits;

/// Every buffer view of a document, ready to be read.
pub(super) struct Views<'a> {
    document: &'a Document,
    schema: &'a Schema,
    decoded: Vec<Option<Vec<u8>>>,
    left: Cell<u64>,
}

impl<'a> Views<'a> {
    /// Decompresses the compressed views.
    pub(super) fn new(document: &'a Document, schema: &'a Schema, limits: &Limits) -> Result<Self> {
        let mut views = Self { document, schema, decoded: Vec::new(), left: Cell::new(limits.decoded_bytes) };
        for (index, view) in schema.views.iter().enumerate() {
            let Some(meshopt) = view.extensions.meshopt() else {
                views.decoded.push(None);
                continue;
            };
            let plan = meshopt_views::plan(meshopt, &document.buffers)
                .map_err(|problem| document.malformed(format!("bufferViews[{index}]: {problem}")))?;
            views.charge(plan.decoded_bytes())?;
            views.decoded.push(Some(plan.decode(document.path(), index)?));
        }
        Ok(views)
    }

    /// Counts bytes that are about to be allocated; an error once they exceed the file's limit.
    pub(super) fn charge(&self, bytes: u64) -> Result<()> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| {
            let problem = "the file asks for more memory than the limit allows; split it or raise the limit";
            self.document.malformed(problem)
        })?;
        self.left.set(left);
        Ok(())
    }

    /// The bytes of a view. The error is a clause.
    pub(super) fn bytes(&self, index: usize) -> Result<&[u8], String> {
        let view = self.schema.views.get(index).ok_or_else(|| format!("there is no bufferView {index}"))?;
        if let Some(bytes) = &self.decoded[index] {
            return Ok(bytes);
        }
        let buffer = self.document.buffers.get(view.buffer).ok_or_else(|| {
            format!("bufferView {index} lies in buffer {}, which does not exist", view.buffer)
        })?;
        let end = view.byte_offset.checked_add(view.byte_length);
        end.and_then(|end| buffer.get(view.byte_offset..end)).ok_or_else(|| {
            format!(
                "bufferView {index} ({} bytes from {}) lies outside buffer {} of {} bytes",
                view.byte_length,
                view.byte_offset,
                view.buffer,
                buffer.len()
            )
        })
    }

    /// The stride between the rows of a view, if it has one.
    pub(super) fn stride(&self, index: usize) -> Option<usize> {
        self.schema.views.get(index).and_then(|view| view.byte_stride).filter(|stride| *stride > 0)
    }
}
