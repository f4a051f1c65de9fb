//! A rig's own teeth and eyes, compared with bones that were found without them.

use glam::{DVec3, Vec3};
use serde::Serialize;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::{SignedSurface, TriangleTree};
use zygoma_head::anatomy::Bone;
use zygoma_head::fit::{FitInput, FittedHead, SharedSkin, fit};
use zygoma_rig::{Rig, RigMesh, arkit};

use super::MILLIMETRES;

/// Distances between a rig's own teeth and eyes and the fitted bones, in millimetres of a life-size head.
#[derive(Debug, Serialize)]
pub(crate) struct Withheld {
    /// Mean distances of the 68 landmarks from those of the file, by part of the face.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) landmarks: Vec<LandmarkFit>,
    /// Mean distance between the arches of the lower teeth and of the mandible's ridge, seen from above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lower_arch_mm: Option<f64>,
    /// Mean distance from the lower teeth to the mandible's ridge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lower_teeth_mm: Option<f64>,
    /// For each eye, how deep it reaches into the cranium's bone, and how many of five directions from its middle backwards end at that bone.
    pub(crate) eyes: Vec<EyeFit>,
    /// Distances of the condyles from the axis that the lower teeth turn about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) condyles_off_axis_mm: Option<[f64; 2]>,
}

#[derive(Debug, Serialize)]
pub(crate) struct EyeFit {
    pub(crate) in_bone_mm: f64,
    pub(crate) walls: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct LandmarkFit {
    pub(crate) part: &'static str,
    pub(crate) mean_mm: f64,
}

/// Numbers of the 68 landmarks.
const LANDMARKS: [(&str, std::ops::Range<usize>); 6] = [
    ("outline", 0..17),
    ("brows", 17..27),
    ("nose", 27..36),
    ("eyes", 36..48),
    ("mouth", 48..68),
    ("all", 0..68),
];

impl std::fmt::Display for Withheld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "withheld:")?;
        for LandmarkFit { part, mean_mm } in &self.landmarks {
            write!(f, " {part} {mean_mm:.1},")?;
        }
        if let (Some(arch), Some(teeth)) = (self.lower_arch_mm, self.lower_teeth_mm) {
            write!(f, " lower arch {arch:.1} mm off the ridge's, teeth {teeth:.1} mm from it")?;
        }
        for eye in &self.eyes {
            write!(f, ", eye {:.1} mm in bone, {} of 5 walls", eye.in_bone_mm, eye.walls)?;
        }
        match self.condyles_off_axis_mm {
            Some([left, right]) => write!(f, ", condyles {left:.1} and {right:.1} mm off the axis"),
            None => Ok(()),
        }
    }
}

/// Fits a rig's skin alone and compares its teeth and eyes with the bones, and its landmarks with the skin; `None` if it is refused.
pub(super) fn measure(rig: &Rig, landmarks: &[u32]) -> Option<Withheld> {
    let skin = rig.skin();
    let positions: Vec<DVec3> = skin.positions.iter().map(|p| p.as_dvec3()).collect();
    let is_skin = skin_vertices(skin);
    let mut triangles = skin.faces.triangles();
    triangles.retain(|t| t.iter().all(|v| is_skin[*v as usize]));
    let fitted = fit(&FitInput::new(&positions, &triangles)).ok()?;
    let back = fitted.to_mesh.inverse();
    let teeth = lower_teeth(rig);
    let rest: Vec<DVec3> = teeth.iter().map(|(p, _)| *p).collect();
    let posed: Vec<DVec3> = teeth.iter().map(|(_, p)| *p).collect();
    let motion = fitted.teeth_motion(&rest, &posed);
    let home: Vec<DVec3> = rest.iter().map(|p| back.apply(*p)).collect();
    let ridge = Ridge::of(&fitted, &fitted.anatomy.mandible);
    let eyes = eyes(rig).map(|eye| eye.iter().map(|p| back.apply(*p)).collect::<Vec<DVec3>>());
    let cranium = Cranium::of(&fitted)?;
    Some(Withheld {
        landmarks: landmark_fits(&fitted, &positions, landmarks),
        lower_arch_mm: arch_distance(&home, &ridge.points),
        lower_teeth_mm: (!home.is_empty()).then(|| ridge.mean_distance(&home)),
        eyes: eyes.iter().filter(|eye| !eye.is_empty()).map(|eye| cranium.eye(eye)).collect(),
        condyles_off_axis_mm: motion
            .and_then(|motion| fitted.condyles_off_axis(&motion))
            .map(|off| off.map(|length| MILLIMETRES * length)),
    })
}

