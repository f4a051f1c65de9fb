//! Tissue that follows markers: finds weights for their positions, and targets for the control (*Progressive PD*, §3.2).

use glam::{DVec3, Vec3};
use zygoma_geometry::closest::closest_on_triangle_f32;
use zygoma_numerics::simd::accumulate_runs;
use zygoma_physics::projective::{Row, row};
use zygoma_rig::formats::markers::MarkerPlace;

use super::build::Tissue;
use super::control::Control;
use super::run::TissueBody;

/// Maximum distance of a marker from the skin, m. Ours, as those below.
const FARTHEST: f32 = 0.02;
/// Regularisation of weights against the error of markers, as a fraction of the mean squared effect of a shape on the markers.
const MODEST: f64 = 1e-4;
/// Gauss-Seidel sweeps over the weights of all shapes.
const SWEEPS: usize = 300;

/// Why markers cannot be followed; markers are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MarkerError {
    /// A vertex that does not exist.
    #[error("it sits at vertex {vertex}, but the skin's mesh has {count}")]
    NoVertex {
        /// The marker.
        marker: usize,
        /// The vertex given.
        vertex: u32,
        /// Number of vertices in the mesh.
        count: usize,
    },
    /// The marker is not on the simulated skin.
    #[error("it sits {} mm from the simulated skin, more than {} mm; are its positions in metres?", (1e3 * distance).round(), 1e3 * FARTHEST)]
    OffTheSkin {
        /// The marker.
        marker: usize,
        /// Distance from the skin, m.
        distance: f32,
    },
}

impl MarkerError {
    /// The marker at fault.
    pub fn marker(&self) -> usize {
        let (Self::NoVertex { marker, .. } | Self::OffTheSkin { marker, .. }) = self;
        *marker
    }
}

/// Markers on the skin of a tissue.
#[derive(Clone)]
pub struct Markers {
    points: Vec<Point>,
    /// Displacement of each marker by each shape, through the tissue and through the detail on it.
    tissue_mesh: Vec<Vec<DVec3>>,
    detail: Vec<Vec<DVec3>>,
    /// Inner products of the shapes at the markers.
    products: Vec<Vec<f64>>,
    control: Option<Control>,
}

/// A point of the skin.
#[derive(Clone, Copy)]
struct Point {
    corners: [u32; 3],
    weights: [f32; 3],
    /// Its position in the neutral, and that of the marker.
    rest: DVec3,
    marker: DVec3,
}

/// Distances of markers from their targets, m.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MarkerMiss {
    /// Mean over all markers.
    pub mean: f32,
    /// The largest distance.
    pub worst: f32,
}

/// Markers in use.
#[derive(Clone)]
pub(super) struct MarkerDrive {
    pub(super) markers: Markers,
    /// Targets of the skin at each marker at the end of the last and of the present frame, and now.
    pub(super) targets: [Vec<DVec3>; 2],
    pub(super) now: Vec<DVec3>,
    /// Targets on the surface that was shown last.
    pub(super) shown: Vec<DVec3>,
}

impl MarkerDrive {
    /// Sets the targets at a fraction of the frame.
    pub(super) fn go_to(&mut self, fraction: f64) {
        let [from, to] = &self.targets;
        for ((now, from), to) in self.now.iter_mut().zip(from).zip(to) {
            *now = from.lerp(*to, fraction);
        }
    }

    /// Sets the targets at a fraction of the way from the neutral to the end of the present frame.
    pub(super) fn approach(&mut self, fraction: f64) {
        for ((now, to), point) in self.now.iter_mut().zip(&self.targets[1]).zip(&self.markers.points) {
            *now = point.rest.lerp(*to, fraction);
        }
    }
}

