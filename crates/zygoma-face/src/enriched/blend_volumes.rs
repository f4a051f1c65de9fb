//! Blend volumes: the displacement of the whole volume by each shape (*Blendvolumes* eq. 2 and §6.1).

use glam::{DAffine3, DMat3, DVec3};
use rayon::prelude::*;
use zygoma_geometry::intersect::crossing_pairs;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_geometry::tets::{TetMesh, volume};
use zygoma_numerics::NotPositiveDefinite;
use zygoma_numerics::simd::{Runs, accumulate_runs};
use zygoma_physics::projective::Row;
use zygoma_physics::unfold::{UnfoldInput, Unfolder};

use super::build::{EnrichedError, EnrichedProgress, Ground};
use super::linings::Linings;
use super::patch::{Patch, vertices_around};
use super::slide::BoneSlide;
use crate::model::{Continue, JawMotion};
use crate::volume::Harmonic;
use crate::volume::{AttachmentPoint, Tie, carried};

/// Displacements below this are residuals of a solve, far from the skin that a shape moves, m. Ours.
const STILL: f64 = 2e-6;
/// Vertices that the smooth extension moves by less are left there, m. Ours.
const UNMOVED: f64 = 2e-5;
/// Shapes that are solved between two reports of progress. Ours.
const BATCH: usize = 8;
/// Fraction of its volume that every element keeps in every single shape where that is possible. Ours.
pub(super) const FULLNESS: f64 = 0.1;
/// Stages from the neutral to a shape (a homotopy): a crushed element is unfolded before it is deep in others. Ours.
const STAGES: u32 = 4;
/// Rings of neighbours around crushed elements that move to unfold them, in one attempt after the other. Ours.
const NEARBY: [usize; 2] = [3, 7];
/// Attempts to unfold a patch. Ours.
const ATTEMPTS: usize = 3;
/// Rings of neighbours around crushed elements in which skin may yield, and how many times more firmly than `SKIN_PULL` it is held, in one attempt
/// after the other. Ours.
const YIELDING: [(usize, f64); 3] = [(2, 100.0), (2, 10.0), (4, 1.0)];
/// The same for elements that are still inverted. Ours.
const YIELDING_MORE: [(usize, f64); 2] = [(6, 0.1), (8, 0.01)];
/// Stiffness of the pull of skin to its place in a shape, per area and stiffness of the material, 1/m: it yields only where elements would be
/// crushed. Output does not suffer from it, since it is the artist's skin plus a displacement. Ours.
const SKIN_PULL: f64 = 3e3;
/// The same for ligaments.
const LIGAMENT_PULL: f64 = 300.0;

/// The displacement of each row by each shape, and the motion of rows that follow the rigid jaw.
#[derive(Clone, Debug)]
pub(super) struct BlendVolumes {
    pub(super) shapes: Vec<Runs>,
    pub(super) jaw: JawMotion,
    /// Pose of the jaw by each shape alone, for those that move it.
    poses: Vec<(usize, DAffine3)>,
    /// The rows that a turning jaw moves, each with four weights: of the three columns of an affine deviation, and of its translation. On the jaw they are
    /// the rest position and 1, which makes the blend of poses rigid there; elsewhere they are the smooth extension of that (ours; the paper
    /// places jaws by hand).
    pub(super) fields: Vec<(u32, [f32; 4])>,
}

impl BlendVolumes {
    pub(super) fn new(shapes: Vec<Runs>, jaw: JawMotion, fields: Vec<(u32, [f32; 4])>) -> Self {
        let count = shapes.len();
        let alone = |shape: usize| {
            let mut weights = vec![0.0; count];
            weights[shape] = 1.0;
            (shape, jaw.pose(&weights).to_affine())
        };
        let poses = (0..count).map(alone).filter(|(_, pose)| *pose != DAffine3::IDENTITY).collect();
        Self { shapes, jaw, poses, fields }
    }

