//! The built-in head with tissue from the fill of its own anatomy.

use std::sync::Arc;

use glam::Vec3;
use zygoma_face::model::{Bones, Continue, FaceModel};
use zygoma_face::shell::{BuildParams, build};
use zygoma_face::tissue::{Tie, Tissue, TissueBody, TissueInput, TissueParams, TissueVolume};
use zygoma_head::anatomy::{self, Anatomy};
use zygoma_head::{Head, HeadOptions};
use zygoma_rig::RigMesh;
use zygoma_rig::evaluate::Evaluator;

/// A head of few shapes with its tissue.
pub(crate) struct Filled {
    /// The skin as the rig has it.
    pub(crate) mesh: RigMesh,
    /// The face of that skin.
    pub(crate) face: FaceModel,
    /// Its fill.
    pub(crate) tissue: Arc<Tissue>,
}

impl Filled {
    /// Builds it with some of the head's shapes: each one's volume has to be solved.
    pub(crate) fn new(shapes: &[&str]) -> Self {
        let head = Head::new(&HeadOptions::default());
        let anatomy = Anatomy::new(&head);
        let rig = head.rig_with_texture(None);
        let mut mesh = rig.skin().clone();
        mesh.shapes.retain(|shape| shapes.contains(&shape.name.as_str()));
        let params = BuildParams {
            triangles: 1500,
            uniform_stiffness: Some(10.0),
            corrected: false,
            ..BuildParams::default()
        };
        let mut face = build(&rig.name, &mesh, &params, &mut |_| Continue::Yes).expect("the head has a face");
        face.inside.bones = Bones::among(&anatomy.rig_meshes(&head), &mesh);
        let volume = TissueVolume {
            ties: anatomy.fill_ties.iter().map(tie).collect(),
            mesh: anatomy.fill,
            materials: Vec::new(),
        };
        let input = TissueInput { volume: Some(&volume), ..TissueInput::new(&face) };
        let tissue = Tissue::build(&input, &TissueParams::default(), &mut |_| Continue::Yes);
        Self { tissue: Arc::new(tissue.expect("the fill is tissue")), mesh, face }
    }

    /// Its tissue at rest.
    pub(crate) fn body(&self) -> TissueBody {
        TissueBody::new(self.tissue.clone()).expect("the fill can be simulated")
    }

    /// Weights of all its shapes.
    pub(crate) fn weights(&self, named: &[(&str, f32)]) -> Vec<f32> {
        let weight = |name: &str| named.iter().find(|(wanted, _)| *wanted == name).map_or(0.0, |(_, w)| *w);
        self.mesh.shapes.iter().map(|shape| weight(&shape.name)).collect()
    }

    /// Distances of the simulated skin from the plain rig, mm, in ascending order.
    pub(crate) fn off_the_rig(&self, surface: &[Vec3], weights: &[f32]) -> Vec<f32> {
        let mut plain = vec![Vec3::ZERO; self.mesh.positions.len()];
        Evaluator::new(&self.mesh).evaluate(weights, &mut plain);
        let off = |v: &u32| 1e3 * surface[*v as usize].distance(plain[*v as usize]);
        let mut off: Vec<f32> = self.face.skin.iter().map(off).collect();
        off.sort_by(f32::total_cmp);
        off
    }
}

fn tie(tie: &anatomy::Tie) -> Tie {
    match tie {
        anatomy::Tie::Flesh => Tie::Free,
        anatomy::Tie::Skin => Tie::Skin,
        // The neck ends in a cut that is fixed in the head's frame.
        anatomy::Tie::Cranium | anatomy::Tie::Neck => Tie::Cranium,
        anatomy::Tie::Mandible => Tie::Jaw,
    }
}
