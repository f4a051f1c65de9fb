//! The anatomy under the skin of a model, as the page draws it.

use glam::{DVec3, Vec3};
use rayon::prelude::*;
use zygoma_face::tissue::{AnatomyOptions, fit_head};
use zygoma_geometry::closest::TriangleTree;
use zygoma_head::anatomy::{FillDetail, Surface};
use zygoma_head::fit::{FittedHead, JawShape, JawShapes};

use crate::container::Arrays;
use crate::model::Model;
use crate::protocol::{AnatomyHeader, AnatomyMesh, JawControl, kind};

/// The message that shows the anatomy of a model, and a sentence about it.
///
/// # Errors
/// If no anatomy fits under its skin.
pub(crate) fn message(model: &Model) -> Result<(Vec<u8>, String), String> {
    let fitted = match model.built_in_options() {
        Some(options) => FittedHead::built_in(options, FillDetail::Coarse),
        None => fit_head(&model.rig, &AnatomyOptions::default()).map_err(|problem| problem.to_string())?,
    };
    let note = match model.built_in_options() {
        Some(_) => "The built-in head's own anatomy.".to_owned(),
        None => format!(
            "Fitted under the skin, {:.2} mm from it on average; bones are an estimate.",
            1e3 * fitted.report.registration.mean
        ),
    };
    let mut arrays = Arrays::default();
    let (corners, shares) = seats(model, &fitted);
    let header = AnatomyHeader {
        muscle: mesh(&mut arrays, &fitted.anatomy.muscle_wrap),
        corners: arrays.add(corners.as_flattened()),
        shares: arrays.add(shares.as_flattened()),
        cranium: mesh(&mut arrays, &fitted.anatomy.cranium.surface),
        mandible: mesh(&mut arrays, &fitted.anatomy.mandible.surface),
        joint: fitted.to_mesh.apply(fitted.joint()).as_vec3().to_array(),
        jaw: jaw(model, &fitted),
    };
    Ok((arrays.into_message(kind::ANATOMY, &header), note))
}

fn mesh(arrays: &mut Arrays, surface: &Surface) -> AnatomyMesh {
    let positions: Vec<Vec3> = surface.positions.iter().map(|p| p.as_vec3()).collect();
    AnatomyMesh { positions: arrays.add(&positions), triangles: arrays.add(surface.triangles.as_flattened()) }
}

/// The points of the skin that every vertex of the muscles moves with: those nearest to its vertex of the skin wrap.
fn seats(model: &Model, fitted: &FittedHead) -> (Vec<[u32; 3]>, Vec<[f32; 3]>) {
    let part = &model.parts[model.rig.skin];
    let triangles: Vec<[u32; 3]> = (model.rig.skin().faces.triangles().iter())
        .map(|t| t.map(|vertex| part.point_of_vertex[vertex as usize]))
        .collect();
    let tree = TriangleTree::new(&part.neutral, &triangles);
    let seat = |p: &DVec3| {
        let found = tree.closest(&part.neutral, &triangles, p.as_vec3(), f32::MAX);
        found.map_or(([0; 3], [0.0; 3]), |found| (triangles[found.triangle as usize], found.barycentric))
    };
    fitted.anatomy.skin_wrap.positions.par_iter().map(seat).unzip()
}

/// The poses of the jaw in the controls that drive its shapes, in the model's own frame.
fn jaw(model: &Model, fitted: &FittedHead) -> Vec<JawControl> {
    let shapes = JawShapes::of(&model.rig, fitted).shapes;
    let pose = |own: &JawShape| {
        let drives = |drives: &Vec<(usize, usize)>| drives.contains(&(model.rig.skin, own.shape));
        let control = model.controls.drives.iter().position(drives)?;
        let [turn, glide] = [own.pose.turn, fitted.to_mesh.scale * own.pose.glide]
            .map(|vector| (fitted.to_mesh.rotation * vector).as_vec3().to_array());
        Some(JawControl { control: control as u32, turn, glide })
    };
    shapes.iter().filter_map(pose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeadChoice;

    #[test]
    fn the_built_in_head_has_muscles_that_move_with_its_skin_and_a_jaw() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        let (message, _) = message(&model).unwrap();
        let length = u32::from_le_bytes(message[4..8].try_into().unwrap()) as usize;
        let header: AnatomyHeader = serde_json::from_slice(&message[8..8 + length]).unwrap();
        let arrays = &message[8 + length..];
        let floats = |place: crate::protocol::ArrayPlace| -> Vec<f32> {
            let bytes = &arrays[place.start..place.start + place.bytes];
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let shares = floats(header.shares);
        assert_eq!(shares.len(), floats(header.muscle.positions).len());
        assert!(shares.chunks(3).all(|s| (s.iter().sum::<f32>() - 1.0).abs() < 1e-4));
        let open =
            header.jaw.iter().find(|jaw| model.controls.entries[jaw.control as usize].name == "jawOpen");
        let turn = open.expect("jawOpen moves the jaw").turn;
        // The chin goes down: a positive turn about +X.
        assert!(turn[0] > 0.2 && turn[1].abs() < 0.02 && turn[2].abs() < 0.02, "{turn:?}");
        assert!(header.joint[0].abs() < 1e-3, "{:?}", header.joint);
    }
}
