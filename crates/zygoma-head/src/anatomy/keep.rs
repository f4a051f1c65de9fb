//! The anatomy of the template, stored in `assets/anatomy.bin`: sculpting, shrinking and filling take a minute.

use std::sync::OnceLock;

use glam::DVec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::tets::TetMesh;

use super::FillDetail;
use super::bones::{Sculptor, is_ridge};
use super::cover::Cover;
use super::fill::fill;
use super::fit::{Bone, keep_covered};
use super::flesh_region::Flesh;
use super::meshing::{Solid, half_surface};
use super::wraps::shrink;
use crate::Level;
use crate::sculpt::field::{at, ball, ramp};
use crate::sculpt::{eyes, lips};
use crate::template::Template;

/// Lengths are stored in whole numbers of this, in millimetres.
pub(super) const STEP: f64 = 1e-3;
const KEPT: &[u8] = include_bytes!("../../assets/anatomy.bin");

/// Half of the template's anatomy (x ≥ 0), in template space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Kept {
    /// Cranium and mandible.
    pub(super) bones: [TriMesh; 2],
    /// Triangles of the wraps.
    pub(super) wrap_triangles: Vec<[u32; 3]>,
    /// Skin, muscle and skull wrap.
    pub(super) wraps: [Vec<DVec3>; 3],
    /// The fills in the order of [`FillDetail::STORED`], mouth closed.
    pub(super) fills: [TetMesh; 2],
}

/// Rebuilds the template's anatomy, as the bytes to store; reports its steps.
pub fn bake(mut tell: impl FnMut(&str)) -> Vec<u8> {
    let base = &Template::of(Level::High).base;
    let (outer, all) = (Cover::outer(base), Cover::all(base));
    let sculptor = || Sculptor { outer: &outer, all: &all };
    let sculpted = sculptor();
    tell("cranium");
    let cranium = half_surface(&Solid { field: |p| sculpted.cranium(p), size: cranium_edges }, 1.4, 5);
    tell("mandible");
    let mandible = half_surface(&Solid { field: |p| sculpted.mandible(p), size: |_| 3.2 }, 1.1, 5);
    let mut bones = [cranium, mandible].map(|m| TriMesh { positions: m.positions, triangles: m.triangles });
    tell("bones under the skin of all shapes");
    let ridges = bones.each_ref().map(|b| b.positions.iter().map(|p| is_ridge(*p)).collect::<Vec<bool>>());
    let mut fitted: Vec<Bone<'_>> = bones
        .iter_mut()
        .zip(&ridges)
        .zip([false, true])
        .map(|((b, ridge), follows_jaw)| Bone {
            positions: &mut b.positions,
            triangles: &b.triangles,
            ridge,
            follows_jaw,
        })
        .collect();
    keep_covered(&mut fitted);
    tell("wraps");
    let wraps = shrink(|p| sculpted.filled_bones(p));
    let fills = FillDetail::STORED.map(|detail| {
        tell(&format!("{detail:?} fill"));
        half_fill(detail, sculptor())
    });
    let kept = Kept { bones, wrap_triangles: wraps.triangles, wraps: wraps.layers, fills };
    write(&kept)
}

/// Values, at the vertices of a stored anatomy, of all fields that it is sculpted from, as bytes to store beside it. They take a second,
/// where baking takes minutes.
pub fn fingerprint(stored: &[u8]) -> Vec<u8> {
    super::fingerprint::bytes(&read(stored))
}

/// Half of a fill, mouth closed.
pub(super) fn half_fill(detail: FillDetail, bones: Sculptor<'_>) -> TetMesh {
    let mut filled = fill(&Flesh { bones, detail });
    filled.positions.iter_mut().for_each(|p| *p = lips::close(*p));
    filled
}

fn cranium_edges(p: DVec3) -> f64 {
    let face = 3.2 + 4.8 * ramp(30.0, -10.0, p.z) + 3.0 * ramp(45.0, 70.0, p.y);
    let arch = 3.2 + 0.3 * ball(p, at(60.0, 0.0, 20.0), 24.0).max(0.0);
    let orbit = 3.2 + 0.3 * ball(p, eyes::CENTRE, 24.0).max(0.0);
    face.min(arch).min(orbit).min(8.5)
}

fn write(kept: &Kept) -> Vec<u8> {
    let mut bytes = Vec::new();
    let points = |bytes: &mut Vec<u8>, list: &[DVec3]| {
        bytes.extend((list.len() as i32).to_le_bytes());
        for coordinate in list.iter().flat_map(DVec3::to_array) {
            bytes.extend(((coordinate / STEP).round() as i32).to_le_bytes());
        }
    };
    fn cells<const N: usize>(bytes: &mut Vec<u8>, list: &[[u32; N]]) {
        bytes.extend((list.len() as i32).to_le_bytes());
        for corner in list.iter().flatten() {
            bytes.extend((*corner as i32).to_le_bytes());
        }
    }
    for bone in &kept.bones {
        points(&mut bytes, &bone.positions);
        cells(&mut bytes, &bone.triangles);
    }
    cells(&mut bytes, &kept.wrap_triangles);
    for layer in &kept.wraps {
        points(&mut bytes, layer);
    }
    for fill in &kept.fills {
        points(&mut bytes, &fill.positions);
        cells(&mut bytes, &fill.tets);
    }
    bytes
}

struct Reader<'a> {
    words: std::slice::ChunksExact<'a, u8>,
}

impl Reader<'_> {
    fn next(&mut self) -> i32 {
        self.words.next().map_or(0, |c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]))
    }

    fn points(&mut self) -> Vec<DVec3> {
        let coordinate = |reader: &mut Self| STEP * f64::from(reader.next());
        (0..self.next()).map(|_| DVec3::new(coordinate(self), coordinate(self), coordinate(self))).collect()
    }

    fn cells<const N: usize>(&mut self) -> Vec<[u32; N]> {
        (0..self.next()).map(|_| std::array::from_fn(|_| self.next() as u32)).collect()
    }
}

/// Reads stored bytes.
fn read(bytes: &[u8]) -> Kept {
    let mut reader = Reader { words: bytes.chunks_exact(4) };
    let bone = |reader: &mut Reader<'_>| TriMesh { positions: reader.points(), triangles: reader.cells() };
    let fill = |reader: &mut Reader<'_>| TetMesh { positions: reader.points(), tets: reader.cells() };
    Kept {
        bones: [bone(&mut reader), bone(&mut reader)],
        wrap_triangles: reader.cells(),
        wraps: [reader.points(), reader.points(), reader.points()],
        fills: [fill(&mut reader), fill(&mut reader)],
    }
}

/// The stored anatomy of the template.
pub(super) fn kept() -> &'static Kept {
    static READ: OnceLock<Kept> = OnceLock::new();
    READ.get_or_init(|| read(KEPT))
}
