//! Tissue only: its figures, and views of its inside.

use glam::{DVec3, Vec3};
use zygoma_face::anatomical::AnatomicalBody;
use zygoma_face::body::Body;
use zygoma_face::enriched::EnrichedBody;
use zygoma_face::tissue::TissueBody;
use zygoma_geometry::cut::{Plane, section as cut_through};

use crate::frame::FrameWriter;
use crate::model::Model;
use crate::protocol::{CutPlane, TissueReport, section};

/// Most triangles of a cut: a plane through tissue ten times as fine meets fewer.
const MOST_CUT: usize = 20_000;

/// Views of the inside that a page wants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inside {
    pub(crate) volume: bool,
    pub(crate) lips: bool,
    pub(crate) cut: Option<CutPlane>,
}

/// A body as tissue, if it is that.
fn tissue(body: &dyn Body) -> Option<&TissueBody> {
    body.downcast_ref()
}

/// A sentence about a body for its panel.
pub(crate) fn note(body: &dyn Body) -> String {
    if let Some(body) = body.downcast_ref::<EnrichedBody>() {
        let count = body.enriched().node_count();
        return format!(
            "{count} nodes in one layer under the simulation mesh; “zygoma simulate” goes down to the bones."
        );
    }
    if let Some(body) = body.downcast_ref::<AnatomicalBody>() {
        let count = body.anatomical().node_count();
        return format!(
            "{count} nodes of tissue between skin and bones. Dials under Materials change the head; fat, muscle, skin and jaw take some seconds."
        );
    }
    tissue(body).map_or_else(String::new, |body| {
        let count = body.tissue().tet_count();
        format!("{count} tetrahedra under the simulation mesh; a finer mesh makes finer, slower tissue.")
    })
}

/// Figures of tissue.
pub(crate) fn report(body: &dyn Body) -> Option<TissueReport> {
    let body = tissue(body)?;
    let (lips, volume) = (body.lips(), body.volume());
    Some(TissueReport {
        tetrahedra: body.tissue().tet_count(),
        contacts: lips.contacts,
        sticky: lips.sticky,
        penetration: f64::from(lips.penetration),
        volume: volume.total,
        change: volume.p95,
        inverted: volume.inverted,
    })
}

/// Writes the views of the inside that a page wants.
pub(crate) fn write_inside(body: &dyn Body, wanted: &Inside, model: &Model, writer: &mut FrameWriter) {
    let Some(body) = tissue(body) else { return };
    if wanted.volume {
        let changes = body.skin_volume_changes();
        let part = &model.parts[model.rig.skin];
        let of_points = part.vertex_of_point.iter().map(|vertex| changes[*vertex as usize]);
        writer.volumes(model.rig.skin as u32, of_points);
    }
    if wanted.lips {
        writer.places(section::STICKY, body.sticky_springs().as_flattened());
        writer.places(section::LIPS, &body.lip_contacts());
    }
    if let Some(plane) = wanted.cut.as_ref().and_then(usable) {
        let cut = cut_through(&body.tissue_positions(), body.tissue().tets(), &plane);
        let changes = body.volume_changes();
        let triangles = cut.piece.triangles.iter().zip(&cut.tets).take(MOST_CUT);
        let corners: Vec<(Vec3, f32)> = triangles
            .flat_map(|(t, tet)| {
                t.map(|v| (cut.piece.positions[v as usize].as_vec3(), changes[*tet as usize]))
            })
            .collect();
        writer.cut(&corners);
    }
}

/// A plane that cuts something.
fn usable(plane: &CutPlane) -> Option<Plane> {
    let normal = DVec3::from_array(plane.normal.map(f64::from)).try_normalize()?;
    let height = f64::from(plane.height);
    height.is_finite().then_some(Plane { point: height * normal, normal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_without_direction_or_place_cuts_nothing() {
        let plane = |normal, height| usable(&CutPlane { normal, height });
        assert_eq!(plane([0.0; 3], 0.1), None);
        assert_eq!(plane([f32::NAN, 0.0, 1.0], 0.1), None);
        assert_eq!(plane([0.0, 0.0, 1.0], f32::INFINITY), None);
        let found = plane([0.0, 2.0, 0.0], 0.5).unwrap();
        assert_eq!((found.point, found.normal), (0.5 * DVec3::Y, DVec3::Y));
    }
}
