//! The fingerprint of the stored anatomy: values of all fields that it is sculpted from, at its own vertices.
//!
//! Whoever changes skin, shapes, bones, depths, wraps or element sizes changes some of them, and a test says that the asset is stale. A
//! change of meshing alone shows only when everything is baked again.

use glam::DVec3;
use rayon::prelude::*;

use super::FillDetail;
use super::bones::Sculptor;
use super::cover::Cover;
use super::fill::Region;
use super::fit::expressions;
use super::flesh_region::Flesh;
use super::keep::{Kept, STEP};
use super::wraps;
use crate::Level;
use crate::template::Template;

/// One vertex in this many is looked at.
const EVERY: usize = 5;
/// Vertices of the skin, likewise; there is a value for each expression.
const SKIN_EVERY: usize = 97;

/// The fingerprint, as words of four bytes.
pub(super) fn bytes(kept: &Kept) -> Vec<u8> {
    let template = Template::of(Level::High);
    let (outer, all) = (Cover::outer(&template.base), Cover::all(&template.base));
    let sculptor = || Sculptor { outer: &outer, all: &all };
    let sculpted = sculptor();
    let mut values = at_vertices(&kept.bones[0].positions, |p| sculpted.cranium(p));
    values.extend(at_vertices(&kept.bones[1].positions, |p| sculpted.mandible(p)));
    values.extend(at_vertices(&kept.wraps[0], wraps::fields));
    for (detail, fill) in FillDetail::STORED.into_iter().zip(&kept.fills) {
        let region = Flesh { bones: sculptor(), detail };
        values.extend(at_vertices(&fill.positions, |p| region.field(p) + region.size(p)));
    }
    for (_, skin, motion) in expressions(template) {
        // Some point of the jaw, off its axis.
        values.push(motion.transform_point3(DVec3::splat(100.0)).element_sum());
        values.extend(skin.iter().step_by(SKIN_EVERY).map(|p| p.element_sum()));
    }
    values.iter().flat_map(|value| ((value / STEP).round() as i32).to_le_bytes()).collect()
}

fn at_vertices(positions: &[DVec3], field: impl Fn(DVec3) -> f64 + Sync) -> Vec<f64> {
    let some: Vec<DVec3> = positions.iter().copied().step_by(EVERY).collect();
    some.par_iter().map(|p| field(*p)).collect()
}
