//! How the skin of a rig and the skin that all fitted heads share correspond.

use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;
use zygoma_geometry::closest::TriangleTree;
use zygoma_geometry::similarity::Similarity;
use zygoma_geometry::topology::connected_parts;
use zygoma_rig::weld::Weld;
use zygoma_rig::{RigMesh, arkit};

use super::extend::Extension;
use super::{FittedHead, Seat, SharedSkin, SkinPart};

/// Points of the two skins farther apart than this do not correspond, in metres of a life-size head. Ours, as those below.
const REACH: f64 = 0.006;
/// The same behind lips and lids, where the registration only follows.
const INNER_REACH: f64 = 0.010;
/// Points of the inside of mouth and eye pockets nearer than this are the same, m.
const SAME: f64 = 1e-3;
/// Share of the inside's points that are the same on a mesh with the built-in head's own inside.
const NEARLY_ALL: f64 = 0.9;
/// Smallest cosine between the normals of corresponding points.
const AGREEMENT: f64 = 0.2;
/// Largest difference between the fractions of the jaw's motion that corresponding points follow: it distinguishes the lips.
const JAW_AGREEMENT: f64 = 0.5;
/// Motion fades over this length where the mesh leaves the fitted head, such as towards the shoulders, m.
const FADE: f64 = 0.03;
/// Share of a part's points that lie on the fitted skin: above, the part is skin or follows it, such as lashes.
const ON_SKIN: f64 = 0.6;
/// Share of a part's points that lie where lower teeth are: above, the part moves with the jaw.
const ON_JAW: f64 = 0.3;

/// How a point of a mesh moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    /// As a place of the shared skin.
    Skin(Seat),
    /// As the skin around it.
    Extended,
    /// Rigidly with the jaw.
    Jaw,
    /// Not at all.
    Still,
}

/// The correspondence of one mesh with the shared skin. Everything is in the fitted head's frame, in metres.
pub struct SkinMap {
    to_mesh: Similarity,
    rest: Vec<DVec3>,
    weld: Weld,
    points: Vec<DVec3>,
    motions: Vec<Motion>,
    extension: Extension,
    /// For each vertex of the shared skin its place among the mesh's vertices.
    places: Vec<Option<Seat>>,
    skin_extension: Extension,
    /// Distances from the mesh's points on the face to their places on the shared skin, in metres.
    pub distances: Vec<f64>,
}

