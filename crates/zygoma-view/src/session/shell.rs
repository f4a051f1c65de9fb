//! Shells only: the simulation mesh with its fitted fields, and the certificate.

use std::collections::BTreeSet;

use zygoma_face::body::Body;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::{FittedShell, ShellBody};

use crate::container::Arrays;
use crate::model::{Model, Part};
use crate::protocol::{FaceHeader, kind};

/// The message with the simulation mesh of a face and the fields of its shell.
pub(crate) fn face_message(face: &FaceModel, shell: &FittedShell, model: &Model) -> Vec<u8> {
    let part = &model.parts[model.rig.skin];
    let mut arrays = Arrays::default();
    let edges: BTreeSet<[u32; 2]> = face
        .coarse
        .triangles
        .iter()
        .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]].map(|[a, b]| [a.min(b), a.max(b)]))
        .collect();
    let edges: Vec<[u32; 2]> = edges.into_iter().collect();
    let corner = |place: &zygoma_geometry::closest::SurfacePoint| {
        face.triangles[place.triangle as usize].map(|vertex| part.point_of_vertex[vertex as usize])
    };
    let corners: Vec<[u32; 3]> = face.coarse.on_mesh.iter().map(corner).collect();
    let shares: Vec<[f32; 3]> =
        face.coarse.on_mesh.iter().map(|p| p.barycentric.map(|fraction| fraction as f32)).collect();
    let strain = field(face, part, |v| shell.stiffness.strain[v] as f32);
    let bending = field(face, part, |v| shell.stiffness.bending[v] as f32);
    let depth = field(face, part, |v| shell.depth[v] * face.height as f32);
    let header = FaceHeader {
        height: face.height,
        shell_triangles: face.coarse.triangles.len(),
        fitted: shell.certified.is_some(),
        edges: arrays.add(edges.as_flattened()),
        corners: arrays.add(corners.as_flattened()),
        shares: arrays.add(shares.as_flattened()),
        strain: arrays.add(&strain),
        bending: arrays.add(&bending),
        depth: arrays.add(&depth),
    };
    arrays.into_message(kind::FACE, &header)
}

/// A quantity of the shell's vertices at the points of the skin; −1 where nothing is simulated.
fn field(face: &FaceModel, part: &Part, value: impl Fn(usize) -> f32) -> Vec<f32> {
    let at = |vertex: &u32| {
        let corners = face.embedding.vertices[*vertex as usize];
        let weights = face.embedding.weights[*vertex as usize];
        let whole: f32 = weights.iter().sum();
        if whole < 0.5 {
            return -1.0;
        }
        (0..3).map(|i| weights[i] * value(corners[i] as usize)).sum::<f32>() / whole
    };
    part.vertex_of_point.iter().map(at).collect()
}

/// Whether the certificate of a shell holds with its present parameters, and why; `None` for other bodies.
pub(crate) fn certificate(body: &dyn Body) -> Option<(bool, String)> {
    let shell: &ShellBody = body.downcast_ref()?;
    let holds = shell.within_certificate();
    let reason = match &shell.face().fitted.certified {
        None => "the stiffness is the same everywhere so far; nothing is certified".to_owned(),
        Some(_) if holds => "every expression of the rig is met within the tolerance".to_owned(),
        Some(certified) if !certified.holds() => certified.gap().unwrap_or_default(),
        Some(_) if shell.params().stiffness_scale > 1.0 => {
            "stiffer than it was certified: expressions may fall short of the rig's".to_owned()
        }
        Some(_) => "outside of what was certified: expressions may fall short of the rig's".to_owned(),
    };
    Some((holds, reason))
}