    /// Blends the rest shape X(w). `moved` is room to work in.
    pub(super) fn blend(
        &self,
        weights: &[f32],
        rest: &[DVec3],
        moved: &mut Vec<Row<f32>>,
        positions: &mut [DVec3],
    ) {
        moved.clear();
        moved.resize(rest.len(), [0.0; 4]);
        let fits = accumulate_runs(moved.as_flattened_mut(), weights, &self.shapes);
        debug_assert!(fits.is_ok(), "runs were made for arrays of this length");
        for ((position, rest), way) in positions.iter_mut().zip(rest).zip(&*moved) {
            *position = *rest + DVec3::new(way[0].into(), way[1].into(), way[2].into());
        }
        let (matrix, translation) = self.deviation(weights);
        if matrix == DMat3::ZERO && translation == DVec3::ZERO {
            return;
        }
        for (row, [x, y, z, one]) in &self.fields {
            let place = DVec3::new((*x).into(), (*y).into(), (*z).into());
            positions[*row as usize] += matrix * place + f64::from(*one) * translation;
        }
    }

    /// The rigid pose of the jaw less the linear blend of the poses of its shapes: an affine map.
    fn deviation(&self, weights: &[f32]) -> (DMat3, DVec3) {
        let weight = |shape: usize| f64::from(weights.get(shape).copied().unwrap_or(0.0));
        if self.poses.iter().all(|(shape, _)| weight(*shape) == 0.0) {
            return (DMat3::ZERO, DVec3::ZERO);
        }
        let pose = self.jaw.pose(weights).to_affine();
        let (mut matrix, mut translation) = (pose.matrix3 - DMat3::IDENTITY, pose.translation);
        for (shape, alone) in &self.poses {
            matrix -= weight(*shape) * (alone.matrix3 - DMat3::IDENTITY);
            translation -= weight(*shape) * alone.translation;
        }
        (matrix, translation)
    }
}

/// Solves for the volume below the skin of each shape.
pub(super) fn solve_volumes(
    ground: &Ground,
    progress: &mut dyn FnMut(EnrichedProgress) -> Continue,
) -> Result<BlendVolumes, EnrichedError> {
    let count = ground.face.shapes.len();
    let mut solver = ShapeSolver::new(ground)?;
    let linings = Linings::new(ground);
    let mut moved = Vec::with_capacity(count);
    while moved.len() < count {
        if progress(EnrichedProgress { shape: moved.len(), shapes: count }) != Continue::Yes {
            return Err(EnrichedError::Cancelled);
        }
        // Some at a time, so that progress is shown.
        let batch = moved.len()..count.min(moved.len() + BATCH);
        let weights: Vec<Vec<f32>> = batch
            .map(|shape| {
                only(count, &ground.face.base_shape(shape).into_iter().chain([shape]).collect::<Vec<_>>())
            })
            .collect();
        let starts: Vec<Vec<Start>> = weights.iter().map(|weights| solver.starts(weights)).collect();
        let solved: Result<Vec<Vec<DVec3>>, NotPositiveDefinite> =
            starts.par_iter().map(|starts| soundest(ground, starts, &linings)).collect();
        moved.extend(solved?);
    }
    let alone = moved.clone();
    for shape in 0..count {
        if let Some(base) = ground.face.base_shape(shape) {
            moved[shape].iter_mut().zip(&alone[base]).for_each(|(way, base)| *way -= *base);
        }
    }
    let runs = |moved: &Vec<DVec3>| {
        let row = |vertex: &u32| -> Row<f32> {
            let way = moved[*vertex as usize];
            if way.length() > STILL { [way.x as f32, way.y as f32, way.z as f32, 0.0] } else { [0.0; 4] }
        };
        let rows: Vec<Row<f32>> = ground.layout.vertices.iter().map(row).collect();
        Runs::from_dense(rows.as_flattened(), 8)
    };
    let shapes = moved.iter().map(runs).collect();
    Ok(BlendVolumes::new(shapes, ground.bones.motion().clone(), jaw_fields(ground)?))
}

/// Weights of 1 for the given shapes and 0 for all others.
fn only(count: usize, shapes_at_one: &[usize]) -> Vec<f32> {
    (0..count).map(|shape| if shapes_at_one.contains(&shape) { 1.0 } else { 0.0 }).collect()
}

