//! The validation report: the contents of a rig, and problems for a simulation.

use serde::Serialize;
use zygoma_geometry::topology::{EdgeCounts, connected_parts};

use crate::jaw::jaw_driven_shapes;
use crate::skin::moved_and_whole_area;
use crate::take::{LargeWeight, WeightTrack};
use crate::weld::Weld;
use crate::{Rig, RigMesh, Shape, arkit};

/// The report of `zygoma info` on a rig.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The rig's name.
    pub name: String,
    /// Every mesh.
    pub meshes: Vec<MeshReport>,
    /// Name of the mesh that is simulated.
    pub skin: String,
    /// Which ARKit shapes the rig has.
    pub arkit: ArkitReport,
    /// Named mixtures of shapes (VRM).
    pub expressions: Vec<String>,
    /// Shapes of the skin that move the jaw.
    pub jaw_driven: Vec<String>,
    /// Joints found by name, as "role: name".
    pub joints: Vec<String>,
    /// Takes in the file.
    pub takes: Vec<TakeReport>,
    /// The file's unit.
    pub units: UnitsReport,
    /// Notes on what the importer did or left out.
    pub notes: Vec<String>,
    /// Problems for a simulation, worst first.
    pub problems: Vec<String>,
}

/// The contents of one mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeshReport {
    /// Its name.
    pub name: String,
    /// Vertices in the file.
    pub vertices: usize,
    /// Points after welding.
    pub points: usize,
    /// Triangles, polygons split.
    pub triangles: usize,
    /// Names of the shapes in file order.
    pub shapes: Vec<String>,
    /// Edges with more than two triangles, after welding.
    pub non_manifold_edges: usize,
    /// Edges with one triangle, after welding.
    pub border_edges: usize,
    /// Triangles thinner than the file's quantum.
    pub degenerate_triangles: usize,
    /// Connected parts.
    pub parts: usize,
    /// Vertices in no face.
    pub unused_vertices: usize,
    /// Shapes that move nothing.
    pub empty_shapes: Vec<String>,
    /// Pairs of identical shapes.
    pub duplicate_shapes: Vec<(String, String)>,
    /// Extent in metres along x, y, z.
    pub size: [f32; 3],
}

/// Which of the 52 ARKit shapes a rig has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArkitReport {
    /// How many.
    pub count: usize,
    /// Always 52.
    pub of: usize,
    /// ARKit's names of the missing ones.
    pub missing: Vec<&'static str>,
}

/// The contents of a take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TakeReport {
    /// Its name.
    pub name: String,
    /// Length in seconds.
    pub duration: f64,
    /// Number of driven shapes.
    pub shapes: usize,
    /// Whether the head moves.
    pub head_motion: bool,
    /// Tracks whose weights leave the usual range of −2 to 2.
    pub large_weights: Vec<LargeWeight>,
    /// Keys of the longest track.
    pub frames: usize,
    /// Keys per second of that track.
    pub fps: f64,
    /// The largest weight of each track, the largest first.
    pub peaks: Vec<PeakReport>,
}

/// The largest weight of a track.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PeakReport {
    /// The track.
    pub track: String,
    /// Its largest weight.
    pub peak: f32,
    /// When that is, in seconds.
    pub time: f64,
}

/// How the file's lengths became metres.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitsReport {
    /// Length of the file's unit in metres.
    pub metres_per_unit: f64,
    /// The reason for that unit.
    pub reason: String,
}

