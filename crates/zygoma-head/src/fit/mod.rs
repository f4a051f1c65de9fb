//! Fits the built-in head to any other: registers its skin to a neutral mesh and maps its bones, wraps and fill under it.
//!
//! [`fit`] takes a mesh and, where they are known, landmarks. `target` extracts the outer skin, `align` locates the head,
//! `dials` finds the dials of the built-in head that come nearest, `register` pulls the skin to the mesh (with
//! `elastic`), and `inside` maps bones and tissue under it (with `fill`). Everything happens in the head's own frame, in
//! metres; the result comes back in the mesh's.

mod align;
mod bones;
mod dials;
mod elastic;
mod extend;
mod fill;
mod inside;
mod jaw;
mod jaw_shapes;
mod measure;
mod occluders;
mod partners;
mod performing;
mod population;
mod posed_bones;
mod poses;
mod register;
mod shared;
mod skin_map;
mod target;
mod truth;
mod wraps;

use std::collections::HashSet;
use std::time::Instant;

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::similarity::Similarity;

use crate::Level;
use crate::anatomy::{Anatomy, FillDetail};
use crate::dials::{DialValues, Warp};
use crate::template::Template;
pub use bones::{BoneModel, Fat};
pub use jaw_shapes::{JawPose, JawShape, JawShapes};
pub use measure::{Distances, FitReport};
pub use poses::{HeadPose, PosedCover, PosedReport};
pub use shared::{FillSkin, Seat, SharedSkin, SkinPart};
pub use skin_map::SkinMap;
use target::Target;
pub use truth::{BoneError, TruthErrors, truth};

/// Millimetres of template space in a metre.
const METRE: f64 = 1000.0;

/// Why a head could not be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The skin of the mesh is too small.
    #[error("the skin has {triangles} triangles, too few for a face (at least {least} are needed)")]
    TooSmall {
        /// Triangles of the skin.
        triangles: usize,
        /// Triangles that are needed.
        least: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("vertex {vertex} has a coordinate that is not a finite number")]
    NotFinite {
        /// The index of the vertex.
        vertex: usize,
    },
    /// A triangle refers to a vertex that does not exist.
    #[error("a triangle uses vertex {vertex}, but the mesh has {count} vertices")]
    Index {
        /// The index of the vertex.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// A landmark's number is not one of the 68.
    #[error("landmark {0} does not exist: the standard landmarks are numbered 0 to 67")]
    Landmark(usize),
    /// No place was found where the mesh looks like a head.
    #[error("no head was found in the mesh; check that it is one head, upright or lying, with its face")]
    NoHead {
        /// Mean distance of the best alignment, in millimetres of a life-size head.
        misfit_mm: f64,
    },
    /// The anatomy does not fit under the skin.
    #[error(
        "the anatomy does not fit under this skin: {inverted} elements are inverted and {penetrating} points of bone stick out; check \
         that the mesh is a neutral head without gaps or folds"
    )]
    Tangled {
        /// Inverted elements.
        inverted: usize,
        /// Bone vertices outside the skin.
        penetrating: usize,
    },
    /// A linear system had no solution.
    #[error("the surface could not be deformed: its triangles are degenerate")]
    Unsolvable,
}

/// A neutral head to be fitted: any unit, any axes.
#[derive(Clone, Copy, Debug)]
pub struct FitInput<'a> {
    /// Vertices of the mesh.
    pub positions: &'a [DVec3],
    /// Its triangles, counter-clockwise from outside.
    pub triangles: &'a [[u32; 3]],
    /// Other meshes. Those inside the head, such as eyeballs and teeth, occlude the skin behind them; hair does not.
    pub others: &'a [(&'a [DVec3], &'a [[u32; 3]])],
    /// Where standard landmarks lie, by their number (0 to 67, in the order of
    /// [`Places::landmarks`](crate::Places::landmarks)); may be empty.
    pub landmarks: &'a [(usize, DVec3)],
    /// Detail of the fill.
    pub fill: FillDetail,
    /// How bones are found.
    pub bones: BoneModel,
    /// How fat the head is.
    pub fat: Fat,
}

impl<'a> FitInput<'a> {
    /// A mesh of which nothing else is known.
    pub fn new(positions: &'a [DVec3], triangles: &'a [[u32; 3]]) -> Self {
        Self {
            positions,
            triangles,
            others: &[],
            landmarks: &[],
            fill: FillDetail::default(),
            bones: BoneModel::default(),
            fat: Fat::default(),
        }
    }
}

/// A template vertex and its target position.
#[derive(Clone, Copy, Debug)]
struct Landmark {
    vertex: u32,
    place: DVec3,
}

/// The built-in head fitted to a mesh; all positions are in the mesh's frame and unit.
#[derive(Clone, Debug)]
pub struct FittedHead {
    /// Transform from the built-in head's frame, in metres, to the mesh.
    pub to_mesh: Similarity,
    /// The dials that come nearest to the head.
    pub dials: DialValues,
    /// How fat the head is taken to be, from −1 to 1: as given, or an estimate.
    pub fat: f64,
    /// The skin: the built-in head's vertices at [`Level::High`].
    pub skin: Vec<DVec3>,
    /// Triangles of the skin.
    pub triangles: Vec<[u32; 3]>,
    /// Bones, wraps and fill.
    pub anatomy: Anatomy,
    /// The quality of the fit.
    pub report: FitReport,
}

/// Fits the built-in head and its anatomy to a neutral head.
pub fn fit(input: &FitInput<'_>) -> Result<FittedHead, FitError> {
    Registration::new(input)?.with_anatomy(input.fill, input.bones, input.fat)
}