/// Distances of the fitted landmarks from those of a mesh, in millimetres of a life-size head; none without landmarks.
fn landmark_fits(fitted: &FittedHead, positions: &[DVec3], landmarks: &[u32]) -> Vec<LandmarkFit> {
    let ours = &SharedSkin::get().places.landmarks;
    if landmarks.len() != ours.len() {
        return Vec::new();
    }
    let distance = |i: usize| {
        let place = fitted.skin[ours[i] as usize];
        MILLIMETRES * place.distance(positions[landmarks[i] as usize]) / fitted.to_mesh.scale
    };
    let fit = |(part, numbers): (&'static str, std::ops::Range<usize>)| LandmarkFit {
        part,
        mean_mm: super::mean(numbers.map(distance)),
    };
    LANDMARKS.map(fit).into()
}

/// Which vertices of a skin mesh are skin, where the file says so.
fn skin_vertices(mesh: &RigMesh) -> Vec<bool> {
    const SKIN: [&str; 4] = ["face", "head_and_neck", "mouth_socket", "eye_sockets"];
    if mesh.regions.is_empty() {
        return vec![true; mesh.positions.len()];
    }
    let mut is_skin = vec![false; mesh.positions.len()];
    for region in mesh.regions.iter().filter(|region| SKIN.contains(&region.name.as_str())) {
        is_skin[region.vertices.clone()].fill(true);
    }
    is_skin
}

/// Vertices of meshes and regions whose name passes a test: the mesh, and the vertex.
fn named(rig: &Rig, is_named: impl Fn(&str) -> bool) -> Vec<(&RigMesh, Vec<usize>)> {
    let vertices = |mesh: &RigMesh| -> Vec<usize> {
        let regions = mesh.regions.iter().filter(|region| is_named(&region.name));
        let own: Vec<usize> = regions.flat_map(|region| region.vertices.clone()).collect();
        if own.is_empty() && is_named(&mesh.name) { (0..mesh.positions.len()).collect() } else { own }
    };
    rig.meshes
        .iter()
        .map(|mesh| (mesh, vertices(mesh)))
        .filter(|(_, vertices)| !vertices.is_empty())
        .collect()
}

/// Lower teeth at rest and with the jaw open: those that move with it.
fn lower_teeth(rig: &Rig) -> Vec<(DVec3, DVec3)> {
    /// Share of the largest motion of a tooth.
    const MOVES: f32 = 0.3;
    let mut teeth: Vec<(Vec3, Vec3)> = Vec::new();
    for (mesh, vertices) in named(rig, |name| name.to_lowercase().contains("teeth")) {
        let open = mesh.shapes.iter().find(|shape| arkit::is(&shape.name, "jawOpen"));
        let moved = open.map_or_else(
            || vec![Vec3::ZERO; mesh.positions.len()],
            |shape| shape.deltas.to_dense(mesh.positions.len()),
        );
        teeth.extend(vertices.iter().map(|v| (mesh.positions[*v], moved[*v])));
    }
    let largest = teeth.iter().map(|(_, by)| by.length()).fold(0.0, f32::max);
    let lower = teeth.iter().filter(|(_, by)| largest > 0.0 && by.length() > MOVES * largest);
    lower.map(|(p, by)| (p.as_dvec3(), (*p + *by).as_dvec3())).collect()
}

/// Points of the left and the right eyeball.
fn eyes(rig: &Rig) -> [Vec<DVec3>; 2] {
    const OTHERS: [&str; 7] = ["lash", "brow", "socket", "blend", "occlusion", "lid", "gland"];
    let is_eye = |name: &str| {
        let name = name.to_lowercase();
        name.contains("eye") && !OTHERS.iter().any(|other| name.contains(other))
    };
    let points = named(rig, is_eye)
        .into_iter()
        .filter(|(mesh, _)| !std::ptr::eq(*mesh, rig.skin()) || !mesh.regions.is_empty());
    let points: Vec<DVec3> =
        points.flat_map(|(mesh, own)| own.into_iter().map(|v| mesh.positions[v].as_dvec3())).collect();
    let middle = points.iter().map(|p| p.x).sum::<f64>() / points.len().max(1) as f64;
    let (left, right) = points.into_iter().partition(|p| p.x > middle);
    [left, right]
}

