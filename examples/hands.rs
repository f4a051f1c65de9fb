//! Pinches a cheek, pulls it along, and prints the forces that the hand and the head feel.
//!
//! `cargo run --release --example hands [-- face.glb [hand.glb]]`: a hand of a glTF file presses with its own skin.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use zygoma_face::body::Touchable;
use zygoma_face::contact::{ColliderFrame, HAND_FRICTION, HandSurface};
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_geometry::normals::vertex_normals;
use zygoma_hand::{Extent, Gesture, HandMesh, Side, Spot};
use zygoma_head::{Head, HeadOptions};
use zygoma_numerics::Budget;
use zygoma_rig::formats::{Limits, read_rig};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rig = match arguments.next() {
        Some(path) => read_rig(Path::new(&path), &Limits::default())?,
        None => Head::new(&HeadOptions::default()).rig(),
    };
    let (side, surface) = match arguments.next() {
        Some(path) => {
            let (side, skin) = HandMesh::read(Path::new(&path))?;
            (side, HandSurface::Skin(Arc::new(skin)))
        }
        None => (Side::Left, HandSurface::Capsules),
    };
    let model = FaceModel::of_rig(&rig, 2000, &Budget::default())?;
    let landmarks = Landmarks::new(&model);
    let cheek = landmarks.find("cheek-left").ok_or("this face has no cheek")?.vertex as usize;
    let (at, out) = (model.neutral[cheek], vertex_normals(&model.neutral, &model.triangles)[cheek]);

    let mut body = TissueBody::new(Arc::new(Tissue::new(&model, &TissueParams::default())?))?;
    body.settle();
    let spot = Spot::new(at, out, 0.0);
    let extent = Extent { depth: Gesture::Pull.usual_depth(), by: 0.015 * out, fingers: 1 };
    let pose = |t: f32| Gesture::Pull.pose(side, &spot, &extent, t);
    let hand =
        body.colliders_mut().add_hand_with(ColliderFrame::Head, &pose(0.0), HAND_FRICTION, &surface)?;
    for frame in 1..=120 {
        body.colliders_mut().move_hand(hand, &pose(frame as f32 / 120.0));
        let moved = body.advance(1.0 / 60.0)[cheek].distance(at);
        if frame % 15 == 0 {
            let colliders = body.colliders();
            let held = colliders.hand(hand).is_some_and(zygoma_face::contact::HandBody::is_holding);
            println!(
                "{:.2} s: the cheek moved by {:4.1} mm{}; the hand feels {:.2} N, the head {:.2} N",
                frame as f32 / 60.0,
                1e3 * moved,
                if held { ", held" } else { "" },
                colliders.hand_force(hand).unwrap_or_default().length(),
                colliders.head_load().force.length()
            );
        }
    }
    Ok(())
}
