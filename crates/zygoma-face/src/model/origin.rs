//! The rig that a face came from, so that simulated frames can be exported back to it.

use std::path::Path;

use glam::{DAffine3, DVec3};
use serde::{Deserialize, Serialize};
use zygoma_geometry::Faces;
use zygoma_rig::{Joint, JointRole, Rig, RigMesh, Shape, Source, Units};

use super::{FaceModel, FaceShape};

/// The rig that a face was built from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// The rig's file or folder, as given to the build; `None` for a rig made by code.
    pub path: Option<String>,
    /// Identity modes of an ICT-FaceKit folder, as given.
    pub identity: Option<String>,
    /// [`RigMesh::fingerprint`] of the mesh, in hexadecimal digits; `None` where the file has none.
    pub fingerprint: Option<String>,
    /// Columns of the transform from the mesh's own coordinates and unit in its file to rig space.
    pub to_rig: Option<[f64; 12]>,
    /// The pivot of the head's rotation, in metres, in rig space.
    pub head_pivot: Option<[f64; 3]>,
}

impl Origin {
    /// The origin as far as the mesh alone determines it.
    pub fn of_mesh(mesh: &RigMesh) -> Self {
        Self {
            fingerprint: Some(fingerprint(mesh)),
            to_rig: Some(mesh.to_rig.to_cols_array()),
            ..Self::default()
        }
    }

    /// The skin of a rig that was read from a file or folder.
    pub fn of_rig(rig: &Rig, path: &Path, identity: Option<&str>) -> Self {
        Self {
            path: Some(path.display().to_string()),
            identity: identity.map(str::to_owned),
            head_pivot: rig.pivot(JointRole::Head).map(|pivot| pivot.to_array()),
            ..Self::of_mesh(rig.skin())
        }
    }

    /// Whether a mesh is the one that the face was built from, as far as is known.
    pub fn is(&self, mesh: &RigMesh) -> bool {
        self.fingerprint.as_ref().is_none_or(|own| *own == fingerprint(mesh))
    }
}

fn fingerprint(mesh: &RigMesh) -> String {
    format!("{:016x}", mesh.fingerprint())
}

impl FaceModel {
    /// A rig rebuilt from the face alone: its mesh, triangulated, and its shapes.
    pub fn stand_in(&self) -> Rig {
        let shape = |shape: &FaceShape| Shape { name: shape.name.clone(), deltas: shape.deltas.clone() };
        let mesh = RigMesh {
            name: self.mesh.clone(),
            positions: self.neutral.clone(),
            faces: Faces::from_triangles(&self.triangles),
            uvs: None,
            shapes: self.shapes.iter().map(shape).collect(),
            regions: Vec::new(),
            to_rig: self.origin.to_rig.map_or(DAffine3::IDENTITY, |m| DAffine3::from_cols_array(&m)),
            quantum: 1e-6 * self.height as f32,
        };
        let head = self.origin.head_pivot.map(|pivot| Joint {
            role: JointRole::Head,
            name: "head".into(),
            node: 0,
            position: DVec3::from_array(pivot),
            carries: Vec::new(),
        });
        Rig {
            name: self.name.clone(),
            meshes: vec![mesh],
            skin: 0,
            expressions: Vec::new(),
            joints: head.into_iter().collect(),
            takes: Vec::new(),
            units: Units { metres_per_unit: 1.0, reason: "a face file is in metres".into() },
            notes: Vec::new(),
            source: Source::Generated { texture: None },
        }
    }
}