impl Report {
    /// Examines a rig.
    pub fn new(rig: &Rig) -> Self {
        let meshes: Vec<MeshReport> = rig.meshes.iter().map(MeshReport::new).collect();
        let skin = rig.skin();
        let names = rig.meshes.iter().flat_map(|mesh| &mesh.shapes).map(|shape| shape.name.as_str());
        let names = names.chain(rig.expressions.iter().map(|expression| expression.name.as_str()));
        let jaw_driven = jaw_driven_shapes(skin);
        let mut report = Self {
            name: rig.name.clone(),
            skin: skin.name.clone(),
            arkit: ArkitReport::new(names),
            expressions: rig.expressions.iter().map(|expression| expression.name.clone()).collect(),
            jaw_driven: jaw_driven.iter().map(|shape| skin.shapes[*shape].name.clone()).collect(),
            joints: rig.joints.iter().map(|joint| format!("{}: {}", joint.role, joint.name)).collect(),
            takes: rig.takes.iter().map(TakeReport::new).collect(),
            units: UnitsReport {
                metres_per_unit: rig.units.metres_per_unit,
                reason: rig.units.reason.clone(),
            },
            notes: rig.notes.clone(),
            problems: Vec::new(),
            meshes,
        };
        report.problems = warnings(rig);
        report.problems.extend(report.find_problems(rig.skin));
        report.problems.extend(rig.takes.iter().filter_map(crate::Take::weight_warning));
        report
    }

    /// Lists the skin's problems; other meshes are not simulated.
    fn find_problems(&self, skin: usize) -> Vec<String> {
        let skin = &self.meshes[skin];
        let name = &skin.name;
        let mut problems = Vec::new();
        let mut report = |count: usize, text: String| problems.extend((count > 0).then_some(text));
        if skin.shapes.is_empty() {
            report(1, format!("the mesh '{name}' has no blendshapes, so there is no expression to simulate"));
        }
        let edges = skin.non_manifold_edges;
        report(edges, format!("'{name}': {edges} non-manifold edges (three or more triangles on one edge)"));
        let triangles = skin.degenerate_triangles;
        report(
            triangles,
            format!("'{name}': {triangles} degenerate triangles (thinner than the file's precision)"),
        );
        let unused = skin.unused_vertices;
        report(unused, format!("'{name}': {unused} vertices belong to no face"));
        let empty = &skin.empty_shapes;
        report(empty.len(), format!("'{name}': shapes that move nothing: {}", empty.join(", ")));
        let twins: Vec<String> =
            skin.duplicate_shapes.iter().map(|(first, second)| format!("{first} = {second}")).collect();
        report(
            twins.len(),
            format!("'{name}': {} pairs of shapes are identical: {}", twins.len(), twins.join(", ")),
        );
        problems
    }
}

/// Another mesh may be the face if its moving area is at least this fraction of the skin's. Ours: lashes, brows and teeth are far below.
const SECOND_FACE: f64 = 0.3;

/// Warnings for every user of a rig: shapes that takes drive but that do nothing, and other meshes that could be the face.
pub fn warnings(rig: &Rig) -> Vec<String> {
    let skin = rig.skin();
    let mut warnings = Vec::new();
    let is_empty = |name: &str| {
        let shapes = || rig.meshes.iter().flat_map(|mesh| &mesh.shapes);
        let stands_for =
            |shape: &&Shape| arkit::recognise(&shape.name).is_some_and(|found| found.shape == name);
        shapes().any(|shape| stands_for(&shape))
            && shapes().filter(stands_for).all(|shape| shape.deltas.is_empty())
    };
    let empty: Vec<&str> = arkit::SHAPES.iter().copied().filter(|name| is_empty(name)).collect();
    if empty.contains(&"jawOpen") {
        warnings.push(format!(
            "'{}': jawOpen moves nothing, so no take opens the mouth; let another shape do it with --map",
            skin.name
        ));
    }
    let others: Vec<&str> = empty.into_iter().filter(|name| *name != "jawOpen").collect();
    if !others.is_empty() {
        warnings.push(format!(
            "'{}': takes drive shapes that move nothing: {}",
            skin.name,
            others.join(", ")
        ));
    }
    let (area, _) = moved_and_whole_area(skin);
    for (index, mesh) in rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin) {
        let (own, _) = moved_and_whole_area(mesh);
        if area > 0.0 && own > SECOND_FACE * area {
            warnings.push(format!(
                "'{}' moves as much as a face, too ({} shapes); only '{}' is simulated: --mesh chooses another",
                rig.meshes[index].name,
                mesh.shapes.len(),
                skin.name
            ));
        }
    }
    warnings
}

