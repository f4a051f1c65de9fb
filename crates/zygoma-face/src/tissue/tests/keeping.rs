//! Bodies that are saved and restored, and tissue that is kept in a face.

use super::touching::spot;
use super::*;
use crate::body::restoring::assert_restores;
use crate::body::{RigBody, Snapshot};
use crate::shell::{RunParams, ShellBody};

#[test]
fn bodies_go_on_from_a_saved_state_bit_for_bit() {
    let (at, _) = spot("cheek-left");
    assert_restores(&mut RigBody::new(&FACE.1), at);
    assert_restores(&mut ShellBody::new(&FACE.1, RunParams::default().awake()).unwrap(), at);
    let mut tissue = performing();
    assert_restores(&mut tissue, at);
    let mut shell = ShellBody::new(&FACE.1, RunParams::default()).unwrap();
    assert!(shell.restore(&tissue.save()).is_err(), "a state of another body is refused");
}

/// Number of progress reports of a tissue build before it is cancelled, and the tissue if it is not.
fn shapes_solved(face: &FaceModel, params: &TissueParams) -> (usize, Option<Tissue>) {
    let mut reported = 0;
    let tissue = Tissue::build(&TissueInput::new(face), params, &mut |_| {
        reported += 1;
        Continue::Abandon
    });
    (reported, tissue.ok())
}

#[test]
fn solved_tissue_is_taken_from_the_face() {
    let params = TissueParams::default();
    let mut kept = FACE.1.clone();
    kept.add_section(&TISSUE.solved());
    let kept = FaceModel::from_bytes(&kept.to_bytes()).unwrap();
    let (reported, read) = shapes_solved(&kept, &params);
    assert_eq!(reported, 0, "no shape is solved again");
    assert_eq!(read.unwrap().solved(), TISSUE.solved());
    let softer = TissueParams { poisson: Some(0.4), ..params.clone() };
    assert_eq!(shapes_solved(&kept, &softer).0, 1, "other parameters are solved anew");
    let sticky = TissueParams { stickiness: STICKY, ..params };
    assert_eq!(shapes_solved(&kept, &sticky).0, 0, "lips that stick do not matter");
    let mut damaged = TISSUE.solved();
    damaged.truncate_stiffness();
    let mut broken = kept.clone();
    broken.add_section(&damaged);
    assert_eq!(shapes_solved(&broken, &TissueParams::default()).0, 1, "a damaged section is solved anew");
}

#[test]
fn solved_forces_are_taken_from_the_face() {
    let params = TissueParams { actuation: Actuation::Forces, ..TissueParams::default() };
    let solved = Tissue::new(&FACE.1, &params).unwrap();
    assert!(!solved.was_solved_before());
    let mut kept = FACE.1.clone();
    kept.add_section(&solved.solved());
    let kept = FaceModel::from_bytes(&kept.to_bytes()).unwrap();
    let (reported, read) = shapes_solved(&kept, &params);
    let read = read.unwrap();
    assert_eq!((reported, read.was_solved_before()), (0, true), "no shape is solved again");
    assert_eq!(read.solved(), solved.solved());
    assert_eq!(read.tissue_mesh.mesh, solved.tissue_mesh.mesh, "the layer is as thin as it was made");
    assert_eq!(shapes_solved(&kept, &TissueParams::default()).0, 1, "shapes are driven otherwise");
}