impl Markers {
    /// Finds the markers on the skin of a tissue.
    pub fn new(tissue: &Tissue, places: &[MarkerPlace]) -> Result<Self, MarkerError> {
        let neutral = &tissue.skin.neutral;
        let find = |(marker, place): (usize, &MarkerPlace)| -> Result<Point, MarkerError> {
            let at = match place {
                MarkerPlace::Vertex(vertex) => *neutral
                    .get(*vertex as usize)
                    .ok_or(MarkerError::NoVertex { marker, vertex: *vertex, count: neutral.len() })?,
                MarkerPlace::At(at) => *at,
            };
            let on = |t: &[u32; 3]| {
                let corners = t.map(|v| neutral[v as usize]);
                let weights = closest_on_triangle_f32(at, corners);
                let place: Vec3 = (0..3).map(|k| weights[k] * corners[k]).sum();
                (place.distance(at), place, weights)
            };
            let triangles = tissue.skin_points.triangles.iter();
            let nearest = triangles.map(|t| (*t, on(t))).min_by(|a, b| a.1.0.total_cmp(&b.1.0));
            let (corners, (distance, place, weights)) =
                nearest.ok_or(MarkerError::OffTheSkin { marker, distance: f32::INFINITY })?;
            if distance > FARTHEST || distance.is_nan() {
                return Err(MarkerError::OffTheSkin { marker, distance });
            }
            Ok(Point { corners, weights, rest: place.as_dvec3(), marker: at.as_dvec3() })
        };
        let points: Vec<Point> = places.iter().enumerate().map(find).collect::<Result<_, _>>()?;
        let shapes = tissue.surface.moves.len();
        let (mut tissue_mesh, mut detail) = (Vec::with_capacity(shapes), Vec::with_capacity(shapes));
        for shape in 0..shapes {
            let embedding = &tissue.skin.embedding;
            let follow = |vertex: u32| -> DVec3 {
                let vertex = vertex as usize;
                let carriers = embedding.vertices[vertex].iter().zip(embedding.weights[vertex]);
                carriers.map(|(v, w)| f64::from(w) * tissue.surface.moves[shape][*v as usize]).sum()
            };
            tissue_mesh.push(points.iter().map(|point| point.of(follow)).collect::<Vec<_>>());
            let mut drawn = vec![Vec3::ZERO; neutral.len()];
            let one: Vec<f32> = (0..shapes).map(|other| f32::from(u8::from(other == shape))).collect();
            let fits = accumulate_runs(bytemuck::cast_slice_mut(&mut drawn), &one, &tissue.skin.detail);
            debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
            let drawn = |vertex: u32| drawn[vertex as usize].as_dvec3();
            detail.push(points.iter().map(|point| point.of(drawn)).collect::<Vec<_>>());
        }
        let whole = |shape: usize| tissue_mesh[shape].iter().zip(&detail[shape]).map(|(a, b)| *a + *b);
        let product = |a: usize, b: usize| whole(a).zip(whole(b)).map(|(a, b)| a.dot(b)).sum::<f64>();
        let products: Vec<Vec<f64>> =
            (0..shapes).map(|a| (0..shapes).map(|b| product(a, b)).collect()).collect();
        let control = Control::new(tissue_mesh.clone(), tissue.params.regularisation);
        Ok(Self { points, tissue_mesh, detail, products, control })
    }

    /// Number of markers.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The weights from 0 to 1 with which the plain rig comes closest to the markers, in metres in the head's frame.
    pub fn weights(&self, positions: &[Vec3]) -> Vec<f32> {
        let moved: Vec<DVec3> =
            self.points.iter().zip(positions).map(|(p, at)| at.as_dvec3() - p.marker).collect();
        let count = self.tissue_mesh.len();
        let pulls: Vec<f64> = (0..count)
            .map(|k| {
                let response = self.tissue_mesh[k].iter().zip(&self.detail[k]);
                response.zip(&moved).map(|((a, b), moved)| (*a + *b).dot(*moved)).sum()
            })
            .collect();
        let mean = (0..count).map(|k| self.products[k][k]).sum::<f64>() / count.max(1) as f64;
        let modesty = MODEST * mean.max(f64::MIN_POSITIVE);
        let mut weights = vec![0.0; count];
        for _ in 0..SWEEPS {
            for k in 0..count {
                let line = &self.products[k];
                let other: f64 =
                    line.iter().zip(&weights).map(|(p, w)| p * w).sum::<f64>() - line[k] * weights[k];
                weights[k] = ((pulls[k] - other) / (line[k] + modesty)).clamp(0.0, 1.0);
            }
        }
        weights.iter().map(|weight| *weight as f32).collect()
    }