/// The alveolar ridge of a bone, in the head's own frame.
struct Ridge {
    points: Vec<DVec3>,
    tree: TriangleTree<DVec3>,
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl Ridge {
    fn of(fitted: &FittedHead, bone: &Bone) -> Self {
        let back = fitted.to_mesh.inverse();
        let positions: Vec<DVec3> = bone.surface.positions.iter().map(|p| back.apply(*p)).collect();
        let on_ridge = |t: &&[u32; 3]| t.iter().all(|v| bone.ridge[*v as usize]);
        let triangles: Vec<[u32; 3]> = bone.surface.triangles.iter().filter(on_ridge).copied().collect();
        let points =
            positions.iter().zip(&bone.ridge).filter(|(_, ridge)| **ridge).map(|(p, _)| *p).collect();
        Self { points, tree: TriangleTree::new(&positions, &triangles), positions, triangles }
    }

    fn mean_distance(&self, points: &[DVec3]) -> f64 {
        let one = |p: &DVec3| self.tree.closest(&self.positions, &self.triangles, *p, f64::MAX);
        let all: Vec<f64> = points.iter().filter_map(one).map(|found| found.distance).collect();
        MILLIMETRES * all.iter().sum::<f64>() / all.len().max(1) as f64
    }
}

/// The mean distance between two dental arches seen from above: between their middle lines, around a point between the hindmost teeth.
fn arch_distance(teeth: &[DVec3], ridge: &[DVec3]) -> Option<f64> {
    const SECTORS: usize = 18;
    let back = teeth.iter().map(|p| p.z).reduce(f64::min)?;
    let radii = |points: &[DVec3]| {
        let mut sums = [[0.0; 2]; SECTORS];
        for p in points.iter().filter(|p| p.z >= back) {
            let (x, z) = (p.x, p.z - back);
            let sector = (x.atan2(z) / std::f64::consts::PI + 0.5) * SECTORS as f64;
            let sum = &mut sums[(sector as usize).min(SECTORS - 1)];
            *sum = [sum[0] + x.hypot(z), sum[1] + 1.0];
        }
        sums.map(|[sum, count]| (count > 0.0).then(|| sum / count))
    };
    let pairs = radii(teeth).into_iter().zip(radii(ridge)).filter_map(|(a, b)| Some((a? - b?).abs()));
    let all: Vec<f64> = pairs.collect();
    (!all.is_empty()).then(|| MILLIMETRES * all.iter().sum::<f64>() / all.len() as f64)
}

/// The cranium in the head's own frame.
struct Cranium {
    surface: SignedSurface<DVec3>,
    tree: TriangleTree<DVec3>,
}

impl Cranium {
    fn of(fitted: &FittedHead) -> Option<Self> {
        let back = fitted.to_mesh.inverse();
        let own = &fitted.anatomy.cranium.surface;
        let mesh = TriMesh {
            positions: own.positions.iter().map(|p| back.apply(*p)).collect(),
            triangles: own.triangles.clone(),
        };
        let tree = TriangleTree::new(&mesh.positions, &mesh.triangles);
        Some(Self { surface: SignedSurface::new(mesh).ok()?, tree })
    }

    fn eye(&self, eye: &[DVec3]) -> EyeFit {
        /// Walls of an orbit are nearer than this to the middle of the eye, in metres.
        const ORBIT: f64 = 0.04;
        let depth = |p: &DVec3| self.surface.closest(*p, 0.01).map_or(0.0, |found| -found.signed_distance);
        let (low, high) =
            eye.iter().fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(*p), high.max(*p)));
        let middle = 0.5 * (low + high);
        let TriMesh { positions, triangles } = self.surface.mesh();
        let is_wall = |side: &DVec3| {
            let direction = (*side - DVec3::Z).normalize();
            let hit = self.tree.first_hit(positions, triangles, middle, direction, 0.0, |_| true);
            hit.is_some_and(|hit| hit.distance < ORBIT)
        };
        let sides = [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::ZERO];
        EyeFit {
            in_bone_mm: MILLIMETRES * eye.iter().map(depth).fold(0.0, f64::max),
            walls: sides.iter().filter(|side| is_wall(side)).count(),
        }
    }
}
