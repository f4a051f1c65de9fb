//! How far the bones move when the same head is given in another way.

use glam::DVec3;
use serde::Serialize;
use zygoma_geometry::coarsen::coarsen;
use zygoma_head::Head;
use zygoma_head::HeadOptions;
use zygoma_head::anatomy::{Anatomy, FillDetail};
use zygoma_head::fit::{BoneModel, Fat, FitInput, Registration};
use zygoma_numerics::random::Keyed;
use zygoma_rig::{Rig, RigMesh};

use super::MILLIMETRES;

/// Noise of the vertices, in metres.
const NOISE: f64 = 2e-4;

/// A change of the input, and how far it moves the bones.
#[derive(Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) change: &'static str,
    pub(crate) mean_mm: f64,
    pub(crate) worst_mm: f64,
    /// Why the changed mesh was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.refused {
            Some(reason) => write!(f, "{}: {reason}", self.change),
            None => write!(f, "{} {:.2} mm ({:.1} worst)", self.change, self.mean_mm, self.worst_mm),
        }
    }
}

/// A mesh with the meshes in it.
struct Input {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    others: Vec<(Vec<DVec3>, Vec<[u32; 3]>)>,
}

impl Input {
    fn of(rig: &Rig) -> Self {
        let points = |mesh: &RigMesh| mesh.positions.iter().map(|p| p.as_dvec3()).collect::<Vec<DVec3>>();
        let others = rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin);
        Self {
            positions: points(rig.skin()),
            triangles: rig.skin().faces.triangles(),
            others: others.map(|(_, mesh)| (points(mesh), mesh.faces.triangles())).collect(),
        }
    }

    fn mapped(&self, map: impl Fn(DVec3) -> DVec3, is_mirror: bool) -> Self {
        let points = |points: &[DVec3]| points.iter().map(|p| map(*p)).collect::<Vec<DVec3>>();
        let faces = |faces: &[[u32; 3]]| match is_mirror {
            true => faces.iter().map(|[a, b, c]| [*a, *c, *b]).collect(),
            false => faces.to_vec(),
        };
        Self {
            positions: points(&self.positions),
            triangles: faces(&self.triangles),
            others: self.others.iter().map(|(p, t)| (points(p), faces(t))).collect(),
        }
    }

    /// Cranium and mandible.
    fn bones(&self) -> Result<[Vec<DVec3>; 2], String> {
        let others: Vec<(&[DVec3], &[[u32; 3]])> =
            self.others.iter().map(|(p, t)| (&p[..], &t[..])).collect();
        let input = FitInput { others: &others, ..FitInput::new(&self.positions, &self.triangles) };
        let found = Registration::new(&input).and_then(|head| head.bones(BoneModel::default(), Fat::Auto));
        found.map(|(bones, _)| bones).map_err(|problem| problem.to_string())
    }
}

/// Fits a rig in all changed forms.
pub(super) fn measure(rig: &Rig) -> Vec<Change> {
    let plain = Input::of(rig);
    let Ok(wanted) = plain.bones() else { return Vec::new() };
    let anatomy = Anatomy::filled(&Head::new(&HeadOptions::default()), FillDetail::Coarse);
    let mirrors = [&anatomy.cranium, &anatomy.mandible].map(|bone| bone.surface.mirror.clone());
    let compare = |change: &'static str, input: Input, back: &dyn Fn(DVec3) -> DVec3, is_mirror: bool| {
        let found = match input.bones() {
            Ok(found) => found,
            Err(reason) => return Change { change, mean_mm: 0.0, worst_mm: 0.0, refused: Some(reason) },
        };
        let mut distances = Vec::new();
        for ((found, wanted), mirror) in found.iter().zip(&wanted).zip(&mirrors) {
            let other = |v: usize| if is_mirror { mirror[v] as usize } else { v };
            distances
                .extend((0..found.len()).map(|v| MILLIMETRES * back(found[other(v)]).distance(wanted[v])));
        }
        Change {
            change,
            mean_mm: distances.iter().sum::<f64>() / distances.len().max(1) as f64,
            worst_mm: distances.iter().copied().fold(0.0, f64::max),
            refused: None,
        }
    };
    let random = Keyed::new(5, 0);
    let noisy = |(v, p): (usize, &DVec3)| {
        let noise = DVec3::from_array([0, 1, 2].map(|k| random.normal((3 * v + k) as u64)));
        *p + NOISE / 3f64.sqrt() * noise
    };
    let with_noise = Input {
        positions: plain.positions.iter().enumerate().map(noisy).collect(),
        ..plain.mapped(|p| p, false)
    };
    let mirror = |p: DVec3| DVec3::new(-p.x, p.y, p.z);
    let mut changes = vec![
        compare("mirrored", plain.mapped(mirror, true), &mirror, true),
        compare("rescaled", plain.mapped(|p| 37.0 * p, false), &|p| p / 37.0, false),
        compare(
            "Z up",
            plain.mapped(|p| DVec3::new(p.x, -p.z, p.y), false),
            &|p| DVec3::new(p.x, p.z, -p.y),
            false,
        ),
        compare("noisy", with_noise, &|p| p, false),
    ];
    if let Ok(even) = coarsen(&plain.positions, &plain.triangles, plain.triangles.len()) {
        let remeshed =
            Input { positions: even.positions, triangles: even.triangles, ..plain.mapped(|p| p, false) };
        changes.push(compare("remeshed", remeshed, &|p| p, false));
    }
    changes
}
