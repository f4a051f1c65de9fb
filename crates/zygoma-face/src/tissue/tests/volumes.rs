use super::*;

/// The tissue of the layer as a mesh with its vertices in reverse order.
fn reversed() -> TissueVolume {
    let last = TISSUE.rest().len() as u32 - 1;
    TissueVolume {
        mesh: zygoma_geometry::tets::TetMesh {
            positions: TISSUE.rest().iter().rev().copied().collect(),
            tets: TISSUE.tets().iter().map(|tet| tet.map(|v| last - v)).collect(),
        },
        ties: TISSUE.ties().iter().rev().copied().collect(),
        materials: Vec::new(),
    }
}

fn made(volume: &TissueVolume) -> Result<Tissue, TissueError> {
    let face = &FACE.1;
    let input = TissueInput { volume: Some(volume), ..TissueInput::new(face) };
    Tissue::build(&input, &TissueParams::default(), &mut |_| Continue::Yes)
}

#[test]
fn a_layer_given_as_a_mesh_in_any_order_moves_as_the_layer() {
    let mut bodies = [performing(), TissueBody::new(Arc::new(made(&reversed()).unwrap())).unwrap()];
    let weights = weights_of(&[("mouthSmileLeft", 0.6), ("browInnerUp", 1.0)]);
    bodies.iter_mut().for_each(|body| {
        body.set_weights(&weights);
        body.settle();
    });
    let (mut apart, mut swing): (Vec<f32>, f32) = (Vec::new(), 0.0);
    for frame in 1..=12 {
        let rotation = DQuat::from_rotation_y(0.3 * (f64::from(frame) / 3.0).sin());
        let [layer, mesh] = bodies.each_mut().map(|body| {
            body.set_head_pose(&RigidMotion { rotation, translation: DVec3::ZERO });
            body.advance(1.0 / 60.0).to_vec()
        });
        let off = |v: &u32| 1e3 * layer[*v as usize].distance(mesh[*v as usize]);
        apart.extend(FACE.1.skin.iter().map(off));
        swing = swing.max(off_the_rig(&layer, &weights).1);
    }
    apart.sort_by(f32::total_cmp);
    let p95 = apart[apart.len() * 95 / 100];
    println!("p95 {p95:.4} mm apart, worst {:.2} mm, of a swing of {swing:.2} mm", apart[apart.len() - 1]);
    // Not the same to the last bit: a mesh's skin has areas and an embedding of its own, and excludes skin without tissue below it.
    assert!(swing > 1.0 && p95 < 0.05 * swing, "{p95} of {swing} mm");
}

#[test]
fn a_mesh_that_cannot_be_tissue_is_refused_in_a_sentence() {
    let message = |volume: TissueVolume| made(&volume).map(|_| ()).unwrap_err().to_string();
    let good = reversed();
    let mut few = good.clone();
    few.ties.pop();
    assert!(message(few).contains("ties"));
    let mut away = good.clone();
    away.mesh.positions.iter_mut().for_each(|p| *p *= 1000.0);
    assert!(message(away).ends_with("it must be in metres, in the rig's own frame"));
    let mut inverted = good.clone();
    inverted.mesh.tets[7].swap(0, 1);
    assert!(message(inverted).contains("inverted or flat at rest"));
    let mut beyond = good;
    beyond.mesh.tets[3][2] = u32::MAX;
    assert!(message(beyond).contains("tetrahedron 3 has a corner beyond"));
}
