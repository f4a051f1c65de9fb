//! The finest fill, which is made when it is asked for: stored, it would be larger than all the rest of the anatomy.

use std::sync::OnceLock;

use zygoma_geometry::tets::TetMesh;

use super::bones::Sculptor;
use super::cover::Cover;
use super::{FillDetail, keep};
use crate::Level;
use crate::template::Template;

/// Half of a fill of the template, mouth closed: stored, or made now, which takes about a minute.
pub(super) fn half_fill(detail: FillDetail) -> &'static TetMesh {
    static FINEST: OnceLock<TetMesh> = OnceLock::new();
    match detail.place() {
        Some(place) => &keep::kept().fills[place],
        None => FINEST.get_or_init(|| {
            let base = &Template::of(Level::High).base;
            let (outer, all) = (Cover::outer(base), Cover::all(base));
            keep::half_fill(detail, Sculptor { outer: &outer, all: &all })
        }),
    }
}