impl MeshReport {
    fn new(mesh: &RigMesh) -> Self {
        let weld = Weld::new(mesh);
        let triangles = weld.triangles(mesh);
        let edges = EdgeCounts::new(&triangles);
        let unused_vertices = unused_vertices(mesh);
        let (_, parts) = connected_parts(weld.point_count(), &triangles);
        let empty = mesh.shapes.iter().filter(|shape| shape.deltas.is_empty());
        let low = mesh.positions.iter().copied().reduce(glam::Vec3::min).unwrap_or_default();
        let high = mesh.positions.iter().copied().reduce(glam::Vec3::max).unwrap_or_default();
        Self {
            name: mesh.name.clone(),
            vertices: mesh.positions.len(),
            points: weld.point_count(),
            triangles: mesh.faces.triangle_count(),
            shapes: mesh.shapes.iter().map(|shape| shape.name.clone()).collect(),
            non_manifold_edges: edges.non_manifold().len(),
            border_edges: edges.border().len(),
            degenerate_triangles: degenerate_triangles(mesh),
            // A vertex without a face would count as a part of its own.
            parts: parts.saturating_sub(unused_vertices),
            unused_vertices,
            empty_shapes: empty.map(|shape| shape.name.clone()).collect(),
            duplicate_shapes: duplicate_shapes(mesh),
            size: (high - low).to_array(),
        }
    }
}

fn unused_vertices(mesh: &RigMesh) -> usize {
    let mut used = vec![false; mesh.positions.len()];
    for corner in mesh.faces.corners() {
        used[*corner as usize] = true;
    }
    used.iter().filter(|used| !**used).count()
}

fn degenerate_triangles(mesh: &RigMesh) -> usize {
    let is_degenerate = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| mesh.positions[vertex as usize].as_dvec3());
        let longest = [a.distance(b), b.distance(c), c.distance(a)].into_iter().fold(0.0, f64::max);
        // The altitude on the longest side is twice the area over that side.
        (b - a).cross(c - a).length() <= longest * f64::from(mesh.quantum)
    };
    mesh.faces.triangles().iter().filter(|triangle| is_degenerate(triangle)).count()
}

/// Pairs of non-empty shapes that differ nowhere by more than the quantum; each shape is paired with the
/// first one like it only.
fn duplicate_shapes(mesh: &RigMesh) -> Vec<(String, String)> {
    let alike = |a: &Shape, b: &Shape| {
        let close = |(p, q): (&glam::Vec3, &glam::Vec3)| p.distance(*q) <= mesh.quantum;
        a.deltas.vertices == b.deltas.vertices && a.deltas.offsets.iter().zip(&b.deltas.offsets).all(close)
    };
    let mut pairs = Vec::new();
    for (index, shape) in mesh.shapes.iter().enumerate().filter(|(_, shape)| !shape.deltas.is_empty()) {
        if let Some(first) = mesh.shapes[..index].iter().find(|other| alike(other, shape)) {
            pairs.push((first.name.clone(), shape.name.clone()));
        }
    }
    pairs
}

impl ArkitReport {
    fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let present = arkit::present(names);
        let missing = arkit::SHAPES.iter().copied().filter(|shape| !present.contains(shape));
        Self { count: present.len(), of: arkit::SHAPES.len(), missing: missing.collect() }
    }
}