impl SkinMap {
    /// Finds the correspondence of a rig's skin; `rest` is the shared skin in the head's frame. Without a fitted anatomy no teeth are
    /// found.
    pub fn new(mesh: &RigMesh, rest: &[DVec3], to_mesh: &Similarity, fitted: Option<&FittedHead>) -> Self {
        let shared = SharedSkin::get();
        let weld = Weld::new(mesh);
        let back = to_mesh.inverse();
        let points: Vec<DVec3> =
            weld.gather(&mesh.positions).iter().map(|p| back.apply(p.as_dvec3())).collect();
        let triangles = weld.triangles(mesh);
        let jaw = jaw_fractions(mesh).map(|fractions| weld.gather(&fractions));
        let own = Sheet::new(&points, &triangles, jaw.as_deref());
        let lips = lip_fractions(shared);
        let fitted_skin = Sheet::new(rest, shared.triangles, Some(&lips));
        let is_inner = |v: u32| matches!(shared.parts[v as usize], SkinPart::Mouth | SkinPart::EyePocket);
        let on_skin = Finder::new(&fitted_skin, |t| !t.iter().any(|v| is_inner(*v)));
        let inside = Finder::new(&fitted_skin, |t| t.iter().any(|v| is_inner(*v)));
        let seats: Vec<Option<(Seat, f64)>> =
            (0..points.len()).into_par_iter().map(|v| on_skin.find(&own.at(v), REACH)).collect();
        let parts = Parts::new(&points, &triangles, &seats, fitted.map(|head| (head, to_mesh)));
        let motion = |v: usize| match parts.kind(v) {
            PartKind::Still => Motion::Still,
            PartKind::Jaw => Motion::Jaw,
            PartKind::Skin | PartKind::Follows => {
                // The inside of a lip is near its outside as well.
                let within = seats[v].map_or(INNER_REACH, |(_, distance)| distance);
                let nearest = inside.find(&own.at(v), within).or(seats[v]);
                nearest.map_or(Motion::Extended, |(seat, _)| Motion::Skin(seat))
            }
        };
        let motions: Vec<Motion> = (0..points.len()).into_par_iter().map(motion).collect();
        let is_known: Vec<bool> = motions.iter().map(|motion| *motion != Motion::Extended).collect();
        let extension = Extension::new(&points, &triangles, &is_known, FADE);

        let on_mesh = Finder::new(&own, |t| t.iter().all(|v| parts.kind(*v as usize) == PartKind::Skin));
        let lids = shared.places.lids.iter().flat_map(|lids| lids.upper.iter().chain(&lids.lower));
        let mut is_margin = vec![false; rest.len()];
        lids.for_each(|v| is_margin[*v as usize] = true);
        let in_vertices = |seat: Seat| Seat {
            corners: seat.corners.map(|point| weld.vertices_of_point(point as usize)[0]),
            ..seat
        };
        let place = |v: usize| {
            // The margin of a lid may face any way, and nothing else is near it.
            let query = Query { agreement: if is_margin[v] { -1.0 } else { AGREEMENT }, ..fitted_skin.at(v) };
            let (seat, _) = on_mesh.find(&query, REACH).filter(|_| shared.weights[v] > 0.0)?;
            Some(Seat {
                corners: seat.corners.map(|point| weld.vertices_of_point(point as usize)[0]),
                ..seat
            })
        };
        let mut places: Vec<Option<Seat>> = (0..rest.len()).into_par_iter().map(place).collect();
        let inner: Vec<usize> = (0..rest.len()).filter(|v| shared.weights[*v] == 0.0).collect();
        let same =
            |v: &usize| on_mesh.find(&fitted_skin.at(*v), SAME).map(|(seat, _)| (*v, in_vertices(seat)));
        let same: Vec<(usize, Seat)> = inner.par_iter().filter_map(same).collect();
        // A mesh that has nearly all of the inside as well is the built-in head's own.
        if same.len() as f64 > NEARLY_ALL * inner.len() as f64 {
            same.into_iter().for_each(|(v, seat)| places[v] = Some(seat));
        }
        let is_known: Vec<bool> = places.iter().map(Option::is_some).collect();
        // Skin behind lips and lids follows them all the way.
        let skin_extension = Extension::new(rest, shared.triangles, &is_known, 1.0);
        let counts = |seat: &Seat| seat.corners.iter().all(|v| shared.weights[*v as usize] > 0.0);
        let on_face = |v: usize| {
            let (seat, distance) = seats[v].filter(|_| parts.kind(v) == PartKind::Skin)?;
            counts(&seat).then_some(distance)
        };
        let distances = (0..points.len()).filter_map(on_face).collect();
        let rest = rest.to_vec();
        Self { to_mesh: *to_mesh, rest, weld, points, motions, extension, places, skin_extension, distances }
    }

    /// For each vertex of the shared skin whether the mesh determines its position; otherwise it is guessed.
    pub fn is_seen(&self) -> Vec<bool> {
        self.places.iter().map(Option::is_some).collect()
    }

    /// The vertex of the mesh nearest to the place of a vertex of the shared skin; `None` where the mesh does not determine it.
    pub fn vertex_at(&self, v: u32) -> Option<u32> {
        let seat = self.places.get(v as usize)?.as_ref()?;
        (0..3).max_by(|a, b| seat.barycentric[*a].total_cmp(&seat.barycentric[*b])).map(|k| seat.corners[k])
    }

    /// Displacements of the shared skin from those of the mesh's vertices, which are in the mesh's frame. Skin without a counterpart moves as
    /// `guess` says, in the head's frame, and as the skin around it differs from its own guess.
    pub fn read(&mut self, offset: impl Fn(usize) -> DVec3, guess: impl Fn(usize) -> DVec3) -> Vec<DVec3> {
        let back = self.to_mesh.inverse();
        let at = |seat: &Seat| {
            let moved: DVec3 = (0..3).map(|k| seat.barycentric[k] * offset(seat.corners[k] as usize)).sum();
            back.scale * (back.rotation * moved)
        };
        let beyond =
            |(v, seat): (usize, &Option<Seat>)| seat.as_ref().map_or(DVec3::ZERO, |seat| at(seat) - guess(v));
        let mut field: Vec<DVec3> = self.places.iter().enumerate().map(beyond).collect();
        self.skin_extension.fill(&mut field);
        field.iter_mut().enumerate().for_each(|(v, moved)| *moved += guess(v));
        field
    }

