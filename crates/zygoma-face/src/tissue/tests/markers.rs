//! Tissue driven by markers.

use zygoma_rig::formats::markers::MarkerPlace;

use super::*;

/// Some dozen vertices spread over the face.
fn vertices() -> Vec<u32> {
    let (mesh, face) = &*FACE;
    let mut chosen: Vec<u32> = Vec::new();
    let follows = |v: &&u32| face.embedding.weights[**v as usize].iter().sum::<f32>() > 0.999;
    let seen = |v: &&u32| mesh.positions[**v as usize].z > 0.02;
    while chosen.len() < 60 {
        let apart = |v: &&u32| {
            let at = mesh.positions[**v as usize];
            chosen.iter().map(|c| mesh.positions[*c as usize].distance(at)).fold(1.0, f32::min)
        };
        let candidates = face.skin.iter().filter(follows).filter(seen);
        chosen.push(*candidates.max_by(|a, b| apart(a).total_cmp(&apart(b))).unwrap());
    }
    chosen
}

#[test]
fn markers_from_the_rig_give_its_expression_back() {
    let (mesh, _) = &*FACE;
    let vertices = vertices();
    // Half of them are given by index, half by position.
    let place = |(index, v): (usize, &u32)| match index % 2 {
        0 => MarkerPlace::Vertex(*v),
        _ => MarkerPlace::At(mesh.positions[*v as usize] + Vec3::Z * 1e-3),
    };
    let places: Vec<MarkerPlace> = vertices.iter().enumerate().map(place).collect();
    for names in [
        &[("jawOpen", 0.6)][..],
        &[("mouthSmileLeft", 0.9), ("mouthSmileRight", 0.4)],
        &[("browInnerUp", 0.8), ("jawOpen", 0.3), ("mouthFunnel", 0.5)],
    ] {
        let weights = weights_of(names);
        let mut plain = vec![Vec3::ZERO; mesh.positions.len()];
        Evaluator::new(mesh).evaluate(&weights, &mut plain);
        let offset = |index: usize| if index.is_multiple_of(2) { Vec3::ZERO } else { Vec3::Z * 1e-3 };
        let seen: Vec<Vec3> =
            vertices.iter().enumerate().map(|(i, v)| plain[*v as usize] + offset(i)).collect();
        let mut face = performing();
        face.follow(Markers::new(&TISSUE, &places).unwrap());
        for frame in 0..=40 {
            let fraction = (frame as f32 / 25.0).min(1.0);
            let rest: Vec<Vec3> =
                vertices.iter().enumerate().map(|(i, v)| mesh.positions[*v as usize] + offset(i)).collect();
            face.set_markers(&rest.iter().zip(&seen).map(|(a, b)| a.lerp(*b, fraction)).collect::<Vec<_>>());
            if frame == 0 {
                face.settle()
            } else {
                face.advance(1.0 / 60.0)
            };
        }
        let miss = face.marker_miss();
        let off = face.actuations().iter().zip(&weights).map(|(a, w)| (a - w).abs()).fold(0.0, f32::max);
        let shown = face.advance(1.0 / 60.0).to_vec();
        let (mean, worst) = off_the_rig(&shown, &weights);
        println!(
            "{names:?}: markers miss {:.3} mm, {:.2} mm at worst; actuations off by {off:.3}; the skin leaves the rig by {mean:.3} mm, {worst:.2} mm",
            1e3 * miss.mean,
            1e3 * miss.worst
        );
        assert!(miss.mean < 5e-4, "{names:?}: {miss:?}");
        assert!(off < 0.15, "{names:?}: {off}");
        assert!(mean < 0.5, "{names:?}: {mean} mm");
    }
}

#[test]
fn markers_that_sit_nowhere_are_named() {
    let count = FACE.1.vertex_count();
    let beyond = Markers::new(&TISSUE, &[MarkerPlace::Vertex(0), MarkerPlace::Vertex(count as u32)]);
    assert!(matches!(beyond.err(), Some(MarkerError::NoVertex { marker: 1, .. })));
    let far = Markers::new(&TISSUE, &[MarkerPlace::At(Vec3::Z * 3.0)]).err().unwrap();
    assert!(far.to_string().contains("metres"), "{far}");
}