/// Solves an expression from one start after the other until one is sound; the displacements of the soundest. Sound is one without crushed elements,
/// and without crossings unless skin or bones cross by themselves.
fn soundest(ground: &Ground, starts: &[Start], linings: &Linings) -> Result<Vec<DVec3>, NotPositiveDefinite> {
    let is_given = |t: &&[u32; 3]| t.iter().all(|v| ground.mesh.ties[*v as usize] != Tie::Free);
    let given: Vec<[u32; 3]> = linings.boundary.iter().filter(is_given).copied().collect();
    // The last start is that in which no tissue slides.
    let cross_anyway =
        || starts.last().is_some_and(|stuck| !crossing_pairs(&stuck.targets, &given).is_empty());
    let mut best: Option<([usize; 3], Vec<DVec3>)> = None;
    for start in starts {
        let mut positions = start.solve(ground)?;
        linings.part(ground, &mut positions)?;
        let [inverted, crushed] = [0.0, FULLNESS].map(|fullness| ground.crushed(&positions, fullness).len());
        let crossings = crossing_pairs(&positions, &linings.boundary).len();
        let faults = [inverted, crushed, crossings];
        let is_sound = crushed == 0 && (crossings == 0 || cross_anyway());
        if best.as_ref().is_none_or(|(fewest, _)| faults < *fewest) {
            best = Some((faults, positions));
        }
        if is_sound {
            break;
        }
    }
    let (_, positions) = best.unwrap_or_default();
    Ok(positions.iter().zip(&ground.mesh.mesh.positions).map(|(p, rest)| *p - *rest).collect())
}

/// Extends the displacements of an expression that bones and rig give into the volume.
struct ShapeSolver<'a> {
    ground: &'a Ground<'a>,
    harmonic: Harmonic,
    slide: Option<BoneSlide>,
}

/// An expression before its elements are unfolded.
struct Start {
    /// Positions that bones, ligaments and the rig give.
    targets: Vec<DVec3>,
    /// Displacements of all vertices: a smooth extension of those that are given.
    moved: Vec<DVec3>,
}

impl<'a> ShapeSolver<'a> {
    fn new(ground: &'a Ground<'a>) -> Result<Self, EnrichedError> {
        let mesh = &ground.mesh;
        let is_given = |v: usize| mesh.ties[v] != Tie::Free;
        let harmonic = Harmonic::new(&mesh.mesh.positions, &mesh.mesh.tets, is_given)?;
        Ok(Self { ground, harmonic, slide: BoneSlide::new(ground)? })
    }

    /// An expression in which tissue slides over bones, and the same without that.
    fn starts(&mut self, weights: &[f32]) -> Vec<Start> {
        let pose = self.ground.bones.pose(weights);
        let stuck = self.ground.targets(weights, &pose);
        let mut targets = vec![stuck];
        if let Some(slide) = &mut self.slide {
            let mut slid = targets[0].clone();
            slide.slide(self.ground, &pose, &mut slid);
            targets.insert(0, slid);
        }
        targets.into_iter().map(|targets| self.start(targets)).collect()
    }

    fn start(&mut self, targets: Vec<DVec3>) -> Start {
        let rest = &self.ground.mesh.mesh.positions;
        let mut moved: Vec<[f64; 3]> =
            targets.iter().zip(rest).map(|(to, p)| (*to - *p).to_array()).collect();
        self.harmonic.extend(&mut moved);
        Start { targets, moved: moved.into_iter().map(DVec3::from_array).collect() }
    }
}

impl Start {
    /// Positions of all vertices without inverted elements. Skin goes exactly where the shape has it (*Blendvolumes* eq. 13 with infinitely stiff
    /// springs); only around elements that this leaves crushed, it may yield.
    fn solve(&self, ground: &Ground) -> Result<Vec<DVec3>, NotPositiveDefinite> {
        let rest = &ground.mesh.mesh.positions;
        let is_moved = |v: usize| self.moved[v].length() > UNMOVED;
        let is_free: Vec<bool> =
            (0..rest.len()).map(|v| !ground.is_fixed(v) && !ground.is_on_skin(v) && is_moved(v)).collect();
        let mut all = rest.clone();
        self.unfold_in_stages(ground, &is_free, &mut all)?;
        let attempts = YIELDING.map(|attempt| (FULLNESS, attempt)).into_iter();
        for (least, (rings, firmness)) in attempts.chain(YIELDING_MORE.map(|attempt| (0.0, attempt))) {
            let crushed = ground.crushed(&all, least);
            if crushed.is_empty() {
                break;
            }
            let mut is_free = vertices_around(&ground.mesh.mesh.tets, &crushed, rings, rest.len());
            is_free.iter_mut().enumerate().for_each(|(v, free)| *free &= !ground.is_on_bone(v));
            self.unfold_softly(ground, &Patch::around(&ground.mesh.mesh.tets, &is_free), firmness, &mut all)?;
        }
        Ok(all)
    }