    /// The shared skin in the pose that displacements of the mesh's vertices make, which are in the mesh's frame. Where the mesh says nothing, the
    /// skin follows the jaw.
    pub fn posed(&mut self, offset: impl Fn(usize) -> DVec3, jaw: Option<&DAffine3>) -> Vec<DVec3> {
        let rest = std::mem::take(&mut self.rest);
        let fractions = SharedSkin::get().jaw;
        let by_jaw = |v: usize| {
            jaw.map_or(DVec3::ZERO, |jaw| fractions[v] * (jaw.transform_point3(rest[v]) - rest[v]))
        };
        let field = self.read(offset, by_jaw);
        self.rest = rest;
        self.rest.iter().zip(&field).map(|(p, by)| *p + *by).collect()
    }

    /// Displacements of the mesh's vertices, in the mesh's frame, from those of the shared skin and from the motion of the jaw.
    pub fn write(&mut self, field: &[DVec3], jaw: impl Fn(DVec3) -> DVec3) -> Vec<Vec3> {
        let moved = |(motion, p): (&Motion, &DVec3)| match motion {
            Motion::Skin(seat) => seat.mix(field),
            Motion::Jaw => jaw(*p) - *p,
            Motion::Extended | Motion::Still => DVec3::ZERO,
        };
        let mut offsets: Vec<DVec3> = self.motions.iter().zip(&self.points).map(moved).collect();
        self.extension.fill(&mut offsets);
        let Similarity { scale, rotation, .. } = self.to_mesh;
        let out = |offset: &DVec3| (scale * (rotation * *offset)).as_vec3();
        self.weld.spread(&offsets.iter().map(out).collect::<Vec<Vec3>>())
    }
}

/// The fraction of the jaw's motion that each vertex of a mesh follows in its own jawOpen; `None` if it has no such shape.
fn jaw_fractions(mesh: &RigMesh) -> Option<Vec<f64>> {
    let is_open = |name: &str| arkit::recognise(name).is_some_and(|found| found.shape == "jawOpen");
    let shape = mesh.shapes.iter().find(|shape| is_open(&shape.name))?;
    let largest = f64::from(shape.deltas.largest());
    let fraction = |offset: &Vec3| f64::from(offset.length()) / largest;
    (largest > 0.0).then(|| shape.deltas.to_dense(mesh.positions.len()).iter().map(fraction).collect())
}

/// The fraction of the jaw's motion that the lips of the shared skin follow; not a number elsewhere. Near the hinge, skin that follows all of it
/// moves little, and only the lips need to be distinguished.
fn lip_fractions(shared: &SharedSkin) -> Vec<f64> {
    let fraction = |(part, fraction): (&SkinPart, &f64)| match part {
        SkinPart::UpperLip | SkinPart::LowerLip => *fraction,
        SkinPart::Outer | SkinPart::Mouth | SkinPart::EyePocket => f64::NAN,
    };
    shared.parts.iter().zip(shared.jaw).map(fraction).collect()
}

/// A surface, with the values that distinguish its points.
struct Sheet<'a> {
    positions: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    normals: Vec<DVec3>,
    jaw: Option<&'a [f64]>,
}

/// A point to be found on another sheet.
struct Query {
    place: DVec3,
    normal: DVec3,
    /// Smallest cosine between its normal and that of a corresponding point.
    agreement: f64,
    jaw: Option<f64>,
}

impl<'a> Sheet<'a> {
    fn new(positions: &'a [DVec3], triangles: &'a [[u32; 3]], jaw: Option<&'a [f64]>) -> Self {
        let mut normals = vec![DVec3::ZERO; positions.len()];
        for t in triangles {
            let [a, b, c] = t.map(|v| positions[v as usize]);
            t.iter().for_each(|v| normals[*v as usize] += (b - a).cross(c - a));
        }
        normals.iter_mut().for_each(|normal| *normal = normal.normalize_or_zero());
        Self { positions, triangles, normals, jaw }
    }