impl TakeReport {
    /// Examines a take.
    pub fn new(take: &crate::Take) -> Self {
        let weights = take.weights.iter().map(|track| &track.curve.times);
        let keys = weights.chain(take.motions.iter().map(|track| &track.times));
        let longest = keys.max_by_key(|times| times.len());
        let frames = longest.map_or(0, |times| times.len());
        let length =
            longest.map_or(0.0, |times| times.last().unwrap_or(&0.0) - times.first().unwrap_or(&0.0));
        let peak = |track: &WeightTrack| {
            let keys = track.curve.times.iter().zip(&track.curve.values);
            let (time, peak) = keys.max_by(|a, b| a.1.total_cmp(b.1)).unwrap_or((&0.0, &0.0));
            PeakReport { track: track.shape.clone(), peak: *peak, time: *time }
        };
        let mut peaks: Vec<PeakReport> = take.weights.iter().map(peak).collect();
        peaks.sort_by(|a, b| b.peak.total_cmp(&a.peak));
        Self {
            frames,
            fps: if length > 0.0 { (frames - 1) as f64 / length } else { 0.0 },
            peaks,
            name: take.name.clone(),
            duration: take.duration(),
            shapes: take.weights.len(),
            head_motion: take.motions.iter().any(|track| track.role == crate::JointRole::Head),
            large_weights: take.large_weights(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rigs::{mesh, rig, rig_with_shapes};
    use crate::{SparseDeltas, test_rigs};
    use glam::Vec3;

    #[test]
    fn faults_of_the_skin_are_counted_and_told() {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE, Vec3::X * 2.0, Vec3::NEG_X];
        let mut mesh = mesh(positions, &[[0, 1, 2], [1, 0, 3], [0, 1, 4], [0, 1, 5]]);
        let moved = SparseDeltas { vertices: vec![2], offsets: vec![Vec3::Z] };
        mesh.shapes.push(Shape { name: "one".into(), deltas: moved.clone() });
        mesh.shapes.push(Shape { name: "nothing".into(), deltas: SparseDeltas::default() });
        mesh.shapes.push(Shape { name: "two".into(), deltas: moved });
        let report = Report::new(&rig(mesh));
        let skin = &report.meshes[0];
        assert_eq!((skin.vertices, skin.triangles, skin.unused_vertices, skin.parts), (7, 4, 1, 1));
        assert_eq!((skin.degenerate_triangles, skin.non_manifold_edges), (1, 1));
        assert_eq!(skin.duplicate_shapes, [("one".to_owned(), "two".to_owned())]);
        assert_eq!(report.problems.len(), 5, "{:#?}", report.problems);
    }

    #[test]
    fn an_empty_jaw_and_a_second_face_are_reported() {
        let mut rig = rig_with_shapes(&["jawOpen", "browInnerUp", "smile"]);
        rig.meshes[0].shapes[0].deltas = SparseDeltas::default();
        assert!(warnings(&rig)[0].contains("jawOpen moves nothing"), "{:?}", warnings(&rig));
        rig.meshes[0].shapes[1].deltas = SparseDeltas::default();
        assert!(warnings(&rig)[1].contains("browInnerUp"));
        // Another mesh in which the jaw opens.
        rig.meshes
            .push(crate::RigMesh { name: "twin".into(), ..rig_with_shapes(&["jawOpen"]).meshes.remove(0) });
        let message = warnings(&rig);
        assert_eq!(message.len(), 2, "{message:?}");
        assert!(message[1].contains("'twin'") && message[1].contains("--mesh"));
    }

    #[test]
    fn a_take_in_percent_is_reported() {
        let mut rig = rig_with_shapes(&["jawOpen"]);
        let curve = crate::take::WeightCurve::linear([0.0, 0.1].into(), vec![0.0, 80.0]);
        let weights = vec![WeightTrack { shape: "jawOpen".into(), curve }];
        rig.takes.push(crate::Take { weights, ..crate::Take::default() });
        let problems = Report::new(&rig).problems;
        assert!(problems.iter().any(|problem| problem.contains("jawOpen reaches 80")), "{problems:?}");
    }

    #[test]
    fn arkit_shapes_are_counted_over_all_meshes() {
        let mut rig = rig_with_shapes(&["jawOpen", "eyeBlink_L"]);
        rig.meshes.push(test_rigs::rig_with_shapes(&["tongueOut"]).meshes.remove(0));
        let report = Report::new(&rig);
        assert_eq!((report.arkit.count, report.arkit.missing.len()), (3, 49));
    }
}