    /// Moves all vertices straight from the neutral to the shape, and unfolds those that are free on the way. In the end these relax.
    fn unfold_in_stages(
        &self,
        ground: &Ground,
        is_free: &[bool],
        all: &mut [DVec3],
    ) -> Result<(), NotPositiveDefinite> {
        let rest = &ground.mesh.mesh.positions;
        all.copy_from_slice(rest);
        let mut places = self.targets.clone();
        for stage in 1..=STAGES {
            let part = f64::from(stage) / f64::from(STAGES);
            for (v, x) in all.iter_mut().enumerate() {
                // Fixed vertices go straight, without the curve that unfolding has taken others on.
                *x = match is_free[v] {
                    true => *x + self.moved[v] / f64::from(STAGES),
                    false => rest[v] + part * self.moved[v],
                };
                places[v] = rest[v].lerp(self.targets[v], part);
            }
            unfold_nearby(ground, is_free, &places, all)?;
        }
        let patch = Patch::around(&ground.mesh.mesh.tets, is_free);
        if let Some(mut unfolder) = unfolder(ground, &patch, 1.0)? {
            let mut x = patch.gather(all);
            unfolder.relax(&mut x, &patch.gather(&places), FULLNESS);
            patch.scatter(&x, all);
        }
        unfold_nearby(ground, is_free, &places, all)
    }

    /// Unfolds a patch of a shape, whose skin yields where it must.
    fn unfold_softly(
        &self,
        ground: &Ground,
        patch: &Patch,
        firmness: f64,
        all: &mut [DVec3],
    ) -> Result<(), NotPositiveDefinite> {
        let Some(mut unfolder) = unfolder(ground, patch, firmness)? else { return Ok(()) };
        let mut x = patch.gather(all);
        unfolder.run(&mut x, &patch.gather(&self.targets), FULLNESS, ATTEMPTS);
        patch.scatter(&x, all);
        Ok(())
    }
}

/// Unfolds crushed elements by moving free vertices around them, and farther ones where that is not enough.
fn unfold_nearby(
    ground: &Ground,
    is_free: &[bool],
    places: &[DVec3],
    all: &mut [DVec3],
) -> Result<(), NotPositiveDefinite> {
    let tets = &ground.mesh.mesh.tets;
    for rings in NEARBY {
        let mut crushed = ground.crushed(all, FULLNESS);
        crushed.retain(|tet| tets[*tet].iter().any(|v| is_free[*v as usize]));
        if crushed.is_empty() {
            break;
        }
        let mut near = vertices_around(tets, &crushed, rings, all.len());
        near.iter_mut().zip(is_free).for_each(|(near, free)| *near &= free);
        let patch = Patch::around(tets, &near);
        let Some(mut unfolder) = unfolder(ground, &patch, 1.0)? else { break };
        let mut x = patch.gather(all);
        unfolder.run(&mut x, &patch.gather(places), FULLNESS, ATTEMPTS);
        patch.scatter(&x, all);
    }
    Ok(())
}

/// Prepares to unfold a patch; `None` where there is nothing to unfold.
fn unfolder(ground: &Ground, patch: &Patch, firmness: f64) -> Result<Option<Unfolder>, NotPositiveDefinite> {
    if patch.tets.is_empty() {
        return Ok(None);
    }
    let rest = patch.gather(&ground.mesh.mesh.positions);
    let pulls: Vec<f64> = patch.vertices.iter().map(|v| firmness * ground.pull(*v as usize)).collect();
    let input = UnfoldInput { rest: &rest, tets: &patch.tets, fixed: &patch.is_fixed, pulls: &pulls };
    Unfolder::new(&input).map(Some)
}

