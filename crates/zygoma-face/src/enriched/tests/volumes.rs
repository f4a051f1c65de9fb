//! Rest volumes of single shapes and of blends.

use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::tets::TetMesh;

use super::*;
use crate::volume::Tie;

/// The rows that are on a bone of the neutral, and that bone's triangles.
fn bone(tie: Tie) -> (Vec<usize>, Vec<[u32; 3]>) {
    let fill = TissueVolume::of_face(&FACE).unwrap();
    let (rest, tets) = ENRICHED.rest_shape(&[]);
    let place = |p: &DVec3| fill.mesh.positions.iter().position(|q| q == p).unwrap();
    let is_on: Vec<bool> = rest.iter().map(|p| fill.ties[place(p)] == tie).collect();
    let boundary = TetMesh { positions: rest, tets: tets.to_vec() }.boundary();
    let triangles = boundary.into_iter().filter(|t| t.iter().all(|v| is_on[*v as usize])).collect();
    ((0..is_on.len()).filter(|row| is_on[*row]).collect(), triangles)
}

#[test]
fn no_shape_and_no_blend_has_an_inverted_element() {
    let (rest, tets) = ENRICHED.rest_shape(&[]);
    let fullness = |x: &[DVec3]| {
        let full =
            |tet: &[u32; 4]| volume(tet.map(|v| x[v as usize])) / volume(tet.map(|v| rest[v as usize]));
        tets.iter().map(full).fold(f64::INFINITY, f64::min)
    };
    for (index, shape) in FACE.shapes.iter().enumerate() {
        let found = ENRICHED.soundness(&FACE, Some(index));
        assert!(found.inverted == 0 && found.least_fullness > 0.0, "{}: {found:?}", shape.name);
    }
    let all = weights(&[("jawOpen", 1.0), ("jawLeft", 1.0), ("mouthSmileLeft", 1.0), ("cheekPuff", 1.0)]);
    let (mut blended, _) = ENRICHED.rest_shape(&all);
    let repaired = ENRICHED.repair(&mut blended);
    assert_eq!(repaired.left, 0, "{repaired:?}");
    assert!(fullness(&blended) > 0.0);
}

#[test]
fn volumes_have_the_artists_skin_and_cross_no_more_than_it_does() {
    let neutral = ENRICHED.soundness(&FACE, None);
    for (index, shape) in FACE.shapes.iter().enumerate() {
        let found = ENRICHED.soundness(&FACE, Some(index));
        println!("{}: {found:?}", shape.name);
        assert!(
            found.crossings.skin <= found.artists_crossings.max(neutral.crossings.skin),
            "{}: {found:?}",
            shape.name
        );
        // A jaw may come too near to the cranium by itself.
        let moves_jaw = FACE.inside.jaw_shapes.contains(&index);
        assert!(
            moves_jaw || found.crossings.with_bones() <= neutral.crossings.with_bones(),
            "{}: {found:?}",
            shape.name
        );
        assert!(found.deeper_in_teeth < 5e-4, "{}: {found:?}", shape.name);
    }
}

/// Tissue slides over bones in expressions; no bone changes its surface, and the jaw is a rigid one in every blend.
#[test]
fn tissue_slides_over_bones_and_the_jaw_is_rigid_in_every_blend() {
    let (rest, _) = ENRICHED.rest_shape(&[]);
    let smiles = weights(&[("mouthSmileLeft", 1.0), ("mouthSmileRight", 1.0)]);
    let open = weights(&[("jawOpen", 0.6), ("jawLeft", 0.7)]);
    // A jaw that moves takes its tissue along.
    for (tie, at, least_moved, slides, most_off) in [
        (Tie::Cranium, &smiles, 1e-4, true, 3e-4),
        (Tie::Jaw, &smiles, 1e-4, true, 3e-4),
        (Tie::Jaw, &open, 5e-3, false, 2e-6),
    ] {
        let (rows, triangles) = bone(tie);
        let tree = TriangleTree::new(&rest, &triangles);
        let back = match tie {
            Tie::Jaw => ENRICHED.bones.pose(at).to_affine().inverse(),
            _ => glam::DAffine3::IDENTITY,
        };
        let (posed, _) = ENRICHED.rest_shape(at);
        let (mut moved, mut slid, mut off) = (0.0_f64, 0.0_f64, 0.0_f64);
        for row in rows.iter().filter(|row| triangles.iter().any(|t| t.contains(&(**row as u32)))) {
            let in_bone = back.transform_point3(posed[*row]);
            moved = moved.max(posed[*row].distance(rest[*row]));
            slid = slid.max(in_bone.distance(rest[*row]));
            off = off.max(tree.closest(&rest, &triangles, in_bone, 1.0).unwrap().distance);
        }
        println!("{tie:?}: {moved} m moved, {slid} m slid, {off} m off the bone");
        assert!(rows.len() > 100 && moved > least_moved, "{tie:?}: {moved} m moved");
        assert!(if slides { slid > 1e-4 } else { slid < 2e-6 }, "{tie:?}: {slid} m slid");
        assert!(off < most_off, "{tie:?}: {off} m off the bone");
    }
}