/// The built-in head's skin registered to a mesh, before its anatomy.
pub struct Registration {
    /// Transform from the built-in head's frame, in metres, to the mesh.
    to_mesh: Similarity,
    dials: DialValues,
    /// The skin of the head that the dials alone make, in the head's frame.
    by_dials: Vec<DVec3>,
    /// The registered skin, in the head's frame.
    skin: Vec<DVec3>,
    /// The mesh around the head, in the head's frame.
    mesh: Target,
    /// Coordinates of the mesh's visible vertices, in its own frame, as bits.
    visible: HashSet<[u64; 3]>,
    /// Seconds for alignment, dials and skin.
    seconds: [f64; 3],
}

impl Registration {
    /// Registers the skin to a mesh.
    pub fn new(input: &FitInput<'_>) -> Result<Self, FitError> {
        let started = Instant::now();
        let template = Template::of(Level::High);
        let base = &template.base;
        let landmarks = named(template, input.landmarks)?;
        let mesh = Target::new(input.positions, input.triangles, input.others)?;
        let visible = mesh.positions.iter().map(|p| (*p + 0.0).to_array().map(f64::to_bits)).collect();
        let start = align::find(&mesh, &landmarks)?;
        let aligned = started.elapsed();
        let (low, high) = bounds(&base.rest);
        let near = mesh.around_head(&start, low / METRE - WIDE_MARGIN, high / METRE + WIDE_MARGIN)?;
        let dial_fit = dials::fit_dials(&near);
        let warp = Warp::new(&dial_fit.dials);
        let by_dials = dialled_skin(&warp);
        let dialled = started.elapsed();

        let to_mesh = start.after(&dial_fit.pose);
        let (low, high) = bounds(&by_dials);
        let mesh = near.around_head(&dial_fit.pose, low - MARGIN, high + MARGIN)?;
        let back = to_mesh.inverse();
        let here: Vec<Landmark> =
            landmarks.iter().map(|mark| Landmark { place: back.apply(mark.place), ..*mark }).collect();
        let skin = register::register(base, &by_dials, &mesh, &here)?;
        let seconds =
            [aligned, dialled - aligned, started.elapsed() - dialled].map(|time| time.as_secs_f64());
        Ok(Self { to_mesh, dials: dial_fit.dials, by_dials, skin, mesh, visible, seconds })
    }

    /// The registered skin in the built-in head's frame, in metres, and the transform from there to the mesh.
    pub fn registered(&self) -> (&[DVec3], &Similarity) {
        (&self.skin, &self.to_mesh)
    }

    /// The coordinates of the mesh's vertices that are visible from outside, as bits.
    pub(crate) fn visible(&self) -> &HashSet<[u64; 3]> {
        &self.visible
    }

    /// Cranium and mandible by a model before they are pushed under the skin, in the mesh's frame, and the fat that the model finds.
    pub fn bones(&self, model: BoneModel, fat: Fat) -> Result<([Vec<DVec3>; 2], f64), FitError> {
        let (bones, fat) = self.skin(&Warp::new(&self.dials)).bones(model, fat)?;
        Ok((bones.map(|bone| bone.into_iter().map(|p| self.to_mesh.apply(p)).collect()), fat))
    }

    fn skin<'a>(&'a self, warp: &'a Warp) -> bones::Skin<'a> {
        bones::Skin { template: Template::of(Level::High), warp, by_dials: &self.by_dials, skin: &self.skin }
    }

    /// Puts bones, wraps and fill under the skin.
    pub fn with_anatomy(self, fill: FillDetail, model: BoneModel, fat: Fat) -> Result<FittedHead, FitError> {
        let started = Instant::now();
        let template = Template::of(Level::High);
        let warp = Warp::new(&self.dials);
        let skin = self.skin(&warp);
        let (bones, fat) = skin.bones(model, fat)?;
        let inside = inside::fit_inside(&skin, bones, fill)?;
        let mut report = measure::registration(template, &self.mesh, &self.by_dials, &self.skin);
        report.measure_inside(template, &self.skin, &inside)?;
        let [align, dials, register] = self.seconds;
        let (all, fill) = (started.elapsed().as_secs_f64(), inside.fill_seconds);
        report.seconds = [align, dials, register, all - fill, fill];
        Ok(FittedHead {
            to_mesh: self.to_mesh,
            dials: self.dials,
            fat,
            skin: self.skin.iter().map(|p| self.to_mesh.apply(*p)).collect(),
            triangles: template.base.triangles.clone(),
            anatomy: inside.anatomy.moved(&self.to_mesh),
            report,
        })
    }
}

/// The skin of the head that dials alone make, in metres.
fn dialled_skin(warp: &Warp) -> Vec<DVec3> {
    let Template { base, softness, .. } = Template::of(Level::High);
    let carried = |v: usize| warp.apply(base.rest[v], softness[v]) / METRE;
    (0..base.rest.len()).into_par_iter().map(carried).collect()
}

/// Margin around the head within which the mesh counts, in metres; the rest is body.
const MARGIN: DVec3 = DVec3::splat(0.02);
/// The same before the head's own shape is known.
const WIDE_MARGIN: DVec3 = DVec3::splat(0.05);

fn bounds(points: &[DVec3]) -> (DVec3, DVec3) {
    points.iter().fold((DVec3::MAX, DVec3::MIN), |(low, high), p| (low.min(*p), high.max(*p)))
}

/// The template vertices of numbered landmarks.
fn named(template: &Template, landmarks: &[(usize, DVec3)]) -> Result<Vec<Landmark>, FitError> {
    let vertex = |(number, place): &(usize, DVec3)| {
        let vertex = template.places.landmarks.get(*number).ok_or(FitError::Landmark(*number))?;
        Ok(Landmark { vertex: *vertex, place: *place })
    };
    landmarks.iter().map(vertex).collect()
}