impl Ground<'_> {
    fn is_on_bone(&self, vertex: usize) -> bool {
        matches!(self.mesh.ties[vertex], Tie::Cranium | Tie::Jaw)
    }

    /// Whether a vertex is where bone or rig put it, in every shape whose elements are not crushed by that.
    pub(super) fn is_fixed(&self, vertex: usize) -> bool {
        match self.mesh.ties[vertex] {
            Tie::Skin | Tie::Ligaments { .. } => self.surface.is_held[self.mesh.above[vertex] as usize],
            Tie::Cranium | Tie::Jaw | Tie::Free => self.is_on_bone(vertex),
        }
    }

    /// Whether a vertex is on skin that goes where the rig has it.
    pub(super) fn is_on_skin(&self, vertex: usize) -> bool {
        self.mesh.ties[vertex] == Tie::Skin && !self.surface.is_loose[vertex]
    }

    /// How firmly a vertex is pulled to its target.
    fn pull(&self, vertex: usize) -> f64 {
        let area = self.surface.areas[self.mesh.above[vertex] as usize];
        match self.mesh.ties[vertex] {
            Tie::Skin if self.is_on_skin(vertex) => SKIN_PULL * area,
            Tie::Ligaments { .. } => LIGAMENT_PULL * area,
            _ => 0.0,
        }
    }

    /// Positions that bones, ligaments and the rig give the vertices.
    fn targets(&self, weights: &[f32], pose: &RigidMotion) -> Vec<DVec3> {
        (0..self.mesh.ties.len()).map(|v| self.target(weights, pose, v)).collect()
    }

    /// The elements that have less than a fraction of their volume, of those with a vertex that may move.
    pub(super) fn crushed(&self, positions: &[DVec3], fullness: f64) -> Vec<usize> {
        let TetMesh { positions: rest, tets } = &self.mesh.mesh;
        let full = |tet: usize, x: &[DVec3]| volume(tets[tet].map(|v| x[v as usize]));
        let is_helpless = |tet: usize| tets[tet].iter().all(|v| self.is_on_bone(*v as usize));
        (0..tets.len())
            .filter(|tet| full(*tet, positions) < fullness * full(*tet, rest) && !is_helpless(*tet))
            .collect()
    }

    fn target(&self, weights: &[f32], pose: &RigidMotion, vertex: usize) -> DVec3 {
        let (rest, above) = (self.mesh.mesh.positions[vertex], self.mesh.above[vertex] as usize);
        let moved = || -> DVec3 {
            let active = weights.iter().zip(&self.surface.moves).filter(|(weight, _)| **weight != 0.0);
            active.map(|(weight, moves)| f64::from(*weight) * moves[above]).sum()
        };
        match self.mesh.ties[vertex] {
            Tie::Cranium => rest,
            Tie::Jaw => pose.apply(rest),
            Tie::Ligaments { jaw } if !self.surface.is_held[above] => {
                let foot = AttachmentPoint {
                    at: rest,
                    jaw,
                    above,
                    skin: self.surface.positions[above],
                    moves: &self.surface.moves,
                };
                self.bones.place(&foot, weights, pose) + carried(&self.carrying, weights, &foot)
            }
            _ => rest + moved(),
        }
    }
}

/// Smooth extension, from the jaw into the tissue between it and all else that is fixed, of an affine map's four columns.
fn jaw_fields(ground: &Ground) -> Result<Vec<(u32, [f32; 4])>, EnrichedError> {
    let (mesh, rest) = (&ground.mesh, &ground.mesh.mesh.positions);
    if !mesh.ties.contains(&Tie::Jaw) {
        return Ok(Vec::new());
    }
    let on_jaw = |v: usize| if mesh.ties[v] == Tie::Jaw { rest[v].extend(1.0).to_array() } else { [0.0; 4] };
    let mut values: Vec<[f64; 4]> = (0..rest.len()).map(on_jaw).collect();
    Harmonic::new(rest, &mesh.mesh.tets, |v| mesh.ties[v] != Tie::Free)?.extend(&mut values);
    let fields = ground.layout.rows.iter().zip(values).filter(|(_, values)| values[3].abs() > 1e-4);
    Ok(fields.map(|(row, values)| (*row, values.map(|value| value as f32))).collect())
}