    /// Targets of the skin for the given marker positions.
    fn targets(&self, positions: &[Vec3]) -> Vec<DVec3> {
        self.points.iter().zip(positions).map(|(p, at)| p.rest + at.as_dvec3() - p.marker).collect()
    }

    /// Errors of the markers in a state of the tissue; `weights` blend the detail.
    fn misses(&self, tissue: &Tissue, weights: &[f32], x: &[Row<f32>], targets: &[DVec3]) -> Vec<Row<f32>> {
        let (embedding, layout) = (&tissue.skin.embedding, &tissue.layout);
        let moved = |vertex: u32| -> DVec3 {
            let vertex = vertex as usize;
            let carriers = embedding.vertices[vertex].iter().zip(embedding.weights[vertex]);
            let offset = |v: &u32| {
                let now = Vec3::from_slice(&x[layout.rows[*v as usize] as usize]).as_dvec3();
                now - tissue.tissue_mesh.mesh.positions[*v as usize]
            };
            carriers.map(|(v, w)| f64::from(w) * offset(v)).sum()
        };
        let drawn = |marker: usize| -> DVec3 {
            weights.iter().zip(&self.detail).map(|(w, detail)| f64::from(*w) * detail[marker]).sum()
        };
        self.points
            .iter()
            .enumerate()
            .map(|(marker, point)| row(targets[marker] - point.rest - drawn(marker) - point.of(moved)))
            .collect()
    }
}

impl Point {
    /// Interpolates values at vertices of the whole mesh.
    fn of(&self, value: impl Fn(u32) -> DVec3) -> DVec3 {
        (0..3).map(|k| f64::from(self.weights[k]) * value(self.corners[k])).sum()
    }
}

impl MarkerDrive {
    /// Improves actuations, so that the markers come closer to their present targets.
    pub(super) fn improve(&self, tissue: &Tissue, weights: &[f32], x: &[Row<f32>], actuations: &mut [f32]) {
        if let Some(control) = &self.markers.control {
            control.improve(&self.markers.misses(tissue, weights, x, &self.now), weights, actuations);
        }
    }
}

impl TissueBody {
    /// Makes the tissue follow markers from now on: see [`set_markers`](Self::set_markers).
    pub fn follow(&mut self, markers: Markers) {
        let rest: Vec<DVec3> = markers.points.iter().map(|point| point.rest).collect();
        self.drive = Some(MarkerDrive {
            targets: [rest.clone(), rest.clone()],
            now: rest.clone(),
            shown: rest,
            markers,
        });
    }

    /// Sets the markers at the end of the next frame, in metres in the head's frame. Positions that are missing or not finite leave their
    /// marker unchanged.
    pub fn set_markers(&mut self, positions: &[Vec3]) {
        let Some(drive) = &mut self.drive else { return };
        let wanted = drive.markers.targets(positions);
        for (own, target) in drive.targets[1].iter_mut().zip(&wanted).filter(|(_, target)| target.is_finite())
        {
            *own = *target;
        }
        let points = drive.markers.points.iter().zip(&drive.targets[1]);
        let markers: Vec<Vec3> = points.map(|(p, target)| (*target - p.rest + p.marker).as_vec3()).collect();
        let weights = drive.markers.weights(&markers);
        self.aim_at(&weights);
    }

    /// Distances of the skin of the last frame from the markers' targets.
    pub fn marker_miss(&self) -> MarkerMiss {
        let Some(drive) = &self.drive else { return MarkerMiss::default() };
        let shown = |vertex: u32| self.positions[vertex as usize].as_dvec3();
        let points = drive.markers.points.iter().zip(&drive.shown);
        let misses: Vec<f32> = points.map(|(p, target)| p.of(shown).distance(*target) as f32).collect();
        MarkerMiss {
            mean: misses.iter().sum::<f32>() / misses.len().max(1) as f32,
            worst: misses.iter().copied().fold(0.0, f32::max),
        }
    }
}