    fn at(&self, v: usize) -> Query {
        Query {
            place: self.positions[v],
            normal: self.normals[v],
            agreement: AGREEMENT,
            jaw: self.jaw.map(|jaw| jaw[v]),
        }
    }
}

/// Finds corresponding points on some triangles of a sheet.
struct Finder<'a> {
    sheet: &'a Sheet<'a>,
    triangles: Vec<[u32; 3]>,
    tree: TriangleTree<DVec3>,
}

impl<'a> Finder<'a> {
    fn new(sheet: &'a Sheet<'a>, keep: impl Fn(&[u32; 3]) -> bool) -> Self {
        let triangles: Vec<[u32; 3]> = sheet.triangles.iter().copied().filter(keep).collect();
        Self { tree: TriangleTree::new(sheet.positions, &triangles), sheet, triangles }
    }

    /// The closest point whose normal agrees and that follows the jaw as much, and its distance.
    fn find(&self, query: &Query, within: f64) -> Option<(Seat, f64)> {
        let mean = |values: &[f64], t: &[u32; 3]| t.iter().map(|v| values[*v as usize]).sum::<f64>() / 3.0;
        let accepted = |triangle: u32| {
            let t = &self.triangles[triangle as usize];
            let normal: DVec3 = t.iter().map(|v| self.sheet.normals[*v as usize]).sum();
            let jaws = query.jaw.zip(self.sheet.jaw.map(|jaw| mean(jaw, t)));
            normal.normalize_or_zero().dot(query.normal) > query.agreement
                && jaws.is_none_or(|(a, b)| a.is_nan() || b.is_nan() || (a - b).abs() < JAW_AGREEMENT)
        };
        let found =
            self.tree.closest_among(self.sheet.positions, &self.triangles, query.place, within, accepted)?;
        let corners = self.triangles[found.triangle as usize];
        Some((Seat { corners, barycentric: found.barycentric }, found.distance))
    }
}

/// How a connected part of a mesh moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    /// It is the skin itself.
    Skin,
    /// It lies on the skin and follows it.
    Follows,
    /// It moves with the jaw: lower teeth and gums.
    Jaw,
    /// It does not move.
    Still,
}

/// The connected parts of a mesh.
struct Parts {
    of_point: Vec<u32>,
    kinds: Vec<PartKind>,
}

impl Parts {
    fn new(
        points: &[DVec3],
        triangles: &[[u32; 3]],
        seats: &[Option<(Seat, f64)>],
        fitted: Option<(&FittedHead, &Similarity)>,
    ) -> Self {
        let (of_point, count) = connected_parts(points.len(), triangles);
        let fraction = |flags: &dyn Fn(usize) -> bool| {
            let mut sums = vec![[0.0; 2]; count];
            for (v, part) in of_point.iter().enumerate() {
                sums[*part as usize][0] += 1.0;
                sums[*part as usize][1] += f64::from(u8::from(flags(v)));
            }
            sums
        };
        let on_skin = fraction(&|v| seats[v].is_some());
        let teeth = fitted.map(|(head, to_mesh)| {
            let in_mesh: Vec<DVec3> = points.iter().map(|p| to_mesh.apply(*p)).collect();
            head.lower_teeth(&in_mesh)
        });
        let on_jaw = fraction(&|v| teeth.as_ref().is_some_and(|teeth| teeth[v]));
        let largest = (0..count).max_by(|a, b| on_skin[*a][1].total_cmp(&on_skin[*b][1]).then(b.cmp(a)));
        let kind = |part: usize| match () {
            () if Some(part) == largest => PartKind::Skin,
            () if on_skin[part][1] > ON_SKIN * on_skin[part][0] => PartKind::Follows,
            () if on_jaw[part][1] > ON_JAW * on_jaw[part][0] => PartKind::Jaw,
            () => PartKind::Still,
        };
        Self { kinds: (0..count).map(kind).collect(), of_point }
    }

    fn kind(&self, point: usize) -> PartKind {
        self.kinds[self.of_point[point] as usize]
    }
}
